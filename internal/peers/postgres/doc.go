// Package postgres compares the read of a session with other libraries, on one
// server of PostgreSQL, in one run.
package postgres
