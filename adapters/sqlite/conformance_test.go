package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestConformance(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) { adaptertest.Run(t, w.harness()) })
}

// handle is an adapter with what the harness does behind it.
type handle struct {
	*sqlite.Adapter
	path   string
	db     *sql.DB
	faults *fault.Driver
}

// handle opens an adapter over the file at path.
func (w wiring) handle(t testing.TB, path string, options ...sqlite.Option) *handle {
	t.Helper()
	h, err := w.tryHandle(t, path, options...)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (w wiring) tryHandle(t testing.TB, path string, options ...sqlite.Option) (*handle, error) {
	t.Helper()
	db, faults := w.watched(t, path)
	a, err := sqlite.New(db, options...)
	if err != nil {
		return nil, err
	}
	return &handle{a, path, db, faults}, a.EnsureSchema(t.Context())
}

func (w wiring) harness() adaptertest.Harness {
	open := func(connections int) func(testing.TB) adapter.Adapter {
		return func(t testing.TB) adapter.Adapter {
			h := w.handle(t, filepath.Join(t.TempDir(), "test.db"))
			h.db.SetMaxOpenConns(connections)
			return h
		}
	}
	newEachTime := func(t testing.TB) adapter.Adapter {
		h := w.handle(t, filepath.Join(t.TempDir(), "test.db"))
		h.db.SetMaxIdleConns(-1) // every statement opens a connection
		return h
	}
	again := func(t testing.TB, a adapter.Adapter) adapter.Adapter {
		return w.handle(t, a.(*handle).path)
	}
	return adaptertest.Harness{
		Declarations: adaptertest.Declarations{Timeless: true},
		Name:         "sqlite (" + w.name + ")",
		New:          open(8),
		Second:       again,
		Close:        func(a adapter.Adapter) error { return a.(*handle).db.Close() },
		Reopen:       again,
		Single:       open(1),
		Limited:      open(4),
		Pooled:       newEachTime,
		Namespace: func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			h, err := w.tryHandle(t, a.(*handle).path, sqlite.WithPrefix(name))
			if err != nil {
				return nil, err
			}
			return h, nil
		},
		Faults:  func(a adapter.Adapter) fault.Control { return a.(*handle).faults },
		Corrupt: corrupt,
		Inspect: func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (found bool, err error) {
			table, key, args := locate(r)
			err = a.(*handle).db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+table+` WHERE `+key+`)`, args...).Scan(&found)
			return found, err
		},
		Connections: func(a adapter.Adapter) int { return a.(*handle).faults.Stats().Open },
		CheckHandle: func(ctx context.Context, a adapter.Adapter) error { return a.(*handle).db.PingContext(ctx) },
		InternalNames: []string{
			"user", "account", "session", "verificationToken", "authenticator",
			"user_email_idx", "session_userId_idx", "user_delete_trg", "sqlite_master", "sqlite_schema",
		},
	}
}

// locate returns the table of a record and what finds it there.
func locate(r adaptertest.Record) (table, key string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		return `"user"`, `id = ?`, []any{r.Key}
	case adaptertest.AccountRecord:
		return `"account"`, `provider = ? AND providerAccountId = ?`, []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		return `"session"`, `sessionToken = ?`, []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		return `"verificationToken"`, `identifier = ? AND token = ?`, []any{r.Token.Identifier, r.Token.Token}
	default:
		return `"authenticator"`, `credentialID = ?`, []any{r.Key}
	}
}

// corrupt puts a value into the record that the tables take and nothing can be
// made of.
func corrupt(t testing.TB, a adapter.Adapter, r adaptertest.Record) (repair func()) {
	column, value := "expires", any(int64(1)<<62)
	switch r.Kind {
	case adaptertest.UserRecord:
		column = "emailVerified"
	case adaptertest.AccountRecord:
		column, value = "authorization_details", "[{"
	case adaptertest.AuthenticatorRecord:
		column, value = "credentialBackedUp", 7
	}
	table, key, args := locate(r)
	db := a.(*handle).db
	set := func(value any) {
		run(t, db, `UPDATE `+table+` SET `+column+` = ? WHERE `+key, append([]any{value}, args...)...)
	}
	var before any
	if err := db.QueryRowContext(t.Context(), `SELECT `+column+` FROM `+table+` WHERE `+key, args...).Scan(&before); err != nil {
		t.Fatal(err)
	}
	set(value)
	return func() { set(before) }
}
