package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/matrix"
)

// progress shows the progress of the run: on a terminal one line that changes, otherwise one line for each
// wiring.
type progress struct {
	out      io.Writer
	terminal bool
	total    int
	clauses  int
	started  time.Time

	mu     sync.Mutex
	done   int
	active []*active
}

// active is a wiring that is being tried.
type active struct {
	name   string
	clause string
	failed int
	of     int
}

func newProgress(out *os.File, wirings int) *progress {
	return &progress{out: out, terminal: isTerminal(out), total: wirings, clauses: len(adaptertest.Clauses()), started: time.Now()}
}

// step shows one result.
func (p *progress) step(w wirings.Wiring, clause string, o adaptertest.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.active, func(a *active) bool { return a.name == w.String() })
	if i < 0 {
		i = len(p.active)
		p.active = append(p.active, &active{name: w.String()})
	}
	a := p.active[i]
	a.clause = clause
	a.of++
	if o == adaptertest.Fail {
		a.failed++
	}
	p.draw()
}

// finished shows that a wiring is complete.
func (p *progress) finished(c matrix.Column) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.active = slices.DeleteFunc(p.active, func(a *active) bool { return a.name == c.Name() })
	if p.terminal {
		p.draw()
		return
	}
	took := ""
	if c.Report != nil {
		took = " in " + c.Report.Duration.Round(100*time.Millisecond).String()
	}
	p.print("[%d/%d] %s: %s%s\n", p.done, p.total, c.Name(), c.Verdict(), took)
}

func (p *progress) draw() {
	if !p.terminal {
		return
	}
	parts := make([]string, len(p.active))
	for i, a := range p.active {
		parts[i] = fmt.Sprintf("%s %s %d/%d", a.name, a.clause, a.of, p.clauses)
		if a.failed > 0 {
			parts[i] += fmt.Sprintf(" ✗%d", a.failed)
		}
	}
	p.print("\r\x1b[K%d/%d wirings, %v  %s", p.done, p.total, time.Since(p.started).Round(time.Second), strings.Join(parts, " · "))
}

// clear removes the line that changes.
func (p *progress) clear() {
	if p.terminal {
		p.print("\r\x1b[K")
	}
}

// print writes to the screen. It ignores errors, because the results are
// not affected.
func (p *progress) print(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }
