// Package postgrestest opens PostgreSQL adapters for the tests of this module and of
// all bundled adapters. The package promises nothing: it changes in any version, as the
// tests need.
package postgrestest

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// AuthJSTables is the schema that authjs.dev documents for @auth/pg-adapter.
//
//go:embed authjs.sql
var AuthJSTables string

// PrismaTables is the schema that authjs.dev documents for @auth/prisma-adapter, as
// Prisma makes it.
//
//go:embed prisma.sql
var PrismaTables string

// DrizzleTables is the schema that authjs.dev documents for @auth/drizzle-adapter,
// as drizzle-kit makes it.
//
//go:embed drizzle.sql
var DrizzleTables string

// Settings describes how a test reaches a server.
type Settings struct {
	// URL names the server. Its role may create databases there.
	URL string
	// PooledURL names PgBouncer with transaction pooling in front of the server,
	// or is empty. OnlyPooled says that every adapter connects through it.
	PooledURL  string
	OnlyPooled bool
	// Mode is the execution mode of pgx; 0 means the default of pgx.
	Mode pgx.QueryExecMode
	// Driver opens the connections of database/sql; nil means a pool of pgx.
	Driver Driver
	// NoPooler says why the adapter can't be used behind PooledURL, or is empty.
	NoPooler string
	// Conns is the largest number of connections in a pool; 0 means 16.
	Conns int32
	// Zone is the time zone of the server's sessions; empty means the
	// server's default.
	Zone string
	// Schema is the schema that holds the tables; empty means the default
	// one.
	Schema string
	// AuthJS says that AuthJSTables makes the tables before EnsureSchema.
	AuthJS bool
	// Site is a product whose tables are served with WithLayout: "Prisma", "Drizzle" or
	// none. The tables get what SchemaChanges returns, unless AsTheyAre is set.
	Site      string
	AsTheyAre bool
}

// layout returns the layout of the site, and the script that makes its tables.
func (s Settings) layout() (layout postgres.Layout, script string) {
	switch s.Site {
	case "Prisma":
		return postgres.Prisma(), PrismaTables
	case "Drizzle":
		return postgres.Drizzle(), DrizzleTables
	}
	return postgres.PgAdapter(), AuthJSTables
}

// makeSite makes the tables of another product in a schema, with what SchemaChanges adds
// unless they are served as they are.
func (e *Env) makeSite(ctx context.Context, schema string) error {
	_, tables := e.layout()
	name := pgx.Identifier{schema}.Sanitize()
	if _, err := e.Admin.Exec(ctx, fmt.Sprintf("CREATE SCHEMA IF NOT EXISTS %s; SET search_path = %s; %s; RESET search_path", name, name, tables)); err != nil {
		return err
	}
	if e.Site == "" || e.AsTheyAre {
		return nil
	}
	layout, _ := e.layout()
	a, err := postgres.New(e.Admin, postgres.WithSchema(schema), postgres.WithLayout(layout))
	if err != nil {
		return err
	}
	changes, err := a.SchemaChanges(ctx)
	for _, change := range changes {
		if err == nil {
			_, err = e.Admin.Exec(ctx, change)
		}
	}
	return err
}

// Env is a new database in a server, with two stores in it. The names of their
// tables have different prefixes, or their schemas differ.
type Env struct {
	Settings
	// Admin is a pool on the database without a proxy.
	Admin *pgxpool.Pool
	// Version is the version that the server reports.
	Version string
	name    string
	server  string               // the URL of the server's own database
	first   [2]*postgres.Adapter // of each store, on Admin

	mu   sync.Mutex
	kept []*connections // for later handles
}

// store is one of the two stores of an Env.
type store int

// Open makes the database and the tables. Close drops it.
func Open(ctx context.Context, s Settings) (*Env, error) {
	if s.Conns == 0 {
		s.Conns = 16
	}
	e := &Env{Settings: s, name: "gatehouse_" + strings.ToLower(rand.Text()), server: s.URL}
	if err := onServer(ctx, s.URL, "CREATE DATABASE "+e.name); err != nil {
		return nil, fmt.Errorf("postgrestest: the account must be allowed to create databases: %w", err)
	}
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

func (e *Env) open(ctx context.Context) (err error) {
	if e.URL, err = withDatabase(e.URL, e.name); err != nil {
		return err
	}
	if e.PooledURL != "" {
		if e.PooledURL, err = withDatabase(e.PooledURL, e.name); err != nil {
			return err
		}
	}
	if e.Admin, err = pgxpool.New(ctx, e.URL); err != nil {
		return err
	}
	if err := e.Admin.QueryRow(ctx, `SELECT split_part(version(), ' on ', 1)`).Scan(&e.Version); err != nil {
		return err
	}
	for _, store := range []store{0, 1} {
		if e.AuthJS || e.Site != "" {
			if err := e.makeSite(ctx, e.schema(store)); err != nil {
				return err
			}
		}
		a, err := postgres.New(e.Admin, e.options(store)...)
		if err == nil {
			err = a.EnsureSchema(ctx)
		}
		if err != nil {
			return err
		}
		e.first[store] = a
	}
	return nil
}

// Close drops the database.
func (e *Env) Close(ctx context.Context) error {
	for _, c := range e.kept {
		c.close()
	}
	e.kept = nil
	if e.Admin != nil {
		e.Admin.Close()
	}
	return onServer(ctx, e.server, "DROP DATABASE "+e.name+" WITH (FORCE)")
}

// schema and prefix return the schema and the prefix of the tables of a
// store.
func (e *Env) schema(s store) string {
	if e.AuthJS || e.Site != "" {
		return [...]string{"public", "other"}[s]
	}
	return e.Schema
}

func (e *Env) prefix(s store) string {
	if e.AuthJS || e.Site != "" {
		return ""
	}
	prefix := [...]string{"", "other_"}[s]
	if e.Schema != "" {
		prefix = "auth_" + prefix
	}
	return prefix
}

func (e *Env) options(s store) []postgres.Option {
	var options []postgres.Option
	if schema := e.schema(s); schema != "" {
		options = append(options, postgres.WithSchema(schema))
	}
	if prefix := e.prefix(s); prefix != "" {
		options = append(options, postgres.WithPrefix(prefix))
	}
	if e.Site != "" {
		layout, _ := e.layout()
		options = append(options, postgres.WithLayout(layout))
	}
	return options
}

// Handle is an adapter with its own pool. The pool connects to the server itself until
// the suite asks for the faults or the connections of the handle, because a proxy takes
// as much of the machine as the calls do.
type Handle struct {
	*postgres.Adapter
	Pool *pgxpool.Pool // nil with database/sql

	pool pool

	env     *Env
	t       testing.TB
	options []postgres.Option
	store   store
	schema  string // of an adapter of BenchHarness
	conns   int32
	pooled  bool
	proxy   *fault.Proxy // nil if the pool connects to the server itself
}

// connections is the pool of a handle, and its proxy if there is one.
type connections struct {
	pool  pool
	proxy *fault.Proxy
}

// handle opens an adapter on a store. It is closed at the end of the test.
func (e *Env) handle(t testing.TB, s store, conns int32, pooled bool) *Handle {
	t.Helper()
	h := &Handle{env: e, t: t, options: e.options(s), store: s, conns: conns, pooled: pooled}
	h.connect(false)
	return h
}

// connect gives the handle a pool, with a proxy or without.
func (h *Handle) connect(proxied bool) {
	h.t.Helper()
	c := h.env.takeKept(h, proxied)
	if c == nil {
		c = h.dial(proxied)
	}
	h.t.Cleanup(func() { h.env.keep(h, c) })
	h.pool, h.Pool, h.proxy = c.pool, c.pool.pgx, c.proxy
	h.Adapter = must(c.adapter(h.t.Context(), h.env, h.store, h.options))(h.t)
}

// adapter opens an adapter of a handle. One behind a proxy compares the tables with its schema for
// itself, so that the comparison meets faults, too. The others know the tables, as those of an
// application do after EnsureSchema: to compare them costs the server more than all calls of most
// clauses.
func (c *connections) adapter(ctx context.Context, e *Env, s store, options []postgres.Option) (*postgres.Adapter, error) {
	a := e.first[s]
	switch {
	case c.proxy != nil && e.Site == "":
		return c.pool.adapter(options...)
	case c.proxy != nil: // the first call of an adapter may not find the tables of a site
		var err error
		if a, err = postgres.New(e.Admin, options...); err == nil {
			err = a.CheckSchema(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	if c.pool.std != nil {
		return a.OnSQL(c.pool.std), nil
	}
	return a.On(c.pool.pgx), nil
}

// dial makes a pool, and its proxy if it has one.
func (h *Handle) dial(proxied bool) *connections {
	h.t.Helper()
	config := must(h.env.config(h.conns, h.pooled))(h.t)
	var proxy *fault.Proxy
	if proxied {
		proxy = must(fault.NewProxy(net.JoinHostPort(config.ConnConfig.Host, fmt.Sprint(config.ConnConfig.Port))))(h.t)
		config.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
		}
	}
	pool, err := h.env.newPool(h.t.Context(), config)
	c := &connections{pool, proxy}
	if err != nil {
		c.close()
		h.t.Fatal(err)
	}
	return c
}

// faults returns the proxy of the handle. A handle that has none gets another pool.
func (h *Handle) faults() *fault.Proxy {
	if h.proxy == nil {
		h.connect(true)
	}
	return h.proxy
}

// close closes the pool, and its proxy.
func (c *connections) close() {
	if c.proxy != nil {
		c.proxy.Heal() // the pool may wait for answers before it closes
		defer func() { _ = c.proxy.Close() }()
	}
	c.pool.close()
}

// keptPools is the largest number of pools of each kind that wait for a later adapter.
const keptPools = 8

// takeKept returns a pool that an earlier handle of the kind has left, or nil: a new connection
// costs the server more than the calls of most clauses.
func (e *Env) takeKept(h *Handle, proxied bool) *connections {
	if h.conns != e.Conns || h.pooled != e.OnlyPooled {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, c := range slices.Backward(e.kept) {
		if (c.proxy != nil) == proxied {
			e.kept = slices.Delete(e.kept, i, i+1)
			return c
		}
	}
	return nil
}

// keep leaves the pool to a later handle of the kind if it is unharmed, and closes it
// otherwise.
func (e *Env) keep(h *Handle, c *connections) {
	if c.proxy != nil {
		c.proxy.Heal()
	}
	e.mu.Lock()
	kept := 0
	for _, other := range e.kept {
		if (other.proxy != nil) == (c.proxy != nil) {
			kept++
		}
	}
	good := h.conns == e.Conns && h.pooled == e.OnlyPooled && c.unharmed() && kept < keptPools
	if good {
		e.kept = append(e.kept, c)
	}
	e.mu.Unlock()
	if !good {
		c.close()
	}
}

// unharmed reports whether the pool has connections, all of them idle, and its proxy, if
// there is one, no others.
func (c *connections) unharmed() bool {
	all, idle := c.pool.counts()
	if all == 0 || idle != all {
		return false
	}
	return c.proxy == nil || c.proxy.Stats().Open == all
}

func (e *Env) config(conns int32, pooled bool) (*pgxpool.Config, error) {
	url, mode := e.URL, e.Mode
	if pooled {
		url = e.PooledURL
		if mode != pgx.QueryExecModeSimpleProtocol { // the other modes keep prepared statements on a server connection
			mode = pgx.QueryExecModeExec
		}
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("postgrestest: the URL of PostgreSQL can't be parsed")
	}
	config.MaxConns = conns
	if mode != 0 {
		config.ConnConfig.DefaultQueryExecMode = mode
	}
	if e.Zone != "" {
		config.ConnConfig.RuntimeParams["timezone"] = e.Zone
	}
	return config, nil
}

// close closes the pool and waits until its last messages have passed the
// proxy.
func (h *Handle) close() error {
	h.pool.close()
	if h.proxy == nil {
		return nil
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for h.proxy.Stats().Open > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the pool is closed, but some of its connections are open")
		}
	}
	return nil
}

// onServer runs one statement on a new connection.
func onServer(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, sql)
	return errors.Join(err, conn.Close(ctx))
}

// withDatabase returns the URL with another database.
func withDatabase(rawURL, name string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", errors.New("postgrestest: the URL of PostgreSQL can't be parsed")
	}
	u.Path = "/" + name
	return u.String(), nil
}
