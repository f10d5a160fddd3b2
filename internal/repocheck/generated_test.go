package repocheck

import (
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

var generateMethods = regexp.MustCompile(`(?m)^//go:generate go run (\S+/methods -form .*) (\S+)$`)

// TestMethodsAreFresh generates what differs only in the signature of a method again,
// from the interfaces of package adapter.
func TestMethodsAreFresh(t *testing.T) {
	found := 0
	for _, dir := range []string{"auth/adapter", "adaptertest/internal/kit", "adaptertest/internal/mutants", "adaptertest/remote"} {
		dir = filepath.Join(root, filepath.FromSlash(dir))
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, name := range files {
			content, err := os.ReadFile(name)
			require.NoError(t, err)
			for _, line := range generateMethods.FindAllSubmatch(content, -1) {
				found++
				made, generated := filepath.Join(t.TempDir(), "made.go"), filepath.Join(dir, string(line[2]))
				cmd := exec.CommandContext(t.Context(), "go", append([]string{"run"}, append(strings.Fields(string(line[1])), made)...)...)
				cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", line[0], err, out)
				}
				want, err := os.ReadFile(made)
				require.NoError(t, err)
				if got, err := os.ReadFile(generated); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s is not what go generate makes of the interfaces (error: %v)", generated, err)
				}
			}
		}
	}
	assert.Equalf(t, 4, found, "found %d files that are generated, want 4", found)
}
