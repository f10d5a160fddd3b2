package sqlite_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
)

// Every method on a pool, on a connection and in a transaction of the caller.
func TestEveryMethodOnEveryHandle(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for name, handle := range map[string]func(t *testing.T, db *sql.DB) sqlite.DB{
			"pool": func(_ *testing.T, db *sql.DB) sqlite.DB { return db },
			"connection": func(t *testing.T, db *sql.DB) sqlite.DB {
				conn := must(db.Conn(t.Context()))(t)
				t.Cleanup(func() { _ = conn.Close() })
				return conn
			},
			"transaction": func(t *testing.T, db *sql.DB) sqlite.DB {
				tx := must(db.BeginTx(context.Background(), nil))(t)
				t.Cleanup(func() { _ = tx.Rollback() })
				return tx
			},
		} {
			t.Run(name, func(t *testing.T) {
				_, db := w.newAdapter(t)
				fillRecords(t, db, 1000)
				callEveryMethod(t, must(sqlite.New(handle(t, db)))(t), 1000)
			})
		}
	})
}
