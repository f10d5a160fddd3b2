package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Numbers of errors of the server that the adapter acts on.
// https://mariadb.com/docs/server/reference/error-codes
const (
	checkedRead        = 1020 // the row has changed since the snapshot, with innodb_snapshot_isolation
	duplicateTable     = 1050
	noSuchColumn       = 1054
	duplicateColumn    = 1060
	duplicateKeyName   = 1061
	duplicateEntry     = 1062
	accessDeniedDB     = 1044
	noCluster          = 1047 // the node of a Galera cluster is not part of it
	columnAccessDenied = 1143
	columnCount        = 1136
	noSuchTable        = 1146
	lockWaitTimeout    = 1205
	deadlock           = 1213
	optionPrevents     = 1290 // --read-only
	noSavepoint        = 1305
	tableAccessDenied  = 1142
	unknownError       = 1105 // of TiDB, that its tries to get a lock have ended
	writeConflict      = 9007 // of TiDB
	tooMany            = 1203 // of Vitess, that all its connections to MySQL are in use
	noReferencedRow    = 1452
	readOnlyTx         = 1792
	readOnlyMode       = 1836
)

// reasons are the texts of errors of the server. The text of the server is not used: it
// quotes values. [ERR-08]
var reasons = map[uint16]string{
	checkedRead: "the row has changed meanwhile", duplicateEntry: "duplicate key",
	lockWaitTimeout: "a lock was not available in time",
	tooMany:         "the connections are all in use",
	deadlock:        "deadlock", noReferencedRow: "no such owner", 1451: "a foreign key of another table refuses the deletion",
	accessDeniedDB: "the account lacks a right on the database", tableAccessDenied: "the account lacks a right",
	columnAccessDenied: "the account lacks a right",
	3159:               "the server takes only connections with TLS",
	1227:               "the account lacks a right", 1045: "the server refused the account", noSuchTable: "a table does not exist",
	noSuchColumn: "a column does not exist",
	1040:         "the server has too many connections", 1114: "the table is full",
	1153: "a value is longer than max_allowed_packet", 1021: "the disk is full",
	optionPrevents: "the server is read-only", readOnlyTx: "the transaction is read-only",
	readOnlyMode: "the server is read-only",
	noCluster:    "the node is not part of a cluster", 1317: "the statement was interrupted",
	1969: "the statement took longer than max_statement_time",
	3024: "the statement took longer than max_execution_time", 1644: "a trigger of the site refused the record",
	1364: "a column of the site has no default",
}

// refusal is an error of the server without the server's text. It unwraps to the driver's
// error, with the number, the SQLSTATE and the text of this package. [ERR-04]
type refusal struct {
	*mysql.MySQLError
	named string // the key of this package that the server's message names, without the prefix
	key   string // the key of this package that was violated
}

// by returns the refusal by a key of this package.
func (r *refusal) by(key string) *refusal {
	server := *r.MySQLError
	server.Message += ": " + key
	return &refusal{MySQLError: &server, named: r.named, key: key}
}

func (r *refusal) Error() string { return r.Message }
func (r *refusal) Unwrap() error { return r.MySQLError }

// refusalOf returns the error of a statement without what the server said.
func (a *Adapter) refusalOf(err error) error {
	if err == nil {
		return nil
	}
	var server *mysql.MySQLError
	var done *refusal
	switch {
	case errors.Is(err, mysql.ErrInvalidConn) && !errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("%w: %w", err, driver.ErrBadConn)
	case closed(err) && !errors.Is(err, errClosed):
		return errClosed
	case errors.As(err, &done) || !errors.As(err, &server):
		return err
	}
	if a.vitess.Load() {
		server = behindVitess(server)
	}
	reason := reasons[server.Number]
	if reason == "" {
		reason = "the server refused the statement"
	}
	if right := rightOf(server.Message); right != "" && (server.Number == tableAccessDenied ||
		server.Number == columnAccessDenied) {
		reason += ": " + right
	}
	return &refusal{named: a.named(server), MySQLError: &mysql.MySQLError{Number: server.Number,
		SQLState: server.SQLState, Message: fmt.Sprintf("%s (error %d)", reason, server.Number)}}
}

// saidByMySQL finds the last number in a message of Vitess. What is before it is MySQL's text, which may quote values, and
// what follows it is the statement, in which a value of this package is hexadecimal.
var saidByMySQL = regexp.MustCompile(`(?s)^(.*) \(errno (\d+)\) \(sqlstate (\w{5})\)`)

// behindVitess returns the error of the MySQL behind Vitess. Vitess sends the first number of its message, which may be one
// that a value has.
func behindVitess(err *mysql.MySQLError) *mysql.MySQLError {
	said := saidByMySQL.FindStringSubmatch(err.Message)
	if said == nil {
		return err
	}
	number, invalid := strconv.ParseUint(said[2], 10, 16)
	if invalid != nil {
		return err
	}
	return &mysql.MySQLError{Number: uint16(number), SQLState: [5]byte([]byte(said[3])), Message: said[1]}
}

// errClosed is what the driver says of a connection on which nothing was done: with the option
// rejectReadOnly it closes the connection of a server that is read-only.
var errClosed = fmt.Errorf("the connection is closed, or the server is read-only (rejectReadOnly): %w", driver.ErrBadConn)

// closed reports whether the driver has closed the connection and nothing was done.
func closed(err error) bool {
	return errors.Is(err, driver.ErrBadConn) && !errors.Is(err, mysql.ErrInvalidConn)
}

// isNumber reports whether err is an error of the server with one of the numbers.
func isNumber(err error, numbers ...uint16) bool {
	if err == nil {
		return false
	}
	var server *mysql.MySQLError
	return errors.As(err, &server) && slices.Contains(numbers, server.Number)
}

// vanished reports whether a record had a key and is gone since. Other servers than TiDB lock it before they refuse another one.
func vanished(err error) bool {
	var r *refusal
	return errors.As(err, &r) && r.Number == duplicateEntry && r.key == ""
}

// isServers reports whether err is an error of the server.
func isServers(err error) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server)
}

// failed returns the error of the method op. [ERR-04] [ERR-05] [ERR-08]
func failed(ctx context.Context, op string, err error) error {
	var r *refusal
	switch own := errors.As(err, &r) && r.key != ""; {
	case own && r.Number == duplicateEntry:
		return fmt.Errorf("mysql: %s: %w: %w", op, adapter.ErrConflict, err)
	case errors.Is(err, errNoOwner):
		return fmt.Errorf("mysql: %s: %w: %w", op, err, adapter.ErrNotFound)
	case own && r.Number == noReferencedRow:
		return fmt.Errorf("mysql: %s: no such user: %w: %w", op, adapter.ErrNotFound, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()): // the driver says only that the connection is invalid
		return fmt.Errorf("mysql: %s: %w: %w", op, ctx.Err(), err)
	}
	return fmt.Errorf("mysql: %s: %w", op, err)
}

var errNoOwner = errors.New("no such user")

func notFound(op, what string) error {
	return fmt.Errorf("mysql: %s: no such %s: %w", op, what, adapter.ErrNotFound)
}

// missing returns the error for a new record whose key field is empty. [INPUT-14]
func missing(op, field string) error { return fmt.Errorf("mysql: %s: %s is empty", op, field) }
