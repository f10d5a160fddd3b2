// Package authjs runs the real Auth.js, for tests that compare with it. The
// scripts and pinned packages are in the folder interop of the repository.
package authjs

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/internal/node"
)

// Call passes input to a script as JSON and decodes its answer into output.
func Call(t testing.TB, script string, input, output any) {
	t.Helper()
	cmd := node.Command(t, "nothing was compared with Auth.js", script)
	encoded, err := json.Marshal(input)
	require.NoError(t, err)
	var answer, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(encoded), &answer, &complaints
	require.NoErrorf(t, cmd.Run(), "node %s: %s", script, &complaints)
	require.NoErrorf(t, json.Unmarshal(answer.Bytes(), output), "node %s", script)
}
