package repocheck

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestNamedTargetsAreRun: CI or the nightly runs each target of make that README,
// CONTRIBUTING, RELEASING or BENCHMARKS names, so that none of them breaks
// unnoticed.
func TestNamedTargetsAreRun(t *testing.T) {
	var workflows strings.Builder
	for _, name := range tracked(t, ".github/workflows/*.yml") {
		workflows.WriteString(read(t, name))
	}
	assert.Contains(t, workflows.String(), "run: .ci/commands\n", "no workflow runs .ci/commands")
	automation := workflows.String() + read(t, ".ci/run") + read(t, ".ci/commands")
	run := targets(automation, `(?m)(?:^\s*|run: |exec |timeout --signal INT 120 )make( .*)$`)
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "RELEASING.md", "BENCHMARKS.md"} {
		named := targets(read(t, page), "(?m)(?:^    |`)make( [a-z][^#`\n]*)")
		assert.NotEmptyf(t, named, "%s names no target; does the test still read it?", page)
		assert.Subsetf(t, run, named, "%s names targets of make that neither .ci nor a workflow runs", page)
	}
	for name, command := range map[string]string{".ci/run": "make test BENCH=1x\n", ".github/workflows/check.yml": "make bench BENCHTIME=1x\n"} {
		assert.Containsf(t, read(t, name), command, "%s does not run each benchmark once", name)
	}
}

// targets returns the targets of the calls of make in text. call matches a call,
// and its group has the arguments.
func targets(text, call string) []string {
	var all []string
	for _, m := range regexp.MustCompile(call).FindAllStringSubmatch(text, -1) {
		for _, word := range strings.Fields(m[1]) {
			if !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(word) {
				break // a variable or the rest of a sentence
			}
			all = append(all, word)
		}
	}
	return all
}
