package adaptertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoAliasIsExported reads the packages that an author imports: a type that is an alias
// of an internal one would have its fields and methods outside the documentation.
func TestNoAliasIsExported(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "bench", "fault", "remote"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%d Go files in %s, error %v", len(paths), dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.TypeSpec); ok && s.Assign.IsValid() && s.Name.IsExported() {
					t.Errorf("%s: %s is an alias", path, s.Name.Name)
				}
				return true
			})
		}
	}
}
