// Package through puts the protocol of package remote between the suite and an adapter
// in the same process. Tests compare what the suite says then with what it says directly.
package through

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/remote"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Harness returns a harness whose handles speak the protocol with those of h. What the
// harness does besides opening handles, it does with those of h.
func Harness(h adaptertest.Harness) adaptertest.Harness {
	w := wrapper{direct: &sync.Map{}}
	through := h
	through.New = w.opener(h.New)
	through.Single, through.Limited, through.Pooled = w.opener(h.Single), w.opener(h.Limited), w.opener(h.Pooled)
	through.Second, through.Reopen = w.another(h.Second), w.another(h.Reopen)
	through.Close, through.Clock, through.Connections = over(w, h.Close), over(w, h.Clock), over(w, h.Connections)
	through.Faults = over(w, h.Faults)
	w.handles(&through, h)
	w.stores(&through, h)
	w.sites(&through, h)
	return through
}

// wrapper knows the direct handle of each wrapped one.
type wrapper struct{ direct *sync.Map }

func (w wrapper) of(a adapter.Adapter) adapter.Adapter {
	direct, ok := w.direct.Load(a)
	if !ok {
		return a
	}
	return direct.(adapter.Adapter)
}

// wrap serves a handle until the clause ends.
func (w wrapper) wrap(t testing.TB, direct adapter.Adapter) adapter.Adapter {
	t.Helper()
	return w.opened(t, func() adapter.Adapter { return direct })
}

// opened serves the handle that the function opens, as a program opens it, until the clause ends.
func (w wrapper) opened(t testing.TB, openDirect func() adapter.Adapter) adapter.Adapter {
	t.Helper()
	var direct adapter.Adapter
	var ended bool // by the function
	fromSuite, toProgram := io.Pipe()
	fromProgram, toSuite := io.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		err := remote.Serve(fromSuite, toSuite, remote.Program{
			Open: func(context.Context, remote.Opening) (adapter.Adapter, error) {
				if direct, ended = apart(openDirect); direct == nil {
					return nil, errors.New("nothing was opened")
				}
				return direct, nil
			},
			Stats: func(adapter.Adapter) (remote.Usage, error) { return remote.Usage{}, nil },
		})
		_ = toSuite.CloseWithError(err)
	}()
	a, end, err := remote.Dial(t.Context(), fromProgram, toProgram, remote.Opening{})
	switch {
	case ended:
		runtime.Goexit()
	case direct == nil:
		return nil
	case err != nil:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end()
		_ = fromProgram.Close()
		<-served
	})
	w.direct.Store(a, direct)
	return a
}

func (w wrapper) opener(open func(testing.TB) adapter.Adapter) func(testing.TB) adapter.Adapter {
	if open == nil {
		return nil
	}
	return func(t testing.TB) adapter.Adapter {
		return w.opened(t, func() adapter.Adapter { return open(t) })
	}
}

// apart calls the function on another goroutine, and reports whether the function ended it.
func apart(open func() adapter.Adapter) (a adapter.Adapter, ended bool) {
	ended = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		a = open()
		ended = false
	}()
	<-done
	return a, ended
}

type anotherOf func(testing.TB, adapter.Adapter) adapter.Adapter

func (w wrapper) another(open anotherOf) anotherOf {
	if open == nil {
		return nil
	}
	return func(t testing.TB, a adapter.Adapter) adapter.Adapter { return w.wrap(t, open(t, w.of(a))) }
}

// over makes a function of a direct handle, unless it is nil, one of the wrapped handle.
func over[T any](w wrapper, f func(adapter.Adapter) T) func(adapter.Adapter) T {
	if f == nil {
		return nil
	}
	return func(a adapter.Adapter) T { return f(w.of(a)) }
}

// handles sets the fields about a handle.
func (w wrapper) handles(through *adaptertest.Harness, h adaptertest.Harness) {
	if h.Namespace != nil {
		through.Namespace = func(t testing.TB, a adapter.Adapter, name string) (adapter.Adapter, error) {
			other, err := h.Namespace(t, w.of(a), name)
			if err != nil {
				return nil, err
			}
			return w.wrap(t, other), nil
		}
	}
	if h.CheckHandle != nil {
		through.CheckHandle = func(ctx context.Context, a adapter.Adapter) error { return h.CheckHandle(ctx, w.of(a)) }
	}
}

// stores sets the fields about the store of a handle.
func (w wrapper) stores(through *adaptertest.Harness, h adaptertest.Harness) {
	if h.Sweep != nil {
		through.Sweep = func(ctx context.Context, a adapter.Adapter, now time.Time) error { return h.Sweep(ctx, w.of(a), now) }
	}
	if h.Corrupt != nil {
		through.Corrupt = func(t testing.TB, a adapter.Adapter, r adaptertest.Record) func() { return h.Corrupt(t, w.of(a), r) }
	}
	if h.Inspect != nil {
		through.Inspect = func(ctx context.Context, a adapter.Adapter, r adaptertest.Record) (bool, error) {
			return h.Inspect(ctx, w.of(a), r)
		}
	}
}

// sites sets the fields about sites that exist.
func (w wrapper) sites(through *adaptertest.Harness, h adaptertest.Harness) {
	through.ReadOnly, through.Quoting, through.Refusing = w.after(h.ReadOnly), w.after(h.Quoting), w.after(h.Refusing)
	if h.Settings != nil {
		through.Settings = func(t testing.TB, a adapter.Adapter) (all []adapter.Adapter) {
			for _, other := range h.Settings(t, w.of(a)) {
				all = append(all, w.wrap(t, other))
			}
			return all
		}
	}
	if h.Foreign != nil {
		through.Foreign = func(t testing.TB) []adaptertest.Foreign {
			all := h.Foreign(t)
			for i, f := range all {
				all[i].Open = func(t testing.TB) (adapter.Adapter, error) {
					a, err := f.Open(t)
					if err != nil {
						return nil, err
					}
					return w.wrap(t, a), nil
				}
			}
			return all
		}
	}
	if h.Reduced != nil {
		through.Reduced = func(t testing.TB) []adaptertest.Reduced {
			all := h.Reduced(t)
			for i, r := range all {
				all[i].Open, all[i].Witness = w.opener(r.Open), w.opener(r.Witness)
				if r.Prepare != nil {
					all[i].Prepare = func(ctx context.Context, a adapter.Adapter) error { return r.Prepare(ctx, w.of(a)) }
				}
			}
			return all
		}
	}
}

type withAction func(testing.TB) (adapter.Adapter, func())

func (w wrapper) after(open withAction) withAction {
	if open == nil {
		return nil
	}
	return func(t testing.TB) (adapter.Adapter, func()) {
		a, do := open(t)
		return w.wrap(t, a), do
	}
}
