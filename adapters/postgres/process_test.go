package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Tests with several processes start this binary again, with the URL of the
// server, the schema and the prefix of the tables in childEnv.
const childEnv = "GATEHOUSE_POSTGRES_CHILD"

// child waits for the end of its standard input, calls EnsureSchema, and makes a
// user.
func child(args []string) error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, args[0])
	if err != nil {
		return err
	}
	defer pool.Close()
	opts := []postgres.Option{postgres.WithSchema(args[1])}
	if args[2] != "" {
		opts = append(opts, postgres.WithPrefix(args[2]))
	}
	a, err := postgres.New(pool, opts...)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		return err
	}
	if err := a.WithLease(childLease).EnsureSchema(ctx); err != nil {
		return err
	}
	_, err = a.CreateUser(ctx, adapter.User{})
	return err
}

// childLease is how long other processes wait for a child that was killed.
const childLease = 300 * time.Millisecond

// startChild starts a process that is ready to call EnsureSchema. The function
// begin lets it call.
func startChild(t *testing.T, url, schema, prefix string) (cmd *exec.Cmd, begin func()) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join([]string{url, schema, prefix}, "\n"))
	cmd.Stderr = t.Output()
	stdin := must(cmd.StdinPipe())(t)
	stdout := must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	if lines := bufio.NewScanner(stdout); !lines.Scan() {
		t.Fatalf("the process said nothing: %v, %v", lines.Err(), cmd.Wait())
	}
	return cmd, func() { _ = stdin.Close() }
}

// TestProcessesStartAtOnce: eight processes make the tables of a new database at
// once. [CAP-03] [CAP-04]
func TestProcessesStartAtOnce(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	execSQL(t, wiring{}.pool(t), `DROP SCHEMA `+schema) // the processes make the schema too
	const n = 8
	var processes [n]*exec.Cmd
	var begin [n]func()
	for i := range n {
		processes[i], begin[i] = startChild(t, serverURL(t, postgresURL), schema, "p_")
	}
	for _, begin := range begin {
		begin()
	}
	for i, process := range processes {
		assert.NoErrorf(t, process.Wait(), "process %d", i)
	}
	db := inSchema(t, schema)
	users := value[int](t, db, `SELECT count(*) FROM p_users`)
	assert.Equalf(t, n, users, "got %d users, want %d", users, n)
	before := catalogue(t, db)
	require.NoError(t, newAdapter(t, db, postgres.WithPrefix("p_")).EnsureSchema(t.Context()))
	assert.Empty(t, cmp.Diff(before, catalogue(t, db)), "another run changed the tables")
}

// TestProcessIsKilled kills the process that runs EnsureSchema with SIGKILL
// after steps of its work, when the server has acted and the process has not yet
// got the answer. Another process then finishes the work.
func TestProcessIsKilled(t *testing.T) {
	for database, prepare := range map[string]func(t *testing.T, pool *pgxpool.Pool){
		"new":     func(*testing.T, *pgxpool.Pool) {},
		"Auth.js": func(t *testing.T, pool *pgxpool.Pool) { makeAuthJSTables(t, pool) },
	} {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			for killed, step := 0, 1+rand.IntN(4); ; step += 4 {
				schema := newSchema(t)
				pool := inSchema(t, schema)
				prepare(t, pool)
				url, proxy := proxied(t)
				process, begin := startChild(t, url, schema, "")
				held := must(proxy.Inject(fault.HoldReply, step))(t)
				begin()
				ended := make(chan error, 1)
				go func() { ended <- process.Wait() }()
				select {
				case <-held.Hit():
				case err := <-ended:
					require.NoError(t, err)
					t.Logf("killed %d times; done in fewer than %d steps", killed, step)
					assert.Truef(t, killed >= 3, "the process was killed %d times, want at least three", killed)
					return
				}
				require.NoError(t, process.Process.Kill())
				assert.Error(t, <-ended, "the killed process ended with success")
				held.Release()
				killed++
				finish(t, fmt.Sprint("step ", step), newAdapter(t, pool), pool)
			}
		})
	}
}

// TestProcessIsKilledInABuild kills the process while the server builds an
// index, which waits for an older transaction. The server continues the build,
// although its client is gone. Another process waits for that build and finishes
// the work.
func TestProcessIsKilledInABuild(t *testing.T) { // not in parallel: other tests would wait too
	schema := newSchema(t)
	pool := inSchema(t, schema)
	makeAuthJSTables(t, pool)
	old := must(pool.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead}))(t)
	t.Cleanup(func() { _ = old.Rollback(context.Background()) })
	execSQL(t, old, `SELECT FROM pg_class LIMIT 1`)
	process, begin := startChild(t, serverURL(t, postgresURL), schema, "")
	begin()
	await(t, "the index is built", func() bool { return waitingBuild(t, pool) })
	require.NoError(t, process.Process.Kill())
	_ = process.Wait() // killed
	assert.True(t, waitingBuild(t, pool), "the server has given up the index with the process")
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		finish(t, "a kill in a build", newAdapter(t, pool), pool)
	}()
	await(t, "the other process waits for the build", func() bool {
		return value[bool](t, pool, `SELECT migrating IS NOT NULL AND until > now() + interval '1 s' FROM gatehouse_schema`) // a lease that is longer than childLease
	})
	require.NoError(t, old.Rollback(t.Context()))
	<-finished
}

// waitingBuild reports whether an index of the schema is built and waits for an old
// snapshot. The waits before that may end at once.
func waitingBuild(t *testing.T, pool *pgxpool.Pool) bool {
	t.Helper()
	return value[bool](t, pool, `SELECT EXISTS (SELECT FROM pg_stat_progress_create_index AS p JOIN pg_class AS c ON c.oid = p.relid
		WHERE c.relnamespace = current_schema()::regnamespace AND p.phase = 'waiting for old snapshots')`)
}

// finish completes the work of a killed process, and checks the result.
func finish(t *testing.T, after string, a *postgres.Adapter, pool *pgxpool.Pool) {
	t.Helper()
	if !assert.NoErrorf(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())), "after %s", after) {
		return
	}
	n := value[int](t, pool, `SELECT count(*) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid`)
	assert.Equalf(t, 0, n, "after %s: %d indexes are not valid", after, n)
}

// await returns once the condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// proxied returns the URL of a proxy in front of the server.
func proxied(t *testing.T) (rawURL string, proxy *fault.Proxy) {
	t.Helper()
	c := wiring{}.config(t).ConnConfig
	proxy = must(fault.NewProxy(net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))))(t)
	t.Cleanup(func() { _ = proxy.Close() })
	u := must(url.Parse(serverURL(t, postgresURL)))(t)
	u.Host = proxy.Addr()
	return u.String(), proxy
}
