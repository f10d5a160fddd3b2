// Package authjs runs the real Auth.js, for tests that compare with it. Its
// scripts and pinned packages are in the folder interop of the repository.
package authjs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Call gives input to a script as JSON and reads its answer into output.
// Without Node the test is skipped, and says what was not proved. The packages
// are installed by a call that finds them missing.
func Call(t *testing.T, script string, input, output any) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("NOT PROVED: nothing was compared with Auth.js, because node is not in the PATH")
	}
	dir := folder(t)
	if err := install(t, dir); err != nil {
		t.Skipf("NOT PROVED: nothing was compared with Auth.js, because its packages can't be installed: %v", err)
	}
	encoded, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var answer, complaints bytes.Buffer
	cmd := exec.CommandContext(t.Context(), node, script)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(encoded), &answer, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, &complaints)
	}
	if err := json.Unmarshal(answer.Bytes(), output); err != nil {
		t.Fatalf("node %s: %v", script, err)
	}
}

// install makes sure of the packages. They are installed in a folder of their
// own and moved in place, so that several processes may do it at once.
func install(t *testing.T, dir string) error {
	t.Helper()
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return nil
	}
	tmp, err := os.MkdirTemp(dir, "install-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	for _, name := range []string{"package.json", "package-lock.json", ".npmrc"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, name), content, 0o600); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-audit", "--no-fund")
	cmd.Dir = tmp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(tmp, "node_modules"), modules); err != nil {
		if _, there := os.Stat(modules); there != nil {
			return err
		}
	}
	return nil
}

// folder finds the folder interop, above the one that the test runs in.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		found := filepath.Join(dir, "interop")
		if _, err := os.Stat(filepath.Join(found, "package.json")); err == nil {
			return found
		}
		if dir == filepath.Dir(dir) {
			t.Skip("NOT PROVED: nothing was compared with Auth.js, because the folder interop is not there")
		}
		dir = filepath.Dir(dir)
	}
}
