// Command mutants runs the conformance suite on broken adapters and prints which of
// them the suite catches.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants"
)

const self = "github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants/cmd/mutants"

type options struct {
	only     string
	all      bool
	races    int
	reaches  bool
	alone    bool
	tables   bool
	detector bool
	short    bool
	soak     int
	clauses  string
	list     bool
	workers  int
}

func main() {
	if name, test, ok := mutants.Started(); ok {
		testing.Main(regexp.MatchString, []testing.InternalTest{{Name: name, F: test}}, nil, nil)
		return
	}
	var o options
	flag.StringVar(&o.only, "only", "", "only the mutants whose name this regular expression matches")
	flag.BoolVar(&o.all, "all", false, "run all clauses on each mutant, and print the ones that it fails")
	flag.IntVar(&o.races, "races", 0, "run each mutant with a race this many times, and print how often it is noticed")
	flag.BoolVar(&o.reaches, "reaches", false, "print how many mutants are caught with all fields of the harness, and with fewer")
	flag.BoolVar(&o.alone, "alone", false, "print the mutants that only one clause notices")
	flag.BoolVar(&o.tables, "tables", false, "write TABLES.md: what -reaches and -alone print")
	flag.BoolVar(&o.detector, "detector", false, "judge only the clauses that need the race detector; needs go run -race")
	flag.BoolVar(&o.list, "list", false, "print a page with the fault of each mutant, and with the mutants that fail each clause")
	flag.BoolVar(&o.short, "short", false, "use the rounds of the suite's quick form")
	flag.IntVar(&o.soak, "soak", 0, "run the quick form this many times on each correct adapter, and print the clauses that it fails")
	flag.StringVar(&o.clauses, "clauses", "", "with -soak: only the clauses whose ID this regular expression matches")
	flag.IntVar(&o.workers, "workers", 6, "how many mutants are judged at once")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "mutants: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	if o.soak > 0 {
		return soak(ctx, only, o)
	}
	var chosen []mutants.Mutant
	for _, m := range mutants.All() {
		noticeable := len(m.Fails) > 0 && !o.detector || len(m.Detector) > 0 && o.detector
		if o.short {
			m.Rounds = adaptertest.QuickRounds
		}
		if only.MatchString(m.Name) && noticeable {
			chosen = append(chosen, m)
		}
	}
	switch {
	case o.list:
		return mutants.WriteMarkdown(os.Stdout)
	case o.tables:
		return tables(ctx, chosen, o)
	case o.races > 0:
		return printed(races(ctx, chosen, o))
	case o.alone:
		return printed(alone(ctx, chosen, o))
	case o.reaches:
		return printed(reaches(ctx, chosen, o))
	}
	return score(ctx, chosen, o)
}

// judge judges the mutants, several at once, and hands the verdicts out in
// order.
func judge(ctx context.Context, chosen []mutants.Mutant, o options, reach mutants.Reach, each func(mutants.Verdict)) error {
	return together(chosen, o.workers, func(m mutants.Mutant) (mutants.Verdict, error) { return mutants.Judge(ctx, m, o.all, reach) }, each)
}

// together calls do with each mutant, several at once, and hands the results out in
// order, without those of calls that failed.
func together[T any](chosen []mutants.Mutant, workers int, do func(mutants.Mutant) (T, error), each func(T)) error {
	type outcome struct {
		result T
		err    error
	}
	outcomes := make([]chan outcome, len(chosen))
	for i := range outcomes {
		outcomes[i] = make(chan outcome, 1)
	}
	slots := make(chan struct{}, workers)
	go func() {
		for i, m := range chosen {
			slots <- struct{}{}
			go func() {
				defer func() { <-slots }()
				result, err := do(m)
				outcomes[i] <- outcome{result, err}
			}()
		}
	}()
	var problems error
	for i := range chosen {
		if x := <-outcomes[i]; x.err != nil {
			problems = errors.Join(problems, x.err)
		} else {
			each(x.result)
		}
	}
	return problems
}

func score(ctx context.Context, chosen []mutants.Mutant, o options) error {
	var judged, caught, noticed int
	err := judge(ctx, chosen, o, mutants.Everything, func(v mutants.Verdict) {
		m := v.Mutant
		judged++
		mark := "caught"
		if v.Caught() {
			caught++
		} else {
			mark = "MISSED"
		}
		if m.AuthJS {
			noticed++
		}
		fmt.Printf("%-6s %-4s %-60s %s\n", mark, m.Listed, m.Name, strings.Join(v.Failed, " "))
		for id, said := range v.Missed {
			fmt.Printf("       %s: %s\n", id, said)
		}
	})
	fmt.Printf("\nThe suite catches %d of %d broken adapters at every clause named for them.\n", caught, judged)
	if !o.detector {
		fmt.Printf("The adapter tests of Auth.js notice %d of them.\n", noticed)
	}
	if err != nil {
		return err
	}
	if caught < judged {
		return fmt.Errorf("%d broken adapters are not caught", judged-caught)
	}
	if !o.detector && !o.short && o.only == "" {
		fmt.Printf("\nWith the race detector:\n")
		cmd := exec.CommandContext(ctx, "go", "run", "-race", self, "-detector")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	return nil
}

// soak runs the quick form many times on each base and each correct adapter, and
// prints each clause that fails, with the seed of the run.
func soak(ctx context.Context, only *regexp.Regexp, o options) error {
	match, err := regexp.Compile(o.clauses)
	if err != nil {
		return err
	}
	var correct []mutants.Correct
	for _, k := range slices.Concat(mutants.CorrectBases(), mutants.AllCorrect()) {
		if only.MatchString(k.Name) {
			correct = append(correct, k)
		}
	}
	var runs, alarms int
	for round := range o.soak {
		for _, k := range correct {
			seed := rand.Uint64() >> 11
			failed, err := k.Soak(ctx, match, seed)
			if err != nil {
				return errors.Join(fmt.Errorf("%s: %w", k.Name, err), fmt.Errorf("%d false alarms in %d runs", alarms, runs))
			}
			runs++
			alarms += len(failed)
			for _, x := range failed {
				fmt.Printf("%s: %s %s fails with seed %d: %s\n%s\n", k.Name, x.Clause.Level, x.Clause.ID, seed, x.Clause.Rule, strings.Join(x.Evidence, "\n"))
			}
		}
		fmt.Printf("%s round %d: %d runs so far, %d false alarms\n", time.Now().Format(time.TimeOnly), round+1, runs, alarms)
	}
	if alarms > 0 {
		return fmt.Errorf("%d false alarms", alarms)
	}
	return nil
}
