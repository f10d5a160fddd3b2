package auth_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// TestStoredTokensFollowEverySignIn: the stored tokens are those of the last
// sign-in. A refresh token that the provider sends only once stays.
func TestStoredTokensFollowEverySignIn(t *testing.T) {
	st := newStage(t, nil)
	key := adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	first := st.store.accounts[key]
	st.clock.advance(time.Hour)
	st.idp.tokenAnswer = func(m map[string]any) { delete(m, "refresh_token") }
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	second := st.store.accounts[key]
	assert.True(t, *second.AccessToken != *first.AccessToken && *second.IDToken != *first.IDToken && *second.ExpiresAt != *first.ExpiresAt,
		"the tokens are those of the first sign-in")
	assert.True(t, second.RefreshToken != nil && *second.RefreshToken == *first.RefreshToken, "the refresh token is lost")
}

// TestWhatIsStoredOfATokenAnswer: the default stores seven members. An Account
// function of the provider chooses others, and what is stored stays.
func TestWhatIsStoredOfATokenAnswer(t *testing.T) {
	t.Parallel()
	const details = `[{"type":"payment"}]`
	for _, kind := range []auth.ProviderType{auth.TypeOIDC, auth.TypeOAuth} {
		seen, stores := "", newCapable()
		site := func(account func(auth.TokenSet) *auth.TokenSet) *stage {
			st := newStage(t, func(_ *stage, c *auth.Config) {
				o, _ := c.Providers[0].(*auth.OAuth)
				o.Type, o.Account, o.Checks = kind, account, nil
				c.Adapter = stores
				c.Events.SignIn = on(func(e auth.SignInEvent) { seen = string(e.Account.AuthorizationDetails) })
			})
			st.idp.tokenAnswer = func(m map[string]any) {
				m["authorization_details"], m["session_state"], m["scope"] = json.RawMessage(details), "s", "openid"
			}
			return st
		}
		want := func(st *stage, person, authorizationDetails string) {
			t.Helper()
			st.at(newBrowser(t, st), "idp", person).wantLocation(t, origin)
			a := stores.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: person}]
			assert.Truef(t, string(a.AuthorizationDetails) == authorizationDetails && seen == details,
				"%s: stored are the details %s, want %s; events see %s", kind, a.AuthorizationDetails, authorizationDetails, seen)
			assert.Truef(t, a.AccessToken != nil && a.IDToken != nil && a.RefreshToken != nil && a.ExpiresAt != nil &&
				a.Scope != nil && a.TokenType != nil && a.SessionState != nil,
				"%s: one of the seven members is not stored: %+v", kind, a)
		}
		byDefault := site(nil)
		want(byDefault, "ada", "")
		all := site(func(t auth.TokenSet) *auth.TokenSet { return &t })
		stores.users = map[string]adapter.User{}
		want(all, "grace", details)
		want(byDefault, "grace", details) // stays
	}
}
