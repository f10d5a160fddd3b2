package mongo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestTransactionThatCantBeEndedAtOnce withholds the answer to each step of a
// sign-up until its deadline. Then it cuts off the server for longer than the adapter's
// first try to end the transaction takes. Soon after the server is back, the
// transaction's locks are free, and a repeated sign-up meets no conflict with it.
func TestTransactionThatCantBeEndedAtOnce(t *testing.T) {
	env := replicaSet.env(t)
	_, db := replicaSet.newStore(t)
	h := env.Handle(t, db.Name(), 8)
	if _, err := h.CreateUserWithAccount(t.Context(), adapter.User{}, adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: "0"}, nil); err != nil {
		t.Fatal(err) // the first sign-up asks whether the server supports transactions
	}
	const steps = 3 // user, account, commit
	for step := 1; step <= steps; step++ {
		user := adapter.User{Email: fmt.Sprintf("ada%d@example.com", step)}
		account := adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: fmt.Sprint(step)}
		signUp := func(ctx context.Context) error { return erred(h.CreateUserWithAccount(ctx, user, account, nil)) }
		must(h.Proxy.Inject(fault.HoldReply, step))(t)
		down := must(h.Proxy.Inject(fault.Down, step+1))(t)
		require.Errorf(t, within(t, 200*time.Millisecond, signUp), "the sign-up needs no answer of step %d", step)
		<-down.Hit()
		ping := func(ctx context.Context) error { return h.Client.Ping(ctx, nil) }
		for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
			require.Error(t, within(t, time.Until(end), ping), "the server is not cut off")
		}
		h.Proxy.Heal()
		for within(t, time.Second, ping) != nil { // each failure ends a dead connection
			if t.Failed() || t.Context().Err() != nil {
				return
			}
		}
		err := within(t, 30*time.Second, signUp)
		if err != nil && (step < steps || !errors.Is(err, adapter.ErrConflict)) { // the commit may have taken effect
			t.Errorf("server down after step %d: trying again: %v", step, err)
		}
	}
}

// TestStatementThatComesTooLate delivers the first statement of a sign-up when the call
// has failed and the adapter has ended its transaction. The statement must not begin the
// transaction again, because the locks would stay for a minute.
func TestStatementThatComesTooLate(t *testing.T) {
	network := &slowNetwork{}
	client := replicaSet.connect(t, func(o *options.ClientOptions) { o.SetDialer(network) })
	_, db := replicaSet.newStore(t)
	a := newAdapter(t, client.Database(db.Name()))
	signUp := func(name string) error {
		return within(t, 2*time.Second, func(ctx context.Context) error {
			account := adapter.Account{Type: "oidc", Provider: "google", ProviderAccountID: name}
			_, err := a.CreateUserWithAccount(ctx, adapter.User{Email: name + "@example.com"}, account, nil)
			return err
		})
	}
	require.NoError(t, signUp("grace")) // the first sign-up asks whether the server supports transactions
	statement := network.delay("startTransaction")
	require.ErrorIs(t, signUp("ada"), context.DeadlineExceeded, "a sign-up whose first statement does not arrive")
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for client.NumberSessionsInProgress() > 0 { // the adapter is ending the transaction
		<-tick.C
	}
	require.NoError(t, (<-statement).deliver())
	assert.NoError(t, signUp("ada"), "after a statement that came too late")
}

// slowNetwork connects clients. It can deliver a request after the client has closed the
// connection.
type slowNetwork struct{ next atomic.Pointer[delay] }

// delay is a request that is to be delayed.
type delay struct {
	text string
	conn chan *slowConn
}

// delay delays the next request that contains the text. The result gets its connection.
func (n *slowNetwork) delay(text string) <-chan *slowConn {
	d := &delay{text: text, conn: make(chan *slowConn, 1)}
	n.next.Store(d)
	return d.conn
}

func (n *slowNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &slowConn{Conn: conn, network: n}, err
}

type slowConn struct {
	net.Conn
	network *slowNetwork
	request []byte        // the request that is delayed
	closed  chan struct{} // nil if none is delayed
}

func (c *slowConn) Write(b []byte) (int, error) {
	d := c.network.next.Load()
	if d == nil || !bytes.Contains(b, []byte(d.text)) || !c.network.next.CompareAndSwap(d, nil) {
		return c.Conn.Write(b)
	}
	c.request, c.closed = bytes.Clone(b), make(chan struct{})
	d.conn <- c
	return len(b), nil
}

func (c *slowConn) Read(b []byte) (int, error) {
	if c.closed == nil {
		return c.Conn.Read(b)
	}
	<-c.closed
	return 0, net.ErrClosed
}

// Close leaves the connection open for a request that is delayed.
func (c *slowConn) Close() error {
	if c.closed == nil {
		return c.Conn.Close()
	}
	close(c.closed)
	return nil
}

// deliver sends the request, waits until the server answers, and closes the connection.
func (c *slowConn) deliver() error {
	_, err := c.Conn.Write(c.request)
	if err == nil {
		err = c.SetReadDeadline(time.Time{})
	}
	if err == nil {
		_, err = io.ReadFull(c.Conn, make([]byte, 16)) // the header of a message
	}
	return errors.Join(err, c.Conn.Close())
}

func within(t *testing.T, limit time.Duration, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return call(ctx)
}
