package adaptertest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	clauseReferences = regexp.MustCompile(`\s*(\[[A-Z]+-\d\d\]( to )?)+`)
	clauseLinks      = regexp.MustCompile(`(?m)^(\[\S+\]: https:.*|.*CLAUSES\.md explains.*)$`)
	sentences        = regexp.MustCompile(`(?:[^.:]|[.:]\S)+[.:]?`)
)

// promises are the sentences of the comments in the files of package adapter that
// say what an adapter owes.
func promises(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range []string{"doc.go", "adapter.go", "capabilities.go", "records.go", "errors.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "auth", "adapter", name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, comment := range file.Comments {
			text := clauseLinks.ReplaceAllString(comment.Text(), "")
			text = clauseReferences.ReplaceAllString(strings.Join(strings.Fields(text), " "), "")
			for _, s := range sentences.FindAllString(text, -1) {
				all = append(all, strings.TrimPrefix(strings.TrimSpace(s), "- "))
			}
		}
	}
	return all
}

// TestPromisesHaveClauses compares PROMISES.md with the comments of package
// adapter: every sentence has a row, with the clauses that check it or with the
// reason why it needs none.
func TestPromisesHaveClauses(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("PROMISES.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range Clauses() {
		known[c.ID] = true
	}
	var listed []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 2 || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| Sentence") {
			continue
		}
		promise, by := strings.TrimPrefix(cells[0], "| "), strings.TrimSuffix(cells[1], " |")
		listed = append(listed, promise)
		if slices.Contains([]string{"a name", "a use", "package adapter's tests", "no clause yet"}, by) {
			continue
		}
		for id := range strings.FieldsSeq(by) {
			if !known[id] {
				t.Errorf("%s: %q is no clause", promise, id)
			}
		}
	}
	for i, want := range promises(t) {
		if i >= len(listed) || listed[i] != want {
			t.Fatalf("row %d of PROMISES.md is not %q", i+1, want)
		}
	}
	if n := len(promises(t)); len(listed) != n {
		t.Errorf("PROMISES.md has %d rows, the comments %d sentences", len(listed), n)
	}
}
