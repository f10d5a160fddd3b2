// Command benchtable reads what go test -bench prints and makes one table of it:
// for each package and benchmark the time of a call, the time of its baseline,
// the ratio, round trips and allocations, as bench.Run reports them. It
// copies all other lines to standard error. If a benchmark fails, the command
// fails too.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func main() {
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "benchtable: unexpected argument %q\n", flag.Arg(0))
		flag.Usage()
		os.Exit(2)
	}
	table, failed, err := read(os.Stdin, os.Stderr)
	if err == nil {
		err = table.write(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchtable:", err)
	}
	if err != nil || failed || len(table) == 0 {
		os.Exit(1)
	}
}

// result is one line of go test -bench.
type result struct {
	pkg, name string
	values    map[string]float64 // by unit
}

type results []result

var (
	line   = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	module = regexp.MustCompile(`^.*/gatehouse/(adapters/)?`)
)

func read(in io.Reader, other io.Writer) (all results, failed bool, err error) {
	var pkg string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text := lines.Text()
		if name, ok := strings.CutPrefix(text, "pkg: "); ok {
			pkg = module.ReplaceAllString(name, "")
			continue
		}
		m := line.FindStringSubmatch(text)
		if m == nil {
			failed = failed || strings.HasPrefix(text, "FAIL") || strings.HasPrefix(text, "--- FAIL")
			if _, err := fmt.Fprintln(other, text); err != nil {
				return nil, false, err
			}
			continue
		}
		r := result{pkg: pkg, name: m[1], values: map[string]float64{}}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			if r.values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
				return nil, false, fmt.Errorf("%q: %w", text, err)
			}
		}
		all = append(all, r)
		if _, err := fmt.Fprintln(other, pkg, r.name); err != nil {
			return nil, false, err
		}
	}
	return all, failed, lines.Err()
}

type column struct {
	heading, unit string
	show          func(v float64) string
}

// columns has the headings of the table and the functions that fill them. A
// column that no result fills is left out, except the first one.
var columns = []column{
	{"time", "ns/op", duration},
	{"p99", "p99-ns/op", duration},
	{"longest", "longest-ns/op", duration},
	{"fewest calls", "fewest-calls", whole},
	{"most calls", "most-calls", whole},
	{"baseline", "baseline-ns/op", duration},
	{"ratio", "x-baseline", func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }},
	{"round trips", "round-trips/op", whole},
	{"allocations", "allocs/op", whole},
	{"baseline", "baseline-allocs/op", whole},
	{"req/s per core", "req/s/core", whole},
	{"Auth.js", "authjs-req/s/core", whole},
	{"Auth.js time", "authjs-ns/op", duration},
	{"round trips", "authjs-round-trips/op", whole},
	{"times", "x-authjs", func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }},
}

func whole(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// duration shows nanoseconds with three digits.
func duration(ns float64) string {
	unit := "ns"
	for _, larger := range []string{"µs", "ms", "s"} {
		if ns < 999.5 {
			break
		}
		ns, unit = ns/1e3, larger
	}
	digits := 0
	switch {
	case unit == "ns":
	case ns < 9.995:
		digits = 2
	case ns < 99.95:
		digits = 1
	}
	return strconv.FormatFloat(ns, 'f', digits, 64) + " " + unit
}

// write prints the table in Markdown. It pads the cells, so that the columns are aligned.
func (all results) write(w io.Writer) error {
	rows := [][]string{{"package", "method"}, {}}
	columns := slices.DeleteFunc(slices.Clone(columns), func(c column) bool {
		return c.unit != "ns/op" && !slices.ContainsFunc(all, func(r result) bool { _, ok := r.values[c.unit]; return ok })
	})
	for _, c := range columns {
		rows[0] = append(rows[0], c.heading)
	}
	for range rows[0] {
		rows[1] = append(rows[1], "---")
	}
	for _, r := range all {
		name := strings.TrimPrefix(strings.TrimPrefix(r.name, "Adapter/"), "Sessions/")
		row := []string{r.pkg, name}
		for _, c := range columns {
			cell := ""
			if v, ok := r.values[c.unit]; ok {
				cell = c.show(v)
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			if _, err := fmt.Fprintf(w, "| %-*s ", widths[i], cell); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(w, "|"); err != nil {
			return err
		}
	}
	return nil
}
