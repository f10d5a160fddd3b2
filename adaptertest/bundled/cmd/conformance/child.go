package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/matrix"
)

// Each wiring runs in its own process: clauses look at the goroutines of the process, and a panic or a stuck
// client must not end the run of another wiring.

// A line is a line of a child's output. The first line has the server, each of the next lines has a result, and the last
// line has the report.
type line struct {
	Server, Version string              `json:",omitempty"`
	Clause          string              `json:",omitempty"`
	Outcome         adaptertest.Outcome `json:",omitempty"`
	Report          *adaptertest.Report `json:",omitempty"`
}

// runChild runs the suite over one wiring.
func runChild(ctx context.Context, s settings, out io.Writer) (err error) {
	all := wirings.All()
	i := slices.IndexFunc(all, func(w wirings.Wiring) bool { return w.String() == s.child })
	if i < 0 {
		return fmt.Errorf("the wiring %q does not exist", s.child)
	}
	w := all[i]
	servers := stores.Open(stores.Options{})
	defer func() { err = errors.Join(err, servers.Close(context.WithoutCancel(ctx))) }()
	opened, err := w.Open(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close(context.WithoutCancel(ctx))) }()
	write := json.NewEncoder(out)
	if err := write.Encode(line{Server: opened.Server, Version: opened.Version}); err != nil {
		return err
	}
	opened.Harness.Name, opened.Harness.Version = w.String(), strings.TrimSpace(opened.Server+" "+opened.Version)
	options := adaptertest.Options{Seed: s.seed, Rounds: s.rounds * opened.Rounds, Strict: s.strict}
	if s.only != "" {
		options.Only = strings.Split(s.only, ",")
	}
	options.Progress = func(r adaptertest.Result) { _ = write.Encode(line{Clause: r.Clause.ID, Outcome: r.Outcome}) }
	options.Again = func(ctx context.Context) (*exec.Cmd, error) {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return exec.CommandContext(ctx, self, "-child", s.child, "-only", "TIME", "-seed", strconv.FormatUint(s.seed, 10)), nil
	}
	report, err := adaptertest.Check(ctx, opened.Harness, options)
	if err != nil {
		return err
	}
	if path := os.Getenv("ADAPTERTEST_REPORT"); path != "" {
		return writeFile(path, report.WriteJSON) // for the process that started this one again
	}
	return write.Encode(line{Report: report})
}

// tryAll tries the wirings, several at a time, each in a child. It begins with the last wiring, because the network
// stores, which take longest, are last in the matrix.
func tryAll(ctx context.Context, s settings, servers *stores.Stores, chosen []wirings.Wiring, screen *progress) []matrix.Column {
	columns := make([]matrix.Column, len(chosen))
	turns := make(chan struct{}, max(1, s.parallel))
	var wg sync.WaitGroup
	for i, w := range slices.Backward(chosen) {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break // the run was interrupted
		}
		wg.Go(func() {
			defer func() { <-turns }()
			columns[i] = try(ctx, s, servers, w, screen)
			if ctx.Err() == nil {
				screen.finished(columns[i])
			}
		})
	}
	wg.Wait()
	return columns
}

// try makes sure that the wiring's servers run, and runs the child.
func try(ctx context.Context, s settings, servers *stores.Stores, w wirings.Wiring, screen *progress) matrix.Column {
	column := matrix.Column{Adapter: w.Adapter, Wiring: w.Name}
	env, err := servers.Environment(ctx, w.Needs...)
	switch {
	case errors.Is(err, stores.ErrUnavailable) || errors.Is(err, stores.ErrNoEngine) || err != nil && os.Getenv(stores.EnvSkip) == "1":
		column.LeftOut = strings.TrimSuffix(strings.TrimPrefix(err.Error(), "stores: "), ": "+stores.ErrUnavailable.Error())
		return column
	case err != nil:
		column.Broken = err.Error()
		return column
	}
	self, err := os.Executable()
	if err != nil {
		column.Broken = err.Error()
		return column
	}
	child := exec.CommandContext(ctx, self, "-child", w.String(), "-only", s.only, "-seed", strconv.FormatUint(s.seed, 10),
		"-rounds", strconv.FormatFloat(s.rounds, 'g', -1, 64), "-strict="+strconv.FormatBool(s.strict))
	child.Cancel = func() error { return child.Process.Signal(syscall.SIGTERM) }
	child.WaitDelay = 20 * time.Second
	child.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	stdout, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		column.Broken = err.Error()
		return column
	}
	last := follow(stdout, w, &column, screen)
	if err := child.Wait(); err != nil || column.Report == nil {
		column.Broken = fmt.Sprintf("the run ended after %s: %v\n%s", last, err, tail(stderr.String(), 8<<10))
	}
	return column
}

// follow reads what the child writes, and returns the last clause that it finished.
func follow(stdout io.Reader, w wirings.Wiring, column *matrix.Column, screen *progress) (last string) {
	last = "nothing"
	lines := bufio.NewReader(stdout)
	for {
		text, err := lines.ReadBytes('\n')
		var l line
		if err != nil || json.Unmarshal(text, &l) != nil {
			_, _ = io.Copy(io.Discard, lines) // otherwise the child could wait for its reader
			return last
		}
		switch {
		case l.Report != nil:
			column.Report = l.Report
		case l.Clause != "":
			last = l.Clause
			screen.step(w, l.Clause, l.Outcome)
		case l.Server != "":
			column.Server, column.Version = l.Server, l.Version
		}
	}
}

// tail returns the last n bytes.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return "[…] " + strings.ToValidUTF8(s[len(s)-n:], "")
}
