package postgrestest

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness opens adapters on the database.
func (e *Env) Harness() adaptertest.Harness {
	var opened atomic.Int64
	again := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return e.handle(t, a.(*Handle).store, e.Conns, e.OnlyPooled)
	}
	h := adaptertest.Harness{
		Name:    "postgres",
		Version: e.Version,
		New: func(t testing.TB) adapter.Adapter { // consecutive adapters are on different stores
			return e.handle(t, store(opened.Add(1)%2), e.Conns, e.OnlyPooled)
		},
		Second:        again,
		Reopen:        again,
		Close:         func(a adapter.Adapter) error { return a.(*Handle).close() },
		Namespace:     e.namespace,
		Faults:        func(a adapter.Adapter) fault.Control { return a.(*Handle).faults() },
		Corrupt:       e.corrupt,
		Inspect:       e.inspect,
		Single:        func(t testing.TB) adapter.Adapter { return e.handle(t, 0, 1, e.OnlyPooled) },
		Limited:       func(t testing.TB) adapter.Adapter { return e.handle(t, 0, min(4, e.Conns), e.OnlyPooled) },
		Connections:   func(a adapter.Adapter) int { return a.(*Handle).faults().Stats().Open },
		CheckHandle:   func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).pool.ping(ctx) },
		Parallel:      8,               // a clause waits for its server, its deadlines and its faults
		ClauseTimeout: 3 * time.Minute, // a cancelled call closes a connection, and the machine may be busy
		InternalNames: []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords", "gatehouse_schema",
			"users_pkey", "users_email_key", "public.users"},
	}
	e.siteFields(&h)
	if e.NoPooler != "" {
		h.Declarations.NoPooler = e.NoPooler
	} else if e.PooledURL != "" {
		h.Pooled = func(t testing.TB) adapter.Adapter { return e.handle(t, 0, e.Conns, true) }
	}
	if e.Site != "" {
		h.Declarations.Precision = time.Millisecond
	}
	if e.AsTheyAre {
		h.Declarations.Lacks, h.Waivers = lacking, waivers(e.Site)
	}
	if e.AuthJS { // the database assigns integer IDs
		h.Declarations.AssignsIDs = true
		h.NewID = func() string { return strconv.FormatInt(1<<40+rand.Int64N(1<<40), 10) }
	}
	return h
}

// BenchHarness opens adapters over new tables, and second handles on one connection through
// a proxy, which counts round trips.
func (e *Env) BenchHarness() adaptertest.Harness {
	return adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter {
			h, schema := e.apart(t)
			h.schema = schema
			return h
		},
		Second: func(t testing.TB, a adapter.Adapter) adapter.Adapter {
			second := &Handle{env: e, t: t, options: a.(*Handle).options, conns: 1}
			second.connect(true)
			return second
		},
		Faults: func(a adapter.Adapter) fault.Control { return a.(*Handle).proxy },
	}
}

// Baseline returns hand-written code for the tables of an adapter of BenchHarness.
func (h *Handle) Baseline() Baseline {
	if h.pool.std != nil {
		return NewSQLBaseline(h.pool.std, h.schema)
	}
	return NewBaseline(h.Pool, h.schema)
}

// SQL returns the pool of database/sql.
func (h *Handle) SQL() *sql.DB { return h.pool.std }

// Options returns the options of the adapter.
func (h *Handle) Options() []postgres.Option { return h.options }

// namespace opens an adapter over the tables in another schema.
func (e *Env) namespace(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
	b := *a.(*Handle)
	b.t, b.options = t, []postgres.Option{postgres.WithSchema(name)}
	var err error
	if e.Site != "" {
		layout, _ := e.layout()
		b.options = append(b.options, postgres.WithLayout(layout))
		if _, err := b.pool.adapter(b.options...); err != nil {
			return nil, err // before the name reaches SQL
		}
		if err := e.makeSite(t.Context(), name); err != nil {
			return nil, err
		}
	}
	if b.Adapter, err = b.pool.adapter(b.options...); err != nil {
		return nil, err
	}
	return &b, b.EnsureSchema(t.Context())
}

// place returns the table of a record and the condition that finds it.
func (e *Env) place(a adapter.Adapter, r adaptertest.Record) (table, condition string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		table, condition, args = "users", `id::text = $1`, []any{r.Key}
	case adaptertest.AccountRecord:
		table, condition, args = "accounts", `provider = $1 AND "providerAccountId" = $2`, []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		table, condition, args = "sessions", `"sessionToken" = $1`, []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		table, condition, args = "verification_token", `identifier = $1 AND token = $2`, []any{r.Token.Identifier, r.Token.Token}
	case adaptertest.AuthenticatorRecord:
		table, condition, args = "authenticators", `"credentialID" = $1`, []any{r.Key}
	}
	store := a.(*Handle).store
	if layout, _ := e.layout(); e.Site != "" {
		table = map[string]string{"users": layout.Users, "accounts": layout.Accounts, "sessions": layout.Sessions,
			"verification_token": layout.VerificationTokens, "authenticators": layout.Authenticators}[table]
	}
	name := pgx.Identifier{e.prefix(store) + table}
	if schema := e.schema(store); schema != "" {
		name = pgx.Identifier{schema, name[0]}
	}
	return name.Sanitize(), condition, args
}

func (e *Env) inspect(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (there bool, err error) {
	table, condition, args := e.place(a, r)
	err = e.Admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+" WHERE "+condition+")", args...).Scan(&there)
	return there, err
}

// corrupt stores "infinity", which PostgreSQL accepts as a timestamp and
// time.Time can't hold.
func (e *Env) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	column := map[adaptertest.Kind]string{
		adaptertest.UserRecord:              `"emailVerified"`,
		adaptertest.SessionRecord:           `expires`,
		adaptertest.VerificationTokenRecord: `expires`,
		adaptertest.AuthenticatorRecord:     `created`,
	}[r.Kind]
	if column == "" || e.AsTheyAre && column == "created" {
		return nil
	}
	table, condition, args := e.place(a, r)
	var before *string
	check(t, e.Admin.QueryRow(t.Context(), "SELECT "+column+"::text FROM "+table+" WHERE "+condition, args...).Scan(&before))
	set := func(value *string) {
		sql := fmt.Sprintf("UPDATE %s SET %s = $%d::text::timestamptz WHERE %s", table, column, len(args)+1, condition)
		must(e.Admin.Exec(t.Context(), sql, append(args[:len(args):len(args)], value)...))(t)
	}
	set(new("infinity"))
	return func() { set(before) }
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		check(t, err)
		return v
	}
}

// check fails the test on an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
