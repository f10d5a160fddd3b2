package repocheck

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPackagesForTestsPromiseNothing: the packages for tests of the published
// modules say in their comment that they promise nothing, and the comparison of
// interfaces leaves out just them.
func TestPackagesForTestsPromiseNothing(t *testing.T) {
	left := regexp.MustCompile(`(?m)^nothing='(.*)'$`).FindStringSubmatch(read(t, ".ci/apidiff"))
	require.NotNil(t, left, ".ci/apidiff leaves out no package")
	var say, harnesses []string
	for _, name := range tracked(t, "*.go") {
		dir := path.Dir(name)
		pkg := path.Base(dir)
		if strings.HasPrefix(dir, "adapters/") && strings.HasSuffix(pkg, "test") {
			harnesses = append(harnesses, pkg)
		}
		comment, _, _ := strings.Cut(read(t, name), "\npackage ")
		if strings.HasPrefix(comment, "// Package ") && strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(comment, "//", "")), " "), "The package promises nothing") {
			say = append(say, pkg)
		}
	}
	slices.Sort(say)
	assert.Equal(t, left[1], strings.Join(say, "|"), "what .ci/apidiff leaves out, and who says to promise nothing")
	assert.Subset(t, say, harnesses, "packages that do not say that they promise nothing")
}
