package golden_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// entries are the headings of docs/differences.md, each with whether the entry
// names TestReplay as its proof.
func entries(t *testing.T) map[string]bool {
	t.Helper()
	page := must(os.ReadFile(filepath.Join("..", "..", "..", "docs", "differences.md")))(t)
	all := map[string]bool{}
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		heading, text, _ := strings.Cut(section, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		_, ok := all[heading]
		assert.Falsef(t, ok, "docs/differences.md has the heading %q twice", heading)
		all[heading] = replayProves.MatchString(text)
	}
	return all
}

var replayProves = regexp.MustCompile("(?m)^Tests?:.*`TestReplay`")

// checkPage compares the entries that explain what a replay does differently
// with the page that lists every difference: the page has each of them, and it
// claims no replay that did not happen.
func checkPage(t *testing.T, used []string) {
	t.Helper()
	page := entries(t)
	for _, entry := range used {
		claims, ok := page[entry]
		assert.Truef(t, ok, "a recording differs, and docs/differences.md has no heading %q", entry)
		assert.Truef(t, claims || !ok, "docs/differences.md, %q: recordings differ by it, and it does not name TestReplay", entry)
	}
	for entry, claims := range page {
		assert.Falsef(t, claims && !slices.Contains(used, entry),
			"docs/differences.md, %q: it names TestReplay, and no recording differs by it", entry)
	}
}

// explained fails if docs/differences.md has no entry of that name.
func explained(t *testing.T, entry string) {
	t.Helper()
	_, ok := entries(t)[entry]
	assert.Truef(t, ok, "docs/differences.md has no heading %q", entry)
}
