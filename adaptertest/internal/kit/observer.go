package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Observer passes calls on to an adapter and checks the rules for every call, in
// every clause: a call does not panic [INPUT-15], an error comes without a
// record [ERR-07], and an absent record is nil, not empty [ERR-03]. It keeps the
// errors for [ERR-08] and the last calls as evidence. If the adapter lacks a
// lookup, the observer uses another lookup where that is possible. A call of
// another method that the adapter lacks ends the clause as not applicable.
type Observer struct {
	Next  adapter.Adapter
	c     *Context
	known *remembered // shared by all observers of the clause
}

//go:generate go run ../../../auth/adapter/internal/methods -form observer -without Sweeper,AuthenticatorBackups,EmailRequirer observer_methods.go

// observe makes one call.
func observe[T any](ctx context.Context, o *Observer, method string, args ...any) (result T, err error) {
	if standIn := o.standIn(ctx, method, args); standIn != nil && o.c.Lacks(method) {
		got, err := standIn()
		return got.(T), err
	}
	o.c.Requires(method)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", method, v)
			o.c.Errorf("INPUT-15: %s(%s) panicked: %v\n%s", method, diff.Show(args...), v, debug.Stack())
		}
	}()
	if IsLookup(method) {
		o.c.Settle()
	}
	finish := o.c.Trace.begin(method, args)
	got, err := signatureOf(method).call(ctx, o.Next, args)
	result = got.(T)
	finish()
	o.c.Deadlock.See(err)
	if !IsLookup(method) {
		Wrote(o.c)
	}
	o.c.Trace.add(method, args, result, err)
	if len(o.c.Missing) > 0 && err == nil {
		o.known.learn(args, result)
	}
	r := reflect.ValueOf(&result).Elem()
	isRecord := r.Kind() == reflect.Pointer || r.Kind() == reflect.Slice
	o.c.Run.observed(Observation{Method: method, Clause: o.c.Clause, Err: err,
		RecordWithError: err != nil && isRecord && !r.IsNil(),
		EmptyRecord:     err == nil && r.Kind() == reflect.Pointer && !r.IsNil() && isEmptyRecord(r.Interface()),
	})
	if where := elsewhere(r.Interface()); where != "" {
		o.c.Run.notInUTC(method, where, o.c.Clause)
	}
	return result, err
}

// isEmptyRecord reports whether a non-nil record lacks its key.
func isEmptyRecord(record any) bool {
	switch r := record.(type) {
	case *adapter.User:
		return r.ID == ""
	case *adapter.Account:
		return r.Provider == "" && r.ProviderAccountID == ""
	case *adapter.Session:
		return r.SessionToken == ""
	case *adapter.SessionAndUser:
		return r.Session.SessionToken == "" || r.User.ID == ""
	case *adapter.VerificationToken:
		return r.Identifier == "" && r.Token == ""
	case *adapter.Authenticator:
		return r.CredentialID == ""
	case *adapter.Password:
		return r.UserID == "" || r.Hash == ""
	default:
		return false
	}
}

// Observation is the result of one call with respect to the rules for results
// and errors.
type Observation struct {
	Method, Clause  string
	Err             error
	RecordWithError bool
	EmptyRecord     bool
}

// elsewhere describes an instant of a result that is not in UTC. The zone of the
// process is not UTC, also where it has the same offset: elsewhere it has another.
func elsewhere(result any) string {
	in := func(field string, t *time.Time) string {
		if t == nil || t.IsZero() {
			return ""
		}
		if _, offset := t.Zone(); offset == 0 && t.Location() != time.Local {
			return ""
		}
		return fmt.Sprintf("%s in the zone %q", field, t.Location())
	}
	switch r := result.(type) {
	case *adapter.User:
		if r != nil {
			return in("EmailVerified", r.EmailVerified)
		}
	case *adapter.Session:
		if r != nil {
			return in("Expires", &r.Expires)
		}
	case *adapter.SessionAndUser:
		if r != nil {
			return cmp.Or(in("Expires", &r.Session.Expires), in("EmailVerified", r.User.EmailVerified))
		}
	case *adapter.VerificationToken:
		if r != nil {
			return in("Expires", &r.Expires)
		}
	case *adapter.Authenticator:
		if r != nil {
			return cmp.Or(in("Created", r.Created), in("LastUsed", r.LastUsed))
		}
	case []adapter.Session:
		for i := range r {
			if said := elsewhere(&r[i]); said != "" {
				return said
			}
		}
	case []adapter.Authenticator:
		for i := range r {
			if said := elsewhere(&r[i]); said != "" {
				return said
			}
		}
	}
	return ""
}

// trace keeps the last calls of a clause.
type trace struct {
	mu    sync.Mutex
	calls []MadeCall
	total int
	ended int              // how many calls have returned otherwise than by the end of their context
	now   map[int]MadeCall // calls under way, by their number
	began int
}

// MadeCall is a call that was made. Its text is made only when it is wanted: most are not.
type MadeCall struct {
	Through, Method string
	Args            []any // nil for what is no call of one method
	Result          any
	Err             error
	text            string // once it was made
}

func (m MadeCall) String() string {
	if m.text != "" {
		return m.text
	}
	if m.Args == nil {
		return m.Through + m.Method
	}
	text := fmt.Sprintf("%s%s(%s) = %s", m.Through, m.Method, diff.Show(m.Args...), diff.Show(m.Result))
	if m.Err != nil {
		text += fmt.Sprintf(", error: %v", m.Err)
	}
	return text
}

// OneEachLine returns the texts of the calls, one on each line.
func OneEachLine(calls []MadeCall) string {
	var lines []string
	for _, m := range calls {
		lines = append(lines, m.String())
	}
	return strings.Join(lines, "\n  ")
}

// begin records that a call is under way until the returned function is called.
func (t *trace) begin(method string, args []any) (finish func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began++
	n := t.began
	if t.now == nil {
		t.now = map[int]MadeCall{}
	}
	t.now[n] = MadeCall{Method: method, Args: args}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.now, n)
	}
}

// underWay returns the observed calls that have not returned, the first three of them.
func (t *trace) underWay() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var calls []string
	for _, n := range SortedKeys(t.now) {
		if len(calls) < 3 {
			calls = append(calls, fmt.Sprintf("%s(%s)", t.now[n].Method, diff.Show(t.now[n].Args...)))
		}
	}
	return calls
}

const tracedCalls = 24

func (t *trace) add(method string, args []any, result any, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total++
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.ended++
	}
	if len(t.calls) == tracedCalls {
		copy(t.calls, t.calls[1:])
		t.calls = t.calls[:tracedCalls-1]
	}
	t.calls = append(t.calls, MadeCall{Method: method, Args: args, Result: result, Err: err})
}

// Keep makes the texts of the calls so far, before somebody changes their arguments or results.
func (t *trace) Keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range t.calls {
		t.calls[i].text = m.String()
	}
}

// Idle returns a function that reports whether no call has returned since its
// last use. A call that waited until its context ended, as each call of a pool
// without connections does, does not count.
func (t *trace) Idle() func() bool {
	returned := -1
	return func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		before := returned
		returned = t.ended
		return returned == before
	}
}

func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("the last %d of %d calls:\n  %s", len(t.calls), t.total, OneEachLine(t.calls))
}
