package repocheck

import (
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// maxColumns is the length of a line in characters, a tab counted as one, beyond
// which the line is long.
const maxColumns = 120

// longLines is how many lines of a hundred may be long in a package. In others it
// is maxLongLines. These limits are never raised.
var longLines = map[string]int{
	"adapters/memory":                          3,
	"adapters/mongo":                           3,
	"adapters/mongo/mongotest":                 4,
	"adapters/postgres":                        4,
	"adapters/postgres/postgrestest":           5,
	"adapters/redis":                           3,
	"adapters/redis/cmd/copyupstash":           3,
	"adapters/redis/redistest":                 3,
	"adapters/sqlite":                          3,
	"adapters/sqlite/sqlitetest":               4,
	"adaptertest":                              3,
	"adaptertest/bundled/cmd/benchlarge":       3,
	"adaptertest/bundled/cmd/conformance":      4,
	"adaptertest/bundled/internal/growth":      4,
	"adaptertest/internal/matrix":              4,
	"adaptertest/bundled/internal/stores":      3,
	"adaptertest/bundled/internal/stress":      3,
	"adaptertest/bundled/internal/wirings":     3,
	"adaptertest/internal/clauses/concurrency": 3,
	"adaptertest/internal/clauses/flow":        3,
	"adaptertest/internal/clauses/records":     4,
	"adaptertest/internal/clauses/values":      4,
	"adaptertest/internal/clausesdoc":          14,
	"adaptertest/internal/history":             4,
	"adaptertest/internal/mutants":             5,
	"adaptertest/internal/mutants/cmd/mutants": 5,
	"auth":                             3,
	"auth/adapter/internal/methods":    3,
	"auth/frameworks":                  4,
	"auth/internal/oidcprovider":       3,
	"auth/internal/pages":              4,
	"auth/providers":                   3,
	"auth/providers/internal/generate": 5,
	"auth/webauthn":                    5,
	"examples/demo":                    3,
	"examples/devprovider":             3,
	"examples/frameworks/middleware":   3,
	"examples/guide":                   3,
	"examples/htmx":                    3,
	"examples/internal/frontend":       3,
	"examples/internal/visitor":        4,
	"examples/migrate":                 3,
	"examples/ownadapter":              5,
	"examples/plain":                   3,
	"examples/routers/chi":             4,
	"internal/authjs":                  3,
	"internal/peers/handlers":          4,
}

const maxLongLines = 2

// TestLongLinesStayFew counts the long lines of each package, so that their share
// does not grow.
func TestLongLinesStayFew(t *testing.T) {
	long, all := map[string]int{}, map[string]int{}
	for _, name := range tracked(t, "*.go") {
		dir := path.Dir(name)
		for line := range strings.Lines(read(t, name)) {
			all[dir]++
			if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > maxColumns {
				long[dir]++
			}
		}
	}
	for dir, n := range all {
		limit, listed := longLines[dir]
		if !listed {
			limit = maxLongLines
		}
		assert.Truef(t, long[dir]*100 <= n*limit,
			"package %s has %d lines longer than %d characters of %d, more than %d%%", dir, long[dir], maxColumns, n, limit)
	}
}
