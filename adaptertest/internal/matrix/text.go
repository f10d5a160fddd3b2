package matrix

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// WriteText writes the matrix for a terminal, with colours if colours is true. It has one line for each wiring and one
// column for each group. Every breach follows, with its evidence.
func (m *Matrix) WriteText(w io.Writer, colours bool) error {
	var b strings.Builder
	paint := func(o adaptertest.Outcome, s string) string {
		code := map[adaptertest.Outcome]string{adaptertest.Pass: "32", adaptertest.Fail: "1;31", adaptertest.Waived: "33", adaptertest.NotVerified: "33", adaptertest.NotReached: "31"}[o]
		if !colours || code == "" {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	groups := m.groups()
	width := 0
	for _, c := range m.Columns {
		width = max(width, utf8.RuneCountInString(c.Wiring))
	}
	adapter := ""
	for _, c := range m.Columns {
		if c.Adapter != adapter {
			adapter = c.Adapter
			fmt.Fprintf(&b, "\n%s", pad(adapter, width+2))
			for _, g := range groups {
				fmt.Fprintf(&b, " %s", g.ID)
			}
			b.WriteString("     MUST  SHOULD\n")
		}
		fmt.Fprintf(&b, "  %s", pad(c.Wiring, width))
		switch {
		case c.Broken != "":
			fmt.Fprintf(&b, " %s\n", paint(adaptertest.Fail, "broken: "+firstLine(c.Broken)))
			continue
		case c.Report == nil:
			fmt.Fprintf(&b, " left out: %s\n", firstLine(c.LeftOut))
			continue
		}
		for _, g := range groups {
			t := c.tally(g)
			o := t.worst()
			s := mark(o)
			if slices.Contains(counted, o) {
				s = fmt.Sprint(s, t[o])
			}
			fmt.Fprintf(&b, " %s", paint(o, pad(s, len(g.ID))))
		}
		fmt.Fprintf(&b, "  %7s %7s  %s, %s, %v\n", score(c.Report, adaptertest.Must), score(c.Report, adaptertest.Should), c.Verdict(), c.ServerVersion(),
			c.Report.Duration.Round(100*time.Millisecond))
	}
	fmt.Fprintf(&b, "\n%s\n", legend)
	for _, c := range m.Columns {
		if c.Broken != "" {
			fmt.Fprintf(&b, "\n%s is broken:\n%s\n", c.Name(), c.Broken)
		}
		if c.Report == nil {
			continue
		}
		for _, r := range c.Report.With(adaptertest.Fail) {
			fmt.Fprintf(&b, "\n%s: %s %s\n  %s\n", c.Name(), paint(adaptertest.Fail, string(r.Clause.Level)+" "+r.Clause.ID), r.Reason, r.Clause.Rule)
			for _, e := range r.Evidence {
				fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(shorten(e, 2000), "\n", "\n    "))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// pad fills s with spaces to a width in characters.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// shorten cuts a text that is longer than n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " […]"
}
