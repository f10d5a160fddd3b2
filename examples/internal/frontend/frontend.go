// Package frontend builds the pages of the examples that are written for Node.
package frontend

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Build builds the page in a folder of the examples with the pinned packages of
// that folder, and returns the files. dir is relative to the folder of the test.
// Without Node, or without the packages, the test is skipped with a message. With
// the environment variable CI=true it fails instead.
func Build(t testing.TB, dir string) fs.FS {
	t.Helper()
	dir = Install(t, dir)
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "vite"), "build")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoErrorf(t, err, "the page in %s can't be built:\n%s", dir, out)
	return os.DirFS(filepath.Join(dir, "dist"))
}

// Install installs the pinned packages of a folder, as Build does, and returns
// its absolute path.
func Install(t testing.TB, dir string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs Node")
	}
	missing := t.Skipf
	if os.Getenv("CI") == "true" {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("NOT PROVED: what needs the packages of %s, because node is not in the PATH", dir)
	}
	dir, err := filepath.Abs(dir)
	require.NoError(t, err)
	root := dir
	for filepath.Base(root) != "examples" && filepath.Base(root) != "interop" {
		root = filepath.Dir(root)
	}
	interop := filepath.Join(filepath.Dir(root), "interop")
	relative, err := filepath.Rel(interop, dir)
	require.NoError(t, err)
	if out, err := exec.CommandContext(t.Context(), "node", filepath.Join(interop, "install.mjs"), relative).CombinedOutput(); err != nil {
		missing("NOT PROVED: the packages of %s can't be installed: %v\n%s", dir, err, out)
	}
	return dir
}
