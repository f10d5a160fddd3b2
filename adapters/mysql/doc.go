// Package mysql keeps the records of Gatehouse in MariaDB or MySQL, through
// database/sql and the driver github.com/go-sql-driver/mysql.
//
// Keys are compared byte for byte, with a collation without padding. A write is a
// transaction of its own, so a call that ends with its context leaves nothing behind
// that takes effect later. Every statement is one message to the server and one
// answer, on a pool, on one connection and inside the caller's transaction: values
// stand in it as hexadecimal literals, in which no character has a meaning. A read is
// one such statement.
//
// The first call of an adapter compares the tables with the schema and looks at the
// settings of the connection. Settings that would change a result are refused by an
// error that names them.
//
// The adapter opens and closes no database.
//
// The identifiers in brackets are [clauses] of the contract, which package adaptertest checks.
//
// [clauses]: https://github.com/gatehouse-go/gatehouse/blob/main/adaptertest/CLAUSES.md
package mysql
