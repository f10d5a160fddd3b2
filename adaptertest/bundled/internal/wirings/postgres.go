package wirings

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// postgresWiring is one way to reach a PostgreSQL server.
type postgresWiring struct {
	name      string
	mode      pgx.QueryExecMode
	conns     int32 // connections in the pool
	pgbouncer bool
	schema    string // "" is the default one
	zone      string // of the session; "" is the server's
}

func postgresWirings() []Wiring {
	const plenty = 16
	var all []Wiring
	for _, w := range []postgresWiring{
		{name: "cached statements", mode: pgx.QueryExecModeCacheStatement, conns: plenty},
		{name: "exec mode", mode: pgx.QueryExecModeExec, conns: plenty},
		{name: "simple protocol", mode: pgx.QueryExecModeSimpleProtocol, conns: plenty},
		{name: "pool of one", mode: pgx.QueryExecModeCacheStatement, conns: 1},
		{name: "PgBouncer, transaction mode", mode: pgx.QueryExecModeExec, conns: plenty, pgbouncer: true},
		{name: "schema and table prefix", mode: pgx.QueryExecModeCacheStatement, conns: plenty, schema: "Sign in"},
		{name: "zone +14:00", mode: pgx.QueryExecModeCacheStatement, conns: plenty, zone: "Pacific/Kiritimati"},
	} {
		all = append(all, Wiring{Adapter: "postgres", Name: w.name, Needs: []stores.Kind{stores.KindPostgres, stores.KindPgBouncer}, open: w.open})
	}
	return all
}

// postgresHandle is an adapter with the pool under it.
type postgresHandle struct {
	*postgres.Adapter
	*link
	pool  *pgxpool.Pool
	store string // one of postgresStores
}

// postgresStores are what the names of tables start with in the two stores of a wiring.
var postgresStores = [2]string{"", "other_"}

// postgresHouse is a database of its own for one wiring, which is dropped when the wiring is closed.
type postgresHouse struct {
	postgresWiring
	url    string // of the database, as the wiring reaches it
	pooled string // the same through PgBouncer; "" if there is none
	admin  *pgxpool.Pool
}

func (w postgresWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	server, err := s.Postgres(ctx)
	if err != nil {
		return nil, err
	}
	pooler, err := s.PgBouncer(ctx)
	if err != nil && (w.pgbouncer || !errors.Is(err, stores.ErrUnavailable)) {
		return nil, err
	}
	name := "gatehouse_" + strings.ToLower(rand.Text())
	if err := onServer(ctx, server.URL, "CREATE DATABASE "+name); err != nil {
		return nil, fmt.Errorf("the account at PostgreSQL must be allowed to create databases: %w", err)
	}
	house := postgresHouse{postgresWiring: w}
	direct, err := withDatabase(server.URL, name)
	if err != nil {
		return nil, err
	}
	house.url = direct
	if pooler != nil {
		if house.pooled, err = withDatabase(pooler.URL, name); err != nil {
			return nil, err
		}
	}
	if house.admin, err = pgxpool.New(ctx, direct); err != nil {
		return nil, err
	}
	opened := &Opened{Server: server.Name, Version: server.Version, Store: server, Harness: house.harness()}
	opened.close = func(ctx context.Context) error {
		house.admin.Close()
		return onServer(ctx, server.URL, "DROP DATABASE "+name+" WITH (FORCE)")
	}
	if w.pgbouncer {
		house.url = house.pooled
		opened.Server, opened.Version, opened.Harness = pooler.Name, pooler.Version, house.harness()
	}
	for _, store := range postgresStores {
		a, err := postgres.New(house.admin, house.options(store)...)
		if err == nil {
			err = a.EnsureSchema(ctx)
		}
		if err != nil {
			return nil, errors.Join(err, opened.Close(ctx))
		}
	}
	return opened, nil
}

func (h *postgresHouse) options(store string) []postgres.Option {
	var opts []postgres.Option
	if h.schema != "" {
		opts = append(opts, postgres.WithSchema(h.schema))
	}
	if prefix := h.prefix(store); prefix != "" {
		opts = append(opts, postgres.WithPrefix(prefix))
	}
	return opts
}

// prefix is what the names of tables start with.
func (h *postgresHouse) prefix(store string) string {
	if h.schema == "" {
		return store
	}
	return "auth_" + store
}

// handle opens an adapter with a pool of its own.
func (h *postgresHouse) handle(t testing.TB, store, url string, mode pgx.QueryExecMode, conns int32) *postgresHandle {
	t.Helper()
	handle := &postgresHandle{store: store}
	handle.link = newLink(t, func(proxy *fault.Proxy) (func() error, error) {
		config, err := pgxpool.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		config.MaxConns = conns
		config.ConnConfig.DialFunc = proxy.DialContext
		config.ConnConfig.DefaultQueryExecMode = mode
		if h.zone != "" {
			config.ConnConfig.RuntimeParams["timezone"] = h.zone
		}
		handle.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(t.Context()), config)
		if err != nil {
			return nil, err
		}
		return func() error { handle.pool.Close(); return nil }, nil
	})
	a, err := postgres.New(handle.pool, h.options(store)...)
	if err != nil {
		t.Fatal(err)
	}
	handle.Adapter = a
	return handle
}

func (h *postgresHouse) harness() adaptertest.Harness {
	var opened atomic.Int64
	another := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return h.handle(t, a.(*postgresHandle).store, h.url, h.mode, h.conns)
	}
	harness := linked(adaptertest.Harness{
		New: func(t testing.TB) adapter.Adapter { // each over another store than the one before
			return h.handle(t, postgresStores[opened.Add(1)%2], h.url, h.mode, h.conns)
		},
		Second: another,
		Reopen: another,
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			of := a.(*postgresHandle)
			under, err := postgres.New(of.pool, postgres.WithSchema(name))
			if err != nil {
				return nil, err
			}
			if err := under.EnsureSchema(t.Context()); err != nil {
				return nil, err
			}
			return &postgresHandle{Adapter: under, link: of.link, pool: of.pool}, nil
		},
		Corrupt: h.corrupt,
		Inspect: h.inspect,
		Single:  func(t testing.TB) adapter.Adapter { return h.handle(t, "", h.url, h.mode, 1) },
		Limited: func(t testing.TB) adapter.Adapter { return h.handle(t, "", h.url, h.mode, 4) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error {
			return a.(*postgresHandle).pool.Ping(ctx)
		},
		InternalNames: []string{"users", "accounts", "sessions", "verification_token", "authenticators", "users_email_key"},
		Declarations:  adaptertest.Declarations{},
	})
	if h.pooled != "" {
		mode := pgx.QueryExecModeExec
		if h.mode == pgx.QueryExecModeSimpleProtocol {
			mode = h.mode
		}
		harness.Pooled = func(t testing.TB) adapter.Adapter { return h.handle(t, "", h.pooled, mode, h.conns) }
	}
	return harness
}

// table returns the table of a kind of record in the store of a, and the condition that finds the record by the arguments.
func (h *postgresHouse) table(a adapter.Adapter, r adaptertest.Record) (table, where string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		table, where, args = "users", `id::text = $1`, []any{r.Key}
	case adaptertest.AccountRecord:
		table, where, args = "accounts", `provider = $1 AND "providerAccountId" = $2`, []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		table, where, args = "sessions", `"sessionToken" = $1`, []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		table, where, args = "verification_token", `identifier = $1 AND token = $2`, []any{r.Token.Identifier, r.Token.Token}
	case adaptertest.AuthenticatorRecord:
		table, where, args = "authenticators", `"credentialID" = $1`, []any{r.Key}
	}
	name := pgx.Identifier{h.prefix(a.(*postgresHandle).store) + table}
	if h.schema != "" {
		name = pgx.Identifier{h.schema, name[0]}
	}
	return name.Sanitize(), where, args
}

func (h *postgresHouse) inspect(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (found bool, err error) {
	table, where, args := h.table(a, r)
	err = h.admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+table+" WHERE "+where+")", args...).Scan(&found)
	return found, err
}

// corrupt stores an instant that is none: "infinity" is a timestamp to PostgreSQL and no time.Time. Accounts and
// authenticators hold only types of which every value can be decoded.
func (h *postgresHouse) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	column := map[adaptertest.Kind]string{
		adaptertest.UserRecord:              `"emailVerified"`,
		adaptertest.SessionRecord:           `expires`,
		adaptertest.VerificationTokenRecord: `expires`,
	}[r.Kind]
	if column == "" {
		return nil
	}
	table, where, args := h.table(a, r)
	var before *string
	if err := h.admin.QueryRow(t.Context(), "SELECT "+column+"::text FROM "+table+" WHERE "+where, args...).Scan(&before); err != nil {
		t.Fatal(err)
	}
	set := func(value *string) {
		sql := fmt.Sprintf("UPDATE %s SET %s = $%d::text::timestamptz WHERE %s", table, column, len(args)+1, where)
		if _, err := h.admin.Exec(t.Context(), sql, append(args[:len(args):len(args)], value)...); err != nil {
			t.Fatal(err)
		}
	}
	set(new("infinity"))
	return func() { set(before) }
}

// onServer runs one statement on a connection of its own.
func onServer(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// withDatabase returns the URL with another database.
func withDatabase(rawURL, name string) (string, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", errors.New("the URL of PostgreSQL can't be parsed")
	}
	u.Path = "/" + name
	return u.String(), nil
}
