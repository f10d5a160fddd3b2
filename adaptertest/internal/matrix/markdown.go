package matrix

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// WriteMarkdown writes the matrix for a repository's front page: the wirings, and what is broken, waived, not verified or left
// out. WritePage writes every clause too.
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

	fmt.Fprintf(&b, "\n%s\n", roundsLegend)
	for _, section := range []struct {
		title   string
		outcome adaptertest.Outcome
	}{{"Broken", adaptertest.Fail}, {"Not reached", adaptertest.NotReached}, {"Waived", adaptertest.Waived}, {"Not verified", adaptertest.NotVerified}} {
		if lines := m.reasons(section.outcome); lines != "" {
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

// reasons lists the reasons of an outcome: for each one the clauses, behind the wirings that have the same ones.
func (m *Matrix) reasons(o adaptertest.Outcome) string {
	var order []string
	of := map[string][]string{}       // clauses by reason
	wirings := map[[2]string]string{} // by reason and clauses
	for _, c := range m.Tried() {
		clauses := map[string][]string{}
		for _, r := range c.Report.With(o) {
			why := why(r)
			id := r.Clause.ID
			if r.Clause.Level != adaptertest.Must {
				id += fmt.Sprintf(" (%s)", r.Clause.Level)
			}
			if _, found := of[why]; !found {
				of[why] = nil
				order = append(order, why)
			}
			clauses[why] = append(clauses[why], id)
		}
		for why, ids := range clauses {
			which := [2]string{why, strings.Join(ids, ", ")}
			if wirings[which] == "" {
				of[why] = append(of[why], which[1])
				wirings[which] = c.Name()
			} else {
				wirings[which] += "; " + c.Name()
			}
		}
	}
	lines := ""
	for _, why := range order {
		lines += fmt.Sprintf("- %s\n", cell(shorten(why, 300)))
		for _, ids := range of[why] {
			lines += fmt.Sprintf("  - %s: %s\n", cell(wirings[[2]string{why, ids}]), ids)
		}
	}
	return lines
}

// cell makes text fit for a cell or a list item.
func cell(s string) string {
	return strings.NewReplacer("\n", " ", "|", `\|`, "<", "&lt;").Replace(strings.TrimSpace(s))
}
