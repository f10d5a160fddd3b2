package postgres_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// site is a database that another product made, with one person in it.
type site struct {
	layout postgres.Layout
	tables string
	person string
}

// adaID, adaEmail and adaExpires are what every site knows of its person.
const (
	adaID    = "ck1"
	adaEmail = "ada@example.com"
)

var adaExpires = time.Date(2040, 1, 2, 12, 0, 0, 123e6, time.UTC)

var sites = map[string]site{
	"Prisma": {postgres.Prisma(), postgrestest.PrismaTables, `
		INSERT INTO "User" (id, name, email, "updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com', '2020-01-01');
		INSERT INTO "Account" ("userId", type, provider, "providerAccountId", "updatedAt") VALUES ('ck1', 'oidc', 'p', '1', '2020-01-01');
		INSERT INTO "Session" ("sessionToken", "userId", expires, "updatedAt") VALUES ('theirs', 'ck1', '2040-01-02 12:00:00.123', '2020-01-01');`},
	"Drizzle": {postgres.Drizzle(), postgrestest.DrizzleTables, `
		INSERT INTO "user" (id, name, email) VALUES ('ck1', 'Ada', 'ada@example.com');
		INSERT INTO "account" ("userId", type, provider, "providerAccountId") VALUES ('ck1', 'oidc', 'p', '1');
		INSERT INTO "session" VALUES ('theirs', 'ck1', '2040-01-02 12:00:00.123');`},
	"other names": {postgres.Layout{Users: "People", Accounts: "logins", Sessions: "web sessions", VerificationTokens: "Tokens", Authenticators: "keys",
		Columns: map[string]string{"users.id": "ID", "users.emailVerified": "email_verified", "accounts.userId": "user_id", "accounts.provider": "issuer",
			"accounts.providerAccountId": "sub", "sessions.sessionToken": "token", "sessions.expires": "expires_at", "sessions.userId": "user_id",
			"verification_token.expires": "until", "authenticators.userId": "user_id", "authenticators.credentialID": "id", "authenticators.counter": "uses"}}, `
		CREATE TABLE "People" ("ID" text PRIMARY KEY, name text, email text UNIQUE, email_verified timestamptz(3), image text, "updated_at" timestamptz(0) NOT NULL);
		CREATE TABLE logins (id uuid NOT NULL, user_id text NOT NULL REFERENCES "People" ON DELETE CASCADE, type text NOT NULL, issuer text, sub text,
			refresh_token text, access_token text, expires_at bigint, id_token text, scope text, session_state text, token_type text, authorization_details jsonb,
			PRIMARY KEY (issuer, sub));
		CREATE TABLE "web sessions" (id text NOT NULL PRIMARY KEY, token text NOT NULL UNIQUE, user_id text NOT NULL REFERENCES "People" ON DELETE CASCADE, expires_at timestamptz NOT NULL);
		CREATE TABLE "Tokens" (identifier text, token text, until timestamptz NOT NULL, PRIMARY KEY (identifier, token));
		CREATE TABLE keys (id text PRIMARY KEY, user_id text NOT NULL REFERENCES "People" ON DELETE CASCADE, "providerAccountId" text NOT NULL,
			"credentialPublicKey" text NOT NULL, uses bigint NOT NULL, "credentialDeviceType" text NOT NULL, "credentialBackedUp" boolean NOT NULL, transports text,
			name text, created timestamptz, "lastUsed" timestamptz);`, `
		INSERT INTO "People" VALUES ('ck1', 'Ada', 'ada@example.com', NULL, NULL, now());
		INSERT INTO logins (id, user_id, type, issuer, sub) VALUES (gen_random_uuid(), 'ck1', 'oidc', 'p', '1');
		INSERT INTO "web sessions" VALUES ('s1', 'theirs', 'ck1', '2040-01-02 12:00:00.123+00');`},
}

// make makes the site's tables in a new schema.
func (s site) make(t *testing.T) (schema string) {
	t.Helper()
	schema = newSchema(t)
	execSQL(t, inSchema(t, schema), s.tables+s.person, pgx.QueryExecModeSimpleProtocol)
	return schema
}

// objects describes every object of a schema, with its definition.
func objects(t *testing.T, pool *pgxpool.Pool, schema string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), `
		SELECT format('%s %s', c.relkind, c.relname) FROM pg_class AS c WHERE c.relnamespace = $1::text::regnamespace
		UNION ALL SELECT format('column %s.%s %s %s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid))
			FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
			WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r'
		UNION ALL SELECT format('constraint %s %s', conname, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = $1::text::regnamespace
		UNION ALL SELECT format('function %s', proname) FROM pg_proc WHERE pronamespace = $1::text::regnamespace
		ORDER BY 1`, schema)
	return must(pgx.CollectRows(must(rows, err)(t), pgx.RowTo[string]))(t)
}

// TestSitesAreServedAsTheyAre uses every method at the sites of other products, in
// every execution mode and far from UTC. The person of the site is known, and the
// schema has the same objects before and after.
func TestSitesAreServedAsTheyAre(t *testing.T) {
	for name, s := range sites {
		for _, w := range wirings {
			if w.authJS || testing.Short() && !w.telling {
				continue
			}
			t.Run(name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				schema := s.make(t)
				if w.zone == "" {
					w.zone = "America/St_Johns"
				}
				if w.pooler {
					w.zone = ""
				}
				pool := w.pool(t)
				before := objects(t, pool, schema)
				a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
				require.NoError(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())))
				s.use(t, a, pool, schema)
				assert.Equal(t, before, objects(t, pool, schema), "the objects of the schema")
			})
		}
	}
}

// use calls every method, and compares what it says with what is stored.
func (s site) use(t *testing.T, a *postgres.Adapter, pool *pgxpool.Pool, schema string) {
	t.Helper()
	ctx := t.Context()
	ada := must(a.GetUserByEmail(ctx, adaEmail))(t)
	both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
	account := must(a.GetAccount(ctx, "1", "p"))(t)
	require.Truef(t, ada != nil && ada.ID == adaID && both != nil && both.User.ID == adaID && both.Session.Expires.Equal(adaExpires) && account != nil && account.UserID == adaID,
		"the site's person: got %v, %v, %v", ada, both, account)
	at := time.Date(2041, 7, 1, 3, 4, 5, 678_999_999, time.FixedZone("", -5*3600))
	bob := must(a.CreateUser(ctx, adapter.User{Name: new("Bob"), Email: "bob@example.com", EmailVerified: &at}))(t)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), *bob)
	d := at.Sub(*bob.EmailVerified)
	assert.Truef(t, d >= 0 && d < time.Millisecond, "emailVerified is %v, want %v rounded down", bob.EmailVerified, at)
	bob = must(a.UpdateUser(ctx, adapter.UserUpdate{ID: bob.ID, EmailVerified: adapter.To(&at), Image: adapter.To(new("i"))}))(t)
	same(t, "GetUser after UpdateUser", must(a.GetUser(ctx, bob.ID))(t), *bob)
	d = at.Sub(*bob.EmailVerified)
	assert.Truef(t, d >= 0 && d < time.Millisecond, "emailVerified is %v, want %v rounded down", bob.EmailVerified, at)
	refused(a.CreateUser(ctx, adapter.User{Email: "bob@example.com"}))(t, "a taken address", adapter.ErrConflict)
	session := must(a.CreateSession(ctx, adapter.Session{SessionToken: "ours", UserID: bob.ID, Expires: at}))(t)
	same(t, "GetSessionAndUser", must(a.GetSessionAndUser(ctx, "ours"))(t), adapter.SessionAndUser{Session: *session, User: *bob})
	d = at.Sub(session.Expires)
	assert.Truef(t, d >= 0 && d < time.Millisecond, "expires is %v, want %v rounded down", session.Expires, at)
	session = must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "ours", Expires: adapter.To(at.Add(time.Hour)), UserID: adapter.To(adaID)}))(t)
	assert.Truef(t, session.UserID == adaID && len(must(a.ListSessionsByUserID(ctx, adaID))(t)) == 2,
		"the sessions of Ada: got %v", must(a.ListSessionsByUserID(ctx, adaID))(t))
	_, err := a.CreateSession(ctx, adapter.Session{SessionToken: "x", UserID: "nobody", Expires: at})
	assert.ErrorIs(t, err, adapter.ErrNotFound, "a session of nobody")
	made := must(a.LinkAccount(ctx, adapter.Account{UserID: bob.ID, Type: adapter.AccountOAuth, Provider: "q", ProviderAccountID: "2", ExpiresAt: new(int64(math.MaxInt32))}))(t)
	same(t, "GetAccount", must(a.GetAccount(ctx, "2", "q"))(t), *made)
	same(t, "GetUserByAccount", must(a.GetUserByAccount(ctx, made.Key()))(t), *bob)
	must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "q", ProviderAccountID: "2", Scope: adapter.To(new("s")), AuthorizationDetails: adapter.To[json.RawMessage](nil)}))(t)
	assert.Len(t, must(a.ListAccountsByUserID(ctx, bob.ID))(t), 1, "the accounts of Bob are not listed")
	token := adapter.VerificationToken{Identifier: "x", Token: "t", Expires: adaExpires}
	same(t, "CreateVerificationToken", must(a.CreateVerificationToken(ctx, token))(t), token)
	same(t, "UseVerificationToken", must(a.UseVerificationToken(ctx, token.Key()))(t), token)
	must(a.CreateVerificationToken(ctx, token))(t)
	n := must(a.DeleteVerificationTokens(ctx, "x"))(t)
	assert.Truef(t, n == 1, "DeleteVerificationTokens: got %d", n)
	key := adapter.Authenticator{CredentialID: "c", UserID: bob.ID, ProviderAccountID: "c", CredentialPublicKey: "k", Counter: 1, CredentialDeviceType: "singleDevice"}
	same(t, "CreateAuthenticator", must(a.CreateAuthenticator(ctx, key))(t), key)
	key.Counter = 7
	same(t, "UpdateAuthenticatorCounter", must(a.UpdateAuthenticatorCounter(ctx, "c", 7))(t), key)
	touched := must(a.TouchAuthenticator(ctx, "c", 7, 8, at))(t)
	assert.Truef(t, touched != nil && touched.Counter == 8, "TouchAuthenticator: got %v", touched)
	assert.Len(t, must(a.ListAuthenticatorsByUserID(ctx, bob.ID))(t), 1, "the passkeys of Bob are not listed")
	must(a.DeleteAuthenticator(ctx, bob.ID, "c", true))(t)
	cy := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "cy@example.com"}, adapter.Account{Type: adapter.AccountWebAuthn, Provider: "r", ProviderAccountID: "3"}, &adapter.Authenticator{CredentialID: "d"}))(t)
	same(t, "GetUser after CreateUserWithAccount", must(a.GetUser(ctx, cy.ID))(t), *cy)
	must(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "q", ProviderAccountID: "2"}))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "past", UserID: bob.ID, Expires: time.Now().Add(-time.Second)}))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "soon", UserID: bob.ID, Expires: time.Now().Add(time.Minute)}))(t)
	must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "past", Token: "t", Expires: time.Now().Add(-time.Second)}))(t)
	swept := must(a.DeleteExpired(ctx, time.Now()))(t)
	assert.Truef(t, swept.Sessions == 1 && swept.VerificationTokens == 1, "DeleteExpired: got %+v", swept)
	n = must(a.DeleteSessionsByUserID(ctx, bob.ID, ""))(t)
	assert.Truef(t, n == 1, "DeleteSessionsByUserID: got %d", n)
	must(a.DeleteUser(ctx, cy.ID))(t)
	assert.Nil(t, must(a.GetAuthenticator(ctx, "d"))(t), "a passkey of a deleted user is left")
	must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "theirs", Expires: adapter.To(adaExpires)}))(t)
	must(a.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Name: adapter.To(new("Ada"))}))(t)
}

// TestPrismaColumns: updatedAt is the present after each insert and update, in UTC
// as Prisma reads it, and createdAt has its default.
func TestPrismaColumns(t *testing.T) {
	t.Parallel()
	s := sites["Prisma"]
	schema := s.make(t)
	pool := wiring{zone: "Asia/Kathmandu"}.pool(t)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
	fresh := func(table, condition string) {
		t.Helper()
		age := value[float64](t, inSchema(t, schema), `SELECT extract(epoch FROM now() - "updatedAt" AT TIME ZONE 'UTC')::float8 FROM "`+table+`" WHERE `+condition)
		assert.Truef(t, !(math.Abs(age) > 60), "%s: updatedAt is %v seconds old", table, age)
	}
	ctx := t.Context()
	created := func() time.Time {
		return value[time.Time](t, inSchema(t, schema), `SELECT "createdAt" FROM "User" WHERE id = 'ck1'`)
	}
	before := created()
	must(a.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Name: adapter.To(new("Ada L."))}))(t)
	fresh("User", "id = 'ck1'")
	after := created()
	assert.Truef(t, after.Equal(before), "createdAt is %v after an update, want %v", after, before)
	must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("s"))}))(t)
	fresh("Account", "provider = 'p'")
	must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "theirs", Expires: adapter.To(time.Now())}))(t)
	fresh("Session", `"sessionToken" = 'theirs'`)
	must(a.CreateUserWithAccount(ctx, adapter.User{Email: "bob@example.com"}, adapter.Account{Type: "oauth", Provider: "q", ProviderAccountID: "2"}, nil))(t)
	fresh("User", "email = 'bob@example.com'")
	fresh("Account", "provider = 'q'")
}

// TestNoRoom: what the tables have no room for is refused, and never cut.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	s := sites["Prisma"]
	schema := s.make(t)
	pool := wiring{}.pool(t)
	execSQL(t, pool, `ALTER TABLE `+schema+`."User" ALTER COLUMN name TYPE varchar(5)`)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
	ctx := t.Context()
	assert.True(t, a.RequiresEmail(), "the layout of Prisma does not require an address")
	tx := must(pool.Begin(ctx))(t)
	defer func() { _ = tx.Rollback(ctx) }()
	on := a.On(tx)
	must(on.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: adaID}))(t)
	large := int64(math.MaxInt32) + 1
	for what, call := range map[string]func() error{
		"no address": func() error { _, err := on.CreateUser(ctx, adapter.User{}); return err },
		"address taken away": func() error {
			return erred(on.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Email: adapter.To("")}))
		},
		"long name": func() error {
			return erred(on.UpdateUser(ctx, adapter.UserUpdate{ID: adaID, Name: adapter.To(new("Ada   "))}))
		},
		"expires_at": func() error {
			return erred(on.LinkAccount(ctx, adapter.Account{UserID: adaID, Provider: "x", ProviderAccountID: "1", ExpiresAt: &large}))
		},
		"expires_at of an update": func() error {
			return erred(on.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", ExpiresAt: adapter.To(&large)}))
		},
		"counter": func() error {
			return erred(on.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "d", UserID: adaID, Counter: large}))
		},
		"counter of an update": func() error { _, err := on.UpdateAuthenticatorCounter(ctx, "c", large); return err },
		"counter of a use":     func() error { _, err := on.TouchAuthenticator(ctx, "c", 0, large, time.Now()); return err },
		"authorization details": func() error {
			return erred(on.LinkAccount(ctx, adapter.Account{UserID: adaID, Provider: "x", ProviderAccountID: "1", AuthorizationDetails: []byte(`[]`)}))
		},
		"name of a passkey": func() error { _, err := on.RenameAuthenticator(ctx, adaID, "c", "key"); return err },
	} {
		if err := call(); err == nil || errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: got %v, want an error that matches neither sentinel", what, err)
		}
	}
	assert.NoError(t, tx.Commit(ctx), "the transaction is not usable any more: ")
	u := must(a.GetUser(ctx, adaID))(t)
	assert.Truef(t, u.Email == adaEmail && *u.Name == "Ada", "got %v", u)
}

// TestOwnColumnIsRefused: a column of the site that must have a value stops the
// adapter before it writes.
func TestOwnColumnIsRefused(t *testing.T) {
	t.Parallel()
	for name, s := range sites {
		t.Run(name, func(t *testing.T) {
			schema := s.make(t)
			pool := wiring{}.pool(t)
			users := s.layout.Users
			execSQL(t, pool, fmt.Sprintf(`ALTER TABLE %s."%s" ADD COLUMN tenant text; UPDATE %[1]s."%[2]s" SET tenant = 'a'; ALTER TABLE %[1]s."%[2]s" ALTER COLUMN tenant SET NOT NULL`, schema, users),
				pgx.QueryExecModeSimpleProtocol)
			a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
			_, err := a.CreateUser(t.Context(), adapter.User{Email: "bob@example.com"})
			assert.ErrorContains(t, err, `"tenant"`)
			assert.ErrorContains(t, a.EnsureSchema(t.Context()), `"tenant"`)
		})
	}
}

// TestSiteWithoutPasskeys: a site without a table of authenticators is served, and
// the adapter says which methods it lacks.
func TestSiteWithoutPasskeys(t *testing.T) {
	t.Parallel()
	s := sites["Drizzle"]
	schema := s.make(t)
	pool := wiring{}.pool(t)
	execSQL(t, pool, `DROP TABLE `+schema+`.authenticator`)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
	ctx := t.Context()
	require.NoError(t, errors.Join(a.EnsureSchema(ctx), a.CheckSchema(ctx)))
	missing := adapter.Missing(a)
	assert.Lenf(t, missing, 9, "missing: got %v, want those of passkeys and of passwords", missing)
	_, err1 := a.GetAuthenticator(ctx, "c")
	_, err2 := a.ListAuthenticatorsByUserID(ctx, adaID)
	_, err3 := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "c", UserID: adaID})
	_, err4 := a.UpdateAuthenticatorCounter(ctx, "c", 1)
	_, err5 := a.CreateUserWithAccount(ctx, adapter.User{}, adapter.Account{Provider: "x", ProviderAccountID: "1"}, &adapter.Authenticator{CredentialID: "c"})
	_, err6 := a.DeleteAuthenticator(ctx, adaID, "c", true)
	for i, err := range []error{err1, err2, err3, err4, err5, err6} {
		assert.ErrorIsf(t, err, adapter.ErrUnsupported, "call %d: got %v, want ErrUnsupported", i+1, err)
	}
	must(a.DeleteUser(ctx, adaID))(t)
}

// TestLayoutsThatAreRefused: wrong layouts make nothing.
func TestLayoutsThatAreRefused(t *testing.T) {
	t.Parallel()
	pool := wiring{}.pool(t)
	for what, c := range map[string]struct {
		options []postgres.Option
		want    string
	}{
		"two layouts":    {[]postgres.Option{postgres.WithLayout(postgres.Prisma()), postgres.WithLayout(postgres.Drizzle())}, "given twice"},
		"quote":          {[]postgres.Option{postgres.WithLayout(postgres.Layout{Users: `us"er`})}, "contains a quote"},
		"quoted column":  {[]postgres.Option{postgres.WithLayout(postgres.Layout{Columns: map[string]string{"users.email": `e'mail`}})}, "contains a quote"},
		"schema":         {[]postgres.Option{postgres.WithLayout(postgres.Layout{Users: "auth.users"})}, "WithSchema"},
		"unknown column": {[]postgres.Option{postgres.WithLayout(postgres.Layout{Columns: map[string]string{"users.mail": "mail"}})}, `"users.mail" is no column`},
		"same tables":    {[]postgres.Option{postgres.WithLayout(postgres.Layout{Users: "accounts"})}, "two tables"},
		"same columns":   {[]postgres.Option{postgres.WithLayout(postgres.Layout{Columns: map[string]string{"users.email": "name"}})}, "two columns"},
	} {
		assert.ErrorContains(t, erred(postgres.New(pool, c.options...)), c.want, what)
	}
	half := postgres.Prisma()
	half.Sessions = "sessions"
	schema := sites["Prisma"].make(t)
	before := objects(t, pool, schema)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(half))
	assert.ErrorContains(t, a.EnsureSchema(t.Context()), `"sessions" of the layout is missing`)
	after := objects(t, pool, schema)
	assert.Truef(t, slices.Equal(before, after), "the schema has changed: %v", after)
}

// TestVersionInAnotherSchema: the version table is the only object that EnsureSchema
// makes for a layout of others, and only if the option says where.
func TestVersionInAnotherSchema(t *testing.T) {
	t.Parallel()
	s := sites["Drizzle"]
	schema, other := s.make(t), newSchema(t)
	pool := wiring{}.pool(t)
	before := objects(t, pool, schema)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout), postgres.WithVersionIn(other))
	for range 2 {
		require.NoError(t, a.EnsureSchema(t.Context()))
	}
	after := objects(t, pool, schema)
	assert.Truef(t, slices.Equal(before, after), "the schema has changed: %v", after)
	assert.Equal(t, 2, value[int](t, pool, `SELECT version::int FROM `+other+`.gatehouse_schema`), "the version")
}

// TestSchemaChangesOfSites runs what SchemaChanges returns for a site. Then nothing
// is left to change, and everything has room.
func TestSchemaChangesOfSites(t *testing.T) {
	for name, s := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := s.make(t)
			pool := wiring{}.pool(t)
			a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
			changes := must(a.SchemaChanges(t.Context()))(t)
			for _, change := range changes {
				execSQL(t, pool, change, pgx.QueryExecModeSimpleProtocol)
				if product := strings.ToLower(name); product != "other names" && !strings.Contains(strings.ToLower(change), product) {
					t.Errorf("no line for the schema file: %s", change)
				}
			}
			a = newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
			again := must(a.SchemaChanges(t.Context()))(t)
			assert.Truef(t, len(again) <= 0, "left to change: %v", again)
			s.use(t, a, pool, schema)
			ctx := t.Context()
			must(a.CreateUser(ctx, adapter.User{}))(t)
			must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "e", UserID: adaID, Counter: math.MaxUint32, Name: new("key")}))(t)
			assert.False(t, a.RequiresEmail(), "an address is still required")
			golden(t, filepath.Join("testdata", "changes of "+name+".sql"), strings.ReplaceAll(strings.Join(changes, ";\n"), schema, "site"))
		})
	}
}

// TestSchemaChangesOfLackingSites: at a site without passkeys and without a foreign key, each
// statement has its lines for the schema file too.
func TestSchemaChangesOfLackingSites(t *testing.T) {
	for name, lacking := range map[string]string{
		"Prisma":  `DROP TABLE "Authenticator"; ALTER TABLE "Account" DROP CONSTRAINT "Account_userId_fkey"`,
		"Drizzle": `DROP TABLE authenticator; ALTER TABLE account DROP CONSTRAINT "account_userId_user_id_fk"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sites[name]
			schema := s.make(t)
			pool := inSchema(t, schema)
			execSQL(t, pool, lacking, pgx.QueryExecModeSimpleProtocol)
			var changes []string
			for _, change := range must(newAdapter(t, pool, postgres.WithLayout(s.layout)).SchemaChanges(t.Context()))(t) {
				execSQL(t, pool, change, pgx.QueryExecModeSimpleProtocol)
				changes = append(changes, change)
			}
			a := newAdapter(t, pool, postgres.WithLayout(s.layout))
			again := must(a.SchemaChanges(t.Context()))(t)
			assert.Truef(t, len(again) <= 0, "left to change: %v", again)
			must(a.CreateAuthenticator(t.Context(), adapter.Authenticator{CredentialID: "e", UserID: adaID}))(t)
			golden(t, filepath.Join("testdata", "changes of "+name+" without passkeys.sql"), strings.Join(changes, ";\n"))
		})
	}
}

// golden compares text with a committed file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, []byte(got+"\n"), 0o600))
	}
	want := must(os.ReadFile(file))(t)
	assert.Equalf(t, string(want), got+"\n", "got\n%s\nwant\n%s", got, want)
}

// TestPublishedTable: a published table without a replica identity is found by
// CheckSchema, and its advice works.
func TestPublishedTable(t *testing.T) {
	t.Parallel()
	s := sites["Prisma"]
	schema := s.make(t)
	pool := wiring{}.pool(t)
	execSQL(t, pool, fmt.Sprintf(`CREATE PUBLICATION %s FOR TABLE %[1]s."Session", %[1]s."User"`, schema))
	cleanup(t, `DROP PUBLICATION IF EXISTS `+schema)
	a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
	err := a.CheckSchema(t.Context())
	assert.ErrorContains(t, err, "REPLICA IDENTITY USING INDEX")
	_, advice, _ := strings.Cut(err.Error(), "rows: ")
	execSQL(t, pool, advice)
	require.NoError(t, a.CheckSchema(t.Context()))
	must(a.DeleteSession(t.Context(), "theirs"))(t)
}

// TestChangesMeanwhile: while the adapter runs, somebody changes the tables in ways that
// leave them usable. No call fails.
func TestChangesMeanwhile(t *testing.T) {
	for _, w := range wirings {
		if w.authJS || w.zone != "" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			a, _, schema := w.newStore(t)
			admin := inSchema(t, schema)
			for i, change := range []string{
				``,
				`ALTER TABLE users ADD own text; ALTER TABLE sessions ADD own int NOT NULL DEFAULT 1; ALTER TABLE accounts ADD own timestamptz DEFAULT now()`,
				`ALTER TABLE users ALTER name TYPE varchar, ALTER image TYPE varchar; ALTER TABLE sessions ALTER "sessionToken" TYPE varchar`,
				`ALTER TABLE users DROP own; ALTER TABLE sessions DROP own; ALTER TABLE accounts DROP own`,
				`ALTER TABLE authenticators ALTER counter TYPE bigint, ALTER name TYPE varchar`,
				`ALTER INDEX users_email_key RENAME TO own_email; ALTER TABLE accounts RENAME CONSTRAINT "accounts_userId_fkey" TO own_owner; CREATE INDEX own ON users (name)`,
				`ALTER TABLE accounts ALTER authorization_details TYPE jsonb; ANALYZE users`,
			} {
				if change != "" {
					execSQL(t, admin, change, pgx.QueryExecModeSimpleProtocol)
				}
				ctx, n := t.Context(), fmt.Sprint(i)
				u := must(a.CreateUserWithAccount(ctx, adapter.User{Email: n, Name: new("n")}, adapter.Account{Provider: "p", ProviderAccountID: n, AuthorizationDetails: []byte(`[{"type": "x"}]`)},
					&adapter.Authenticator{CredentialID: n}))(t)
				same(t, "GetUserByEmail", must(a.GetUserByEmail(ctx, n))(t), *u)
				must(a.UpdateUser(ctx, adapter.UserUpdate{ID: u.ID, Name: adapter.To(new("m")), Image: adapter.To(new("i"))}))(t)
				must(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: n, Scope: adapter.To(new("s"))}))(t)
				got := must(a.GetAccount(ctx, n, "p"))(t)
				assert.Truef(t, got != nil && got.UserID == u.ID, "GetAccount: got %v", got)
				s := must(a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: adaExpires}))(t)
				if got := must(a.GetSessionAndUser(ctx, n))(t); got == nil || !got.Session.Expires.Equal(s.Expires) || *got.User.Name != "m" {
					t.Errorf("GetSessionAndUser: got %v", got)
				}
				_, err := a.CreateSession(ctx, adapter.Session{SessionToken: n, UserID: u.ID, Expires: adaExpires})
				assert.ErrorIs(t, err, adapter.ErrConflict, "a taken token")
				_, err = a.LinkAccount(ctx, adapter.Account{Provider: "q", ProviderAccountID: n, UserID: "nobody"})
				assert.ErrorIs(t, err, adapter.ErrNotFound, "an account of nobody")
				other := must(a.CreateUser(ctx, adapter.User{Email: "other" + n}))(t)
				_, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: other.ID, Email: adapter.To(n)})
				assert.ErrorIs(t, err, adapter.ErrConflict, "a taken address")
				must(a.TouchAuthenticator(ctx, n, 0, 1, adaExpires))(t)
				must(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: n, Token: "t", Expires: adaExpires}))(t)
				must(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: n, Token: "t"}))(t)
				must(a.DeleteExpired(ctx, time.Now()))(t)
			}
		})
	}
}

// TestTypeChangesMeanwhile: while the adapter runs, a column of Prisma becomes timestamptz,
// over connections far from UTC. No call fails, and no instant shifts.
func TestTypeChangesMeanwhile(t *testing.T) {
	for _, w := range wirings {
		if w.authJS || w.pooler || w.zone != "" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := sites["Prisma"]
			schema := s.make(t)
			w.zone = "Asia/Kathmandu"
			pool := w.pool(t)
			a := newAdapter(t, pool, postgres.WithSchema(schema), postgres.WithLayout(s.layout))
			ctx := t.Context()
			session := adapter.Session{SessionToken: "ours", UserID: adaID, Expires: adaExpires}
			same(t, "CreateSession", must(a.CreateSession(ctx, session))(t), session)
			must(a.DeleteSession(ctx, "ours"))(t)
			execSQL(t, pool, `ALTER TABLE `+schema+`."Session" ALTER COLUMN expires TYPE timestamptz USING expires AT TIME ZONE 'UTC'`)
			same(t, "CreateSession after the change", must(a.CreateSession(ctx, session))(t), session)
			both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
			assert.Truef(t, both.Session.Expires.Equal(adaExpires),
				"the site's session ends at %v, want %v", both.Session.Expires, adaExpires)
			stored := value[time.Time](t, pool, `SELECT expires FROM `+schema+`."Session" WHERE "sessionToken" = 'ours'`)
			assert.Truef(t, stored.Equal(adaExpires), "stored %v, want %v", stored, adaExpires)
		})
	}
}
