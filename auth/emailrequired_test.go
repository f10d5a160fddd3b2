package auth_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/providers"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// addressed is an adapter that may refuse users without an address.
type addressed struct {
	adapter.Adapter
	required bool
}

func (a addressed) RequiresEmail() bool { return a.required }

// TestEmailRequired: if the adapter refuses users without an address, New names the
// providers whose users have none, and no other ones.
func TestEmailRequired(t *testing.T) {
	nobody := func(context.Context, auth.Form, *http.Request) (*auth.User, bool, error) { return nil, false, nil }
	own := providers.Reddit(providers.WithOptions(func(p *auth.OAuth) {
		p.ID = "own"
		p.Profile = func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error) { return &auth.User{}, nil }
	}))
	ceremonies := struct{ auth.WebAuthnCeremonies }{}
	byName := &auth.WebAuthn{ID: "named", FormFields: []auth.Field{{Name: "nickname"}}, GetUserInfo: nobody, Ceremonies: ceremonies}
	byEmail := &auth.WebAuthn{ID: "addressed", Ceremonies: ceremonies}
	custom := &auth.OAuth{ID: "custom", Issuer: "https://custom.example", ClientID: "c", ClientSecret: "s", NoEmail: true}
	all := []auth.Provider{providers.Reddit(), providers.GitHub(), providers.Roblox(), own, byName, byEmail, custom}
	for _, env := range []string{"REDDIT", "GITHUB", "ROBLOX", "OWN"} {
		t.Setenv("AUTH_"+env+"_ID", "id")
		t.Setenv("AUTH_"+env+"_SECRET", "secret")
	}
	partial := must(adapter.Partial(addressed{newStore(), true}))(t)
	for _, c := range []struct {
		adapter adapter.Adapter
		warned  bool
	}{{addressed{newStore(), true}, true}, {partial, true}, {addressed{newStore(), false}, false}, {newStore(), false}} {
		var book logBook
		_, err := auth.New(auth.Config{Secret: []string{secret}, URL: origin, Adapter: c.adapter, Providers: all,
			Experimental: auth.Experimental{EnableWebAuthn: true}, Logger: slog.New(slog.NewTextHandler(&book, nil))})
		require.NoError(t, err)
		const names = "providers reddit, roblox, named (passkeys, unless GetUserInfo returns an address), custom:"
		assert.Equalf(t, c.warned, strings.Contains(book.String(), names), "%T: the log has the names\n%s", c.adapter, &book)
		assert.Equalf(t, c.warned, strings.Contains(book.String(), "email-required"), "%T: %s", c.adapter, &book)
	}
}
