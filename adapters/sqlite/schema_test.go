package sqlite_test

import (
	"database/sql"
	"errors"
	"go/build"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A migration tool that runs the files in order makes the same schema as
// EnsureSchema.
func TestSchemaFiles(t *testing.T) {
	w := wirings[0]
	db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
	names, err := fs.Glob(sqlite.Schema(), "*")
	require.Truef(t, err == nil && len(names) != 0, "got %v, %v", names, err)
	for _, name := range names {
		text := must(fs.ReadFile(sqlite.Schema(), name))(t)
		run(t, db, string(text))
	}
	byHand := objects(t, db)
	newAdapter(t, db)
	_, ensured := w.newAdapter(t)
	assert.Equal(t, objects(t, ensured), byHand, "EnsureSchema makes something else")
}

func TestPrefixOnEveryName(t *testing.T) {
	w := wirings[0]
	db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
	newAdapter(t, db, sqlite.WithPrefix("gh_"))
	for name, text := range objects(t, db) {
		assert.Truef(t, strings.HasPrefix(name, "gh_") && strings.Count(text, `"`) == 2*strings.Count(text, `"gh_`),
			"%s: %s", name, text)
	}
}

// [CAP-03]
func TestEnsureSchemaChangesNoData(t *testing.T) {
	a, _ := wirings[0].newAdapter(t)
	u := newUser(t, a, "ada@example.com")
	giveOneOfEach(t, a, u.ID, "k")
	require.NoError(t, a.EnsureSchema(t.Context()))
	n := countOfEach(t, a, "k")
	assert.Equalf(t, 3, n, "found %d records of 3", n)
}

// A table of the application with the same name is neither used nor changed.
func TestEnsureSchemaRefusesOtherTables(t *testing.T) {
	for name, create := range map[string]string{
		"a column is missing":      `CREATE TABLE user (id TEXT PRIMARY KEY, email TEXT NOT NULL)`,
		"another has our name":     `CREATE TABLE session (id INTEGER PRIMARY KEY, started INTEGER)`,
		"the case is another":      `CREATE TABLE User (id TEXT PRIMARY KEY, login TEXT)`,
		"a view has the name":      `CREATE VIEW account AS SELECT 1 AS userId`,
		"text is stored as UTF-16": `PRAGMA encoding = "UTF-16"; CREATE TABLE other (id TEXT)`,
	} {
		t.Run(name, func(t *testing.T) {
			eachWiring(t, func(t *testing.T, w wiring) {
				db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
				db.SetMaxOpenConns(1)
				run(t, db, create)
				a := must(sqlite.New(db))(t)
				err := a.EnsureSchema(t.Context())
				assert.Falsef(t, err == nil || !strings.Contains(err.Error(), "use WithPrefix") && !strings.Contains(err.Error(), "want UTF-8"),
					"got %v, want an error that says what is wrong", err)
				for object := range objects(t, db) {
					assert.Truef(t, !strings.HasSuffix(object, "_idx") && !strings.HasSuffix(object, "_trg"), "%s was created", object)
				}
			})
		})
	}
}

func TestCallsBeforeTheSchemaFail(t *testing.T) {
	db := wirings[0].openDB(t, filepath.Join(t.TempDir(), "test.db"))
	a := must(sqlite.New(db))(t)
	u, err := a.GetUser(t.Context(), "1")
	assert.Errorf(t, err, "got %v, want an error", u)
	require.NoError(t, a.EnsureSchema(t.Context()))
	_, err = a.CreateUser(t.Context(), adapter.User{ID: "1"})
	assert.NoError(t, err)
	assert.NotNil(t, must(a.GetUser(t.Context(), "1"))(t), "once the schema is there")
}

// The first call names what a database of @auth/drizzle-adapter lacks.
// EnsureSchema adds that and changes nothing else.
func TestEnsureSchemaOnDrizzleDatabase(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		db, _ := drizzleDatabase(t, w)
		run(t, db, `
			INSERT INTO user (id, name, email, emailVerified) VALUES ('1', 'Ada', 'ada@example.com', 1700000000123), ('2', NULL, NULL, NULL), ('3', NULL, NULL, NULL);
			INSERT INTO session VALUES ('s', '1', 4102444800000);
			INSERT INTO account (userId, type, provider, providerAccountId) VALUES ('1', 'oidc', 'p', '1');
			INSERT INTO authenticator VALUES ('c', '1', '1', 'key', 5, 'singleDevice', 1, NULL)`)
		a := must(sqlite.New(db))(t)
		before := objects(t, db)
		_, err := a.GetUser(t.Context(), "1")
		for _, err := range []error{err, a.CheckSchema(t.Context())} {
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "EnsureSchema") &&
				strings.Contains(err.Error(), `"authenticator" has no column lastUsed`),
				"got %v, want an error that says what is lacking and what to do", err)
		}
		assert.Equal(t, before, objects(t, db), "the failed calls changed something")
		for range 2 {
			require.NoError(t, a.EnsureSchema(t.Context()))
		}
		assert.Empty(t, must(a.SchemaChanges(t.Context()))(t), "left to do")
		u := must(a.GetUser(t.Context(), "2"))(t)
		assert.Truef(t, u != nil && u.Email == "", "a user without an address: got %+v", u)
		if both := must(a.GetSessionAndUser(t.Context(), "s"))(t); both == nil || both.User.Email != "ada@example.com" || both.User.EmailVerified.UnixMilli() != 1700000000123 {
			t.Errorf("got %+v", both)
		}
		must(a.DeleteUser(t.Context(), "1"))(t)
		n := countOfEach(t, a, "c")
		assert.Equalf(t, 0, n, "%d records of the deleted user are left", n)
		run(t, db, `DELETE FROM user; DELETE FROM verificationToken`)
		fillRecords(t, db, 1000)
		callEveryMethod(t, a, 1000)
	})
}

// The statements of SchemaChanges make the same schema as EnsureSchema.
func TestSchemaChanges(t *testing.T) {
	w := wirings[0]
	for name, theirs := range map[string]bool{"new database": false, "Drizzle": true} {
		t.Run(name, func(t *testing.T) {
			db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
			if theirs {
				db, _ = drizzleDatabase(t, w)
			}
			a := must(sqlite.New(db))(t)
			for _, statement := range must(a.SchemaChanges(t.Context()))(t) {
				run(t, db, statement)
			}
			byHand := objects(t, db)
			require.NoError(t, a.EnsureSchema(t.Context()))
			assert.Equal(t, byHand, objects(t, db), "EnsureSchema makes something else")
		})
	}
}

// Databases that this version and Drizzle made get one more column and index from
// a newer version, and this version keeps working on them.
func TestNextVersion(t *testing.T) {
	w := wirings[0]
	for name, prepare := range map[string]func(t *testing.T) *sql.DB{
		"new database": func(t *testing.T) *sql.DB { return w.openDB(t, filepath.Join(t.TempDir(), "test.db")) },
		"ours":         func(t *testing.T) *sql.DB { _, db := w.newAdapter(t); return db },
		"Drizzle":      func(t *testing.T) *sql.DB { db, _ := drizzleDatabase(t, w); return db },
		"Drizzle, adopted": func(t *testing.T) *sql.DB {
			db, _ := drizzleDatabase(t, w)
			newAdapter(t, db)
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := prepare(t)
			old := must(sqlite.New(db))(t)
			next := old.NextVersion()
			assert.Error(t, next.CheckSchema(t.Context()), "the next version is content with the tables of this one")
			require.NoError(t, next.EnsureSchema(t.Context()))
			shape := objects(t, db)
			for _, a := range []*sqlite.Adapter{old, next} {
				require.NoError(t, a.EnsureSchema(t.Context()))
				fillRecords(t, db, 1000)
				callEveryMethod(t, a, 1000)
				run(t, db, `DELETE FROM user; DELETE FROM verificationToken`)
			}
			assert.Equal(t, 3, number(t, db, `SELECT version FROM gatehouse_schema`), "got version")
			assert.Equal(t, shape, objects(t, db), "an old process changed the tables")
		})
	}
}

// Tables that cannot keep the promises of the contract are refused and not
// changed.
func TestEnsureSchemaRefuses(t *testing.T) {
	for name, c := range map[string]struct{ change, want string }{
		"a collation":                 {`DROP TABLE session; CREATE TABLE session (sessionToken TEXT COLLATE NOCASE PRIMARY KEY, userId TEXT NOT NULL, expires INTEGER NOT NULL)`, "has the collation NOCASE"},
		"a key on an expression":      {`CREATE UNIQUE INDEX one_address ON user (lower(email))`, "one_address"},
		"another type":                {`DROP TABLE session; CREATE TABLE session (sessionToken TEXT PRIMARY KEY, userId TEXT NOT NULL, expires DATETIME NOT NULL)`, `"session".expires is of the type DATETIME, want INTEGER`},
		"blobs as IDs":                {`DROP TABLE session; CREATE TABLE session (sessionToken TEXT PRIMARY KEY, userId BLOB NOT NULL, expires INTEGER NOT NULL)`, "no statement makes a text of every blob"},
		"a column of the application": {`ALTER TABLE user ADD COLUMN tenant TEXT NOT NULL DEFAULT ''; DROP TABLE account; CREATE TABLE account (userId TEXT, type TEXT, provider TEXT, providerAccountId TEXT, access_token TEXT, refresh_token TEXT, id_token TEXT, scope TEXT, token_type TEXT, session_state TEXT, expires_at INTEGER, tenant TEXT NOT NULL)`, `"account".tenant does not accept null`},
		"duplicates":                  {`DROP INDEX user_email_unique; INSERT INTO user (id, email) VALUES ('1', 'ada@example.com'), ('2', 'ada@example.com')`, `"ada@example.com"`},
	} {
		t.Run(name, func(t *testing.T) {
			db, _ := drizzleDatabase(t, wirings[0])
			run(t, db, c.change)
			before := objects(t, db)
			err := must(sqlite.New(db))(t).EnsureSchema(t.Context())
			assert.ErrorContains(t, err, c.want)
			assert.Falsef(t, name == "duplicates" && !errors.Is(err, adapter.ErrConflict), "got %v, want ErrConflict", err)
			assert.Equal(t, before, objects(t, db), "the failed call changed something")
		})
	}
}

func TestImportsNoDriver(t *testing.T) {
	pkg := must(build.ImportDir(".", 0))(t)
	for _, path := range pkg.Imports {
		assert.Falsef(t, strings.Contains(path, ".") && path != "github.com/gatehouse-go/gatehouse/auth/adapter",
			"the package imports %s", path)
	}
}
