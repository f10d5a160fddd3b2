package postgres_test

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// TestOneRetryAfterARestart breaks all connections of a full pool at once, as a
// server that restarts or fails over does. A call that is repeated once succeeds,
// even if broken connections are left in the pool.
func TestOneRetryAfterARestart(t *testing.T) {
	t.Parallel()
	const conns = 8
	_, _, schema := wirings[0].newStore(t)
	pool, proxy := wirings[0].poolThroughProxy(t, conns)
	a := newAdapter(t, pool, postgres.WithSchema(schema))
	ctx := t.Context()
	for range 5 {
		var held [conns]*pgxpool.Conn // so that all connections are open, and idle in the pool afterwards
		for i := range held {
			held[i] = must(pool.Acquire(ctx))(t)
		}
		for _, conn := range held {
			conn.Release()
		}
		must(proxy.Inject(fault.Cut, 1))(t)
		user, err := a.GetUser(ctx, "nobody")
		require.Errorf(t, err, "got %v from a connection that broke", user)
		var wg sync.WaitGroup
		for range 2 * conns {
			wg.Go(func() {
				if _, err := a.GetUser(ctx, "nobody"); err == nil {
					return
				}
				_, err := a.GetUser(ctx, "nobody")
				assert.NoError(t, err, "the second time")
			})
		}
		wg.Wait()
	}
}
