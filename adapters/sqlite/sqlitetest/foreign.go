package sqlitetest

import (
	"crypto/rand"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// siteFields sets the fields of the harness about sites that exist.
func (s Settings) siteFields(h *adaptertest.Harness) {
	h.Declarations.NoSite = map[string]string{"ReadOnly": "a file has no standby", "Reduced": "a file has no roles"}
	h.Foreign, h.Settings = s.foreign, s.otherSettings
	h.Quoting = func(t testing.TB) (adapter.Adapter, func()) {
		return s.triggered(t, `SELECT RAISE(ABORT, 'refused: ' || r) FROM (SELECT %s AS r)`)
	}
	h.Refusing = func(t testing.TB) (adapter.Adapter, func()) {
		return s.triggered(t, `INSERT INTO of_site VALUES (CASE WHEN %s IS NULL THEN 1 ELSE 1 END)`)
	}
}

// foreign makes the tables of each product with a person in them. Without a layout the
// adapter must find the person, or refuse the tables.
func (s Settings) foreign(t testing.TB) (all []adaptertest.Foreign) {
	verified, expires := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2040, 1, 2, 12, 0, 0, 0, time.UTC)
	seconds, text := sqlite.Drizzle(), sqlite.Prisma()
	seconds.Instants, text.Instants = sqlite.Seconds, sqlite.Text
	const drizzle = `INSERT INTO "user" (id, email, emailVerified) VALUES ('7', $E, $V);
		INSERT INTO "account" ("userId", type, provider, "providerAccountId") VALUES ('7', 'oidc', 'p', '1');
		INSERT INTO "session" ("sessionToken", "userId", expires) VALUES ($S, '7', $X);`
	const prisma = `INSERT INTO "User" (id, email, emailVerified, "updatedAt") VALUES ('7', $E, $V, $V);
		INSERT INTO "Account" ("userId", type, provider, "providerAccountId", "updatedAt") VALUES ('7', 'oidc', 'p', '1', $V);
		INSERT INTO "Session" ("sessionToken", "userId", expires, "updatedAt") VALUES ($S, '7', $X, $V);`
	millis := func(at time.Time) string { return fmt.Sprint(at.UnixMilli()) }
	for _, p := range []struct {
		name, tables, person string
		layout               sqlite.Layout
		stored               func(time.Time) string
	}{
		{"Drizzle", DrizzleTables, drizzle, sqlite.Drizzle(), millis},
		{"Drizzle, seconds", DrizzleTables, drizzle, seconds, func(at time.Time) string { return fmt.Sprint(at.Unix()) }},
		{"Prisma", PrismaTables, prisma, sqlite.Prisma(), millis},
		{"Prisma, texts", PrismaTables, prisma, text, func(at time.Time) string { return at.Format("'2006-01-02T15:04:05.000+00:00'") }},
	} {
		for _, layout := range []bool{true, false} {
			path := filepath.Join(t.TempDir(), "foreign.db")
			email, token := strings.ToLower(rand.Text())+"@example.com", rand.Text()
			person := strings.NewReplacer("$E", "'"+email+"'", "$S", "'"+token+"'", "$V", p.stored(verified), "$X", p.stored(expires)).Replace(p.person)
			s.run(t, path, p.tables+person)
			var options []sqlite.Option
			name := p.name + " without WithLayout"
			if layout {
				options, name = []sqlite.Option{sqlite.WithLayout(p.layout)}, p.name
			}
			all = append(all, adaptertest.Foreign{
				Name: name,
				Open: func(t testing.TB) (adapter.Adapter, error) {
					h := s.plain(t, path, options...)
					return h, h.EnsureSchema(t.Context())
				},
				User:    adapter.User{ID: "7", Email: email, EmailVerified: &verified},
				Account: adapter.AccountKey{Provider: "p", ProviderAccountID: "1"},
				Session: adapter.Session{SessionToken: token, UserID: "7", Expires: expires},
			})
		}
	}
	return all
}

// run runs a script on a file.
func (s Settings) run(t testing.TB, path, script string) {
	t.Helper()
	err := s.onFile(path, func(db *sql.DB) error {
		_, err := db.ExecContext(t.Context(), script)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// otherSettings opens handles whose connections have other settings.
func (s Settings) otherSettings(t testing.TB, a adapter.Adapter) (all []adapter.Adapter) {
	for _, pragmas := range []string{
		"&_pragma=reverse_unordered_selects(1)&_pragma=case_sensitive_like(1)&_pragma=recursive_triggers(1)",
		"&_pragma=automatic_index(0)&_pragma=count_changes(1)&_pragma=full_column_names(1)&_pragma=cell_size_check(1)",
	} {
		other := s
		other.Parameters += pragmas
		all = append(all, other.Open(t, a.(*Handle).path))
	}
	return all
}

// triggered opens an adapter over a new file in which refuse makes triggers with a body.
// In the body %s is a column of the row with a value of the call.
func (s Settings) triggered(t testing.TB, body string) (adapter.Adapter, func()) {
	h := s.fresh(t)
	return h, func() {
		script := `CREATE TABLE of_site (n INTEGER PRIMARY KEY); INSERT INTO of_site VALUES (1);`
		columns := map[string]string{"user": "email", "account": "providerAccountId", "session": "sessionToken",
			"verificationToken": "token", "authenticator": "credentialID", "passwords": "hash"}
		if s.AsTheyAre {
			delete(columns, "passwords")
		}
		for table, column := range columns {
			for event, row := range map[string]string{"INSERT": "new", "UPDATE": "new", "DELETE": "old"} {
				script += fmt.Sprintf(`CREATE TRIGGER of_site_%s_%s AFTER %[2]s ON "%[1]s" BEGIN %[3]s; END;`, table, event, fmt.Sprintf(body, row+"."+column))
			}
		}
		s.run(t, h.path, script)
	}
}
