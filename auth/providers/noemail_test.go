package providers

import (
	"context"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
)

// TestNoEmail: a provider whose answers never have an address says so, unless the
// application finds the address itself.
func TestNoEmail(t *testing.T) {
	for _, id := range []string{"reddit", "roblox", "tiktok", "steam"} {
		for _, own := range []bool{false, true} {
			var p *auth.OAuth
			for _, r := range table() {
				if r.id == id {
					p = r.provider(nil)
				}
			}
			p.ClientID, p.ClientSecret = "id", "secret"
			if own {
				p.Profile = func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error) { return &auth.User{}, nil }
			}
			if err := p.Complete(p); err != nil || p.NoEmail == own {
				t.Errorf("%s, with Profile of the application %v: NoEmail is %v, %v", id, own, p.NoEmail, err)
			}
		}
	}
	for _, r := range table() {
		if r.id == "github" || r.id == "google" || r.id == "lark" || r.id == "wecom" {
			p := r.provider(nil)
			_ = p.Complete(p)
			assert.Falsef(t, p.NoEmail, "%s: NoEmail is set", r.id)
		}
	}
}
