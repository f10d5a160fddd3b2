package adaptertest

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/progress"
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
	// Profile, if not nil, leaves out what a looser contract does not promise.
	Profile *Profile
	// Progress, if not nil, is called with each result when the clause has ended, one call at a time.
	Progress func(Result)
	// Again, if not nil, lets Check verify TIME-08: it returns a command, not started yet, that starts this
	// program again. The program must then call Check with the same harness and Only TIME, and write the report
	// as JSON to the file that the variable ADAPTERTEST_REPORT names.
	Again func(ctx context.Context) (*exec.Cmd, error)
}

// Run runs the suite as subtests of t, and returns the report of the clauses that have run.
func Run(t *testing.T, h Harness) *Report {
	t.Helper()
	return test(t, func(o Options) (*run, error) { return newRun(&h, o) })
}

// test makes a run with the options of the environment, and runs its clauses as subtests of t.
func test(t *testing.T, prepare func(Options) (*run, error)) *Report {
	t.Helper()
	options, err := optionsFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	r, err := prepare(options)
	if err != nil {
		t.Fatal(err)
	}
	return r.test(t)
}

// test runs the clauses as subtests of t.
func (r *run) test(t *testing.T) *Report {
	t.Helper()
	r.kit.Again = func(ctx context.Context) (*exec.Cmd, error) { return testAgain(ctx, t.Name()) }
	r.path = os.Getenv("ADAPTERTEST_REPORT")
	if end, ok := t.Deadline(); ok {
		r.endBy(end)
	}
	if err := r.kit.SelfCheck(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.line = progress.Start(os.Stderr, len(r.checks), testing.Verbose())
	if r.parallel() > 1 && !namesSubtests(t.Name()+"/group") { // clauses that go test names run one after the other
		r.kit.Hurried = true
		r.testTogether(t)
	} else {
		for group, checks := range byGroup(r.checks) {
			t.Run(group, func(t *testing.T) {
				for _, k := range checks {
					r.testOne(t, k)
				}
			})
		}
	}
	r.line.Stop()
	report := r.report(true)
	r.conclude(t, report)
	return report
}

// testOne runs a clause as a subtest of its group.
func (r *run) testOne(group *testing.T, k kit.Check) {
	group.Helper()
	group.Run(k.Name(), func(t *testing.T) { r.tell(t, r.check(t.Context(), k)) })
}

// testTogether runs clauses as subtests, several at once. They are not parallel tests: so the
// time of a subtest is that of its clause. The groups end in their order, and are printed in it.
func (r *run) testTogether(t *testing.T) {
	t.Helper()
	groups := map[string]*testing.T{}
	var ends []func()
	for group := range byGroup(r.checks) {
		opened, end, ended := make(chan *testing.T, 1), make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			defer close(opened)
			t.Run(group, func(t *testing.T) {
				opened <- t
				<-end
			})
		}()
		groups[group] = <-opened
		ends = append(ends, func() { close(end); <-ended })
	}
	test := func(k kit.Check) {
		if group := groups[groupOf(k.ID)]; group != nil { // go test skips the others
			r.testOne(group, k)
		}
	}
	r.checkTogether(t.Context(), r.checks, test)
	for _, k := range r.checks {
		if k.Alone {
			test(k)
		}
	}
	for _, end := range ends {
		end()
	}
}

// conclude ends a run of Run: the summary is the last that it prints.
func (r *run) conclude(t *testing.T, report *Report) {
	t.Helper()
	if err := r.save(report); err != nil {
		t.Error(err)
	}
	if testing.Verbose() {
		var text strings.Builder
		report.writeRest(&text)
		t.Log(text.String())
	}
	if r.printed > mostLines && !testing.Verbose() {
		t.Errorf("%d more clauses are broken: -v prints a line for each", r.printed-mostLines)
	}
	if unreached := report.With(NotReached); len(unreached) > 0 {
		t.Errorf("%d clauses were not reached: %s", len(unreached), unreached[0].Reason)
	} else if report.Duration > progress.After && r.parallel() == 1 && !namesSubtests(t.Name()) {
		t.Logf("the run took %v: Harness.Parallel lets several clauses wait at once", report.Duration.Round(time.Second))
	}
	if t.Failed() {
		t.Log(report.Summary())
		return
	}
	// This is not t.Log: in the package's folder, go test shows printed lines,
	// but hides the log of a test that passes.
	_, _ = fmt.Fprintln(os.Stdout, report.Summary())
}

// tell reports one result to the clause's subtest.
func (r *run) tell(t *testing.T, result Result) {
	t.Helper()
	switch result.Outcome {
	case Fail:
		if text, named := r.failure(t.Name(), result); !broken(result, r.options.Strict) {
			t.Log(text)
		} else if text != "" {
			t.Error(text)
		} else if named || testing.Verbose() {
			t.Fail()
		}
	case NotReached, NotVerified, NotApplicable: // conclude fails the test if clauses were not reached
		t.Skipf("%s: %s", result.Outcome, result.Reason)
	case Waived:
		t.Skipf("waived: %s\n%s", result.Reason, kit.Indent(result.Evidence))
	default:
		for _, e := range result.Evidence {
			t.Log(e)
		}
	}
}

// Somebody who reads the result of a broken adapter wants to see first all that is broken.
const (
	// linesOfClause is the number of lines of evidence that are printed of a clause.
	linesOfClause = 6
	// linesOfEvidence is the number of printed lines after which one line of evidence is printed.
	linesOfEvidence = 90
	// linesOfRun is the number of printed lines after which only go test names a clause, and mostLines the
	// number after which only the summary does, unless go test has -v.
	linesOfRun = 140
	mostLines  = 160
)

// failure returns what is printed of a broken clause: all if go test was told which
// clauses to run, and else what there is room for, with the command for the rest. It
// reports whether there is room for the line in which go test names the clause.
func (r *run) failure(subtest string, result Result) (text string, named bool) {
	head, lines := result.lines()
	top, _, _ := strings.Cut(subtest, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	if !namesSubtests(top) {
		most := linesOfClause
		switch {
		case r.printed >= linesOfRun && !broken(result, r.options.Strict):
			return "", false
		case r.printed >= linesOfRun:
			r.printed++
			return "", r.printed <= mostLines
		case r.printed >= linesOfEvidence:
			most = 1
		}
		if len(lines) > most+1 {
			lines = append(lines[:most:most], fmt.Sprintf("    … %d more lines", len(lines)-most))
		}
	}
	r.printed += 3 + len(lines) // go test has a line for each failed subtest
	return fmt.Sprintf("%s\n%s\nADAPTERTEST_SEED=%d go test -run '%s' repeats it and prints all; %s",
		head, strings.Join(lines, "\n"), r.options.Seed, testPattern(subtest), result.fix()), true
}

// initTesting declares the flags of package testing, which the random sequences need. Two calls at one moment
// would declare them twice. A program that does not use the flags of package flag has not parsed them.
var initTesting = sync.OnceFunc(func() {
	testing.Init()
	if !flag.Parsed() {
		_ = flag.CommandLine.Parse(nil) // no arguments are no error
	}
})

// Check runs the suite without a test and returns the report. It returns an error if the harness or the options
// are wrong. For breaches of the adapter see Report.Failed.
func Check(ctx context.Context, h Harness, o Options) (*Report, error) {
	initTesting()
	r, err := newRun(&h, o)
	if err != nil {
		return nil, err
	}
	return r.checkChosen(ctx)
}

// checkChosen runs the clauses that the options choose.
func (r *run) checkChosen(ctx context.Context) (*Report, error) {
	o := r.options
	if len(o.Only) == 0 {
		if err := r.kit.SelfCheck(ctx); err != nil {
			return nil, err
		}
	}
	named := func(k kit.Check, name string) bool { return name == k.ID || name == groupOf(k.ID) }
	for _, name := range o.Only {
		if !slices.ContainsFunc(r.checks, func(k kit.Check) bool { return named(k, name) }) {
			return nil, fmt.Errorf("adaptertest: Options.Only names %q, which is neither a clause nor a group", name)
		}
	}
	chosen := kit.Keep(r.checks, func(k kit.Check) bool {
		return len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(name string) bool { return named(k, name) })
	})
	var telling sync.Mutex
	check := func(k kit.Check) {
		result := r.check(ctx, k)
		telling.Lock()
		defer telling.Unlock()
		if o.Progress != nil {
			o.Progress(result)
		}
	}
	if r.parallel() > 1 {
		r.kit.Hurried = len(o.Only) == 0
		r.checkTogether(ctx, chosen, check)
		chosen = slices.DeleteFunc(chosen, func(k kit.Check) bool { return !k.Alone })
	}
	checkAll(ctx, chosen, 1, check)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.report(true), nil
}

// parallel returns the number of clauses that run at once.
func (r *run) parallel() int { return cmp.Or(r.options.Parallel, r.harness.Parallel, 1) }

// racesTogether is how many races run at once. More of them would leave two calls
// fewer moments at which they meet, and a random search less time.
const racesTogether = 2

// ofRecords are the groups about the five kinds of record. What breaks one of their clauses breaks others too.
var ofRecords = []string{"CAP", "USER", "ACCT", "SESS", "VTOK", "AUTHN"}

// checkTogether runs the clauses that may run at the same time as others: first those of records, then the last groups,
// which take longest. The races run after the others, and fewer at once; a run of less than one round has no time for that.
func (r *run) checkTogether(ctx context.Context, checks []kit.Check, check func(kit.Check)) {
	together := slices.DeleteFunc(slices.Clone(checks), func(k kit.Check) bool { return k.Alone })
	others := together[len(kit.Keep(together, func(k kit.Check) bool { return slices.Contains(ofRecords, groupOf(k.ID)) })):]
	slices.Reverse(others)
	var races []kit.Check
	if r.options.Rounds >= 1 {
		races = slices.DeleteFunc(slices.Clone(together), func(k kit.Check) bool { return !k.Races })
		together = slices.DeleteFunc(together, func(k kit.Check) bool { return k.Races })
	}
	checkAll(ctx, together, r.parallel(), check)
	checkAll(ctx, races, min(racesTogether, r.parallel()), check)
}

// namesSubtests reports whether go test was told which subtests of the test to run, or to skip.
func namesSubtests(test string) bool {
	return slices.ContainsFunc([]string{"test.run", "test.skip"}, func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && strings.Count(f.Value.String(), "/") > strings.Count(test, "/")
	})
}

// checkAll runs clauses, as many at once as parallel says, until the context ends.
func checkAll(ctx context.Context, checks []kit.Check, parallel int, check func(kit.Check)) {
	turns := make(chan struct{}, parallel)
	var wg sync.WaitGroup
	for _, k := range checks {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-turns }()
			check(k)
		})
	}
	wg.Wait()
}

// run is one run of the suite.
type run struct {
	harness *Harness
	options Options
	kit     *kit.Run
	checks  []kit.Check
	scope   *sessionScope // of a run over a store of sessions
	started time.Time
	path    string // the file for the report, or empty
	saving  sync.Mutex

	line    *progress.Line
	mu      sync.Mutex
	printed int // lines of evidence
	results []Result
}

func newRun(h *Harness, o Options) (*run, error) {
	if err := h.validate(); err != nil {
		return nil, err
	}
	if o.Parallel < 0 {
		return nil, fmt.Errorf("adaptertest: Options.Parallel is %d, want 1 or more", o.Parallel)
	}
	if err := o.Profile.validate(); err != nil {
		return nil, err
	}
	if o.Rounds < 0 || math.IsNaN(o.Rounds) || math.IsInf(o.Rounds, 0) {
		return nil, fmt.Errorf("adaptertest: Options.Rounds is %v, want more than 0", o.Rounds)
	}
	o.Rounds = cmp.Or(o.Rounds, 1)
	for o.Seed == 0 {
		o.Seed = rand.Uint64() >> 11 // fits a JSON number
	}
	r := &run{harness: h, options: o, kit: kit.NewRun(h.bind(), o.Seed, o.Rounds), checks: checks(), started: time.Now()}
	r.kit.Again = o.Again
	return r, nil
}

// reserve is the part of go test's time that is kept for the report.
const reserve = 5 * time.Second

// endBy makes the run end before go test's deadline.
func (r *run) endBy(deadline time.Time) {
	left := time.Until(deadline)
	r.kit.End = deadline.Add(-min(reserve, left/5))
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
func byGroup(checks []kit.Check) func(yield func(string, []kit.Check) bool) {
	return func(yield func(string, []kit.Check) bool) {
		for len(checks) > 0 {
			group := groupOf(checks[0].ID)
			n := 1
			for n < len(checks) && strings.HasPrefix(checks[n].ID, group+"-") {
				n++
			}
			if !yield(group, checks[:n]) {
				return
			}
			checks = checks[n:]
		}
	}
}

// QuickRounds are the rounds of the quick form, which go test -short runs: every clause, with a tenth of the
// repetitions and a share of the cases of a clause that has many: a method meets one kind of fault, and the next
// method another. It is for the work on an adapter. A fault that a race shows one time in twenty, or in one case
// of many, needs the full form.
const QuickRounds = 0.1

// check runs one clause.
func (r *run) check(ctx context.Context, k kit.Check) Result {
	clause, ok := clauseByID(k.ID)
	if !ok {
		panic("adaptertest: no clause " + k.ID)
	}
	r.line.Begin(k.ID)
	defer r.line.End(k.ID)
	start := time.Now()
	finding := kit.Finding{Outcome: kit.NotApplicable, Reason: r.scope.excludes(k.ID)}
	if finding.Reason == "" {
		finding = r.scope.judge(k.ID, r.kit.Check(ctx, k))
	}
	return r.record(r.result(clause, finding, time.Since(start)))
}

func (r *run) record(x Result) Result {
	r.mu.Lock()
	r.results = append(r.results, x)
	r.mu.Unlock()
	r.kit.Ended(x.Clause.ID, kit.Outcome(x.Outcome))
	if r.path != "" {
		if err := r.save(r.report(false)); err != nil {
			x.Evidence = append(x.Evidence, "the report could not be written: "+err.Error())
		}
	}
	return x
}

// report returns the results so far.
func (r *run) report(complete bool) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	adapterType, missing := r.kit.Adapter()
	name := cmp.Or(r.harness.Name, strings.TrimLeft(adapterType, "*"))
	profile := ""
	if r.options.Profile != nil {
		profile = r.options.Profile.Name
	}
	order := map[string]int{}
	for i, k := range r.checks {
		order[k.ID] = i
	}
	results := slices.Clone(r.results)
	slices.SortStableFunc(results, func(a, b Result) int { return order[a.Clause.ID] - order[b.Clause.ID] })
	return &Report{
		Adapter: name, Version: r.harness.Version, Seed: r.options.Seed, Rounds: r.options.Rounds, Strict: r.options.Strict,
		Profile: profile, Started: r.started, Duration: time.Since(r.started), Missing: missing,
		Declarations: r.harness.Declarations, Waivers: r.harness.Waivers, Results: results,
		Suite: suiteVersion(), Complete: complete,
	}
}

// testAgain returns the command that runs the TIME group of the test again.
func testAgain(ctx context.Context, test string) (*exec.Cmd, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"-test.run=" + testPattern(test) + "/^TIME$", "-test.count=1", "-test.v=false"}
	for _, arg := range os.Args[1:] { // the test may have flags of its own
		if !strings.HasPrefix(arg, "-test.") && !strings.HasPrefix(arg, "--test.") {
			args = append(args, arg)
		}
	}
	return exec.CommandContext(ctx, binary, args...), nil //nolint:gosec // the test binary runs itself
}

// testPattern matches the test of that name and no other.
func testPattern(name string) string {
	parts := kit.Map(strings.Split(name, "/"), func(p string) string { return "^" + regexp.QuoteMeta(p) + "$" })
	return strings.Join(parts, "/")
}
