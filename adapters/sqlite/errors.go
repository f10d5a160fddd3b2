package sqlite

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Result codes. https://sqlite.org/rescode.html
const (
	codeBusy                 = 5 // in the low byte
	codeReadOnly             = 8 // in the low byte
	codeLockedSharedCache    = 262
	codeConstraintNotNull    = 1299
	codeConstraintPrimaryKey = 1555
	codeConstraintUnique     = 2067
)

// failed returns the error of the method op. [ERR-04] [ERR-05] [ERR-08]
func failed(ctx context.Context, op string, err error) error {
	switch {
	case isConflict(err):
		return fmt.Errorf("sqlite: %s: %w: %w", op, adapter.ErrConflict, err)
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		// The driver's error says only that the statement was interrupted or the
		// database busy. [CTX-01] [CTX-02]
		return fmt.Errorf("sqlite: %s: %w: %w", op, ctx.Err(), err)
	}
	return fmt.Errorf("sqlite: %s: %w", op, err)
}

func notFound(op, what string) error {
	return fmt.Errorf("sqlite: %s: no such %s: %w", op, what, adapter.ErrNotFound)
}

// ownerFailed returns the error of a statement that looks up the owner of a
// record and stores the owner's ID. For an absent owner the ID is null, which
// violates NOT NULL.
func ownerFailed(ctx context.Context, op string, err error) error {
	code, ok := resultCode(err)
	extended := ok && code > 0xff // false for an unknown driver
	if code == codeConstraintNotNull && ownConstraint(err, "NOT NULL") || !extended && err != nil && strings.Contains(err.Error(), "NOT NULL constraint failed") {
		return notFound(op, "user")
	}
	return failed(ctx, op, err)
}

// missing returns the error for a new record whose key field is empty.
// [INPUT-14]
func missing(op, field string) error {
	return fmt.Errorf("sqlite: %s: %s is empty", op, field)
}

func isConflict(err error) bool {
	code, ok := resultCode(err)
	if ok && code > 0xff {
		return (code == codeConstraintPrimaryKey || code == codeConstraintUnique) && ownConstraint(err, "UNIQUE", "PRIMARY KEY")
	}
	// An unknown driver, or a driver without extended codes.
	return err != nil && strings.Contains(err.Error(), "UNIQUE constraint failed")
}

func isBusy(err error) bool {
	code, ok := resultCode(err)
	return ok && (code&0xff == codeBusy || code == codeLockedSharedCache)
}

// resultCode finds the extended result code in an error of any driver, without
// importing the driver. Errors of modernc.org/sqlite have a method Code that
// returns it. Some errors of ncruces/go-sqlite3 have a method ExtendedCode, and
// others are integers, the code itself. Errors of mattn/go-sqlite3 have a field
// ExtendedCode.
func resultCode(err error) (code int, ok bool) {
	if err == nil {
		return 0, false
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if code, ok := resultCode(err); ok {
				return code, true
			}
		}
		return 0, false
	}
	v := reflect.ValueOf(err)
	if code, ok := result(v.MethodByName("ExtendedCode")); ok {
		return code, true
	}
	if code, ok := result(v.MethodByName("Code")); ok {
		if own, ok := integer(v); ok {
			return own, true
		}
		return code, true
	}
	if v.Kind() == reflect.Struct {
		if code, ok := integer(v.FieldByName("ExtendedCode")); ok {
			return code, true
		}
	}
	return resultCode(errors.Unwrap(err))
}

// result calls a method that has no parameters and returns an integer. It
// reports whether the method is of that kind.
func result(method reflect.Value) (int, bool) {
	if !method.IsValid() || method.Type().NumIn() != 0 || method.Type().NumOut() != 1 {
		return 0, false
	}
	return integer(method.Call(nil)[0])
}

func integer(v reflect.Value) (int, bool) {
	switch {
	case v.CanInt():
		return int(v.Int()), true
	case v.CanUint():
		return int(v.Uint()), true
	}
	return 0, false
}
