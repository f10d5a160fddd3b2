package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// awaitStatement returns when the server runs such a statement for another connection to the database, or none.
func awaitStatement(t *testing.T, env *mysqltest.Env, like string, want bool) {
	t.Helper()
	await(t, env, 5*time.Millisecond, map[bool]int{true: 1}[want],
		"SELECT COUNT(*) > 0 FROM information_schema.PROCESSLIST "+
			"WHERE DB = DATABASE() AND ID <> CONNECTION_ID() AND INFO LIKE ?", like)
}

// readLock takes the lock of a backup, under which every COMMIT waits, and returns the function that gives it back.
func readLock(t *testing.T, env *mysqltest.Env) (unlock func()) {
	t.Helper()
	conn := must(env.Admin.Conn(t.Context()))(t)
	must(conn.ExecContext(t.Context(), "FLUSH TABLES WITH READ LOCK"))(t)
	return func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "UNLOCK TABLES")
		err = errors.Join(err, conn.Close())
		assert.NoError(t, err)
	}
}

// TestCancelledCommit: a COMMIT that waits when its context ends takes no effect after the call has returned. The lock
// holds for the whole server, so this test is not parallel.
func TestCancelledCommit(t *testing.T) {
	env := open(t, mysqltest.Settings{})
	sure := on(t, env.Admin)
	for _, conns := range []int{1, 4} {
		t.Run(fmt.Sprint(conns, " connections"), func(t *testing.T) {
			db, proxy := poolThroughProxy(t, env, conns)
			a, id := on(t, db), fmt.Sprint("u", conns)
			require.NoError(t, a.CheckSchema(t.Context()))
			held, err := proxy.Inject(fault.HoldReply, 2) // of the statement before COMMIT
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { _, err := a.CreateUser(ctx, adapter.User{ID: id}); ended <- err }()
			<-held.Hit()
			unlock := readLock(t, env)
			held.Release()
			awaitStatement(t, env, "COMMIT%", true)
			cancel()
			began := time.Now()
			if err := <-ended; !errors.Is(err, context.Canceled) || time.Since(began) > 2*time.Second {
				t.Errorf("after %v: %v, want context.Canceled at once", time.Since(began), err)
			}
			unlock()
			awaitStatement(t, env, "COMMIT%", false)
			assert.Nil(t, must(sure.GetUser(t.Context(), id))(t), "after the call had returned")
			_, err = a.CreateUser(t.Context(), adapter.User{ID: id})
			assert.NoError(t, err, "the next call")
		})
	}
}

// TestCancelledCommitOnAConnection: without another connection the call waits for its COMMIT, and says what it did.
func TestCancelledCommitOnAConnection(t *testing.T) {
	env := open(t, mysqltest.Settings{})
	db, proxy := poolThroughProxy(t, env, 1)
	conn := must(db.Conn(t.Context()))(t)
	defer func() { _ = conn.Close() }()
	a := on(t, conn)
	require.NoError(t, a.CheckSchema(t.Context()))
	held, err := proxy.Inject(fault.HoldReply, 4) // of the statement before COMMIT: two look for a transaction
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := a.CreateUser(ctx, adapter.User{ID: "u"}); ended <- err }()
	<-held.Hit()
	unlock := readLock(t, env)
	held.Release()
	awaitStatement(t, env, "COMMIT%", true)
	cancel()
	unlock()
	err = <-ended
	u, look := on(t, env.Admin).GetUser(t.Context(), "u")
	assert.Truef(t, look == nil && (u != nil) == (err == nil), "the call says %v, and stored is %v (%v)", err, u, look)
	_, err = a.CreateUser(t.Context(), adapter.User{ID: "next"})
	assert.NoError(t, err, "the next call")
}

// TestCancelledEnsureSchema: a statement that changes a table, and waits for it when the context ends, changes nothing
// after the call has returned. On a connection the call waits for the statement.
func TestCancelledEnsureSchema(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	single := pool(t, databaseOf(t, env), func(*driver.Config) {})
	single.SetMaxOpenConns(1)
	conn := must(env.Admin.Conn(t.Context()))(t)
	defer func() { _ = conn.Close() }()
	for name, db := range map[string]mysql.DB{"pool": env.Admin, "pool of one": single, "conn": conn} {
		prefix := "e" + fmt.Sprint(len(name)) + "_"
		require.NoError(t, on(t, env.Admin, mysql.WithPrefix(prefix)).EnsureSchema(t.Context()))
		statement(t, env.Admin, fmt.Sprintf("ALTER TABLE %ssession DROP KEY %[1]ssession_expires_idx", prefix))
		reader := begun(t, env)
		statement(t, reader, "DELETE FROM "+prefix+"session WHERE FALSE") // uses the table
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- on(t, db, mysql.WithPrefix(prefix)).EnsureSchema(ctx) }()
		awaitStatement(t, env, "ALTER TABLE `"+prefix+"%", true)
		cancel()
		err := <-ended
		assert.ErrorIsf(t, err, context.Canceled, "%s: %v, want context.Canceled", name, err)
		require.NoError(t, reader.Rollback())
		awaitStatement(t, env, "ALTER TABLE `"+prefix+"%", false)
		keys := number(t, env.Admin, "SELECT COUNT(*) FROM information_schema.STATISTICS "+
			"WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME = ?", prefix+"session_expires_idx")
		assert.Equalf(t, 0, keys, "%s: the key was added after the call had returned", name)
	}
}
