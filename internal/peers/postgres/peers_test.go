package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/alexedwards/scs/pgxstore"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	sessions   = 100_000
	interopDir = "../../../interop/pg"
)

// handle is an adapter with its pool and a second pool for scs.
type handle struct {
	*postgres.Adapter
	pool, scs *pgxpool.Pool
	schema    string
}

func open(tb testing.TB) adapter.Adapter {
	schema := "gatehouse_" + strings.ToLower(rand.Text())
	h := handle{pool: openIn(tb, schema), scs: openIn(tb, schema+"_scs"), schema: schema}
	var err error
	h.Adapter, err = postgres.New(h.pool)
	require.NoError(tb, err)
	require.NoError(tb, h.EnsureSchema(tb.Context()))
	run(tb, h.scs, `CREATE TABLE sessions (token text PRIMARY KEY, data bytea NOT NULL, expiry timestamptz NOT NULL)`)
	return h
}

// fill writes sessions for the adapter and for scs.
func fill(tb testing.TB, a adapter.Adapter, from, to int) {
	h := a.(handle)
	require.NoError(tb, postgrestest.NewBaseline(h.pool, "").AddSessions(tb.Context(), from, to))
	run(tb, h.scs, `INSERT INTO sessions SELECT 'session-' || n, ('u' || n / 10)::bytea, now() + interval '1 hour' FROM generate_series($1::int, $2::int - 1) AS n`, from, to)
	run(tb, h.scs, `ANALYZE sessions`)
}

// scs reads a blob by its key: an encoded session without its user.
type scs struct{ store *pgxstore.PostgresStore }

func (s scs) GetSessionAndUser(_ context.Context, token string) (*adapter.SessionAndUser, error) {
	_, found, err := s.store.Find(token)
	if err != nil || !found {
		return nil, err
	}
	return &adapter.SessionAndUser{}, nil
}

// BenchmarkPgxstore takes the store of scs as the baseline.
func BenchmarkPgxstore(b *testing.B) {
	bench.Sessions(b, adaptertest.Harness{New: open}, func(_ testing.TB, a adapter.Adapter) any {
		return scs{pgxstore.NewWithCleanupInterval(a.(handle).scs, 0)}
	}, sessions, fill)
}

// BenchmarkAuthJS times @auth/pg-adapter, which runs in Node on the tables of
// the adapter.
func BenchmarkAuthJS(b *testing.B) {
	skip := func(why string) { // go test shows a skipped benchmark only with -v
		require.NotEqual(b, "true", os.Getenv("CI"), why)
		fmt.Fprintln(os.Stderr, "NOT MEASURED: @auth/pg-adapter, because", why)
		b.SkipNow()
	}
	bin, err := exec.LookPath("node")
	if err != nil {
		skip("node is not in the PATH")
	}
	if out, err := exec.CommandContext(b.Context(), bin, interopDir+"/../install.mjs", "pg").CombinedOutput(); err != nil {
		skip(fmt.Sprintf("its packages can't be installed: %v\n%s", err, out))
	}
	h := open(b).(handle)
	for _, size := range []int{1_000, sessions} {
		b.Run(fmt.Sprintf("GetSessionAndUser/sessions=%d", size), func(b *testing.B) {
			run(b, h.pool, `TRUNCATE users CASCADE`)
			run(b, h.scs, `TRUNCATE sessions`)
			fill(b, h, 0, size)
			cmd := exec.CommandContext(b.Context(), bin, "bench.mjs", serverURL(b), h.schema, strconv.Itoa(max(b.N, 1000)))
			cmd.Dir = interopDir
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			require.NoError(b, err)
			var result struct{ Median float64 }
			require.NoErrorf(b, json.Unmarshal(out, &result), "%s", out)
			b.ReportMetric(result.Median, "ns/op")
		})
	}
}

func serverURL(tb testing.TB) string {
	tb.Helper()
	url := os.Getenv("GATEHOUSE_POSTGRES_URL")
	require.NotEmpty(tb, url,
		"GATEHOUSE_POSTGRES_URL is not set: this benchmark needs a PostgreSQL server where it may create schemas")
	return url
}

func run(tb testing.TB, pool *pgxpool.Pool, sql string, args ...any) {
	tb.Helper()
	_, err := pool.Exec(tb.Context(), sql, args...)
	require.NoError(tb, err)
}

// openIn opens a pool on a schema that it makes, and drops at the end.
func openIn(tb testing.TB, schema string) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(serverURL(tb))
	require.NoError(tb, err)
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(tb.Context(), config)
	require.NoError(tb, err)
	tb.Cleanup(func() {
		_, err := pool.Exec(context.Background(), `DROP SCHEMA `+schema+` CASCADE`)
		assert.NoError(tb, err)
		pool.Close()
	})
	run(tb, pool, `CREATE SCHEMA `+schema)
	return pool
}
