package adaptertest

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Races are run in two ways. At the barrier many calls start at one moment, many
// times: that finds likely faults. If the harness can hold answers back, one
// call is stopped after each of its steps in turn, while another call runs to
// its end. The first call then acts on the data that it read before, so this way
// finds most read-then-write faults with certainty.

// operation is a finished call, with its handle, its start and end, and its
// outcome.
type operation struct {
	call
	client, handle int
	from, to       time.Duration
	result         any
	err            error
}

// won reports whether the call succeeded with a record.
func (m operation) won() bool { return m.err == nil && !isNilRecord(m.result) }

func (m operation) String() string {
	outcome := diff.Show(m.result)
	if m.err != nil {
		outcome = "error: " + m.err.Error()
	}
	return fmt.Sprintf("%9v to %9v  client %d, handle %d: %s(%s) = %s",
		m.from.Round(time.Microsecond/10), m.to.Round(time.Microsecond/10), m.client, m.handle, m.method, diff.Show(m.args...), outcome)
}

// historyText prints a history in the order of the calls.
func historyText(h []operation) string {
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b operation) int { return int(a.from - b.from) })
	lines := make([]string, len(h))
	for i, m := range h {
		lines[i] = "  " + m.String()
	}
	return "the history:\n" + strings.Join(lines, "\n")
}

// perform makes a call. A panic is a breach and becomes an error.
func (c *clauseContext) perform(k call, a adapter.Adapter, client, handle int, since time.Time) (m operation) {
	m = operation{call: k, client: client, handle: handle, from: time.Since(since)}
	defer func() {
		if v := recover(); v != nil {
			m.to = time.Since(since)
			m.err = fmt.Errorf("panic: %v", v)
			c.Errorf("%s(%s) panicked: %v\n%s", k.method, diff.Show(k.args...), v, debug.Stack())
		}
	}()
	m.result, m.err = k.do(c.ctx, a)
	m.to = time.Since(since)
	return m
}

// raceCase is one race: calls that are made at once, and the check after all
// have returned.
type raceCase struct {
	calls []call
	// verify judges the outcome. Its reads go to the adapter without the observer.
	verify func(h []operation) error
	// exact says that a declaration of eventual reads does not excuse a
	// difference.
	exact bool
}

// The limits of a race at the barrier, for each round of the run: at least
// raceMinimum repetitions, raceOverlaps of them with two calls that overlap, and
// raceTime; at most raceLimit, unless that is less than raceFewest repetitions.
const (
	raceMinimum  = 200
	raceOverlaps = 500
	raceFewest   = 4
	raceTime     = 100 * time.Millisecond
	raceLimit    = 400 * time.Millisecond
	// overlapsOfPair is the number of overlapping calls for each pair of fields.
	overlapsOfPair = 60
	// racers is the number of calls that start at once.
	racers = 16
)

// race runs race cases of n calls and of two calls at the barrier, and race cases
// of two calls with held answers. arrange prepares a new race case each time.
func (c *clauseContext) race(n int, arrange func(n, round int) raceCase) {
	handles := c.handles()
	round := c.atBarrier(handles, n, arrange)
	c.withHeldAnswers(handles, round, arrange)
}

// handles are the adapter and, if the harness has one, a second handle on the
// same data, without the observer.
func (c *clauseContext) handles() []adapter.Adapter {
	handles := []adapter.Adapter{c.raw}
	if c.has(abilitySecond) {
		second := c.harness().Second(c.tb, c.raw)
		if second == nil {
			c.Fatalf("the harness returned a nil second adapter")
		}
		handles = append(handles, second)
	}
	return handles
}

func (c *clauseContext) atBarrier(handles []adapter.Adapter, n int, arrange func(n, round int) raceCase) (rounds int) {
	p, stop := pair.New()
	defer stop()
	start := time.Now()
	for overlaps := 0; ; rounds++ {
		elapsed := time.Since(start)
		if rounds >= c.rounds(raceMinimum) && overlaps >= c.rounds(raceOverlaps) && elapsed >= c.span(raceTime) ||
			rounds >= raceFewest && elapsed >= c.span(raceLimit) {
			return rounds
		}
		how := fmt.Sprintf("round %d, at the barrier", rounds+1)
		if rounds%2 == 0 && rounds < c.rounds(raceMinimum) && (rounds < raceFewest || elapsed < c.span(raceLimit)/2) {
			k := arrange(n, rounds)
			c.judge(k, c.allTogether(handles, k.calls), how)
			continue
		}
		k := arrange(2, rounds)
		h := c.twoTogether(p, handles, k.calls)
		if h[0].from < h[1].to && h[1].from < h[0].to {
			overlaps++
		}
		c.judge(k, h, how)
	}
}

// allTogether makes calls at one moment, as far as the scheduler allows.
func (c *clauseContext) allTogether(handles []adapter.Adapter, calls []call) []operation {
	history := make([]operation, len(calls))
	start := time.Now()
	c.parallel(len(calls), func(i int) {
		history[i] = c.perform(calls[i], handles[i%len(handles)], i, i%len(handles)+1, start)
	})
	return history
}

// twoTogether makes two calls at one moment.
func (c *clauseContext) twoTogether(p *pair.Runner, handles []adapter.Adapter, calls []call) []operation {
	history := make([]operation, 2)
	start := time.Now()
	p.Together(
		func() { history[0] = c.perform(calls[0], handles[0], 0, 1, start) },
		func() { history[1] = c.perform(calls[1], handles[len(handles)-1], 1, len(handles), start) })
	return history
}

// judge ends the clause with a breach if the outcome of the race case is wrong.
func (c *clauseContext) judge(k raceCase, history []operation, how string) {
	err := k.verify(history)
	if bound := c.harness().Declarations.EventualReads; bound > 0 && !k.exact {
		for end := time.Now().Add(bound); err != nil && time.Now().Before(end); err = k.verify(history) {
			c.pause(bound / 50)
		}
	}
	if err != nil {
		c.Fatalf("%s: %v\n%s", how, err, historyText(history))
	}
	if c.failed() {
		c.Fatalf("%s\n%s", how, historyText(history))
	}
}

// The limits of a race with held answers.
const (
	heldSteps = 12
	// heldPause is how long the race waits for a call while the answer of
	// another call is held: the first may be waiting for a lock of the other.
	heldPause = 25 * time.Millisecond
)

func (c *clauseContext) withHeldAnswers(handles []adapter.Adapter, round int, arrange func(n, round int) raceCase) {
	control := c.faults()
	if control == nil {
		c.Notef("no answers were held: the harness has no %s", abilityFaults)
		return
	}
	defer control.Heal()
	for first := range 2 {
		for step := 1; step <= heldSteps; step++ {
			round++
			k := arrange(2, round)
			history, held := c.oneHeld(control, handles, k.calls, first, step)
			c.judge(k, history, fmt.Sprintf("the answer to step %d of client %d was held while client %d ran", step, first, 1-first))
			if !held {
				break
			}
		}
	}
}

// oneHeld makes two calls. The first runs until the store has answered its step,
// then the other runs, then the rest of the first. It reports whether the first
// call had that step.
func (c *clauseContext) oneHeld(control fault.Control, handles []adapter.Adapter, calls []call, first, step int) ([]operation, bool) {
	start := time.Now()
	hold, err := control.Inject(fault.HoldReply, step)
	if err != nil {
		c.notVerified("hold an answer: %v", err)
	}
	history := make([]operation, 2)
	run := func(i, handle int) <-chan struct{} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			history[i] = c.perform(calls[i], handles[handle], i, handle+1, start)
		}()
		return done
	}
	one := run(first, 0)
	held := false
	select {
	case <-hold.Hit():
		held = true
	case <-one:
	}
	two := run(1-first, len(handles)-1)
	if held {
		timer := time.NewTimer(heldPause)
		defer timer.Stop()
		select {
		case <-two:
		case <-timer.C:
		}
	}
	hold.Release()
	<-one
	<-two
	return history, held
}

// racePairs lets updates of two different fields of one record race, for each
// ordered pair of the n fields. It alternates between the barrier and held
// answers to the first update.
func (c *clauseContext) racePairs(n int, arrange func(first, second int) raceCase) {
	var pairs [][2]int
	for i := range n {
		for j := range n {
			if i != j {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	handles := c.handles()
	p, stop := pair.New()
	defer stop()
	start := time.Now()
	overlaps := 0
	for round := 0; ; round++ {
		elapsed := time.Since(start)
		if round >= len(pairs) && overlaps >= c.rounds(overlapsOfPair*len(pairs)) || round >= raceFewest && elapsed >= c.span(2*raceLimit) {
			break
		}
		fields := pairs[round%len(pairs)]
		k := arrange(fields[0], fields[1])
		h := c.twoTogether(p, handles, k.calls)
		if h[0].from < h[1].to && h[1].from < h[0].to {
			overlaps++
		}
		c.judge(k, h, fmt.Sprintf("round %d, at the barrier", round+1))
	}
	control := c.faults()
	if control == nil {
		c.Notef("no answers were held: the harness has no %s", abilityFaults)
		return
	}
	defer control.Heal()
	for _, fields := range pairs {
		for step := 1; step <= heldSteps; step++ {
			k := arrange(fields[0], fields[1])
			history, held := c.oneHeld(control, handles, k.calls, 0, step)
			c.judge(k, history, fmt.Sprintf("the answer to step %d of client 0 was held while client 1 ran", step))
			if !held {
				break
			}
		}
	}
}

// pause waits for d. It is for events that give no signal.
func (c *clauseContext) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		c.Fatalf("the clause ran out of time")
	}
}

// problems joins the errors of conditions that do not hold.
func problems(found ...error) error { return errors.Join(found...) }

// unless returns an error if the condition does not hold.
func unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// userID returns the ID of the user, or nothing without a user.
func userID(u *adapter.User) string {
	if u == nil {
		return ""
	}
	return u.ID
}
