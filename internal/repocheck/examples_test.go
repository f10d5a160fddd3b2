package repocheck

import (
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
