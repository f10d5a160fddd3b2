package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Options change a run of Check.
type Options struct {
	// Seed repeats the run with the same seed; zero draws a random one.
	Seed uint64
	// Rounds multiplies the repetitions of races and histories: 3 means three
	// times as many, QuickRounds a tenth as many. Zero means one.
	Rounds float64
	// Parallel replaces Harness.Parallel, unless it is zero.
	Parallel int
	// Strict makes a failed SHOULD or MAY fail the run.
	Strict bool
	// Only lists the IDs and groups of the clauses to run; empty means all.
	Only []string
	// Progress, if not nil, is called with each result when the clause has ended,
	// one call at a time.
	Progress func(Result)
	// Again, if not nil, lets Check verify TIME-08: it returns a command, not
	// started yet, that starts this program again. The program must then call
	// Check with the same harness and Only TIME, and write the report as JSON to
	// the file that the variable ADAPTERTEST_REPORT names.
	Again func(ctx context.Context) (*exec.Cmd, error)
}

// Run runs the suite as subtests of t, and returns the report of the clauses
// that have run.
func Run(t *testing.T, h Harness) *Report {
	t.Helper()
	options, err := optionsFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRun(&h, options)
	if err != nil {
		t.Fatal(err)
	}
	r.testName = t.Name()
	r.path = os.Getenv("ADAPTERTEST_REPORT")
	if end, ok := t.Deadline(); ok {
		r.endBy(end)
	}
	if err := r.selfCheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	early := map[string]Result{}
	if r.parallel() > 1 && !namesSubtests(t.Name()) {
		r.hurried = true
		r.checkTogether(t.Context(), checks(), func(result Result) { early[result.Clause.ID] = result })
	}
	for group, checks := range byGroup(checks()) {
		t.Run(group, func(t *testing.T) {
			for _, k := range checks {
				t.Run(k.name(), func(t *testing.T) {
					result, ok := early[k.id]
					if !ok {
						result = r.check(t.Context(), k)
					}
					r.tell(t, result)
				})
			}
		})
	}
	report := r.finish()
	var text strings.Builder
	if err := report.WriteText(&text); err != nil {
		t.Error(err)
	}
	t.Log(text.String())
	if err := r.save(report); err != nil {
		t.Error(err)
	}
	// This is not t.Log: in the package's folder, go test shows printed lines,
	// but hides the log of a test that passes.
	_, _ = fmt.Fprintln(os.Stdout, report.Summary())
	return report
}

// tell reports one result to the clause's subtest.
func (r *run) tell(t *testing.T, result Result) {
	t.Helper()
	c := result.Clause
	switch result.Outcome {
	case Fail:
		text := fmt.Sprintf("%s %s: %s\n%s\nrepeat with ADAPTERTEST_SEED=%d; %s explains the clause",
			c.Level, c.ID, c.Rule, indent(result.Evidence), r.options.Seed, c.page())
		if fatal(result, r.options.Strict) {
			t.Error(text)
		} else {
			t.Log(text)
		}
	case NotVerified, NotApplicable:
		t.Skipf("%s: %s", result.Outcome, result.Reason)
	case Waived:
		t.Skipf("waived: %s\n%s", result.Reason, indent(result.Evidence))
	default:
		for _, e := range result.Evidence {
			t.Log(e)
		}
	}
}

// initTesting declares the flags of package testing, which the random sequences need.
// Two calls at one moment would declare them twice.
var initTesting = sync.OnceFunc(testing.Init)

// Check runs the suite without a test and returns the report. It returns an
// error if the harness or the options are wrong. For breaches of the adapter
// see Report.Failed.
func Check(ctx context.Context, h Harness, o Options) (*Report, error) {
	initTesting()
	r, err := newRun(&h, o)
	if err != nil {
		return nil, err
	}
	if len(o.Only) == 0 {
		if err := r.selfCheck(ctx); err != nil {
			return nil, err
		}
	}
	known := func(name string) bool {
		return slices.ContainsFunc(loadClauses(), func(c Clause) bool { return c.ID == name || c.Group() == name })
	}
	for _, name := range o.Only {
		if !known(name) {
			return nil, fmt.Errorf("adaptertest: Options.Only names %q, which is neither a clause nor a group", name)
		}
	}
	chosen := slices.DeleteFunc(checks(), func(k check) bool {
		c, _ := clauseByID(k.id)
		return len(o.Only) > 0 && !slices.Contains(o.Only, c.ID) && !slices.Contains(o.Only, c.Group())
	})
	progress := func(result Result) {
		if o.Progress != nil {
			o.Progress(result)
		}
	}
	if r.parallel() > 1 {
		r.hurried = len(o.Only) == 0
		r.checkTogether(ctx, chosen, progress)
		chosen = slices.DeleteFunc(chosen, func(k check) bool { return !k.alone })
	}
	r.checkAll(ctx, chosen, 1, progress)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.finish(), nil
}

// parallel returns the number of clauses that run at once.
func (r *run) parallel() int { return cmp.Or(r.options.Parallel, r.harness.Parallel, 1) }

// racesTogether is how many races run at once. More of them would leave two calls
// fewer moments at which they meet, and a random search less time.
const racesTogether = 2

// checkTogether runs the clauses that may run at the same time as others: the races
// after the others, and fewer at once. A run of less than one round has no time for that.
func (r *run) checkTogether(ctx context.Context, checks []check, progress func(Result)) {
	together := slices.DeleteFunc(slices.Clone(checks), func(k check) bool { return k.alone })
	slices.Reverse(together) // the last groups take longest: they wait for faults and deadlines
	var races []check
	if r.options.Rounds >= 1 {
		races = slices.DeleteFunc(slices.Clone(together), func(k check) bool { return !k.races })
		together = slices.DeleteFunc(together, func(k check) bool { return k.races })
	}
	r.checkAll(ctx, together, r.parallel(), progress)
	r.checkAll(ctx, races, min(racesTogether, r.parallel()), progress)
}

// namesSubtests reports whether go test was told which subtests of the test to
// run, or to skip.
func namesSubtests(test string) bool {
	return slices.ContainsFunc([]string{"test.run", "test.skip"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && strings.Count(f.Value.String(), "/") > strings.Count(test, "/")
	})
}

// checkAll runs clauses, as many at once as parallel says, until the context
// ends. It calls progress with each result, one call at a time.
func (r *run) checkAll(ctx context.Context, checks []check, parallel int, progress func(Result)) {
	var telling sync.Mutex
	turns := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, k := range checks {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turns }()
			result := r.check(ctx, k)
			telling.Lock()
			defer telling.Unlock()
			progress(result)
		})
	}
	wg.Wait()
}

// run is one run of the suite.
type run struct {
	harness  *Harness
	options  Options
	nonce    string // distinguishes runs with the same seed
	testName string // the name of the test that called Run, if any
	started  time.Time
	end      time.Time // when the run must end; zero for no limit
	path     string    // the file for the report, or empty
	saving   sync.Mutex
	hurried  bool // the whole suite runs, several clauses at once: they wait for a slow store

	mu           sync.Mutex
	stuck        int
	waited       int // how often no call of a clause returned for the time-out
	results      []Result
	missing      []string
	adapterType  string
	observations []observation
	elsewhere    map[string]string // by method: an instant that it returned, not in UTC
	secrets      []string

	failed []failure // of the calls that failedCalls made
	met    map[faultOf][]failure
}

func newRun(h *Harness, o Options) (*run, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	if o.Parallel < 0 {
		return nil, fmt.Errorf("adaptertest: Options.Parallel is %d, want 1 or more", o.Parallel)
	}
	if o.Rounds < 0 || math.IsNaN(o.Rounds) || math.IsInf(o.Rounds, 0) {
		return nil, fmt.Errorf("adaptertest: Options.Rounds is %v, want more than 0", o.Rounds)
	}
	if o.Rounds == 0 {
		o.Rounds = 1
	}
	for o.Seed == 0 {
		o.Seed = rand.Uint64() >> 11 // fits a JSON number
	}
	return &run{harness: h, options: o, nonce: strconv.FormatUint(rand.Uint64(), 36), started: time.Now(),
		elsewhere: map[string]string{}}, nil
}

func optionsFromEnvironment() (Options, error) {
	var o Options
	var errs []error
	if s := os.Getenv("ADAPTERTEST_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("adaptertest: ADAPTERTEST_SEED: %w", err))
		}
		o.Seed = seed
	}
	if testing.Short() {
		o.Rounds = QuickRounds
	}
	if s := os.Getenv("ADAPTERTEST_ROUNDS"); s != "" {
		rounds, err := strconv.ParseFloat(s, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("adaptertest: ADAPTERTEST_ROUNDS: %w", err))
		}
		o.Rounds = rounds
	}
	switch s := os.Getenv("ADAPTERTEST_STRICT"); s {
	case "", "0":
	case "1":
		o.Strict = true
	default:
		errs = append(errs, fmt.Errorf("adaptertest: ADAPTERTEST_STRICT is %q, want 0 or 1", s))
	}
	return o, errors.Join(errs...)
}

// byGroup yields the checks group by group.
func byGroup(checks []check) func(yield func(string, []check) bool) {
	return func(yield func(string, []check) bool) {
		for len(checks) > 0 {
			group, _, _ := strings.Cut(checks[0].id, "-")
			n := 1
			for n < len(checks) && strings.HasPrefix(checks[n].id, group+"-") {
				n++
			}
			if !yield(group, checks[:n]) {
				return
			}
			checks = checks[n:]
		}
	}
}

// stuckLimit is the number of stuck clauses after which the run ends: more of
// them give no new information.
const stuckLimit = 3

// QuickRounds are the rounds of the quick form, which go test -short runs: every
// clause, with a tenth of the repetitions and a share of the cases of a clause that
// has many: a method meets one kind of fault, and the next method another. It is
// for the work on an adapter. A fault that a race shows one time in twenty, or in
// one case of many, needs the full form.
const QuickRounds = 0.1

// check runs one clause: it opens the adapter, creates the uninvolved user, runs the
// clause, compares the uninvolved user and cleans up. The watchdog watches each of
// these phases.
func (r *run) check(ctx context.Context, k check) Result {
	clause, ok := clauseByID(k.id)
	if !ok {
		panic("adaptertest: no clause " + k.id)
	}
	start := time.Now()
	if r.givenUp() {
		return r.record(Result{Clause: clause, Outcome: NotVerified, Reason: fmt.Sprintf("the run was given up after %d stuck clauses", stuckLimit)})
	}
	if r.pastEnd() {
		return r.record(Result{Clause: clause, Outcome: NotVerified, Reason: "the deadline of go test was reached: give it a longer -timeout"})
	}
	c := r.newC(clause)
	timeout := r.clauseTimeout()
	var b *uninvolvedUser
	finished := c.phase(ctx, timeout, "opening the adapter", func() {
		c.openAdapter()
		c.requires(k.requires...)
		for _, a := range k.needs {
			c.need(a)
		}
		if slices.Contains(k.needs, abilityFaults) {
			c.faults() // before the first call: a harness may put a proxy in between only now
		}
		b = c.addUninvolved()
	})
	if finished && c.goesOn() {
		finished = c.phase(ctx, timeout, "the clause", func() { k.run(c) })
	}
	if c.leftOut > 0 {
		c.Notef("the store is slow: up to %d cases were left out", c.leftOut)
	}
	if finished && c.outcome == "" && !c.uninvolvedGone && c.raw != nil {
		finished = c.phase(ctx, timeout, "comparing the uninvolved user", func() {
			if c.asked {
				c.faults().Heal()
			}
			b.check(c, c.raw)
		})
	}
	if finished {
		c.cleanUp(ctx)
	}
	return r.record(c.result(time.Since(start)))
}

// clauseTimeout is the time-out of the harness. After some clauses in which no call
// returned, it is a tenth: an adapter whose calls wait for ever would otherwise take a
// whole time-out in each clause.
func (r *run) clauseTimeout() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waited >= stuckLimit {
		return r.harness.clauseTimeout() / 10
	}
	return r.harness.clauseTimeout()
}

// givenUp reports whether too many clauses were stuck.
func (r *run) givenUp() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stuck >= stuckLimit
}

func (r *run) newC(clause Clause) *clauseContext {
	h := fnv.New64a()
	_, _ = h.Write([]byte(clause.ID))
	c := &clauseContext{clause: clause, run: r, trace: &trace{},
		budget: newBudget(r.options.Rounds, r.hurried, rand.New(rand.NewPCG(r.options.Seed, h.Sum64())))}
	c.tb = &harnessTB{c: c}
	c.tb.tempDir = func() string {
		dir, err := os.MkdirTemp("", "adaptertest-*")
		if err != nil {
			c.Fatalf("temporary directory: %v", err)
		}
		c.tb.Cleanup(func() {
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
	for end := time.Now().Add(deadline); ; {
		err := os.RemoveAll(dir)
		if err == nil || time.Now().After(end) {
			return err
		}
		<-time.After(time.Millisecond)
	}
}

// openAdapter opens the adapter that the clause is about.
func (c *clauseContext) openAdapter() {
	c.raw = c.run.harness.New(c.tb)
	c.a = c.observe(c.raw)
	c.missing, c.optional = missingMethods(c.raw)
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.missing = c.missing
	c.run.adapterType = fmt.Sprintf("%T", c.raw)
}

// cleanUpTimeout is the least time for the harness to clean up.
const cleanUpTimeout = 30 * time.Second

// cleanUp lets the harness clean up. It makes no calls that the watchdog could see
// return, so over a slow store it has the time-out of a clause.
func (c *clauseContext) cleanUp(ctx context.Context) {
	c.phase(ctx, max(cleanUpTimeout, c.harness().clauseTimeout()), "cleaning up", c.tb.cleanUp)
}

// phasePeriods is the limit of a phase that makes progress, as a multiple of
// the time-out.
const phasePeriods = 5

// phase runs f on a new goroutine, which f may end, and reports whether f
// ended. f is stuck if no call returns for the time-out; the calls under way
// and the stacks are then the evidence. So a slow machine does not look like a
// stuck adapter. A phase whose calls return is cut off at its limit, and the
// clause is then not verified.
func (c *clauseContext) phase(ctx context.Context, timeout time.Duration, what string, f func()) bool {
	limit := c.run.limit(phasePeriods * timeout)
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.ctx = ctx
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
	watchdog := time.NewTicker(timeout)
	defer watchdog.Stop()
	over := time.NewTimer(limit)
	defer over.Stop()
	for idle := c.trace.idle(); ctx.Err() == nil; {
		select {
		case <-done:
			return true
		case <-outer.Done():
			cancel()
		case <-over.C: // this comes before the end of the context: calls that fail then do not break the clause
			c.cutOff(fmt.Sprintf("%s was cut off after %v: its calls return, and slowly", what, limit.Round(time.Millisecond)))
			cancel()
		case <-watchdog.C:
			if idle() {
				c.Notef("no call has returned for %v", timeout)
				c.run.mu.Lock()
				c.run.waited++
				c.run.mu.Unlock()
				cancel()
			}
		}
	}
	// The context ends first, so that an adapter that observes it can return.
	watchdog.Reset(timeout/10 + time.Nanosecond)
	select {
	case <-done:
		return true
	case <-watchdog.C:
		c.Errorf("%s is stuck after %v\n%s\n%s", what, timeout, c.trace.underWay(), stacks())
		c.run.mu.Lock()
		c.run.stuck++
		c.run.mu.Unlock()
		return false
	}
}

// goesOn reports whether the clause still needs a judgement.
func (c *clauseContext) goesOn() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.outcome == "" && len(c.failures) == 0
}

// result returns the result of the clause.
func (c *clauseContext) result(d time.Duration) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Result{Clause: c.clause, Outcome: Pass, Duration: d, Evidence: slices.Clone(c.notes)}
	switch {
	case c.cut != "":
		r.Outcome, r.Reason = NotVerified, c.cut
		r.Evidence = append(r.Evidence, c.trace.String())
	case len(c.failures) > 0:
		r.Outcome = Fail
		r.Evidence = append(slices.Clone(c.failures), c.notes...)
		r.Evidence = append(r.Evidence, c.trace.String())
	case c.outcome != "":
		r.Outcome, r.Reason, r.Needs = c.outcome, c.reason, c.lacking
	case c.clause.Level == May:
		r.Outcome = Recorded
	}
	w, waived := c.run.harness.waiver(c.clause.ID)
	switch {
	case waived && r.Outcome == Fail:
		r.Outcome, r.Reason = Waived, w.reason()
	case waived && w.Racy && r.Outcome == Pass:
		r.Outcome, r.Reason = Waived, w.reason()+" (a race, which passed by luck this time)"
	case waived && r.Outcome == Pass:
		r.Outcome, r.Reason = Fail, staleWaiver
		r.Evidence = append(r.Evidence, "the clause is waived ("+w.Reason+") and passes: remove the waiver")
	}
	return r
}

const staleWaiver = "stale waiver"

func (r *run) record(x Result) Result {
	r.mu.Lock()
	r.results = append(r.results, x)
	r.mu.Unlock()
	if r.path != "" {
		if err := r.save(r.report(false)); err != nil {
			x.Evidence = append(x.Evidence, "the report could not be written: "+err.Error())
		}
	}
	return x
}

func (r *run) finish() *Report { return r.report(true) }

// report returns the results so far.
func (r *run) report(complete bool) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.harness.Name
	if name == "" {
		name = strings.TrimLeft(r.adapterType, "*")
	}
	order := map[string]int{}
	for i, k := range checks() {
		order[k.id] = i
	}
	results := slices.Clone(r.results)
	slices.SortStableFunc(results, func(a, b Result) int { return order[a.Clause.ID] - order[b.Clause.ID] })
	return &Report{
		Adapter: name, Version: r.harness.Version, Seed: r.options.Seed, Rounds: r.options.Rounds, Strict: r.options.Strict,
		Started: r.started, Duration: time.Since(r.started), Missing: r.missing,
		Declarations: r.harness.Declarations, Waivers: r.harness.Waivers, Results: results,
		Suite: suiteVersion(), Complete: complete,
	}
}

// observed keeps the observation of a call if a later clause needs it.
func (r *run) observed(o observation) {
	if o.err == nil && !o.emptyRecord {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observations = append(r.observations, o)
}

// notInUTC keeps that a method returned an instant in another zone.
func (r *run) notInUTC(method, where, clause string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.elsewhere[method]; !known {
		r.elsewhere[method] = fmt.Sprintf("%s, during %s", where, clause)
	}
}

func (r *run) addSecret(s string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, s)
}

func (r *run) newID() string {
	if r.harness.NewID != nil {
		return r.harness.NewID()
	}
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, 0x8000|uint16(b)&0x3fff, b>>16)
}
