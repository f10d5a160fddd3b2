package adaptertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// Outcome is the result of one clause.
type Outcome string

// The outcomes.
const (
	Pass          Outcome = "pass"
	Fail          Outcome = "fail"
	Waived        Outcome = "waived"
	NotVerified   Outcome = "not verified"
	NotApplicable Outcome = "not applicable"
	// NotReached is the outcome of a clause that did not run to its end, because calls
	// hang, or because there was no time. The run fails.
	NotReached Outcome = "not reached"
	// Recorded is the outcome of a MAY clause, and of a clause that a store of sessions
	// can't keep without a method that it lacks: Evidence says what was observed.
	Recorded Outcome = "recorded"
)

// Result is the outcome of one clause, with the evidence.
type Result struct {
	Clause   Clause        `json:"clause"`
	Outcome  Outcome       `json:"outcome"`
	Duration time.Duration `json:"duration"`
	// Reason says why the clause was waived, not verified, not reached or not applicable, or that a call hangs.
	Reason string `json:"reason,omitempty"`
	// Needs are the fields of the harness with which the clause could be verified.
	Needs []string `json:"needs,omitempty"`
	// Evidence is the finding. For a failure it has each breach and the calls
	// before it. For a MAY clause it has the observation.
	Evidence []string `json:"evidence,omitempty"`
	// Advice says what to do about a failure, if the evidence says more than the page of the clause does.
	Advice string `json:"advice,omitempty"`
}

// fix says what to do about a failure: the advice, or where it stands.
func (x Result) fix() string {
	return cmp.Or(x.Advice, "see "+x.Clause.page())
}

// lines are the first line of a failure, which is the rule or the call that hangs, and its evidence.
func (x Result) lines() (head string, evidence []string) {
	evidence = strings.Split(kit.Indent(x.Evidence), "\n")
	if x.Reason == kit.Hangs {
		return strings.TrimSpace(evidence[0]) + ", during " + x.Clause.ID, evidence[1:]
	}
	return fmt.Sprintf("%s %s: %s", x.Clause.Level, x.Clause.ID, x.Clause.Rule), evidence
}

// Report is the result of a run of the suite.
type Report struct {
	Adapter string  `json:"adapter"`
	Version string  `json:"version,omitempty"`
	Seed    uint64  `json:"seed"`
	Rounds  float64 `json:"rounds"`
	Strict  bool    `json:"strict"`
	// Profile is the looser contract that the run judged by, or empty.
	Profile      string        `json:"profile,omitempty"`
	Started      time.Time     `json:"started"`
	Duration     time.Duration `json:"duration"`
	Missing      []string      `json:"missing,omitempty"`
	Declarations Declarations  `json:"declarations"`
	Waivers      []Waiver      `json:"waivers,omitempty"`
	// Suite is the version of the suite.
	Suite string `json:"suite"`
	// Complete is false until the run has ended: a report is written after each
	// clause, so that an interrupted run loses no result.
	Complete bool     `json:"complete"`
	Results  []Result `json:"results"`
}

// Failed returns the results of the clauses that make the run fail: every failed MUST, in strict mode every
// failed clause, every stale waiver, and every clause that was not reached.
func (r *Report) Failed() []Result {
	return kit.Keep(r.Results, func(x Result) bool { return x.Outcome == NotReached || broken(x, r.Strict) })
}

// broken reports whether the result says that the adapter breaks its contract.
func broken(x Result, strict bool) bool {
	return x.Outcome == Fail && (x.Clause.Level == Must || strict || x.Reason == kit.StaleWaiver || x.Reason == kit.Hangs)
}

// With returns the results that have the outcome, in the order of the run.
func (r *Report) With(o Outcome) []Result {
	return kit.Keep(r.Results, func(x Result) bool { return x.Outcome == o })
}

// Result returns the result of the clause.
func (r *Report) Result(id string) (Result, bool) {
	return kit.Find(r.Results, func(x Result) bool { return x.Clause.ID == id })
}

// Verdict is the result of the run in a few words: fails; incomplete, if clauses were not reached; conforms, if
// every MUST was verified; conforms as far as verified, with the number of unverified MUST clauses; partial, if
// clauses were waived; or partial, unsafe, if a waived clause is about security. It names the profile of the run.
func (r *Report) Verdict() string {
	if r.Profile != "" {
		return r.verdict() + " (profile " + r.Profile + ")"
	}
	return r.verdict()
}

func (r *Report) verdict() string {
	waived := r.With(Waived)
	unverified := len(kit.Keep(r.Results, func(x Result) bool { return x.Clause.Level == Must && x.Outcome == NotVerified }))
	switch {
	case slices.ContainsFunc(r.Results, func(x Result) bool { return broken(x, r.Strict) }):
		return "fails"
	case len(r.With(NotReached)) > 0:
		return fmt.Sprintf("incomplete (%d clauses not reached)", len(r.With(NotReached)))
	case slices.ContainsFunc(waived, func(x Result) bool { return x.Clause.Basis == "SEC" }):
		return "partial, unsafe"
	case len(waived) > 0:
		return "partial"
	case unverified > 0:
		return fmt.Sprintf("conforms as far as verified (%d MUST not verified)", unverified)
	default:
		return "conforms"
	}
}

// Summary is the closing line of a run: the verdict, the numbers of kept MUST and SHOULD clauses, the ids of
// broken clauses, and the fields of the harness that would verify more clauses, each with their number.
func (r *Report) Summary() string {
	must, musts := r.Score(Must)
	should, shoulds := r.Score(Should)
	var b strings.Builder
	fmt.Fprintf(&b, "adaptertest %s: %s: %s; MUST kept %d of %d, SHOULD kept %d of %d", r.Suite, strings.TrimSpace(r.Adapter+" "+r.Version), r.Verdict(), must, musts, should, shoulds)
	for _, level := range []Level{Must, Should} {
		var ids []string
		for _, x := range r.With(Fail) {
			if x.Clause.Level == level {
				ids = append(ids, x.Clause.ID)
			}
		}
		if len(ids) > 0 {
			fmt.Fprintf(&b, "; broken %s: %s", level, strings.Join(ids, ", "))
		}
	}
	more := map[string]int{}
	for _, x := range r.With(NotVerified) {
		for _, field := range x.Needs {
			more[field]++
		}
	}
	for _, o := range []Outcome{NotReached, NotVerified} {
		if n := len(r.With(o)); n > 0 {
			fmt.Fprintf(&b, "; %s: %d", o, n)
		}
	}
	if len(more) > 0 {
		fields := kit.SortedKeys(more)
		slices.SortStableFunc(fields, func(a, b string) int { return more[b] - more[a] })
		parts := kit.Map(fields, func(f string) string { return fmt.Sprintf("%s %d", f, more[f]) })
		fmt.Fprintf(&b, ", of which these fields of the harness would verify more: %s", strings.Join(parts, ", "))
	}
	if !r.Complete {
		b.WriteString("; the run did not end")
	}
	return b.String()
}

// Score returns how many clauses of a level passed, and how many apply to the adapter.
func (r *Report) Score(level Level) (passed, applicable int) {
	for _, x := range r.Results {
		if x.Clause.Level != level || x.Outcome == NotApplicable || x.Outcome == Recorded && level != May {
			continue
		}
		applicable++
		if x.Outcome == Pass {
			passed++
		}
	}
	return passed, applicable
}

// WriteJSON writes the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report for a person to read.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	must, musts := r.Score(Must)
	should, shoulds := r.Score(Should)
	fmt.Fprintf(&b, "adaptertest %s: %s: %s. MUST %d of %d, SHOULD %d of %d, in %v, rounds %v, seed %d\n", r.Suite, strings.TrimSpace(r.Adapter+" "+r.Version), r.Verdict(),
		must, musts, should, shoulds, r.Duration.Round(time.Millisecond), r.Rounds, r.Seed)
	if len(r.Missing) > 0 {
		fmt.Fprintf(&b, "methods it does not have: %s\n", strings.Join(r.Missing, ", "))
	}
	for _, x := range r.With(Fail) {
		head, lines := x.lines()
		fmt.Fprintf(&b, "\n%s\n%s\n    %s\n", head, strings.Join(lines, "\n"), x.fix())
	}
	r.writeRest(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeRest writes what the report says besides failures.
func (r *Report) writeRest(b *strings.Builder) {
	for _, x := range r.With(Waived) {
		fmt.Fprintf(b, "%s %s waived: %s\n", x.Clause.Level, x.Clause.ID, x.Reason)
	}
	for _, o := range []Outcome{NotReached, NotVerified, NotApplicable} {
		why := map[string][]string{}
		for _, x := range r.With(o) {
			why[x.Reason] = append(why[x.Reason], x.Clause.ID)
		}
		for _, reason := range kit.SortedKeys(why) {
			fmt.Fprintf(b, "%s (%s): %s\n", o, reason, strings.Join(why[reason], ", "))
		}
	}
	for _, x := range r.With(Recorded) {
		fmt.Fprintf(b, "recorded %s: %s\n", x.Clause.ID, cmp.Or(x.Reason, strings.Join(x.Evidence, "; ")))
	}
	fmt.Fprintf(b, "slowest: %s\n", strings.Join(r.slowest(10), ", "))
}

// slowest returns the IDs of the n clauses that took longest, each with its time.
func (r *Report) slowest(n int) []string {
	results := slices.Clone(r.Results)
	slices.SortStableFunc(results, func(a, b Result) int { return cmp.Compare(b.Duration, a.Duration) })
	return kit.Map(results[:min(n, len(results))], func(x Result) string {
		return fmt.Sprintf("%s %v", x.Clause.ID, x.Duration.Round(time.Millisecond))
	})
}

// save replaces the report, so that the file always holds a complete one.
func (r *run) save(report *Report) (err error) {
	if r.path == "" {
		return nil
	}
	r.saving.Lock()
	defer r.saving.Unlock()
	f, err := os.CreateTemp(filepath.Dir(r.path), ".adaptertest-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(report.WriteJSON(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), r.path)
}

// suiteVersion is the version of this module, or (devel).
func suiteVersion() string {
	const path = "github.com/gatehouse-go/gatehouse/adaptertest"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == path && m.Version != "" && m.Replace == nil {
			return m.Version
		}
	}
	return "(devel)"
}
