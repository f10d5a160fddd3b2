package repocheck

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
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
		for _, name := range tracked(t, ":(glob)"+dir+"/*.go") {
			for _, line := range generateMethods.FindAllStringSubmatch(read(t, name), -1) {
				found++
				made, generated := filepath.Join(t.TempDir(), "made.go"), dir+"/"+line[2]
				args := slices.Concat([]string{"run"}, strings.Fields(line[1]), []string{made})
				output(t, filepath.Join(root, filepath.FromSlash(dir)), []string{"GOWORK="}, "go", args...)
				want, err := os.ReadFile(made)
				require.NoError(t, err)
				assert.Truef(t, read(t, generated) == string(want), "%s is not what go generate makes of the interfaces", generated)
			}
		}
	}
	assert.Equalf(t, 4, found, "found %d files that are generated, want 4", found)
}
