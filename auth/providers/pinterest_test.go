package providers_test

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// TestPinterestUsernameTakenOver: who takes a username over that somebody gave up
// is somebody else. Only an option with the danger in its name says otherwise.
func TestPinterestUsernameTakenOver(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*auth.OAuth{"id": providers.Pinterest(), "username": providers.Pinterest(providers.WithDangerousUsernameKey())} {
		if err := p.Complete(p); err != nil {
			t.Fatal(err)
		}
		before, err := p.Profile(t.Context(), auth.Profile{"id": "1", "username": "ada"}, auth.TokenSet{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := p.Profile(t.Context(), auth.Profile{"id": "2", "username": "ada"}, auth.TokenSet{})
		if err != nil {
			t.Fatal(err)
		}
		if same := before.ID == after.ID; same != (name == "username") {
			t.Errorf("with the key %s two people are one: %v (%q, %q)", name, same, before.ID, after.ID)
		}
	}
}

// TestSlackPKCE: Slack is sent a code_challenge only where the application says
// that its Slack app has opted in.
func TestSlackPKCE(t *testing.T) {
	t.Parallel()
	for want, p := range map[bool]*auth.OAuth{false: providers.Slack(), true: providers.Slack(providers.WithPKCE())} {
		if err := p.Complete(p); err != nil {
			t.Fatal(err)
		}
		got := false
		for _, c := range p.Checks {
			got = got || c == auth.CheckPKCE
		}
		if got != want {
			t.Errorf("PKCE is used: %v, want %v", got, want)
		}
	}
}
