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
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return steps
}

// fillRecords makes users with one record of each kind. One in twenty records has
// expired.
func fillRecords(t *testing.T, db sqlite.DB, records int) {
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
	assert.NotNil(t, must(a.GetUser(ctx, "u1"))(t), "GetUser")
	assert.NotNil(t, must(a.GetUserByEmail(ctx, "1@example.com"))(t), "GetUserByEmail")
	assert.NotNil(t, must(a.GetUserByAccount(ctx, key))(t), "GetUserByAccount")
	assert.NotNil(t, must(a.GetAccount(ctx, "1", "p"))(t), "GetAccount")
	assert.NotNil(t, must(a.GetSessionAndUser(ctx, "s1"))(t), "GetSessionAndUser")
	assert.NotNil(t, must(a.GetAuthenticator(ctx, "1"))(t), "GetAuthenticator")
	assert.Len(t, must(a.ListAccountsByUserID(ctx, "u1"))(t), 1, "ListAccountsByUserID")
	assert.Len(t, must(a.ListSessionsByUserID(ctx, "u1"))(t), 1, "ListSessionsByUserID")
	assert.Len(t, must(a.ListAuthenticatorsByUserID(ctx, "u1"))(t), 1, "ListAuthenticatorsByUserID")
	assert.NotNil(t, must(a.UpdateUser(ctx, adapter.UserUpdate{ID: "u1", Name: adapter.To(new("x")),
		Email: adapter.To("new@example.com"), EmailVerified: adapter.To(&at), Image: adapter.To(new("x"))}))(t), "UpdateUser")
	assert.NotNil(t, must(a.UpdateAccount(ctx,
		adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("x"))}))(t), "UpdateAccount")
	assert.NotNil(t, must(a.UpdateSession(ctx,
		adapter.SessionUpdate{SessionToken: "s1", UserID: adapter.To("u2"), Expires: adapter.To(at)}))(t), "UpdateSession")
	assert.NotNil(t, must(a.UpdateAuthenticatorCounter(ctx, "1", 1))(t), "UpdateAuthenticatorCounter")
	assert.NotNil(t, must(a.TouchAuthenticator(ctx, "1", 1, 2, at))(t), "TouchAuthenticator")
	assert.NotNil(t, must(a.RenameAuthenticator(ctx, "u1", "1", "x"))(t), "RenameAuthenticator")
	assert.NotNil(t, must(a.CreateUser(ctx, adapter.User{}))(t), "CreateUser")
	assert.NotNil(t, must(a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "new", ProviderAccountID: "1"}, &adapter.Authenticator{CredentialID: "new"}))(t), "CreateUserWithAccount")
	assert.NotNil(t, must(a.CreateSession(ctx,
		adapter.Session{SessionToken: "new", UserID: "u1", Expires: at}))(t), "CreateSession")
	assert.NotNil(t, must(a.CreateVerificationToken(ctx,
		adapter.VerificationToken{Identifier: "new", Token: "new", Expires: at}))(t), "CreateVerificationToken")
	assert.NotNil(t, must(a.UseVerificationToken(ctx,
		adapter.VerificationTokenKey{Identifier: "1", Token: "1"}))(t), "UseVerificationToken")
	assert.EqualValues(t, 1, must(a.DeleteVerificationTokens(ctx, "2"))(t), "DeleteVerificationTokens")
	assert.NotNil(t, must(a.DeleteAuthenticator(ctx, "u1", "1", true))(t), "DeleteAuthenticator")
	assert.NotNil(t, must(a.UnlinkAccount(ctx, key))(t), "UnlinkAccount")
	assert.NotNil(t, must(a.DeleteSession(ctx, "s2"))(t), "DeleteSession")
	assert.EqualValues(t, 1, must(a.DeleteSessionsByUserID(ctx, "u1", "other"))(t), "DeleteSessionsByUserID")
	assert.NotNil(t, must(a.DeleteUser(ctx, "u1"))(t), "DeleteUser")
	swept := adapter.Swept{Sessions: records / 20, VerificationTokens: records / 20}
	assert.Equal(t, swept, must(a.DeleteExpired(ctx, time.Now()))(t), "DeleteExpired")
}
