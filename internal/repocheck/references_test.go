package repocheck

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReferencesResolve checks the references of comments and pages to
// sections of the pages, clauses of the contract, and tests. There may be no
// reference to a document that is not in the repository.
func TestReferencesResolve(t *testing.T) {
	clauses := clauseIDs(t)
	outside := regexp.MustCompile(`(?i)\b(the )?specification(,)?\s+(//\s*)?(sections?|[0-9])|behaviou?r\s+(//\s*)?reference`)
	section := regexp.MustCompile(`docs/([a-z-]+\.md)(?:,\s+(?://\s+)?"([^"]+)")?`)
	clause := regexp.MustCompile(`\[([A-Z]{2,6}-[0-9]{2})\]`)
	for _, name := range tracked(t, "*.go") {
		comments := comments(read(t, name))
		if m := outside.FindString(comments); m != "" && !strings.HasPrefix(name, "internal/repocheck/") {
			t.Errorf("%s refers to a document that is not here: %q", name, m)
		}
		for _, m := range section.FindAllStringSubmatch(comments, -1) {
			page := "docs/" + m[1]
			if m[2] != "" && !strings.Contains(strings.ToLower(read(t, page)), "# "+strings.ToLower(m[2])+"\n") {
				t.Errorf("%s refers to %q of %s, which has no such heading", name, m[2], page)
			}
		}
		for _, m := range clause.FindAllStringSubmatch(comments, -1) {
			if !clauses[m[1]] && !strings.Contains(name, "_test.go") {
				t.Errorf("%s refers to %s, which is not a clause", name, m[1])
			}
		}
	}
}

// TestNamedTestsExist looks for each test that a page names.
func TestNamedTestsExist(t *testing.T) {
	var sources strings.Builder
	for _, name := range tracked(t, "*_test.go") {
		sources.WriteString(read(t, name))
	}
	for _, page := range append([]string{"SECURITY.md"}, tracked(t, "docs/*.md")...) {
		for _, m := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)").FindAllStringSubmatch(read(t, page), -1) {
			assert.Truef(t, strings.Contains(sources.String(), "func "+m[1]+"("), "%s names %s, which does not exist", page, m[1])
		}
	}
}

// comments are the lines of the comments.
func comments(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if _, comment, ok := strings.Cut(line, "//"); ok {
			b.WriteString("//" + comment)
		}
	}
	return b.String()
}

func clauseIDs(t *testing.T) map[string]bool {
	t.Helper()
	var clauses []struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(read(t, "adaptertest/clauses.json")), &clauses))
	ids := map[string]bool{}
	for _, c := range clauses {
		ids[c.ID] = true
	}
	return ids
}
