package adaptertest

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// reserve is the part of go test's time that is kept for the report.
const reserve = 5 * time.Second

// endBy makes the run end before go test's deadline.
func (r *run) endBy(deadline time.Time) {
	left := time.Until(deadline)
	r.end = deadline.Add(-min(reserve, left/5))
}

func (r *run) pastEnd() bool { return !r.end.IsZero() && !time.Now().Before(r.end) }

// limit returns how long a phase may take: the asked time, or the rest of the
// run's time if that is shorter.
func (r *run) limit(asked time.Duration) time.Duration {
	if r.end.IsZero() {
		return asked
	}
	return max(time.Millisecond, min(asked, time.Until(r.end)))
}

// cutOff ends a clause without a breach as not verified. Later breaches are
// ignored.
func (c *clauseContext) cutOff(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) == 0 {
		c.cut = reason
	}
}

// save replaces the report, so that the file always holds a complete one.
func (r *run) save(report *Report) (err error) {
	if r.path == "" {
		return nil
	}
	r.saving.Lock()
	defer r.saving.Unlock()
	f, err := os.CreateTemp(filepath.Dir(r.path), ".adaptertest-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err = errors.Join(report.WriteJSON(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), r.path)
}

// stackLines is the number of lines of the stacks in the evidence.
const stackLines = 40

// stacks returns the stacks of the relevant goroutines, up to stackLines lines: those
// that the caller started, which it waits for, then calls under way, then the rest of
// the suite.
func stacks() string {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	goroutines := strings.Split(string(dump), "\n\n") // the caller's is the first
	caller, _, _ := strings.Cut(goroutines[0], " [")
	goroutines = goroutines[1:]
	slices.SortStableFunc(goroutines, func(a, b string) int {
		rank := func(g string) int {
			switch {
			case strings.Contains(g, " in "+caller+"\n"):
				return 0
			case strings.Contains(g, "adaptertest.(*observer)") || strings.Contains(g, "(*clauseContext).perform"):
				return 1
			case strings.Contains(g, "adaptertest"):
				return 2
			default:
				return 3
			}
		}
		return rank(a) - rank(b)
	})
	lines := strings.Split(strings.Join(goroutines, "\n"), "\n")
	return strings.Join(lines[:min(len(lines), stackLines)], "\n")
}

// suiteVersion is the version of this module, or (devel).
func suiteVersion() string {
	const path = "github.com/gatehouse-go/gatehouse/adaptertest"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == path && m.Version != "" && m.Replace == nil {
			return m.Version
		}
	}
	return "(devel)"
}
