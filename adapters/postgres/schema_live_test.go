package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var people = flag.Int("people", 50_000, "TestEnsureSchemaUnderLoad adopts this many sessions")

// longest keeps the longest wait of each kind of statement.
type longest struct {
	mu    sync.Mutex
	waits map[string]time.Duration
}

func (l *longest) note(what string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waits[what] = max(l.waits[what], took)
}

// load reads and writes as @auth/pg-adapter does, until stop is closed.
func load(ctx context.Context, t *testing.T, pool *pgxpool.Pool, sessions int, stop <-chan struct{}, waits *longest) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		n := rand.IntN(sessions)
		for what, sql := range map[string]string{
			"read session":   `SELECT u.id FROM sessions AS s JOIN users AS u ON u.id = s."userId" WHERE s.id = $1`,
			"read user":      `SELECT id FROM users WHERE id = 1 + $1 % 1000`,
			"extend session": `UPDATE sessions SET expires = expires + interval '1 s' WHERE id = $1`,
			"update user":    `UPDATE users SET name = 'x' WHERE id = 1 + $1 % 1000`,
			"new session":    `INSERT INTO sessions ("userId", expires, "sessionToken") VALUES (1 + $1::int % 1000, now(), gen_random_uuid()::text)`,
		} {
			began := time.Now()
			if _, err := pool.Exec(ctx, sql, n); err != nil {
				t.Errorf("%s: %v", what, err)
				return
			}
			waits.note(what, time.Since(began))
		}
	}
}

const (
	locks        = "locks"
	servesPeople = "serves people" // the application's name on the server
)

// watchLocks records how long the application waits for locks, until stop is
// closed.
func watchLocks(t *testing.T, pool *pgxpool.Pool, stop <-chan struct{}, waits *longest) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		seconds := value[float64](t, pool, `SELECT COALESCE(max(extract(epoch FROM clock_timestamp() - l.waitstart)), 0)::float8
			FROM pg_locks AS l JOIN pg_stat_activity AS s USING (pid) WHERE NOT l.granted AND s.application_name = $1`, servesPeople)
		waits.note(locks, time.Duration(seconds*float64(time.Second)))
	}
}

// TestEnsureSchemaUnderLoad adopts a database of Auth.js under load, while one
// reader is idle in a transaction and another one is at REPEATABLE READ. No
// call may wait for the migration, which ends when the two readers have gone.
func TestEnsureSchemaUnderLoad(t *testing.T) {
	pool := authJSDatabase(t)
	sessions := *people
	execSQL(t, pool, `INSERT INTO users (name, email) SELECT 'u', n || '@example.com' FROM generate_series(1, 1000) AS n`)
	execSQL(t, pool, `INSERT INTO sessions ("userId", expires, "sessionToken") SELECT 1 + n % 1000, now() + n * interval '1 s', 'live ' || n FROM generate_series(1, $1::int) AS n`, sessions)
	execSQL(t, pool, `ANALYZE`)
	ctx := t.Context()
	application := withParameters(t, map[string]string{"application_name": servesPeople,
		"search_path": pool.Config().ConnConfig.RuntimeParams["search_path"]})
	watcher := wiring{}.pool(t)

	measure := func(phase string, during func()) {
		waits, stop := &longest{waits: map[string]time.Duration{}}, make(chan struct{})
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { load(ctx, t, application, sessions, stop, waits) })
		}
		wg.Go(func() { watchLocks(t, watcher, stop, waits) })
		began := time.Now()
		during()
		took := time.Since(began)
		close(stop)
		wg.Wait()
		t.Logf("%s: %v, longest calls and waits for locks: %v", phase, took, waits.waits)
		// The machine may be busy, so the test limits only the time that
		// calls wait for locks, beside the time of the phase.
		assert.LessOrEqualf(t, waits.waits[locks], max(100*time.Millisecond, took/8),
			"%s: the longest wait for a lock", phase)
	}

	reader, pid := begin(t, pool)
	execSQL(t, reader, `SELECT FROM users LIMIT 1`)
	old := must(pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))(t)
	t.Cleanup(func() { _ = old.Rollback(context.Background()) })
	execSQL(t, old, `SELECT FROM verification_token LIMIT 1`)

	measure("the readers stay", func() {
		soon, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			defer time.AfterFunc(time.Second, stop) // some tries later
			awaitBlocked(t, pool, pid)
		}()
		err := newAdapter(t, pool).EnsureSchema(soon)
		assert.Truef(t, errors.Is(err, context.Canceled) && strings.Contains(err.Error(), fmt.Sprintf("process %d ", pid)),
			"got %v, want an error that names the process %d", err, pid)
	})
	require.NoError(t, reader.Rollback(ctx))
	measure("an old snapshot stays", func() {
		soon, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			defer stop()
			await(t, "an index waits for the snapshot", func() bool { return waitingBuild(t, pool) })
		}()
		err := newAdapter(t, pool).EnsureSchema(soon)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, fmt.Sprintf("process %d ", old.Conn().PgConn().PID()))
	})
	require.NoError(t, old.Rollback(ctx))
	a := newAdapter(t, pool)
	measure("alone", func() { require.NoError(t, a.EnsureSchema(ctx)) })
	assert.NotNil(t, must(a.GetSessionAndUser(ctx, "s1"))(t), "a session is gone")
}

// throughProxy opens an adapter whose connections pass a proxy.
func (w wiring) throughProxy(t testing.TB, schema string, conns int32) (*postgres.Adapter, *fault.Proxy) {
	t.Helper()
	pool, proxy := w.poolThroughProxy(t, conns)
	return newAdapter(t, pool, postgres.WithSchema(schema)), proxy
}

// poolThroughProxy opens a pool whose connections pass a proxy.
func (w wiring) poolThroughProxy(t testing.TB, conns int32) (*pgxpool.Pool, *fault.Proxy) {
	t.Helper()
	c := w.config(t)
	c.MaxConns = conns
	proxy := must(fault.NewProxy(net.JoinHostPort(c.ConnConfig.Host, strconv.Itoa(int(c.ConnConfig.Port)))))(t)
	t.Cleanup(func() { _ = proxy.Close() })
	c.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
	}
	pool := must(pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), c))(t)
	t.Cleanup(func() {
		proxy.Heal()
		pool.Close()
	})
	require.NoError(t, pool.Ping(t.Context()))
	return pool, proxy
}

// TestEnsureSchemaKilled stops EnsureSchema at every step of its work. Another
// call then finishes the work, and no invalid index or key is left.
func TestEnsureSchemaKilled(t *testing.T) {
	for _, database := range []string{"new", "Auth.js"} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			for step := 1; ; step += 3 {
				schema := newSchema(t)
				pool := inSchema(t, schema)
				if database == "Auth.js" {
					makeAuthJSTables(t, pool)
				}
				killed, proxy := wirings[0].throughProxy(t, schema, 8)
				must(proxy.Inject(fault.Down, step))(t)
				err := killed.WithLease(300 * time.Millisecond).EnsureSchema(t.Context())
				proxy.Heal()
				if err == nil {
					t.Logf("done in fewer than %d steps", step)
					return
				}
				a := newAdapter(t, pool)
				finish(t, fmt.Sprint("step ", step), a.WithLease(time.Second), pool)
				require.NoErrorf(t, a.CheckSchema(t.Context()), "after step %d", step)
				if database == "new" || step%4 == 0 {
					callEveryMethod(t, a)
				}
			}
		})
	}
}

// TestEnsureSchemaThroughPgBouncer: many callers adopt a database at once
// through a pooler.
func TestEnsureSchemaThroughPgBouncer(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	makeAuthJSTables(t, inSchema(t, schema))
	w := wiring{mode: pgx.QueryExecModeExec, pooler: true}
	var wg sync.WaitGroup
	for range 4 {
		a := newAdapter(t, w.pool(t), postgres.WithSchema(schema))
		wg.Go(func() { assert.NoError(t, a.EnsureSchema(t.Context())) })
	}
	wg.Wait()
	callEveryMethod(t, newAdapter(t, w.pool(t), postgres.WithSchema(schema)))
}

// TestEnsureSchemaOnOneConnection adopts a database over a bare connection and
// over a pool of one.
func TestEnsureSchemaOnOneConnection(t *testing.T) {
	t.Parallel()
	for _, bare := range []bool{true, false} {
		schema := newSchema(t)
		makeAuthJSTables(t, inSchema(t, schema))
		pool := wiring{maxConns: 1}.pool(t)
		var db postgres.DB = pool
		if bare {
			conn := must(pool.Acquire(t.Context()))(t)
			defer conn.Release()
			db = conn.Conn()
		}
		a := newAdapter(t, db, postgres.WithSchema(schema))
		require.NoError(t, a.EnsureSchema(t.Context()))
		callEveryMethod(t, a)
	}
}

// TestSweepUnderAnOldSnapshot removes many sessions that expired at one instant,
// while an old transaction prevents the server from removing the deleted rows.
func TestSweepUnderAnOldSnapshot(t *testing.T) {
	a, pool, schema := wirings[0].newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	const expired = 50_000
	fill := func() {
		execSQL(t, pool, `INSERT INTO `+schema+`.sessions ("sessionToken", "userId", expires)
			SELECT gen_random_uuid()::text, $1, '2020-01-01' FROM generate_series(1, $2::int)`, user.ID, expired)
		execSQL(t, pool, `INSERT INTO `+schema+`.verification_token (identifier, token, expires)
			SELECT 'i' || n % 7, n, '2020-01-01' FROM generate_series(1, 3000) AS n`)
		execSQL(t, pool, `ANALYZE `+schema+`.sessions`)
	}
	sweep := func() time.Duration {
		began := time.Now()
		swept := must(a.DeleteExpired(ctx, time.Now()))(t)
		want := (adapter.Swept{Sessions: expired, VerificationTokens: 3000})
		assert.Truef(t, swept == want, "got %+v, want %+v", swept, want)
		return time.Since(began)
	}
	fill()
	plain := sweep()
	fill()
	old := must(pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))(t)
	t.Cleanup(func() { _ = old.Rollback(context.Background()) })
	execSQL(t, old, `SELECT FROM `+schema+`.users LIMIT 1`)
	held := sweep()
	t.Logf("%d sessions swept in %v, under an old snapshot in %v", expired, plain, held)
	assert.Truef(t, held <= 4*plain+time.Second, "a sweep took %v, and %v under an old snapshot", plain, held)
}
