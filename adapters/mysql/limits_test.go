package mysql_test

import (
	"fmt"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestValueLongerThanAPacket: a value that no packet has room for is refused, nothing of it is
// stored, and the next call works.
func TestValueLongerThanAPacket(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, database := t.Context(), databaseOf(t, env)
	a := on(t, pool(t, database, func(c *driver.Config) { c.MaxAllowedPacket = 64 << 10 }))
	long := strings.Repeat("topsecret", 20<<10)
	_, err := a.CreateUser(ctx, adapter.User{ID: "1", Image: &long})
	assert.Truef(t, err != nil && !strings.Contains(err.Error(), "topsecret") && !isConflict(err),
		"a value longer than a packet: %v", err)
	assert.Nil(t, must(a.GetUser(ctx, "1"))(t), "after the refusal")
	_, err = a.CreateUser(ctx, adapter.User{ID: "1"})
	assert.NoError(t, err, "the next call")
}

// TestIdleConnectionThatTheServerHasClosed: after wait_timeout, and after KILL, the next calls of
// a pool work on another connection.
func TestIdleConnectionThatTheServerHasClosed(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, database := t.Context(), databaseOf(t, env)
	for name, timeout := range map[string]string{"wait_timeout": "1", "KILL": "1000"} {
		db := pool(t, database, func(c *driver.Config) { c.Params["wait_timeout"] = timeout })
		db.SetMaxOpenConns(1)
		a := on(t, db)
		for _, call := range []string{"read", "write"} {
			must(a.GetUser(ctx, "nobody"))(t)
			id := number(t, db, "SELECT CONNECTION_ID()")
			if name == "KILL" {
				statement(t, env.Admin, fmt.Sprint("KILL ", id))
			}
			awaitClosed(t, env, id)
			var err error
			if call == "read" {
				_, err = a.GetUser(ctx, "nobody")
			} else {
				_, err = a.CreateUser(ctx, adapter.User{ID: name})
			}
			assert.NoErrorf(t, err, "%s, then a %s", name, call)
		}
	}
}
