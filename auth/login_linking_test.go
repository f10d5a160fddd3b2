package auth_test

import (
	"context"
	"maps"
	"net/http"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
)

// TestCallbackMayRefuseALink: Callbacks.Link decides about each account that
// would be linked to an existing user, and about no other.
func TestCallbackMayRefuseALink(t *testing.T) {
	var asked []string
	st := newStage(t, func(_ *stage, c *auth.Config) {
		c.Callbacks.Link = func(_ context.Context, p auth.LinkParams) (bool, error) {
			asked = append(asked, p.User.ID+" "+p.Account.Provider)
			return false, nil
		}
	})
	b := newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	assert.Empty(t, asked, "asked about")
	id := st.userOf(b).ID
	st.at(b, "other", "ada").wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
	assert.Equal(t, []string{id + " other"}, asked)
	assert.Len(t, st.store.accounts, 1)
}

// TestForcedLinking: another site signs the victim's browser in at the provider
// as the attacker, and leads it to a handler of the application that starts a
// sign-in. The attacker's account is not linked to the victim, who is signed
// in. An account is linked if a click on a page of this site starts the
// sign-in, in any browser. The victim's own account can sign in by a link from
// anywhere, such as a mail.
func TestForcedLinking(t *testing.T) {
	for what, c := range map[string]struct {
		method, person string
		header         http.Header
		linked, in     bool
	}{
		"a link of another site":        {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {"https://evil.example/"}}, false, false},
		"of a sibling":                  {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"same-site"}}, false, false},
		"of another site's redirect":    {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"cross-site"}, "Referer": {origin + "/guestbook"}}, false, false},
		"of a look-alike":               {"GET", "mallory", http.Header{"Referer": {origin + ".evil.example/"}}, false, false},
		"of a mail":                     {"GET", "mallory", http.Header{"Sec-Fetch-Site": {"none"}}, false, false},
		"a form of another site":        {"POST", "mallory", http.Header{"Origin": {"https://evil.example"}}, false, false},
		"a link of this site":           {"GET", "new", http.Header{"Sec-Fetch-Site": {"same-origin"}}, true, true},
		"in a browser that says little": {"GET", "new", http.Header{"Referer": {origin + "/settings"}}, true, true},
		"a form of this site":           {"POST", "new", http.Header{"Origin": {origin}}, true, true},
		"the own account, from a mail":  {"GET", "ada", http.Header{"Sec-Fetch-Site": {"none"}}, false, true},
	} {
		t.Run(what, func(t *testing.T) {
			st := newStage(t, nil)
			b := newBrowser(t, st)
			st.at(b, "idp", "ada").wantLocation(t, origin)
			before := len(st.store.accounts)
			r := b.request("/connect")
			r.Method = c.method
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Del("Referer")
			maps.Copy(r.Header, c.header)
			result := must(st.SignIn(r, "idp", auth.SignInOptions{RedirectTo: "/in"}))(t)
			b.take(result)
			end := b.get("/auth/callback/idp?" + st.idp.authorize(t, result.Location+"&login_hint="+c.person).Encode()).location()
			assert.Equal(t, c.linked, len(st.store.accounts) > before, "linked")
			assert.Equalf(t, c.in, end == origin+"/in", "the browser is sent to %s", end)
			assert.Len(t, st.store.users, 1)
		})
	}
}

// TestSessionThatEndsInLinkCallback: a stolen session begins to link an account
// of the thief. The session is ended while Callbacks.Link is running. Nothing
// is linked. If the session does not end, the account is linked.
func TestSessionThatEndsInLinkCallback(t *testing.T) {
	for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
		for _, ends := range []bool{true, false} {
			revoked := false
			var end func()
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Session.Strategy = strategy
				c.Session.Revoked = func(context.Context, auth.Claims) (bool, error) { return revoked, nil }
				c.Callbacks.Link = func(context.Context, auth.LinkParams) (bool, error) {
					if ends {
						end()
					}
					return true, nil
				}
			})
			b := newBrowser(t, st)
			st.at(b, "other", "ada").wantLocation(t, origin)
			end = func() {
				revoked = true
				clear(st.store.sessions)
			}
			answer := st.at(b, "idp", "mallory")
			linked := st.store.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}].UserID != ""
			assert.Truef(t, linked != ends && (answer.location() == origin) != ends,
				"%s, the session ends: %v; linked: %v, the browser is sent to %s", strategy, ends, linked, answer.location())
		}
	}
}

// TestSessionThatEndsWhileLinking: a stolen session begins to link an account
// of the thief, and ends before the account is linked. Nothing is linked,
// nobody is signed in, and no user is created. If the session does not end, the
// account is linked.
func TestSessionThatEndsWhileLinking(t *testing.T) {
	for _, where := range []string{"before the callback", "at the provider", "in a callback", ""} {
		t.Run(where, func(t *testing.T) {
			var during func(ctx context.Context)
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Callbacks.SignIn = func(ctx context.Context, _ auth.SignInParams) (auth.SignInDecision, error) {
					if where == "in a callback" && during != nil {
						during(ctx)
					}
					return auth.Allow(), nil
				}
			})
			owner := newBrowser(t, st)
			st.at(owner, "other", "ada").wantLocation(t, origin)
			id := st.userOf(owner).ID
			thief := newBrowser(t, st)
			thief.cookies["__Secure-authjs.session-token"] = owner.cookies["__Secure-authjs.session-token"]
			answer := st.idp.authorize(t, st.start(thief, "/auth/signin/idp?login_hint=mallory"))
			during = func(ctx context.Context) {
				_, err := st.store.DeleteSessionsByUserID(ctx, id, "")
				assert.NoError(t, err)
			}
			switch where {
			case "before the callback":
				during(t.Context())
			case "at the provider":
				st.idp.endpoints["/token"] = func(w http.ResponseWriter, r *http.Request) {
					during(r.Context())
					st.idp.serveToken(w, r)
				}
			}
			end := thief.get("/auth/callback/idp?" + answer.Encode())
			if where == "" {
				end.wantLocation(t, origin)
				assert.Truef(t, len(st.store.users) == 1 && len(st.store.accounts) == 2,
					"users %v, accounts %v", st.store.users, st.store.accounts)
				return
			}
			end.wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
			assert.Truef(t, len(st.store.users) == 1 && len(st.store.accounts) == 1 && len(st.store.sessions) == 0,
				"users %v, accounts %v, sessions %v", st.store.users, st.store.accounts, st.store.sessions)
		})
	}
}

// TestCredentialsIDIsNoAdapterID: a person signs in with a password, and then
// at a provider. Their ID in the application's own table is the ID of another
// person's user in the adapter. Nothing is linked to that other person.
func TestCredentialsIDIsNoAdapterID(t *testing.T) {
	run := func(t *testing.T, strategy auth.Strategy, usesAdapterIDs bool, token func(st *stage) string) *stage {
		t.Helper()
		st := newStage(t, func(_ *stage, c *auth.Config) {
			p := password()
			p.UsesAdapterIDs = usesAdapterIDs
			c.Providers, c.Session.Strategy = append(c.Providers, p), strategy
		})
		st.store.users["ada-1"] = adapter.User{ID: "ada-1", Email: "somebody.else@example.com"}
		b := newBrowser(t, st)
		if token == nil {
			b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin)
		} else {
			b.cookies["s"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: token(st)}
		}
		b.wantSession(`"name"`)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		assert.Equal(t, usesAdapterIDs, st.idOf(b) == "ada-1", "signed in as the user of the adapter")
		return st
	}
	linked := func(st *stage) bool {
		return st.store.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}].UserID == "ada-1"
	}
	ofAuthJS := func(st *stage) string {
		return must(jwt.Encode(jwt.EncodeParams{
			Token: jwt.Claims{"sub": "ada-1", "name": "Ada"}, Secrets: []string{secret}, Salt: "__Secure-authjs.session-token", Now: st.clock.Now,
		}))(t)
	}
	assert.False(t, linked(run(t, auth.StrategyJWT, false, nil)), "an account was linked to a user who is somebody else")
	assert.True(t, linked(run(t, auth.StrategyJWT, true, nil)), "UsesAdapterIDs: the account was not linked")
	assert.True(t, linked(run(t, auth.StrategyDatabase, true, nil)), "database sessions: the account was not linked")
	assert.False(t, linked(run(t, auth.StrategyJWT, false, ofAuthJS)), "a token of Auth.js is taken for one of the adapter's IDs")
	assert.True(t, linked(run(t, auth.StrategyJWT, true, ofAuthJS)), "UsesAdapterIDs: a token of Auth.js is nobody")
}
