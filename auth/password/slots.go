package password

import (
	"context"
	"slices"
	"sync"
	"time"
)

// BusyError says that too many passwords wait to be hashed. A web server answers
// with status 503 and the header Retry-After.
type BusyError struct{ RetryAfter time.Duration }

// Error says that the server is busy.
func (e *BusyError) Error() string {
	return "password: too many passwords wait to be hashed; try again after " + e.RetryAfter.String()
}

// slots lets a fixed number of hashes be made at once. Clients take turns: one
// client never has the last slot of several, and its waiting calls make room for
// those of a client that has fewer.
type slots struct {
	atOnce, waiting int // limits

	mu      sync.Mutex
	running int
	queued  int
	clients map[string]*client
	turns   []*client // those with waiting calls, the next one first
}

// client has the calls of one client.
type client struct {
	name    string
	running int
	calls   []*call
}

// call is a waiting call. Its channel gets one value: whether it may run.
type call struct{ turn chan bool }

func newSlots(atOnce, waiting int) *slots {
	return &slots{atOnce: atOnce, waiting: waiting, clients: map[string]*client{}}
}

// do runs hash when a slot is free.
func (s *slots) do(ctx context.Context, name string, hash func()) error {
	if err := s.take(ctx, name); err != nil {
		return err
	}
	defer s.release(name)
	hash()
	return nil
}

func (s *slots) take(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	c := s.client(name)
	if s.mayRun(c) && len(c.calls) == 0 {
		s.run(c)
		s.mu.Unlock()
		return nil
	}
	if s.queued >= s.waiting && !s.makeRoom(c) {
		s.forget(c)
		s.mu.Unlock()
		return &BusyError{RetryAfter: time.Second}
	}
	w := &call{turn: make(chan bool, 1)}
	s.queue(c, w)
	s.mu.Unlock()

	select {
	case <-ctx.Done():
		if s.leave(c, w) {
			return ctx.Err()
		}
		if <-w.turn { // it was its turn at that moment
			s.release(name)
		}
		return ctx.Err()
	case run := <-w.turn:
		if !run {
			return &BusyError{RetryAfter: time.Second}
		}
		return nil
	}
}

// client returns the calls of a client, new ones if there are none.
func (s *slots) client(name string) *client {
	c := s.clients[name]
	if c == nil {
		c = &client{name: name}
		s.clients[name] = c
	}
	return c
}

// forget removes a client that has no calls.
func (s *slots) forget(c *client) {
	if c.running == 0 && len(c.calls) == 0 {
		delete(s.clients, c.name)
	}
}

// mayRun says that a slot is free for the client.
func (s *slots) mayRun(c *client) bool {
	return s.running < s.atOnce && (s.atOnce == 1 || c.running < s.atOnce-1)
}

func (s *slots) run(c *client) {
	s.running++
	c.running++
}

func (s *slots) queue(c *client, w *call) {
	if len(c.calls) == 0 {
		s.turns = append(s.turns, c)
	}
	c.calls = append(c.calls, w)
	s.queued++
}

// makeRoom refuses the last waiting call of the client that has most of them, if
// it has at least two more than this one.
func (s *slots) makeRoom(c *client) bool {
	most := c
	for _, other := range s.turns {
		if len(other.calls) > len(most.calls) {
			most = other
		}
	}
	if len(most.calls) < len(c.calls)+2 {
		return false
	}
	last := most.calls[len(most.calls)-1]
	s.drop(most, len(most.calls)-1)
	last.turn <- false
	return true
}

// leave removes a call that does not wait any longer; it reports false if the
// call has its answer.
func (s *slots) leave(c *client, w *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(c.calls, w)
	if i >= 0 {
		s.drop(c, i)
	}
	return i >= 0
}

// drop removes a waiting call.
func (s *slots) drop(c *client, i int) {
	c.calls = append(c.calls[:i:i], c.calls[i+1:]...)
	s.queued--
	if len(c.calls) > 0 {
		return
	}
	s.turns = slices.DeleteFunc(s.turns, func(turn *client) bool { return turn == c })
	s.forget(c)
}

// release frees a slot and gives it to the next client that may have it.
func (s *slots) release(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	c := s.clients[name]
	c.running--
	s.forget(c)
	for i := 0; i < len(s.turns); {
		next := s.turns[i]
		if !s.mayRun(next) {
			i++
			continue
		}
		w := next.calls[0]
		s.run(next) // before drop, which forgets a client without calls
		s.drop(next, 0)
		if len(next.calls) > 0 { // its next call waits behind the others
			s.turns = append(append(s.turns[:i:i], s.turns[i+1:]...), next)
		}
		w.turn <- true
	}
}
