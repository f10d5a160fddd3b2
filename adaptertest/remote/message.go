package remote

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"slices"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/deadlock"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Version is the version of the protocol.
const Version = 1

// request is a line from the suite to the program.
type request struct {
	ID     int64             `json:"id"`
	Call   string            `json:"call"`
	Handle int64             `json:"handle,omitempty"`
	Args   []json.RawMessage `json:"args"`
	// Timeout is the time until the deadline in milliseconds, if the call has one.
	Timeout *float64 `json:"timeout,omitempty"`
	// Cancelled says that the caller has left already.
	Cancelled bool `json:"cancelled,omitempty"`
}

// answer is a line from the program to the suite.
type answer struct {
	ID     *int64          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`
}

// Hello is what a program says of itself.
type Hello struct {
	Protocol int    `json:"protocol"`
	Name     string `json:"name"`
	Version  string `json:"version,omitempty"`
	// Features are the names of what the program takes part in, see PROTOCOL.md.
	Features []string `json:"features,omitempty"`
	// IDs is the form of user IDs: uuid, integer or objectid; empty means uuid.
	IDs string `json:"ids,omitempty"`
	// Declarations are those of the suite, with the names that its report has.
	Declarations json.RawMessage `json:"declarations,omitempty"`
}

// The features of a program.
const (
	Cancel      = "cancel"      // it ends a call at its deadline, and when the suite cancels it
	Stats       = "stats"       // it answers stats
	Tasks       = "tasks"       // its answer to stats has tasks
	Second      = "second"      // several processes may open one store
	Handles     = "handles"     // one process may open one store several times
	Reopen      = "reopen"      // a store keeps its records when all its handles are closed
	Address     = "address"     // it connects to the address that open names
	Connections = "connections" // it opens at most as many connections as open says
	Namespace   = "namespace"   // it opens the store under the prefix, schema or table name of open
	Drop        = "drop"        // it deletes a store
	Shared      = "shared"      // all stores are one
)

func (h Hello) has(feature string) bool { return slices.Contains(h.Features, feature) }

// Opening says what a program opens.
type Opening struct {
	// Store names the store. One that the program does not know is new and empty, or is
	// the one store that the program has.
	Store string `json:"store"`
	// Address is where to connect to, "127.0.0.1:port", or empty for the usual address.
	Address string `json:"address,omitempty"`
	// Connections is the most connections to open at once, or zero.
	Connections int `json:"connections,omitempty"`
	// Namespace is the prefix, schema or table name, or empty for the usual one.
	Namespace string `json:"namespace,omitempty"`
}

// opened is the answer to open.
type opened struct {
	Handle        int64    `json:"handle"`
	Methods       []string `json:"methods"`
	RequiresEmail bool     `json:"requiresEmail,omitempty"`
}

// Usage is the answer to stats.
type Usage struct {
	// Connections is the number of open connections between the handle and its store.
	Connections int `json:"connections"`
	// Memory is the number of bytes that the process has from the system, or zero.
	Memory int64 `json:"memory,omitempty"`
	// Tasks is the number of goroutines, threads or timers that the opening of the handle and
	// its calls have started, and that have not ended.
	Tasks int `json:"tasks,omitempty"`
}

// Error is an error of the adapter in the program. It matches the error of package
// adapter, or of a context, that its kind names.
type Error struct {
	// Kind is conflict, notFound, unsupported, lastCredential, cancelled, deadline, panic, or
	// empty for any other error.
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message"`
	// Cause says what the adapter's error wraps, the type or code of the driver's error.
	// It is nil if the error is only text.
	Cause *Cause `json:"cause,omitempty"`
}

// Cause is an error that another one wraps.
type Cause struct {
	Type string `json:"type"`
	// Code is the SQLSTATE or the number of the error in the store, or empty.
	Code string `json:"code,omitempty"`
}

// SQLState returns Code, for a suite that looks for deadlocks.
func (c *Cause) SQLState() string { return c.Code }

func (c *Cause) Error() string { return c.Type }

func (e *Error) Error() string { return e.Message }

// kinds are the errors that a kind stands for.
var kinds = map[string]error{
	"conflict": adapter.ErrConflict, "notFound": adapter.ErrNotFound, "unsupported": adapter.ErrUnsupported,
	"lastCredential": adapter.ErrLastCredential, "cancelled": context.Canceled, "deadline": context.DeadlineExceeded,
}

// asError returns the error as a caller gets it: as plain text if it wraps nothing.
func (e *Error) asError() error {
	var wrapped []error
	if kind, ok := kinds[e.Kind]; ok {
		wrapped = append(wrapped, kind)
	}
	if e.Cause != nil {
		wrapped = append(wrapped, e.Cause)
	}
	if len(wrapped) == 0 {
		return errors.New(e.Message)
	}
	return &wrapping{e.Message, wrapped}
}

// panicked is an adapter's panic.
type panicked struct{ text string }

func (p *panicked) Error() string { return p.text }

// wrapping is an error with a text of its own.
type wrapping struct {
	text    string
	wrapped []error
}

func (w *wrapping) Error() string   { return w.text }
func (w *wrapping) Unwrap() []error { return w.wrapped }

// kindOf is the kind of an error. The end of the call's context comes last: an adapter
// may join it to what it found.
func kindOf(err error) string {
	for _, kind := range []string{"conflict", "notFound", "unsupported", "lastCredential", "deadline", "cancelled"} {
		if errors.Is(err, kinds[kind]) {
			return kind
		}
	}
	return ""
}

// errorOf describes an error of an adapter in Go.
func errorOf(err error) *Error {
	e := &Error{Kind: kindOf(err), Message: err.Error()}
	var p *panicked
	if errors.As(err, &p) {
		e.Kind = "panic"
	}
	for cause := err; cause != nil; cause = unwrapped(cause) {
		if t := fmt.Sprintf("%T", cause); !slices.Contains(plain, t) {
			e.Cause = &Cause{Type: t, Code: deadlock.Code(err)}
			return e
		}
	}
	for _, known := range sentinels {
		if errors.Is(err, known) {
			e.Cause = &Cause{Type: known.Error()}
		}
	}
	return e
}

// sentinels are errors of stores and networks that callers know although they are text.
var sentinels = []error{fault.ErrInjected, io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, driver.ErrBadConn}

// plain are the types of errors that are text, or text around others.
var plain = []string{"*errors.errorString", "*fmt.wrapError", "*fmt.wrapErrors", "*errors.joinError"}

// unwrapped returns the last error that err wraps.
func unwrapped(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		if all := many.Unwrap(); len(all) > 0 {
			return all[len(all)-1]
		}
	}
	return errors.Unwrap(err)
}

// method is a method of the contract.
type method struct {
	name, inGo string
	has        func(adapter.Adapter) bool // nil for the methods of every adapter
	call       func(ctx context.Context, a adapter.Adapter, x arguments) (any, error)
}

//go:generate go run ../../auth/adapter/internal/methods -form remote -without Sweeper,EmailRequirer methods.go

// deleteExpired is the name of the method of adapter.Sweeper.
const deleteExpired = "deleteExpired"

// arguments are those of a request.
type arguments []json.RawMessage

// argument decodes the i-th argument. What it panics with is an error.
func argument[T any](x arguments, i int) (value T) {
	if i >= len(x) {
		panic(argumentError{fmt.Errorf("argument %d is missing", i)})
	}
	if err := decode(x[i], reflect.ValueOf(&value).Elem(), fmt.Sprintf("argument %d", i)); err != nil {
		panic(argumentError{err})
	}
	return value
}

type argumentError struct{ error }

func has[T any](a adapter.Adapter) bool {
	_, ok := adapter.Capability[T](a)
	return ok
}

func optional[T any](a adapter.Adapter) T {
	t, _ := adapter.Capability[T](a)
	return t
}
