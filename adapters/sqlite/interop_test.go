package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
	"github.com/stretchr/testify/require"
)

// drizzleDatabase makes the tables of @auth/drizzle-adapter, with a token that tells their
// encoding.
func drizzleDatabase(t testing.TB, w wiring) (db *sql.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "drizzle.db")
	db = w.openDB(t, path)
	run(t, db, sqlitetest.DrizzleTables+`INSERT INTO verificationToken VALUES ('told', 'told', 4102444800000)`)
	return db, path
}

// TestInterop lets the real @auth/drizzle-adapter and this adapter take turns
// on one database.
func TestInterop(t *testing.T) {
	for name, theirs := range map[string]bool{"our tables": false, "tables of Drizzle": true} {
		t.Run(name, func(t *testing.T) {
			w := wirings[0]
			path := filepath.Join(t.TempDir(), "ours.db")
			db := w.openDB(t, path)
			if theirs {
				db, path = drizzleDatabase(t, w)
			}
			a := newAdapter(t, db)
			js := authjs.Start(t, "../../interop/drizzle", path)
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: "nobody", Authenticators: true})
			authjs.Passkeys(t, a, js, true)
			authjs.WithoutAddress(t, a, js)
		})
	}
}

// TestInteropPrisma lets the real @auth/prisma-adapter and this adapter take turns on the
// tables of Prisma, in both formats in which its driver stores instants.
func TestInteropPrisma(t *testing.T) {
	for name, c := range map[string]struct {
		format   string
		instants sqlite.Encoding
		changed  bool
		passkeys bool // in the site's own schema
	}{
		"as they are":         {"unixepoch-ms", sqlite.Milliseconds, false, true},
		"after SchemaChanges": {"iso8601", sqlite.Text, true, true},
		"new passkeys":        {"unixepoch-ms", sqlite.Milliseconds, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "prisma.db")
			db := wirings[0].openDB(t, path)
			run(t, db, sqlitetest.PrismaTables)
			layout := sqlite.Prisma()
			layout.Instants = c.instants
			open := func() *sqlite.Adapter { return must(sqlite.New(db, sqlite.WithLayout(layout)))(t) }
			file := string(must(os.ReadFile("../../interop/prisma/schema.prisma"))(t))
			file = strings.Replace(file, `"postgresql"`, `"sqlite"`, 1)
			if !c.passkeys {
				run(t, db, `DROP TABLE "Authenticator"`)
				file = regexp.MustCompile(`(?s)  Authenticator Authenticator\[\]\n|\nmodel Authenticator \{.*?\n\}\n`).ReplaceAllString(file, "")
			}
			if c.changed {
				changes := must(open().SchemaChanges(t.Context()))(t)
				run(t, db, strings.Join(changes, ";\n"))
				file = authjs.WithLines(t, file, changes)
			}
			schema := filepath.Join(t.TempDir(), "schema.prisma")
			require.NoError(t, os.WriteFile(schema, []byte(file), 0o600))
			a := open()
			js := authjs.Start(t, "../../interop/prisma", schema, path, c.format)
			// Prisma's driver does not wait for a busy database.
			sharing := authjs.Sharing{Nobody: "nobody", Authenticators: true, TakeTurns: true}
			if !c.changed { // Int of Prisma has 32 bits
				sharing.ExpiresAt = 2000000000
			}
			authjs.Exchange(t, a, js, sharing)
			authjs.Passkeys(t, a, js, c.changed)
			if !a.RequiresEmail() {
				authjs.WithoutAddress(t, a, js)
			}
		})
	}
}
