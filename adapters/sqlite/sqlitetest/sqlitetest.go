// Package sqlitetest opens SQLite adapters for the tests of this module and of all
// bundled adapters. The package promises nothing: it changes in any version, as the
// tests need.
package sqlitetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Settings has the driver and the settings with which a test opens a file.
type Settings struct {
	Driver driver.Driver
	// Parameters are the query of the data source name.
	Parameters string
	// Conns is the largest number of connections in a pool.
	Conns int
	// Site is a product whose tables are served with WithLayout: "Prisma", "Drizzle" or
	// none. The tables get what SchemaChanges returns, unless AsTheyAre is set.
	Site      string
	AsTheyAre bool
}

// Handle is an adapter over a file, through a driver that can inject faults.
type Handle struct {
	*sqlite.Adapter
	DB     *sql.DB
	Faults *fault.Driver
	path   string
	close  func() error // once
}

// connector returns the connector for the file at path.
func (s Settings) connector(path string) (driver.Connector, error) {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: s.Parameters}
	return fault.Connector(s.Driver, file.String())
}

// Version is the version of SQLite.
func (s Settings) Version(ctx context.Context) (version string, err error) {
	connector, err := fault.Connector(s.Driver, "file::memory:")
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	err = db.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version)
	return version, errors.Join(err, db.Close())
}

// Open opens the file at path, with the schema in it, until the end of the test.
func (s Settings) Open(t testing.TB, path string, options ...sqlite.Option) *Handle {
	t.Helper()
	h := s.plain(t, path, append(s.options(""), options...)...)
	if err := h.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

// plain opens the file at path until the end of the test.
func (s Settings) plain(t testing.TB, path string, options ...sqlite.Option) *Handle {
	t.Helper()
	connector, err := s.connector(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &Handle{path: path, Faults: fault.NewDriver(connector)}
	h.DB = sql.OpenDB(h.Faults)
	h.DB.SetMaxOpenConns(s.Conns)
	h.DB.SetMaxIdleConns(s.Conns)
	h.close = sync.OnceValue(h.DB.Close)
	t.Cleanup(func() {
		h.Faults.Heal()
		_ = h.close()
	})
	if h.Adapter, err = sqlite.New(h.DB, options...); err != nil {
		t.Fatal(err)
	}
	return h
}

// fresh opens a new file.
func (s Settings) fresh(t testing.TB) *Handle {
	path := filepath.Join(t.TempDir(), "gatehouse.db")
	if s.Site != "" {
		if err := s.makeSite(t.Context(), path, ""); err != nil {
			t.Fatal(err)
		}
	}
	return s.Open(t, path)
}

// limited opens a new file with conns connections at most.
func (s Settings) limited(conns int) func(t testing.TB) adapter.Adapter {
	s.Conns = min(s.Conns, conns)
	return func(t testing.TB) adapter.Adapter { return s.fresh(t) }
}

// Harness opens adapters over temporary files of the test.
func (s Settings) Harness() adaptertest.Harness {
	again := func(t testing.TB, a adapter.Adapter) adapter.Adapter { return s.Open(t, a.(*Handle).path) }
	h := adaptertest.Harness{
		Name:         "sqlite",
		Declarations: adaptertest.Declarations{Timeless: true, NoPooler: "a file has no pooler"},
		New:          func(t testing.TB) adapter.Adapter { return s.fresh(t) },
		Second:       again,
		Reopen:       again,
		Close:        func(a adapter.Adapter) error { return a.(*Handle).close() },
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			of := *a.(*Handle)
			var err error
			if of.Adapter, err = sqlite.New(of.DB, append(s.options(""), sqlite.WithPrefix(name))...); err != nil {
				return nil, err
			}
			if s.Site != "" {
				if err := s.makeSite(t.Context(), of.path, name); err != nil {
					return nil, err
				}
			}
			return &of, of.EnsureSchema(t.Context())
		},
		Parallel:    8,
		Faults:      func(a adapter.Adapter) fault.Control { return a.(*Handle).Faults },
		Connections: func(a adapter.Adapter) int { return a.(*Handle).Faults.Stats().Open },
		Corrupt:     s.corrupt,
		Inspect:     s.inspect,
		Single:      s.limited(1),
		Limited:     s.limited(4),
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*Handle).DB.PingContext(ctx) },
		InternalNames: []string{"user", "account", "session", "verificationToken", "authenticator", "passwords", "gatehouse_schema",
			"user_email_key", "session_userId_idx", "user_delete_trg", "sqlite_master", "sqlite_schema"},
	}
	s.siteFields(&h)
	if s.AsTheyAre {
		h.Declarations.Lacks, h.Waivers = lacking, waivers(s.Site)
	}
	return h
}

// place returns the table of a record and the condition that finds it. SQLite compares
// names without case, so the names of Prisma and Drizzle are the same.
func place(r adaptertest.Record) (table, condition string, args []any) {
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

// behind runs do on the file without using the adapter.
func (s Settings) behind(a adapter.Adapter, do func(db *sql.DB) error) error {
	return s.onFile(a.(*Handle).path, do)
}

// onFile runs do on a file.
func (s Settings) onFile(path string, do func(db *sql.DB) error) error {
	connector, err := s.connector(path)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	return errors.Join(do(db), db.Close())
}

func (s Settings) inspect(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (found bool, err error) {
	table, condition, args := place(r)
	err = s.behind(a, func(db *sql.DB) error {
		return db.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+table+" WHERE "+condition+")", args...).Scan(&found)
	})
	return found, err
}

// corrupt stores values that the tables accept and the adapter cannot read: an
// instant out of range, text that is not JSON, the boolean 7.
func (s Settings) corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	t.Helper()
	column, value := "expires", any(int64(1)<<62)
	switch r.Kind {
	case adaptertest.UserRecord:
		column = "emailVerified"
	case adaptertest.AccountRecord:
		if s.AsTheyAre {
			return nil
		}
		column, value = "authorization_details", "[{"
	case adaptertest.AuthenticatorRecord:
		column, value = "credentialBackedUp", 7
	}
	table, condition, args := place(r)
	var before any
	set := func(value any) error {
		return s.behind(a, func(db *sql.DB) error {
			_, err := db.ExecContext(t.Context(), "UPDATE "+table+" SET "+column+" = ? WHERE "+condition, append([]any{value}, args...)...)
			return err
		})
	}
	err := s.behind(a, func(db *sql.DB) error {
		return db.QueryRowContext(t.Context(), "SELECT "+column+" FROM "+table+" WHERE "+condition, args...).Scan(&before)
	})
	if err := errors.Join(err, set(value)); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := set(before); err != nil {
			t.Fatal(err)
		}
	}
}
