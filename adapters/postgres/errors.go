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
	uniqueViolation      = "23505"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
)

// wrap names the operation, the sentinel of the contract, and the cause.
func wrap(ctx context.Context, op string, err error) error {
	sentinel := ctx.Err()
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		if pgErr.Code == uniqueViolation {
			sentinel = adapter.ErrConflict
		}
		err = withoutValues(err, pgErr)
	}
	switch {
	case errors.Is(err, errRefused):
		return fmt.Errorf("postgres: %s: %w", op, adapter.ErrConflict)
	case errors.Is(err, adapter.ErrConflict), errors.Is(err, adapter.ErrNotFound),
		sentinel == nil, errors.Is(err, sentinel):
		return fmt.Errorf("postgres: %s: %w", op, err)
	default:
		return fmt.Errorf("postgres: %s: %w: %w", op, sentinel, err)
	}
}

// speaking are the classes of SQLSTATE whose messages name tables, constraints
// and limits, and no values. 22007 is an instant that is none.
var speaking = []string{"22007", "08", "0A", "23", "25", "28", "3D", "3F", "40", "42", "53", "54", "55", "57", "58"}

// withoutValues returns err with a copy of pgErr in which nothing is left that
// may quote a value: the detail of a unique violation is the duplicate key,
// which may be a session token. [ERR-08]
func withoutValues(err error, pgErr *pgconn.PgError) error {
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return err // nothing was sent yet
	}
	e := *pgErr
	e.Detail, e.Where, e.InternalQuery = "", "", ""
	if !slices.ContainsFunc(speaking, func(class string) bool { return strings.HasPrefix(e.Code, class) }) {
		e.Message = "message withheld, it may quote a value"
	}
	return &e
}
