package wirings

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	ncruces "github.com/ncruces/go-sqlite3/driver"
	modernc "modernc.org/sqlite"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// sqliteWiring is one driver, with the settings that the adapter's README recommends for it.
type sqliteWiring struct {
	name     string
	driver   driver.Driver
	settings string // the query of the data source name
	conns    int
}

func sqliteWirings() []Wiring {
	const (
		plenty          = 8
		moderncSettings = "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"
		ncrucesSettings = "_pragma=busy_timeout(5000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=foreign_keys(on)&_txlock=immediate"
	)
	var all []Wiring
	for _, w := range []sqliteWiring{
		{name: "modernc", driver: &modernc.Driver{}, settings: moderncSettings, conns: plenty},
		{name: "ncruces", driver: &ncruces.SQLite{}, settings: ncrucesSettings, conns: plenty},
		{name: "pool of one", driver: &modernc.Driver{}, settings: moderncSettings, conns: 1},
	} {
		all = append(all, Wiring{Adapter: "sqlite", Name: w.name, open: w.open})
	}
	return all
}

// sqliteHandle is an adapter with its database, behind a driver that brings about faults.
type sqliteHandle struct {
	*sqlite.Adapter
	path   string
	db     *sql.DB
	faults *fault.Driver
	close  func() error
}

func (w sqliteWiring) open(ctx context.Context, _ *stores.Stores) (*Opened, error) {
	memory, err := fault.Connector(w.driver, "file::memory:")
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(memory)
	var version string
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	if err := errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	return &Opened{Server: "SQLite", Version: version, Harness: w.harness()}, nil
}

// connector names a file the way the wiring opens it.
func (w sqliteWiring) connector(path string) (driver.Connector, error) {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: w.settings}
	return fault.Connector(w.driver, file.String())
}

// handle opens the file at path.
func (w sqliteWiring) handle(t testing.TB, path string, conns int) *sqliteHandle {
	t.Helper()
	connector, err := w.connector(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &sqliteHandle{path: path, faults: fault.NewDriver(connector)}
	h.db = sql.OpenDB(h.faults)
	h.db.SetMaxOpenConns(conns)
	h.db.SetMaxIdleConns(conns)
	h.close = sync.OnceValue(h.db.Close)
	t.Cleanup(func() {
		h.faults.Heal()
		_ = h.close()
	})
	if h.Adapter, err = sqlite.New(h.db); err != nil {
		t.Fatal(err)
	}
	return h
}

// fresh opens a new file with the schema in it.
func (w sqliteWiring) fresh(t testing.TB, conns int) adapter.Adapter {
	t.Helper()
	h := w.handle(t, filepath.Join(t.TempDir(), "gatehouse.db"), conns)
	if err := h.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func (w sqliteWiring) harness() adaptertest.Harness {
	again := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return w.handle(t, a.(*sqliteHandle).path, w.conns)
	}
	return adaptertest.Harness{
		Declarations: adaptertest.Declarations{Timeless: true, NoPooler: "a file has no pooler"},
		New:          func(t testing.TB) adapter.Adapter { return w.fresh(t, w.conns) },
		Second:       again,
		Reopen:       again,
		Close:        func(a adapter.Adapter) error { return a.(*sqliteHandle).close() },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			of := *a.(*sqliteHandle)
			under, err := sqlite.New(of.db, sqlite.WithPrefix(name))
			if err != nil {
				return nil, err
			}
			if err := under.EnsureSchema(t.Context()); err != nil {
				return nil, err
			}
			of.Adapter = under
			return &of, nil
		},
		Faults:      func(a adapter.Adapter) fault.Control { return a.(*sqliteHandle).faults },
		Connections: func(a adapter.Adapter) int { return a.(*sqliteHandle).faults.Stats().Open },
		Corrupt:     w.corrupt,
		Inspect:     w.inspect,
		Single:      func(t testing.TB) adapter.Adapter { return w.fresh(t, 1) },
		Limited:     func(t testing.TB) adapter.Adapter { return w.fresh(t, 4) },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error {
			return a.(*sqliteHandle).db.PingContext(ctx)
		},
		InternalNames: []string{"user", "account", "session", "verificationToken", "authenticator", "user_email_idx"},
	}
}

// sqliteTable returns the table of a kind of record, and the condition that finds the record by the arguments.
func sqliteTable(r adaptertest.Record) (table, where string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		return `"user"`, "id = ?", []any{r.Key}
	case adaptertest.AccountRecord:
		return `"account"`, "provider = ? AND providerAccountId = ?", []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		return `"session"`, "sessionToken = ?", []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		return `"verificationToken"`, "identifier = ? AND token = ?", []any{r.Token.Identifier, r.Token.Token}
	default:
		return `"authenticator"`, "credentialID = ?", []any{r.Key}
	}
}

// behind runs do on the file, beside the adapter.
func (w sqliteWiring) behind(path string, do func(db *sql.DB) error) error {
	connector, err := w.connector(path)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	return errors.Join(do(db), db.Close())
}

func (w sqliteWiring) inspect(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (found bool, err error) {
	table, where, args := sqliteTable(r)
	err = w.behind(a.(*sqliteHandle).path, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+" WHERE "+where+")", args...).Scan(&found)
	})
	return found, err
}

// corrupt stores an instant beyond what the adapter can represent, text that is no JSON, or a truth value that is none.
func (w sqliteWiring) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	const beyond = int64(1) << 62
	damage, ok := map[adaptertest.Kind]struct {
		column string
		value  any
	}{
		adaptertest.UserRecord:              {"emailVerified", beyond},
		adaptertest.AccountRecord:           {"authorization_details", "{"},
		adaptertest.SessionRecord:           {"expires", beyond},
		adaptertest.VerificationTokenRecord: {"expires", beyond},
		adaptertest.AuthenticatorRecord:     {"credentialBackedUp", 7},
	}[r.Kind]
	if !ok {
		t.Fatalf("no record is a %s", r.Kind)
	}
	table, where, args := sqliteTable(r)
	path := a.(*sqliteHandle).path
	set := func(value any) {
		t.Helper()
		err := w.behind(path, func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET "+damage.column+" = ? WHERE "+where, append([]any{value}, args...)...)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var before any
	err := w.behind(path, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), "SELECT "+damage.column+" FROM "+table+" WHERE "+where, args...).Scan(&before)
	})
	if err != nil {
		t.Fatal(err)
	}
	set(damage.value)
	return func() { set(before) }
}
