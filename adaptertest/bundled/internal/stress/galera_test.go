package stress_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestGaleraNodeKilled kills a node of a Galera cluster while clients write over all three nodes, and brings it back: no
// acknowledged write is lost on any node, no token is used twice, and no node ever says that a record is absent that
// another has stored.
func TestGaleraNodeKilled(t *testing.T) {
	onGalera(t, func(t *testing.T, w wirings.Wiring, o *wirings.Opened) {
		first := o.Harness.New(t)
		second := o.Harness.Second(t, first)
		l := &load{t: t, a: first, others: []adapter.Adapter{second, o.Harness.Second(t, second)}}
		start := time.Now()
		for range *rounds {
			node := o.Store.Members[mathrand.IntN(len(o.Store.Members))]
			l.killed(node.Kill, func(ctx context.Context) error {
				if err := node.Start(ctx); err != nil {
					return err
				}
				return o.Store.Await(ctx)
			})
			if t.Failed() {
				break
			}
		}
		t.Logf("%s (%s %s): killed %d times, %s", w, o.Server, o.Version, *rounds, l.counts(start))
	})
}

// TestGaleraSettings tests what the adapter refuses on a cluster, and its calls on a node that has left.
func TestGaleraSettings(t *testing.T) {
	onGalera(t, func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		for setting, params := range map[string]map[string]string{
			"wsrep_sync_wait=1":       nil,
			"wsrep_dirty_reads is on": {"wsrep_sync_wait": "1", "wsrep_dirty_reads": "1"},
		} {
			_, err := mysqltest.Open(t.Context(), mysqltest.Settings{URL: o.Store.URL, Params: params})
			assert.Truef(t, err != nil && strings.Contains(err.Error(), setting),
				"got %v, want an error that names %s", err, setting)
		}
		a := handleOf(t, o.Harness.New(t))
		b := handleOf(t, o.Harness.Second(t, a))
		ensuredAtOnce(t, a, b, handleOf(t, o.Harness.Second(t, b)))
		isolated(t, a)
		racing(t, a, b)
		inTotalOrder(t, a)
	})
}

// handleOf returns the adapter of a harness.
func handleOf(t *testing.T, a adapter.Adapter) *mysqltest.Handle {
	t.Helper()
	h, ok := a.(*mysqltest.Handle)
	require.Truef(t, ok, "the harness has a %T", a)
	return h
}

// isolated cuts a node off: a call there is an error and never says that a record is absent.
func isolated(t *testing.T, a *mysqltest.Handle) {
	t.Helper()
	ctx := t.Context()
	must(a.CreateUser(ctx, adapter.User{ID: "isolated"}))(t)
	var nodes string
	require.NoError(t, a.DB.QueryRowContext(ctx, "SELECT @@GLOBAL.wsrep_cluster_address").Scan(&nodes))
	var joining sync.WaitGroup
	join := func(address string) { // the statement ends when the node has joined, and its connection may end before
		joining.Go(func() { _, _ = a.DB.ExecContext(ctx, "SET GLOBAL wsrep_cluster_address = '"+address+"'") })
	}
	join("gcomm://127.0.0.1:1") // nobody is there
	var refused *driver.MySQLError
	for start := time.Now(); time.Since(start) < time.Minute; pause(50 * time.Millisecond) {
		limit, cancel := context.WithTimeout(ctx, 10*time.Second)
		user, err := a.GetUser(limit, "isolated")
		cancel()
		assert.False(t, err == nil && user == nil, "a node that has left the cluster says that a user is absent")
		if errors.As(err, &refused) && refused.Number == 1047 {
			break
		}
	}
	assert.True(t, refused != nil && refused.Number == 1047, "the node does not say that it has left the cluster")
	_, err := a.CreateUser(ctx, adapter.User{ID: "isolated2"})
	assert.Truef(t, err != nil && !errors.Is(err, adapter.ErrConflict), "a write on a node that has left: %v", err)
	joining.Wait()
	join(nodes)
	defer joining.Wait()
	for start := time.Now(); ; pause(50 * time.Millisecond) {
		user, err := a.GetUser(ctx, "isolated")
		if err == nil && user != nil {
			return
		}
		require.Truef(t, err != nil && time.Since(start) <= 2*time.Minute, "after the node is back: %v, %v", user, err)
	}
}

// racing uses tokens on two nodes at once: one of them gets each, and the other learns at its COMMIT that it has lost.
func racing(t *testing.T, a, b *mysqltest.Handle) {
	t.Helper()
	ctx := t.Context()
	lost := func() (n int) {
		for _, h := range []*mysqltest.Handle{a, b} {
			for _, name := range []string{"wsrep_local_cert_failures", "wsrep_local_bf_aborts"} {
				var key string
				var count int
				require.NoError(t, h.DB.QueryRowContext(ctx, "SHOW STATUS LIKE '"+name+"'").Scan(&key, &count))
				n += count
			}
		}
		return n
	}
	before := lost()
	for n := range 100 {
		token := adapter.VerificationToken{Identifier: "race", Token: fmt.Sprint(n), Expires: time.Now().Add(time.Hour)}
		must(a.CreateVerificationToken(ctx, token))(t)
		var wins atomic.Int64
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				got, err := []*mysqltest.Handle{a, b}[i%2].UseVerificationToken(ctx, token.Key())
				assert.NoError(t, err, "a token that others use at once")
				if got != nil {
					wins.Add(1)
				}
			})
		}
		all.Wait()
		require.Truef(t, wins.Load() == 1, "a token was returned %d times", wins.Load())
	}
	assert.NotEqual(t, before, lost(), "no COMMIT failed, so the test proves nothing")
}

// ensuredAtOnce calls EnsureSchema twice on each node at once, several times: all calls succeed, and every node then has the
// tables and one row that says their version.
func ensuredAtOnce(t *testing.T, nodes ...*mysqltest.Handle) {
	t.Helper()
	ctx := t.Context()
	for round := range 5 {
		prefix := fmt.Sprintf("once%d_", round)
		over := func(node *mysqltest.Handle) *mysql.Adapter {
			return must(mysql.New(node.DB, mysql.WithPrefix(prefix)))(t)
		}
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range 2 * len(nodes) {
			a := over(nodes[i%len(nodes)])
			all.Go(func() {
				<-start
				assert.NoErrorf(t, a.EnsureSchema(ctx), "node %d, with others at once", i%len(nodes))
			})
		}
		close(start)
		all.Wait()
		for i, node := range nodes {
			changes, err := over(node).SchemaChanges(ctx)
			err = errors.Join(err, over(node).CheckSchema(ctx))
			assert.Truef(t, err == nil && len(changes) <= 0, "node %d: the tables are not complete: %q, %v", i, changes, err)
			var rows, version int
			if err := node.DB.QueryRowContext(ctx, "SELECT COUNT(*), MAX(version) FROM "+prefix+"gatehouse_schema").Scan(&rows, &version); err != nil || rows != 1 || version != 2 {
				t.Errorf("node %d: %d versions, the last %d, %v", i, rows, version, err)
			}
		}
		_, err := over(nodes[round%len(nodes)]).CreateUser(ctx, adapter.User{ID: "once"})
		assert.NoError(t, err)
	}
}

// inTotalOrder lacks an index: EnsureSchema says what the statement costs, and does not run it.
func inTotalOrder(t *testing.T, a *mysqltest.Handle) {
	t.Helper()
	ctx := t.Context()
	missing := must(mysql.New(a.DB, mysql.WithPrefix("total_")))(t)
	require.NoError(t, missing.EnsureSchema(ctx))
	must(a.DB.ExecContext(ctx, "ALTER TABLE total_session DROP KEY total_session_expires_idx"))(t)
	err := missing.EnsureSchema(ctx)
	assert.Truef(t, err != nil && strings.Contains(err.Error(), "all writes of all nodes wait") &&
		strings.Contains(err.Error(), "ADD KEY `total_session_expires_idx`"), "EnsureSchema on a cluster says %v", err)
	if changes, err := missing.SchemaChanges(ctx); err != nil || !strings.Contains(strings.Join(changes, ";"), "ADD KEY") {
		t.Errorf("SchemaChanges: %v, %v", changes, err)
	}
}
