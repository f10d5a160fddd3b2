// Package apart tests that the files of clauses in one package do not use each other.
package apart

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Files reads the files of the clauses in the working directory: none of them uses a
// declaration of another one, and only the list of all clauses uses their
// declarations. A declaration that two files need is in a file of its own.
func Files(t *testing.T) {
	t.Helper()
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
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("clauses", set, files, &info)

	group := func(pos token.Pos) string {
		name := filepath.Base(set.Position(pos).Filename)
		if !strings.HasPrefix(name, "clauses_") {
			return ""
		}
		return name
	}
	uses := map[string]bool{}
	for id, object := range info.Uses {
		if object.Pkg() != pkg || !object.Pos().IsValid() {
			continue
		}
		declared, used := group(object.Pos()), group(id.Pos())
		if declared == "" || declared == used || strings.HasSuffix(object.Name(), "Clauses") {
			continue
		}
		if _, local := object.(*types.Var); local && object.Parent() != pkg.Scope() && object.Parent() != nil {
			continue
		}
		uses[fmt.Sprintf("%s uses %s of %s", filepath.Base(set.Position(id.Pos()).Filename), object.Name(), declared)] = true
	}
	for _, use := range slices.Sorted(maps.Keys(uses)) {
		t.Error(use)
	}
	if len(info.Uses) == 0 {
		t.Error("no names were found")
	}
}
