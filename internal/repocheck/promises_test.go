package repocheck

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPackagesForTestsPromiseNothing: the packages for tests of the published
// modules say in their comment that they promise nothing, and the comparison of
// interfaces leaves out just them.
func TestPackagesForTestsPromiseNothing(t *testing.T) {
	left := regexp.MustCompile(`(?m)^nothing='(.*)'$`).FindStringSubmatch(read(t, ".ci/apidiff"))
	if left == nil {
		t.Fatal(".ci/apidiff leaves out no package")
	}
	var say, harnesses []string
	for _, name := range tracked(t, "*.go") {
		dir := path.Dir(name)
		pkg := path.Base(dir)
		if strings.HasPrefix(dir, "adapters/") && strings.HasSuffix(pkg, "test") && !slices.Contains(harnesses, pkg) {
			harnesses = append(harnesses, pkg)
		}
		comment, _, _ := strings.Cut(read(t, name), "\npackage ")
		if strings.HasPrefix(comment, "// Package ") && strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(comment, "//", "")), " "), "The package promises nothing") {
			say = append(say, pkg)
		}
	}
	slices.Sort(say)
	if got := strings.Join(say, "|"); got != left[1] {
		t.Errorf("%q say that they promise nothing, and .ci/apidiff leaves out %q", got, left[1])
	}
	for _, pkg := range harnesses {
		if !slices.Contains(say, pkg) {
			t.Errorf("package %s does not say that it promises nothing", pkg)
		}
	}
}
