package adaptertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNoAliasIsExported reads the packages that an author imports: a type that is an alias
// of an internal one would have its fields and methods outside the documentation.
func TestNoAliasIsExported(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "bench", "fault", "remote"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.Truef(t, err == nil && len(paths) != 0, "%d Go files in %s, error %v", len(paths), dir, err)
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok {
					assert.Falsef(t, s.Assign.IsValid() && s.Name.IsExported(), "%s: %s is an alias", path, s.Name.Name)
				}
				return true
			})
		}
	}
}
