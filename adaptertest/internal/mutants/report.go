package mutants

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// WriteMarkdown writes the page of the mutants: which there are, and for each
// clause the ones that fail it.
func WriteMarkdown(w io.Writer) error {
	all := All()
	var noticed, listed int
	by := map[string][]string{}
	for _, m := range all {
		if m.AuthJS {
			noticed++
		}
		if m.Listed != "" {
			listed++
		}
		for _, id := range slices.Concat(m.Fails, m.Detector) {
			by[id] = append(by[id], m.Name)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Broken adapters

<!-- Written by go run ./adaptertest/internal/mutants/cmd/mutants -write; a test compares it. -->

The conformance suite is run on %d adapters, each a correct one with a single fault, and must fail each at the clauses
named for it. It does: a test runs every one of them. %d are the ones that the work started from, M01 to M40.

The questions of Auth.js's own list of adapter tests, asked of the same adapters, notice %d of %d (%d %%). Of M01 to M40 they
notice what the list that they come from says, and M20 besides: the list of the authenticators of "invalid-user-id" fails.

There are two correct adapters to break. mem keeps maps. lite is adapters/sqlite with a driver that brings about faults, and
some of its mutants alter the statements on their way to the database.

## By clause

| Clause | Level | Rule | Broken adapters that fail it |
|---|---|---|---|
`, len(all), listed, noticed, len(all), 100*noticed/len(all))
	for _, c := range adaptertest.Clauses() {
		names := strings.Join(by[c.ID], "; ")
		if names == "" && c.Level == adaptertest.May {
			continue
		}
		if names == "" {
			names = "none: it applies to no adapter in Go"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, c.Level, cell(c.Rule), cell(names))
	}
	fmt.Fprintf(&b, `
## All of them

A clause in brackets is failed by the race detector only.

| Adapter | Base | Fault | Fails | Noticed by Auth.js's questions |
|---|---|---|---|---|
`)
	for _, m := range all {
		name := m.Name
		if m.Listed != "" {
			name = m.Listed + " " + name
		}
		fails := slices.Clone(m.Fails)
		for _, id := range m.Detector {
			fails = append(fails, "("+id+")")
		}
		answer := "no"
		if m.AuthJS {
			answer = "yes"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", cell(name), m.Base(), cell(m.Fault), strings.Join(fails, ", "), answer)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
