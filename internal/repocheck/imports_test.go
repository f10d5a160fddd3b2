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
	tested := slices.Concat(modules(t, root), strings.Fields(foreign[1]), strings.Fields(outside[1]))
	slices.Sort(tested)
	assert.Truef(t, slices.Equal(tested, all),
		"go.work and the Makefile name the modules %v, and there are %v", tested, all)
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
	root := filepath.Join("..", "..")
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
		t.Errorf("what the modules build on has changed; if it is meant, run the test with -update\n%s", lineDiff(string(want), got.String()))
	}
}

// modules returns the folders of the modules of the workspace, sorted.
func modules(t *testing.T, root string) []string {
	t.Helper()
	work, err := os.ReadFile(filepath.Join(root, "go.work"))
	require.NoError(t, err)
	var dirs []string
	for line := range strings.Lines(string(work)) {
		if dir, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
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
	found := list(t, dir, append([]string{"-deps", "-f", "{{with .Module}}{{.Path}}{{end}}"}, packages...)...)
	var own string
	if mod, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil {
		own = strings.TrimSpace(strings.TrimPrefix(strings.SplitN(string(mod), "\n", 2)[0], "module "))
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(m string) bool { return m == own })
}

// list runs go list.
func list(t *testing.T, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoErrorf(t, err, "go list in %s: %v\n%s", dir, err, stderr.String())
	return strings.Fields(string(out))
}

// lineDiff lists the lines that only one of the texts has.
func lineDiff(want, got string) string {
	var b strings.Builder
	section := ""
	count := map[string]int{}
	each := func(text string, f func(key, line string)) {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "\t") {
				section = line
			}
			f(section+line, section+" "+strings.TrimSpace(line))
		}
	}
	each(want, func(key, _ string) { count[key]++ })
	each(got, func(key, line string) {
		if count[key]--; count[key] < 0 {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	})
	each(want, func(key, line string) {
		if count[key] > 0 {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	})
	return b.String()
}
