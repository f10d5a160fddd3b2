package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// WriteMarkdown writes the matrix for a repository's front page: the wirings, their groups, and what is broken, waived, not
// verified or left out. WritePage writes every clause too.
func (m *Matrix) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Conformance\n\n"+
		"Which promises of the storage contract each adapter keeps, in each way to use it. Measured on %s with %s on %s, in %v, seed %d.\n"+
		"The suite was %s. `make conformance-all` measures everything and writes this page, conformance.html (with each clause in each wiring) and\n"+
		"conformance.json (with all evidence). The nightly workflow keeps all three.\n\n", m.Made.UTC().Format(time.DateOnly), m.Go, m.Platform, m.took(), m.Seed, m.suite())

	fmt.Fprintf(&b, "%s\n\n", m.Proof)
	b.WriteString("| | adapter | wiring | server | verdict | MUST | SHOULD | rounds | time |\n|--:|---|---|---|---|--:|--:|--:|--:|\n")
	for i, c := range m.Columns {
		must, should, rounds, took := "", "", "", ""
		if c.Report != nil {
			must, should = score(c.Report, adaptertest.Must), score(c.Report, adaptertest.Should)
			rounds = fmt.Sprint(c.Report.Rounds)
			took = c.Report.Duration.Round(time.Second / 10).String()
		}
		verdict := c.Verdict()
		if c.Failed() {
			verdict = "**" + verdict + "**"
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s | %s |\n", i+1, c.Adapter, c.Wiring, c.ServerVersion(), verdict, must, should, rounds, took)
	}

	fmt.Fprintf(&b, "\n%s\n\n%s\n\n| group |%s\n|---|%s\n", roundsLegend, legend, each(m.Columns, func(i int, _ Column) string { return fmt.Sprintf(" %d |", i+1) }),
		strings.Repeat(":-:|", len(m.Columns)))
	for _, g := range m.groups() {
		fmt.Fprintf(&b, "| %s (%s, %d) |%s\n", g.Title, g.ID, len(g.Clauses), each(m.Columns, func(_ int, c Column) string {
			t := c.tally(g)
			o := t.worst()
			if slices.Contains(counted, o) {
				return fmt.Sprintf(" %s %d |", mark(o), t[o])
			}
			return " " + mark(o) + " |"
		}))
	}

	for _, section := range []struct {
		title   string
		outcome adaptertest.Outcome
	}{{"Broken", adaptertest.Fail}, {"Not reached", adaptertest.NotReached}, {"Waived", adaptertest.Waived}, {"Not verified", adaptertest.NotVerified}} {
		lines := ""
		for _, c := range m.Tried() {
			for _, r := range c.Report.With(section.outcome) {
				why := r.Reason
				if why == "" && len(r.Evidence) > 0 {
					why = firstLine(r.Evidence[0])
				}
				lines += fmt.Sprintf("- %s, %s %s: %s\n", c.Name(), r.Clause.Level, r.Clause.ID, cell(shorten(why, 300)))
			}
		}
		if lines != "" {
			fmt.Fprintf(&b, "\n## %s\n\n%s", section.title, lines)
		}
	}
	if left := m.leftOut(); left != "" {
		fmt.Fprintf(&b, "\n## Left out\n\nNot tried on this machine. The nightly workflow tries what needs an image that only a registry has.\n\n%s", left)
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// leftOut lists the wirings that were not tried, and why.
func (m *Matrix) leftOut() string {
	lines := ""
	for _, c := range m.Columns {
		if c.LeftOut != "" {
			lines += fmt.Sprintf("- %s: %s\n", c.Name(), cell(c.LeftOut))
		}
	}
	return lines
}

func each(columns []Column, f func(int, Column) string) string {
	var b strings.Builder
	for i, c := range columns {
		b.WriteString(f(i, c))
	}
	return b.String()
}

// cell makes text fit for a cell or a list item.
func cell(s string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(strings.TrimSpace(s))
}
