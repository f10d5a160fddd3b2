package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// with returns the wiring with other parameters of the data source name.
func (w wiring) with(parameters string) wiring {
	w.dsn = func(path string) string { return "file:" + path + "?" + parameters }
	return w
}

// Every journal mode works with several callers, even without a busy timeout and with
// foreign keys off.
func TestOtherSettings(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		for _, parameters := range []string{
			"_pragma=journal_mode(delete)", "_pragma=journal_mode(truncate)", "_pragma=journal_mode(persist)", "_pragma=journal_mode(memory)",
			"_pragma=journal_mode(wal)&_pragma=busy_timeout(0)&_pragma=foreign_keys(off)&_pragma=synchronous(off)",
			"_pragma=journal_mode(wal)&_pragma=wal_autocheckpoint(0)",
			"_pragma=recursive_triggers(on)&_pragma=case_sensitive_like(on)&_pragma=secure_delete(on)&_pragma=cell_size_check(on)",
		} {
			t.Run(parameters, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "test.db")
				w := w.with(parameters)
				var wg sync.WaitGroup
				for range 3 {
					db := w.openDB(t, path)
					a := must(sqlite.New(db))(t)
					wg.Go(func() {
						if !assert.NoError(t, a.EnsureSchema(t.Context())) {
							return
						}
						for range 10 {
							user, err := a.CreateUser(t.Context(), adapter.User{})
							if !assert.NoError(t, err) {
								return
							}
							giveOneOfEach(t, a, user.ID, user.ID)
							_, err = a.DeleteUser(t.Context(), user.ID)
							assert.NoError(t, err)
							n := countOfEach(t, a, user.ID)
							assert.Equalf(t, 0, n, "%d records of the deleted user are left", n)
						}
					})
				}
				wg.Wait()
				db := w.openDB(t, path)
				a := newAdapter(t, db)
				fillRecords(t, db, 1000)
				callEveryMethod(t, a, 1000)
			})
		}
	})
}

// On a read-only file with incomplete tables EnsureSchema fails with the driver's
// reason. With complete tables EnsureSchema and lookups work, and writes fail.
func TestReadOnlyFile(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		path := filepath.Join(t.TempDir(), "test.db")
		db := w.with("_pragma=journal_mode(delete)").openDB(t, path)
		run(t, db, `CREATE TABLE other (id TEXT)`)
		readOnly := w.with("mode=ro").openDB(t, path)
		err := must(sqlite.New(readOnly))(t).EnsureSchema(t.Context())
		assert.ErrorContains(t, err, "is read-only", "not complete")
		user := newUser(t, newAdapter(t, db), "")
		a := must(sqlite.New(readOnly))(t)
		assert.NoError(t, errors.Join(a.EnsureSchema(t.Context()), a.CheckSchema(t.Context())))
		assert.NotNil(t, must(a.GetUser(t.Context(), user.ID))(t))
		made, err := a.CreateUser(t.Context(), adapter.User{})
		assert.Errorf(t, err, "made %v in a read-only file", made)
	})
}

// Tables of Auth.js that are STRICT or WITHOUT ROWID are adopted.
func TestDrizzleTablesOfOtherKinds(t *testing.T) {
	script := sqlitetest.DrizzleTables
	for _, kind := range []string{"STRICT", "WITHOUT ROWID", "STRICT, WITHOUT ROWID"} {
		t.Run(kind, func(t *testing.T) {
			eachWiring(t, func(t *testing.T, w wiring) {
				db := w.openDB(t, filepath.Join(t.TempDir(), "test.db"))
				run(t, db, strings.ReplaceAll(script, "\n);", "\n) "+kind+";")+`INSERT INTO verificationToken VALUES ('told', 'told', 4102444800000)`)
				a := newAdapter(t, db)
				fillRecords(t, db, 1000)
				callEveryMethod(t, a, 1000)
			})
		})
	}
}

// Tables whose userId may be null are refused: the statement that stores a record has
// null for an absent owner.
func TestOwnersThatMayBeNullAreRefused(t *testing.T) {
	db, _ := drizzleDatabase(t, wirings[0])
	run(t, db, `DROP TABLE session; CREATE TABLE session (sessionToken TEXT PRIMARY KEY NOT NULL, userId TEXT, expires INTEGER NOT NULL)`)
	assert.ErrorContains(t, must(sqlite.New(db))(t).EnsureSchema(t.Context()), `"session".userId must not accept null: DELETE FROM "session" WHERE userId IS NULL`)
}

// On a full disk only a call that needs room fails. Records stored before are found,
// the record of the failed call is absent, and calls work when there is room again.
func TestFullDisk(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		db := w.with("_pragma=journal_mode(wal)").openDB(t, filepath.Join(t.TempDir(), "test.db"))
		db.SetMaxOpenConns(1) // each connection has its own limit of pages
		a := newAdapter(t, db)
		first := newUser(t, a, "")
		giveOneOfEach(t, a, first.ID, "k")
		run(t, db, `PRAGMA max_page_count = 1`) // no page more than the file has
		big := strings.Repeat("x", 1<<20)
		made, err := a.CreateUser(t.Context(), adapter.User{ID: "big", Name: &big})
		require.Errorf(t, err, "made %v on a full disk", made)
		n := countOfEach(t, a, "k")
		assert.Equalf(t, 3, n, "found %d records of 3", n)
		run(t, db, `PRAGMA max_page_count = 100000`)
		assert.Nil(t, must(a.GetUser(t.Context(), "big"))(t), "the user that failed")
		newUser(t, a, "")
	})
}

// The adapter does not use tables of an attached database.
func TestAttachedDatabase(t *testing.T) {
	eachWiring(t, func(t *testing.T, w wiring) {
		dir := t.TempDir()
		_, other := w.newAdapter(t)
		var file string
		err := other.QueryRowContext(t.Context(), `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&file)
		require.NoError(t, err)
		db := w.openDB(t, filepath.Join(dir, "test.db"))
		db.SetMaxOpenConns(1)
		run(t, db, `ATTACH ? AS other`, file)
		a := newAdapter(t, db)
		newUser(t, a, "ada@example.com")
		assert.Equal(t, 1, number(t, db, `SELECT count(*) FROM main.user`), "users in the main database")
		assert.Equal(t, 0, number(t, db, `SELECT count(*) FROM other.user`), "users in the other database")
	})
}
