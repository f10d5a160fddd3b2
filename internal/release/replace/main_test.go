package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../../.."

// TestProgramsOutsideTheWorkspace builds programs as the README says, with the
// lines that the command prints.
func TestProgramsOutsideTheWorkspace(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT PROVED: builds programs; runs without -short")
	}
	t.Run("the program of the README", func(t *testing.T) {
		program := readmeProgram(t)
		dir := build(t, program, []string{"auth"})
		started(t, filepath.Join(dir, "site"))
	})
	t.Run("chi and postgres", func(t *testing.T) {
		program, err := os.ReadFile("testdata/site/main.go")
		require.NoError(t, err)
		build(t, string(program), []string{"auth/frameworks", "github.com/gatehouse-go/gatehouse/adapters/postgres"},
			"-require=github.com/go-chi/chi/v5@v5.5.0")
	})
}

// readmeProgram returns the first program of the README.
func readmeProgram(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindSubmatch(readme)
	require.NotNil(t, block, "the README has no program")
	return string(block[1])
}

// build builds the program in a folder of its own, as the executable site.
func build(t *testing.T, program string, packages []string, edits ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o644))
	command, err := filepath.Abs("main.go")
	require.NoError(t, err)
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoErrorf(t, err, "go %s: %v\n%s", strings.Join(args, " "), err, &stderr)
		return string(out)
	}
	run("mod", "init", "example.com/site")
	lines := run(append([]string{"run", command}, packages...)...)
	goMod := filepath.Join(dir, "go.mod")
	before, err := os.ReadFile(goMod)
	if err == nil {
		err = os.WriteFile(goMod, append(before, lines...), 0o644)
	}
	require.NoError(t, err)
	if len(edits) > 0 {
		run(append([]string{"mod", "edit"}, edits...)...)
	}
	run("mod", "tidy")
	run("build", "-o", "site", ".")
	return dir
}

// started starts the program of the README, which must say where it listens.
func started(t *testing.T, program string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "AUTH_SECRET="+strings.Repeat("program-secret", 3), "AUTH_GITHUB_ID=id", "AUTH_GITHUB_SECRET=secret")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	assert.Containsf(t, line, "http://localhost:3000", "the program prints %q, error %v, want where it listens", line, err)
}

// TestUnknownPackages: what is not in the repository has no line.
func TestUnknownPackages(t *testing.T) {
	for _, packages := range [][]string{nil, {"no/such/package"}, {"../auth"}, {"/"}, {"example.com/auth"}} {
		got, err := lines(packages)
		assert.Errorf(t, err, "%q: got %s, want an error", packages, got)
	}
}

// TestLines: a module brings the modules that it requires. The README shows the
// same lines.
func TestLines(t *testing.T) {
	got, err := lines([]string{"auth", "adapters/postgres"})
	require.NoError(t, err)
	for _, module := range []string{"auth", "adaptertest", "adapters/postgres"} {
		line := "\t" + importRoot + "/" + module + " => " + root + "/" + module + "\n"
		assert.Contains(t, got, line)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	shown := strings.ReplaceAll(strings.TrimSpace(got), root+"/", "../gatehouse/")
	shown = "    " + strings.ReplaceAll(shown, "\n", "\n    ") + "\n"
	assert.Containsf(t, string(readme), shown, "the README does not show\n%s", shown)
}
