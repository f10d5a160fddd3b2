package repocheck

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxFile is the largest size in bytes of a file in the repository.
const maxFile = 1 << 20

// TestNothingIsBuiltOrHuge: no compiled program and no huge file is committed.
func TestNothingIsBuiltOrHuge(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	cmd.Dir = root
	out, err := cmd.Output()
	require.NoError(t, err)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if os.IsNotExist(err) {
			continue // the file is deleted, but the deletion is not committed yet
		}
		require.NoError(t, err)
		assert.Truef(t, len(content) <= maxFile, "%s has %d bytes, more than %d", name, len(content), maxFile)
		for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "!<arch>"} {
			assert.Falsef(t, bytes.HasPrefix(content, []byte(magic)), "%s is a compiled program", name)
		}
	}
}
