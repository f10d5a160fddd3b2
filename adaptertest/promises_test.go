package adaptertest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	clauseReference  = regexp.MustCompile(`\[([A-Z]+-\d\d)\]`)
	clauseReferences = regexp.MustCompile(`\s*(\[[A-Z]+-\d\d\]( to )?)+`)
	clauseLinks      = regexp.MustCompile(`(?m)^(\[\S+\]: https:.*|.*CLAUSES\.md explains.*)$`)
	paragraphs       = regexp.MustCompile(`\n\n|\n  - `)
	sentences        = regexp.MustCompile(`(?:[^.:]|[.:]\S)+[.:]?`)
)

// saysWhatItIs are the sentences of the contract that promise nothing: they are
// about the core or the application, or say what a thing is. The first sentence
// about a type promises nothing either. Only the tests of the adapters check the
// last one.
var saysWhatItIs = strings.Split(`the five kinds of record, the nineteen methods that read and write them, and the errors that a store returns.
Four rules hold for every method and are not repeated below.
The package imports nothing but the standard library.
The interfaces in this file are optional.
An adapter without them works; the core then takes the stricter way.
[Capability] finds them.
Without it, a store that fails between the writes leaves a user who can't sign in.
An adapter without it keeps the flags of the registration.
auth.New names the providers whose users have none.
See docs/protocol.md, "Records".
TokenType is lower case.
Token is the hash of the token in the mail, never the token itself.`, "\n")

// TestPromisesHaveClauses: each sentence of the comments of package adapter that
// promises something names a clause, at its end or at the end of its paragraph,
// and each clause that is named exists. The comments of functions are left out:
// package adapter keeps what they promise, and its tests check it.
func TestPromisesHaveClauses(t *testing.T) {
	t.Parallel()
	var known, excused []string
	for _, c := range Clauses() {
		known = append(known, c.ID)
	}
	for _, name := range []string{"doc.go", "adapter.go", "capabilities.go", "records.go", "errors.go"} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, filepath.Join("..", "auth", "adapter", name), nil, parser.ParseComments)
		require.NoError(t, err)
		ofTypes, ofFunctions := documented(file)
		for _, group := range file.Comments {
			if slices.Contains(ofFunctions, group) {
				continue
			}
			promises, named := withoutClause(group.Text())
			if slices.Contains(ofTypes, group) && len(promises) > 0 && strings.HasPrefix(strings.Join(strings.Fields(group.Text()), " "), promises[0]) {
				promises = promises[1:]
			}
			for _, s := range promises {
				if slices.Contains(saysWhatItIs, s) {
					excused = append(excused, s)
				} else {
					t.Errorf("%s: %q names no clause", fset.Position(group.Pos()), s)
				}
			}
			for _, id := range named {
				assert.Containsf(t, known, id, "%s: there is no such clause", fset.Position(group.Pos()))
			}
		}
	}
	assert.Subset(t, excused, saysWhatItIs, "sentences without a clause")
}

// documented returns the comments of the package and its types, and those of its
// functions.
func documented(file *ast.File) (ofTypes, ofFunctions []*ast.CommentGroup) {
	ofTypes = append(ofTypes, file.Doc)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if d.Tok == token.TYPE {
				ofTypes = append(ofTypes, d.Doc)
			}
		case *ast.FuncDecl:
			ofFunctions = append(ofFunctions, d.Doc)
		}
	}
	return ofTypes, ofFunctions
}

// withoutClause returns the sentences of a comment after which their paragraph
// names no clause, and the clauses that the comment names.
func withoutClause(text string) (promises, named []string) {
	for _, paragraph := range paragraphs.Split(clauseLinks.ReplaceAllString(text, ""), -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		last := 0
		for _, m := range clauseReference.FindAllStringSubmatchIndex(paragraph, -1) {
			named = append(named, paragraph[m[2]:m[3]])
			last = m[1]
		}
		rest := sentences.FindAllString(clauseReferences.ReplaceAllString(paragraph[last:], ""), -1)
		if strings.HasPrefix(paragraph[last:], ",") {
			rest = rest[1:] // the sentence goes on after the clause
		}
		for _, s := range rest {
			promises = append(promises, strings.TrimSpace(s))
		}
	}
	return promises, named
}
