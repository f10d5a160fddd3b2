// Package authjs runs the real Auth.js, for tests that compare with it. The
// scripts and pinned packages are in the folder interop of the repository.
package authjs

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/node"
)

// Call passes input to a script as JSON and decodes its answer into output.
func Call(t testing.TB, script string, input, output any) {
	t.Helper()
	cmd := node.Command(t, "nothing was compared with Auth.js", script)
	encoded, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var answer, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encoded), &answer, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %s: %v\n%s", script, err, &complaints)
	}
	if err := json.Unmarshal(answer.Bytes(), output); err != nil {
		t.Fatalf("node %s: %v", script, err)
	}
}
