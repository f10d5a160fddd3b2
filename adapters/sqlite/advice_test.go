package sqlite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAdviceCanBeFollowed runs the statements that an error gives until EnsureSchema accepts
// the tables. Then every user and session is what it was.
func TestAdviceCanBeFollowed(t *testing.T) {
	for name, c := range map[string]struct {
		site     string
		old, now string // in the script of the site
		edit     string
	}{
		"folding column":   {"Drizzle", "`email` text,", "`email` text COLLATE NOCASE,", ""},
		"name is required": {"Drizzle", "`name` text,", "`name` text NOT NULL,", ""},
		"instant as text":  {"Drizzle", "`emailVerified` integer", "`emailVerified` text", `UPDATE user SET emailVerified = '2020-01-02T03:04:05.678Z'`},
		"expression":       {"Drizzle", "", "", "CREATE UNIQUE INDEX `lower email` ON user (lower(email))"},
		"generated":        {"Drizzle", "`image` text", "`image` text GENERATED ALWAYS AS (lower(name)) VIRTUAL", ""},
		"own column":       {"Prisma", `"image" TEXT,`, `"image" TEXT, "tenant" TEXT NOT NULL,`, ""},
		"keys as blobs": {"Drizzle", "", "", `PRAGMA foreign_keys = OFF; UPDATE user SET id = CAST(id AS BLOB), email = CAST(email AS BLOB);
			UPDATE session SET sessionToken = CAST(sessionToken AS BLOB), userId = CAST(userId AS BLOB);
			UPDATE account SET userId = CAST(userId AS BLOB); PRAGMA foreign_keys = ON`},
		"booleans as texts":  {"Prisma", "", "", `INSERT INTO Authenticator VALUES ('c', 'ck1', '1', 'k', 0, 'singleDevice', 'true', NULL)`},
		"strict":             {"Drizzle, strict tables without rowid", "`name` text,", "`name` text NOT NULL,", ""},
		"folding key":        {"Drizzle", "`sessionToken` text PRIMARY", "`sessionToken` text COLLATE NOCASE PRIMARY", ""},
		"folding constraint": {"Drizzle", "(`identifier`, `token`)", "(`identifier` COLLATE NOCASE, `token`)", ""},
		"no owner": {"Drizzle", "`sessionToken` text PRIMARY KEY NOT NULL,\n\t`userId` text NOT NULL,",
			"`sessionToken` text PRIMARY KEY NOT NULL,\n\t`userId` text, -- whose it is\n\t/* the owner, */",
			"CREATE INDEX of_site ON session (userId); CREATE TRIGGER of_site_trg AFTER UPDATE ON session BEGIN SELECT 1;\nEND"},
		"numbers as IDs":     {"Drizzle", "`id` text PRIMARY KEY NOT NULL", "`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL", ""},
		"generated in a key": {"Drizzle", "`name` text,", "`name` text AS ('Ada') UNIQUE,", ""},
		"own column that refers": {"Drizzle", "`image` text",
			"`image` text, `tenant` text NOT NULL DEFAULT 'ck1' REFERENCES user (id), `of_site` text REFERENCES user (id) NOT NULL", ""},
		"no index": {"Prisma", "", "", `DROP INDEX "Session_sessionToken_key"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites()[c.site]
			require.Truef(t, c.old == "" || strings.Contains(s.tables, c.old), "the script has no %s", c.old)
			s.tables = strings.Replace(s.tables, c.old, c.now, 1)
			if strings.Contains(c.now, "NOT NULL") && c.site == "Prisma" {
				s.person = strings.Replace(s.person, `"updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com',`, `tenant, "updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com', 'x',`, 1)
			}
			id := adaID
			switch name {
			case "numbers as IDs":
				id = "7"
				s.tables = strings.ReplaceAll(s.tables, "`userId` text NOT NULL", "`userId` integer NOT NULL")
				s.person = strings.ReplaceAll(s.person, "'ck1'", id)
			case "generated in a key":
				s.person = strings.Replace(s.person, "(id, name, email) VALUES ('ck1', 'Ada',", "(id, email) VALUES ('ck1',", 1)
			case "own column that refers":
				s.person = strings.Replace(s.person, "email) VALUES (", "email, of_site) VALUES (", 1)
				s.person = strings.Replace(s.person, "'ada@example.com')", "'ada@example.com', 'ck1')", 1)
			}
			db := s.make(t, wirings[0])
			if c.edit != "" {
				run(t, db, c.edit)
			}
			open := func() *sqlite.Adapter {
				if c.site == "Prisma" {
					return s.adapter(t, db)
				}
				return must(sqlite.New(db))(t)
			}
			for range 5 {
				err := open().EnsureSchema(t.Context())
				if err == nil {
					break
				}
				followed := false
				for advice := range strings.SplitSeq(err.Error(), "; ") {
					if _, statements, ok := strings.Cut(advice, "run "); ok {
						run(t, db, statements)
						followed = true
					}
				}
				require.Truef(t, followed, "no statement in %v", err)
			}
			a := open()
			require.NoError(t, a.EnsureSchema(t.Context()))
			broken := faultsOf(t, db)
			if all := fmt.Sprint(objects(t, db)); broken > 0 || strings.Contains(all, "_new") || strings.Contains(c.edit, "of_site_trg") && strings.Count(all, "of_site") != 4 {
				t.Errorf("after the advice, with %d faults: %s", broken, all)
			}
			ada := must(a.GetUserByEmail(t.Context(), adaEmail))(t)
			both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
			by := must(a.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))(t)
			assert.Truef(t, by != nil && by.ID == id, "the user of the account is %v", by)
			assert.Truef(t, ada != nil && ada.ID == id && fmt.Sprint(*ada.Name) == "Ada" && both != nil &&
				both.User.ID == id && both.Session.Expires.Equal(adaExpires),
				"got %v, %v", ada, both)
			u := must(a.UpdateUser(t.Context(), adapter.UserUpdate{ID: id, Image: adapter.To(new("i"))}))(t)
			assert.Truef(t, u != nil && u.Image != nil && *u.Image == "i", "the update: got %v", u)
			key := must(a.GetAuthenticator(t.Context(), "c"))(t)
			assert.Falsef(t, name == "booleans as texts" && (key == nil || !key.CredentialBackedUp), "the passkey is %v", key)
			assert.Falsef(t, name == "instant as text" && (ada.EmailVerified == nil || ada.EmailVerified.UnixMilli() != 1577934245678),
				"emailVerified is %v", ada.EmailVerified)
		})
	}
}

// TestCopyInUTF8 follows the advice for a database that stores text as UTF-16.
func TestCopyInUTF8(t *testing.T) {
	if _, err := exec.LookPath("sqlite3"); err != nil && os.Getenv("CI") == "true" && runtime.GOOS == "linux" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("LEFT OUT: the advice is a command of the program sqlite3, which is not installed: make setup installs it")
	}
	s, path := sites()["Drizzle"], filepath.Join(t.TempDir(), "it's.db")
	run(t, wirings[0].openDB(t, path), `PRAGMA encoding = "UTF-16";`+s.tables+s.person)
	err := must(sqlite.New(wirings[0].openDB(t, path)))(t).EnsureSchema(t.Context())
	command := regexp.MustCompile(`shell command (.*), and open the copy`).FindStringSubmatch(fmt.Sprint(err))
	require.NotNilf(t, command, "no command in %v", err)
	out, err := exec.CommandContext(t.Context(), "sh", "-c", command[1]).CombinedOutput()
	require.NoErrorf(t, err, "%s: %s", command[1], out)
	a := newAdapter(t, wirings[0].openDB(t, path+".utf8"))
	both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
	assert.Truef(t, both != nil && both.User.ID == adaID, "got %v", both)
}
