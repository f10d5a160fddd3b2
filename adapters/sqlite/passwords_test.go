package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// callPasswords calls the methods of adapter.Passwords for a user who has no password.
func callPasswords(t *testing.T, a adapter.Passwords, id string) {
	t.Helper()
	ctx := t.Context()
	first := adapter.Password{UserID: id, Hash: "$argon2id$é ", State: `{"wrong":1}`}
	next := adapter.Password{UserID: id, Hash: first.Hash}
	same(t, "SetPassword", must(a.SetPassword(ctx, first))(t), first)
	got := must(a.SwapPassword(ctx, adapter.Password{UserID: id, Hash: "$argon2id$é", State: first.State}, next))(t)
	assert.Nil(t, got, "SwapPassword from another hash")
	same(t, "SwapPassword", must(a.SwapPassword(ctx, first, next))(t), next)
	same(t, "GetPassword", must(a.GetPassword(ctx, id))(t), next)
	same(t, "DeletePassword", must(a.DeletePassword(ctx, id, false))(t), next)
	assert.Nil(t, must(a.GetPassword(ctx, id))(t), "GetPassword after DeletePassword")
	_, err := a.SetPassword(ctx, adapter.Password{UserID: "nobody", Hash: "h"})
	assert.ErrorIsf(t, err, adapter.ErrNotFound, "SetPassword of nobody: got %v, want ErrNotFound", err)
	bob := must(a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, first))(t)
	first.UserID = bob.ID
	same(t, "GetPassword of a new user", must(a.GetPassword(ctx, bob.ID))(t), first)
	refused(a.DeletePassword(ctx, bob.ID, true))(t, "DeletePassword of the last way in", adapter.ErrLastCredential)
	same(t, "SetPassword", must(a.SetPassword(ctx, adapter.Password{UserID: id, Hash: "h"}))(t), adapter.Password{UserID: id, Hash: "h"})
}

// firstVersion makes the tables of version 1, which had no passwords, with a person.
func firstVersion(t *testing.T) *sql.DB {
	t.Helper()
	db := wirings[0].openDB(t, filepath.Join(t.TempDir(), "first.db"))
	run(t, db, string(must(os.ReadFile(filepath.Join("schema", "0001_tables.sql")))(t)))
	run(t, db, `INSERT INTO user (id, email) VALUES ('ck1', 'ada@example.com');
		INSERT INTO account (userId, type, provider, providerAccountId) VALUES ('ck1', 'oidc', 'p', '1');
		INSERT INTO session VALUES ('theirs', 'ck1', 4102444800000)`)
	return db
}

// TestFromTheFirstVersion brings the tables of version 1 to this one, in three ways that
// make the same. The records stay, and the trigger deletes passwords too.
func TestFromTheFirstVersion(t *testing.T) {
	_, made := wirings[0].newAdapter(t)
	for name, upgrade := range map[string]func(t *testing.T, a *sqlite.Adapter, db *sql.DB){
		"EnsureSchema": func(_ *testing.T, _ *sqlite.Adapter, _ *sql.DB) {},
		"SchemaChanges": func(t *testing.T, a *sqlite.Adapter, db *sql.DB) {
			for _, statement := range must(a.SchemaChanges(t.Context()))(t) {
				run(t, db, statement)
			}
		},
		"the file": func(t *testing.T, _ *sqlite.Adapter, db *sql.DB) {
			run(t, db, string(must(os.ReadFile(filepath.Join("schema", "0002_passwords.sql")))(t)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), firstVersion(t)
			a := must(sqlite.New(db))(t)
			assert.ErrorContains(t, a.CheckSchema(ctx), `the table "passwords" is missing`)
			upgrade(t, a, db)
			require.NoError(t, errors.Join(a.EnsureSchema(ctx), a.CheckSchema(ctx)))
			assert.Empty(t, must(a.SchemaChanges(ctx))(t), "left to do")
			got, want := columnsOf(t, db), columnsOf(t, made)
			assert.Equalf(t, want, got, "got the table\n%s\nwant\n%s", got, want)
			assert.Equal(t, 2, number(t, db, `SELECT version FROM gatehouse_schema`), "got version")
			both := must(a.GetSessionAndUser(ctx, "theirs"))(t)
			assert.Truef(t, both != nil && both.User.ID == "ck1", "the session is %v", both)
			callPasswords(t, a, "ck1")
			must(a.DeleteUser(ctx, "ck1"))(t)
			run(t, db, `PRAGMA foreign_keys = OFF; DELETE FROM user`) // as another product may
			n := number(t, db, `SELECT count(*) FROM passwords`)
			assert.Equalf(t, 0, n, "%d passwords outlive their users", n)
		})
	}
}

// columnsOf describes the table of passwords, its key and its foreign key.
func columnsOf(t *testing.T, db *sql.DB) (text string) {
	t.Helper()
	err := db.QueryRowContext(t.Context(), `
		SELECT (SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk) FROM pragma_table_info('passwords')) || '; ' ||
			(SELECT group_concat("table" || ' ' || "from" || ' ' || "to" || ' ' || on_delete) FROM pragma_foreign_key_list('passwords'))`).Scan(&text)
	require.NoError(t, err)
	return text
}

func number(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

// faultsOf counts what the checks of SQLite find.
func faultsOf(t *testing.T, db *sql.DB) int {
	t.Helper()
	return number(t, db, `SELECT (SELECT count(*) FROM pragma_foreign_key_check) + (SELECT integrity_check <> 'ok' FROM pragma_integrity_check)`)
}

// TestUpgradeBesideOthers: a site whose tables of version 1 stand beside those of another
// library is not taken for one that lacks its tables.
func TestUpgradeBesideOthers(t *testing.T) {
	db := firstVersion(t)
	run(t, db, `CREATE TABLE users (id text PRIMARY KEY, email text, email_verified integer); INSERT INTO users VALUES ('x', 'x@example.com', 1)`)
	a := must(sqlite.New(db))(t)
	require.NoError(t, a.EnsureSchema(t.Context()))
	callPasswords(t, a, "ck1")
}

// TestPasswordsOfSites: in a layout of others the adapter has no passwords until the
// table is there, and EnsureSchema does not make it. A table of the application with the
// name is left alone, and another name serves.
func TestPasswordsOfSites(t *testing.T) {
	for name, s := range sites() {
		t.Run(name, func(t *testing.T) {
			ctx, db := t.Context(), s.make(t, wirings[0])
			prefix := ""
			if len(s.options) > 0 {
				prefix = "p1_"
			}
			lacks := func(what, reason string) {
				t.Helper()
				a := s.adapter(t, db)
				for _, when := range []string{"before", "after"} {
					_, has := adapter.Capability[adapter.Passwords](a)
					assert.Falsef(t, has, "%s, %s the comparison: the adapter says that it has passwords", what, when)
					require.NoError(t, a.CheckSchema(ctx), what)
				}
				_, err1 := a.GetPassword(ctx, adaID)
				_, err2 := a.SetPassword(ctx, adapter.Password{UserID: adaID, Hash: "h"})
				_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: adaID, Hash: "h"}, adapter.Password{Hash: "h"})
				_, err4 := a.DeletePassword(ctx, adaID, false)
				_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
				for i, err := range []error{err1, err2, err3, err4, err5} {
					assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && strings.Contains(err.Error(), reason),
						"%s, call %d: got %v, want ErrUnsupported and %q", what, i+1, err, reason)
				}
				assert.Nilf(t, must(a.GetUserByEmail(ctx, "bob@example.com"))(t), "%s: CreateUserWithPassword has stored", what)
			}
			before := objects(t, db)
			lacks("without the table", "SchemaChanges returns")
			assert.Equal(t, before, objects(t, db), "the comparison has changed something")
			run(t, db, `CREATE TABLE `+prefix+`Passwords (id integer PRIMARY KEY, userId text, hash text NOT NULL)`)
			lacks("a table of the application", "Layout.Passwords gives")
			named := s
			named.layout.Passwords = "secrets"
			for _, s := range []site{named, s} {
				for _, statement := range must(s.adapter(t, db).SchemaChanges(ctx))(t) {
					run(t, db, statement)
				}
				a := s.adapter(t, db)
				checked := s.adapter(t, db)
				require.NoError(t, errors.Join(checked.CheckSchema(ctx), a.EnsureSchema(ctx)))
				has, ok := adapter.Capability[adapter.Passwords](a)
				require.True(t, ok, "after EnsureSchema the adapter says that it has no passwords")
				assert.Equalf(t, checked.RequiresEmail(), a.RequiresEmail(),
					"after EnsureSchema RequiresEmail is %v, after CheckSchema not", a.RequiresEmail())
				callPasswords(t, has, adaID)
				assert.Empty(t, must(s.adapter(t, db).SchemaChanges(ctx))(t), "left to do")
				bob := must(a.GetUserByEmail(ctx, "bob@example.com"))(t)
				must(a.DeleteUser(ctx, bob.ID))(t)
				assert.Nil(t, must(a.GetPassword(ctx, bob.ID))(t), "GetPassword after DeleteUser")
				run(t, db, `DROP TABLE IF EXISTS `+prefix+`Passwords`)
			}
		})
	}
}
