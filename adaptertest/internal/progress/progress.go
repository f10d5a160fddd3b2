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

// After is how long a run takes before it shows a line, and Every how often the line changes.
const (
	After = 5 * time.Second
	Every = time.Second
)

// Line is the line of a run. Its methods do nothing if it is nil.
type Line struct {
	out     io.Writer
	total   int
	started time.Time
	stop    chan struct{}
	ended   chan struct{}

	mu      sync.Mutex
	done    int
	running []string
}

// Start returns the line of a run of so many clauses, or nil if nobody looks: if the file is no
// terminal, or in CI.
func Start(f *os.File, total int) *Line {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || os.Getenv("CI") != "" {
		return nil
	}
	return begin(f, total, After, Every)
}

func begin(out io.Writer, total int, after, every time.Duration) *Line {
	l := &Line{out: out, total: total, started: time.Now(), stop: make(chan struct{}), ended: make(chan struct{})}
	go l.show(after, every)
	return l
}

func (l *Line) show(after, every time.Duration) {
	defer close(l.ended)
	next := time.NewTimer(after)
	defer next.Stop()
	for shown := false; ; shown = true {
		select {
		case <-next.C:
			_, _ = fmt.Fprint(l.out, clearLine, l.text(time.Since(l.started)))
			next.Reset(every)
		case <-l.stop:
			if shown {
				_, _ = fmt.Fprint(l.out, clearLine)
			}
			return
		}
	}
}

// clearLine goes to the beginning of the line and deletes it.
const clearLine = "\r\x1b[K"

// mostNamed is the number of running clauses that a line names.
const mostNamed = 4

func (l *Line) text(took time.Duration) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	named := strings.Join(l.running[:min(len(l.running), mostNamed)], ", ")
	if more := len(l.running) - mostNamed; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("adaptertest: %d of %d clauses done, running %s, %d s", l.done, l.total, named, int(took.Seconds()))
}

// Begin says that a clause begins.
func (l *Line) Begin(clause string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = append(l.running, clause)
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
}
