package sqlite_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// lateDriver is a driver whose executed statements call after when they have taken
// effect. If the context has ended by then, they fail with its error, as those of
// modernc.org/sqlite do. An error of before is the result of a statement.
type lateDriver struct {
	driver.Connector
	before func(ctx context.Context, query string) error
	after  func(query string)
}

func (d *lateDriver) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := d.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return lateConn{c, c.(driver.ExecerContext), d}, nil
}

type lateConn struct {
	driver.Conn
	driver.ExecerContext
	driver *lateDriver
}

func (c lateConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.driver.before(ctx, query); err != nil {
		return nil, err
	}
	result, err := c.ExecerContext.ExecContext(ctx, query, args)
	if err == nil {
		c.driver.after(query)
		err = ctx.Err()
	}
	return result, err
}

// late returns an adapter over a new file, and another handle of the file, through a
// lateDriver.
func (w wiring) late(t *testing.T) (other *sqlite.Adapter, db *sql.DB, late *lateDriver) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	plain := w.openDB(t, path)
	connector := must(fault.Connector(plain.Driver(), w.dsn(path)))(t)
	late = &lateDriver{Connector: connector, before: func(context.Context, string) error { return nil }, after: func(string) {}}
	db = sql.OpenDB(late)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return newAdapter(t, plain), db, late
}

// A transaction stays open on no connection of the pool, even if its context ends
// while BEGIN or COMMIT takes effect; and the connection stays open, because it may
// be all there is of a database in memory. [CTX-05]
func TestContextThatEndsWithAStatement(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for _, statement := range []string{"BEGIN IMMEDIATE", "COMMIT"} {
			t.Run(statement, func(t *testing.T) {
				other, db, late := w.late(t)
				db.SetMaxOpenConns(1)
				a := must(sqlite.New(db))(t)
				user := must(a.CreateUser(t.Context(), adapter.User{Email: "ada@example.com"}))(t)
				must(a.CreateAuthenticator(t.Context(), adapter.Authenticator{CredentialID: "key", UserID: user.ID, ProviderAccountID: "account"}))(t)
				run(t, db, "CREATE TEMP TABLE kept (x)") // lives as long as the connection

				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				late.after = func(query string) {
					if query == statement {
						cancel()
					}
				}
				refused(a.DeleteAuthenticator(ctx, user.ID, "key", false))(t, "", context.Canceled)
				late.after = func(string) {}

				_, err := other.CreateUser(t.Context(), adapter.User{Email: "bob@example.com"})
				assert.NoError(t, err, "another handle")
				_, err = a.DeleteAuthenticator(t.Context(), user.ID, "key", false)
				assert.NoError(t, err, "the same handle")
				run(t, db, "INSERT INTO kept VALUES (1)")
			})
		}
	})
}

// A savepoint stays open on no connection of the caller's, even if its context ends
// while SAVEPOINT takes effect. [CTX-05]
func TestContextThatEndsWithASavepoint(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		other, db, late := w.late(t)
		conn := must(db.Conn(t.Context()))(t)
		defer func() { _ = conn.Close() }()
		a := must(sqlite.New(conn))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		late.after = func(query string) {
			if query == "SAVEPOINT gatehouse" {
				cancel()
			}
		}
		refused(a.DeleteAuthenticator(ctx, "nobody", "key", false))(t, "", context.Canceled)
		must(a.CreateUser(t.Context(), adapter.User{ID: "ada", Email: "ada@example.com"}))(t)
		assert.NotNil(t, must(other.GetUser(t.Context(), "ada"))(t),
			"another handle does not find the user: the write is in a savepoint that stays open")
	})
}

// A driver that hangs while a transaction is rolled back does not hang the call: the
// statements have a deadline, and the connection leaves the pool. [CTX-02]
func TestRollbackHasADeadline(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		_, db, late := w.late(t)
		a := must(sqlite.New(db))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		late.after = func(query string) {
			if query == "BEGIN IMMEDIATE" {
				cancel()
			}
		}
		bounded := map[string]bool{}
		late.before = func(ctx context.Context, query string) error {
			if query == "BEGIN" || query == "ROLLBACK" {
				_, bounded[query] = ctx.Deadline()
				return context.DeadlineExceeded // it has hung until then
			}
			return nil
		}
		refused(a.DeleteAuthenticator(ctx, "nobody", "key", false))(t, "", context.Canceled)
		assert.Truef(t, bounded["BEGIN"] && bounded["ROLLBACK"], "statements with a deadline: %v, want both", bounded)
		late.before, late.after = func(context.Context, string) error { return nil }, func(string) {}
		_, err := a.CreateUser(t.Context(), adapter.User{Email: "ada@example.com"})
		assert.NoError(t, err, "the next call")
	})
}
