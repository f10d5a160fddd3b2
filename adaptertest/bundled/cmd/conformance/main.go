// Command conformance runs the suite over every bundled adapter, prints the matrix and writes it to
// CONFORMANCE.md, conformance.json and conformance.html in a folder that Git ignores. Each adapter is tried
// once, on the newest server that is available on this machine; with -all it is tried in every wiring, on
// every server and version.
//
//	conformance [-all] [-wirings text,…] [-only clause or group,…] [-seed n] [-rounds n] [-strict] [-parallel n] [-out folder]
//
// Package stores finds or starts the servers. If the server of a wiring is not available, the wiring is left out with the
// reason, and the run does not fail. Embedded adapters are always tried. The exit status is 1 if a MUST is broken, and 2
// if the run itself failed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/matrix"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/mutants"
)

// settings are the flags.
type settings struct {
	all           bool
	wirings, only string
	seed          uint64
	rounds        float64
	strict        bool
	parallel      int
	out           string
	child         string
}

func main() {
	var s settings
	flag.BoolVar(&s.all, "all", false, "try every wiring, on every server and version")
	flag.StringVar(&s.wirings, "wirings", "", "try only the wirings whose name contains one of these texts, separated by commas; -all is then not needed")
	flag.StringVar(&s.only, "only", "", "run only these clauses and groups, separated by commas")
	flag.Uint64Var(&s.seed, "seed", 0, "repeat the run that had this seed; 0 draws one")
	flag.Float64Var(&s.rounds, "rounds", 1, "multiply the repetitions of races and histories; wirings after the first of an adapter have a tenth")
	flag.BoolVar(&s.strict, "strict", false, "treat SHOULD as MUST")
	// With more wirings than processors, servers wait so long for their turn that members of groups take each other for dead.
	flag.IntVar(&s.parallel, "parallel", min(runtime.NumCPU(), 4), "how many wirings are tried at once")
	flag.StringVar(&s.out, "out", ".cache/conformance", "folder that the results are written to; an empty text writes none")
	flag.StringVar(&s.child, "child", "", "run one wiring and write its results as lines of JSON; used by the command itself")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "conformance: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.child != "" {
		if err := runChild(ctx, s, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		return
	}
	failed, err := run(ctx, s)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(2)
	case failed:
		os.Exit(1)
	}
}

// run tries the wirings, shows the matrix and reports whether a MUST is broken.
func run(ctx context.Context, s settings) (failed bool, err error) {
	if s.seed == 0 {
		s.seed = rand.Uint64()>>11 | 1 // fits a JSON number
	}
	chosen := choose(s)
	if len(chosen) == 0 {
		return false, fmt.Errorf("no wiring has a name that contains %q", s.wirings)
	}
	started, load := time.Now(), loadAverage()
	servers := stores.Open(stores.Options{Fast: true})
	defer func() { err = errors.Join(err, servers.Close(context.WithoutCancel(ctx))) }()
	screen := newProgress(os.Stderr, len(chosen))
	columns := tryAll(ctx, s, servers, chosen, screen)
	screen.clear()
	if err := ctx.Err(); err != nil {
		return false, err
	}
	m := &matrix.Matrix{
		Made: started, Duration: time.Since(started), Load: load, Seed: s.seed, Proof: proof(), Columns: columns,
		Go: runtime.Version(), Platform: fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
	}
	if err := m.WriteText(os.Stdout, isTerminal(os.Stdout)); err != nil {
		return false, err
	}
	fmt.Printf("\n%d wirings in %v, seed %d\n", len(columns), m.Duration.Round(time.Second), s.seed)
	if s.out == "" {
		return m.Failed(), nil
	}
	if err := os.MkdirAll(s.out, 0o755); err != nil {
		return false, err
	}
	for name, write := range map[string]func(io.Writer) error{
		"CONFORMANCE.md": m.WriteMarkdown, "conformance.json": m.WriteJSON, "conformance.html": m.WritePage,
	} {
		if err := writeFile(filepath.Join(s.out, name), write); err != nil {
			return false, err
		}
	}
	return m.Failed(), nil
}

// loadAverage returns how many processes of the machine ran or waited to run in the last minute, or "" if the kernel does
// not say so. Other work on the machine makes the run longer.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	minute, _, _ := strings.Cut(string(text), " ")
	return minute
}

// choose returns the wirings of the run: with -wirings those whose name contains one of the texts, with -all all of them,
// and otherwise the first of each adapter.
func choose(s settings) []wirings.Wiring {
	var chosen []wirings.Wiring
	for _, w := range wirings.All() {
		switch {
		case s.wirings != "":
			if slices.ContainsFunc(strings.Split(s.wirings, ","), func(text string) bool { return strings.Contains(w.String(), text) }) {
				chosen = append(chosen, w)
			}
		case s.all || len(chosen) == 0 || chosen[len(chosen)-1].Adapter != w.Adapter:
			chosen = append(chosen, w)
		}
	}
	return chosen
}

func writeFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	return errors.Join(write(w), w.Flush())
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == ""
}

// proof returns the number of broken adapters that the tests of the suite try.
func proof() matrix.Proof {
	var p matrix.Proof
	for _, m := range mutants.All() {
		p.Mutants++
		if m.AuthJS {
			p.AuthJS++
		}
	}
	return p
}
