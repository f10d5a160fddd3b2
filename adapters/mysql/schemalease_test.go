package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// poolThroughProxy opens a pool that reaches the server through a proxy.
func poolThroughProxy(t *testing.T, env *mysqltest.Env, conns int) (*sql.DB, *fault.Proxy) {
	t.Helper()
	var proxy *fault.Proxy
	db := pool(t, databaseOf(t, env), func(c *driver.Config) {
		var err error
		if proxy, err = fault.NewProxy(c.Addr); err != nil {
			t.Fatal(err)
		}
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
func tablesWith(t *testing.T, env *mysqltest.Env, prefix string) (n int) {
	t.Helper()
	if err := env.Admin.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME LIKE ?",
		strings.ReplaceAll(prefix, "_", `\_`)+"%").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
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
	if err := first.EnsureSchema(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := env.Admin.ExecContext(ctx, "ALTER TABLE one_session DROP KEY one_session_expires_idx"); err != nil {
		t.Fatal(err)
	}
	reader, err := env.Admin.BeginTx(ctx, nil) // the first migrator waits for a table that is in use
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.QueryRowContext(ctx, "SELECT COUNT(*) FROM one_session").Err(); err != nil {
		t.Fatal(err)
	}
	go func() { done <- first.WithLease(lease).EnsureSchema(ctx) }()
	held := func() (held bool) {
		if err := env.Admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM one_gatehouse_schema WHERE migrating IS NOT NULL AND until > UTC_TIMESTAMP(3)").Scan(&held); err != nil {
			t.Fatal(err)
		}
		return held
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !held() {
		<-tick.C
	}
	short, cancel := context.WithTimeout(ctx, 5*lease)
	defer cancel()
	err = on(t, env.Admin, mysql.WithPrefix("one_")).EnsureSchema(short)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another process is changing the tables") {
		t.Errorf("the second migrator says %v", err)
	}
	if !held() {
		t.Error("the first migrator has lost its lease, although it lives")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if held() {
		t.Error("the lease was not given back")
	}
	if err := on(t, env.Admin, mysql.WithPrefix("one_")).CheckSchema(ctx); err != nil {
		t.Error(err)
	}
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
		if _, err := proxy.Inject(fault.Down, step); err != nil {
			t.Fatal(err)
		}
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
		if err := errors.Join(next.EnsureSchema(ctx), next.CheckSchema(ctx)); err != nil {
			t.Fatalf("after a death at step %d: %v", step, err)
		}
	}
	if partly < 3 {
		t.Errorf("the dead had made some tables %d times, want at least three", partly)
	}
}

// TestVersionTableOfAnother: a table of the site that has the name is refused with advice.
func TestVersionTableOfAnother(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	if _, err := env.Admin.ExecContext(t.Context(), "CREATE TABLE vt_gatehouse_schema (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	err := on(t, env.Admin, mysql.WithPrefix("vt_")).EnsureSchema(t.Context())
	if err == nil || !strings.Contains(err.Error(), "vt_gatehouse_schema is not the table that this package makes") {
		t.Errorf("got %v", err)
	}
}
