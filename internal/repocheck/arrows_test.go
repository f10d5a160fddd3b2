package repocheck

import (
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// arrows has, for a package, the packages of the repository that its code may
// import. Tests may import more.
var arrows = map[string][]string{
	"auth/adapter":            {},
	"auth/jwt":                {},
	"auth/internal/wire":      {"auth/jwt"},
	"auth/internal/once":      {"auth/internal/recent"},
	"auth/internal/passwords": {"auth/adapter", "auth/texts"},
	"auth/internal/began":     {"auth/internal/once", "auth/internal/wire", "auth/jwt"},

	"adaptertest/internal/model":   {"auth/adapter"},
	"adaptertest/internal/kit":     {"adaptertest/fault", "adaptertest/internal/deadlock", "adaptertest/internal/diff", "adaptertest/internal/goroutines", "auth/adapter"},
	"adaptertest/internal/faulted": append([]string{"adaptertest/internal/kit", "adaptertest/internal/model"}, ofSuite...),
	"adaptertest/internal/race": append([]string{
		"adaptertest/internal/kit", "adaptertest/internal/faulted", "adaptertest/internal/history", "adaptertest/internal/model",
	}, ofSuite...),
	"adaptertest/internal/clauses/records":     ofClauses,
	"adaptertest/internal/clauses/values":      ofClauses,
	"adaptertest/internal/clauses/concurrency": ofClauses,
	"adaptertest/internal/clauses/faults":      ofClauses,
	"adaptertest/internal/clauses/life":        ofClauses,
	"adaptertest/internal/clauses/flow":        append([]string{"adaptertest/internal/browser", "auth"}, ofClauses...),
	"adaptertest/internal/sessionstore":        {"auth/adapter"},
	"adaptertest/internal/clauses/sessions":    append([]string{"adaptertest/internal/sessionstore"}, ofClauses...),
	"adaptertest/remote":                       {"adaptertest", "adaptertest/fault", "adaptertest/internal/deadlock", "adaptertest/internal/goroutines", "auth/adapter"},
	"adaptertest/bench":                        {"adaptertest", "adaptertest/internal/diff", "adaptertest/internal/kit", "auth/adapter"},
}

// ofSuite are the packages that the instruments of the suite import, and ofClauses those
// that clauses import: no package of clauses imports another.
var (
	ofSuite   = []string{"adaptertest/fault", "adaptertest/internal/diff", "adaptertest/internal/pair", "auth/adapter"}
	ofClauses = append([]string{
		"adaptertest/internal/kit", "adaptertest/internal/race", "adaptertest/internal/faulted", "adaptertest/internal/goroutines", "adaptertest/internal/model",
	}, ofSuite...)
)

// TestArrows checks what the packages import. The compiler refuses a cycle, but
// not an arrow that points from a room into one that should not know it.
func TestArrows(t *testing.T) {
	for dir, allowed := range arrows {
		for _, name := range sources(t, dir) {
			file, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.ImportsOnly)
			require.NoError(t, err)
			for _, spec := range file.Imports {
				path, _ := strconv.Unquote(spec.Path.Value) // the parser has accepted it
				if path, own := strings.CutPrefix(path, ours); own && !slices.Contains(allowed, path) {
					t.Errorf("%s imports %s, which %s must not know", name, path, dir)
				}
			}
		}
	}
}
