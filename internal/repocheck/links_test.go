package repocheck

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// clausesFolder returns the address of the pages that explain the clauses: on main, below the one
// base of the links.
func clausesFolder(t *testing.T) string {
	t.Helper()
	base := regexp.MustCompile(`(?m)^const Repository = "(.+)"$`).FindStringSubmatch(read(t, "adaptertest/internal/pages/pages.go"))
	if base == nil {
		t.Fatal("package pages has no constant Repository")
	}
	return base[1] + "main/adaptertest/"
}

// TestClausesAreLinks: on the page of package auth/adapter each clause is a link.
// The methods of an interface and the variables of a block are shown as code, which
// has no links; the comment of the interface or of the block then has one.
func TestClausesAreLinks(t *testing.T) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range tracked(t, "auth/adapter/*.go") {
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, "github.com/gatehouse-go/gatehouse/auth/adapter")
	if err != nil {
		t.Fatal(err)
	}
	links, folder := 0, clausesFolder(t)
	check := func(name, text string, decl ast.Node) {
		parsed := pkg.Parser().Parse(text)
		for _, d := range parsed.Links {
			if id := regexp.MustCompile(`^[A-Z]+-[0-9]{2}$`).FindString(d.Text); id != "" && d.URL != folder+pageOf(id) {
				t.Errorf("%s: %s leads to %s", name, id, d.URL)
			}
		}
		links += len(parsed.Links)
		shown := string(new(comment.Printer).HTML(parsed))
		if id := regexp.MustCompile(`\[[A-Z]+-[0-9]{2}\]`).FindString(shown); id != "" {
			t.Errorf("%s: %s is not a link", name, id)
		}
		if decl != nil && regexp.MustCompile(`\[[A-Z]+-[0-9]{2}\]`).MatchString(commentsIn(decl)) && !strings.Contains(text, "[clauses]: "+folder+"CLAUSES.md\n") {
			t.Errorf("%s: its members name clauses, and it has no link to CLAUSES.md", name)
		}
	}
	check("package", pkg.Doc, nil)
	for _, v := range append(pkg.Vars, pkg.Consts...) {
		check(v.Names[0], v.Doc, v.Decl)
	}
	functions := pkg.Funcs
	for _, typ := range pkg.Types {
		check(typ.Name, typ.Doc, typ.Decl)
		functions = append(functions, append(typ.Funcs, typ.Methods...)...)
	}
	for _, f := range functions {
		check(f.Name, f.Doc, nil)
	}
	if links == 0 {
		t.Error("the package has no links")
	}
}

// pageOf returns the path and the anchor of a clause.
func pageOf(id string) string {
	group, _, _ := strings.Cut(strings.ToLower(id), "-")
	return "clauses/" + group + ".md#" + strings.ToLower(id)
}

// commentsIn returns the comments of the members of a declaration.
func commentsIn(decl ast.Node) string {
	var b strings.Builder
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			b.WriteString(n.Doc.Text())
		case *ast.ValueSpec:
			b.WriteString(n.Doc.Text())
		}
		return true
	})
	return b.String()
}
