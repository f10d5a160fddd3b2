package postgres_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var everyWiring = flag.Bool("every-wiring", false, "TestConformance runs in every wiring, which takes minutes")

// TestConformance runs the suite on a schema for each wiring: by default in
// those that differ most. TestMethods has a shorter round for all of them.
func TestConformance(t *testing.T) {
	for _, w := range wirings {
		if !*everyWiring && !w.telling {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			adaptertest.Run(t, w.harness(t))
		})
	}
}

// handle is an adapter and what the harness keeps with it.
type handle struct {
	*postgres.Adapter
	pool   *pgxpool.Pool
	proxy  *fault.Proxy
	schema string
}

// open opens an adapter on a pool and a proxy of its own.
func (w wiring) open(t testing.TB, schema string, maxConns int32) *handle {
	t.Helper()
	c := w.config(t)
	if maxConns > 0 {
		c.MaxConns = maxConns
	}
	proxy, err := fault.NewProxy(net.JoinHostPort(c.ConnConfig.Host, strconv.Itoa(int(c.ConnConfig.Port))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	c.ConnConfig.DialFunc = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, proxy.Addr())
	}
	pool, err := pgxpool.NewWithConfig(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		proxy.Heal()
		pool.Close()
	})
	return &handle{newAdapter(t, pool, postgres.WithSchema(schema)), pool, proxy, schema}
}

// close closes the pool and waits until its farewells have passed the proxy.
func (h *handle) close() error {
	h.pool.Close()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Second)
	for h.proxy.Stats().Open > 0 {
		select {
		case <-tick.C:
		case <-deadline:
			return errors.New("the pool is closed and connections are open")
		}
	}
	return nil
}

func (w wiring) harness(t *testing.T) adaptertest.Harness {
	admin := wiring{}.pool(t)
	prepare := func() string {
		schema := newSchema(t)
		if w.authJS {
			makeAuthJSTables(t, inSchema(t, schema))
		}
		if err := newAdapter(t, admin, postgres.WithSchema(schema)).EnsureSchema(t.Context()); err != nil {
			t.Fatal(err)
		}
		return schema
	}
	schema, other := prepare(), prepare()
	var opened atomic.Int64
	h := adaptertest.Harness{
		Name:    "postgres, " + w.name,
		Version: value[string](t, admin, `SELECT split_part(version(), ' on ', 1)`),
		New: func(t testing.TB) adapter.Adapter { // each on another store than the one before
			return w.open(t, []string{schema, other}[opened.Add(1)%2], 0)
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter { return w.open(t, a.(*handle).schema, 0) },
		Close:  func(a adapter.Adapter) error { return a.(*handle).close() },
		Reopen: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			b := w.open(t, a.(*handle).schema, 0)
			if err := b.EnsureSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b
		},
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			b := *a.(*handle)
			var err error
			b.Adapter, err = postgres.New(b.pool, postgres.WithSchema(b.schema), postgres.WithPrefix(name))
			if err != nil {
				return nil, err
			}
			return &b, b.EnsureSchema(t.Context())
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*handle).proxy },
		Corrupt: func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() {
			return corrupt(t, admin, a.(*handle).schema, r)
		},
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			return inspect(ctx, admin, a.(*handle).schema, r)
		},
		Single:      func(t testing.TB) adapter.Adapter { return w.open(t, schema, 1) },
		Limited:     func(t testing.TB) adapter.Adapter { return w.open(t, schema, min(4, w.config(t).MaxConns)) },
		Connections: func(a adapter.Adapter) int { return int(a.(*handle).pool.Stat().TotalConns()) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*handle).pool.Ping(ctx) },
		InternalNames: []string{"users", "accounts", "sessions", "verification_token", "authenticators",
			"users_pkey", "users_email_key", schema, schema + ".users"},
	}
	if pooled := w; os.Getenv(pgbouncerURL) != "" {
		pooled.pooler = true
		if !w.pooler {
			pooled.mode = pgx.QueryExecModeExec
		}
		h.Pooled = func(t testing.TB) adapter.Adapter { return pooled.open(t, schema, 0) }
	}
	if w.authJS {
		h.Declarations.AssignsIDs = true
		h.NewID = func() string { return strconv.FormatInt(1<<40+rand.Int64N(1<<40), 10) }
	}
	return h
}

// where returns the table of a record and the condition that finds it.
func where(schema string, r adaptertest.Record) (table, column, condition string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		return schema + ".users", `"emailVerified"`, `id = $1`, []any{r.Key}
	case adaptertest.AccountRecord:
		return schema + ".accounts", "", `provider = $1 AND "providerAccountId" = $2`, []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		return schema + ".sessions", "expires", `"sessionToken" = $1`, []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		return schema + ".verification_token", "expires", `identifier = $1 AND token = $2`, []any{r.Token.Identifier, r.Token.Token}
	case adaptertest.AuthenticatorRecord:
		return schema + ".authenticators", "", `"credentialID" = $1`, []any{r.Key}
	default:
		panic(fmt.Sprintf("unknown kind of record %q", r.Kind))
	}
}

func inspect(ctx context.Context, pool *pgxpool.Pool, schema string, r adaptertest.Record) (there bool, err error) {
	table, _, condition, args := where(schema, r)
	err = pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+table+` WHERE `+condition+`)`, args...).Scan(&there)
	return there, err
}

// corrupt sets an instant to infinity, which no time.Time is.
func corrupt(t testing.TB, pool *pgxpool.Pool, schema string, r adaptertest.Record) (repair func()) {
	t.Helper()
	table, column, condition, args := where(schema, r)
	if column == "" {
		return nil
	}
	old := value[*string](t, pool, `SELECT `+column+`::text FROM `+table+` WHERE `+condition, args...)
	execSQL(t, pool, `UPDATE `+table+` SET `+column+` = 'infinity' WHERE `+condition, args...)
	return func() {
		next := fmt.Sprint("$", len(args)+1)
		execSQL(t, pool, `UPDATE `+table+` SET `+column+` = `+next+`::text::timestamptz WHERE `+condition, append(args, old)...)
	}
}
