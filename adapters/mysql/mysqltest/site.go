package mysqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// PrismaTables is the schema that authjs.dev documents for @auth/prisma-adapter, as
// Prisma makes it on MySQL.
//
//go:embed prisma.sql
var PrismaTables string

// DrizzleTables is the schema that authjs.dev documents for @auth/drizzle-adapter on MySQL,
// as drizzle-kit makes it.
//
//go:embed drizzle.sql
var DrizzleTables string

// siteFields sets the fields of the harness about sites that exist.
func (e *Env) siteFields(h *adaptertest.Harness) {
	h.Foreign, h.Settings = e.foreign, e.settings
	if !e.vitess() { // which has no statement that makes an account
		h.Reduced = e.reduced
	}
	if e.tidb() || e.vitess() { // which have neither triggers nor a session that only reads
		return
	}
	h.ReadOnly = e.readOnly
	h.Quoting = func(t testing.TB) (adapter.Adapter, func()) {
		return e.triggered(t, "SIGNAL SQLSTATE '23000' SET MYSQL_ERRNO = 1062, MESSAGE_TEXT = r, CONSTRAINT_NAME = c, "+
			"TABLE_NAME = c, COLUMN_NAME = c")
	}
	h.Refusing = func(t testing.TB) (adapter.Adapter, func()) {
		return e.triggered(t, "INSERT INTO of_site VALUES (1)")
	}
}

// tidb reports whether the server is TiDB.
func (e *Env) tidb() bool { return strings.Contains(e.Version, "TiDB") }

// vitess reports whether the server is Vitess.
func (e *Env) vitess() bool { return strings.Contains(e.Version, "Vitess") }

// run runs the statements of a script, which end with a semicolon at the end of a line.
func (e *Env) run(t testing.TB, script string) {
	t.Helper()
	for statement := range strings.SplitSeq(script, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := e.Admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func newName(what string) string {
	return "gatehouse_" + what + "_" + strings.ToLower(rand.Text())[:12]
}

// closed closes the database at the end of the test.
func (e *Env) closed(t testing.TB, err error) *Env {
	t.Helper()
	check(t, err)
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}

// apart makes another database with tables of its own.
func (e *Env) apart(t testing.TB) *Env {
	t.Helper()
	other, err := Open(t.Context(), e.Settings)
	return other.closed(t, err)
}

// with opens an adapter over a pool of its own that change has configured.
func (e *Env) with(t testing.TB, change func(*driver.Config), options ...mysql.Option) *Handle {
	t.Helper()
	pool := must(e.configured(e.Conns, change))(t)
	t.Cleanup(func() { _ = pool.Close() })
	return e.over(t, pool, options...)
}

// over opens an adapter over a pool.
func (e *Env) over(t testing.TB, pool *sql.DB, options ...mysql.Option) *Handle {
	t.Helper()
	a := must(mysql.New(pool, options...))(t)
	if e.Site != "" {
		_ = a.CheckSchema(t.Context()) // the adapter then knows which tables are there; its first call says what is wrong
	}
	return &Handle{Adapter: a, DB: pool, env: e, t: t, conns: e.Conns}
}

// foreign makes the tables of each product with a person in them. Without a layout the
// adapter must refuse them.
func (e *Env) foreign(t testing.TB) (all []adaptertest.Foreign) {
	verified := time.Date(2020, 1, 2, 3, 4, 5, 678e6, time.UTC)
	expires := time.Date(2037, 1, 2, 12, 0, 0, 0, time.UTC)
	for _, p := range []struct {
		name, tables, person string
		layout               mysql.Layout
	}{
		{"Prisma", PrismaTables, `INSERT INTO User (id, email, emailVerified, updatedAt) VALUES ('7', $E, '2020-01-02 03:04:05.678', now());
			INSERT INTO Account (userId, type, provider, providerAccountId, updatedAt) VALUES ('7', 'oidc', 'p', '1', now());
			INSERT INTO Session (sessionToken, userId, expires, updatedAt) VALUES ($S, '7', '2037-01-02 12:00:00', now());
`, mysql.Prisma()},
		{"Drizzle", DrizzleTables, "INSERT INTO `user` (id, email, emailVerified) VALUES ('7', $E, '2020-01-02 03:04:05.678');" + `
			INSERT INTO account (userId, type, provider, providerAccountId) VALUES ('7', 'oidc', 'p', '1');
			INSERT INTO session (sessionToken, userId, expires) VALUES ($S, '7', '2037-01-02 12:00:00');
`, mysql.Drizzle()},
	} {
		for name, options := range map[string][]mysql.Option{
			p.name: {mysql.WithLayout(p.layout)}, p.name + " without WithLayout": nil,
		} {
			email, token := newName("mail")+"@example.com", newName("session")
			settings := e.Settings // the product writes in UTC
			settings.Params = map[string]string{"time_zone": "'+00:00'"}
			other, err := openEmpty(t.Context(), settings)
			other.closed(t, err).run(t, p.tables+strings.NewReplacer("$E", "'"+email+"'", "$S",
				"'"+token+"'").Replace(p.person))
			all = append(all, adaptertest.Foreign{
				Name: name,
				Open: func(t testing.TB) (adapter.Adapter, error) {
					a := other.with(t, func(c *driver.Config) { c.Params = maps.Clone(e.Params) }, options...)
					return a, a.EnsureSchema(t.Context())
				},
				User:    adapter.User{ID: "7", Email: email, EmailVerified: &verified},
				Account: adapter.AccountKey{Provider: "p", ProviderAccountID: "1"},
				Session: adapter.Session{SessionToken: token, UserID: "7", Expires: expires},
			})
		}
	}
	return all
}

// otherSettings may change how values are read and written, and which rows a statement
// sees.
var otherSettings = []map[string]string{
	{"time_zone": "'+05:45'", "sql_mode": "'ANSI,TRADITIONAL,PAD_CHAR_TO_FULL_LENGTH'", "lc_time_names": "'de_DE'",
		"lc_messages": "'de_DE'"},
	{"time_zone": "'-03:30'", "sql_mode": "'NO_BACKSLASH_ESCAPES,ALLOW_INVALID_DATES'",
		"tx_isolation": "'SERIALIZABLE'", "timestamp": "86400", "sql_select_limit": "1"},
	{"time_zone": "'+13:00'", "sql_mode": "''", "tx_isolation": "'READ-COMMITTED'", "sql_safe_updates": "1",
		"collation_connection": "utf8mb4_unicode_ci", "default_week_format": "3"},
}

// settings opens handles with other settings, of the driver too.
func (e *Env) settings(t testing.TB, a adapter.Adapter) (all []adapter.Adapter) {
	far := time.FixedZone("far", -11*60*60)
	for i, params := range otherSettings {
		all = append(all, e.with(t, func(c *driver.Config) {
			c.ParseTime, c.Loc, c.ClientFoundRows, c.InterpolateParams = i > 0, far, i == 1, i == 2
			c.Params = maps.Clone(params)
			if wait, ok := e.Params["wsrep_sync_wait"]; ok { // a cluster needs it
				c.Params["wsrep_sync_wait"] = wait
			}
			if e.tidb() { // lc_time_names is read-only there, and SERIALIZABLE is no level of isolation
				delete(c.Params, "lc_time_names")
				delete(c.Params, "tx_isolation")
				return
			}
			if e.vitess() { // which can't parse the one, and refuses NO_BACKSLASH_ESCAPES
				delete(c.Params, "timestamp")
				c.Params["sql_mode"] = strings.ReplaceAll(params["sql_mode"], "NO_BACKSLASH_ESCAPES,", "")
			}
			if isolation := params["tx_isolation"]; isolation != "" && !strings.Contains(e.Version, "MariaDB") {
				delete(c.Params, "tx_isolation")
				c.Params["transaction_isolation"] = isolation
			}
		}, e.options(a.(*Handle).prefix)...))
	}
	return all
}

// readOnly opens an adapter whose connections can become read-only, as those to a server that
// has become a replica.
func (e *Env) readOnly(t testing.TB) (adapter.Adapter, func()) {
	h := e.apart(t).handle(t, "", e.Conns, 0)
	return h, func() {
		var conns []*sql.Conn
		for range h.DB.Stats().Idle {
			conn, err := h.DB.Conn(t.Context())
			if err == nil {
				_, err = conn.ExecContext(t.Context(), "SET SESSION TRANSACTION READ ONLY")
			}
			check(t, err)
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_ = conn.Close() // returns it to the pool
		}
	}
}

// quoted are the tables, with the columns whose values a trigger quotes.
var quoted = map[string]string{
	"user": "id, $.name, $.email", "account": "userId, $.providerAccountId, $.access_token", "session": "sessionToken, $.userId",
	"verificationToken": "token, $.identifier", "authenticator": "credentialID, $.userId, $.transports",
	"passwords": "userId, $.hash, $.state",
}

// triggered opens an adapter over tables on which refuse makes triggers with a body. In the
// body r is the row as text, and c its first characters. The table of_site has a key with
// the name of one of the adapter's.
func (e *Env) triggered(t testing.TB, body string) (adapter.Adapter, func()) {
	other := e.apart(t)
	return other.handle(t, "", e.Conns, 0), func() {
		script := "CREATE TABLE of_site (n INT, UNIQUE KEY user_email_key (n));\nINSERT INTO of_site VALUES (1);\n"
		names := other.tableNames()
		for table, columns := range quoted {
			if names[table] == "" {
				continue
			}
			for event, row := range map[string]string{"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"} {
				script += fmt.Sprintf("CREATE TRIGGER refuse_%[1]s_%[2]s AFTER %[2]s ON `%[1]s` FOR EACH ROW BEGIN DECLARE r TEXT DEFAULT LEFT(CONCAT_WS(' ', %[3]s.%[4]s), 120); DECLARE c TEXT DEFAULT LEFT(r, 60); %[5]s; END;\n",
					names[table], event, row, strings.ReplaceAll(columns, "$", row), body)
			}
		}
		other.run(t, script)
	}
}

// reduced makes an account for each right, which has all others that the README names.
func (e *Env) reduced(t testing.TB) (all []adaptertest.Reduced) {
	other := e.apart(t)
	for lacking, right := range map[string]string{"user": "SELECT", "account": "INSERT", "session": "UPDATE",
		"verificationToken": "DELETE", "authenticator": "INSERT"} {
		account := newName("role")
		script := fmt.Sprintf("CREATE USER %s;\n", account)
		for table, name := range other.tableNames() {
			rights := "SELECT, INSERT, UPDATE, DELETE"
			if table == lacking {
				rights = strings.Trim(strings.ReplaceAll(strings.ReplaceAll(rights, right, ""), ", ,", ","), ", ")
			}
			script += fmt.Sprintf("GRANT %s ON %s.`%s` TO %s;\n", rights, other.name, name, account)
		}
		other.run(t, script)
		t.Cleanup(func() {
			_, _ = e.Admin.ExecContext(context.WithoutCancel(t.Context()), "DROP USER "+account)
		})
		var opened *Handle // its pool is for all handles of the account
		all = append(all, adaptertest.Reduced{
			Right: right,
			Open: func(t testing.TB) adapter.Adapter {
				if opened == nil {
					opened = other.with(t, func(c *driver.Config) { c.User, c.Passwd = account, "" })
				}
				return other.over(t, opened.DB, other.options("")...)
			},
			Prepare: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).EnsureSchema(ctx) },
			Witness: func(t testing.TB) adapter.Adapter { return other.handle(t, "", other.Conns, 0) },
		})
	}
	return all
}
