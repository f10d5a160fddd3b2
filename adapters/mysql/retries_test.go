package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

// refused fails the test unless a call has no record and the error.
func refused[T any](got *T, err error) func(t testing.TB, what string, want error) {
	return func(t testing.TB, what string, want error) {
		t.Helper()
		assert.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
	}
}

// begun begins a transaction of another program, which is rolled back at the end of the test.
func begun(t *testing.T, env *mysqltest.Env) *sql.Tx {
	t.Helper()
	tx := must(env.Admin.BeginTx(t.Context(), nil))(t)
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// statement runs a statement.
func statement(t *testing.T, db mysql.DB, query string, args ...any) {
	t.Helper()
	must(db.ExecContext(t.Context(), query, args...))(t)
}

// awaitLock returns when a transaction of the database waits for a lock.
func awaitLock(t *testing.T, env *mysqltest.Env) {
	t.Helper()
	awaitTransactions(t, env, 1, "x.trx_state = 'LOCK WAIT'")
}

// awaitTransactions returns when as many transactions of the database have the state.
func awaitTransactions(t *testing.T, env *mysqltest.Env, want int, state string) {
	t.Helper()
	const every = 200 * time.Millisecond // the server's table is a copy that it makes after 100 ms without readers
	await(t, env, every, want, "SELECT COUNT(*) FROM information_schema.INNODB_TRX x "+
		"JOIN information_schema.PROCESSLIST p ON p.ID = x.trx_mysql_thread_id WHERE p.DB = DATABASE() AND "+state)
}

// await returns when the query has the number.
func await(t *testing.T, env *mysqltest.Env, every time.Duration, want int, query string, args ...any) {
	t.Helper()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for got := want - 1; got != want; got = number(t, env.Admin, query, args...) {
		<-tick.C
	}
}

// number returns the number that a query reads.
func number(t testing.TB, db *sql.DB, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

// handles are an adapter on a pool and one on a connection that is in no transaction.
func handles(t *testing.T, env *mysqltest.Env, change func(*driver.Config)) map[string]*mysql.Adapter {
	t.Helper()
	db := pool(t, databaseOf(t, env), change)
	conn := must(db.Conn(t.Context()))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return map[string]*mysql.Adapter{"pool": on(t, db), "conn": on(t, conn)}
}

// transactions begin a transaction of the caller, on a *sql.Tx and on a *sql.Conn.
func transactions(t *testing.T, env *mysqltest.Env) map[string]mysql.DB {
	t.Helper()
	conn := must(env.Admin.Conn(t.Context()))(t)
	t.Cleanup(func() {
		_, _ = conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
		_ = conn.Close()
	})
	statement(t, conn, "START TRANSACTION")
	return map[string]mysql.DB{"tx": begun(t, env), "conn": conn}
}

// person stores a user with a session.
func person(t *testing.T, a *mysql.Adapter, id string) {
	t.Helper()
	_, err1 := a.CreateUser(t.Context(), adapter.User{ID: id})
	_, err2 := a.CreateSession(t.Context(), adapter.Session{SessionToken: id, UserID: id, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, errors.Join(err1, err2))
}

// heavy makes a transaction that the server prefers to others, which have changed less.
func heavy(t *testing.T, tx *sql.Tx, name string) {
	t.Helper()
	var rows []string
	for i := range 200 {
		rows = append(rows, fmt.Sprintf("('%s%d')", name, i))
	}
	statement(t, tx, "INSERT INTO `user` (id) VALUES "+strings.Join(rows, ", "))
}

// TestDeadlockIsTriedAgain: a call that loses a deadlock is repeated, on a connection too.
func TestDeadlockIsTriedAgain(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	for name, a := range handles(t, env, func(*driver.Config) {}) {
		person(t, a, name)
		other := begun(t, env)
		heavy(t, other, name)
		statement(t, other, "UPDATE session SET expires = '2037-01-01' WHERE sessionToken = ?", name)
		ended := make(chan error, 1)
		go func() { // locks the user, and waits for the session
			_, err := a.DeleteUser(t.Context(), name)
			ended <- err
		}()
		awaitLock(t, env)
		statement(t, other, "UPDATE `user` SET image = 'x' WHERE id = ?", name)
		require.NoError(t, other.Commit())
		assert.NoError(t, <-ended, name)
		assert.Nil(t, must(a.GetUser(t.Context(), name))(t), name)
	}
}

// TestLockTimeoutIsTriedAgain: a call whose wait for a lock the server ends is repeated.
func TestLockTimeoutIsTriedAgain(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	for name, a := range handles(t, env, func(c *driver.Config) { c.Params["innodb_lock_wait_timeout"] = "1" }) {
		person(t, a, name)
		other := begun(t, env)
		statement(t, other, "SELECT id FROM `user` WHERE id = ? FOR UPDATE", name)
		time.AfterFunc(1500*time.Millisecond, func() { _ = other.Rollback() })
		began := time.Now()
		_, err := a.UpdateUser(t.Context(), adapter.UserUpdate{ID: name, Email: adapter.To("new@" + name)})
		took := time.Since(began)
		assert.Truef(t, err == nil && took >= 1400*time.Millisecond, "%s: after %v: %v", name, took, err)
	}
}

// checksReads reports whether the server refuses to lock a row that is newer than the snapshot.
func checksReads(t *testing.T, env *mysqltest.Env) bool {
	t.Helper()
	var name, value string
	err := env.Admin.QueryRowContext(t.Context(), "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'").Scan(&name, &value)
	if !errors.Is(err, sql.ErrNoRows) {
		require.NoError(t, err)
	}
	return value == "ON"
}

// TestNewerRowIsTriedAgain: a call that waits for a row which another one changes is repeated where the server refuses
// to lock it then (error 1020). In the caller's transaction the call gets this error.
func TestNewerRowIsTriedAgain(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	if !checksReads(t, env) {
		return // it has no such setting
	}
	all := handles(t, env, func(*driver.Config) {})
	all["tx"] = on(t, begun(t, env))
	for name, a := range all {
		person(t, on(t, env.Admin), name)
		other := begun(t, env)
		statement(t, other, "UPDATE session SET expires = '2037-01-01' WHERE sessionToken = ?", name)
		ended := make(chan error, 1)
		go func() { _, err := a.DeleteUser(t.Context(), name); ended <- err }()
		awaitLock(t, env)
		require.NoError(t, other.Commit())
		var server *driver.MySQLError
		if err := <-ended; name == "tx" && (!errors.As(err, &server) || server.Number != 1020) || name != "tx" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		u, err := a.GetUser(t.Context(), name)
		assert.Truef(t, (u == nil) != (name == "tx") && err == nil, "%s: after DeleteUser: %v, %v", name, u, err)
	}
}

// TestCallersTransactionIsUndone: if the server has undone the whole transaction of the caller, the error says so, and
// nothing is tried again.
func TestCallersTransactionIsUndone(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, sure := t.Context(), on(t, env.Admin)
	for what, provoke := range map[string]func(t *testing.T, db mysql.DB, id string) error{
		"deadlock (error 1213)": func(t *testing.T, db mysql.DB, id string) error {
			other := begun(t, env)
			heavy(t, other, id)
			statement(t, other, "UPDATE session SET expires = '2037-01-01' WHERE sessionToken = ?", id)
			ended := make(chan error, 1)
			go func() { _, err := on(t, db).DeleteUser(ctx, id); ended <- err }()
			awaitLock(t, env)
			statement(t, other, "UPDATE `user` SET image = 'x' WHERE id = ?", id)
			require.NoError(t, other.Rollback())
			return <-ended
		},
		"the row has changed meanwhile (error 1020)": func(t *testing.T, db mysql.DB, id string) error {
			if _, err := on(t, db).GetUser(ctx, id); err != nil { // the snapshot
				return err
			}
			statement(t, env.Admin, "UPDATE `user` SET image = 'x' WHERE id = ?", id)
			_, err := on(t, db).DeleteUser(ctx, id)
			return err
		},
	} {
		if strings.Contains(what, "1020") && !checksReads(t, env) {
			continue
		}
		for name, db := range transactions(t, env) {
			id := name + what[:3]
			person(t, sure, id)
			must(on(t, db).CreateUser(ctx, adapter.User{ID: "mine" + id}))(t)
			err := provoke(t, db, id)
			assert.ErrorContains(t, err, "the server has undone the whole transaction of the caller", id)
			assert.ErrorContains(t, err, what, id)
			assert.Nilf(t, must(on(t, db).GetUser(ctx, "mine"+id))(t), "%s, %s: the caller's own work is there", name, what)
			assert.NotNilf(t, must(sure.GetUser(ctx, id))(t), "%s: DeleteUser was tried again outside the transaction", what)
		}
	}
}
