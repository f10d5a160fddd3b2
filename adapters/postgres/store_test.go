package postgres_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
)

const (
	postgresURL  = "GATEHOUSE_POSTGRES_URL"
	pgbouncerURL = "GATEHOUSE_PGBOUNCER_URL"
)

// TestMain runs as a child process of another test, or prints once which
// servers are missing.
func TestMain(m *testing.M) {
	if args, ok := os.LookupEnv(childEnv); ok {
		if err := child(strings.Split(args, "\n")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(postgresURL) == "" {
		if !skipStores() {
			fmt.Fprintf(os.Stderr, "%s is not set: these tests need a PostgreSQL server, such as postgres://postgres@127.0.0.1/postgres, "+
				"where they may create schemas; GATEHOUSE_SKIP_STORES=1 leaves them out\n", postgresURL)
			os.Exit(1)
		}
		fmt.Fprintf(os.Stderr, "*** SKIPPED: every test that needs PostgreSQL, since %s is not set and GATEHOUSE_SKIP_STORES=1 ***\n", postgresURL)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func skipStores() bool { return os.Getenv("GATEHOUSE_SKIP_STORES") == "1" }

// serverURL returns the URL of a server. Without one it skips or fails the
// test.
func serverURL(t testing.TB, name string) string {
	t.Helper()
	url := os.Getenv(name)
	switch {
	case url != "":
	case skipStores():
		t.Skipf("LEFT OUT: %s is not set and GATEHOUSE_SKIP_STORES=1", name)
	default:
		t.Fatalf("%s is not set: this test needs PgBouncer with transaction pooling in front of the server of %s", name, postgresURL)
	}
	return url
}

// wiring is one way to reach the server.
type wiring struct {
	name     string
	mode     pgx.QueryExecMode
	pooler   bool
	maxConns int32
	zone     string              // the time zone of the server's session
	authJS   bool                // the tables were made by Auth.js
	site     string              // the product whose tables are served with WithLayout
	asIs     bool                // without what SchemaChanges adds
	driver   postgrestest.Driver // of database/sql; nil means pgx
	telling  bool                // the wiring differs much from the others
}

var wirings = []wiring{
	{name: "cache_statement", mode: pgx.QueryExecModeCacheStatement, telling: true},
	{name: "cache_describe", mode: pgx.QueryExecModeCacheDescribe},
	{name: "describe_exec", mode: pgx.QueryExecModeDescribeExec},
	{name: "exec", mode: pgx.QueryExecModeExec},
	{name: "simple_protocol", mode: pgx.QueryExecModeSimpleProtocol},
	{name: "pool_of_one", mode: pgx.QueryExecModeCacheStatement, maxConns: 1},
	{name: "pgbouncer_exec", mode: pgx.QueryExecModeExec, pooler: true},
	{name: "pgbouncer_simple", mode: pgx.QueryExecModeSimpleProtocol, pooler: true},
	{name: "far_zone", mode: pgx.QueryExecModeExec, zone: "Asia/Kathmandu"},
	{name: "authjs_tables", authJS: true, telling: true},
	{name: "sql_stdlib", driver: postgrestest.Stdlib},
	{name: "sql_wrapped", driver: postgrestest.Wrapped},
}

// siteWirings serve the tables of other products, as they are and after SchemaChanges.
var siteWirings = []wiring{{name: "prisma_tables", site: "Prisma"}, {name: "drizzle_tables", site: "Drizzle"},
	{name: "prisma_as_is", site: "Prisma", asIs: true}, {name: "drizzle_as_is", site: "Drizzle", asIs: true}}

// config returns the pool configuration of the wiring.
func (w wiring) config(t testing.TB) *pgxpool.Config {
	t.Helper()
	name := postgresURL
	if w.pooler {
		name = pgbouncerURL
	}
	c := must(pgxpool.ParseConfig(serverURL(t, name)))(t)
	if w.mode != 0 {
		c.ConnConfig.DefaultQueryExecMode = w.mode
	}
	c.MaxConns = 8
	if w.maxConns > 0 {
		c.MaxConns = w.maxConns
	}
	if w.zone != "" {
		c.ConnConfig.RuntimeParams["timezone"] = w.zone
	}
	return c
}

// pool opens a pool that is closed at the end of the test.
func (w wiring) pool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return openPool(t, w.config(t))
}

// poolWith opens a pool whose sessions have the given server settings.
func (w wiring) poolWith(t testing.TB, parameters map[string]string) *pgxpool.Pool {
	t.Helper()
	c := w.config(t)
	maps.Copy(c.ConnConfig.RuntimeParams, parameters)
	return openPool(t, c)
}

func withParameters(t testing.TB, parameters map[string]string) *pgxpool.Pool {
	t.Helper()
	return wiring{}.poolWith(t, parameters)
}

func openPool(t testing.TB, c *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool := must(pgxpool.NewWithConfig(t.Context(), c))(t)
	t.Cleanup(pool.Close)
	return pool
}

// newSchema makes a schema that is dropped at the end of the test, so that
// test runs can share a server.
func newSchema(t testing.TB) string {
	t.Helper()
	name := "gatehouse_" + strings.ToLower(rand.Text())
	dropSchema(t, name)
	execSQL(t, wiring{}.pool(t), `CREATE SCHEMA `+name)
	return name
}

// dropSchema drops the schema at the end of the test, if it exists.
func dropSchema(t testing.TB, name string) {
	t.Helper()
	cleanup(t, `DROP SCHEMA IF EXISTS `+pgx.Identifier{name}.Sanitize()+` CASCADE`)
}

// cleanup runs SQL at the end of the test.
func cleanup(t testing.TB, sql string) {
	t.Helper()
	url := serverURL(t, postgresURL)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		defer cancel()
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, sql)
			err = errors.Join(err, conn.Close(ctx))
		}
		assert.NoError(t, err)
	})
}

// execSQL runs SQL as an administrator would.
func execSQL(t testing.TB, db postgres.DB, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err, sql)
}

// value reads one value.
func value[T any](t testing.TB, db postgres.DB, sql string, args ...any) T {
	t.Helper()
	rows := must(db.Query(t.Context(), sql, args...))(t)
	v, err := pgx.CollectOneRow(rows, pgx.RowTo[T])
	require.NoError(t, err, sql)
	return v
}

// newStore returns an adapter on its own tables.
func (w wiring) newStore(t testing.TB) (*postgres.Adapter, *pgxpool.Pool, string) {
	t.Helper()
	schema, pool := newSchema(t), w.pool(t)
	if w.authJS {
		own := inSchema(t, schema)
		makeAuthJSTables(t, own)
		own.Close() // an idle connection tells the server late what it has scanned
	}
	a := newAdapter(t, pool, postgres.WithSchema(schema))
	if w.driver != nil {
		a = newSQL(t, w.sqlDB(t, nil), postgres.WithSchema(schema))
	}
	require.NoError(t, a.EnsureSchema(t.Context()))
	return a, pool, schema
}

// sqlDB opens a pool of database/sql that is closed at the end of the test.
func (w wiring) sqlDB(t testing.TB, change func(*pgxpool.Config)) *sql.DB {
	t.Helper()
	c := w.config(t)
	if change != nil {
		change(c)
	}
	connector := must(w.driver(c.ConnConfig))(t)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(int(c.MaxConns))
	db.SetMaxIdleConns(int(c.MaxConns))
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func newSQL(t testing.TB, db postgres.SQL, opts ...postgres.Option) *postgres.Adapter {
	t.Helper()
	return must(postgres.NewSQL(db, opts...))(t)
}

func newAdapter(t testing.TB, db postgres.DB, opts ...postgres.Option) *postgres.Adapter {
	t.Helper()
	return must(postgres.New(db, opts...))(t)
}
