package postgres_test

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// inSchema opens a pool whose search path is the schema.
func inSchema(t testing.TB, schema string) *pgxpool.Pool {
	t.Helper()
	return withParameters(t, map[string]string{"search_path": schema})
}

// makeAuthJSTables makes the tables that Auth.js documents.
func makeAuthJSTables(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	execSQL(t, pool, postgrestest.AuthJSTables)
}

// authJSDatabase makes the tables that Auth.js documents, with two users.
func authJSDatabase(t testing.TB) *pgxpool.Pool {
	t.Helper()
	pool := inSchema(t, newSchema(t))
	makeAuthJSTables(t, pool)
	execSQL(t, pool, `INSERT INTO users (name, email) VALUES ('One', 'one@example.com'), (NULL, NULL);
		INSERT INTO accounts ("userId", type, provider, "providerAccountId") VALUES (1, 'oauth', 'gh', '1'), (2, 'oauth', 'gh', '2');
		INSERT INTO sessions ("userId", expires, "sessionToken") VALUES (1, '2100-01-01', 's1'), (2, '2100-01-01', 's2');
		INSERT INTO verification_token VALUES ('x@example.com', '2100-01-01', 't')`)
	return pool
}

// dump returns every row of the tables of Auth.js.
func dump(t testing.TB, db postgres.DB) []string {
	t.Helper()
	var all []string
	for _, table := range []string{"users", "accounts", "sessions", "verification_token"} {
		all = append(all, table+": "+value[string](t, db,
			`SELECT COALESCE(string_agg(row, E'\n' ORDER BY row), '') FROM (SELECT (to_jsonb(t) - 'authorization_details')::text AS row FROM `+table+` AS t) AS r`))
	}
	return all
}

// catalogue lists the columns, indexes and constraints of the schema that the
// search path names.
func catalogue(t testing.TB, db postgres.DB) string {
	t.Helper()
	return value[string](t, db, `SELECT string_agg(line, E'\n' ORDER BY line) FROM (
		SELECT c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) AS line
			FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
			WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND a.attnum > 0
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema()
		UNION ALL SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
	) AS lines`)
}

// TestEnsureSchemaTakesNoLocks calls EnsureSchema on complete tables, as a role
// without the right to create objects, while an open transaction has written to
// every table.
func TestEnsureSchemaTakesNoLocks(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	role := newRole(t, pool, schema)
	busy, _ := begin(t, pool)
	callEveryMethod(t, a.On(busy))
	limited := newAdapter(t, asRole(t, role), postgres.WithSchema(schema))
	assert.NoError(t, limited.EnsureSchema(t.Context()))
	assert.NoError(t, limited.CheckSchema(t.Context()))
}

// asRole opens a pool whose sessions have the rights of the role.
func asRole(t testing.TB, role string) *pgxpool.Pool {
	t.Helper()
	return withParameters(t, map[string]string{"role": role})
}

// TestCallsBeforeEnsureSchema calls methods on the unchanged tables of Auth.js,
// and again after another process has completed them.
func TestCallsBeforeEnsureSchema(t *testing.T) {
	t.Parallel()
	pool := authJSDatabase(t)
	a, before := newAdapter(t, pool), catalogue(t, pool)
	_, err := a.GetUser(t.Context(), "1")
	check := a.CheckSchema(t.Context())
	for _, err := range []error{err, check} {
		for _, want := range []string{"EnsureSchema", `"sessions" has no unique index on "sessionToken"`, `the table "authenticators" is missing`} {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.Empty(t, cmp.Diff(before, catalogue(t, pool)), "the failed calls changed something")
	require.NoError(t, newAdapter(t, pool).EnsureSchema(t.Context()))
	user := must(a.GetUser(t.Context(), "1"))(t)
	assert.Truef(t, user != nil && *user.Name == "One", "got %+v", user)
	assert.NoError(t, a.CheckSchema(t.Context()))
}

// TestSchemaChanges runs the statements as a migration tool would.
func TestSchemaChanges(t *testing.T) {
	for name, makeTables := range map[string]bool{"new database": false, "Auth.js": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := inSchema(t, newSchema(t))
			if makeTables {
				makeAuthJSTables(t, pool)
			}
			a := newAdapter(t, pool)
			for _, statement := range must(a.SchemaChanges(t.Context()))(t) {
				execSQL(t, pool, statement)
			}
			require.NoError(t, a.CheckSchema(t.Context()))
			before := catalogue(t, pool)
			require.NoError(t, a.EnsureSchema(t.Context()))
			assert.Empty(t, cmp.Diff(before, catalogue(t, pool)), "EnsureSchema makes something else")
			assert.Empty(t, must(a.SchemaChanges(t.Context()))(t), "left to do")
			callEveryMethod(t, a)
		})
	}
}

// TestNextVersion upgrades databases that this version and Auth.js made to a
// version that needs one more column and index, while this version goes on.
func TestNextVersion(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, pool *pgxpool.Pool){
		"new database": func(*testing.T, *pgxpool.Pool) {},
		"ours": func(t *testing.T, pool *pgxpool.Pool) {
			require.NoError(t, newAdapter(t, pool).EnsureSchema(t.Context()))
		},
		"Auth.js": func(t *testing.T, pool *pgxpool.Pool) { makeAuthJSTables(t, pool) },
		"Auth.js, adopted": func(t *testing.T, pool *pgxpool.Pool) {
			makeAuthJSTables(t, pool)
			require.NoError(t, newAdapter(t, pool).EnsureSchema(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := inSchema(t, newSchema(t))
			prepare(t, pool)
			old := newAdapter(t, pool)
			next := old.NextVersion()
			if old.CheckSchema(t.Context()) == nil { // its statements must be prepared before the tables change
				callEveryMethod(t, old)
				execSQL(t, pool, `TRUNCATE users, verification_token CASCADE`)
			}
			if name != "new database" && name != "Auth.js" {
				assert.ErrorContains(t, next.CheckSchema(t.Context()), "locale", "before")
			}
			require.NoError(t, next.EnsureSchema(t.Context()))
			assert.Equal(t, 3, value[int](t, pool, `SELECT version FROM gatehouse_schema`), "got version")
			shape := catalogue(t, pool)
			for _, a := range []*postgres.Adapter{old, next} {
				require.NoError(t, a.EnsureSchema(t.Context()))
				callEveryMethod(t, a)
				execSQL(t, pool, `TRUNCATE users, verification_token CASCADE`)
			}
			assert.Empty(t, cmp.Diff(shape, catalogue(t, pool)), "an old process changed the tables")
		})
	}
}

func TestEnsureSchemaOnAuthJSDatabase(t *testing.T) {
	t.Parallel()
	pool := authJSDatabase(t)
	execSQL(t, pool, `INSERT INTO sessions ("userId", expires, "sessionToken") VALUES (99, '2100-01-01', 'orphan')`)
	before := dump(t, pool)
	a := newAdapter(t, pool)
	for range 2 {
		require.NoError(t, a.EnsureSchema(t.Context()))
		require.Empty(t, cmp.Diff(before, dump(t, pool)), "rows changed")
	}
	require.Nil(t, must(a.GetSessionAndUser(t.Context(), "orphan"))(t), "GetSessionAndUser of an orphan")
	callEveryMethod(t, a)
	long := strings.Repeat("x", 512)
	must(a.CreateSession(t.Context(), adapter.Session{SessionToken: long, UserID: "1", Expires: time.Now()}))(t)
}

func TestEnsureSchemaNamesDuplicates(t *testing.T) {
	t.Parallel()
	pool := authJSDatabase(t)
	execSQL(t, pool, `INSERT INTO users (email) VALUES ('one@example.com');
		INSERT INTO accounts ("userId", type, provider, "providerAccountId") VALUES (2, 'oauth', 'gh', '1');
		INSERT INTO sessions ("userId", expires, "sessionToken") VALUES (2, '2100-01-01', 'secret-token'), (2, '2100-01-01', 'secret-token')`)
	rows, shape := dump(t, pool), catalogue(t, pool)
	a := newAdapter(t, pool)
	err := a.EnsureSchema(t.Context())
	require.ErrorIsf(t, err, adapter.ErrConflict, "got %v, want ErrConflict", err)
	for _, want := range []string{"one@example.com", "'gh'", "'1'", "id 3, 4"} {
		assert.Containsf(t, err.Error(), want, "%v: does not say %s", err, want)
	}
	assert.NotContainsf(t, err.Error(), "secret-token", "the error holds a session token: %v", err)
	execSQL(t, pool, `DROP TABLE gatehouse_schema`) // the only table that EnsureSchema makes before it refuses
	assert.Empty(t, cmp.Diff(rows, dump(t, pool))+cmp.Diff(shape, catalogue(t, pool)),
		"the failed call changed something")
	execSQL(t, pool, `DELETE FROM users WHERE id = 3; DELETE FROM accounts WHERE id = 3; DELETE FROM sessions WHERE id = 4`)
	require.NoError(t, a.EnsureSchema(t.Context()))
}

func TestEnsureSchemaRefusesOtherTables(t *testing.T) {
	t.Parallel()
	pool := inSchema(t, newSchema(t))
	execSQL(t, pool, `CREATE TABLE users (id bigint PRIMARY KEY, login text);
		CREATE TABLE sessions (id text, "userId" text, "sessionToken" text, expires timestamp)`)
	before := catalogue(t, pool)
	err := newAdapter(t, pool).EnsureSchema(t.Context())
	assert.Truef(t, err != nil && strings.Contains(err.Error(), `"emailVerified"`) && strings.Contains(err.Error(), `"sessions"."expires" is of the type timestamp without time zone`),
		"got %v, want an error that names the columns", err)
	assert.Empty(t, cmp.Diff(before, catalogue(t, pool)), "the failed call changed something")
}

// TestEnsureSchemaRefuses tests tables that can't keep the promises of the
// contract.
func TestEnsureSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ sql, want string }{
		"citext": {`CREATE EXTENSION IF NOT EXISTS citext SCHEMA pg_catalog; ALTER TABLE users ALTER COLUMN email TYPE citext`,
			`"users"."email" is of the type citext, want text`},
		"a collation that folds case": {`CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
			ALTER TABLE users ALTER COLUMN email TYPE text COLLATE folding`, `"users"."email" has a collation that treats different texts as equal`},
		"a key on an expression":      {`CREATE UNIQUE INDEX one_address ON users (lower(email))`, `unique index "one_address" of "users" is on an expression of "email"`},
		"a column of the application": {`ALTER TABLE users ADD COLUMN tenant text NOT NULL DEFAULT 'x'; ALTER TABLE users ALTER COLUMN tenant DROP DEFAULT`, `"users"."tenant" does not accept null, and the adapter does not write it`},
		"a key without cascade": {`CREATE UNIQUE INDEX ON users (id); ALTER TABLE sessions ADD CONSTRAINT strict FOREIGN KEY ("userId") REFERENCES users (id)`,
			`foreign key "strict" of "sessions" is deferrable or lacks ON DELETE CASCADE`},
		"a view":          {`ALTER TABLE accounts RENAME TO all_accounts; CREATE VIEW accounts AS TABLE all_accounts`, `"accounts" is not a plain table`},
		"IDs that differ": {`ALTER TABLE sessions ALTER COLUMN "userId" TYPE text`, `"sessions"."userId" has the type text "default", but "users".id has the type integer`},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "citext" { // the type citext is made once for the whole database
				t.Parallel()
			}
			pool := authJSDatabase(t)
			execSQL(t, pool, c.sql)
			before := catalogue(t, pool)
			a := newAdapter(t, pool)
			_, first := a.GetUser(t.Context(), "1")
			_, changes := a.SchemaChanges(t.Context())
			for _, err := range []error{a.EnsureSchema(t.Context()), a.CheckSchema(t.Context()), first, changes} {
				assert.ErrorContains(t, err, c.want)
			}
			assert.Empty(t, cmp.Diff(before, catalogue(t, pool)), "the failed calls changed something")
		})
	}
}

// TestMissingRights tests a role that may use the tables but not alter them,
// and a role that may not even write rows.
func TestMissingRights(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	pool := inSchema(t, schema)
	makeAuthJSTables(t, pool)
	role := "gatehouse_" + strings.ToLower(rand.Text())
	execSQL(t, pool, `CREATE ROLE `+role)
	cleanup(t, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	execSQL(t, pool, `GRANT USAGE ON SCHEMA `+schema+` TO `+role)
	a := newAdapter(t, asRole(t, role), postgres.WithSchema(schema))
	assert.ErrorContains(t, a.EnsureSchema(t.Context()), "GRANT SELECT", "without any right")
	execSQL(t, pool, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA `+schema+` TO `+role)
	execSQL(t, pool, `GRANT USAGE ON ALL SEQUENCES IN SCHEMA `+schema+` TO `+role)
	assert.ErrorContains(t, a.EnsureSchema(t.Context()), `users" belongs to `, "not the owner")
	changes, err := a.SchemaChanges(t.Context())
	assert.Truef(t, err == nil && len(changes) >= 10, "got %q, %v, want the statements for the owner", changes, err)
	execSQL(t, pool, `DROP TABLE users, accounts, sessions, verification_token`)
	assert.ErrorContains(t, a.EnsureSchema(t.Context()), "SchemaChanges", "may not create")
}

func TestEnsureSchemaInATransaction(t *testing.T) {
	t.Parallel()
	pool := inSchema(t, newSchema(t))
	tx, _ := begin(t, pool)
	err := newAdapter(t, tx).EnsureSchema(t.Context())
	assert.ErrorContains(t, err, "can't run in a transaction")
	require.NoError(t, newAdapter(t, pool).EnsureSchema(t.Context()))
	assert.NoError(t, newAdapter(t, tx).CheckSchema(t.Context()))
}

// TestForeignIDs runs on tables whose user IDs are of other types.
func TestForeignIDs(t *testing.T) {
	for name, typ := range map[string]string{
		"uuid":             `uuid PRIMARY KEY`,
		"text, no default": `text PRIMARY KEY`,
		"varchar":          `varchar(64) COLLATE "en_US" PRIMARY KEY`,
		"bigint":           `bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := inSchema(t, newSchema(t))
			if strings.Contains(typ, "en_US") {
				typ = strings.Replace(typ, `"en_US"`, `"und-x-icu"`, 1)
			}
			child := strings.NewReplacer(" PRIMARY KEY", "", "GENERATED ALWAYS AS IDENTITY", "").Replace(typ) + ` NOT NULL`
			execSQL(t, pool, `CREATE TABLE users (id `+typ+`, name text, email text, "emailVerified" timestamptz, image text)`)
			execSQL(t, pool, `CREATE TABLE sessions (id serial, "userId" `+child+`, "sessionToken" text, expires timestamptz)`)
			execSQL(t, pool, `CREATE TABLE accounts (id serial, "userId" `+child+`, type text, provider text, "providerAccountId" text,
				refresh_token text, access_token text, expires_at bigint, id_token text, scope text, session_state text, token_type text)`)
			a := newAdapter(t, pool)
			require.NoError(t, a.EnsureSchema(t.Context()))
			callEveryMethod(t, a)
		})
	}
}

func TestUnknownIDType(t *testing.T) {
	t.Parallel()
	pool := inSchema(t, newSchema(t))
	a := newAdapter(t, pool)
	assert.ErrorContains(t, erred(a.GetUser(t.Context(), "1")), "EnsureSchema", "without tables")
	execSQL(t, pool, `CREATE TABLE users (id numeric)`)
	assert.ErrorContains(t, erred(a.GetUser(t.Context(), "1")), "numeric")
}

// TestSchemaFiles runs the files as a migration tool would; EnsureSchema then
// finds nothing to add.
func TestSchemaFiles(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(postgres.Schema(), "*.sql")
	require.Truef(t, err == nil && len(files) != 0, "got %v, %v", files, err)
	pool := inSchema(t, newSchema(t))
	for _, name := range files {
		sql := must(fs.ReadFile(postgres.Schema(), name))(t)
		execSQL(t, pool, string(sql))
	}
	before := catalogue(t, pool)
	a := newAdapter(t, pool)
	require.NoError(t, a.EnsureSchema(t.Context()))
	assert.Empty(t, cmp.Diff(before, catalogue(t, pool)), "EnsureSchema makes something else than the files")
	callEveryMethod(t, a)
}

// TestNamespaces: two adapters share one database. Their names begin with each
// other and contain pattern characters.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	odd := schema + `_%; "x`
	_, err := postgres.New(wiring{}.pool(t), postgres.WithSchema(odd))
	assert.Error(t, err, "a schema with a quote is accepted")
	odd = schema + `_% Ünïcode.--;`
	dropSchema(t, odd)
	pool := wiring{}.pool(t)
	var stores []*postgres.Adapter
	for _, opts := range [][]postgres.Option{
		{postgres.WithSchema(schema)},
		{postgres.WithSchema(schema), postgres.WithPrefix("a")},
		{postgres.WithSchema(schema), postgres.WithPrefix("a%s_")},
		{postgres.WithSchema(schema), postgres.WithPrefix("users_")},
		{postgres.WithSchema(odd)},
		{postgres.WithSchema(odd), postgres.WithPrefix("Ä .;--/*")},
	} {
		a := newAdapter(t, pool, opts...)
		require.NoError(t, a.EnsureSchema(t.Context()))
		stores = append(stores, a)
	}
	for _, a := range stores {
		callEveryMethod(t, a) // would conflict with records of another adapter
	}
	ids := map[string]bool{}
	for _, a := range stores {
		u := must(a.CreateUser(t.Context(), adapter.User{ID: "same", Email: "same@example.com", Name: new("x")}))(t)
		must(a.CreateSession(t.Context(), adapter.Session{SessionToken: "same", UserID: u.ID}))(t)
		ids[u.ID] = true
	}
	must(stores[1].DeleteUser(t.Context(), "same"))(t)
	must(stores[2].DeleteExpired(t.Context(), time.Now()))(t)
	for i, a := range stores {
		s := must(a.GetSessionAndUser(t.Context(), "same"))(t)
		assert.Equalf(t, s == nil, i == 1 || i == 2, "store %d: got %v", i, s)
	}
}

func TestOptionsRefuse(t *testing.T) {
	t.Parallel()
	var conn *pgx.Conn
	for name, opts := range map[string][]postgres.Option{
		"empty schema": {postgres.WithSchema("")},
		"empty prefix": {postgres.WithPrefix("")},
		"NUL":          {postgres.WithSchema("a\x00b")},
		"not UTF-8":    {postgres.WithPrefix("\xff")},
		"quote":        {postgres.WithPrefix(`a"b`)},
		"apostrophe":   {postgres.WithPrefix(`a'b`)},
		"long schema":  {postgres.WithSchema(strings.Repeat("x", 64))},
		"long prefix":  {postgres.WithPrefix(strings.Repeat("x", 30))},
	} {
		a, err := postgres.New(conn, opts...)
		assert.Errorf(t, err, "%s: got %v, want an error", name, a)
	}
	_, err := postgres.New(nil)
	assert.Error(t, err, "a nil handle is accepted")
}

func TestErrorsHoldNoValues(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	execSQL(t, pool, `ALTER TABLE `+schema+`.sessions ADD CHECK ("sessionToken" <> 'secret-token')`)
	user := must(a.CreateUser(t.Context(), adapter.User{}))(t)
	_, err := a.CreateSession(t.Context(), adapter.Session{SessionToken: "secret-token", UserID: user.ID})
	var pgErr *pgconn.PgError
	require.Truef(t, errors.As(err, &pgErr) && pgErr.Code == "23514", "got %v, want a check violation", err)
	assert.NotContainsf(t, err.Error()+pgErr.Detail+pgErr.Where+pgErr.Message, "secret-token",
		"the token is in %+v", pgErr)
}

// TestDeleteUserKeptByTheApplication: a table of the application refuses the
// deletion. Then nothing is deleted, and the error differs from the error for an
// absent user.
func TestDeleteUserKeptByTheApplication(t *testing.T) {
	t.Parallel()
	a, pool, schema := wirings[0].newStore(t)
	ctx := t.Context()
	execSQL(t, pool, `CREATE TABLE `+schema+`.orders ("userId" text COLLATE "C" REFERENCES `+schema+`.users)`)
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "t", UserID: user.ID, Expires: time.Now().Add(time.Hour)}))(t)
	execSQL(t, pool, `INSERT INTO `+schema+`.orders VALUES ($1)`, user.ID)
	deleted, err := a.DeleteUser(ctx, user.ID)
	var pgErr *pgconn.PgError
	assert.Truef(t, deleted == nil && errors.As(err, &pgErr) && pgErr.Code == "23503" && !errors.Is(err, adapter.ErrNotFound) && !errors.Is(err, adapter.ErrConflict),
		"got %v, %v, want the error of a foreign key", deleted, err)
	assert.NotNil(t, must(a.GetSessionAndUser(ctx, "t"))(t), "the session is gone")
}
