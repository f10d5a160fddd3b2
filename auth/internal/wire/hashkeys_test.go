package wire

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestHashesOfTheProtocolPage: the hashes of CSRF tokens and mail links are the
// same as in docs/protocol.md.
func TestHashesOfTheProtocolPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/protocol.md")
	require.NoError(t, err)
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (`[^|]+) \\| `([0-9a-f]{64})` \\|$").FindAllStringSubmatch(string(page), -1)
	require.Truef(t, len(rows) >= 2, "the page shows %d hashes, want 2 or more", len(rows))
	for _, row := range rows {
		var secrets []string
		for _, s := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			secrets = append(secrets, s[1])
		}
		joined := strings.Join(secrets, ",")
		if got := HashWith(row[1], joined); got != row[3] {
			t.Errorf("the hash of %s with %s is %s, the page shows %s", row[1], joined, got, row[3])
		}
		assert.Truef(t, NewHashKeys(secrets).Matches(row[1], row[3]),
			"a handler with the secrets %q refuses the hash that the page shows", secrets)
	}
}
