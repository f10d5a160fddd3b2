// Package sqlite keeps the records of Gatehouse in SQLite, through
// database/sql and whichever driver the application uses. It imports none.
//
// Every method is one statement, or one transaction of two or three, so it is
// atomic on a pool, on one connection and inside the caller's transaction.
// Only what deletes many sessions does so in batches. Owners are checked and
// cascades run inside the statement, whether or not the connection enforces
// foreign keys. With a *sql.DB, statements are prepared once and a busy database is
// waited for.
//
// The adapter opens and closes nothing. Package
// github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc opens a database
// in the recommended way; README.md has the same settings for other drivers.
//
// SQLite has one writer at a time, and a file on a network file system is not
// safe to share between machines: for several machines take another adapter.
package sqlite
