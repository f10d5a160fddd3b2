package stress_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestStandbyTakesOver kills the primary of PostgreSQL while clients write, and
// promotes the hot standby, several times. The clients know both servers and connect to
// the one that accepts writes; commits wait for the standby. No acknowledged write is
// lost, no token is used twice, and after the promotion of the standby every call
// succeeds at the second try.
func TestStandbyTakesOver(t *testing.T) {
	if !*groups {
		t.Skip("LEFT OUT: the standby is tested with -groups, as make stress does")
	}
	t.Setenv(stores.EnvStandby, "") // the test may kill only servers that this run started
	store := wiringstest.Server(t, stores.Options{}, stores.KindStandby)
	pair := &pair{t: t, primary: store.Members[0], standby: store.Members[1]}
	pair.synchronous()
	pool := must(pgxpool.New(context.WithoutCancel(t.Context()), bothServers(store.URL, store.Addrs)))(t)
	t.Cleanup(pool.Close)
	a := must(postgres.New(pool))(t)
	require.NoError(t, a.EnsureSchema(t.Context()))
	l := &load{t: t, a: a}
	retried := 0
	start := time.Now()
	for range *rounds + 1 { // each server is the primary at least once
		l.killed(pair.killPrimary, func(context.Context) error {
			pair.promote()
			retried += twice(t, a)
			return nil
		})
		pair.follow()
		if t.Failed() {
			break
		}
	}
	t.Logf("%s %s: failed over %d times, %s; of %d calls after the promotions %d were tried twice",
		store.Name, store.Version, *rounds+1, l.counts(start), (*rounds+1)*callers*callsEach, retried)
}

const callers, callsEach = 16, 20

// twice calls methods from many goroutines and repeats each failed call once. It
// returns the number of repeated calls.
func twice(t *testing.T, a adapter.Adapter) int {
	var repeated atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range callsEach {
				call := func() error {
					ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
					defer cancel()
					_, err := a.CreateUser(ctx, adapter.User{})
					return err
				}
				err := call()
				if err == nil {
					continue
				}
				repeated.Add(1)
				assert.NoErrorf(t, call(), "a call fails a second time after the standby was promoted: %v, then", err)
			}
		})
	}
	wg.Wait()
	return int(repeated.Load())
}

// bothServers returns a URL that names both servers, for connections to the one that accepts writes.
func bothServers(url string, addrs []string) string {
	return strings.Replace(url, "@"+addrs[0], "@"+strings.Join(addrs, ","), 1) + "&target_session_attrs=read-write&connect_timeout=5"
}

// pair is a primary and its hot standby.
type pair struct {
	t                *testing.T
	primary, standby *stores.Member
}

func (p *pair) killPrimary(ctx context.Context) error { return p.primary.Kill(ctx) }

// promote makes the standby the primary.
func (p *pair) promote() {
	p.t.Helper()
	p.ask(p.standby, `SELECT pg_promote()`)
	p.primary, p.standby = p.standby, p.primary
	p.await(p.primary, `SELECT NOT pg_is_in_recovery()`)
}

// follow starts the old primary, which then follows the new one. From then on commits
// wait for it.
func (p *pair) follow() {
	p.t.Helper()
	require.NoError(p.t, p.standby.Start(p.t.Context()))
	p.synchronous()
}

// synchronous makes commits of the primary wait until the standby has them on its disk.
// It names the standby. If any name were enough, commits would not wait for the standby
// while pg_basebackup copies the data for it.
func (p *pair) synchronous() {
	p.t.Helper()
	p.await(p.primary, `SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming' AND application_name = 'walreceiver'`)
	p.ask(p.primary, `ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'`)
	p.ask(p.primary, `SELECT pg_reload_conf()`)
	p.await(p.primary, `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
}

// ask runs one statement on a server.
func (p *pair) ask(m *stores.Member, sql string) {
	p.t.Helper()
	_, err := query(p.t.Context(), m, sql)
	require.NoError(p.t, err, sql)
}

// await returns when the server answers true.
func (p *pair) await(m *stores.Member, sql string) {
	p.t.Helper()
	require.EventuallyWithT(p.t, func(c *assert.CollectT) {
		ok, err := query(p.t.Context(), m, sql)
		assert.Truef(c, err == nil && ok, "%v, %v", ok, err)
	}, time.Minute, 20*time.Millisecond, sql)
}

// query runs one statement on a new connection. The answer is true if the row contains
// true, or if the statement returns no rows.
func query(ctx context.Context, m *stores.Member, sql string) (answer bool, err error) {
	conn, err := pgx.Connect(ctx, fmt.Sprintf("postgres://gatehouse:gatehouse@%s/gatehouse?sslmode=disable", m.Addr))
	if err != nil {
		return false, err
	}
	rows, err := conn.Query(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		for answer = true; rows.Next(); {
			answer = rows.RawValues()[0] != nil && string(rows.RawValues()[0]) == "t"
		}
		err = rows.Err()
	}
	return answer, errors.Join(err, conn.Close(ctx))
}
