package client_test

import (
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/node"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInteropTypes compiles the types with the TypeScript compiler.
func TestInteropTypes(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	require.NoError(t, err)
	cmd := node.Command(t, "the types of the browser module", "types/check.mjs")
	cmd.Args = append(cmd.Args, dir)
	out, err := cmd.CombinedOutput()
	assert.NoErrorf(t, err, "%s", out)
}
