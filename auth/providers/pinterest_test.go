package providers_test

import (
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
		if same := before.ID == after.ID; same != (name == "username") {
			t.Errorf("with the key %s two people are one: %v (%q, %q)", name, same, before.ID, after.ID)
		}
	}
}

// TestSlackPKCE: Slack gets a code_challenge only if the application says that
// its Slack app has opted in.
func TestSlackPKCE(t *testing.T) {
	t.Parallel()
	for want, p := range map[bool]*auth.OAuth{false: providers.Slack(), true: providers.Slack(providers.WithPKCE())} {
		require.NoError(t, p.Complete(p))
		got := false
		for _, c := range p.Checks {
			got = got || c == auth.CheckPKCE
		}
		assert.Equal(t, want, got, "PKCE is used")
	}
}
