package client_test

import (
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/node"
)

// TestInteropTypes compiles the types with the TypeScript compiler.
func TestInteropTypes(t *testing.T) {
	t.Parallel()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	cmd := node.Command(t, "the types of the browser module", "types/check.mjs")
	cmd.Args = append(cmd.Args, dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
