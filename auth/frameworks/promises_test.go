package frameworks_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// promise is a sentence of docs/frameworks.md.
type promise struct {
	// proof proves the sentence in a world. alone proves a sentence about the
	// configuration or the environment, without a wiring.
	proof func(w *world)
	alone func(t *testing.T)
}

// promises are the proofs of all sentences of docs/frameworks.md, by ID.
func promises() map[string]promise {
	all := map[string]promise{}
	for _, list := range []map[string]promise{middlewarePromises(), fullstackPromises(), resumablePromises(), reactivePromises(), compiledUIPromises(), commonPromises()} {
		maps.Copy(all, list)
	}
	return all
}

var only = flag.String("promise", "", "the one promise to prove")

// TestPromises proves every sentence in every wiring.
func TestPromises(t *testing.T) {
	all := promises()
	for _, id := range slices.Sorted(maps.Keys(all)) {
		if *only != "" && *only != id {
			continue
		}
		p := all[id]
		t.Run(id, func(t *testing.T) {
			if p.alone != nil {
				p.alone(t)
				return
			}
			for _, x := range wirings() {
				t.Run(x.String(), func(t *testing.T) {
					t.Parallel()
					p.proof(newWorld(t, x))
				})
			}
		})
	}
}

var promiseRow = regexp.MustCompile(`(?m)^\| ([A-Z]{2}-\d\d) \|`)

// TestEveryPromiseIsProved: each ID of docs/frameworks.md has a proof, and each
// proof has an ID there.
func TestEveryPromiseIsProved(t *testing.T) {
	t.Parallel()
	page := must(os.ReadFile(filepath.Join("..", "..", "docs", "frameworks.md")))(t)
	all := promises()
	written := map[string]bool{}
	for _, m := range promiseRow.FindAllSubmatch(page, -1) {
		id := string(m[1])
		assert.Falsef(t, written[id], "%s stands twice in docs/frameworks.md", id)
		written[id] = true
		_, ok := all[id]
		assert.Truef(t, ok, "%s has no proof", id)
	}
	for id := range all {
		assert.Truef(t, written[id], "%s is proved but not promised in docs/frameworks.md", id)
	}
	assert.Truef(t, len(written) >= 60, "only %d promises were found", len(written))
	assert.True(t, bytes.Count(page, []byte("\n| FS-")) != 0 && !strings.Contains(string(page), "specification section"),
		"the page is not the one that is meant")
}
