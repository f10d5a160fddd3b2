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

	insufficientPrivilege = "42501"
	readOnlyTransaction   = "25006"
	queryCanceled         = "57014"
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
	if isCode(err, uniqueViolation) {
		sentinel = adapter.ErrConflict
	}
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

// withoutValues returns the error of the server without the parts that may
// quote a value. For example, the detail of a unique violation is the duplicate
// key, which may be a session token. [ERR-08]
func withoutValues(err error) error {
	var connecting *pgconn.ConnectError
	var pgErr *pgconn.PgError
	if errors.As(err, &connecting) || !errors.As(err, &pgErr) {
		return err // the server has sent no error
	}
	e := *pgErr
	e.Detail, e.Where, e.InternalQuery = "", "", ""
	if !slices.ContainsFunc(classesWithoutValues, func(class string) bool { return strings.HasPrefix(e.Code, class) }) {
		e.Message = "message withheld, it may quote a value"
	}
	return &e
}
