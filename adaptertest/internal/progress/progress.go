// Package progress shows on a terminal how far a run of the suite is.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// After is how long a run takes before it shows a line, Every how often the line changes, and
// Seldom how often there is one among other lines.
const (
	After  = 5 * time.Second
	Every  = time.Second
	Seldom = 10 * time.Second
)

// Line is the line of a run. Its methods do nothing if it is nil.
type Line struct {
	out     io.Writer
	among   bool // other lines, which it does not delete
	total   int
	started time.Time
	stop    chan struct{}
	ended   chan struct{}

	mu      sync.Mutex
	shown   bool
	done    int
	running []string
}

// Start returns the line of a run of so many clauses, or nil if nobody looks: if the file is no
// terminal, or in CI. Among other lines, such as those of go test -v, it does not take its place
// again: it is a new line each time.
func Start(f *os.File, total int, among bool) *Line {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("CI") != "" {
		return nil
	}
	if among {
		return begin(&Line{out: f, total: total, among: true}, After, Seldom)
	}
	return begin(&Line{out: f, total: total}, After, Every)
}

func begin(l *Line, after, every time.Duration) *Line {
	l.started, l.stop, l.ended = time.Now(), make(chan struct{}), make(chan struct{})
	go l.show(after, every)
	return l
}

func (l *Line) show(after, every time.Duration) {
	defer close(l.ended)
	next := time.NewTimer(after)
	defer next.Stop()
	for {
		select {
		case <-next.C:
			l.Above(func() {
				text := l.text(time.Since(l.started))
				if l.shown = !l.among; l.among {
					text = "adaptertest: " + text + "\n"
				}
				_, _ = fmt.Fprint(l.out, text)
			})
			next.Reset(every)
		case <-l.stop:
			return
		}
	}
}

// Above writes something in the place of the line, which comes again below it.
func (l *Line) Above(write func()) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.shown {
			_, _ = fmt.Fprint(l.out, clearLine)
			l.shown = false
		}
	}
	write()
}

// clearLine goes to the beginning of the line and deletes it.
const clearLine = "\r\x1b[K"

// mostNamed is the number of running clauses that a line names. A line has at most 79 columns,
// because a terminal does not delete one that it breaks.
const mostNamed = 2

func (l *Line) text(took time.Duration) string {
	named := strings.Join(l.running[:min(len(l.running), mostNamed)], ", ")
	if more := len(l.running) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%d of %d clauses done, running %s, %d s", l.done, l.total, named, int(took.Seconds()))
}

// Begin says that a clause begins, unless it has begun.
func (l *Line) Begin(clause string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.running, clause) {
		l.running = append(l.running, clause)
	}
}

// End says that a clause has ended.
func (l *Line) End(clause string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
	if i := slices.Index(l.running, clause); i >= 0 {
		l.running = slices.Delete(l.running, i, i+1)
	}
}

// Stop takes the line away.
func (l *Line) Stop() {
	if l == nil {
		return
	}
	close(l.stop)
	<-l.ended
	l.Above(func() {})
}
