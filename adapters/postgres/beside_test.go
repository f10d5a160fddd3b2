package postgres_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestNeverBeside: at a site of another library the adapter makes no second set of
// tables, unless an option says so. The error names the tables and the layout.
func TestNeverBeside(t *testing.T) {
	const (
		supabase = `CREATE TABLE users (id uuid PRIMARY KEY, name text, email text UNIQUE, "emailVerified" timestamptz, image text);
			CREATE TABLE verification_tokens (identifier text, token text PRIMARY KEY, expires timestamptz NOT NULL);`
		betterAuth = `CREATE TABLE "user" (id text PRIMARY KEY, name text, email text NOT NULL, "emailVerified" boolean NOT NULL, "createdAt" timestamp);
			CREATE TABLE session (id text PRIMARY KEY, "expiresAt" timestamp NOT NULL, token text NOT NULL UNIQUE, "userId" text REFERENCES "user");`
		views = `CREATE TABLE people (id text PRIMARY KEY, email text, "emailVerified" timestamp); CREATE VIEW "User" AS SELECT * FROM people;`
		own   = `CREATE TABLE "user" (id int PRIMARY KEY, email text); CREATE TABLE account (id int, balance numeric); CREATE TABLE session (sid text, sess json, expire timestamp);`
	)
	prefixed := strings.NewReplacer(`"user" (`, `"p1_user" (`, `TABLE "user"`, `TABLE "p1_user"`, `"account"`, `"p1_account"`, `"session"`, `"p1_session"`,
		`"verificationToken"`, `"p1_verification_token"`, `"authenticator"`, `"p1_authenticator"`).Replace(postgrestest.DrizzleTables)
	for name, c := range map[string]struct {
		tables  string
		options []postgres.Option
		want    string // in the error; empty if there is none
	}{
		"Prisma":                      {postgrestest.PrismaTables, nil, "WithLayout(postgres.Prisma())"},
		"Prisma, with a prefix":       {postgrestest.PrismaTables, []postgres.Option{postgres.WithPrefix("auth_")}, `"VerificationToken"`},
		"Drizzle":                     {postgrestest.DrizzleTables, nil, "WithLayout(postgres.Drizzle())"},
		"Drizzle without passkeys":    {postgrestest.DrizzleTables + `DROP TABLE authenticator;`, nil, "WithLayout(postgres.Drizzle())"},
		"create-t3-app":               {prefixed, []postgres.Option{postgres.WithPrefix("p1_")}, `Users: "user"`},
		"another prefix":              {prefixed, nil, ""},
		"one table of another plural": {supabase, nil, `VerificationTokens: "verification_tokens"`},
		"views":                       {views, nil, `"User"`},
		"better-auth":                 {betterAuth, nil, `."user": no layout serves them`},
		"better-auth, plural": {strings.NewReplacer(`"user"`, "users", "TABLE session", "TABLE sessions").Replace(betterAuth), nil,
			`.sessions: no layout serves them`},
		"tables of other purposes": {own, nil, ""},
		"option":                   {postgrestest.PrismaTables, []postgres.Option{postgres.WithNewTables()}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t)
			pool := inSchema(t, schema)
			execSQL(t, pool, c.tables, pgx.QueryExecModeSimpleProtocol)
			before := objects(t, pool, schema)
			a := newAdapter(t, pool, c.options...)
			err := a.EnsureSchema(t.Context())
			if c.want == "" {
				assert.NoError(t, errors.Join(err, a.CheckSchema(t.Context())))
				return
			}
			assert.ErrorContains(t, err, c.want)
			assert.ErrorContains(t, err, "WithNewTables")
			assert.ErrorContains(t, a.CheckSchema(t.Context()), c.want)
			_, err = a.GetUserByEmail(t.Context(), adaEmail)
			assert.ErrorContains(t, err, c.want)
			assert.Equal(t, before, objects(t, pool, schema), "the schema has changed")
		})
	}
}

// TestOtherNamesOfColumns: tables with our names and other names of columns get no second
// set of columns. The error has the names for the layout.
func TestOtherNamesOfColumns(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	pool := inSchema(t, schema)
	execSQL(t, pool, `CREATE TABLE users (id text PRIMARY KEY, name text, email text UNIQUE, email_verified timestamptz, image text)`)
	before := objects(t, pool, schema)
	assert.ErrorContains(t, newAdapter(t, pool).EnsureSchema(t.Context()), `WithLayout takes other names, Columns: {"users.emailVerified": "email_verified"}`)
	after := objects(t, pool, schema)
	assert.Truef(t, slices.Equal(before, after), "the schema has changed: %v", after)
}

// TestEmptyBesideFull: tables that an earlier EnsureSchema made beside those of
// another library are refused while nobody is in them, also for a role that may not read
// those of the library.
func TestEmptyBesideFull(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	pool := inSchema(t, schema)
	ours := newAdapter(t, pool)
	require.NoError(t, ours.EnsureSchema(t.Context()))
	prefixed := newAdapter(t, pool, postgres.WithPrefix("auth_"))
	assert.NoError(t, prefixed.EnsureSchema(t.Context()), "beside our own tables of another prefix")
	role := newRole(t, pool, schema)
	execSQL(t, pool, sites["Prisma"].tables, pgx.QueryExecModeSimpleProtocol)
	limited := func() error {
		return newAdapter(t, asRole(t, role), postgres.WithSchema(schema)).EnsureSchema(t.Context())
	}
	err := errors.Join(newAdapter(t, pool).CheckSchema(t.Context()), prefixed.CheckSchema(t.Context()), limited())
	assert.NoError(t, err, "empty beside empty")
	assert.ErrorContains(t, newAdapter(t, pool, postgres.WithPrefix("new_")).EnsureSchema(t.Context()), "WithLayout(postgres.Prisma())")
	execSQL(t, pool, sites["Prisma"].person, pgx.QueryExecModeSimpleProtocol)
	for name, err := range map[string]error{
		"no prefix": newAdapter(t, pool).EnsureSchema(t.Context()), "least rights": limited(),
		"prefix": newAdapter(t, pool, postgres.WithPrefix("auth_")).EnsureSchema(t.Context()),
	} {
		t.Log(name)
		assert.ErrorContains(t, err, "WithLayout(postgres.Prisma())")
	}
	assert.NoError(t, newAdapter(t, pool, postgres.WithNewTables()).EnsureSchema(t.Context()))
	must(ours.CreateUser(t.Context(), adapter.User{Email: adaEmail}))(t)
	assert.NoError(t, newAdapter(t, pool).CheckSchema(t.Context()), "full beside full")
}

// advised finds the statements in an error.
var advised = regexp.MustCompile(`(ALTER (?:TABLE|ROLE) |GRANT |DROP INDEX |CREATE UNIQUE INDEX )[^;]*`)

// TestAdviceCanBeFollowed runs each statement that an error gives, over a connection
// far from UTC, until EnsureSchema accepts the tables. Then every user and session is
// what it was.
func TestAdviceCanBeFollowed(t *testing.T) {
	const person = `INSERT INTO users (id, name, email) VALUES (7, 'Ada', 'Ada@example.com');
		INSERT INTO sessions (id, "userId", expires, "sessionToken") VALUES (1, 7, '2040-01-02 12:00:00.123+00', 'theirs');`
	for name, change := range map[string]string{
		"naive timestamps": `ALTER TABLE users ALTER "emailVerified" TYPE timestamp; ALTER TABLE verification_token ALTER expires TYPE timestamp;
			ALTER TABLE sessions ALTER expires TYPE timestamp USING expires AT TIME ZONE 'UTC'`,
		"generated column": `ALTER TABLE users DROP COLUMN image, ADD COLUMN image text GENERATED ALWAYS AS (lower(name)) STORED`,
		"milliseconds":     `ALTER TABLE sessions ALTER expires TYPE bigint USING extract(epoch FROM expires) * 1000`,
		"seconds":          `ALTER TABLE sessions ALTER expires TYPE numeric USING extract(epoch FROM expires)`,
		"other types of a passkey": `CREATE TABLE authenticators ("credentialID" text NOT NULL UNIQUE, "userId" integer NOT NULL, "providerAccountId" text NOT NULL,
			"credentialPublicKey" text NOT NULL, counter text NOT NULL, "credentialBackedUp" integer NOT NULL, "credentialDeviceType" text NOT NULL,
			transports text, PRIMARY KEY ("userId", "credentialID"));
			INSERT INTO authenticators VALUES ('theirs', 7, 'a', 'k', '5', 1, 'd')`,
		"owner of another type":     `ALTER TABLE sessions ALTER "userId" TYPE text`,
		"column that nobody writes": `ALTER TABLE users ADD tenant text NOT NULL DEFAULT 'x'; ALTER TABLE users ALTER tenant DROP DEFAULT`,
		"char":                      `ALTER TABLE users ALTER email TYPE char(100); UPDATE users SET email = rtrim(email)`,
		"folding index":             `CREATE UNIQUE INDEX lower_email ON users (lower(email))`,
		"deferrable key":            `ALTER TABLE sessions ADD CONSTRAINT own FOREIGN KEY ("userId") REFERENCES users DEFERRABLE`,
		"key that restricts":        `ALTER TABLE sessions ADD CONSTRAINT own FOREIGN KEY ("userId") REFERENCES users`,
		"collation": `CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
			ALTER TABLE users ALTER email TYPE text COLLATE folding`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema := newSchema(t)
			makeAuthJSTables(t, inSchema(t, schema))
			pool := withParameters(t, map[string]string{"search_path": schema, "timezone": "America/New_York"})
			execSQL(t, pool, person+change, pgx.QueryExecModeSimpleProtocol)
			a := newAdapter(t, pool)
			err := a.EnsureSchema(t.Context())
			statements := advised.FindAllString(fmt.Sprint(err), -1)
			require.NotEmptyf(t, statements, "no advice in %v", err)
			for _, s := range statements {
				execSQL(t, pool, s)
			}
			require.NoError(t, a.EnsureSchema(t.Context()))
			ada := must(a.GetUserByEmail(t.Context(), "Ada@example.com"))(t)
			both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
			assert.Truef(t, ada != nil && ada.ID == "7" && both != nil && both.Session.Expires.Equal(adaExpires) && both.User.ID == "7",
				"got %v, %v", ada, both)
			passkey := must(a.GetAuthenticator(t.Context(), "theirs"))(t)
			assert.Falsef(t, passkey != nil && (passkey.Counter != 5 || !passkey.CredentialBackedUp), "got %v", passkey)
			must(a.CreateUser(t.Context(), adapter.User{}))(t)
		})
	}
}

// TestLeastRights: the rights of the README are enough for every call. With one right
// less the first call names it.
func TestLeastRights(t *testing.T) {
	t.Parallel()
	_, pool, schema := wirings[0].newStore(t)
	tables := []string{"users", "accounts", "sessions", "verification_token", "authenticators", "passwords"}
	role := newRole(t, pool, schema)
	execSQL(t, pool, `REVOKE ALL ON ALL TABLES IN SCHEMA `+schema+` FROM `+role)
	for _, table := range tables {
		execSQL(t, pool, `GRANT SELECT, INSERT, UPDATE, DELETE ON `+schema+`.`+table+` TO `+role)
	}
	as := asRole(t, role)
	a := newAdapter(t, as, postgres.WithSchema(schema))
	require.NoError(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())))
	fillRecords(t, pool, wiring{}, schema, 3)
	for _, c := range calls(t.Context(), a, 1, "u1") {
		assert.NoError(t, c.do(), c.method)
	}
	must(a.DeleteExpired(t.Context(), time.Now()))(t)
	for _, table := range tables {
		for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
			execSQL(t, pool, `REVOKE `+right+` ON `+schema+`.`+table+` FROM `+role)
			_, err := newAdapter(t, as, postgres.WithSchema(schema)).CreateUser(t.Context(), adapter.User{Email: right + table})
			advice := fmt.Sprintf(`GRANT %s ON "%s"."%s" TO "%s"`, right, schema, table, role)
			assert.ErrorContains(t, err, advice)
			execSQL(t, pool, advice)
		}
	}
	execSQL(t, pool, `REVOKE USAGE ON SCHEMA `+schema+` FROM `+role)
	_, err := newAdapter(t, as, postgres.WithSchema(schema)).GetUser(t.Context(), "x")
	assert.ErrorContains(t, err, "GRANT USAGE ON SCHEMA")
	found := withParameters(t, map[string]string{"role": role, "search_path": schema})
	_, err = newAdapter(t, found).GetUser(t.Context(), "x")
	advice := fmt.Sprintf(`GRANT USAGE ON SCHEMA %s TO "%s"`, schema, role)
	assert.ErrorContains(t, err, advice)
	execSQL(t, pool, advice)
	must(newAdapter(t, found).GetUser(t.Context(), "x"))(t)
	n := value[int](t, pool, `SELECT count(*)::int FROM `+schema+`.users WHERE email LIKE 'SELECT%' OR email LIKE 'INSERT%'`)
	assert.Equalf(t, 0, n, "%d users were stored without a right", n)
}

// TestSettingsOfTheRole: no setting of a role, database or connection changes what a
// call does, in any execution mode.
func TestSettingsOfTheRole(t *testing.T) {
	settings := map[string]string{
		"DateStyle": "German, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Asia/Kathmandu", "bytea_output": "escape", "extra_float_digits": "-15",
		"quote_all_identifiers": "on", "transform_null_equals": "on", "default_transaction_isolation": "serializable", "plan_cache_mode": "force_generic_plan",
		"enable_indexscan": "off", "row_security": "off", "xmloption": "document", "default_transaction_deferrable": "on",
		"standard_conforming_strings": "off", "client_encoding": "LATIN1", "exit_on_error": "on", "array_nulls": "off",
	}
	for _, w := range wirings {
		if w.authJS || w.pooler || w.maxConns > 0 || w.zone != "" {
			continue
		}
		for setting, to := range settings {
			t.Run(w.name+"/"+setting, func(t *testing.T) {
				t.Parallel()
				schema := newSchema(t)
				pool := w.poolWith(t, map[string]string{setting: to})
				a := newAdapter(t, pool, postgres.WithSchema(schema))
				require.NoError(t, a.EnsureSchema(t.Context()))
				callEveryMethod(t, a)
				// What this handle writes, a handle with the usual settings reads.
				zoe := must(a.CreateUser(t.Context(), adapter.User{Name: new(`Zoë \' 王`), Email: "zoë@example.com"}))(t)
				usual := newAdapter(t, wiring{}.pool(t), postgres.WithSchema(schema))
				same(t, "the user in the other handle", must(usual.GetUserByEmail(t.Context(), "zoë@example.com"))(t), *zoe)
				_, err := a.CreateSession(t.Context(), adapter.Session{SessionToken: "nobody's", UserID: "nobody", Expires: time.Now()})
				assert.ErrorIsf(t, err, adapter.ErrNotFound, "a session of nobody: got %v, want ErrNotFound", err)
				_, err = a.UpdateUser(t.Context(), adapter.UserUpdate{ID: must(a.CreateUser(t.Context(), adapter.User{}))(t).ID, Email: adapter.To("zoë@example.com")})
				assert.ErrorIsf(t, err, adapter.ErrConflict, "a taken address: got %v, want ErrConflict", err)
			})
		}
	}
}

// TestSettingsOfTheCaller: a connection and a transaction of the caller keep their settings.
func TestSettingsOfTheCaller(t *testing.T) {
	t.Parallel()
	_, _, schema := wirings[0].newStore(t)
	pool := withParameters(t, map[string]string{"client_encoding": "LATIN1"})
	a := newAdapter(t, pool, postgres.WithSchema(schema))
	tx, _ := begin(t, pool)
	zoe := must(a.On(tx).CreateUser(t.Context(), adapter.User{Email: "zoë@example.com"}))(t)
	assert.Equal(t, "LATIN1", value[string](t, tx, `SHOW client_encoding`), "the transaction has the encoding")
	refused(a.On(tx).CreateUser(t.Context(), adapter.User{ID: zoe.ID}))(t, "", adapter.ErrConflict)
	require.NoError(t, tx.Commit(t.Context()))
	usual := newAdapter(t, wiring{}.pool(t), postgres.WithSchema(schema))
	same(t, "the user", must(usual.GetUserByEmail(t.Context(), "zoë@example.com"))(t), *zoe)

	replica := withParameters(t, map[string]string{"session_replication_role": "replica"})
	err := newAdapter(t, replica, postgres.WithSchema(schema)).CheckSchema(t.Context())
	assert.ErrorContains(t, err, "session_replication_role")
}
