package sqlite_test

import (
	"database/sql"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// TestMemory: a pool whose connections have a database each in memory is refused at the
// first call. One connection, or one shared database, is accepted.
func TestMemory(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		open := func(dsn string, conns int) *sql.DB {
			db := must(sql.Open(w.driver, dsn))(t)
			t.Cleanup(func() { _ = db.Close() })
			db.SetMaxOpenConns(conns)
			return db
		}
		private := open(":memory:", 0)
		assert.ErrorContains(t, must(sqlite.New(private))(t).EnsureSchema(t.Context()), "SetMaxOpenConns(1)")
		_, err := must(sqlite.New(private))(t).CreateUser(t.Context(), adapter.User{})
		assert.ErrorContains(t, err, "SetMaxOpenConns(1)")
		newAdapter(t, open(":memory:", 1))
		if w.name == "modernc" {
			newAdapter(t, open("file:shared?mode=memory&cache=shared", 4))
		}
	})
}
