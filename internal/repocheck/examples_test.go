package repocheck

import (
	"regexp"
	"strings"
	"testing"
)

// TestPackagesHaveExamples: the pages of the packages that programs import begin
// with code that works.
func TestPackagesHaveExamples(t *testing.T) {
	for pkg, want := range map[string]string{
		"auth": "func Example() {", "auth/adapter": "", "auth/jwt": "", "auth/webauthn": "", "auth/frameworks": "", "auth/client": "", "auth/password": "",
		"adaptertest": "", "adaptertest/fault": "",
		"adapters/memory": "func ExampleNew() {", "adapters/sqlite": "func ExampleNew() {", "adapters/postgres": "func ExampleNew() {",
		"adapters/redis": "func ExampleNew() {", "adapters/mongo": "func ExampleNew() {",
	} {
		found := false
		for _, name := range tracked(t, ":(glob)"+pkg+"/*_test.go") {
			text := read(t, name)
			found = found || strings.Contains(text, "\nfunc Example") && strings.Contains(text, want) && strings.Contains(text, "_test\n")
		}
		if !found {
			t.Errorf("package %s has no example %s", pkg, want)
		}
	}
}

// TestProgramsSayWhereTheyListen: before a program of the examples listens, it prints its URL.
func TestProgramsSayWhereTheyListen(t *testing.T) {
	listens := regexp.MustCompile(`\n(.*)\n.*http\.ListenAndServe\(".*(:[0-9]+)"`)
	n := 0
	for _, name := range tracked(t, "examples/*main.go") {
		if m := listens.FindStringSubmatch(read(t, name)); m != nil {
			n++
			if !strings.Contains(m[1], "http://localhost"+m[2]) {
				t.Errorf("%s listens without a line that says so", name)
			}
		}
	}
	if n < 10 {
		t.Errorf("%d programs listen, want those of the examples", n)
	}
}
