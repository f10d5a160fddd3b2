// Package sqlite keeps the records of Gatehouse in SQLite, through database/sql and
// the driver that the application chooses. It imports no driver.
//
// Every method is one statement, or one transaction of two or three, so it is
// atomic on a pool, on one connection and inside the caller's transaction. Only a
// method that deletes many sessions works in batches. Owners are checked and
// cascades run inside the statement, even on a connection that does not enforce
// foreign keys. With a *sql.DB, the adapter prepares each statement once and waits
// for a busy database.
//
// The adapter opens and closes no database. Package
// github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc opens a database in the
// recommended way; README.md has the same settings for other drivers.
//
// SQLite has one writer at a time, and a file on a network file system is not safe
// to share between machines: for several machines use another adapter.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package sqlite
