// Package node runs the scripts of the folder interop of the repository in
// Node, for tests that compare with other programs.
package node

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Command returns the command that runs a script, such as oidc/provider.mjs,
// with the pinned packages of its folder. It installs the packages if they are
// missing. Without Node, or without the packages, it skips the test with a
// message that the proof is missing. With the environment variable CI=true the
// test fails instead.
func Command(t testing.TB, proof, script string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skipf("NOT PROVED: %s, because -short leaves out what needs Node", proof)
	}
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	node, err := exec.LookPath("node")
	if err != nil {
		missing("NOT PROVED: %s, because node is not in the PATH", proof)
	}
	dir, err := folder()
	if err != nil {
		missing("NOT PROVED: %s: %v", proof, err)
	}
	install := exec.CommandContext(t.Context(), node, filepath.Join(dir, "install.mjs"), filepath.Dir(script))
	if out, err := install.CombinedOutput(); err != nil {
		missing("NOT PROVED: %s, because the packages of %s can't be installed: %v\n%s", proof, script, err, out)
	}
	return exec.CommandContext(t.Context(), node, filepath.Join(dir, script))
}

// folder finds the folder interop in a parent of the test's folder.
func folder() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		found := filepath.Join(dir, "interop")
		if _, err := os.Stat(filepath.Join(found, "install.mjs")); err == nil {
			return found, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the folder interop does not exist")
		}
		dir = filepath.Dir(dir)
	}
}
