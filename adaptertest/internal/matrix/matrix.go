// Package matrix shows the results of the suite for many wirings side by side: in the terminal, as Markdown,
// as JSON and as a page.
package matrix

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

// A Matrix holds one column for each wiring.
type Matrix struct {
	Made     time.Time     `json:"made"`
	Duration time.Duration `json:"duration"`
	Load     string        `json:"load,omitempty"` // load average of the machine before the run
	Go       string        `json:"go"`             // version of Go
	Platform string        `json:"platform"`       // GOOS/GOARCH and the number of processors
	Seed     uint64        `json:"seed"`
	Proof    Proof         `json:"proof"`
	Columns  []Column      `json:"wirings"`
}

// took returns the duration of the run and the load of the machine.
func (m *Matrix) took() string {
	took := m.Duration.Round(time.Second).String()
	if m.Load != "" {
		took += " (load average before the run " + m.Load + ")"
	}
	return took
}

// suite is the version of the suite, and how many clauses it has.
func (m *Matrix) suite() string {
	version := "of this repository"
	if tried := m.Tried(); len(tried) > 0 && tried[0].Report.Suite != "(devel)" {
		version = tried[0].Report.Suite
	}
	return fmt.Sprintf("adaptertest %s, with %d clauses", version, len(adaptertest.Clauses()))
}

// Proof says how many faults the suite finds in broken adapters.
type Proof struct {
	// Mutants is the number of broken adapters that the suite catches, each at a
	// named clause; a test of the suite tries all of them.
	Mutants int `json:"mutants"`
	// AuthJS is how many of them the list of adapter tests of Auth.js notices.
	AuthJS int `json:"authjs"`
}

func (p Proof) String() string {
	return fmt.Sprintf("The suite is tested itself: it catches %d of %d broken adapters. The adapter tests of Auth.js catch %d of them.",
		p.Mutants, p.Mutants, p.AuthJS)
}

// A Column is the result of one wiring: a report, or the reason why there is no report.
type Column struct {
	Adapter string `json:"adapter"`
	Wiring  string `json:"wiring"`
	Server  string `json:"server,omitempty"`
	Version string `json:"version,omitempty"`
	// LeftOut says why the wiring was not tried on this machine. This is not a failure.
	LeftOut string `json:"leftOut,omitempty"`
	// Broken says why a wiring that was tried has no report. This is a failure.
	Broken string              `json:"broken,omitempty"`
	Report *adaptertest.Report `json:"report,omitempty"`
}

// Name is the adapter and the wiring.
func (c Column) Name() string { return c.Adapter + ", " + c.Wiring }

// ServerVersion returns the name and version of the server, or a dash.
func (c Column) ServerVersion() string {
	if c.Server == "" {
		return "–"
	}
	return strings.TrimSpace(c.Server + " " + c.Version)
}

// Verdict is the result of the wiring in a word or two.
func (c Column) Verdict() string {
	switch {
	case c.Broken != "":
		return "broken"
	case c.Report == nil:
		return "left out"
	default:
		return c.Report.Verdict()
	}
}

// Failed reports whether the wiring breaks a MUST or has no report although it was tried.
func (c Column) Failed() bool { return c.Broken != "" || c.Report != nil && len(c.Report.Failed()) > 0 }

// Result returns the result of the clause.
func (c Column) Result(clause string) (adaptertest.Result, bool) {
	if c.Report == nil {
		return adaptertest.Result{}, false
	}
	return c.Report.Result(clause)
}

// Failed reports whether any wiring failed.
func (m *Matrix) Failed() bool { return slices.ContainsFunc(m.Columns, Column.Failed) }

// Tried returns the columns of the wirings that were tried.
func (m *Matrix) Tried() []Column {
	return slices.DeleteFunc(slices.Clone(m.Columns), func(c Column) bool { return c.Report == nil })
}

// WriteJSON writes everything.
func (m *Matrix) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "\t")
	return e.Encode(m)
}

// A group has the clauses of one group that have a result in any column.
type group struct {
	ID, Title string
	Clauses   []adaptertest.Clause
}

// titles are the groups in words.
var titles = map[string]string{
	"CAP": "Capabilities", "USER": "Users", "ACCT": "Accounts", "SESS": "Sessions", "VTOK": "Verification tokens",
	"AUTHN": "Authenticators", "CASC": "Deleting a user", "DATA": "Fidelity", "TIME": "Instants", "INPUT": "Hostile input",
	"ALIAS": "Nothing shared", "ISO": "Isolation", "CONC": "Concurrency", "CTX": "Contexts", "FAULT": "Faults",
	"ERR": "Errors", "EXP": "Expiry and clean-up", "LIFE": "Opening and closing", "VOL": "Volume", "SITE": "Sites that exist",
	"FLOW": "The core over the adapter", "SIGNUP": "Signing up in one step", "ALIST": "Lists of accounts",
	"SLIST": "Lists of sessions", "AEDIT": "Changing authenticators", "TEDIT": "Deleting verification tokens", "PASS": "Passwords",
}

// groups returns the clauses that have a result, group by group in the order of the contract.
func (m *Matrix) groups() []group {
	ran := map[string]bool{}
	for _, c := range m.Tried() {
		for _, r := range c.Report.Results {
			ran[r.Clause.ID] = true
		}
	}
	var found []group
	for _, clause := range adaptertest.Clauses() {
		if !ran[clause.ID] {
			continue
		}
		i := slices.IndexFunc(found, func(g group) bool { return g.ID == clause.Group() })
		if i < 0 {
			found = append(found, group{ID: clause.Group(), Title: cmp.Or(titles[clause.Group()], clause.Group())})
			i = len(found) - 1
		}
		found[i].Clauses = append(found[i].Clauses, clause)
	}
	return found
}

// tally counts the outcomes of a group in a column.
type tally map[adaptertest.Outcome]int

func (c Column) tally(g group) tally {
	t := tally{}
	for _, clause := range g.Clauses {
		if r, ok := c.Result(clause.ID); ok {
			t[r.Outcome]++
		}
	}
	return t
}

// worst returns the outcome that is shown for the group: the most important one for a
// reader.
func (t tally) worst() adaptertest.Outcome {
	for _, o := range []adaptertest.Outcome{adaptertest.Fail, adaptertest.NotReached, adaptertest.Waived, adaptertest.NotVerified, adaptertest.Pass, adaptertest.Recorded, adaptertest.NotApplicable} {
		if t[o] > 0 {
			return o
		}
	}
	return ""
}

// counted are the outcomes of which the number stands in the table.
var counted = []adaptertest.Outcome{adaptertest.Fail, adaptertest.NotReached, adaptertest.NotVerified, adaptertest.Waived}

// marks are the outcomes as one character, the same in the text, in Markdown and on the page.
var marks = map[adaptertest.Outcome]string{
	adaptertest.Pass: "✓", adaptertest.Fail: "✗", adaptertest.Waived: "~", adaptertest.NotVerified: "?",
	adaptertest.NotReached: "!", adaptertest.Recorded: "•", adaptertest.NotApplicable: "–",
}

func mark(o adaptertest.Outcome) string { return cmp.Or(marks[o], " ") }

// legend explains the marks.
const legend = "✓ kept   ✗ broken   ~ waived   ? not verified   • recorded (MAY)   – does not apply"

// roundsLegend explains the rounds.
const roundsLegend = "Every clause is tried in every wiring. Rounds are the share of the repetitions of races and histories; the first wiring of an adapter repeats them most often."

// why is the reason of a result, or else the first line of its evidence.
func why(r adaptertest.Result) string {
	if r.Reason == "" && len(r.Evidence) > 0 {
		return firstLine(r.Evidence[0])
	}
	return r.Reason
}

// score writes passed/applicable of a level.
func score(r *adaptertest.Report, l adaptertest.Level) string {
	passed, applicable := r.Score(l)
	return fmt.Sprintf("%d/%d", passed, applicable)
}
