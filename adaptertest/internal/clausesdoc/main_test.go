package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pages"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPagesAreUpToDate(t *testing.T) {
	want := render(adaptertest.Clauses())
	for file, text := range want {
		got, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		require.NoError(t, err)
		assert.Equalf(t, text, string(got),
			"%s is not what clauses.json and advice.json make: run go generate in adaptertest", file)
	}
	there, err := filepath.Glob(filepath.Join("..", "..", "clauses", "*"))
	require.NoError(t, err)
	assert.Equalf(t, len(want)-1, len(there),
		"%d files in clauses, want one for each of %d groups", len(there), len(want)-1)
}

// TestLinksLeadToTheClause follows the address that a failure names to the heading in this repository.
func TestLinksLeadToTheClause(t *testing.T) {
	for _, c := range adaptertest.Clauses() {
		path, ok := strings.CutPrefix(pages.Clause(c.ID, "v0.1.0"), pages.Repository+"adaptertest/v0.1.0/adaptertest/")
		file, anchor, _ := strings.Cut(path, "#")
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if !ok || err != nil || !strings.Contains(strings.ToLower(string(text)), "\n## "+anchor+"\n") {
			t.Errorf("%s: %s is not the address of a heading: %v", c.ID, pages.Clause(c.ID, "v0.1.0"), err)
		}
	}
}

func TestEveryClauseIsExplained(t *testing.T) {
	for _, c := range adaptertest.Clauses() {
		for what, text := range map[string]string{
			"rule": c.Rule, "test": c.Test, "reason": c.Reason, "fix for SQL": c.Fix.SQL, "fix for Redis": c.Fix.Redis, "fix for MongoDB": c.Fix.Mongo,
		} {
			assert.Truef(t, len(text) >= 8 && strings.ContainsAny(text[len(text)-1:], ".)"),
				"%s: the %s is %q, want a sentence", c.ID, what, text)
		}
		assert.NotEmptyf(t, groups[c.Group()], "%s: the group has no title", c.ID)
	}
}

func TestMarkup(t *testing.T) {
	got, want := escape("a_b <c> *d*"), `a\_b &lt;c&gt; \*d\*`
	assert.Equal(t, want, got, "escape")
	got, want = link("next-auth#12 and x/y-z#3"), "[next-auth#12](https://github.com/nextauthjs/next-auth/issues/12) and [x/y-z#3](https://github.com/x/y-z/issues/3)"
	assert.Equal(t, want, got, "link")
}
