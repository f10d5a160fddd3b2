package mutants

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/through"
)

// Verdict is the result of the suite for a mutant.
type Verdict struct {
	Mutant Mutant
	// Failed are the clauses that the mutant failed.
	Failed []string
	// Missed are the clauses of Mutant.Fails that it did not fail, with their outcome.
	Missed map[string]string
	Took   time.Duration
}

// Caught reports whether the mutant failed every named clause.
func (v Verdict) Caught() bool { return len(v.Missed) == 0 }

// clauses are the clauses that the mutant must fail in this process.
func (m Mutant) clauses() []string {
	if raceDetector {
		return slices.Concat(m.Fails, m.Detector)
	}
	return m.Fails
}

// Reach says which optional fields of the harness are set.
type Reach int

// Everything means all fields, NoFaults all fields except those that inject faults,
// and BlackBox only New and the declarations. Protocol means all fields, with the
// protocol of package remote between the suite and the adapter.
const (
	Everything Reach = iota
	NoFaults
	BlackBox
	Protocol
)

func (r Reach) limit(h *adaptertest.Harness) {
	if r == Protocol {
		*h = through.Harness(*h)
		return
	}
	if r >= NoFaults {
		h.Faults, h.Corrupt, h.Limited = nil, nil, nil
	}
	if r >= BlackBox {
		*h = adaptertest.Harness{Name: h.Name, New: h.New, Declarations: h.Declarations}
	}
}

// Judge runs the clauses that the mutant names on it, or all clauses.
func Judge(ctx context.Context, m Mutant, all bool, reach Reach) (Verdict, error) {
	start := time.Now()
	said, err := outcomes(ctx, m, all, reach)
	if err != nil {
		return Verdict{}, fmt.Errorf("%s: %w", m.Name, err)
	}
	v := Verdict{Mutant: m, Missed: map[string]string{}, Took: time.Since(start)}
	for _, c := range adaptertest.Clauses() {
		if said[c.ID] == string(adaptertest.Fail) {
			v.Failed = append(v.Failed, c.ID)
		}
	}
	for _, id := range m.clauses() {
		if !slices.Contains(v.Failed, id) {
			v.Missed[id] = said[id]
		}
	}
	return v, nil
}

// Alone returns the clause that notices the mutant if all others do not. It returns an
// empty string if several clauses notice the mutant, or none. The clauses that are named
// for the mutant run first, and the second clause that notices it ends the run. A mutant
// that needs a process of its own is judged by the named clauses only.
func Alone(ctx context.Context, m Mutant) (string, error) {
	v, err := Judge(ctx, m, false, Everything)
	if err != nil || len(v.Failed) > 1 {
		return "", err
	}
	failed := v.Failed
	if !m.Process {
		var others []string
		for _, c := range adaptertest.Clauses() {
			if !slices.Contains(m.clauses(), c.ID) {
				others = append(others, c.ID)
			}
		}
		ctx, enough := context.WithCancel(ctx)
		defer enough()
		_, err = adaptertest.Check(ctx, m.Harness(), adaptertest.Options{Only: others, Rounds: m.Rounds, Progress: func(x adaptertest.Result) {
			if x.Outcome == adaptertest.Fail {
				failed = append(failed, x.Clause.ID)
			}
			if len(failed) > 1 {
				enough()
			}
		}})
		if err != nil && len(failed) < 2 {
			return "", fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	if len(failed) != 1 {
		return "", nil
	}
	return failed[0], nil
}

// outcomes returns the outcome of each clause.
func outcomes(ctx context.Context, m Mutant, all bool, reach Reach) (map[string]string, error) {
	if m.Process || raceDetector && len(m.Detector) > 0 {
		return inProcess(ctx, m, reach)
	}
	options := adaptertest.Options{Only: m.clauses(), Rounds: m.Rounds}
	if all {
		options.Only = nil
	}
	h := m.Harness()
	reach.limit(&h)
	report, err := adaptertest.Check(ctx, h, options)
	if err != nil {
		return nil, err
	}
	said := map[string]string{}
	for _, x := range report.Results {
		said[x.Clause.ID] = strings.TrimSpace(string(x.Outcome) + " " + x.Reason)
	}
	for _, x := range report.With(adaptertest.Fail) {
		said[x.Clause.ID] = string(adaptertest.Fail)
	}
	return said, nil
}

// mutantVariable is the environment variable that names the mutant to run, and
// protocolVariable is set if the suite runs on it through the protocol.
const (
	mutantVariable   = "GATEHOUSE_MUTANT"
	protocolVariable = "GATEHOUSE_MUTANT_PROTOCOL"
)

// Started reports whether this process was started for one mutant. If so it
// returns the name of the mutant and the test to run.
func Started() (name string, test func(t *testing.T), ok bool) {
	name = os.Getenv(mutantVariable)
	i := slices.IndexFunc(All(), func(m Mutant) bool { return m.Name == name })
	if i < 0 {
		return "", nil, false
	}
	h := All()[i].Harness()
	if os.Getenv(protocolVariable) != "" {
		Protocol.limit(&h)
	}
	return oneMutant, func(t *testing.T) { adaptertest.Run(t, h) }, true
}

const oneMutant = "TestOneMutant"

var (
	began  = regexp.MustCompile(`(?m)^=== RUN +TestOneMutant/[A-Z]+/([A-Z]+-\d\d)-`)
	failed = regexp.MustCompile(`(?m)^ *--- FAIL: TestOneMutant/[A-Z]+/([A-Z]+-\d\d)-`)
	ended  = regexp.MustCompile(`(?m)^ *--- (?:PASS|SKIP): TestOneMutant/[A-Z]+/([A-Z]+-\d\d)-`)
)

// inProcess runs the clauses of the mutant in a separate process of this test
// binary, and reads its output. If the process died, the clause that was running
// has failed.
func inProcess(ctx context.Context, m Mutant, reach Reach) (map[string]string, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var groups, ids []string
	for _, id := range m.clauses() {
		group, _, _ := strings.Cut(id, "-")
		groups, ids = append(groups, group), append(ids, id)
	}
	pattern := fmt.Sprintf("^TestOneMutant$/^(%s)$/^(%s)-", strings.Join(groups, "|"), strings.Join(ids, "|"))
	cmd := exec.CommandContext(ctx, binary, "-test.run="+pattern, "-test.v=true", "-test.count=1", "-test.timeout=2m") //nolint:gosec // the binary runs itself
	cmd.Env = append(os.Environ(), mutantVariable+"="+m.Name, "ADAPTERTEST_STRICT=1")
	if reach == Protocol {
		cmd.Env = append(cmd.Env, protocolVariable+"=1")
	}
	if m.Rounds > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("ADAPTERTEST_ROUNDS=%g", m.Rounds))
	}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	said := map[string]string{}
	for _, x := range began.FindAllSubmatch(out, -1) {
		said[string(x[1])] = string(adaptertest.Fail) // until the output shows that it passed
	}
	for _, x := range ended.FindAllSubmatch(out, -1) {
		said[string(x[1])] = string(adaptertest.Pass)
	}
	for _, x := range failed.FindAllSubmatch(out, -1) {
		said[string(x[1])] = string(adaptertest.Fail)
	}
	if len(said) == 0 {
		return nil, fmt.Errorf("the process for the mutant ran no clause: %w\n%s", err, out)
	}
	return said, nil
}
