package providers_test

import (
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPinterestUsernameTakenOver: a person who takes a username that another
// person gave up is another user. They are the same user only with the option
// WithDangerousUsernameKey.
func TestPinterestUsernameTakenOver(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*auth.OAuth{"id": providers.Pinterest(), "username": providers.Pinterest(providers.WithDangerousUsernameKey())} {
		require.NoError(t, p.Complete(p))
		before := must(p.Profile(t.Context(), auth.Profile{"id": "1", "username": "ada"}, auth.TokenSet{}))(t)
		after := must(p.Profile(t.Context(), auth.Profile{"id": "2", "username": "ada"}, auth.TokenSet{}))(t)
		assert.Equalf(t, name == "username", before.ID == after.ID,
			"with the key %s two people are one: %q, %q", name, before.ID, after.ID)
	}
}

// TestSlackPKCE: Slack gets a code_challenge only if the application says that
// its Slack app has opted in.
func TestSlackPKCE(t *testing.T) {
	t.Parallel()
	for want, p := range map[bool]*auth.OAuth{false: providers.Slack(), true: providers.Slack(providers.WithPKCE())} {
		require.NoError(t, p.Complete(p))
		assert.Equal(t, want, slices.Contains(p.Checks, auth.CheckPKCE), "PKCE is used")
	}
}
