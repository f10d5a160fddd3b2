package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Program is an adapter in Go that [Serve] serves. Only Open is required; Serve adds the
// features cancel, stats with tasks, and drop, the last two if their functions are set.
type Program struct {
	Hello
	// Open opens a handle. The store is new unless a handle of it was opened before.
	Open func(ctx context.Context, o Opening) (adapter.Adapter, error)
	// Close closes a handle. It may be nil.
	Close func(a adapter.Adapter) error
	// Stats measures. It may be nil.
	Stats func(a adapter.Adapter) (Usage, error)
	// Drop deletes a store. It may be nil.
	Drop func(ctx context.Context, store string) error
}

// Serve answers the requests of a suite, each on its own goroutine, until the input ends. It
// returns an error if the input can't be read or the output written.
func Serve(in io.Reader, out io.Writer, p Program) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &server{program: p, out: out, handles: map[int64]adapter.Adapter{}, calls: map[int64]context.CancelFunc{}}
	defer s.under.Wait()
	defer cancel()
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return s.failed()
		}
		if err != nil {
			return err
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return fmt.Errorf("remote: a line is no request: %w", err)
		}
		s.begin(ctx, r)
	}
}

type server struct {
	program Program
	under   sync.WaitGroup

	mu      sync.Mutex
	out     io.Writer
	err     error // of the output
	last    int64
	handles map[int64]adapter.Adapter
	calls   map[int64]context.CancelFunc
}

func (s *server) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// begin begins a call, or cancels one.
func (s *server) begin(ctx context.Context, r request) {
	if r.Call == "cancel" {
		s.mu.Lock()
		defer s.mu.Unlock()
		var id int64
		if len(r.Args) == 1 && json.Unmarshal(r.Args[0], &id) == nil && s.calls[id] != nil {
			s.calls[id]()
		}
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	end := cancel
	if r.Timeout != nil {
		ctx, end = context.WithTimeout(ctx, time.Duration(*r.Timeout*float64(time.Millisecond)))
	}
	if r.Cancelled {
		cancel()
	}
	s.mu.Lock()
	s.calls[r.ID] = cancel
	s.mu.Unlock()
	s.under.Go(func() {
		defer cancel()
		defer end()
		result, err := s.labelled(ctx, &r)
		s.reply(r.ID, result, err)
	})
}

func (s *server) reply(id int64, result any, err error) {
	a := answer{ID: &id}
	if err != nil {
		a.Error = errorOf(err)
	}
	if v := reflect.ValueOf(result); v.IsValid() && (err == nil || isRecord(v)) {
		a.Result, _ = marshal(v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.calls, id)
	line, failed := json.Marshal(a)
	if failed == nil {
		_, failed = s.out.Write(append(line, '\n'))
	}
	s.err = errors.Join(s.err, failed)
}

// isRecord reports whether the result is one, although there is an error: the suite wants to know.
func isRecord(v reflect.Value) bool {
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice) && !v.IsNil()
}

// marshal writes a value as the protocol has it.
func marshal(v reflect.Value) (json.RawMessage, error) { return json.Marshal(encode(v)) }

// answer makes a call.
func (s *server) answer(ctx context.Context, r request) (result any, err error) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case argumentError:
			err = fmt.Errorf("remote: %s: %w", r.Call, v.error)
		default:
			err = &panicked{fmt.Sprintf("%v\n%s", v, debug.Stack())}
		}
	}()
	switch r.Call {
	case "hello":
		return s.hello(), nil
	case "ping":
		return nil, nil
	case "open":
		return s.open(ctx, r.Handle, argument[Opening](r.Args, 0))
	case "drop":
		return nil, s.program.Drop(ctx, argument[string](r.Args, 0))
	}
	s.mu.Lock()
	a, ok := s.handles[r.Handle]
	s.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("remote: no handle %d is open", r.Handle)
	}
	switch r.Call {
	case "close":
		if s.program.Close == nil {
			return nil, nil
		}
		return nil, s.program.Close(a)
	case Stats:
		return s.usage(a, r.Handle)
	case deleteExpired:
		return a.(adapter.Sweeper).DeleteExpired(ctx, argument[time.Time](r.Args, 0))
	}
	i := slices.IndexFunc(methods, func(m method) bool { return m.name == r.Call })
	if i < 0 {
		return nil, fmt.Errorf("remote: no method %q", r.Call)
	}
	return methods[i].call(ctx, a, r.Args)
}

func (s *server) hello() Hello {
	h := s.program.Hello
	h.Protocol = Version
	h.Features = append(slices.Clone(h.Features), Cancel)
	if s.program.Stats != nil {
		h.Features = append(h.Features, Stats, Tasks)
	}
	if s.program.Drop != nil {
		h.Features = append(h.Features, Drop)
	}
	return h
}

func (s *server) open(ctx context.Context, handle int64, o Opening) (any, error) {
	a, err := s.program.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.handles[handle] = a
	s.mu.Unlock()
	answer := opened{Handle: handle, Methods: methodsOf(a)}
	if r, ok := adapter.Capability[adapter.EmailRequirer](a); ok {
		answer.RequiresEmail = r.RequiresEmail()
	}
	return answer, nil
}

// methodsOf returns the names of the methods that the adapter has.
func methodsOf(a adapter.Adapter) (names []string) {
	missing := adapter.Missing(a)
	for _, m := range methods {
		if (m.has == nil || m.has(a)) && !slices.Contains(missing, m.inGo) {
			names = append(names, m.name)
		}
	}
	if _, ok := a.(adapter.Sweeper); ok {
		names = append(names, deleteExpired)
	}
	return names
}
