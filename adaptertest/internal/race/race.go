package race

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
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Races are run in two ways. At the barrier many calls start at one moment, many times: that finds likely faults. And
// one call is stopped after each of its steps in turn, while another call runs to its end: where its answers are
// held, or where it checks its context. The first call then acts on the data that it read before, so this way finds
// most read-then-write faults with certainty.

// Operation is a finished call, with its handle, its start and end, and its outcome.
type Operation struct {
	kit.Call
	client, handle int
	From, To       time.Duration
	Result         any
	Err            error
}

// Won reports whether the call succeeded with a record.
func (m Operation) Won() bool { return m.Err == nil && !kit.IsNilRecord(m.Result) }

func (m Operation) String() string {
	outcome := diff.Show(m.Result)
	if m.Err != nil {
		outcome = "error: " + m.Err.Error()
	}
	return fmt.Sprintf("%9v to %9v  client %d, handle %d: %s(%s) = %s",
		m.From.Round(time.Microsecond/10), m.To.Round(time.Microsecond/10), m.client, m.handle, m.Method, diff.Show(m.Args...), outcome)
}

// HistoryText prints a history in the order of the calls.
func HistoryText(h []Operation) string {
	h = slices.Clone(h)
	slices.SortStableFunc(h, func(a, b Operation) int { return int(a.From - b.From) })
	lines := kit.Map(h, func(m Operation) string { return "  " + m.String() })
	return "the history:\n" + strings.Join(lines, "\n")
}

// perform makes a call. A panic is a breach and becomes an error.
func perform(ctx context.Context, c *kit.Context, k kit.Call, a adapter.Adapter, client, handle int, since time.Time) (m Operation) {
	m = Operation{Call: k, client: client, handle: handle, From: time.Since(since)}
	defer func() {
		if v := recover(); v != nil {
			m.To = time.Since(since)
			m.Err = fmt.Errorf("panic: %v", v)
			c.Errorf("%s(%s) panicked: %v\n%s", k.Method, diff.Show(k.Args...), v, debug.Stack())
		}
	}()
	m.Result, m.Err = k.Do(ctx, a)
	m.To = time.Since(since)
	c.Deadlock.See(m.Err)
	c.Trace.Returned(m.Err)
	return m
}

// Case is one race: calls that are made at once, and the check after all have returned.
type Case struct {
	Calls []kit.Call
	// Verify judges the outcome. Its reads go to the adapter without the observer.
	Verify func(h []Operation) error
	// Exact says that a declaration of eventual reads does not excuse a difference.
	Exact bool
}

// Run runs race cases of n calls and of two calls at the barrier, and race cases
// of two calls with held answers. arrange prepares a new race case each time.
func Run(c *kit.Context, n int, arrange func(n, round int) Case) {
	handles := kit.Handles(c)
	round := AtBarrier(c, handles, n, arrange)
	WithHeldAnswers(c, handles, round, arrange)
}

// AtBarrier makes races whose calls are released together at a barrier, and returns their number.
func AtBarrier(c *kit.Context, handles []adapter.Adapter, n int, arrange func(n, round int) Case) (rounds int) {
	p, stop := pair.New()
	defer stop()
	n = min(n, c.Most)
	start := time.Now()
	for overlaps := 0; ; rounds++ {
		elapsed := time.Since(start)
		if rounds >= c.Rounds(kit.RaceMinimum) && overlaps >= c.Rounds(kit.RaceOverlaps) && elapsed >= c.Span(kit.RaceTime) ||
			Over(c, rounds, elapsed, kit.RaceLimit) {
			return rounds
		}
		how := fmt.Sprintf("round %d, at the barrier", rounds+1)
		if rounds%2 == 0 && rounds < c.Rounds(kit.RaceMinimum) && !Over(c, rounds, 2*elapsed, kit.RaceLimit) {
			k := arrange(n, rounds)
			judge(c, k, allTogether(c, handles, k.Calls), how)
			continue
		}
		if twoMeet(c, p, handles, arrange(2, rounds), how) {
			overlaps++
		}
	}
}

// twoMeet runs a race case of two calls at the barrier. It reports whether they overlapped.
func twoMeet(c *kit.Context, p *pair.Runner, handles []adapter.Adapter, k Case, how string) bool {
	h := TwoTogether(c, p, handles, k.Calls)
	judge(c, k, h, how)
	return Overlap(h)
}

// Over reports whether a race has reached its limit of time.
func Over(c *kit.Context, rounds int, elapsed, limit time.Duration) bool {
	return rounds >= kit.RaceFewest && elapsed >= c.Span(limit)/c.Haste
}

// allTogether makes calls at one moment, as far as the scheduler allows.
func allTogether(c *kit.Context, handles []adapter.Adapter, calls []kit.Call) []Operation {
	history := make([]Operation, len(calls))
	defer c.Trace.Begin(calls...)()
	start := time.Now()
	c.Parallel(len(calls), func(i int) {
		history[i] = perform(c.Ctx, c, calls[i], handles[i%len(handles)], i, i%len(handles)+1, start)
	})
	return history
}

// TwoTogether makes two calls at one moment, or the second while the first runs, through
// the same handle as the first or through another one.
func TwoTogether(c *kit.Context, p *pair.Runner, handles []adapter.Adapter, calls []kit.Call) []Operation {
	history := make([]Operation, 2)
	defer c.Trace.Begin(calls...)()
	c.Mu.Lock()
	second, later := c.Rand.IntN(len(handles)), time.Duration(0)
	if c.Rand.IntN(2) == 0 {
		later = time.Duration(c.Rand.Int64N(int64(c.Usual) + 1))
	}
	c.Mu.Unlock()
	start := time.Now()
	p.Together(
		func() { history[0] = perform(c.Ctx, c, calls[0], handles[0], 0, 1, start) },
		func() {
			pair.Wait(later)
			history[1] = perform(c.Ctx, c, calls[1], handles[second], 1, second+1, start)
		})
	c.Usual += (history[0].To - history[0].From - c.Usual) / 8
	return history
}

// judge ends the clause with a breach if the outcome of the race case is wrong.
func judge(c *kit.Context, k Case, history []Operation, how string) {
	err := k.Verify(history)
	if bound := c.Harness().Declarations.EventualReads; bound > 0 && !k.Exact {
		for end := time.Now().Add(bound); err != nil && time.Now().Before(end); err = k.Verify(history) {
			kit.Pause(c, bound/50)
		}
	}
	if err != nil {
		c.Fatalf("%s: %v\n%s", how, err, HistoryText(history))
	}
	if c.Failed() {
		c.Fatalf("%s\n%s", how, HistoryText(history))
	}
}

// WithHeldAnswers runs race cases of two calls. Each call in turn is stopped after each
// of its steps, while the other one runs.
func WithHeldAnswers(c *kit.Context, handles []adapter.Adapter, round int, arrange func(n, round int) Case) {
	for first := range 2 {
		stepByStep(c, handles, first, kit.HeldPause, func() Case {
			round++
			return arrange(2, round)
		})
	}
}

// stepByStep runs race cases of two calls. It stops the first call, which is one of the two, after each of its steps
// in turn, and the other one runs, for the pause if it has to wait. A step is an answer of the store if the harness
// can hold answers, and else a check of the context. The other call is made through the same handle and through
// another one; in a hurried run through one of them.
func stepByStep(c *kit.Context, handles []adapter.Adapter, first int, pause time.Duration, arrange func() Case) {
	others := handles
	if c.Hurried {
		others = []adapter.Adapter{oneOf(c, handles)}
	}
	for _, other := range others {
		stepByStepWith(c, handles[0], other, first, pause, arrange)
	}
}

// oneOf returns one of the handles.
func oneOf(c *kit.Context, handles []adapter.Adapter) adapter.Adapter {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return handles[c.Rand.IntN(len(handles))]
}

// stepByStepWith is stepByStep with one handle for each call.
func stepByStepWith(c *kit.Context, one, other adapter.Adapter, first int, pause time.Duration, arrange func() Case) {
	how, stop := "the answer to step %d of client %d was held while client %d ran", AtHeldAnswer
	if control := kit.Faults(c); control != nil {
		defer control.Heal()
	} else {
		pause = min(pause, kit.LookPause)
		how, stop = "client %[2]d checked its context, for time %[1]d, and did not go on while client %[3]d ran", atLook
	}
	for step := 1; step <= kit.HeldSteps; step++ {
		k := arrange()
		start := time.Now()
		history := make([]Operation, 2)
		two := make(chan struct{})
		runOther := sync.OnceFunc(func() {
			go func() {
				defer close(two)
				history[1-first] = perform(c.Ctx, c, k.Calls[1-first], other, 1-first, 2, start)
			}()
		})
		stopped := stop(c, step, func(ctx context.Context) {
			history[first] = perform(ctx, c, k.Calls[first], one, first, 1, start)
		}, func() {
			runOther()
			faulted.Soon(two, pause)
		})
		runOther()
		<-two
		judge(c, k, history, fmt.Sprintf(how, step, first, 1-first))
		if !stopped {
			break
		}
	}
}

// atLook makes a call that calls meanwhile when it checks its context for the given time. It
// reports whether the call checked its context so often.
func atLook(c *kit.Context, look int, call func(ctx context.Context), meanwhile func()) bool {
	ctx := pair.NewLookContext(c.Ctx, look, meanwhile)
	call(ctx)
	return ctx.Tripped()
}

// AtHeldAnswer makes a call, and calls meanwhile when the store has answered its step, before
// the call has the answer. It reports whether the call had that step.
func AtHeldAnswer(c *kit.Context, step int, call func(ctx context.Context), meanwhile func()) bool {
	hold, err := kit.Faults(c).Inject(fault.HoldReply, step)
	if err != nil {
		c.NotVerified("hold an answer: %v", err)
	}
	return faulted.Holding(hold, func() { call(c.Ctx) }, func(<-chan struct{}) { meanwhile() })
}

// Pairs lets updates of two different fields of one record race, for each ordered pair of the n fields. It alternates
// between the barrier and held answers to the first update.
func Pairs(c *kit.Context, n int, arrange func(first, second int) Case) {
	var pairs [][2]int
	for i := range n {
		for j := range n {
			if i != j {
				pairs = append(pairs, [2]int{i, j})
			}
		}
	}
	handles := kit.Handles(c)
	p, stop := pair.New()
	defer stop()
	start := time.Now()
	for round, overlaps := 0, 0; ; round++ {
		elapsed := time.Since(start)
		if round >= len(pairs) && overlaps >= c.Rounds(kit.OverlapsOfPair*len(pairs)) || Over(c, round, elapsed, 2*kit.RaceLimit) {
			break
		}
		fields := pairs[round%len(pairs)]
		if twoMeet(c, p, handles, arrange(fields[0], fields[1]), fmt.Sprintf("round %d, at the barrier", round+1)) {
			overlaps++
		}
	}
	for _, fields := range pairs {
		stepByStep(c, handles, 0, kit.HeldPause, func() Case { return arrange(fields[0], fields[1]) })
	}
}

// FieldsSurvive lets updates of different fields of one record race, and reads the record: all that succeeded are
// there. update returns the update of a field, and applies it to a record. The fields change after so many rounds.
func FieldsSurvive[T any](c *kit.Context, fields []string, rounds int, current T, read kit.Call, update func(field string) (kit.Call, func(*T))) {
	arrange := func(chosen ...int) Case {
		calls, applies := make([]kit.Call, len(chosen)), make([]func(*T), len(chosen))
		for i, field := range chosen {
			calls[i], applies[i] = update(fields[field])
		}
		return Case{Calls: calls, Verify: func(h []Operation) error {
			want, backwards, failed := current, current, false
			for i, m := range h {
				if m.Err == nil {
					applies[i](&want)
				}
				if last := len(h) - 1 - i; h[last].Err == nil {
					applies[last](&backwards) // an address clears the proof before it, not the one after it
				}
				failed = failed || m.Err != nil
			}
			got, err := Found[T](c, read)
			if err != nil {
				return err
			}
			if d := c.Unlike(got, &want); d != "" && c.Unlike(got, &backwards) != "" && !failed {
				return fmt.Errorf("after successful updates of different fields: %s", d)
			}
			current = *got
			return nil
		}}
	}
	Run(c, len(fields), func(n, round int) Case {
		return arrange(kit.Numbered(n, func(i int) int { return (round/rounds + i) % len(fields) })...)
	})
	Pairs(c, len(fields), func(first, second int) Case { return arrange(first, second) })
}

// Each runs each race a few times with n calls, then all in turn at the barrier. Then
// it stops the first call of each race after each of its steps, while the second call runs.
func Each(c *kit.Context, handles []adapter.Adapter, n int, races []func(n int) Case) {
	for _, arrange := range races {
		for range 3 {
			k := arrange(n)
			judge(c, k, allTogether(c, handles, k.Calls), "all calls at one moment")
		}
	}
	AtBarrier(c, handles, n, func(n, round int) Case { return races[round/2%len(races)](n) })
	for _, arrange := range races {
		stepByStep(c, handles, 0, kit.HeldPause, func() Case { return arrange(2) })
	}
}

// MovesBeside lets a call that deletes a user's sessions, or the user, race with updates that give the sessions to
// another user. A session that is the other's stays. It returns the number of sessions too.
func MovesBeside(c *kit.Context, deletion kit.Call, n int, userID, otherID string) (Case, int) {
	k := Case{Calls: []kit.Call{deletion}}
	before := make([]adapter.Session, n-1)
	for i := range before {
		before[i] = kit.StoreRaw(c, kit.CreateSession, c.NewSession(userID))
		k.Calls = append(k.Calls, kit.MoveSession(before[i].SessionToken, otherID))
	}
	k.Verify = func(h []Operation) error {
		for i, m := range h[1:] {
			if !m.Won() { // it came too late, was refused, or the method returns nothing
				continue
			}
			found, err := c.Raw.GetSessionAndUser(c.Ctx, before[i].SessionToken)
			if err != nil || found == nil || found.Session.UserID != otherID {
				return fmt.Errorf("a session that was moved to another user, beside %s: got %s, error %w",
					deletion.Method, diff.Show(found), err)
			}
		}
		return nil
	}
	return k, len(before)
}

// Problems joins the errors of conditions that do not hold.
func Problems(found ...error) error { return errors.Join(found...) }

// Unless returns an error if the condition does not hold.
func Unless(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// NoneFails returns the error of the first call that failed. when says what it was made beside.
func NoneFails(h []Operation, when string) error {
	for _, m := range h {
		if m.Err != nil {
			return fmt.Errorf("%s %s failed: %w", m.Method, when, m.Err)
		}
	}
	return nil
}

// Found makes a lookup of a record that is there.
func Found[T any](c *kit.Context, read kit.Call) (*T, error) {
	record, err := read.Do(c.Ctx, c.Raw)
	got, _ := record.(*T)
	if err != nil || got == nil {
		return nil, fmt.Errorf("%s: got %s, error %w", read.Method, diff.Show(got), err)
	}
	return got, nil
}

// Overlap reports whether two calls ran at the same time.
func Overlap(h []Operation) bool { return h[0].From < h[1].To && h[1].From < h[0].To }

// UserID returns the ID of the user, or nothing without a user.
func UserID(u *adapter.User) string {
	if u == nil {
		return ""
	}
	return u.ID
}
