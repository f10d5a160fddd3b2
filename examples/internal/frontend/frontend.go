// Package frontend builds the pages of the examples that are written for Node.
package frontend

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Build builds the page in a folder of the examples with the pinned packages of
// that folder, and returns the files. dir is relative to the folder of the test.
// Without Node, or without the packages, the test is skipped with a message. With
// the environment variable CI=true it fails instead.
func Build(t testing.TB, dir string) fs.FS {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs Node")
	}
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("NOT PROVED: the page in %s, because node is not in the PATH", dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir = dir
		return cmd.CombinedOutput()
	}
	if out, err := run("node", filepath.Join(dir, "..", "..", "interop", "install.mjs"), filepath.Join("..", "examples", filepath.Base(dir))); err != nil {
		missing("NOT PROVED: the page in %s, because its packages can't be installed: %v\n%s", dir, err, out)
	}
	if out, err := run(filepath.Join(dir, "node_modules", ".bin", "vite"), "build"); err != nil {
		t.Fatalf("the page in %s can't be built: %v\n%s", dir, err, out)
	}
	return os.DirFS(filepath.Join(dir, "dist"))
}
