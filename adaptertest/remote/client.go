package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Client is a handle of an adapter in a program. It has all methods of the contract
// but DeleteExpired; Missing lists those that the program does not have.
type Client struct {
	link   *link
	opened opened
	store  string
	// since is the number of the pool's faults when the handle was opened.
	faults func() []*Fault
	since  int
	// explicit is nil if updateUser gets updates as they are.
	explicit *explicit
}

// Sweeping is a Client of a program that has deleteExpired.
type Sweeping struct{ *Client }

// DeleteExpired calls deleteExpired of the program.
func (s Sweeping) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	return call[adapter.Swept](ctx, s.Client, deleteExpired, now)
}

// Handle is a Client or Sweeping.
type Handle interface {
	adapter.Adapter
	client() *Client
}

func (c *Client) client() *Client { return c }

// Dial opens a handle of the program at the other end of the streams, one that serves
// one handle, such as Serve of a test. The returned function ends the connection.
func Dial(ctx context.Context, in io.Reader, out io.WriteCloser, o Opening) (Handle, func(), error) {
	l, err := newLink(ctx, in, out, usualSilence, func() { _ = out.Close() }, func(*Fault) {})
	if err != nil {
		return nil, nil, err
	}
	h, err := open(ctx, l, o, func() []*Fault { return nil })
	if err != nil {
		l.close()
		return nil, nil, err
	}
	return h, l.close, nil
}

// open opens a handle.
func open(ctx context.Context, l *link, o Opening, faults func() []*Fault) (Handle, error) {
	c := &Client{link: l, store: o.Store, faults: faults, since: len(faults())}
	if err := l.control(ctx, &c.opened, "open", 0, o); err != nil {
		return nil, fmt.Errorf("remote: open: %w", err)
	}
	for _, m := range methods { // one in other case would be taken for one that the program lacks
		for _, name := range c.opened.Methods {
			if name != m.name && strings.EqualFold(name, m.name) {
				return nil, l.broken("it names the method %s, which is spelled %s", name, m.name)
			}
		}
	}
	if slices.Contains(c.opened.Methods, deleteExpired) {
		return Sweeping{c}, nil
	}
	return c, nil
}

// call makes a call of the contract.
func call[T any](ctx context.Context, c *Client, method string, args ...any) (result T, err error) {
	if !slices.Contains(c.opened.Methods, method) {
		return result, fmt.Errorf("remote: %s: %w", method, adapter.ErrUnsupported)
	}
	r := request{Call: method, Handle: c.opened.Handle, Args: make([]json.RawMessage, len(args))}
	for i, arg := range args {
		if r.Args[i], err = marshal(reflect.ValueOf(arg)); err != nil {
			return result, err
		}
	}
	a, err := c.link.call(ctx, r)
	if err != nil {
		return result, err
	}
	if err := decode(a.Result, reflect.ValueOf(&result).Elem(), "the result of "+method); err != nil {
		return *new(T), err
	}
	if a.Error != nil && a.Error.Kind == "panic" {
		panic(a.Error.Message)
	}
	if a.Error != nil {
		return result, a.Error.asError()
	}
	return result, nil
}

// Missing lists the methods that the program does not have. See adapter.Missing.
func (c *Client) Missing() (missing []string) {
	for _, m := range methods {
		if !slices.Contains(c.opened.Methods, m.name) {
			missing = append(missing, m.inGo)
		}
	}
	return missing
}

// RequiresEmail reports what the program said. See adapter.EmailRequirer.
func (c *Client) RequiresEmail() bool { return c.opened.RequiresEmail }

// Close closes the handle.
func (c *Client) Close(ctx context.Context) error {
	return c.link.control(ctx, nil, "close", c.opened.Handle)
}

// Usage asks the program what the handle uses.
func (c *Client) Usage(ctx context.Context) (u Usage, err error) {
	return u, c.link.control(ctx, &u, Stats, c.opened.Handle)
}

// Tasks asks the program how many tasks of the handle have not ended, also if it is closed.
func (c *Client) Tasks(ctx context.Context) (int, error) {
	u, err := c.Usage(ctx)
	return u.Tasks, err
}

// Fault returns what went wrong with the program since the handle was opened, or "". The
// suite then reports the clause as not reached.
func (c *Client) Fault() string {
	if faults := c.faults(); len(faults) > c.since {
		return faults[c.since].Error()
	}
	return ""
}

// unverifiable are the clauses and groups that can't be verified through a program without
// the feature, or, with the feature "", through any program, with the reason.
var unverifiable = []struct{ feature, clauses, reason string }{
	{"", "ALIAS", "another program shares no memory with the suite"},
	{Tasks, "LIFE-04 LIFE-09", "the program does not count tasks in its answer to stats"},
	{Cancel, "CTX-01 CTX-02 CTX-05 CTX-06 CTX-07", "the program does not acknowledge cancel"},
	{Stats, "LIFE-05", "the program does not answer stats"},
}

// Unverifiable says why the clause can't be verified through the program, or returns "".
func (c *Client) Unverifiable(clause string) string {
	group, _, _ := strings.Cut(clause, "-")
	for _, u := range unverifiable {
		named := strings.Fields(u.clauses)
		covers := slices.Contains(named, clause) || slices.Contains(named, group)
		if covers && (u.feature == "" || !c.link.hello.has(u.feature)) {
			return u.reason
		}
	}
	return ""
}
