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

This page lists %d adapters. Each is a correct adapter with a single fault. The conformance suite must fail each of them at the
clauses that the table names; a test checks it for every one. The development of the suite started from %d of them, M01 to
M40.

Auth.js's own adapter tests, written again in Go and run on the same adapters, notice %d of %d faults (%d %%). Of M01 to M40
they notice the ones that were expected, and M20 too: their listing of the authenticators of "invalid-user-id" fails.

Two correct adapters are broken here. mem stores records in maps. lite is adapters/sqlite over a driver that injects faults;
some of its mutants alter the SQL statements before they reach the database.

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
			names = "none: the clause does not apply to adapters in Go"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.ID, c.Level, cell(c.Rule), cell(names))
	}
	fmt.Fprintf(&b, `
## All broken adapters

An adapter fails a clause in brackets only under the race detector.

| Adapter | Base | Fault | Fails | Noticed by Auth.js's tests |
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
