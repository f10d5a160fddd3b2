package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// poolThroughProxy opens a pool that reaches the server through a proxy.
func poolThroughProxy(t *testing.T, env *mysqltest.Env, conns int) (*sql.DB, *fault.Proxy) {
	t.Helper()
	var proxy *fault.Proxy
	db := pool(t, databaseOf(t, env), func(c *driver.Config) {
		proxy = must(fault.NewProxy(c.Addr))(t)
		c.Addr, c.Logger = proxy.Addr(), &driver.NopLogger{}
	})
	db.SetMaxOpenConns(conns)
	t.Cleanup(func() {
		proxy.Heal()
		_ = db.Close()
		_ = proxy.Close()
	})
	return db, proxy
}

// tablesWith returns the number of tables whose name has the prefix.
func tablesWith(t *testing.T, env *mysqltest.Env, prefix string) int {
	t.Helper()
	return number(t, env.Admin, "SELECT COUNT(*) FROM information_schema.TABLES "+
		"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE ?", strings.ReplaceAll(prefix, "_", `\_`)+"%")
}

// TestOneMigrator: while one process changes the tables, another one changes nothing. It goes on
// when the first is done, also after many lengths of the lease, which the first renews.
func TestOneMigrator(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	const lease = 200 * time.Millisecond
	done := make(chan error, 1)
	first := on(t, env.Admin, mysql.WithPrefix("one_"))
	require.NoError(t, first.EnsureSchema(ctx))
	must(env.Admin.ExecContext(ctx, "ALTER TABLE one_session DROP KEY one_session_expires_idx"))(t)
	reader, err := env.Admin.BeginTx(ctx, nil) // the first migrator waits for a table that is in use
	require.NoError(t, err)
	require.NoError(t, reader.QueryRowContext(ctx, "SELECT COUNT(*) FROM one_session").Err())
	go func() { done <- first.WithLease(lease).EnsureSchema(ctx) }()
	const leases = "SELECT COUNT(*) FROM one_gatehouse_schema WHERE migrating IS NOT NULL AND until > UTC_TIMESTAMP(3)"
	await(t, env, 5*time.Millisecond, 1, leases)
	short, cancel := context.WithTimeout(ctx, 5*lease)
	defer cancel()
	err = on(t, env.Admin, mysql.WithPrefix("one_")).EnsureSchema(short)
	assert.Truef(t, errors.Is(err, context.DeadlineExceeded) &&
		strings.Contains(err.Error(), "another process is changing the tables"),
		"the second migrator says %v", err)
	assert.Equal(t, 1, number(t, env.Admin, leases), "the first migrator has lost its lease, although it lives")
	require.NoError(t, reader.Rollback())
	assert.NoError(t, <-done)
	assert.Zero(t, number(t, env.Admin, leases), "the lease was not given back")
	assert.NoError(t, on(t, env.Admin, mysql.WithPrefix("one_")).CheckSchema(ctx))
}

// TestMigratorDies: a process that dies after any step of its work leaves the rest to the next
// one, which waits for the end of its lease.
func TestMigratorDies(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	partly := 0
	for step := 1; ; step += 2 {
		prefix := "died" + string(rune('a'+step/26)) + string(rune('a'+step%26)) + "_"
		db, proxy := poolThroughProxy(t, env, 4)
		must(proxy.Inject(fault.Down, step))(t)
		err := on(t, db, mysql.WithPrefix(prefix)).WithLease(300 * time.Millisecond).EnsureSchema(ctx)
		proxy.Heal()
		if err == nil {
			t.Logf("done in fewer than %d steps; %d times some tables were there", step, partly)
			break
		}
		if made := tablesWith(t, env, prefix); made > 0 && made < 7 {
			partly++
		}
		next := on(t, env.Admin, mysql.WithPrefix(prefix))
		require.NoErrorf(t, errors.Join(next.EnsureSchema(ctx), next.CheckSchema(ctx)), "after a death at step %d", step)
	}
	assert.Truef(t, partly >= 3, "the dead had made some tables %d times, want at least three", partly)
}

// TestVersionTableOfAnother: a table of the site that has the name is refused with advice.
func TestVersionTableOfAnother(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	must(env.Admin.ExecContext(t.Context(), "CREATE TABLE vt_gatehouse_schema (id INT PRIMARY KEY)"))(t)
	err := on(t, env.Admin, mysql.WithPrefix("vt_")).EnsureSchema(t.Context())
	assert.ErrorContains(t, err, "vt_gatehouse_schema is not the table that this package makes")
}
