package kit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// The context is what every clause knows. A helper that few clauses use is a function of
// their package, not a method of it.
const (
	maxMethods   = 60  // promoted ones included
	maxFunctions = 150 // exported functions that take a context
)

func TestContextIsSmall(t *testing.T) {
	t.Parallel()
	set := token.NewFileSet()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	// Imports stay unresolved: only names of this package matter here.
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("kit", set, files, nil)
	context := types.NewPointer(pkg.Scope().Lookup("Context").Type())
	methods := types.NewMethodSet(context).Len()
	functions := 0
	for _, name := range pkg.Scope().Names() {
		f, ok := pkg.Scope().Lookup(name).(*types.Func)
		if !ok || !f.Exported() {
			continue
		}
		for p := range f.Signature().Params().Variables() {
			if types.Identical(p.Type(), context) {
				functions++
				break
			}
		}
	}
	t.Logf("%d methods, %d exported functions", methods, functions)
	if methods < 10 || methods > maxMethods {
		t.Errorf("Context has %d methods, want at most %d", methods, maxMethods)
	}
	if functions < 10 || functions > maxFunctions {
		t.Errorf("%d exported functions take a Context, want at most %d", functions, maxFunctions)
	}
}
