// Package mysqltest opens MySQL adapters for the tests of this module and of all bundled
// adapters. Nothing else imports it. The package promises nothing.
package mysqltest

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Settings describes how a test reaches a server.
type Settings struct {
	// URL names the server, as in mysql://user:password@host:port/. Its account may create
	// databases there. The parameter tls is that of the driver.
	URL string
	// Roots are the certificates with which the server's is checked, instead of what tls says.
	Roots *x509.CertPool
	// Nodes are the addresses of the nodes of a cluster, in which each further handle of a store
	// is on the next node. Without them every handle is on the server of the URL.
	Nodes []string
	// Conns is the largest number of connections in a pool; 0 means 16.
	Conns int
	// Params are settings of each connection, such as sql_mode and time_zone, in SQL.
	Params map[string]string
	// Interpolate makes the driver put arguments into statements.
	Interpolate bool
	// ParseTime makes the driver return time.Time for instants.
	ParseTime bool
	// Site is a product whose tables are served with WithLayout: "Prisma", "Drizzle" or
	// none. The tables get what SchemaChanges returns, unless AsTheyAre is set. NoForeignKeys
	// leaves foreign keys out, as relationMode = "prisma" does.
	Site                     string
	AsTheyAre, NoForeignKeys bool
}

// Env is a new database in a server, with two stores in it, whose tables have different
// prefixes.
type Env struct {
	Settings
	// Admin is a pool on the database without a proxy.
	Admin *sql.DB
	// Version is the version that the server reports.
	Version string
	name    string
	server  *driver.Config
}

// Open makes the database and the tables. Close drops it.
func Open(ctx context.Context, s Settings) (*Env, error) {
	e, err := openEmpty(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := e.makeTables(ctx); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

// making is held while a database is made, and while one of Vitess is dropped: its server for tests panics if it does two
// of these at once.
var making sync.Mutex

// openEmpty makes a database without tables.
func openEmpty(ctx context.Context, s Settings) (*Env, error) {
	if s.Conns == 0 {
		s.Conns = 16
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "mysql" {
		return nil, errors.New("mysqltest: the URL can't be parsed")
	}
	server := driver.NewConfig()
	server.Net, server.Addr, server.User = "tcp", u.Host, u.User.Username()
	server.Passwd, _ = u.User.Password()
	server.TLSConfig = u.Query().Get("tls")
	if s.Roots != nil {
		server.TLSConfig, server.TLS = "", &tls.Config{RootCAs: s.Roots, ServerName: u.Hostname(), MinVersion: tls.VersionTLS12}
	}
	e := &Env{Settings: s, server: server, name: "gatehouse_" + strings.ToLower(rand.Text())}
	making.Lock()
	err = e.onServer(ctx, "CREATE DATABASE "+e.name)
	making.Unlock()
	if err != nil {
		return nil, fmt.Errorf("mysqltest: the account must be allowed to create databases: %w", err)
	}
	e.Admin, err = e.pool(e.Conns, "")
	if err == nil {
		err = e.Admin.QueryRowContext(ctx, "SELECT @@version").Scan(&e.Version)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	return e, nil
}

// makeTables makes the tables of the two stores.
func (e *Env) makeTables(ctx context.Context) error {
	for _, prefix := range prefixes {
		if err := e.makeSite(ctx, prefix); err != nil {
			return err
		}
		a, err := mysql.New(e.Admin, e.options(prefix)...)
		if err == nil {
			err = a.EnsureSchema(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Close drops the database.
func (e *Env) Close(ctx context.Context) error {
	var err error
	if e.Admin != nil {
		err = e.Admin.Close()
	}
	if e.vitess() {
		making.Lock()
		defer making.Unlock()
	}
	dropped := e.onServer(ctx, "DROP DATABASE "+e.name)
	var server *driver.MySQLError
	if errors.As(dropped, &server) && server.Number == 1010 { // a file of a trigger stays now and then, without the database
		dropped = nil
	}
	return errors.Join(err, dropped)
}

// onServer runs one statement on a connection without a database.
func (e *Env) onServer(ctx context.Context, statement string) error {
	c := e.server.Clone()
	c.DBName = ""
	connector, err := driver.NewConnector(c)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// pool opens a pool of connections to the database, through a proxy if there is one.
func (e *Env) pool(conns int, proxy string) (*sql.DB, error) {
	return e.configured(conns, func(c *driver.Config) {
		if proxy != "" {
			c.Addr = proxy
		}
	})
}

// configured opens a pool of connections to the database that change has configured.
func (e *Env) configured(conns int, change func(*driver.Config)) (*sql.DB, error) {
	c := e.server.Clone()
	c.DBName, c.InterpolateParams, c.ParseTime = e.name, e.Interpolate, e.ParseTime
	c.Params = maps.Clone(e.Params)
	c.Logger = &driver.NopLogger{}
	change(c)
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// prefixes are those of the two stores.
var prefixes = [...]string{"", "other_"}

// Handle is an adapter with its own pool. The pool connects to the server itself until the
// suite asks for the faults or the connections of the handle.
type Handle struct {
	*mysql.Adapter
	DB *sql.DB

	env    *Env
	t      testing.TB
	prefix string
	conns  int
	node   int
	proxy  *fault.Proxy // nil if the pool connects to the server itself
}

// handle opens an adapter on a store. It is closed at the end of the test.
func (e *Env) handle(t testing.TB, prefix string, conns, node int) *Handle {
	t.Helper()
	h := &Handle{env: e, t: t, prefix: prefix, conns: conns, node: node}
	h.connect(false)
	return h
}

// connect gives the handle a pool, with a proxy or without.
func (h *Handle) connect(proxied bool) {
	h.t.Helper()
	addr := h.env.server.Addr
	if len(h.env.Nodes) > 0 {
		addr = h.env.Nodes[h.node%len(h.env.Nodes)]
	}
	if proxied {
		proxy := must(fault.NewProxy(addr))(h.t)
		h.proxy, addr = proxy, proxy.Addr()
		h.t.Cleanup(func() {
			h.proxy.Heal() // the pool may wait for answers before it closes
			_ = h.proxy.Close()
		})
	}
	db := must(h.env.pool(h.conns, addr))(h.t)
	h.t.Cleanup(func() { _ = db.Close() })
	h.DB = db
	h.Adapter = must(mysql.New(db, h.env.options(h.prefix)...))(h.t)
	if h.env.Site != "" { // as an application does before auth.New
		check(h.t, h.CheckSchema(h.t.Context()))
	}
}

// faults returns the proxy of the handle. A handle that has none gets another pool.
func (h *Handle) faults() *fault.Proxy {
	if h.proxy == nil {
		h.connect(true)
	}
	return h.proxy
}

// close closes the pool and waits until its last messages have passed the proxy.
func (h *Handle) close() error {
	if err := h.DB.Close(); err != nil || h.proxy == nil {
		return err
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

// Harness opens adapters on the database.
func (e *Env) Harness() adaptertest.Harness {
	var opened atomic.Int64
	again := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return e.handle(t, a.(*Handle).prefix, e.Conns, a.(*Handle).node+1)
	}
	h := adaptertest.Harness{
		Name:    "mysql",
		Version: e.Version,
		New: func(t testing.TB) adapter.Adapter { // consecutive adapters are on different stores
			return e.handle(t, prefixes[opened.Add(1)%2], e.Conns, 0)
		},
		Second: again,
		Reopen: again,
		Close:  func(a adapter.Adapter) error { return a.(*Handle).close() },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			b := *a.(*Handle)
			b.t, b.prefix = t, name
			var err error
			if b.Adapter, err = mysql.New(b.DB, e.options(name)...); err != nil {
				return nil, err
			}
			if err := e.makeSite(t.Context(), name); err != nil {
				return nil, err
			}
			return &b, b.EnsureSchema(t.Context())
		},
		Faults:        func(a adapter.Adapter) fault.Control { return a.(*Handle).faults() },
		Corrupt:       e.corrupt,
		Inspect:       e.inspect,
		Single:        func(t testing.TB) adapter.Adapter { return e.handle(t, "", 1, 0) },
		Limited:       func(t testing.TB) adapter.Adapter { return e.handle(t, "", min(4, e.Conns), 0) },
		Connections:   func(a adapter.Adapter) int { return a.(*Handle).faults().Stats().Open },
		CheckHandle:   func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).DB.PingContext(ctx) },
		Parallel:      8,
		ClauseTimeout: 3 * time.Minute, // a cancelled call closes a connection, and the machine may be busy
		InternalNames: []string{"user", "account", "session", "verificationToken", "authenticator", "passwords", "gatehouse_schema",
			"user_email_key"},
		Declarations: adaptertest.Declarations{NoPooler: "the adapter prepares no statement and keeps nothing on a connection"},
	}
	e.siteFields(&h)
	e.declare(&h)
	return h
}

// place returns the table of a record and the condition that finds it.
func place(a adapter.Adapter, r adaptertest.Record) (table, condition string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		table, condition, args = "user", "id = ?", []any{r.Key}
	case adaptertest.AccountRecord:
		table, condition, args = "account", "provider = ? AND providerAccountId = ?", []any{r.Account.Provider,
			r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		table, condition, args = "session", "sessionToken = ?", []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		table, condition, args = "verificationToken", "identifier = ? AND token = ?", []any{r.Token.Identifier, r.Token.Token}
	case adaptertest.AuthenticatorRecord:
		table, condition, args = "authenticator", "credentialID = ?", []any{r.Key}
	}
	h := a.(*Handle)
	return "`" + h.prefix + h.env.tableNames()[table] + "`", condition, args
}

func (e *Env) inspect(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (there bool, err error) {
	table, condition, args := place(a, r)
	err = e.Admin.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+" WHERE "+condition+")", args...).Scan(&there)
	return there, err
}

// corrupt stores the zero date, which the server accepts in some modes, and which is no
// instant.
func (e *Env) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	column := map[adaptertest.Kind]string{
		adaptertest.UserRecord: "emailVerified", adaptertest.SessionRecord: "expires",
		adaptertest.VerificationTokenRecord: "expires", adaptertest.AuthenticatorRecord: "created",
	}[r.Kind]
	if column == "" || e.AsTheyAre && column == "created" {
		return nil
	}
	table, condition, args := place(a, r)
	var before sql.NullString
	if err := e.Admin.QueryRowContext(t.Context(), "SELECT CAST("+column+" AS CHAR) FROM "+table+" WHERE "+condition,
		args...).Scan(&before); err != nil {
		t.Fatal(err)
	}
	set := func(value any) {
		conn := must(e.Admin.Conn(t.Context()))(t)
		defer func() { _ = conn.Close() }()
		for _, statement := range []string{"SET @mode = @@SESSION.sql_mode", "SET SESSION sql_mode = ''", "",
			"SET SESSION sql_mode = @mode"} {
			var with []any
			if statement == "" {
				statement, with = "UPDATE "+table+" SET "+column+" = ? WHERE "+condition+" LIMIT 1", append([]any{value}, args...)
			}
			for done := false; !done; {
				_, err := conn.ExecContext(t.Context(), statement, with...)
				var refused *driver.MySQLError
				deadlock := errors.As(err, &refused) && refused.Number == 1213 // the clean-up of another clause wanted the row
				if done = !deadlock; done && err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	set("0000-00-00 00:00:00")
	return func() {
		if before.Valid {
			set(before.String)
		} else {
			set(nil)
		}
	}
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
