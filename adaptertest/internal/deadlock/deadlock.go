// Package deadlock recognizes the errors with which a store ends a transaction that can be run
// again: one of several that wait for each other, or that no order explains.
package deadlock

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// codes are those of SQLSTATE, and the number of MySQL and MariaDB.
var codes = map[string]bool{"40P01": true, "40001": true, "1213": true}

// Seen keeps the code of a deadlock.
type Seen struct {
	mu   sync.Mutex
	code string
}

// See looks at the error of a call, which may be nil.
func (s *Seen) See(err error) {
	if code := Code(err); code != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.code = code
	}
}

// Code returns the code of the last deadlock, or "".
func (s *Seen) Code() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.code
}

// Code returns the code of a deadlock, or "". It asks err and the errors that it wraps for their
// SQLState, or for their field Number, and never reads their text.
func Code(err error) string {
	var state interface {
		error
		SQLState() string
	}
	if errors.As(err, &state) && codes[state.SQLState()] {
		return state.SQLState()
	}
	return number(err)
}

// number looks for an error with a field Number, as that of go-sql-driver/mysql.
func number(err error) string {
	if err == nil {
		return ""
	}
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		if n := v.FieldByName("Number"); n.IsValid() && (n.CanUint() || n.CanInt()) && codes[fmt.Sprint(n)] {
			return fmt.Sprint(n)
		}
	}
	switch wraps := err.(type) { //nolint:errorlint // it walks the tree of errors
	case interface{ Unwrap() error }:
		return number(wraps.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range wraps.Unwrap() {
			if code := number(e); code != "" {
				return code
			}
		}
	}
	return ""
}
