package kit

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// Run is one run of the suite: what its clauses share.
type Run struct {
	Harness *Harness
	// Seed repeats the run, and Rounds multiplies the repetitions of races and histories.
	Seed   uint64
	Rounds float64
	// Nonce distinguishes runs with the same seed.
	Nonce string
	// Again starts the group TIME of this run in another process, if it is not nil.
	Again func(ctx context.Context) (*exec.Cmd, error)
	// End is when the run must end; zero for no limit.
	End time.Time
	// Hurried says that the whole suite runs, several clauses at once: they wait for a slow store.
	Hurried bool
	// Failed has the failures of the calls that were made while the store failed, once they were made.
	Failed []Failure

	mu           sync.Mutex
	hang         string       // the first clause in which calls hang
	hangs        int          // the number of clauses in which calls hang
	waits        atomic.Int64 // the number of calls that failed after a long wait
	missing      []string
	adapterType  string
	outcomes     map[string]Outcome // of the clauses that have ended
	observations []Observation
	elsewhere    map[string]string // by method: an instant that it returned, not in UTC
	secrets      []string
	met          map[FaultOf][]Failure
}

// Failure is the error of a call that met a fault.
type Failure struct {
	What string
	Err  error
}

// FaultOf is a kind of fault that a method meets.
type FaultOf struct {
	Method string
	Kind   fault.Kind
}

// NewRun returns a run with the seed, of so many rounds.
func NewRun(h *Harness, seed uint64, rounds float64) *Run {
	return &Run{Harness: h, Seed: seed, Rounds: rounds, Nonce: strconv.FormatUint(rand.Uint64(), 36),
		outcomes: map[string]Outcome{}, elsewhere: map[string]string{}}
}

// Adapter returns the type of the adapter, and the methods that it lacks of the 19.
func (r *Run) Adapter() (name string, missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.adapterType, r.missing
}

// Ended keeps the outcome of a clause. Waivers count.
func (r *Run) Ended(id string, outcome Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.outcomes[id] = outcome
}

// Outcome returns the outcome of a clause that has ended.
func (r *Run) Outcome(id string) (outcome Outcome, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	outcome, known = r.outcomes[id]
	return outcome, known
}

func (r *Run) pastEnd() bool { return !r.End.IsZero() && !time.Now().Before(r.End) }

// limit returns how long a phase may take: the asked time, or the rest of the run's time if that is shorter.
func (r *Run) limit(asked time.Duration) time.Duration {
	if r.End.IsZero() {
		return asked
	}
	return max(time.Millisecond, min(asked, time.Until(r.End)))
}

// HangLimit is the number of clauses in which calls hang after which the run ends, or, in
// the quick form, one less: more of them give no new information.
const HangLimit = 3

// Check runs one clause: it opens the adapter, creates the uninvolved user, runs the clause, compares the uninvolved
// user and cleans up. The watchdog watches each of these phases.
func (r *Run) Check(ctx context.Context, k Check) Finding {
	if first, many := r.hanging(); many {
		return Finding{Outcome: NotReached, Reason: "calls hang, see " + first}
	}
	if r.pastEnd() {
		return Finding{Outcome: NotReached, Reason: "the deadline of go test was reached: give it a longer -timeout"}
	}
	c := r.NewContext(k.ID)
	timeout := r.Harness.Timeout()
	var b *Records
	finished := phase(ctx, c, timeout, "opening the adapter", func() {
		openAdapter(c)
		if r, ok := c.Raw.(Remote); ok && r.Unverifiable(k.ID) != "" {
			c.NotVerified("%s", r.Unverifiable(k.ID))
		}
		c.Requires(k.Requires...)
		for _, a := range k.Needs {
			c.Need(a)
		}
		if slices.Contains(k.Needs, AbilityFaults) {
			Faults(c) // before the first call: a harness may put a proxy in between only now
		}
		b = addUninvolved(c)
	})
	if finished && GoesOn(c) {
		finished = phase(ctx, c, timeout, "the clause", func() { k.Test(c) })
	}
	if c.leftOut > 0 {
		c.Notef("the store is slow: up to %d cases were left out", c.leftOut)
	}
	if finished && c.outcome == "" && !c.UninvolvedGone && c.Raw != nil {
		finished = phase(ctx, c, timeout, "comparing the uninvolved user", func() {
			if c.asked {
				Faults(c).Heal()
			}
			b.Check(c, c.Raw)
		})
	}
	if finished {
		cleanUp(ctx, c)
	}
	if r, ok := c.Raw.(Remote); ok && r.Fault() != "" {
		return Finding{Outcome: NotReached, Reason: r.Fault()}
	}
	return finding(c)
}

// hanging returns the first clause in which calls hang, or "", and whether they hang in so many that the run ends.
func (r *Run) hanging() (first string, many bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hang, r.hangs >= HangLimit || r.hangs == HangLimit-1 && r.Rounds < 1
}

// NewContext returns the context of a clause. It has no adapter yet.
func (r *Run) NewContext(clause string) *Context {
	h := fnv.New64a()
	_, _ = h.Write([]byte(clause))
	c := &Context{Clause: clause, Run: r, Trace: &trace{},
		Budget: newBudget(r.Rounds, r.Hurried, rand.New(rand.NewPCG(r.Seed, h.Sum64())))}
	c.TB = &HarnessTB{C: c}
	c.TB.MakeDir = func() string {
		dir, err := os.MkdirTemp("", "adaptertest-*")
		if err != nil {
			c.Fatalf("temporary directory: %v", err)
		}
		c.TB.Cleanup(func() {
			if err := removeAll(dir); err != nil {
				c.Errorf("temporary directory: %v", err)
			}
		})
		return dir
	}
	return c
}

// removeAll deletes a temporary directory. A connection that database/sql opens in the
// background, for a caller that has left, may create files after the store is closed:
// deletion is repeated while files appear, until the deadline of a call.
func removeAll(dir string) error {
	for end := time.Now().Add(Deadline); ; {
		err := os.RemoveAll(dir)
		if err == nil || time.Now().After(end) {
			return err
		}
		<-time.After(time.Millisecond)
	}
}

// openAdapter opens the adapter that the clause is about.
func openAdapter(c *Context) {
	c.Raw = c.Run.Harness.New(c.TB)
	c.Adapter = c.Observe(c.Raw)
	c.Missing, c.Optional = MissingMethods(c.Raw)
	c.Run.mu.Lock()
	defer c.Run.mu.Unlock()
	c.Run.missing = c.Missing
	c.Run.adapterType = fmt.Sprintf("%T", c.Raw)
}

// cleanUpTimeout is the least time for the harness to clean up.
const cleanUpTimeout = 30 * time.Second

// cleanUp lets the harness clean up. It makes no calls that the watchdog could see
// return, so over a slow store it has the time-out of a clause.
func cleanUp(ctx context.Context, c *Context) {
	phase(ctx, c, max(cleanUpTimeout, c.Harness().Timeout()), "cleaning up", c.TB.RunCleanups)
}

// phasePeriods is the limit of a phase that makes progress, as a multiple of the time-out.
const phasePeriods = 5

// phase runs f on a new goroutine, which f may end, and reports whether f ended. The clause hangs if no call returns
// for the time-out: its calls under way are then the finding, and not what follows from them. So a slow machine does
// not look like an adapter that hangs. Calls under way, and what cleans up, are waited for half as long in the quick
// form. A phase whose calls return is cut off at its limit, and the clause is then not reached.
func phase(ctx context.Context, c *Context, timeout time.Duration, what string, f func()) bool {
	limit := c.Run.limit(phasePeriods * timeout)
	outer := ctx
	ctx, cancel := context.WithCancel(context.WithValue(ctx, tracing{}, c.Trace))
	defer cancel()
	c.Ctx = ctx
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				stack := make([]byte, 16<<10)
				c.Errorf("%s panicked: %v\n%s", what, v, stack[:runtime.Stack(stack, false)])
			}
		}()
		f()
	}()
	look := timeout / watches
	if c.Scale < 1 {
		look /= 2
	}
	watchdog := time.NewTicker(look + time.Nanosecond)
	defer watchdog.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	began := time.Now()
	for idle, quiet := c.Trace.Idle(), 0; ctx.Err() == nil; {
		select {
		case <-done:
			return true
		case <-outer.Done():
			cancel()
		case <-over.C: // this comes before the end of the context: calls that fail then do not break the clause
			cutOff(c, fmt.Sprintf("%s was cut off after %v: its calls return, and slowly", what, limit.Round(time.Millisecond)))
			cancel()
		case <-watchdog.C:
			if quiet++; !idle() {
				quiet = 0
				began = time.Now()
			}
			enough := watches
			if c.Scale < 1 && what != "cleaning up" && len(c.Trace.underWay()) == 0 {
				enough *= 2
			}
			if first, _ := c.Run.hanging(); quiet >= enough || first != "" && quiet > 0 {
				hangs(c, what, time.Since(began))
				cancel()
			}
		}
	}
	// The context ends first, so that an adapter that observes it can return.
	watchdog.Reset(look + time.Nanosecond)
	select {
	case <-done:
		return true
	case <-watchdog.C:
		hangs(c, what, time.Since(began))
		return false
	}
}

// watches is how often a phase is looked at in its time-out. Once calls hang in a clause,
// they are waited for no longer than from one look to the next: an adapter that waits for
// ever would otherwise take a whole time-out in each clause.
const watches = 10

// GoesOn reports whether the clause still needs a judgement.
func GoesOn(c *Context) bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return c.outcome == "" && len(c.failures) == 0 && c.hang == ""
}

// finding returns what the clause has found.
func finding(c *Context) Finding {
	first, many := c.Run.hanging()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	switch {
	case c.hang != "" && c.hangsAs == c.Clause:
		return Finding{Outcome: Fail, Reason: Hangs, Evidence: slices.Concat([]string{c.hang}, c.failures, c.notes),
			Advice: "look for a wait that does not end with the context, and for a lock, a row, a connection or a transaction that an earlier call kept"}
	case (c.hang != "" || many) && len(c.failures) == 0:
		return Finding{Outcome: NotReached, Reason: "calls hang, see " + first}
	case c.cut != "":
		return Finding{Outcome: NotReached, Reason: c.cut, Evidence: append(slices.Clone(c.notes), c.Trace.String())}
	case len(c.failures) > 0:
		f := Finding{Outcome: Fail, Evidence: append(slices.Concat(c.failures, c.notes), c.Trace.String())}
		if code := c.Deadlock.Code(); code != "" {
			f.Advice = "retry: the store ended a transaction (" + code + ") so that another one could go on. Run the whole transaction again, a few times if need be"
		}
		return f
	case c.outcome != "":
		return Finding{Outcome: c.outcome, Reason: c.reason, Needs: c.lacking, Evidence: slices.Clone(c.notes)}
	}
	return Finding{Outcome: Pass, Evidence: slices.Clone(c.notes)}
}

// cutOff ends a clause without a breach as not reached. Later breaches are ignored.
func cutOff(c *Context, reason string) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if len(c.failures) == 0 {
		c.cut = reason
	}
}

// observed keeps the observation of a call if a later clause needs it.
func (r *Run) observed(o Observation) {
	if o.Err == nil && !o.EmptyRecord {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observations = append(r.observations, o)
}

// notInUTC keeps that a method returned an instant in another zone.
func (r *Run) notInUTC(method, where, clause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.elsewhere[method]; !known {
		r.elsewhere[method] = fmt.Sprintf("%s, during %s", where, clause)
	}
}

// Showing returns the observations of the run that keep accepts.
func (r *Run) Showing(keep func(Observation) bool) []Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Keep(r.observations, keep)
}

// MetFault keeps the errors of a method that has met a kind of fault at each of
// its steps, for the clauses that judge the errors of the whole run.
func (r *Run) MetFault(method string, kind fault.Kind, errs []Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.met == nil {
		r.met = map[FaultOf][]Failure{}
	}
	x := FaultOf{method, kind}
	r.met[x] = append(r.met[x], errs...)
}

// FaultsMet returns what MetFault has kept.
func (r *Run) FaultsMet() map[FaultOf][]Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.met)
}

// AddSecret keeps a string that no error may contain.
func (r *Run) AddSecret(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, s)
}

func (r *Run) newID() string {
	if r.Harness.NewID != nil {
		return r.Harness.NewID()
	}
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff,
		0x8000|uint16(b)&0x3fff, b>>16)
}

// Secrets returns the strings that no error may contain.
func (r *Run) Secrets() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.secrets)
}

// NotInUTC says of each method that returned an instant in another zone what it returned.
func (r *Run) NotInUTC() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.elsewhere)
}

// SelfCheck tries the harness before the clauses, so that its errors are not reported as breaches of the adapter.
func (r *Run) SelfCheck(ctx context.Context) error {
	c := r.NewContext("HARNESS")
	var problems []error
	wrong := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("adaptertest: the harness is wrong: "+format, args...))
	}
	finished := phase(ctx, c, r.Harness.Timeout(), "trying the harness", func() { tryHarness(c, wrong) })
	switch {
	case c.hang != "":
		return errors.New("adaptertest: " + c.hang)
	case !finished:
		return nil // the clauses report it
	}
	cleanUp(ctx, c)
	return errors.Join(problems...)
}
