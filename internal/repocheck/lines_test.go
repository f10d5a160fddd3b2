package repocheck

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestSuiteIsShort counts the lines of Go without tests, generated files counted. A change
// that adds clauses or broken adapters raises a limit by the lines that it adds.
//
// The limit of the suite is below 21,000 lines and what was added since they were counted: 147
// for calls that hang, 49 for the tables of others, 430 for SITE, 35 for AEDIT-11, 482 for
// stores of sessions and 32 for those of other projects, 654 for PASS, 70 for an author's first
// hour, 92 for programs in other languages, and 128 for USER-30 and CONC-22. The limit of the
// broken adapters is 12,500 with those of SITE, AEDIT-11, PASS and the protocol.
func TestSuiteIsShort(t *testing.T) {
	for _, part := range []struct {
		name  string
		files *regexp.Regexp
		most  int
	}{
		{"adaptertest with its packages", regexp.MustCompile(`^adaptertest/([^/]+\.go|bench/|internal/(clauses|faulted|kit|race)/)`), 22_964},
		{"the package that an author meets", regexp.MustCompile(`^adaptertest/[^/]+\.go`), 3_000},
		{"the broken adapters", regexp.MustCompile(`^adaptertest/internal/mutants/`), 12_500},
	} {
		n := lines(t, part.files)
		assert.Truef(t, n != 0 && n <= part.most, "%s: %d lines of Go, want at most %d", part.name, n, part.most)
	}
}

// lines counts the lines of the Go files whose paths match, without tests.
func lines(t *testing.T, match *regexp.Regexp) (n int) {
	t.Helper()
	for _, name := range files(t, "*.go") {
		if match.MatchString(name) && !strings.HasSuffix(name, "_test.go") {
			n += strings.Count(read(t, name), "\n")
		}
	}
	return n
}
