package growth_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	runs  = flag.Int("runs", 0, "how often VOL-04 runs on each adapter, in the full form, or with -short in the quick form; 0 runs it once, over memory alone")
	limit = flag.Duration("limit", 20*time.Second, "the longest time for a run on a broken adapter")
)

// everywhere is the wiring that each run of the tests judges. Durations over a server or a file need a quiet machine, so
// only make mutants-all judges the other wirings.
const everywhere = "memory, one process"

// broken is an adapter with one fault.
type broken struct {
	wiring, fault string
	// breaks returns the adapter with the fault. It may be called several times for one store.
	breaks func(ctx context.Context, a adapter.Adapter) (adapter.Adapter, error)
}

func all() []broken {
	return []broken{
		{wiring: everywhere, fault: "GetUserByEmail walks over all users", breaks: walksOverUsers},
		{wiring: "sqlite, modernc", fault: "the index of addresses is missing", breaks: sqliteRuns(`DROP INDEX "user_email_key"`)},
		{wiring: "sqlite, modernc", fault: "the index of addresses is over lower(email)",
			breaks: sqliteRuns(`DROP INDEX "user_email_key"`, `CREATE UNIQUE INDEX "user_email_key" ON "user" (lower(email))`)},
		{wiring: "postgres, cached statements", fault: "the index of accounts by user is missing", breaks: postgresIndex(`DROP INDEX %[1]s`)},
		{wiring: "postgres, cached statements", fault: "the index of accounts by user is over lower()",
			breaks: postgresIndex(`DROP INDEX %[1]s; CREATE INDEX ON %[2]s (lower("userId"))`)},
		{wiring: "mysql, MariaDB", fault: "the index of addresses is missing", breaks: mysqlIndex("ALTER TABLE `%[2]s` DROP KEY `%[1]s`")},
		{wiring: "mysql, MariaDB", fault: "the address is the second column of its index",
			breaks: mysqlIndex("ALTER TABLE `%[2]s` DROP KEY `%[1]s`, ADD KEY (seq, email)")},
		{wiring: "redis, one server", fault: "GetUserByEmail walks over all keys", breaks: walksOverKeys},
		{wiring: "mongo, standalone", fault: "the index of addresses is missing", breaks: mongoIndex(nil)},
		{wiring: "mongo, standalone", fault: "the index of addresses has a filter on the type",
			breaks: mongoIndex(bson.D{{Key: "email", Value: bson.D{{Key: "$type", Value: "string"}}}})},
	}
}

// TestScansAreNoticed runs VOL-04 on each broken adapter.
func TestScansAreNoticed(t *testing.T) {
	eachRun(t, all(), func(t *testing.T, x adaptertest.Result, took time.Duration) {
		assert.Truef(t, x.Outcome == adaptertest.Fail && strings.Contains(x.Evidence[0], "grows with the population"),
			"VOL-04: %s %s\n%s", x.Outcome, x.Reason, strings.Join(x.Evidence, "\n"))
		assert.Truef(t, took <= *limit, "VOL-04 took %v, want %v at most", took, *limit)
	})
}

// TestNoScanIsNoticed runs VOL-04 on each correct adapter.
func TestNoScanIsNoticed(t *testing.T) {
	var correct []broken
	for _, b := range all() {
		if n := len(correct); n == 0 || correct[n-1].wiring != b.wiring {
			correct = append(correct, broken{wiring: b.wiring, fault: "no fault"})
		}
	}
	eachRun(t, correct, func(t *testing.T, x adaptertest.Result, _ time.Duration) {
		assert.Equalf(t, adaptertest.Pass, x.Outcome,
			"VOL-04: %s %s\n%s", x.Outcome, x.Reason, strings.Join(x.Evidence, "\n"))
	})
}

// eachRun runs VOL-04 on each adapter, each time in a new store.
func eachRun(t *testing.T, adapters []broken, check func(t *testing.T, x adaptertest.Result, took time.Duration)) {
	t.Helper()
	servers := wiringstest.Servers(t, stores.Options{Fast: true})
	for _, b := range adapters {
		if *runs == 0 && b.wiring != everywhere {
			continue
		}
		for run := range max(1, *runs) {
			t.Run(fmt.Sprintf("%s/%s/%d", b.wiring, b.fault, run+1), func(t *testing.T) {
				x, took := judge(t, servers, b)
				t.Logf("VOL-04: %s in %v", x.Outcome, took)
				check(t, x, took)
			})
		}
	}
}

// judge runs VOL-04 and returns the result and how long it took.
func judge(t *testing.T, servers *stores.Stores, b broken) (adaptertest.Result, time.Duration) {
	t.Helper()
	every := wirings.All()
	i := slices.IndexFunc(every, func(w wirings.Wiring) bool { return w.String() == b.wiring })
	require.Truef(t, i >= 0, "there is no wiring %q", b.wiring)
	o := wiringstest.Open(t, every[i], servers)
	h := o.Harness
	if b.breaks != nil { // another function might repair the index, or not know the type
		h = adaptertest.Harness{Declarations: h.Declarations, NewID: h.NewID, New: func(t testing.TB) adapter.Adapter {
			a, err := b.breaks(t.Context(), o.Harness.New(t))
			require.NoError(t, err)
			return a
		}}
	}
	options := adaptertest.Options{Only: []string{"VOL-04"}}
	if testing.Short() {
		options.Rounds = adaptertest.QuickRounds
	}
	start := time.Now()
	report, err := adaptertest.Check(t.Context(), h, options)
	require.NoError(t, err)
	x, _ := report.Result("VOL-04")
	return x, time.Since(start)
}

// walker is the memory adapter with a list of users in place of an index.
type walker struct {
	*memory.Adapter
	mu    sync.Mutex
	users []*adapter.User
}

func walksOverUsers(_ context.Context, a adapter.Adapter) (adapter.Adapter, error) {
	return &walker{Adapter: a.(*memory.Adapter)}, nil
}

func (w *walker) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	created, err := w.Adapter.CreateUser(ctx, u)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.users = append(w.users, created)
	}
	return created, err
}

func (w *walker) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, u := range w.users {
		if u.Email == email {
			return w.GetUser(ctx, u.ID)
		}
	}
	return nil, nil
}

// scanner is the Redis adapter without its index of addresses.
type scanner struct{ *redistest.Handle }

func walksOverKeys(_ context.Context, a adapter.Adapter) (adapter.Adapter, error) {
	return scanner{a.(*redistest.Handle)}, nil
}

func (s scanner) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	err := redistest.EachKeys(ctx, s.Client, "*"+s.Prefix+"*:user:*", func(context.Context, goredis.Cmdable, []string) error { return nil })
	if err != nil {
		return nil, err
	}
	return s.Handle.GetUserByEmail(ctx, email)
}

func sqliteRuns(statements ...string) func(context.Context, adapter.Adapter) (adapter.Adapter, error) {
	return func(ctx context.Context, a adapter.Adapter) (adapter.Adapter, error) {
		for _, s := range statements {
			if _, err := a.(*sqlitetest.Handle).DB.ExecContext(ctx, s); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
}

// postgresIndex runs statements about the indexes of accounts by user. In the statements, %[1]s is the name of the index
// and %[2]s the name of its table.
func postgresIndex(statements string) func(context.Context, adapter.Adapter) (adapter.Adapter, error) {
	return func(ctx context.Context, a adapter.Adapter) (adapter.Adapter, error) {
		h := a.(*postgrestest.Handle)
		if err := h.EnsureSchema(ctx); err != nil { // an adapter checks its tables before its first call
			return nil, err
		}
		if _, err := h.GetUser(ctx, "nobody"); err != nil {
			return nil, err
		}
		pool := h.Pool
		rows, err := pool.Query(ctx, `SELECT i.indexrelid::regclass::text, i.indrelid::regclass::text
			FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE c.relname LIKE '%accounts_userId_idx'`)
		if err != nil {
			return nil, err
		}
		found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Index, Table string }])
		if err != nil {
			return nil, err
		}
		for _, x := range found {
			if _, err := pool.Exec(ctx, fmt.Sprintf(statements, x.Index, x.Table), pgx.QueryExecModeSimpleProtocol); err != nil {
				return nil, err
			}
		}
		return a, nil
	}
}

// mysqlIndex runs a statement about the index of addresses. In the statement, %[1]s is the name of the index and %[2]s the
// name of its table.
func mysqlIndex(statement string) func(context.Context, adapter.Adapter) (adapter.Adapter, error) {
	return func(ctx context.Context, a adapter.Adapter) (adapter.Adapter, error) {
		h := a.(*mysqltest.Handle)
		if err := h.EnsureSchema(ctx); err != nil { // an adapter checks its tables before its first call
			return nil, err
		}
		rows, err := h.DB.QueryContext(ctx, `SELECT INDEX_NAME, TABLE_NAME FROM information_schema.STATISTICS
			WHERE TABLE_SCHEMA = DATABASE() AND INDEX_NAME LIKE '%user_email_key'`)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		var statements []string
		for rows.Next() {
			var index, table string
			if err := rows.Scan(&index, &table); err != nil {
				return nil, err
			}
			statements = append(statements, fmt.Sprintf(statement, index, table))
		}
		for _, s := range statements {
			if _, err := h.DB.ExecContext(ctx, s); err != nil {
				return nil, err
			}
		}
		return a, rows.Err()
	}
}

// mongoIndex drops the index of addresses, and makes another one if it has a filter.
func mongoIndex(filter any) func(context.Context, adapter.Adapter) (adapter.Adapter, error) {
	return func(ctx context.Context, a adapter.Adapter) (adapter.Adapter, error) {
		h := a.(*mongotest.Handle)
		indexes := h.Client.Database(h.Database).Collection("users").Indexes()
		if err := indexes.DropOne(ctx, "email_unique"); err != nil || filter == nil {
			return a, err
		}
		_, err := indexes.CreateOne(ctx, mgo.IndexModel{
			Keys: bson.D{{Key: "email", Value: 1}}, Options: options.Index().SetUnique(true).SetName("email_unique").SetPartialFilterExpression(filter),
		})
		return a, err
	}
}
