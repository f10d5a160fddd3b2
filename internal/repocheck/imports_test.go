package repocheck

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite testdata/imports.txt")

// maxModules is the largest number of modules of the repository, those outside the
// workspace counted. Each has dependencies to keep up to date.
const maxModules = 20

// TestModulesAreFew counts the modules. Those outside the workspace are tested only if
// the Makefile names them.
func TestModulesAreFew(t *testing.T) {
	all := allModules(t)
	assert.Truef(t, len(all) <= maxModules, "%d modules, want at most %d", len(all), maxModules)
	foreign := regexp.MustCompile(`(?m)^FOREIGN := (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	outside := regexp.MustCompile(`(?m)^OUTSIDE := \$\(FOREIGN\) (.*)$`).FindStringSubmatch(read(t, "Makefile"))
	require.True(t, foreign != nil && outside != nil, "the Makefile has no FOREIGN and OUTSIDE")
	tested := slices.Concat(modules(t), strings.Fields(foreign[1]), strings.Fields(outside[1]))
	assert.ElementsMatch(t, all, tested, "all modules, and those that go.work and the Makefile name")
}

// allModules returns the folders of all modules of the repository, sorted.
func allModules(t *testing.T) (dirs []string) {
	t.Helper()
	for _, name := range tracked(t, "*go.mod") {
		dirs = append(dirs, path.Dir(name))
	}
	slices.Sort(dirs)
	return dirs
}

// TestImports compares the dependencies of each module, and the further ones of its
// tests, with a committed list. An unintended new line is a dependency for every
// user of the module. The harness of an adapter, which is in a package with a name
// such as redistest in adapters/redis, is treated as a test.
func TestImports(t *testing.T) {
	var got bytes.Buffer
	for _, dir := range allModules(t) {
		build := dependencies(t, filepath.Join(root, dir), shipped(t, filepath.Join(root, dir))...)
		tests := dependencies(t, filepath.Join(root, dir), "-test", "./...")
		tests = slices.DeleteFunc(tests, func(m string) bool { return slices.Contains(build, m) })
		fmt.Fprintf(&got, "%s\n", dir)
		for _, m := range build {
			fmt.Fprintf(&got, "\t%s\n", m)
		}
		for _, m := range tests {
			fmt.Fprintf(&got, "\t%s (tests)\n", m)
		}
	}
	golden := filepath.Join("testdata", "imports.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	if !bytes.Equal(got.Bytes(), want) {
		made := filepath.Join(t.TempDir(), "imports.txt")
		require.NoError(t, os.WriteFile(made, got.Bytes(), 0o644))
		diff, _ := exec.CommandContext(t.Context(), "git", "diff", "--no-index", golden, made).Output()
		t.Errorf("what the modules build on has changed; if it is meant, run the test with -update\n%s", diff)
	}
}

// modules returns the folders of the modules of the workspace.
func modules(t *testing.T) (dirs []string) {
	t.Helper()
	for line := range strings.Lines(read(t, "go.work")) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// shipped returns the packages of the module in dir, without the harness.
func shipped(t *testing.T, dir string) []string {
	t.Helper()
	harness := "/" + filepath.Base(dir) + "test"
	return slices.DeleteFunc(list(t, dir, "./..."), func(pkg string) bool { return strings.HasSuffix(pkg, harness) })
}

// dependencies returns the modules that the packages in dir depend on. It ignores
// the workspace, so that the list is that of the published module.
func dependencies(t *testing.T, dir string, packages ...string) []string {
	t.Helper()
	const others = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
	found := list(t, dir, append([]string{"-deps", "-f", others}, packages...)...)
	slices.Sort(found)
	return slices.Compact(found)
}

// list runs go list.
func list(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	return strings.Fields(output(t, dir, []string{"GOWORK=off"}, "go", append([]string{"list"}, args...)...))
}
