package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Races are run in two ways. At the barrier many calls start at one moment, many
// times: that finds likely faults. And one call is stopped after each of its steps in
// turn, while another call runs to its end: where its answers are held, or where it checks
// its context. The first call then acts on the data that it read before, so this way
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
func (c *clauseContext) perform(k call, a adapter.Adapter, client, handle int, since time.Time) operation {
	return c.performWith(c.ctx, k, a, client, handle, since)
}

// performWith makes a call with a context of its own.
func (c *clauseContext) performWith(ctx context.Context, k call, a adapter.Adapter, client, handle int, since time.Time) (m operation) {
	m = operation{call: k, client: client, handle: handle, from: time.Since(since)}
	defer func() {
		if v := recover(); v != nil {
			m.to = time.Since(since)
			m.err = fmt.Errorf("panic: %v", v)
			c.Errorf("%s(%s) panicked: %v\n%s", k.method, diff.Show(k.args...), v, debug.Stack())
		}
	}()
	m.result, m.err = k.do(ctx, a)
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
	if c.beside == nil && c.has(abilitySecond) {
		if c.beside = c.harness().Second(c.tb, c.raw); c.beside == nil {
			c.Fatalf("the harness returned a nil second adapter")
		}
	}
	if c.beside == nil {
		return []adapter.Adapter{c.raw}
	}
	return []adapter.Adapter{c.raw, c.beside}
}

func (c *clauseContext) atBarrier(handles []adapter.Adapter, n int, arrange func(n, round int) raceCase) (rounds int) {
	p, stop := pair.New()
	defer stop()
	n = min(n, c.most)
	start := time.Now()
	for overlaps := 0; ; rounds++ {
		elapsed := time.Since(start)
		if rounds >= c.rounds(raceMinimum) && overlaps >= c.rounds(raceOverlaps) && elapsed >= c.span(raceTime) ||
			c.raceIsOver(rounds, elapsed, raceLimit) {
			return rounds
		}
		how := fmt.Sprintf("round %d, at the barrier", rounds+1)
		if rounds%2 == 0 && rounds < c.rounds(raceMinimum) && !c.raceIsOver(rounds, 2*elapsed, raceLimit) {
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

// raceIsOver reports whether a race has reached its limit of time.
func (c *clauseContext) raceIsOver(rounds int, elapsed, limit time.Duration) bool {
	return rounds >= raceFewest && elapsed >= c.span(limit)/c.haste
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

// twoTogether makes two calls at one moment, or the second while the first runs, through
// the same handle as the first or through another one.
func (c *clauseContext) twoTogether(p *pair.Runner, handles []adapter.Adapter, calls []call) []operation {
	history := make([]operation, 2)
	c.mu.Lock()
	second, later := c.rand.IntN(len(handles)), time.Duration(0)
	if c.rand.IntN(2) == 0 {
		later = time.Duration(c.rand.Int64N(int64(c.usual) + 1))
	}
	c.mu.Unlock()
	start := time.Now()
	p.Together(
		func() { history[0] = c.perform(calls[0], handles[0], 0, 1, start) },
		func() {
			pair.WaitUntil(start.Add(later))
			history[1] = c.perform(calls[1], handles[second], 1, second+1, start)
		})
	c.usual += (history[0].to - history[0].from - c.usual) / 8
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

// withHeldAnswers runs race cases of two calls. Each call in turn is stopped after each
// of its steps, while the other one runs.
func (c *clauseContext) withHeldAnswers(handles []adapter.Adapter, round int, arrange func(n, round int) raceCase) {
	for first := range 2 {
		c.stepByStep(handles, first, heldPause, func() raceCase {
			round++
			return arrange(2, round)
		})
	}
}

// stepByStep runs race cases of two calls. It stops the first call, which is one of the
// two, after each of its steps in turn, and the other one runs, for the pause if it has to
// wait. A step is an answer of the store if the harness can hold answers, and else a check
// of the context. The other call is made through the same handle and through another one;
// in a hurried run through one of them.
func (c *clauseContext) stepByStep(handles []adapter.Adapter, first int, pause time.Duration, arrange func() raceCase) {
	if c.hurried {
		c.stepByStepWith(handles[0], c.oneOf(handles), first, pause, arrange)
		return
	}
	for _, other := range handles {
		c.stepByStepWith(handles[0], other, first, pause, arrange)
	}
}

// oneOf returns one of the handles.
func (c *clauseContext) oneOf(handles []adapter.Adapter) adapter.Adapter {
	c.mu.Lock()
	defer c.mu.Unlock()
	return handles[c.rand.IntN(len(handles))]
}

// stepByStepWith is stepByStep with one handle for each call.
func (c *clauseContext) stepByStepWith(one, other adapter.Adapter, first int, pause time.Duration, arrange func() raceCase) {
	handles := []adapter.Adapter{one, other}
	control := c.faults()
	if control != nil {
		defer control.Heal()
	}
	for step := 1; step <= heldSteps; step++ {
		k := arrange()
		var history []operation
		var stopped bool
		how := "the answer to step %d of client %d was held while client %d ran"
		if control != nil {
			history, stopped = c.oneHeld(control, handles, k.calls, first, step, pause)
		} else {
			pause = min(pause, lookPause)
			how = "client %[2]d checked its context, for time %[1]d, and did not go on while client %[3]d ran"
			history, stopped = c.oneAtLook(handles, k.calls, first, step, pause)
		}
		c.judge(k, history, fmt.Sprintf(how, step, first, 1-first))
		if !stopped {
			break
		}
	}
}

// oneAtLook makes two calls. The first runs until it checks its context for the given
// time, then the other runs, for the pause if it has to wait, then the rest of the first.
// It reports whether the first call checked its context so often.
func (c *clauseContext) oneAtLook(handles []adapter.Adapter, calls []call, first, look int, pause time.Duration) ([]operation, bool) {
	start := time.Now()
	history := make([]operation, 2)
	two := make(chan struct{})
	other := sync.OnceFunc(func() {
		go func() {
			defer close(two)
			history[1-first] = c.perform(calls[1-first], handles[len(handles)-1], 1-first, len(handles), start)
		}()
	})
	ctx := pair.NewLookContext(c.ctx, look, func() {
		other()
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-two:
		case <-timer.C:
		}
	})
	history[first] = c.performWith(ctx, calls[first], handles[0], first, 1, start)
	stopped := ctx.Tripped()
	other()
	<-two
	return history, stopped
}

// oneHeld makes two calls. The first runs until the store has answered its step,
// then the other runs, for the pause if it has to wait, then the rest of the first. It
// reports whether the first call had that step.
func (c *clauseContext) oneHeld(control fault.Control, handles []adapter.Adapter, calls []call, first, step int, pause time.Duration) ([]operation, bool) {
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
		timer := time.NewTimer(pause)
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
		if round >= len(pairs) && overlaps >= c.rounds(overlapsOfPair*len(pairs)) || c.raceIsOver(round, elapsed, 2*raceLimit) {
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
	for _, fields := range pairs {
		c.stepByStep(handles, 0, heldPause, func() raceCase { return arrange(fields[0], fields[1]) })
	}
}

// raceEach runs each race a few times with n calls, then all in turn at the barrier. Then
// it stops the first call of each race after each of its steps, while the second call runs.
func (c *clauseContext) raceEach(handles []adapter.Adapter, n int, races []func(n int) raceCase) {
	for _, arrange := range races {
		for range 3 {
			k := arrange(n)
			c.judge(k, c.allTogether(handles, k.calls), "all calls at one moment")
		}
	}
	c.atBarrier(handles, n, func(n, round int) raceCase { return races[round/2%len(races)](n) })
	for _, arrange := range races {
		c.stepByStep(handles, 0, heldPause, func() raceCase { return arrange(2) })
	}
}

// movesBeside lets a call that deletes a user's sessions, or the user, race with updates
// that give the sessions to another user. A session that is the other's stays. It
// returns the number of sessions too.
func (c *clauseContext) movesBeside(deletion call, n int, userID, otherID string) (raceCase, int) {
	k := raceCase{calls: []call{deletion}}
	before := make([]adapter.Session, n-1)
	for i := range before {
		before[i] = c.newSession(userID)
		_, err := c.raw.CreateSession(c.ctx, before[i])
		must(c, "CreateSession", &before[i], err)
		k.calls = append(k.calls, updateSession(adapter.SessionUpdate{SessionToken: before[i].SessionToken, UserID: adapter.To(otherID)}))
	}
	k.verify = func(h []operation) error {
		for i, m := range h[1:] {
			if !m.won() { // it came too late, was refused, or the method returns nothing
				continue
			}
			found, err := c.raw.GetSessionAndUser(c.ctx, before[i].SessionToken)
			if err != nil || found == nil || found.Session.UserID != otherID {
				return fmt.Errorf("a session that was moved to another user, beside %s: got %s, error %w", deletion.method, diff.Show(found), err)
			}
		}
		return nil
	}
	return k, len(before)
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
