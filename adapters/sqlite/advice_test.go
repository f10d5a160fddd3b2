package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
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
		"booleans as texts": {"Prisma", "", "", `INSERT INTO Authenticator VALUES ('c', 'ck1', '1', 'k', 0, 'singleDevice', 'true', NULL)`},
		"no index":          {"Prisma", "", "", `DROP INDEX "Session_sessionToken_key"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := sites()[c.site]
			if c.old != "" && !strings.Contains(s.tables, c.old) {
				t.Fatalf("the script has no %s", c.old)
			}
			s.tables = strings.Replace(s.tables, c.old, c.now, 1)
			if strings.Contains(c.now, "NOT NULL") && c.site == "Prisma" {
				s.person = strings.Replace(s.person, `"updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com',`, `tenant, "updatedAt") VALUES ('ck1', 'Ada', 'ada@example.com', 'x',`, 1)
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
				if !followed {
					t.Fatalf("no statement in %v", err)
				}
			}
			a := open()
			if err := a.EnsureSchema(t.Context()); err != nil {
				t.Fatal(err)
			}
			ada := must(a.GetUserByEmail(t.Context(), adaEmail))(t)
			both := must(a.GetSessionAndUser(t.Context(), "theirs"))(t)
			by := must(a.GetUserByAccount(t.Context(), adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}))(t)
			if by == nil || by.ID != adaID {
				t.Errorf("the user of the account is %v", by)
			}
			if ada == nil || ada.ID != adaID || fmt.Sprint(*ada.Name) != "Ada" || both == nil || both.User.ID != adaID || !both.Session.Expires.Equal(adaExpires) {
				t.Errorf("got %v, %v", ada, both)
			}
			if u := must(a.UpdateUser(t.Context(), adapter.UserUpdate{ID: adaID, Image: adapter.To(new("i"))}))(t); u == nil || u.Image == nil || *u.Image != "i" {
				t.Errorf("the update: got %v", u)
			}
			key := must(a.GetAuthenticator(t.Context(), "c"))(t)
			if name == "booleans as texts" && (key == nil || !key.CredentialBackedUp) {
				t.Errorf("the passkey is %v", key)
			}
			if name == "instant as text" && (ada.EmailVerified == nil || ada.EmailVerified.UnixMilli() != 1577934245678) {
				t.Errorf("emailVerified is %v", ada.EmailVerified)
			}
		})
	}
}
