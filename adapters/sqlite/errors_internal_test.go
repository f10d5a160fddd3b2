package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// The kinds of errors that drivers return. The tests of the package also
// meet real errors of modernc.org/sqlite and ncruces/go-sqlite3;
// mattn/go-sqlite3 needs cgo.
type (
	mattnCode         int
	mattnExtendedCode int
	mattnError        struct {
		Code         mattnCode
		ExtendedCode mattnExtendedCode
	}
	methodError int
)

func (mattnError) Error() string   { return "constraint failed" }
func (e *methodError) Code() int   { return int(*e) }
func (*methodError) Error() string { return "constraint failed" }

func TestResultCode(t *testing.T) {
	for name, c := range map[string]struct {
		err      error
		conflict bool
		busy     bool
	}{
		"nil":                   {nil, false, false},
		"other":                 {io.EOF, false, false},
		"mattn, unique":         {mattnError{19, 2067}, true, false},
		"mattn, primary key":    {mattnError{19, 1555}, true, false},
		"mattn, foreign key":    {mattnError{19, 787}, false, false},
		"mattn, busy":           {mattnError{5, 5}, false, true},
		"mattn, snapshot":       {mattnError{5, 517}, false, true},
		"mattn, shared cache":   {mattnError{6, 262}, false, true},
		"mattn, same statement": {mattnError{6, 6}, false, false},
		"method":                {new(methodError(1555)), true, false},
		"wrapped":               {fmt.Errorf("a: %w", fmt.Errorf("b: %w", mattnError{19, 2067})), true, false},
		"joined":                {errors.Join(io.EOF, mattnError{5, 5}), false, true},
		"errno":                 {syscall.Errno(5), false, false},
		"message alone":         {errors.New("sqlite: UNIQUE constraint failed: user.id"), true, false},
		"no extended code":      {new(methodError(19)), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.conflict, isConflict(c.err), "isConflict")
			assert.Equal(t, c.busy, isBusy(c.err), "isBusy")
		})
	}
}

func TestFailedKeepsTheCause(t *testing.T) {
	cause := mattnError{19, 2067}
	err := failed(t.Context(), "create user", cause)
	var got mattnError
	assert.Truef(t, errors.Is(err, adapter.ErrConflict) && errors.As(err, &got),
		"got %v, want ErrConflict and the driver's error in the chain", err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := failed(ctx, "create user", mattnError{9, 9}); !errors.Is(err, context.Canceled) || !errors.As(err, &got) {
		t.Errorf("interrupted: got %v, want Canceled and the driver's error in the chain", err)
	}
}

// [FAULT-12]
func TestPatienceEnds(t *testing.T) {
	for name, c := range map[string]struct {
		a        *Adapter
		err      error
		min, max time.Duration
	}{
		"busy":           {&Adapter{pool: new(sql.DB)}, mattnError{5, 5}, busyWait, busyWait + time.Second},
		"another error":  {&Adapter{pool: new(sql.DB)}, io.EOF, 0, 0},
		"in transaction": {&Adapter{}, mattnError{5, 5}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := c.a.patiently(t.Context(), func() error { return c.err })
				if took := time.Since(start); !errors.Is(err, c.err) || took < c.min || took > c.max {
					t.Errorf("got %v after %v, want %v after %v to %v", err, took, c.err, c.min, c.max)
				}
			})
		})
	}
}
