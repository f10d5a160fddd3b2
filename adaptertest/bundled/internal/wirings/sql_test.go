package wirings_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sqlDrivers are the drivers of database/sql. A later call of a method takes trips round
// trips, and a method whose two statements are no batch there takes inTurn.
var sqlDrivers = []struct {
	name          string
	driver        postgrestest.Driver
	trips, inTurn int64
}{
	{"stdlib", postgrestest.Stdlib, 1, 1},
	{"wrapped", postgrestest.Wrapped, 1, 4},
	{"pq", wirings.PQ(false), 2, 6},
	{"pq_binary", wirings.PQ(true), 1, 4},
}

// openSQL makes a database that is dropped at the end of the test.
func openSQL(t testing.TB, server *stores.Store, driver postgrestest.Driver) *postgrestest.Env {
	t.Helper()
	env := must(postgrestest.Open(t.Context(), postgrestest.Settings{URL: server.URL, Driver: driver}))(t)
	t.Cleanup(func() { assert.NoError(t, env.Close(context.WithoutCancel(t.Context()))) })
	return env
}

func newestPostgres(t testing.TB) *stores.Store {
	t.Helper()
	return wiringstest.Server(t, stores.Options{}, stores.KindPostgres)
}

// eachSQLDriver runs a test with each driver, in a database of its own.
func eachSQLDriver(t *testing.T, test func(t *testing.T, driver string, h *postgrestest.Handle)) {
	t.Helper()
	server := newestPostgres(t)
	for _, d := range sqlDrivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d.name, openSQL(t, server, d.driver).BenchHarness().New(t).(*postgrestest.Handle))
		})
	}
}

// TestSQLRoundTrips counts the round trips of later calls with each driver.
func TestSQLRoundTrips(t *testing.T) {
	server := newestPostgres(t)
	for _, d := range sqlDrivers {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			h := openSQL(t, server, d.driver).BenchHarness()
			for method, trips := range bench.RoundTrips(t, h) {
				assert.Equalf(t, d.trips, trips.Later,
					"%s: a later call takes %d round trips, want %d", method, trips.Later, d.trips)
				assert.LessOrEqualf(t, trips.First, 4*d.trips+3, "%s: round trips of the first call", method)
			}
			a := h.Second(t, h.New(t)).(*postgrestest.Handle)
			for round := range 3 { // the first two compare the tables and prepare the statements
				for method, trips := range optionalTrips(t, a, h.Faults(a)) {
					want := d.trips
					if method == "DeleteAuthenticator" || method == "DeletePassword" {
						want = d.inTurn
					}
					assert.Falsef(t, round == 2 && trips != want, "%s takes %d round trips, want %d", method, trips, want)
				}
			}
		})
	}
}

// optionalTrips returns how many round trips each method of an optional interface takes that
// finds its record.
func optionalTrips(t *testing.T, store *postgrestest.Handle, proxy fault.Control) map[string]int64 {
	t.Helper()
	ctx, key := t.Context(), rand.Text()
	trips := map[string]int64{}
	count := func(method string, err error) {
		t.Helper()
		require.NoError(t, err, method)
		trips[method] = proxy.Steps() - trips["all"]
		trips["all"] = proxy.Steps()
	}
	account := adapter.Account{Provider: "p", ProviderAccountID: key, Type: "webauthn"}
	count("first", nil)
	user, err := store.CreateUserWithAccount(ctx, adapter.User{Email: key + "@example.com"}, account, &adapter.Authenticator{CredentialID: key, ProviderAccountID: key})
	count("CreateUserWithAccount", err)
	_, err = store.ListAccountsByUserID(ctx, user.ID)
	count("ListAccountsByUserID", err)
	_, err = store.CreateSession(ctx, adapter.Session{SessionToken: key, UserID: user.ID, Expires: time.Now()})
	count("CreateSession", err)
	_, err = store.ListSessionsByUserID(ctx, user.ID)
	count("ListSessionsByUserID", err)
	_, err = store.DeleteSessionsByUserID(ctx, user.ID, "")
	count("DeleteSessionsByUserID", err)
	_, err = store.RenameAuthenticator(ctx, user.ID, key, "key")
	count("RenameAuthenticator", err)
	_, err = store.DeleteAuthenticator(ctx, user.ID, key, false)
	count("DeleteAuthenticator", err)
	_, err = store.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
	count("SetPassword", err)
	_, err = store.GetPassword(ctx, user.ID)
	count("GetPassword", err)
	_, err = store.DeletePassword(ctx, user.ID, false)
	count("DeletePassword", err)
	delete(trips, "first")
	delete(trips, "all")
	return trips
}

// BenchmarkSQL compares the adapter with hand-written code over the same driver.
func BenchmarkSQL(b *testing.B) {
	server := newestPostgres(b)
	for _, d := range sqlDrivers {
		b.Run(d.name, func(b *testing.B) {
			bench.Run(b, openSQL(b, server, d.driver).BenchHarness(), func(_ testing.TB, a adapter.Adapter) any {
				return a.(*postgrestest.Handle).Baseline()
			})
		})
	}
}

// TestSQLTransaction: calls in a transaction of the application take part in it. A refused
// call leaves it usable.
func TestSQLTransaction(t *testing.T) {
	eachSQLDriver(t, func(t *testing.T, _ string, h *postgrestest.Handle) {
		tx := must(h.SQL().BeginTx(t.Context(), nil))(t)
		user := useInside(t, h.OnSQL(tx))
		got, err := h.GetUser(t.Context(), user.ID)
		assert.Truef(t, got == nil && err == nil, "before the commit: got %v, %v, want no user", got, err)
		require.NoError(t, tx.Commit())
		got, err = h.GetUser(t.Context(), user.ID)
		assert.Truef(t, got != nil && err == nil, "after the commit: got %v, %v, want the user", got, err)
		undone := inTransaction(t, h.SQL(), func(tx *sql.Tx) *adapter.User {
			return must(h.OnSQL(tx).CreateUser(t.Context(), adapter.User{Email: "undone@example.com"}))(t)
		})
		got, err = h.GetUser(t.Context(), undone.ID)
		assert.Truef(t, got == nil && err == nil, "after a roll-back: got %v, %v, want no user", got, err)
		assert.ErrorContains(t, h.OnSQL(tx).EnsureSchema(t.Context()), "can't run in a transaction")
	})
}

// useInside makes refused and other calls on an adapter of a transaction. It returns a user
// who has one passkey.
func useInside(t *testing.T, a *postgres.Adapter) *adapter.User {
	t.Helper()
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{Email: "ada@example.com"}))(t)
	other := must(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"}))(t)
	_, err := a.CreateUser(ctx, adapter.User{Email: "ada@example.com"})
	assert.ErrorIs(t, err, adapter.ErrConflict, "a taken address")
	_, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: other.ID, Email: adapter.To("ada@example.com")})
	assert.ErrorIs(t, err, adapter.ErrConflict, "an update to a taken address")
	_, err = a.CreateSession(ctx, adapter.Session{SessionToken: "t", UserID: "nobody", Expires: time.Now()})
	assert.ErrorIs(t, err, adapter.ErrNotFound, "an absent owner")
	for _, id := range []string{"one", "two"} {
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: id, ProviderAccountID: id}))(t)
	}
	gone, err := a.DeleteAuthenticator(ctx, user.ID, "one", true)
	assert.Truef(t, gone != nil && err == nil, "the first passkey: got %v, %v", gone, err)
	_, err = a.DeleteAuthenticator(ctx, user.ID, "two", true)
	assert.ErrorIs(t, err, adapter.ErrLastCredential, "the last passkey")
	return user
}

// inTransaction runs f in a transaction that is rolled back.
func inTransaction(t *testing.T, db *sql.DB, f func(*sql.Tx) *adapter.User) *adapter.User {
	t.Helper()
	tx := must(db.BeginTx(t.Context(), nil))(t)
	defer func() { _ = tx.Rollback() }()
	return f(tx)
}

// TestSQLConn: an adapter on a *sql.Conn works, and does not end a transaction that the
// application has begun on it.
func TestSQLConn(t *testing.T) {
	eachSQLDriver(t, func(t *testing.T, driver string, h *postgrestest.Handle) {
		conn := must(h.SQL().Conn(t.Context()))(t)
		defer func() { _ = conn.Close() }()
		a := must(postgres.NewSQL(conn, h.Options()...))(t)
		require.NoError(t, a.EnsureSchema(t.Context()))
		user := useInside(t, a)
		tx := must(conn.BeginTx(t.Context(), nil))(t)
		_, inside := a.DeleteAuthenticator(t.Context(), user.ID, "two", false)
		require.NoError(t, tx.Rollback())
		assert.Falsef(t, driver == "stdlib" && (inside == nil || !strings.Contains(inside.Error(), "OnSQL")),
			"in a transaction: got %v, want advice", inside)
		got, err := a.GetAuthenticator(t.Context(), "two")
		assert.Truef(t, got != nil && err == nil, "after the application's roll-back: got %v, %v, want the passkey", got, err)
	})
}

// TestSQLEncoding: texts that the server would take for another encoding are refused, or the
// setting is changed for the call.
func TestSQLEncoding(t *testing.T) {
	eachSQLDriver(t, func(t *testing.T, _ string, h *postgrestest.Handle) {
		inTransaction(t, h.SQL(), func(tx *sql.Tx) *adapter.User {
			must(tx.ExecContext(t.Context(), "SET LOCAL client_encoding = LATIN1"))(t)
			user, err := h.OnSQL(tx).CreateUser(t.Context(), adapter.User{Email: "zoë@example.com"})
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "client_encoding is LATIN1"),
				"got %v, %v, want an error that names the setting", user, err)
			return nil
		})
	})
}

// TestSQLInstants: instants come back, whatever the application sets after the first call.
func TestSQLInstants(t *testing.T) {
	day := func(year int) time.Time { return time.Date(year, 12, 31, 23, 59, 59, 999_999_000, time.UTC) }
	eachSQLDriver(t, func(t *testing.T, _ string, h *postgrestest.Handle) {
		inTransaction(t, h.SQL(), func(tx *sql.Tx) *adapter.User {
			a := h.OnSQL(tx)
			for n, style := range []string{"ISO, DMY", "German", "SQL, DMY", "Postgres, MDY"} {
				set := "SET LOCAL DateStyle = " + style + "; SET LOCAL bytea_output = escape; SET LOCAL TimeZone = 'America/St_Johns'"
				must(tx.ExecContext(t.Context(), set))(t)
				for _, at := range []time.Time{{}, day(1969), day(1999), day(2026), day(9999)} {
					made := adapter.User{Email: fmt.Sprint(n, at.Year(), "@example.com"), EmailVerified: &at}
					user, err := a.CreateUser(t.Context(), made)
					require.Truef(t, err == nil && user.EmailVerified.Equal(at),
						"%s: CreateUser: got %v, error %v, want %v", style, user, err, at)
					if user, err = a.GetUser(t.Context(), user.ID); err != nil || !user.EmailVerified.Equal(at) {
						t.Fatalf("%s: GetUser: got %v, error %v, want %v", style, user, err, at)
					}
				}
			}
			return nil
		})
	})
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
