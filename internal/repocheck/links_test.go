package repocheck

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clausesFolder returns the address of the pages that explain the clauses: on main, below the one
// base of the links.
func clausesFolder(t *testing.T) string {
	t.Helper()
	base := regexp.MustCompile(`(?m)^const Repository = "(.+)"$`).FindStringSubmatch(read(t, "adaptertest/internal/pages/pages.go"))
	require.NotNil(t, base, "package pages has no constant Repository")
	return base[1] + "main/adaptertest/"
}

var (
	clauseID    = regexp.MustCompile(`^[A-Z]+-[0-9]{2}$`)
	plainClause = regexp.MustCompile(`\[[A-Z]+-[0-9]{2}\]`)
)

// TestClausesAreLinks: on the pages of these packages each clause is a link.
// The methods of an interface, the fields of a struct and the variables of a block
// are shown as code, which has no links; the comment of the type or of the block
// then has one.
func TestClausesAreLinks(t *testing.T) {
	folder := clausesFolder(t)
	for _, dir := range []string{"auth/adapter", "adaptertest"} {
		links := 0
		pkg := documentation(t, dir)
		eachComment(pkg, func(name, text string, decl ast.Node) {
			parsed := pkg.Parser().Parse(text)
			for _, d := range parsed.Links {
				id := clauseID.FindString(d.Text)
				assert.Truef(t, id == "" || d.URL == folder+pageOf(id), "%s: %s leads to %s", name, id, d.URL)
			}
			links += len(parsed.Links)
			id := plainClause.FindString(string(new(comment.Printer).HTML(parsed)))
			assert.Emptyf(t, id, "%s: %s is not a link", name, id)
			assert.Falsef(t, decl != nil && plainClause.MatchString(commentsIn(decl)) && !strings.Contains(text, "[clauses]: "+folder+"CLAUSES.md\n"),
				"%s: its members name clauses, and it has no link to CLAUSES.md", name)
		})
		assert.NotEqualf(t, 0, links, "package %s has no links", dir)
	}
}

// TestAdaptersLinkToTheClauses: the page of an adapter has a link to CLAUSES.md if
// its comments name clauses. A link for each of them, hundreds, would hide the text.
func TestAdaptersLinkToTheClauses(t *testing.T) {
	link, named := "[clauses]: "+clausesFolder(t)+"CLAUSES.md\n", 0
	for _, name := range tracked(t, ":(glob)adapters/*/doc.go") {
		pkg := documentation(t, path.Dir(name))
		eachComment(pkg, func(symbol, text string, decl ast.Node) {
			if plainClause.MatchString(text) || decl != nil && plainClause.MatchString(commentsIn(decl)) {
				named++
				assert.Containsf(t, pkg.Doc, link,
					"%s: %s names clauses, and the comment of the package has no link to CLAUSES.md", name, symbol)
			}
		})
	}
	assert.NotEqual(t, 0, named, "no comment of an adapter names a clause")
}

// documentation is the page of a package of the repository.
func documentation(t *testing.T, dir string) *doc.Package {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range tracked(t, ":(glob)"+dir+"/*.go") {
		file, err := parser.ParseFile(fset, filepath.Join(root, name), nil, parser.ParseComments)
		require.NoError(t, err)
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fset, files, ours+dir)
	require.NoError(t, err)
	return pkg
}

// eachComment calls f with the comments of a page: of the package, of its exported names, and of the types with
// their declarations.
func eachComment(pkg *doc.Package, f func(name, text string, decl ast.Node)) {
	f("package", pkg.Doc, nil)
	for _, v := range append(pkg.Vars, pkg.Consts...) {
		f(v.Names[0], v.Doc, v.Decl)
	}
	functions := pkg.Funcs
	for _, typ := range pkg.Types {
		f(typ.Name, typ.Doc, typ.Decl)
		functions = append(functions, append(typ.Funcs, typ.Methods...)...)
	}
	for _, fn := range functions {
		f(fn.Name, fn.Doc, nil)
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
