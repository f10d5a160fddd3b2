// Package postgres keeps the records of Gatehouse in PostgreSQL 13 or later,
// through pgx or database/sql. An [Adapter] works on the pool, connection or transaction
// that the application has, in every query execution mode of pgx, and behind a
// connection pooler.
//
// Tables and columns have the names of the Auth.js Postgres schema, so that
// @auth/pg-adapter and this package can share one database, and either of them
// may have made it. IDs may be text, uuid or serial integers.
// [Adapter.EnsureSchema] makes the tables, and adds the keys and indexes that
// the schema of Auth.js lacks.
//
// Each method keeps its promise by one statement on the server: DELETE ... RETURNING uses a token, and an
// INSERT that locks the owner makes a session. Strings are compared byte for byte, instants are kept to the
// microsecond. The package never closes the handle that New gets, starts no goroutine, and uses the network
// only when a method is called.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package postgres
