package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants"
)

// tables measures two tables and prints them. If they are of all mutants it writes them into
// TABLES.md.
func tables(ctx context.Context, chosen []mutants.Mutant, o options) error {
	start := time.Now()
	page := fmt.Sprintf(`# How the suite notices the broken adapters

<!-- Written by make mutants-all. -->

Measured on %s with %s on %s/%s, %d processors: %d clauses, %d broken adapters. The command cmd/mutants -list describes each of these adapters.
`, start.Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), len(adaptertest.Clauses()), len(chosen))
	fmt.Print(page)
	for _, table := range []func(context.Context, []mutants.Mutant, options) (string, error){reaches, alone} {
		text, err := table(ctx, chosen, o)
		fmt.Print(text)
		if err != nil {
			return err
		}
		page += text
	}
	fmt.Fprintf(os.Stderr, "mutants: the tables took %v\n", time.Since(start).Round(time.Second))
	if o.only != "" {
		return nil
	}
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants").Output()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(strings.TrimSpace(string(dir)), "TABLES.md"), []byte(page), 0o644) //nolint:gosec // a page of the repository
}

// printed prints a table.
func printed(text string, err error) error {
	fmt.Print(text)
	return err
}

// alone returns, for each clause, the mutants that only this clause notices, and then the
// clauses for which there is no such mutant. It uses the quick form: all clauses run on
// many mutants.
func alone(ctx context.Context, chosen []mutants.Mutant, o options) (string, error) {
	var table strings.Builder
	type noticed struct{ clause, mutant string }
	only := map[string][]string{}
	err := together(chosen, o.workers, func(m mutants.Mutant) (noticed, error) {
		m.Rounds = adaptertest.QuickRounds
		id, err := mutants.Alone(ctx, m)
		return noticed{id, m.Name}, err
	}, func(x noticed) { only[x.clause] = append(only[x.clause], x.mutant) })
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&table, "\n## Broken adapters that only one clause notices\n\nIn the quick form of the suite.\n\n| Clause | Number | Broken adapters |\n|---|--:|---|\n")
	var none []string
	for _, c := range adaptertest.Clauses() {
		if names := only[c.ID]; len(names) > 0 {
			fmt.Fprintf(&table, "| %s | %d | %s |\n", c.ID, len(names), strings.Join(names, "; "))
		} else {
			none = append(none, c.ID)
		}
	}
	fmt.Fprintf(&table, "\nThese %d clauses are never the only one to notice a broken adapter: %s.\n", len(none), strings.Join(none, ", "))
	return table.String(), nil
}

// races runs the mutants with a race many times, with all fields of the harness and
// without those that inject faults, and returns how often each is noticed.
func races(ctx context.Context, chosen []mutants.Mutant, o options) (string, error) {
	var table strings.Builder
	fmt.Fprintf(&table, `
## Races: how often each is noticed in %d runs

The fields of the harness that inject faults let the suite hold a reply, so that two calls meet for certain. Without them the scheduler decides.

| Broken adapter | Base | With all fields | Without faults |
|---|---|--:|--:|
`, o.races)
	o.workers = 1
	for _, m := range chosen {
		if !m.Races {
			continue
		}
		many := slices.Repeat([]mutants.Mutant{m}, o.races)
		counts := map[mutants.Reach]int{}
		for _, reach := range []mutants.Reach{mutants.Everything, mutants.NoFaults} {
			err := judge(ctx, many, o, reach, func(v mutants.Verdict) {
				if v.Caught() {
					counts[reach]++
				}
			})
			if err != nil {
				return table.String(), err
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %d | %d |\n", m.Name, m.Base(), counts[mutants.Everything], counts[mutants.NoFaults])
	}
	return table.String(), nil
}

// reaches returns how many mutants fail a named clause, for each set of fields of the
// harness.
func reaches(ctx context.Context, chosen []mutants.Mutant, o options) (string, error) {
	var table strings.Builder
	fmt.Fprintf(&table, "\n## Minimal and full harness\n\n| Fields of the harness | Broken adapters that fail a clause named for them |\n|---|--:|\n")
	for _, r := range []struct {
		name  string
		reach mutants.Reach
	}{{"`New` and `Declarations`", mutants.BlackBox}, {"all except those that inject faults", mutants.NoFaults}, {"all", mutants.Everything}} {
		caught := 0
		err := judge(ctx, chosen, o, r.reach, func(v mutants.Verdict) {
			if len(v.Failed) > 0 {
				caught++
			}
		})
		if err != nil {
			return table.String(), err
		}
		fmt.Fprintf(&table, "| %s | %d of %d |\n", r.name, caught, len(chosen))
	}
	return table.String(), nil
}
