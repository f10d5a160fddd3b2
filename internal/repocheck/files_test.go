package repocheck

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// maxFile is the largest size in bytes of a file in the repository.
const maxFile = 1 << 20

// TestNothingIsBuiltOrHuge: no compiled program and no huge file is committed.
func TestNothingIsBuiltOrHuge(t *testing.T) {
	for _, name := range files(t, ".") {
		content := read(t, name)
		assert.Truef(t, len(content) <= maxFile, "%s has %d bytes, more than %d", name, len(content), maxFile)
		for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "!<arch>"} {
			assert.Falsef(t, strings.HasPrefix(content, magic), "%s is a compiled program", name)
		}
	}
}
