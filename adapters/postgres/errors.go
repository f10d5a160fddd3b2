package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// SQLSTATE codes that the adapter acts on.
const (
	foreignKeyViolation  = "23503"
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"

	duplicateColumn   = "42701"
	duplicateObject   = "42710"
	duplicateSchema   = "42P06"
	duplicateTable    = "42P07"
	undefinedColumn   = "42703"
	notNullViolation  = "23502"
	datatypeMismatch  = "42804"
	noSuchConflictKey = "42P10"
	undefinedObject   = "42704"
	undefinedTable    = "42P01"

	featureNotSupported  = "0A000" // also: a cached plan must not change its result type
	invalidStatementName = "26000" // a prepared statement is gone
	invalidInstant       = "22007" // also: a column has another type, see writtenInstant
	divisionByZero       = "22012" // a trigger left a record of a sign-up out, or kept one of a deleted user
	hiddenRows           = "2201W" // see mostRows

	insufficientPrivilege = "42501"
	readOnlyTransaction   = "25006"
	noTransaction         = "25P01"
	queryCanceled         = "57014"
	internalError         = "XX000" // also: another process has just changed a row of the system catalog
)

// isCode reports whether err is an error of the server with one of the codes.
func isCode(err error, codes ...string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && slices.Contains(codes, pgErr.Code)
}

// wrap returns an error that names the operation and wraps the contract's error
// value and the cause.
func wrap(ctx context.Context, op string, err error) error {
	if err == nil {
		return nil
	}
	sentinel := ctx.Err()
	switch {
	case errors.Is(err, adapter.ErrConflict), errors.Is(err, adapter.ErrNotFound), errors.Is(err, adapter.ErrLastCredential),
		sentinel == nil, errors.Is(err, sentinel):
		return fmt.Errorf("postgres: %s: %w", op, err)
	default:
		return fmt.Errorf("postgres: %s: %w: %w", op, sentinel, err)
	}
}

// classesWithoutValues are the classes of SQLSTATE whose messages name tables, constraints
// and limits, but no values. 22007 means that a text is not an instant.
var classesWithoutValues = []string{"22007", "08", "0A", "23", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58"}

// withoutValues returns the error of a statement that has no secret in it, without the
// parts that may quote a value of a row. [ERR-08]
func withoutValues(err error) error {
	return cleaned(err, func(e *pgconn.PgError) {
		if !slices.ContainsFunc(classesWithoutValues, func(class string) bool { return strings.HasPrefix(e.Code, class) }) {
			e.Message = "message withheld, it may quote a value"
		}
	})
}

// reasons are the texts of errors that a method returns, by SQLSTATE or its class. The
// text of the server is not used: a trigger of the site or a proxy may quote there what
// it likes, even with a code that usually comes without a value.
var reasons = map[string]string{
	"08": "the connection failed", "0A": "the server does not support the statement", "22": "a value is not valid",
	"22001": "a value is too long for its column", "22003": "a number is out of range", hiddenRows: "row security may hide rows from the role",
	"22007": "an instant is out of range, or its column has another type",
	"23":    "a constraint refused the record", uniqueViolation: "duplicate key", foreignKeyViolation: "a foreign key refused the record",
	notNullViolation: "a column does not accept null", "23514": "a check constraint refused the record",
	"25": "the state of the transaction does not allow the statement", readOnlyTransaction: "the connection is read-only",
	"25P02": "the transaction is aborted", "28": "the server refused the role", "40": "the transaction was rolled back",
	serializationFailure: "the transaction could not be serialized", deadlockDetected: "deadlock", "42": "the server did not accept the statement",
	insufficientPrivilege: "the role lacks a right, or row security refused the record", undefinedTable: "a table does not exist",
	undefinedColumn: "a column does not exist", "53": "the server lacks resources", "53300": "the server has too many connections",
	"54": "a limit of the server is exceeded, such as the length of a key in an index", "55": "the object is not in the right state",
	lockNotAvailable: "a lock was not available in time", "57": "an operator intervened",
	queryCanceled: "the statement was canceled, perhaps by statement_timeout", "58": "the system failed", "P0": "a trigger or function of the site refused the record",
}

// refusalOf returns the error of a method's statement: the code and the kind stay, and
// so do the names of the adapter's own tables and constraints. Everything else that the
// server said is left out.
func refusalOf(err error, own ownConstraints) error {
	return cleaned(err, func(e *pgconn.PgError) {
		message := reasons[e.Code]
		if message == "" && len(e.Code) == 5 {
			message = reasons[e.Code[:2]]
		}
		if message == "" {
			message = "the server refused the statement"
		}
		*e = pgconn.PgError{Severity: e.Severity, Code: e.Code, Message: message, SchemaName: e.SchemaName, TableName: e.TableName, ConstraintName: e.ConstraintName}
		if len(e.Code) != 5 || strings.ContainsFunc(e.Code, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') }) {
			e.Code = ""
		}
		if !slices.Contains([]string{"ERROR", "FATAL", "PANIC"}, e.Severity) {
			e.Severity = "ERROR"
		}
		if own.names(e) {
			e.Message += ": " + e.ConstraintName
		} else {
			e.SchemaName, e.TableName, e.ConstraintName = "", "", ""
		}
	})
}

// refusal is an error of the server that was cleaned.
type refusal struct{ *pgconn.PgError }

func (r *refusal) Unwrap() error { return r.PgError }

// cleaned returns the error of the server after change has changed it.
func cleaned(err error, change func(*pgconn.PgError)) error {
	if err == nil {
		return nil
	}
	var connecting *pgconn.ConnectError
	var pgErr *pgconn.PgError
	var done *refusal
	if errors.As(err, &done) || errors.As(err, &connecting) || !errors.As(err, &pgErr) {
		return err // the server has sent no error
	}
	e := *pgErr
	e.Detail, e.Where, e.InternalQuery = "", "", ""
	change(&e)
	return &refusal{&e}
}

// ownConstraints are the constraints of the adapter's own tables, by name. Only these
// are a conflict or an absent owner: a trigger of the site may fail with the same code
// because of another table.
type ownConstraints map[string][]ownConstraint

type ownConstraint struct {
	schema, table string
	code          string // of the violation; empty for a foreign key of the site's own
}

func (o ownConstraints) add(f found) {
	note := func(name, code string) { o[name] = append(o[name], ownConstraint{f.Schema, f.Name, code}) }
	for _, ix := range f.Indexes {
		note(ix.Name, uniqueViolation)
	}
	for _, name := range f.Foreign {
		code := ""
		if slices.ContainsFunc(f.Keys, func(k foundKey) bool { return k.Name == name }) {
			code = foreignKeyViolation
		}
		note(name, code)
	}
}

// violated reports whether err is a violation, with the code, of a constraint of the
// adapter's own tables.
func (o ownConstraints) violated(err error, code string) bool {
	var pgErr *pgconn.PgError
	return errors.As(err, &pgErr) && pgErr.Code == code && o.names(pgErr) &&
		slices.ContainsFunc(o[pgErr.ConstraintName], func(c ownConstraint) bool { return c.code == code })
}

// lacks reports whether err is a violation of a constraint of the adapter's own tables that
// is not known: somebody has made or renamed it since the tables were compared.
func (o ownConstraints) lacks(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) || e.Code != uniqueViolation && e.Code != foreignKeyViolation || len(o[e.ConstraintName]) > 0 {
		return false
	}
	for _, known := range o {
		if slices.ContainsFunc(known, func(c ownConstraint) bool { return e.TableName == c.table && e.SchemaName == c.schema }) {
			return true
		}
	}
	return false
}

// names reports whether the error names a constraint of the adapter's own tables.
func (o ownConstraints) names(e *pgconn.PgError) bool {
	return slices.ContainsFunc(o[e.ConstraintName], func(c ownConstraint) bool {
		return e.TableName == "" || e.TableName == c.table && e.SchemaName == c.schema
	})
}
