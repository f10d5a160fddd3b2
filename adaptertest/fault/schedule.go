package fault

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// schedule counts the steps of a control and returns the faults of each.
// [Proxy] and [Driver] share it.
type schedule struct {
	mu    sync.Mutex
	steps int64
	// armed are the faults whose step has not begun. begun are the lasting
	// faults in force, and the other faults whose step is under way.
	armed, begun []*injection
}

// injection is one fault. The lock of its schedule guards all fields except
// the channels.
type injection struct {
	sched    *schedule
	kind     Kind
	step     int64
	taken    bool
	released bool
	hit      chan struct{}
	done     chan struct{}
}

func (k Kind) lasts() bool { return k == Stall || k == Down || k == Delay }

func (s *schedule) inject(kind Kind, step int, unsupported ...Kind) (Injection, error) {
	if kind < FailRequest || kind > Delay || slices.Contains(unsupported, kind) {
		return nil, fmt.Errorf("fault: kind %d: %w", kind, errors.ErrUnsupported)
	}
	if step < 1 {
		return nil, fmt.Errorf("fault: step %d: the next step is 1", step)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := &injection{sched: s, kind: kind, step: s.steps + int64(step), hit: make(chan struct{}), done: make(chan struct{})}
	s.armed = append(s.armed, i)
	return i, nil
}

// begin counts a step and returns its faults.
func (s *schedule) begin() stepFaults {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps++
	var f stepFaults
	s.armed = slices.DeleteFunc(s.armed, func(i *injection) bool {
		if i.step > s.steps {
			return false
		}
		s.begun = append(s.begun, i)
		f = append(f, i)
		return true
	})
	return f
}

// quiet reports whether no fault is armed or in force. It then also counts a step, if
// one begins.
func (s *schedule) quiet(begins bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.armed)+len(s.begun) > 0 {
		return false
	}
	if begins {
		s.steps++
	}
	return true
}

// stepFaults are the faults of one step.
type stepFaults []*injection

// take returns the step's fault of the kind, or nil if there is none or it was
// released before. The caller causes the fault and then calls struck.
func (f stepFaults) take(kind Kind) *injection {
	for _, i := range f {
		if i.kind == kind && i.take() {
			return i
		}
	}
	return nil
}

func (i *injection) take() bool {
	i.sched.mu.Lock()
	defer i.sched.mu.Unlock()
	if i.released || i.taken {
		return false
	}
	i.taken = true
	if !i.kind.lasts() && i.kind != HoldReply {
		i.drop()
	}
	return true
}

// struck reports that the fault has taken effect.
func (i *injection) struck() { close(i.hit) }

// lasting returns a fault of the kind that is in force, or nil.
func (s *schedule) lasting(kind Kind) *injection {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.begun {
		if i.kind == kind {
			return i
		}
	}
	return nil
}

func (s *schedule) count() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.steps
}

func (s *schedule) heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range slices.Concat(s.armed, s.begun) {
		i.release()
	}
}

func (i *injection) Hit() <-chan struct{} { return i.hit }

func (i *injection) Release() {
	i.sched.mu.Lock()
	defer i.sched.mu.Unlock()
	i.release()
}

func (i *injection) release() {
	if i.released {
		return
	}
	i.released = true
	close(i.done)
	i.drop()
}

func (i *injection) drop() {
	is := func(o *injection) bool { return o == i }
	i.sched.armed = slices.DeleteFunc(i.sched.armed, is)
	i.sched.begun = slices.DeleteFunc(i.sched.begun, is)
}
