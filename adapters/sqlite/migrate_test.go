package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func atBetterAuth(db *sql.DB) (*sqlite.Adapter, error) {
	store, err := sqlite.New(db, sqlite.WithPrefix("auth_"), sqlite.WithNewTables())
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
			require.Contains(t, page, "\n### "+origin+"\n", "the guide has no such section")
			s := sites()[c.site]
			if strings.HasSuffix(s.tables, ".sql") {
				s.tables = string(must(os.ReadFile("testdata/" + s.tables))(t))
			}
			s.tables, s.person = c.change.Replace(s.tables), c.change.Replace(s.person)
			a := must(c.open(s.make(t, wirings[0])))(t)
			require.NoError(t, a.EnsureSchema(t.Context()))
			s.use(t, a) // begins with what the site knows of its person
		})
	}
}

// TestMigrateFromBetterAuth follows the section that the error at tables of better-auth names.
func TestMigrateFromBetterAuth(t *testing.T) {
	db := wirings[0].openDB(t, filepath.Join(t.TempDir(), "better.db"))
	run(t, db, betterAuth+`
		INSERT INTO user VALUES ('ck1', 'Ada', 'ada@example.com', 1, NULL, '2024-01-01T00:00:00.000Z', '2024-01-01T00:00:00.000Z');
		INSERT INTO account (id, accountId, providerId, userId, accessToken, accessTokenExpiresAt, scope, password, createdAt, updatedAt) VALUES
			('a', '1', 'p', 'ck1', 'at', '2033-05-18T03:33:20.000Z', 'a,b', NULL, '2024-01-01', '2024-01-01'),
			('b', 'ck1', 'credential', 'ck1', NULL, NULL, NULL, 'hash', '2024-01-01', '2024-01-01');`)
	named := regexp.MustCompile(`docs/migrate.md, section "(.*?)"`).FindStringSubmatch(fmt.Sprint(must(sqlite.New(db))(t).EnsureSchema(t.Context())))
	require.NotNil(t, named, "the error names no section")
	_, section, _ := strings.Cut(string(must(os.ReadFile("../../docs/migrate.md"))(t)), "\n### "+named[1]+"\n")
	section, _, _ = strings.Cut(section, "\n### ")
	a := must(atBetterAuth(db))(t)
	require.NoError(t, a.EnsureSchema(t.Context()))
	block := regexp.MustCompile("(?s)```sql\n(.*?)```").FindStringSubmatch(section)
	require.NotNilf(t, block, "no statements in %q", section)
	run(t, db, block[1])
	a = must(atBetterAuth(db))(t)
	require.NoError(t, a.EnsureSchema(t.Context()))
	ada := must(a.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))(t)
	account := must(a.GetAccount(t.Context(), "1", "p"))(t)
	assert.Truef(t, ada != nil && ada.ID == adaID && ada.Email == adaEmail && ada.EmailVerified != nil &&
		time.Since(*ada.EmailVerified) <= time.Minute,
		"got %v", ada)
	assert.Truef(t, account != nil && *account.ExpiresAt == 2000000000 && *account.Scope == "a b" && *account.AccessToken == "at",
		"got %v", account)
	assert.Len(t, must(a.ListAccountsByUserID(t.Context(), adaID))(t), 1, "got the accounts")
}
