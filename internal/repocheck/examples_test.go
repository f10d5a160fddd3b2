package repocheck

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestPackagesHaveExamples: the pages of the packages that programs import begin
// with code that works, and each constructor of an adapter has an example.
func TestPackagesHaveExamples(t *testing.T) {
	type example struct{ pkg, want string }
	examples := []example{{"auth", "func Example() {"}}
	for _, pkg := range []string{
		"auth/adapter", "auth/jwt", "auth/webauthn", "auth/frameworks", "auth/client", "auth/password", "adaptertest", "adaptertest/fault",
	} {
		examples = append(examples, example{pkg, ""})
	}
	adapters := map[string]bool{}
	for _, name := range sources(t, "adapters/*") {
		for _, m := range regexp.MustCompile(`(?m)^func (New\w*)\(`).FindAllStringSubmatch(read(t, name), -1) {
			adapters[path.Dir(name)] = true
			examples = append(examples, example{path.Dir(name), "func Example" + m[1] + "() {"})
		}
	}
	assert.Lenf(t, adapters, 6, "found constructors of %d adapters, want 6", len(adapters))
	for _, e := range examples {
		found := false
		for _, name := range tracked(t, ":(glob)"+e.pkg+"/*_test.go") {
			text := read(t, name)
			found = found || strings.Contains(text, "\nfunc Example") && strings.Contains(text, e.want) && strings.Contains(text, "_test\n")
		}
		assert.Truef(t, found, "package %s has no example %s", e.pkg, e.want)
	}
}

// TestProgramsSayWhereTheyListen: before a program of the examples listens, it prints its URL.
func TestProgramsSayWhereTheyListen(t *testing.T) {
	listens := regexp.MustCompile(`\n(.*)\n.*http\.ListenAndServe\(".*(:[0-9]+)"`)
	n := 0
	for _, name := range tracked(t, "examples/*main.go") {
		if m := listens.FindStringSubmatch(read(t, name)); m != nil {
			n++
			assert.Containsf(t, m[1], "http://localhost"+m[2], "%s listens without a line that says so", name)
		}
	}
	assert.Truef(t, n >= 10, "%d programs listen, want those of the examples", n)
}
