package mutants

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// joinedSession reads a session and then its user.
func joinedSession(ctx context.Context, m *mem, token string, judge func(*adapter.User, error) (*adapter.User, error)) (*adapter.SessionAndUser, error) {
	if err := m.begin(ctx); err != nil {
		return nil, err
	}
	s, ok := look(m, &m.sessions, token)
	if !ok {
		return nil, nil
	}
	gap()
	u, err := judge(m.GetUser(ctx, s.UserID))
	if u == nil || err != nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: s, User: *u}, nil
}

// gap lets other calls run between two steps of a call.
func gap() {
	runtime.Gosched()
	runtime.Gosched()
}

// aWhile waits about as long as a server takes to answer.
func aWhile() {
	for start := time.Now(); time.Since(start) < 50*time.Microsecond; {
		runtime.Gosched()
	}
}

// inOneFlight answers concurrent calls for one key with one read. Each caller gets
// a copy of the result if copied is not nil, else the result itself.
func inOneFlight[T any](read func(context.Context, string) (T, error), copied func(T) T) func(context.Context, string) (T, error) {
	return inOneFlightBy(func(key string) string { return key }, read, copied)
}

// inOneFlightBy is inOneFlight for calls with another argument, which has the key.
func inOneFlightBy[A, T any](keyOf func(A) string, call func(context.Context, A) (T, error), copied func(T) T) func(context.Context, A) (T, error) {
	flights := flightsOf(keyOf, call)
	return func(ctx context.Context, arg A) (T, error) {
		f := flights(ctx, arg)
		<-f.landed
		if copied != nil {
			return copied(f.result), f.err
		}
		return f.result, f.err
	}
}

// flight is a call that several callers wait for.
type flight[T any] struct {
	landed chan struct{}
	result T
	err    error
}

// flightsOf joins the running call for a key, or makes the call.
func flightsOf[A, T any](keyOf func(A) string, call func(context.Context, A) (T, error)) func(context.Context, A) *flight[T] {
	var mu sync.Mutex
	flights := map[string]*flight[T]{}
	return func(ctx context.Context, arg A) *flight[T] {
		key := strings.Clone(keyOf(arg))
		mu.Lock()
		f, ok := flights[key]
		if !ok {
			f = &flight[T]{landed: make(chan struct{})}
			flights[key] = f
		}
		mu.Unlock()
		if !ok {
			f.result, f.err = call(ctx, arg)
			mu.Lock()
			delete(flights, key)
			mu.Unlock()
			close(f.landed)
		}
		return f
	}
}
