package kit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Observer passes calls on to an adapter and checks the rules for every call, in every clause: a call does not panic
// [INPUT-15], an error comes without a record [ERR-07], and an absent record is nil, not empty [ERR-03]. It keeps the
// errors for [ERR-08] and the last calls as evidence. If the adapter lacks a lookup, the observer uses another lookup
// where that is possible. A call of another method that the adapter lacks ends the clause as not applicable.
type Observer struct {
	Next  adapter.Adapter
	c     *Context
	known *remembered // shared by all observers of the clause
}

//go:generate go run ../../../auth/adapter/internal/methods -form observer -without Sweeper,AuthenticatorBackups,EmailRequirer observer_methods.go

// observe makes one call.
func observe[T any](ctx context.Context, o *Observer, method string, args ...any) (result T, err error) {
	if standIn := o.standIn(ctx, method, args); standIn != nil && o.c.Lacks(method) {
		got, err := standIn()
		return got.(T), err
	}
	o.c.Requires(method)
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s panicked: %v", method, v)
			o.c.Errorf("INPUT-15: %s(%s) panicked: %v\n%s", method, diff.Show(args...), v, debug.Stack())
		}
	}()
	if IsLookup(method) {
		o.c.Settle()
	}
	finish := o.c.Trace.Begin(Call{Method: method, Args: args})
	began := time.Now()
	got, err := signatureOf(method).call(ctx, o.Next, args)
	result = got.(T)
	finish()
	waited(o.c, MadeCall{Method: method, Args: args, Result: result, Err: err}, time.Since(began))
	o.c.Deadlock.See(err)
	if !IsLookup(method) {
		Wrote(o.c)
	}
	o.c.Trace.add(method, args, result, err)
	if len(o.c.Missing) > 0 && err == nil {
		o.known.learn(args, result)
	}
	r := reflect.ValueOf(&result).Elem()
	isRecord := r.Kind() == reflect.Pointer || r.Kind() == reflect.Slice
	o.c.Run.observed(Observation{Method: method, Clause: o.c.Clause, Err: err,
		RecordWithError: err != nil && isRecord && !r.IsNil(),
		EmptyRecord:     err == nil && r.Kind() == reflect.Pointer && !r.IsNil() && isEmptyRecord(r.Interface()),
	})
	if where := elsewhere("", r); where != "" {
		o.c.Run.notInUTC(method, where, o.c.Clause)
	}
	return result, err
}

// isEmptyRecord reports whether a non-nil record lacks its key.
func isEmptyRecord(record any) bool {
	switch r := record.(type) {
	case *adapter.User:
		return r.ID == ""
	case *adapter.Account:
		return r.Provider == "" && r.ProviderAccountID == ""
	case *adapter.Session:
		return r.SessionToken == ""
	case *adapter.SessionAndUser:
		return r.Session.SessionToken == "" || r.User.ID == ""
	case *adapter.VerificationToken:
		return r.Identifier == "" && r.Token == ""
	case *adapter.Authenticator:
		return r.CredentialID == ""
	case *adapter.Password:
		return r.UserID == "" || r.Hash == ""
	default:
		return false
	}
}

// Observation is the result of one call with respect to the rules for results and errors.
type Observation struct {
	Method, Clause  string
	Err             error
	RecordWithError bool
	EmptyRecord     bool
}

// elsewhere describes the first instant of a result that is not in UTC, in the field or below it. The zone of the
// process is not UTC, also where it has the same offset: elsewhere it has another.
func elsewhere(field string, v reflect.Value) (said string) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			said = elsewhere(field, v.Elem())
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && v.Type().Elem().Kind() == reflect.Struct && said == ""; i++ {
			said = elsewhere(field, v.Index(i))
		}
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			if _, offset := t.Zone(); t.IsZero() || offset == 0 && t.Location() != time.Local {
				return ""
			}
			return fmt.Sprintf("%s in the zone %q", field, t.Location())
		}
		for i := 0; i < v.NumField() && said == ""; i++ {
			said = elsewhere(v.Type().Field(i).Name, v.Field(i))
		}
	}
	return said
}

// trace keeps the last calls of a clause.
type trace struct {
	mu    sync.Mutex
	calls []MadeCall
	total int
	ended atomic.Int64 // how many calls have returned otherwise than by the end of their context
	races atomic.Int64 // how many sets of calls at once are under way
	now   map[int]Call // calls under way, by their number
	began int
}

// MadeCall is a call that was made. Its text is made only when it is wanted: most are not.
type MadeCall struct {
	Through, Method string
	Args            []any // nil for what is no call of one method
	Result          any
	Err             error
	text            string // once it was made
}

func (m MadeCall) String() string {
	if m.text != "" {
		return m.text
	}
	if m.Args == nil {
		return m.Through + m.Method
	}
	text := fmt.Sprintf("%s%s(%s) = %s", m.Through, m.Method, diff.Show(m.Args...), diff.Show(m.Result))
	if m.Err != nil {
		text += fmt.Sprintf(", error: %v", m.Err)
	}
	return text
}

// OneEachLine returns the texts of the calls, one on each line.
func OneEachLine(calls []MadeCall) string {
	return strings.Join(Map(calls, MadeCall.String), "\n  ")
}

// Begin records that calls are under way, or about to be, until the returned function is called.
func (t *trace) Begin(calls ...Call) (finish func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[int]Call{}
	}
	first := t.began
	for _, k := range calls {
		t.now[t.began] = k
		t.began++
	}
	races := int64(min(1, len(calls)-1))
	t.races.Add(races)
	return func() {
		t.races.Add(-races)
		t.mu.Lock()
		defer t.mu.Unlock()
		for i := range calls {
			delete(t.now, first+i)
		}
	}
}

// underWay returns the calls that have not returned, the first three of them.
func (t *trace) underWay() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var calls []string
	for _, n := range SortedKeys(t.now) {
		if len(calls) < 3 {
			calls = append(calls, fmt.Sprintf("%s(%s)", t.now[n].Method, diff.Show(t.now[n].Args...)))
		}
	}
	return calls
}

// before returns the observed calls that returned last, three of them.
func (t *trace) before() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total == 0 {
		return "before it no call had returned"
	}
	return "the last calls before it:\n  " + OneEachLine(t.calls[max(0, len(t.calls)-3):])
}

const tracedCalls = 24

// Returned counts a call that has returned, unless it waited until its context ended: the clause goes on.
func (t *trace) Returned(err error) {
	if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
		t.ended.Add(1)
	}
}

func (t *trace) add(method string, args []any, result any, err error) {
	t.Returned(err)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total++
	if len(t.calls) == tracedCalls {
		t.calls = slices.Delete(t.calls, 0, 1)
	}
	t.calls = append(t.calls, MadeCall{Method: method, Args: args, Result: result, Err: err})
}

// Keep makes the texts of the calls so far, before somebody changes their arguments or results.
func (t *trace) Keep() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, m := range t.calls {
		t.calls[i].text = m.String()
	}
}

// Idle returns a function that reports whether no call has returned since its last use. A call that waited until its
// context ended, as each call of a pool without connections does, does not count.
func (t *trace) Idle() func() bool {
	returned := int64(-1)
	return func() bool {
		before := returned
		returned = t.ended.Load()
		return returned == before
	}
}

func (t *trace) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("the last %d of %d calls:\n  %s", len(t.calls), t.total, cmp.Or(OneEachLine(t.calls), "none that was noted"))
}
