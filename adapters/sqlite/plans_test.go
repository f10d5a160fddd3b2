package sqlite_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoScans reads SQLite's plan of every statement that a method sends or the
// trigger contains. The tables, our own and those of Drizzle, hold 100,000 records of
// each kind, and ANALYZE has run. No statement reads a whole table or index.
func TestNoScans(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, w wiring) *sql.DB{
		"our tables": func(t *testing.T, w wiring) *sql.DB {
			_, db := w.newAdapter(t)
			return db
		},
		"tables of Drizzle": func(t *testing.T, w wiring) *sql.DB {
			db, _ := drizzleDatabase(t, w)
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := open(t, wirings[0])
			a := newAdapter(t, db)
			records := 100_000
			if testing.Short() {
				records = 10_000
			}
			fillRecords(t, db, records)
			run(t, db, `ANALYZE`)
			callEveryMethod(t, a, int64(records))
			statements := a.Statements()
			assert.Truef(t, len(statements) >= 33, "only %d statements are known", len(statements))
			for _, statement := range statements {
				for _, step := range plan(t, db, statement) {
					assert.Falsef(t, strings.HasPrefix(step, "SCAN") && step != "SCAN CONSTANT ROW" || strings.Contains(step, "TEMP B-TREE"),
						"%s: %s", statement, step)
				}
			}
		})
	}
}

// plan returns the steps by which SQLite runs a statement.
func plan(t *testing.T, db *sql.DB, statement string) (steps []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, make([]any, strings.Count(statement, "?"))...)
	require.NoError(t, err, statement)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// fillRecords makes users with one record of each kind. One in twenty records has
// expired.
func fillRecords(t *testing.T, db *sql.DB, records int) {
	t.Helper()
	for _, insert := range []string{
		`INSERT INTO user (id, name, email) SELECT 'u' || n, 'User', n || '@example.com' FROM n`,
		`INSERT INTO account (userId, type, provider, providerAccountId) SELECT 'u' || n, 'oidc', 'p', n FROM n`,
		`INSERT INTO session (sessionToken, userId, expires) SELECT 's' || n, 'u' || n, iif(n % 20 = 19, n, 4102444800000 + n) FROM n`,
		`INSERT INTO verificationToken (identifier, token, expires) SELECT n, n, iif(n % 20 = 19, n, 4102444800000 + n) FROM n`,
		`INSERT INTO authenticator (credentialID, userId, providerAccountId, credentialPublicKey, counter, credentialDeviceType, credentialBackedUp)
			SELECT n, 'u' || n, n, 'key', 0, 'singleDevice', 0 FROM n`,
	} {
		run(t, db, `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?) `+insert, records)
	}
}

// callEveryMethod calls every method of the adapter for user 1 of fillRecords. The
// argument records is the number of records that fillRecords made.
func callEveryMethod(t *testing.T, a *sqlite.Adapter, records int64) {
	t.Helper()
	ctx, at := t.Context(), time.Now().Add(time.Hour)
	key := adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}
	found := func(what string, there bool, err error) {
		t.Helper()
		assert.Truef(t, err == nil && there, "%s: found: %v, %v", what, there, err)
	}
	user, err := a.GetUser(ctx, "u1")
	found("GetUser", user != nil, err)
	user, err = a.GetUserByEmail(ctx, "1@example.com")
	found("GetUserByEmail", user != nil, err)
	user, err = a.GetUserByAccount(ctx, key)
	found("GetUserByAccount", user != nil, err)
	account, err := a.GetAccount(ctx, "1", "p")
	found("GetAccount", account != nil, err)
	both, err := a.GetSessionAndUser(ctx, "s1")
	found("GetSessionAndUser", both != nil, err)
	authenticator, err := a.GetAuthenticator(ctx, "1")
	found("GetAuthenticator", authenticator != nil, err)
	accounts, err := a.ListAccountsByUserID(ctx, "u1")
	found("ListAccountsByUserID", len(accounts) == 1, err)
	sessions, err := a.ListSessionsByUserID(ctx, "u1")
	found("ListSessionsByUserID", len(sessions) == 1, err)
	authenticators, err := a.ListAuthenticatorsByUserID(ctx, "u1")
	found("ListAuthenticatorsByUserID", len(authenticators) == 1, err)
	user, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: "u1", Name: adapter.To(new("x")), Email: adapter.To("new@example.com"),
		EmailVerified: adapter.To(&at), Image: adapter.To(new("x"))})
	found("UpdateUser", user != nil, err)
	account, err = a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("x"))})
	found("UpdateAccount", account != nil, err)
	session, err := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s1", UserID: adapter.To("u2"), Expires: adapter.To(at)})
	found("UpdateSession", session != nil, err)
	authenticator, err = a.UpdateAuthenticatorCounter(ctx, "1", 1)
	found("UpdateAuthenticatorCounter", authenticator != nil, err)
	authenticator, err = a.TouchAuthenticator(ctx, "1", 1, 2, at)
	found("TouchAuthenticator", authenticator != nil, err)
	authenticator, err = a.RenameAuthenticator(ctx, "u1", "1", "x")
	found("RenameAuthenticator", authenticator != nil, err)
	user, err = a.CreateUser(ctx, adapter.User{})
	found("CreateUser", user != nil, err)
	user, err = a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "new", ProviderAccountID: "1"}, &adapter.Authenticator{CredentialID: "new"})
	found("CreateUserWithAccount", user != nil, err)
	session, err = a.CreateSession(ctx, adapter.Session{SessionToken: "new", UserID: "u1", Expires: at})
	found("CreateSession", session != nil, err)
	token, err := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "new", Token: "new", Expires: at})
	found("CreateVerificationToken", token != nil, err)
	token, err = a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "1", Token: "1"})
	found("UseVerificationToken", token != nil, err)
	n, err := a.DeleteVerificationTokens(ctx, "2")
	found("DeleteVerificationTokens", n == 1, err)
	authenticator, err = a.DeleteAuthenticator(ctx, "u1", "1", true)
	found("DeleteAuthenticator", authenticator != nil, err)
	account, err = a.UnlinkAccount(ctx, key)
	found("UnlinkAccount", account != nil, err)
	session, err = a.DeleteSession(ctx, "s2")
	found("DeleteSession", session != nil, err)
	n, err = a.DeleteSessionsByUserID(ctx, "u1", "other")
	found("DeleteSessionsByUserID", n == 1, err)
	user, err = a.DeleteUser(ctx, "u1")
	found("DeleteUser", user != nil, err)
	swept, err := a.DeleteExpired(ctx, time.Now())
	found("DeleteExpired", swept.Sessions == records/20 && swept.VerificationTokens == records/20, err)
}
