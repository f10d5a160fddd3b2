package adaptertest

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

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// clauseContext is the context in which one clause runs: the adapter, what the harness can
// do, fixtures, and the ways to report. Its methods may be called from any
// goroutine that parallel started.
type clauseContext struct {
	budget
	// a is the adapter under test. The observer traces and checks its calls.
	a adapter.Adapter
	// raw is the same adapter without the observer, for races, in which the
	// observer would change the timing.
	raw adapter.Adapter

	ctx     context.Context
	clause  Clause
	run     *run
	tb      *harnessTB
	virtual virtualClock
	trace   *trace

	mu       sync.Mutex
	failures []string
	notes    []string
	outcome  Outcome // set by skips
	reason   string
	lacking  []string // fields that the harness lacks, without which the clause is not verified
	cut      string   // why the clause was cut off, if it was
	serial   int

	usual     time.Duration // that the first of two calls at once takes
	lastWrite time.Time     // if the adapter declares eventual reads

	missing        []string // those of the 19 methods that the adapter does not have
	optional       []string // those methods of optional interfaces that it does not have
	known          remembered
	beside         adapter.Adapter // the second handle, once it is open
	asked          bool            // the clause has asked for the control over the traffic
	uninvolvedGone bool            // the clause has closed the handle that reads the uninvolved user, or has emptied the store
}

// harness is the harness of the run.
func (c *clauseContext) harness() *Harness { return c.run.harness }

// Errorf reports a breach of the clause and continues.
func (c *clauseContext) Errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, fmt.Sprintf(format, args...))
}

// Fatalf reports a breach of the clause and ends it.
func (c *clauseContext) Fatalf(format string, args ...any) {
	c.Errorf(format, args...)
	runtime.Goexit()
}

// Notef records an observation for the report.
func (c *clauseContext) Notef(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// failed reports whether a breach was reported.
func (c *clauseContext) failed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.failures) > 0
}

// notVerified ends the clause because the harness lacks the means to verify
// it.
func (c *clauseContext) notVerified(format string, args ...any) {
	for _, arg := range args {
		if a, ok := arg.(ability); ok {
			c.lacking = append(c.lacking, string(a))
		}
	}
	c.end(NotVerified, fmt.Sprintf(format, args...))
}

// notApplicable ends the clause because it does not apply to this adapter.
func (c *clauseContext) notApplicable(format string, args ...any) {
	c.end(NotApplicable, fmt.Sprintf(format, args...))
}

func (c *clauseContext) end(o Outcome, reason string) {
	c.mu.Lock()
	if c.outcome == "" {
		c.outcome, c.reason = o, reason
	}
	c.mu.Unlock()
	runtime.Goexit()
}

// need ends the clause as not verified unless the harness has the ability.
func (c *clauseContext) need(a ability) {
	if !c.has(a) {
		c.notVerified("the harness has no %s", a)
	}
}

// has reports whether the harness has the ability for this adapter.
func (c *clauseContext) has(a ability) bool {
	switch a {
	case abilitySweep:
		_, ok := c.raw.(adapter.Sweeper)
		return ok || c.harness().Sweep != nil
	case abilityClock:
		return c.harness().Clock != nil || c.harness().Declarations.Timeless
	case abilitySubprocess:
		return c.run.testName != "" || c.run.options.Again != nil
	default:
		return c.harness().has(a)
	}
}

// lacks reports whether the adapter does not have the method.
func (c *clauseContext) lacks(method string) bool {
	return slices.Contains(c.missing, method) || slices.Contains(c.optional, method)
}

// requires ends the clause as not applicable unless the adapter has the methods.
func (c *clauseContext) requires(methods ...string) {
	for _, m := range methods {
		if c.lacks(m) {
			c.notApplicable("the adapter has no %s", m)
		}
	}
}

// parallel runs f(0) to f(n-1) on n goroutines, releases them together, and
// waits for them. If one of them ends the clause, the caller ends too. A panic
// in one fails the clause.
func (c *clauseContext) parallel(n int, f func(i int)) {
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

// observe wraps an adapter that the harness opened in the observer.
func (c *clauseContext) observe(a adapter.Adapter) adapter.Adapter {
	if a == nil {
		c.Fatalf("the harness returned a nil adapter")
	}
	return &observer{next: a, c: c, known: &c.known}
}

// second opens another handle on the same data.
func (c *clauseContext) second() adapter.Adapter {
	c.need(abilitySecond)
	return c.observe(c.harness().Second(c.tb, c.raw))
}

// witness returns another handle on the same data, if the harness has one, and else
// the adapter, without the observer. It prepares and judges calls that meet faults: its
// connections do not break, and a new connection costs a server more than many calls.
func (c *clauseContext) witness() adapter.Adapter {
	handles := c.handles()
	return handles[len(handles)-1]
}

// sweep triggers the clean-up of the records that expired at or before now.
func (c *clauseContext) sweep(now time.Time) {
	c.need(abilitySweep)
	if err := c.trySweep(c.raw, now); err != nil {
		c.Errorf("clean-up: %v", err)
	}
}

func (c *clauseContext) trySweep(a adapter.Adapter, now time.Time) error {
	if sweep := c.harness().Sweep; sweep != nil {
		return sweep(c.ctx, a, now)
	}
	_, err := a.(adapter.Sweeper).DeleteExpired(c.ctx, now)
	return err
}

// now is the time on the adapter's clock.
func (c *clauseContext) now() time.Time {
	if c.has(abilityClock) {
		return c.clock().Now()
	}
	return time.Now()
}

// clock is the clock of the harness, or a clock of the clause if the adapter
// looks at none.
func (c *clauseContext) clock() Clock {
	if c.harness().Declarations.Timeless {
		return &c.virtual
	}
	return c.harness().Clock(c.raw)
}

// virtualClock is the clock of a clause whose adapter looks at no clock.
type virtualClock struct{ ahead atomic.Int64 }

func (v *virtualClock) Now() time.Time          { return time.Now().Add(time.Duration(v.ahead.Load())) }
func (v *virtualClock) Advance(d time.Duration) { v.ahead.Add(int64(d)) }

// wait returns when d has passed on the adapter's clock. It returns at once
// if the harness can move that clock.
func (c *clauseContext) wait(d time.Duration) {
	if c.has(abilityClock) {
		c.clock().Advance(d)
		return
	}
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		c.Fatalf("the clause ran out of time")
	}
}

// wrote records the time of a write, for settle.
func (c *clauseContext) wrote() {
	if c.harness().Declarations.EventualReads > 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lastWrite = time.Now()
	}
}

// settle waits until reads see the last write, if the harness declares
// eventual reads [ISO-06]. UseVerificationToken never waits [ISO-07].
func (c *clauseContext) settle() {
	c.mu.Lock()
	rest := time.Until(c.lastWrite.Add(c.harness().Declarations.EventualReads))
	written := !c.lastWrite.IsZero()
	c.mu.Unlock()
	if !written || rest <= 0 {
		return
	}
	select {
	case <-time.After(rest):
	case <-c.ctx.Done():
	}
}

// harnessTB is the testing.TB that the harness gets. It reports the harness's
// failures to the clause.
type harnessTB struct {
	testing.TB // nil: every method is overridden
	c          *clauseContext
	mu         sync.Mutex
	cleanups   []func()
	tempDir    func() string
}

func (t *harnessTB) Helper()      {}
func (t *harnessTB) Name() string { return t.c.clause.ID }
func (t *harnessTB) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

func (t *harnessTB) cleanUp() {
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

func (t *harnessTB) Context() context.Context { return t.c.ctx }
func (t *harnessTB) TempDir() string          { return t.tempDir() }
func (t *harnessTB) ArtifactDir() string      { return t.tempDir() }
func (t *harnessTB) Log(args ...any)          { t.c.Notef("%s", fmt.Sprint(args...)) }
func (t *harnessTB) Logf(f string, a ...any)  { t.c.Notef(f, a...) }
func (t *harnessTB) Error(args ...any)        { t.c.Errorf("harness: %s", fmt.Sprint(args...)) }
func (t *harnessTB) Errorf(f string, a ...any) {
	t.c.Errorf("harness: %s", fmt.Sprintf(f, a...))
}
func (t *harnessTB) Fatal(args ...any) { t.c.Fatalf("harness: %s", fmt.Sprint(args...)) }
func (t *harnessTB) Fatalf(f string, a ...any) {
	t.c.Fatalf("harness: %s", fmt.Sprintf(f, a...))
}
func (t *harnessTB) Fail()        { t.c.Errorf("harness: failed") }
func (t *harnessTB) FailNow()     { t.c.Fatalf("harness: failed") }
func (t *harnessTB) Failed() bool { return t.c.failed() }
func (t *harnessTB) Skip(args ...any) {
	t.c.notVerified("the harness skipped: %s", fmt.Sprint(args...))
}
func (t *harnessTB) Skipf(f string, a ...any) {
	t.c.notVerified("the harness skipped: %s", fmt.Sprintf(f, a...))
}
func (t *harnessTB) SkipNow()                 { t.c.notVerified("the harness skipped") }
func (t *harnessTB) Skipped() bool            { return false }
func (t *harnessTB) Setenv(key, value string) { t.Fatalf("Setenv is not for a harness: %s", key) }
func (t *harnessTB) Chdir(dir string)         { t.Fatalf("Chdir is not for a harness: %s", dir) }
