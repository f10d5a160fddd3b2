// Command adaptertest runs the conformance suite over a storage adapter in any language.
// The program is started, and speaks JSON lines on its standard streams, see
// adaptertest/remote/PROTOCOL.md:
//
//	adaptertest [flags] -- node shim.mjs
//
// It prints the broken clauses and, last, the verdict. It exits with status 1 if the
// adapter breaks a MUST (with -strict also a SHOULD), with status 2 if the program or the
// command is wrong, or clauses were not reached, and with 0 otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/progress"
	"github.com/gatehouse-go/gatehouse/adaptertest/remote"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// The exit statuses.
const (
	kept   = 0
	broken = 1
	wrong  = 2 // the program, the command line, or a file that can't be written
)

// command is what the command line says.
type command struct {
	json, page, badge, target, profile, only string
	quick, verbose                           bool
	options                                  adaptertest.Options
	explicit                                 func(clause string) bool // of the profile
	program                                  []string
}

func parse(args []string, stderr io.Writer) (c command, err error) {
	flags := flag.NewFlagSet("adaptertest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(stderr, "usage: adaptertest [flags] -- program [arguments]")
		flags.PrintDefaults()
	}
	flags.StringVar(&c.json, "json", "", "write the report as JSON to this `file`")
	flags.StringVar(&c.page, "html", "", "write the report as a page to this `file`")
	flags.StringVar(&c.badge, "badge", "", "write a badge with the verdict, an SVG, to this `file`")
	flags.StringVar(&c.profile, "profile", "", "judge by a looser contract: "+strings.Join(profileNames(), ", "))
	flags.StringVar(&c.target, "target", "", "the `address` of the store, host:port: faults are injected between it and the program")
	flags.StringVar(&c.only, "only", "", "run only these clauses or groups, with commas between")
	flags.BoolVar(&c.quick, "quick", false, "the quick form: a tenth of the repetitions")
	flags.Float64Var(&c.options.Rounds, "rounds", 0, "multiply the repetitions of races and histories")
	flags.Uint64Var(&c.options.Seed, "seed", 0, "repeat the run with this seed")
	flags.IntVar(&c.options.Parallel, "parallel", 4, "how many clauses run at once")
	flags.BoolVar(&c.options.Strict, "strict", false, "a broken SHOULD fails too")
	flags.BoolVar(&c.verbose, "v", false, "print also what was not verified, does not apply, or was recorded")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	c.program = flags.Args()
	if len(c.program) == 0 {
		flags.Usage()
		return c, errors.New("name the program to run after --")
	}
	if c.only != "" {
		c.options.Only = strings.Split(c.only, ",")
	}
	if c.quick && c.options.Rounds == 0 {
		c.options.Rounds = adaptertest.QuickRounds
	}
	if c.profile != "" {
		c.options.Profile, c.explicit, err = profileNamed(c.profile)
	}
	return c, err
}

// run runs the command and returns its exit status.
func run(args []string, stdout, stderr io.Writer) int {
	c, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return kept
	}
	if err == nil {
		var failed bool
		if failed, err = c.measure(args, stdout, stderr); err == nil && failed {
			return broken
		}
	}
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "adaptertest:", err)
		return wrong
	}
	return kept
}

// measure runs the suite, and reports whether the adapter breaks its contract.
func (c command) measure(args []string, stdout, stderr io.Writer) (failed bool, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pool := &remote.Pool{Target: c.target, Explicit: c.explicit, Command: func() *exec.Cmd {
		//nolint:gosec,noctx // the program of the command line, which the pool ends
		return exec.Command(c.program[0], c.program[1:]...)
	}}
	defer pool.Close()
	hello, err := pool.Start(ctx)
	if err != nil {
		return false, err
	}
	if c.target != "" && !slices.Contains(hello.Features, remote.Address) {
		return false, errors.New("-target names the address of the store, and the program does not have the feature address")
	}
	h, err := pool.Harness(hello)
	if err != nil {
		return false, err
	}
	if h.Name == "" {
		h.Name = strings.Join(c.program, " ")
	}
	printed := &printer{out: stdout, strict: c.options.Strict, line: c.line(stderr)}
	open := h.New
	h.New = func(t testing.TB) adapter.Adapter {
		if id := t.Name(); strings.Contains(id, "-") { // it is a clause, and not the check of the harness
			printed.line.Begin(id)
		}
		return open(t)
	}
	c.options.Progress = printed.result
	c.options.Again = func(ctx context.Context) (*exec.Cmd, error) { return again(ctx, args) }
	c.record(printed, h)
	report, err := adaptertest.Check(ctx, h, c.options)
	printed.line.Stop()
	if err != nil {
		report = printed.partial(h, c.options)
	}
	memory := pool.Close()
	if c.verbose {
		err = errors.Join(err, report.WriteText(stdout))
	}
	if memory > 0 {
		_, _ = fmt.Fprintf(stdout, "the program used up to %d MiB of memory\n", memory>>20)
	}
	err = errors.Join(err, c.files(report))
	_, _ = fmt.Fprintln(stdout, report.Summary())
	failed = slices.ContainsFunc(report.Failed(), func(x adaptertest.Result) bool {
		return x.Outcome == adaptertest.Fail
	})
	return failed, errors.Join(err, c.unreached(report, pool.Faults()))
}

// unreached is the error of a run that did not reach all its clauses.
func (c command) unreached(report *adaptertest.Report, faults []*remote.Fault) error {
	if len(faults) > 0 {
		return fmt.Errorf("the program failed %d times, which is no breach of the adapter: %w", len(faults), faults[0])
	}
	if left := report.With(adaptertest.NotReached); len(left) > 0 {
		return fmt.Errorf("%d clauses were not reached: %s", len(left), left[0].Reason)
	}
	return nil
}

// again is the command that verifies TIME-08 in another zone.
func again(ctx context.Context, args []string) (*exec.Cmd, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var kept []string
	for i, arg := range args {
		if arg == "--" {
			kept = append(append(kept, "-only", "TIME"), args[i:]...)
			return exec.CommandContext(ctx, binary, kept...), nil //nolint:gosec // this command
		}
		kept = append(kept, arg)
	}
	return nil, errors.New("write -- before the program, so that the command can run again")
}

// printer prints broken clauses as they come, and keeps the results.
type printer struct {
	out     io.Writer
	strict  bool
	line    *progress.Line
	results []adaptertest.Result
	save    func([]adaptertest.Result)
	started time.Time
}

// linesOfClause is the number of lines of evidence that are printed of a clause.
const linesOfClause = 6

func (p *printer) result(x adaptertest.Result) {
	p.line.End(x.Clause.ID)
	p.results = append(p.results, x)
	if p.save != nil {
		p.save(p.results)
	}
	if x.Outcome != adaptertest.Fail {
		return
	}
	lines := strings.Split(kit.Indent(x.Evidence), "\n")
	if len(lines) > linesOfClause+1 {
		more := fmt.Sprintf("    … %d more lines: -json has them, and -only %s -v", len(lines)-linesOfClause, x.Clause.ID)
		lines = append(lines[:linesOfClause:linesOfClause], more)
	}
	p.line.Above(func() {
		_, _ = fmt.Fprintf(p.out, "%s %s: %s\n%s\n", x.Clause.Level, x.Clause.ID, x.Clause.Rule, strings.Join(lines, "\n"))
	})
}

// line shows on a terminal how far the run is.
func (c command) line(stderr io.Writer) *progress.Line {
	terminal, ok := stderr.(*os.File)
	if !ok {
		return nil
	}
	all := adaptertest.Clauses()
	if only := c.options.Only; len(only) > 0 {
		all = slices.DeleteFunc(all, func(x adaptertest.Clause) bool {
			return !slices.Contains(only, x.ID) && !slices.Contains(only, x.Group())
		})
	}
	return progress.Start(terminal, len(all), false)
}

// partial is the report of a run that was interrupted.
func (p *printer) partial(h adaptertest.Harness, o adaptertest.Options) *adaptertest.Report {
	r := &adaptertest.Report{Adapter: h.Name, Version: h.Version, Seed: o.Seed, Rounds: o.Rounds, Strict: o.Strict,
		Started: p.started, Duration: time.Since(p.started), Declarations: h.Declarations, Results: p.results}
	if o.Profile != nil {
		r.Profile = o.Profile.Name
	}
	return r
}
