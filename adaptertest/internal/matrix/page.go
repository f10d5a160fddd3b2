package matrix

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

//go:embed page.html
var pageHTML string

// WritePage writes the matrix as one page that loads nothing: it has no script, and no font or picture of another file.
func (m *Matrix) WritePage(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, m.page())
}

// page is what the template shows.
type page struct {
	*Matrix
	Headline, Summary string
	Bad               bool
	Date, Took        string
	Adapters          []adapterCard
	Heads             []head
	Groups            []groupRow
	Breaches          []breach
	LeftOut           []Column
	Legend            []legendItem
}

// adapterCard shows an adapter and its wirings above the matrix.
type adapterCard struct {
	Name    string
	Wirings []wiringLine
}

type wiringLine struct {
	Number                 int
	Name, Server, Verdict  string
	Class                  string // good, bad, part or none
	Must, Should, Took     string
	Rounds                 float64
	Kept, Broken, Unproven int // per cent, for the bar
}

// head is the head of a column.
type head struct {
	Adapter, Wiring string
	First           bool // of its adapter
}

type groupRow struct {
	ID, Title string
	Size      int
	Open      bool // a clause of the group is Notable
	Cells     []cellView
	Clauses   []clauseRow
}

type clauseRow struct {
	adaptertest.Clause
	Notable bool // broken, waived or not verified in a wiring
	Cells   []cellView
	Notes   []note
}

// cellView is one square.
type cellView struct {
	Class, Mark, Title string
	First              bool
}

// note says more about the outcome of a clause, for all columns in which it is the same.
type note struct{ Who, Class, What, Text string }

type breach struct {
	Who, Level, ID, Rule string
	Evidence             []string
}

type legendItem struct{ Class, Mark, Text string }

// class is an outcome as the name of a style.
func class(o adaptertest.Outcome) string { return strings.ReplaceAll(string(o), " ", "-") }

// squareMark returns the text in a square. It is empty if the clause is kept, so that all other outcomes stand out.
func squareMark(o adaptertest.Outcome) string {
	if o == adaptertest.Pass {
		return ""
	}
	return mark(o)
}

func (m *Matrix) page() page {
	groups := m.groups()
	p := page{Matrix: m, Bad: m.Failed(), Date: m.Made.UTC().Format("2 January 2006, 15:04 UTC"), Took: m.took()}
	clauses := 0
	for _, g := range groups {
		clauses += len(g.Clauses)
	}
	p.Headline, p.Summary = m.headline(clauses)
	p.Adapters = m.cards()
	for i, c := range m.Columns {
		p.Heads = append(p.Heads, head{Adapter: c.Adapter, Wiring: c.Wiring, First: m.first(i)})
		if c.LeftOut != "" {
			p.LeftOut = append(p.LeftOut, c)
		}
		if c.Broken != "" {
			p.Breaches = append(p.Breaches, breach{Who: c.Name(), ID: "broken", Rule: "The run over this wiring did not finish.", Evidence: []string{shorten(c.Broken, 4000)}})
		}
		if c.Report != nil {
			for _, r := range c.Report.With(adaptertest.Fail) {
				p.Breaches = append(p.Breaches, breach{
					Who: c.Name(), Level: string(r.Clause.Level), ID: r.Clause.ID, Rule: r.Clause.Rule,
					Evidence: kit.Map(r.Evidence, func(e string) string { return shorten(e, 4000) }),
				})
			}
		}
	}
	p.Groups = kit.Map(groups, m.groupRow)
	for _, item := range []struct {
		o    adaptertest.Outcome
		text string
	}{
		{adaptertest.Pass, "kept"}, {adaptertest.Fail, "broken"}, {adaptertest.Waived, "waived, with a reason"},
		{adaptertest.NotVerified, "not verified"}, {adaptertest.NotReached, "not reached"}, {adaptertest.Recorded, "recorded (MAY)"}, {adaptertest.NotApplicable, "does not apply"},
	} {
		p.Legend = append(p.Legend, legendItem{class(item.o), squareMark(item.o), item.text})
	}
	return p
}

// first reports whether the column is the first of its adapter.
func (m *Matrix) first(i int) bool { return i == 0 || m.Columns[i].Adapter != m.Columns[i-1].Adapter }

// headline returns the result in one sentence, and in another one what was tested.
func (m *Matrix) headline(clauses int) (headline, summary string) {
	adapters, must, should, unverified := map[string]bool{}, 0, 0, map[string]bool{}
	tried := m.Tried()
	for _, c := range tried {
		adapters[c.Adapter] = true
		for _, r := range c.Report.With(adaptertest.Fail) {
			if r.Clause.Level == adaptertest.Must {
				must++
			} else {
				should++
			}
		}
		for _, r := range c.Report.With(adaptertest.NotVerified) {
			unverified[r.Clause.ID] = true
		}
	}
	broken := len(slices.DeleteFunc(slices.Clone(m.Columns), func(c Column) bool { return c.Broken == "" }))
	switch {
	case len(tried) == 0 && broken == 0:
		headline = "Nothing was tried"
	case broken > 0:
		headline = count(broken, "wiring", "wirings") + " did not finish"
	case must > 0:
		headline = count(must, "MUST is broken", "MUSTs are broken")
	case should > 0:
		headline = "Every MUST is kept, " + count(should, "SHOULD is not", "SHOULDs are not")
	case len(unverified) > 0:
		headline = "No promise is broken, " + count(len(unverified), "is not verified everywhere", "are not verified everywhere")
	default:
		headline = "Every promise is kept"
	}
	return headline, fmt.Sprintf("%s in %s, against real stores, with races, faults and hostile input: %s.",
		count(len(adapters), "adapter", "adapters"), count(len(tried), "wiring", "wirings"), count(clauses, "clause", "clauses"))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", many)
}

func (m *Matrix) cards() []adapterCard {
	var cards []adapterCard
	for i, c := range m.Columns {
		if m.first(i) {
			cards = append(cards, adapterCard{Name: c.Adapter})
		}
		w := wiringLine{Number: i + 1, Name: c.Wiring, Server: c.ServerVersion(), Verdict: c.Verdict(), Class: "none"}
		if c.Broken != "" {
			w.Class = "bad"
		}
		if r := c.Report; r != nil {
			w.Must, w.Should, w.Took = score(r, adaptertest.Must), score(r, adaptertest.Should), r.Duration.Round(100*time.Millisecond).String()
			w.Rounds = r.Rounds
			switch {
			case c.Failed():
				w.Class = "bad"
			case len(r.With(adaptertest.Waived)) > 0:
				w.Class = "part"
			default:
				w.Class = "good"
			}
			kept, broken := len(r.With(adaptertest.Pass))+len(r.With(adaptertest.Recorded)), len(r.With(adaptertest.Fail))
			unproven := len(r.With(adaptertest.NotVerified)) + len(r.With(adaptertest.NotReached)) + len(r.With(adaptertest.Waived))
			if all := kept + broken + unproven; all > 0 {
				w.Broken, w.Unproven = share(broken, all), share(unproven, all)
				w.Kept = 100 - w.Broken - w.Unproven
			}
		}
		card := &cards[len(cards)-1]
		card.Wirings = append(card.Wirings, w)
	}
	return cards
}

// share returns n of all in per cent, and at least 1 if n is not 0.
func share(n, all int) int {
	if n == 0 {
		return 0
	}
	return max(1, n*100/all)
}

func (m *Matrix) groupRow(g group) groupRow {
	row := groupRow{ID: g.ID, Title: g.Title, Size: len(g.Clauses)}
	for i, c := range m.Columns {
		t := c.tally(g)
		worst := t.worst()
		v := cellView{Class: class(worst), Mark: squareMark(worst), First: m.first(i), Title: c.Name() + ": not tried"}
		if worst != "" {
			v.Title = c.Name() + ": " + tallyText(t)
		}
		if worst == adaptertest.Fail {
			row.Open = true
			v.Mark = fmt.Sprint(t[worst])
		}
		row.Cells = append(row.Cells, v)
	}
	row.Clauses = kit.Map(g.Clauses, m.clauseRow)
	return row
}

func tallyText(t tally) string {
	var parts []string
	for _, o := range []adaptertest.Outcome{adaptertest.Pass, adaptertest.Fail, adaptertest.NotReached, adaptertest.Waived, adaptertest.NotVerified, adaptertest.Recorded, adaptertest.NotApplicable} {
		if t[o] > 0 {
			parts = append(parts, fmt.Sprint(t[o], " ", word(o)))
		}
	}
	return strings.Join(parts, ", ")
}

// word returns an outcome in the words of the legend.
func word(o adaptertest.Outcome) string {
	words := map[adaptertest.Outcome]string{
		adaptertest.Pass: "kept", adaptertest.Fail: "broken", adaptertest.NotApplicable: "does not apply",
	}
	return cmp.Or(words[o], string(o))
}

func (m *Matrix) clauseRow(clause adaptertest.Clause) clauseRow {
	row := clauseRow{Clause: clause}
	for i, c := range m.Columns {
		r, ran := c.Result(clause.ID)
		v := cellView{Class: class(r.Outcome), Mark: squareMark(r.Outcome), First: m.first(i), Title: c.Name() + ": not tried"}
		if ran {
			v.Title = c.Name() + ": " + word(r.Outcome)
			row.note(c, r)
		}
		row.Notable = row.Notable || ran && r.Outcome != adaptertest.Pass && r.Outcome != adaptertest.Recorded && r.Outcome != adaptertest.NotApplicable
		row.Cells = append(row.Cells, v)
	}
	return row
}

// note adds a note about a result. If a note with the same text exists, it adds the column to that note.
func (row *clauseRow) note(c Column, r adaptertest.Result) {
	if r.Outcome == adaptertest.Pass {
		return
	}
	text := shorten(why(r), 400)
	for i, n := range row.Notes {
		if n.Text == text && n.Class == class(r.Outcome) {
			row.Notes[i].Who += "; " + c.Name()
			return
		}
	}
	row.Notes = append(row.Notes, note{Who: c.Name(), Class: class(r.Outcome), What: word(r.Outcome), Text: text})
}
