package sqlite_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
)

// The code of docs/migrate.md, which shows the lines above each return.

func atDrizzle(db *sql.DB) (*sqlite.Adapter, error) {
	site := sqlite.Drizzle()
	site.Instants = sqlite.Milliseconds // mode: "timestamp_ms", as Auth.js documents; Seconds for mode: "timestamp"
	store, err := sqlite.New(db, sqlite.WithLayout(site))
	return store, err
}

func atPrisma(db *sql.DB) (*sqlite.Adapter, error) {
	site := sqlite.Prisma()
	site.Instants = sqlite.Text // Prisma 7 by default; Milliseconds with timestampFormat: "unixepoch-ms", or before
	store, err := sqlite.New(db, sqlite.WithLayout(site))
	return store, err
}

func atT3(db *sql.DB) (*sqlite.Adapter, error) {
	site := sqlite.Drizzle()
	site.VerificationTokens, site.Instants = "verification_token", sqlite.Seconds
	store, err := sqlite.New(db, sqlite.WithPrefix("project_"), sqlite.WithLayout(site))
	return store, err
}

// TestMigrate follows docs/migrate.md at each site. Then every user, account and session is
// what it was.
func TestMigrate(t *testing.T) {
	page := string(must(os.ReadFile("../../docs/migrate.md"))(t))
	for origin, c := range map[string]struct {
		site   string
		change *strings.Replacer // of its tables and rows
		open   func(*sql.DB) (*sqlite.Adapter, error)
	}{
		"Drizzle on SQLite": {"Drizzle", strings.NewReplacer(), atDrizzle},
		"Prisma on SQLite": {"Prisma", strings.NewReplacer("2209118400000", "'2040-01-02T12:00:00.000+00:00'",
			"1700000000000", "'2023-11-14T22:13:20.000+00:00'"), atPrisma},
		"create-t3-app on SQLite": {"create-t3-app", strings.NewReplacer("p1_", "project_"), atT3},
	} {
		t.Run(origin, func(t *testing.T) {
			if !strings.Contains(page, "\n### "+origin+"\n") {
				t.Fatal("the guide has no such section")
			}
			s := sites()[c.site]
			if strings.HasSuffix(s.tables, ".sql") {
				s.tables = string(must(os.ReadFile("testdata/" + s.tables))(t))
			}
			s.tables, s.person = c.change.Replace(s.tables), c.change.Replace(s.person)
			a := must(c.open(s.make(t, wirings[0])))(t)
			if err := a.EnsureSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			s.use(t, a) // begins with what the site knows of its person
		})
	}
}
