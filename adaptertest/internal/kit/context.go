package kit

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/deadlock"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Context is the context in which one clause runs: the adapter, what the harness can do, fixtures, and the ways to
// report. Its methods may be called from any goroutine that Parallel started.
type Context struct {
	Budget
	// Adapter is the adapter under test. The observer traces and checks its calls.
	Adapter adapter.Adapter
	// Raw is the same adapter without the observer, for races, in which the observer would change the timing.
	Raw adapter.Adapter

	Ctx     context.Context
	Clause  string // its ID
	Run     *Run
	TB      *HarnessTB
	virtual virtualClock
	Trace   *trace

	Deadlock deadlock.Seen // explains a breach
	Mu       sync.Mutex
	failures []string
	notes    []string
	outcome  Outcome // set by skips
	reason   string
	lacking  []string // fields that the harness lacks, without which the clause is not verified
	cut      string   // why the clause was cut off, if it was
	hang     string   // the calls that hang, if some do
	hangsAs  string   // the first clause in which calls hang
	serial   int

	Usual     time.Duration // that the first of two calls at once takes
	lastWrite time.Time     // if the adapter declares eventual reads

	Missing        []string // those of the 19 methods that the adapter does not have
	Optional       []string // those methods of optional interfaces that it does not have
	known          remembered
	beside         adapter.Adapter // the second handle, once it is open
	asked          bool            // the clause has asked for the control over the traffic
	UninvolvedGone bool            // the clause has closed the handle that reads the uninvolved user, or has emptied the store
}

// Harness is the harness of the run.
func (c *Context) Harness() *Harness { return c.Run.Harness }

// Errorf reports a breach of the clause and continues.
func (c *Context) Errorf(format string, args ...any) {
	for _, arg := range args {
		if err, ok := arg.(error); ok {
			c.Deadlock.See(err)
		}
	}
	_, many := c.Run.hanging()
	c.Mu.Lock()
	defer c.Mu.Unlock()
	if c.hang == "" && !many { // else it follows from calls that hang
		c.failures = append(c.failures, fmt.Sprintf(format, args...))
	}
}

// Fatalf reports a breach of the clause and ends it.
func (c *Context) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}

// Notef records an observation for the report.
func (c *Context) Notef(format string, args ...any) {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// Failed reports whether a breach was reported.
func (c *Context) Failed() bool {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	return len(c.failures) > 0
}

// NotVerified ends the clause because the harness lacks the means to verify it.
func (c *Context) NotVerified(format string, args ...any) {
	for _, arg := range args {
		if a, ok := arg.(Ability); ok {
			c.lacking = append(c.lacking, string(a))
		}
	}
	end(c, NotVerified, fmt.Sprintf(format, args...))
}

// NotApplicable ends the clause because it does not apply to this adapter.
func (c *Context) NotApplicable(format string, args ...any) {
	end(c, NotApplicable, fmt.Sprintf(format, args...))
}

func end(c *Context, o Outcome, reason string) {
	c.Mu.Lock()
	if c.outcome == "" {
		c.outcome, c.reason = o, reason
	}
	c.Mu.Unlock()
	runtime.Goexit()
}

// Need ends the clause as not verified unless the harness has the ability, or as not
// applicable if the harness says that there can be no such thing.
func (c *Context) Need(a Ability) {
	if why := c.Harness().Declarations.NoSite[string(a)]; why != "" {
		c.NotApplicable("there can be no %s: %s", a, why)
	}
	if !c.Has(a) {
		c.NotVerified("the harness has no %s", a)
	}
}

// Has reports whether the harness has the ability for this adapter.
func (c *Context) Has(a Ability) bool {
	switch a {
	case AbilitySweep:
		_, ok := c.Raw.(adapter.Sweeper)
		return ok || c.Harness().Sweep != nil
	case AbilityClock:
		return c.Harness().Clock != nil || c.Harness().Declarations.Timeless
	case AbilitySubprocess:
		return c.Run.Again != nil
	default:
		return c.Harness().has(a)
	}
}

// Lacks reports whether the adapter does not have the method.
func (c *Context) Lacks(method string) bool {
	return slices.Contains(c.Missing, method) || slices.Contains(c.Optional, method)
}

// Requires ends the clause as not applicable unless the adapter has the methods.
func (c *Context) Requires(methods ...string) {
	for _, m := range methods {
		if c.Lacks(m) {
			c.NotApplicable("the adapter has no %s", m)
		}
	}
}

// Parallel runs f(0) to f(n-1) on n goroutines, releases them together, and waits for them. If one of them ends the
// clause, the caller ends too. A panic in one fails the clause.
func (c *Context) Parallel(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ended := make(chan struct{}, n)
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			finished := false
			defer func() {
				if v := recover(); v != nil {
					c.Errorf("panic: %v\n%s", v, debug.Stack())
				}
				if !finished {
					ended <- struct{}{}
				}
			}()
			ready.Done()
			<-start
			f(i)
			finished = true
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
	if len(ended) > 0 {
		runtime.Goexit()
	}
}

// Observe wraps an adapter that the harness opened in the observer.
func (c *Context) Observe(a adapter.Adapter) adapter.Adapter {
	if a == nil {
		c.Fatalf("the harness returned a nil adapter")
	}
	return &Observer{Next: a, c: c, known: &c.known}
}

// Use makes another adapter the one that the calls of the clause go to.
func Use(c *Context, a adapter.Adapter) {
	c.Raw, c.Adapter = a, c.Observe(a)
	c.UninvolvedGone = true // that user is in the store of the first adapter
}

// Close closes the client of the adapter, which must succeed.
func Close(c *Context, a adapter.Adapter) {
	if err := c.Harness().Close(a); err != nil {
		c.Errorf("Close: %v", err)
	}
}

// Reopen closes the adapter of the clause and opens its data again.
func Reopen(c *Context) {
	Close(c, c.Raw)
	c.Raw = c.Harness().Reopen(c.TB, c.Raw)
	c.Adapter = c.Observe(c.Raw)
}

// Second opens another handle on the same data.
func Second(c *Context) adapter.Adapter {
	c.Need(AbilitySecond)
	return c.Observe(c.Harness().Second(c.TB, c.Raw))
}

// Witness returns another handle on the same data, if the harness has one, and else
// the adapter, without the observer. It prepares and judges calls that meet faults: its
// connections do not break, and a new connection costs a server more than many calls.
func Witness(c *Context) adapter.Adapter {
	handles := Handles(c)
	return handles[len(handles)-1]
}

func TrySweep(c *Context, a adapter.Adapter, now time.Time) error {
	if sweep := c.Harness().Sweep; sweep != nil {
		return sweep(c.Ctx, a, now)
	}
	_, err := a.(adapter.Sweeper).DeleteExpired(c.Ctx, now)
	return err
}

// Now is the time on the adapter's clock.
func (c *Context) Now() time.Time {
	if c.Has(AbilityClock) {
		return Clock(c).Now()
	}
	return time.Now()
}

// Clock is the clock of the harness, or a clock of the clause if the adapter looks at none.
func Clock(c *Context) HarnessClock {
	if c.Harness().Declarations.Timeless {
		return &c.virtual
	}
	return c.Harness().Clock(c.Raw)
}

// virtualClock is the clock of a clause whose adapter looks at no clock.
type virtualClock struct{ ahead atomic.Int64 }

func (v *virtualClock) Now() time.Time { return time.Now().Add(time.Duration(v.ahead.Load())) }

func (v *virtualClock) Advance(d time.Duration) { v.ahead.Add(int64(d)) }

// Wait returns when d has passed on the adapter's clock. It returns at once if the harness can move that clock.
func Wait(c *Context, d time.Duration) {
	if c.Has(AbilityClock) {
		Clock(c).Advance(d)
	} else {
		Pause(c, d)
	}
}

// Pause waits for d. It is for events that give no signal.
func Pause(c *Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.Ctx.Done():
		c.Fatalf("the clause ran out of time")
	}
}

// Wrote records the time of a write, for Settle.
func Wrote(c *Context) {
	if c.Harness().Declarations.EventualReads > 0 {
		c.Mu.Lock()
		defer c.Mu.Unlock()
		c.lastWrite = time.Now()
	}
}

// Settle waits until reads see the last write, if the harness declares
// eventual reads [ISO-06]. UseVerificationToken never waits [ISO-07].
func (c *Context) Settle() {
	c.Mu.Lock()
	rest := time.Until(c.lastWrite.Add(c.Harness().Declarations.EventualReads))
	written := !c.lastWrite.IsZero()
	c.Mu.Unlock()
	if !written || rest <= 0 {
		return
	}
	select {
	case <-time.After(rest):
	case <-c.Ctx.Done():
	}
}

// HarnessTB is the testing.TB that the harness gets. It reports the harness's failures to the clause.
type HarnessTB struct {
	testing.TB // nil: every method is overridden
	C          *Context
	mu         sync.Mutex
	cleanups   []func()
	MakeDir    func() string
}

func (t *HarnessTB) Helper()      {}
func (t *HarnessTB) Name() string { return t.C.Clause }

func (t *HarnessTB) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *HarnessTB) RunCleanups() {
	for {
		t.mu.Lock()
		n := len(t.cleanups)
		if n == 0 {
			t.mu.Unlock()
			return
		}
		f := t.cleanups[n-1]
		t.cleanups = t.cleanups[:n-1]
		t.mu.Unlock()
		f()
	}
}

func (t *HarnessTB) Context() context.Context  { return t.C.Ctx }
func (t *HarnessTB) TempDir() string           { return t.MakeDir() }
func (t *HarnessTB) ArtifactDir() string       { return t.MakeDir() }
func (t *HarnessTB) Log(args ...any)           { t.C.Notef("%s", fmt.Sprint(args...)) }
func (t *HarnessTB) Logf(f string, a ...any)   { t.C.Notef(f, a...) }
func (t *HarnessTB) Error(args ...any)         { t.C.Errorf("harness: %s", fmt.Sprint(args...)) }
func (t *HarnessTB) Errorf(f string, a ...any) { t.C.Errorf("harness: "+f, a...) }
func (t *HarnessTB) Fatal(args ...any)         { t.C.Fatalf("harness: %s", fmt.Sprint(args...)) }
func (t *HarnessTB) Fatalf(f string, a ...any) { t.C.Fatalf("harness: "+f, a...) }
func (t *HarnessTB) Fail()                     { t.C.Errorf("harness: failed") }
func (t *HarnessTB) FailNow()                  { t.C.Fatalf("harness: failed") }
func (t *HarnessTB) Failed() bool              { return t.C.Failed() }
func (t *HarnessTB) Skip(args ...any)          { t.Skipf("%s", fmt.Sprint(args...)) }
func (t *HarnessTB) Skipf(f string, a ...any)  { t.C.NotVerified("the harness skipped: "+f, a...) }
func (t *HarnessTB) SkipNow()                  { t.C.NotVerified("the harness skipped") }
func (t *HarnessTB) Skipped() bool             { return false }
func (t *HarnessTB) Setenv(key, _ string)      { t.Fatalf("Setenv is not for a harness: %s", key) }
func (t *HarnessTB) Chdir(dir string)          { t.Fatalf("Chdir is not for a harness: %s", dir) }

// Faults returns the control over the traffic of the adapter, or nil. A clause asks for it while it makes no call.
func Faults(c *Context) fault.Control {
	if c.Harness().Faults == nil {
		return nil
	}
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.asked = true
	return c.Harness().Faults(c.Raw)
}

// Handles are the adapter and, if the harness has one, a second handle on the same data, without the observer.
func Handles(c *Context) []adapter.Adapter {
	if c.beside == nil && c.Has(AbilitySecond) {
		if c.beside = c.Harness().Second(c.TB, c.Raw); c.beside == nil {
			c.Fatalf("the harness returned a nil second adapter")
		}
	}
	if c.beside == nil {
		return []adapter.Adapter{c.Raw}
	}
	return []adapter.Adapter{c.Raw, c.beside}
}
