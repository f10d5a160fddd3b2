package sqlite_test

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func schemaObjects(t *testing.T, db sqlite.DB) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	objects := make(map[string]string)
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		objects[name] = text
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return objects
}

// A migration tool that runs the files in order makes what EnsureSchema makes.
func TestSchemaFiles(t *testing.T) {
	w := wirings[0]
	db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
	names, err := fs.Glob(sqlite.Schema(), "*")
	if err != nil || len(names) == 0 {
		t.Fatalf("got %v, %v", names, err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(sqlite.Schema(), name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), "CREATE") != strings.Count(string(text), "IF NOT EXISTS") {
			t.Errorf("%s has a statement that cannot be repeated", name)
		}
		run(t, db, string(text))
	}
	byHand := schemaObjects(t, db)
	newAdapter(t, db)
	_, ensured := w.newAdapter(t)
	for name, text := range schemaObjects(t, ensured) {
		if byHand[name] != text {
			t.Errorf("%s: by hand %q, by EnsureSchema %q", name, byHand[name], text)
		}
		delete(byHand, name)
	}
	if len(byHand) != 0 {
		t.Errorf("EnsureSchema does not make %v", byHand)
	}
}

func TestPrefixOnEveryName(t *testing.T) {
	w := wirings[0]
	db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
	newAdapter(t, db, sqlite.WithPrefix("gh_"))
	for name, text := range schemaObjects(t, db) {
		if !strings.HasPrefix(name, "gh_") || strings.Count(text, `"`) != 2*strings.Count(text, `"gh_`) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// [CAP-03]
func TestEnsureSchemaChangesNoData(t *testing.T) {
	a, _ := wirings[0].newAdapter(t)
	u := newUser(t, a, "ada@example.com")
	giveOneOfEach(t, a, u.ID, "k")
	if err := a.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := countOfEach(t, a, "k"); n != 3 {
		t.Errorf("found %d records of 3", n)
	}
}

// A table of the application's is neither used nor touched.
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
				a, err := sqlite.New(db)
				if err != nil {
					t.Fatal(err)
				}
				err = a.EnsureSchema(t.Context())
				if err == nil || !strings.Contains(err.Error(), "not one of this package") && !strings.Contains(err.Error(), "want UTF-8") {
					t.Errorf("got %v, want an error that says what is wrong", err)
				}
				for object := range schemaObjects(t, db) {
					if strings.HasSuffix(object, "_idx") || strings.HasSuffix(object, "_trg") {
						t.Errorf("%s was created", object)
					}
				}
			})
		})
	}
}

func TestCallsBeforeTheSchemaFail(t *testing.T) {
	db := wirings[0].openDB(t, filepath.Join(t.TempDir(), "test.db"))
	a, err := sqlite.New(db)
	if err != nil {
		t.Fatal(err)
	}
	if u, err := a.GetUser(t.Context(), "1"); err == nil {
		t.Errorf("got %v, want an error", u)
	}
	if err := a.EnsureSchema(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := a.CreateUser(t.Context(), adapter.User{ID: "1"}); err != nil {
		t.Error(err)
	}
	if u, err := a.GetUser(t.Context(), "1"); u == nil || err != nil {
		t.Errorf("once the schema is there: got %v, %v", u, err)
	}
}

func TestImportsNoDriver(t *testing.T) {
	pkg, err := build.ImportDir(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pkg.Imports {
		if strings.Contains(path, ".") && path != "github.com/gatehouse-go/gatehouse/auth/adapter" {
			t.Errorf("the package imports %s", path)
		}
	}
}
