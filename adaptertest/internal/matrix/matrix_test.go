package matrix_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/matrix"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sample is a matrix with four wirings: one that conforms, one that breaks the clause, one that was left out and one that
// did not finish.
func sample(t *testing.T, breaks string) *matrix.Matrix {
	t.Helper()
	report := func(name string) *adaptertest.Report {
		r := &adaptertest.Report{Adapter: name, Seed: 7, Rounds: 0.2, Duration: time.Second}
		for i, clause := range adaptertest.Clauses() {
			x := adaptertest.Result{Clause: clause, Outcome: adaptertest.Pass}
			switch {
			case name == "broken" && clause.ID == breaks:
				x.Outcome, x.Evidence = adaptertest.Fail, []string{"got <script>alert(1)</script>, want\na | bar"}
			case clause.Level == adaptertest.May:
				x.Outcome = adaptertest.Recorded
			case i%50 == 1:
				x.Outcome, x.Reason = adaptertest.NotVerified, "the harness has no Faults"
			}
			r.Results = append(r.Results, x)
		}
		return r
	}
	return &matrix.Matrix{
		Made: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Duration: time.Minute, Go: "go1.26", Platform: "linux/amd64, 2 processors", Seed: 7, Load: "3.25",
		Columns: []matrix.Column{
			{Adapter: "memory", Wiring: "one process", Server: "Go maps", Report: report("good")},
			{Adapter: "sqlite", Wiring: "modernc", Server: "SQLite", Version: "3.53.4", Report: report("broken")},
			{Adapter: "mongo", Wiring: "replica set", LeftOut: "no registry offers mongo:8"},
		},
	}
}

// must returns the ID of a clause of the level.
func must(t *testing.T, level adaptertest.Level) string {
	t.Helper()
	for _, c := range adaptertest.Clauses() {
		if c.Level == level {
			return c.ID
		}
	}
	t.Fatalf("the contract has no %s", level)
	return ""
}

// TestTitles checks that every group of the contract has a title.
func TestTitles(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample(t, "").WritePage(&b))
	for _, clause := range adaptertest.Clauses() {
		assert.NotContains(t, b.String(), `class="label">`+clause.Group()+"<", "the group has no title")
	}
}

func TestFailed(t *testing.T) {
	for name, test := range map[string]struct {
		breaks string
		broken string
		want   bool
	}{
		"nothing is broken":    {"", "", false},
		"a SHOULD is broken":   {must(t, adaptertest.Should), "", false},
		"a MUST is broken":     {must(t, adaptertest.Must), "", true},
		"a wiring did not end": {"", "panic: somewhere", true},
		"a wiring is left out": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := sample(t, test.breaks)
			if test.broken != "" {
				m.Columns = append(m.Columns, matrix.Column{Adapter: "redis", Wiring: "one server", Broken: test.broken})
			}
			assert.Equal(t, test.want, m.Failed())
		})
	}
}

// TestRenderings checks that every rendering contains the facts that a reader must not miss.
func TestRenderings(t *testing.T) {
	broken := must(t, adaptertest.Must)
	m := sample(t, broken)
	render := func(write func(*strings.Builder) error) string {
		var b strings.Builder
		require.NoError(t, write(&b))
		return b.String()
	}
	for name, text := range map[string]string{
		"text":     render(func(b *strings.Builder) error { return m.WriteText(b, false) }),
		"markdown": render(func(b *strings.Builder) error { return m.WriteMarkdown(b) }),
		"page":     render(func(b *strings.Builder) error { return m.WritePage(b) }),
	} {
		for _, want := range []string{"ounds", "0.2", "3.25"} { // the load of the machine
			assert.Truef(t, name == "text" || strings.Contains(text, want), "%s: %q is missing", name, want)
		}
		for _, want := range []string{broken, "fails", "conforms", "SQLite 3.53.4", "one process", "replica set", "no registry offers mongo:8"} {
			assert.Containsf(t, text, want, "%s: %q is missing", name, want)
		}
		// Two wirings have the same reason for the same clauses.
		assert.Falsef(t, name == "markdown" && strings.Count(text, "  - memory, one process; sqlite, modernc: ") != 1,
			"the wirings with the same clauses don't share a line:\n%s", text)
	}
}

// TestPageNeedsNothing checks that the page loads nothing and runs no script, also if evidence contains markup.
func TestPageNeedsNothing(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample(t, must(t, adaptertest.Must)).WritePage(&b))
	for _, bad := range []string{`<script`, `<link`, `<img`, `<iframe`, `@import`, `url(`, `src=`, `http://`, `https://`} {
		assert.NotContainsf(t, b.String(), bad, "the page holds %q", bad)
	}
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(b.String(), -1)
	assert.Truef(t, len(ids) >= len(adaptertest.Clauses()), "got %d anchors, want one for each clause", len(ids))
}

// TestJSON checks that the matrix can be read back.
func TestJSON(t *testing.T) {
	m := sample(t, must(t, adaptertest.Must))
	var b strings.Builder
	require.NoError(t, m.WriteJSON(&b))
	var back matrix.Matrix
	require.NoError(t, json.Unmarshal([]byte(b.String()), &back))
	assert.Truef(t, len(back.Columns) == len(m.Columns) && back.Columns[1].Report != nil && len(back.Columns[1].Report.Results) == len(adaptertest.Clauses()) && back.Failed(),
		"the matrix came back changed: %d wirings", len(back.Columns))
}
