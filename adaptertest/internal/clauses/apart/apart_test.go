package apart

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestClauseFilesAreApart reads each package of clauses, which stand beside this one.
func TestClauseFilesAreApart(t *testing.T) {
	beside, err := os.ReadDir("..")
	require.NoError(t, err)
	for _, dir := range beside {
		if dir.Name() == "apart" {
			continue
		}
		t.Run(dir.Name(), func(t *testing.T) {
			t.Chdir(filepath.Join("..", dir.Name()))
			Files(t)
		})
	}
}
