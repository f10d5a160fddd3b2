package auth_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const victim = "victim@example.com"

// stage is a site with two providers, mail links and an adapter that can do
// everything. Everybody who signs in at a provider has the victim's address
// there.
type stage struct {
	*site
	t     testing.TB
	store capable
	mail  *outbox
	// states is the claim email_verified; nil leaves it out.
	states any
	// released are the addresses that users lost.
	released []string
}

func newStage(t testing.TB, configure func(st *stage, c *auth.Config)) *stage {
	t.Helper()
	st := &stage{t: t, store: newCapable(), mail: &outbox{}}
	st.site = newSite(t, func(p *idp, c *auth.Config, o *auth.OAuth) {
		p.claims = func(m map[string]any) {
			m["email"] = victim
			if st.states != nil {
				m["email_verified"] = st.states
			}
		}
		other := *o
		other.ID = "other"
		c.Adapter, c.Providers = st.store, append(c.Providers, &other, st.mail.provider())
		c.Events.ReleaseEmail = func(_ context.Context, e auth.ReleaseEmailEvent) error {
			st.released = append(st.released, e.User.Email)
			return nil
		}
		if configure != nil {
			configure(st, c)
		}
	})
	return st
}

// at signs a person in at a provider.
func (st *stage) at(b *browser, provider, person string) *reply {
	b.t.Helper()
	l := st.start(b, "/auth/signin/"+provider+"?login_hint="+person)
	return b.get("/auth/callback/" + provider + "?" + st.idp.authorize(b.t, l).Encode())
}

// byMail signs in with a mail link.
func (st *stage) byMail(b *browser) *reply {
	b.t.Helper()
	b.post("/auth/signin/email", "email", victim)
	return b.get(st.mail.last(b.t))
}

// userOf is the user whose session a browser has.
func (st *stage) userOf(b *browser) adapter.User {
	b.t.Helper()
	c := b.cookies["__Secure-authjs.session-token"]
	if c == nil {
		b.t.Fatal("nobody is signed in")
	}
	return st.store.users[st.store.sessions[c.Value].UserID]
}

func (st *stage) wantPage(r *reply, texts ...string) {
	st.t.Helper()
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "This address is in use") || !strings.Contains(r.Header.Get("Cache-Control"), "no-store") {
		st.t.Fatalf("got status %d, location %s, want the page about a held address; log: %s", r.StatusCode, r.location(), st.log)
	}
	for _, text := range texts {
		if !strings.Contains(r.body, text) {
			st.t.Errorf("the page does not say %q:\n%s", text, r.body)
		}
	}
}

// TestPreHijackByAnUnprovenAddress: the attacker signs up at a provider that
// says nothing about the victim's address. An account that proves the address
// later is never merged with that user.
func TestPreHijackByAnUnprovenAddress(t *testing.T) {
	for name, prove := range map[string]func(st *stage, b *browser) *reply{
		"mail link": func(st *stage, b *browser) *reply { return st.byMail(b) },
		"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "other", "victim") },
	} {
		for _, dangerous := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				st := newStage(t, func(_ *stage, c *auth.Config) {
					for _, p := range c.Providers {
						if p, ok := p.(*auth.OAuth); ok {
							p.AllowDangerousEmailAccountLinking = dangerous
						}
					}
				})
				attacker, b := newBrowser(t, st), newBrowser(t, st)
				st.at(attacker, "idp", "mallory").wantLocation(t, origin)
				hijacked := st.userOf(attacker)
				if hijacked.EmailVerified != nil {
					t.Fatal("an address that nobody stated is taken as proven")
				}
				st.wantPage(prove(st, b), victim, "Sign in with idp", "Start afresh")
				b.wantNoSession()
				if len(st.store.users) != 1 || len(st.store.accounts) != 1 {
					t.Errorf("users %v, accounts %v", st.store.users, st.store.accounts)
				}
			})
		}
	}
}

// TestPreHijackByAStatedFalse: a provider says that the address is not the
// attacker's. The address stays free for the victim.
func TestPreHijackByAStatedFalse(t *testing.T) {
	st := newStage(t, nil)
	st.states = false
	attacker, b := newBrowser(t, st), newBrowser(t, st)
	st.at(attacker, "idp", "mallory").wantLocation(t, origin)
	if u := st.userOf(attacker); u.Email != "" {
		t.Errorf("the user has the address %s", u.Email)
	}
	st.byMail(b).wantLocation(t, origin)
	if u := st.userOf(b); u.Email != victim || u.EmailVerified == nil || u.ID == st.userOf(attacker).ID {
		t.Errorf("the victim is %+v", u)
	}
}

// TestDangerousLinkingNeedsMoreThanAFalse: AllowDangerousEmailAccountLinking
// does not link an address that the provider says is not the person's.
func TestDangerousLinkingNeedsMoreThanAFalse(t *testing.T) {
	st := newStage(t, func(_ *stage, c *auth.Config) { c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true })
	st.store.users["owner"] = adapter.User{ID: "owner", Email: victim, EmailVerified: new(st.clock.Now())}
	st.states = false
	b := newBrowser(t, st)
	st.at(b, "idp", "mallory").wantLocation(t, origin)
	if u := st.userOf(b); u.ID == "owner" || u.Email != "" {
		t.Errorf("signed in as %+v", u)
	}
	st.states = nil // the honest neighbour: the option does what it says
	b = newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	if u := st.userOf(b); u.ID != "owner" {
		t.Errorf("signed in as %+v", u)
	}
}

// TestBothProofsTogetherLink: an honest person signed up with an address that the
// provider says nothing about, and proves it later. The way in which they signed
// up is the second proof.
func TestBothProofsTogetherLink(t *testing.T) {
	t.Run("mail link", func(t *testing.T) {
		st := newStage(t, nil)
		first, b := newBrowser(t, st), newBrowser(t, st)
		st.at(first, "idp", "ada").wantLocation(t, origin)
		page := st.byMail(b)
		st.wantPage(page)
		l := b.press(page, "<span>Sign in with idp</span>").location() + "&login_hint=ada"
		b.get("/auth/callback/idp?"+st.idp.authorize(t, l).Encode()).wantLocation(t, origin)
		if u := st.userOf(b); u.ID != st.userOf(first).ID || u.EmailVerified == nil {
			t.Fatalf("signed in as %+v", u)
		}
		st.byMail(newBrowser(t, st)).wantLocation(t, origin) // and from now on the link is enough
	})
	t.Run("provider", func(t *testing.T) {
		st := newStage(t, nil)
		first, b := newBrowser(t, st), newBrowser(t, st)
		st.at(first, "idp", "ada").wantLocation(t, origin)
		st.states = true
		page := st.at(b, "other", "ada-there")
		st.wantPage(page)
		st.states = nil
		l := b.press(page, "<span>Sign in with idp</span>").location() + "&login_hint=ada"
		b.get("/auth/callback/idp?"+st.idp.authorize(t, l).Encode()).wantLocation(t, origin)
		linked := st.store.accounts[adapter.AccountKey{Provider: "other", ProviderAccountID: "ada-there"}]
		if u := st.userOf(b); u.EmailVerified == nil || linked.UserID != u.ID || linked.AccessToken == nil {
			t.Fatalf("signed in as %+v, linked is %+v", u, linked)
		}
	})
}

// TestProofOfAnotherBrowserLinksNothing: what the victim has proven waits in
// the victim's browser; copied into another browser it has no effect.
func TestProofOfAnotherBrowserLinksNothing(t *testing.T) {
	st := newStage(t, nil)
	attacker, b := newBrowser(t, st), newBrowser(t, st)
	st.at(attacker, "idp", "mallory").wantLocation(t, origin)
	st.wantPage(st.byMail(b))
	const proof = "__Host-authjs.proof"
	attacker.cookies[proof] = b.cookies[proof]
	st.at(attacker, "idp", "mallory").wantLocation(t, origin)
	if u := st.userOf(attacker); u.EmailVerified != nil {
		t.Errorf("the attacker's user has a proven address: %+v", u)
	}
	attacker.cookies[proof] = b.cookies[proof]
	attacker.post("/auth/callback/email", "startAfresh", "true").wantLocation(t, errorPage)
}

// TestStartAfresh: the person who has proven the address continues as a new
// user. The other user loses only the address, and an event reports it.
func TestStartAfresh(t *testing.T) {
	for name, prove := range map[string]func(st *stage, b *browser) *reply{
		"mail link": func(st *stage, b *browser) *reply { return st.byMail(b) },
		"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "other", "victim") },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			attacker, b := newBrowser(t, st), newBrowser(t, st)
			st.at(attacker, "idp", "mallory").wantLocation(t, origin)
			page := prove(st, b)
			st.wantPage(page)
			kept := b.cookies["__Host-authjs.proof"]
			b.submit(pressedURL(page, "Start afresh"), "startAfresh", "true").wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
			b.press(page, "Start afresh").wantLocation(t, origin)
			old, fresh := st.userOf(attacker), st.userOf(b)
			if old.Email != "" || old.ID == fresh.ID || fresh.Email != victim || fresh.EmailVerified == nil {
				t.Errorf("the old user is %+v, the new one %+v", old, fresh)
			}
			if len(st.released) != 1 || st.released[0] != victim {
				t.Errorf("released: %v", st.released)
			}
			st.states = nil
			again := newBrowser(t, st)
			st.at(again, "idp", "mallory").wantLocation(t, origin) // the account is still there
			if st.userOf(again).ID != old.ID {
				t.Error("the old user lost the account")
			}
			b.cookies[kept.Name] = kept
			b.post(pressedURL(page, "Start afresh"), "startAfresh", "true").wantLocation(t, errorPage) // once
		})
	}
}

// pressedURL is the URL to which the form with a button is sent.
func pressedURL(page *reply, button string) string {
	for _, form := range formOfPage.FindAllStringSubmatch(page.body, -1) {
		if strings.Contains(form[2], ">"+button+"<") {
			return form[1]
		}
	}
	return ""
}

// TestUserWithoutAnyWayInIsGiven: a sign-up that died between its writes leaves
// a user without an account. The person who proves the address gets that user,
// and every earlier session of the user ends.
func TestUserWithoutAnyWayInIsGiven(t *testing.T) {
	for name, prove := range map[string]func(st *stage, b *browser) *reply{
		"mail link": func(st *stage, b *browser) *reply { return st.byMail(b) },
		"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "idp", "ada") },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			st.store.users["half"] = adapter.User{ID: "half", Email: victim}
			st.store.sessions["old"] = adapter.Session{SessionToken: "old", UserID: "half", Expires: st.clock.Now().Add(time.Hour)}
			b := newBrowser(t, st)
			prove(st, b).wantLocation(t, origin)
			if u := st.userOf(b); u.ID != "half" || u.EmailVerified == nil {
				t.Errorf("signed in as %+v", u)
			}
			if _, ok := st.store.sessions["old"]; ok {
				t.Error("an old session of the user goes on")
			}
		})
	}
	t.Run("not to who proves nothing", func(t *testing.T) {
		st := newStage(t, nil)
		st.store.users["half"] = adapter.User{ID: "half", Email: victim}
		st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
	})
	t.Run("not with a passkey", func(t *testing.T) {
		st := newStage(t, nil)
		st.store.users["u"] = adapter.User{ID: "u", Email: victim}
		st.store.passkeys = map[string][]adapter.Authenticator{"u": {{CredentialID: "c", UserID: "u"}}}
		st.wantPage(st.byMail(newBrowser(t, st)), "Sign in with a passkey")
	})
}

// TestLinkIntoAGivenUser: a person is signed in as a user without any way to
// sign in, and links an account. At the same time somebody else proves the
// address of that user. Only one of them gets the user.
func TestLinkIntoAGivenUser(t *testing.T) {
	for _, comesFirst := range []string{"linkAccount", "listAccountsByUserId"} {
		t.Run(comesFirst, func(t *testing.T) {
			s := newCapable()
			h := newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{
				&auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "i", ClientSecret: "s"}, (&outbox{}).provider(),
			}})
			s.users["half"] = adapter.User{ID: "half", Email: victim}
			s.sessions["old"] = adapter.Session{SessionToken: "old", UserID: "half", Expires: time.Now().Add(time.Hour)}
			proof := auth.Identity{
				User: &auth.User{Email: victim}, Account: &auth.Account{Provider: "email", Type: auth.TypeEmail, ProviderAccountID: victim}, Proof: auth.EmailProven,
			}
			link := oauthIdentity("mallory", "mallory@example.com")
			link.BegunAs = "half"
			mallory, owner := httptest.NewRequest(http.MethodGet, origin, nil), httptest.NewRequest(http.MethodGet, origin, nil)
			mallory.Header.Set("Cookie", "__Secure-authjs.session-token=old")
			lists, done := 0, false
			s.before = func(method string, _ ...any) error {
				if method == "listAccountsByUserId" {
					lists++
				}
				// The other login runs before the link is stored, or between the two reads
				// that are made when the user is given away.
				if done || method != comesFirst || method == "listAccountsByUserId" && lists < 2 {
					return nil
				}
				done = true
				if comesFirst == "linkAccount" {
					_, _ = h.Login(t.Context(), owner, proof)
				} else {
					_, _ = h.Login(t.Context(), mallory, link)
				}
				return nil
			}
			if comesFirst == "linkAccount" {
				_, _ = h.Login(t.Context(), mallory, link)
			} else {
				_, _ = h.Login(t.Context(), owner, proof)
			}
			linked := s.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}].UserID == "half"
			if given := s.users["half"].EmailVerified != nil; !done || linked && given {
				t.Errorf("linked: %v, given away: %v", linked, given)
			}
		})
	}
}

// TestNullEmailVerifiedIsNoGuilt: Auth.js leaves EmailVerified null for all
// users who signed up with OAuth. Their next sign-in with a provider that
// proves the address sets it, and a mail link then works without a question.
func TestNullEmailVerifiedIsNoGuilt(t *testing.T) {
	st := newStage(t, nil)
	st.store.users["u"] = adapter.User{ID: "u", Email: victim}
	key := adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}
	st.store.accounts[key] = adapter.Account{UserID: "u", Provider: "idp", ProviderAccountID: "ada"}
	st.states = true
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	if st.store.users["u"].EmailVerified == nil {
		t.Fatal("the address is not proven")
	}
	b := newBrowser(t, st)
	st.byMail(b).wantLocation(t, origin)
	if st.userOf(b).ID != "u" {
		t.Errorf("signed in as %+v", st.userOf(b))
	}
}

// TestProofByOneOfTwoAccountsProvesNothing: the two accounts of a user may
// belong to two people.
func TestProofByOneOfTwoAccountsProvesNothing(t *testing.T) {
	st := newStage(t, nil)
	st.store.users["u"] = adapter.User{ID: "u", Email: victim}
	for provider, person := range map[string]string{"idp": "ada", "other": "mallory"} {
		st.store.accounts[adapter.AccountKey{Provider: provider, ProviderAccountID: person}] = adapter.Account{UserID: "u", Provider: provider, ProviderAccountID: person}
	}
	st.states = true
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	if st.store.users["u"].EmailVerified != nil {
		t.Error("the address is taken as proven")
	}
}

// TestLookalikeAddressProvesNothing: the lower case of the Kelvin sign is k, but
// an attacker's address with one is not the victim's, and its proof is not a
// proof of the victim's.
func TestLookalikeAddressProvesNothing(t *testing.T) {
	st := newStage(t, nil)
	const address, lookalike = "kim@example.com", "\u212aim@example.com"
	st.store.users["u"] = adapter.User{ID: "u", Email: address}
	st.idp.claims = func(m map[string]any) { m["email"], m["email_verified"] = lookalike, true }
	b := newBrowser(t, st)
	st.at(b, "idp", "mallory").wantLocation(t, origin)
	if u := st.userOf(b); u.ID == "u" || u.Email != lookalike {
		t.Errorf("signed in as %+v", u)
	}
	key := adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}
	st.store.accounts[key] = adapter.Account{UserID: "u", Provider: "idp", ProviderAccountID: "mallory"}
	st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
	if st.store.users["u"].EmailVerified != nil {
		t.Error("the address counts as proven")
	}
	st.idp.claims = func(m map[string]any) { m["email"], m["email_verified"] = "KIM@Example.com", true } // the honest neighbour
	st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
	if st.store.users["u"].EmailVerified == nil {
		t.Error("the address does not count as proven")
	}
}

// TestAdapterWithoutListsIsAsked: an adapter that can't list accounts can't say
// that a user has none. A site that has only mail links does not ask.
func TestAdapterWithoutListsIsAsked(t *testing.T) {
	s, box := newStore(), &outbox{}
	s.users["u"] = adapter.User{ID: "u", Email: victim}
	mailOnly := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
	mailOnly.post("/auth/signin/email", "email", victim)
	mailOnly.get(box.last(t)).wantLocation(t, origin)

	s.users["u"] = adapter.User{ID: "u", Email: victim}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{
		box.provider(), &auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "i", ClientSecret: "s"},
	}}))
	b.post("/auth/signin/email", "email", victim)
	page := b.get(box.last(t))
	if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "Sign in with idp") {
		t.Fatalf("got %d %s", page.StatusCode, page.body)
	}
	b.press(page, "Start afresh").wantLocation(t, origin) // nobody is locked out
}

// TestSignUpThatDiedHeals: the store fails between the writes of a sign-up, and
// while that is undone, too. The next sign-in that proves the address succeeds.
func TestSignUpThatDiedHeals(t *testing.T) {
	s := newCapable()
	dead := false
	s.before = func(method string, _ ...any) error {
		dead = dead || method == "linkAccount" && len(s.accounts) == 0
		if dead {
			return errors.New("connection lost")
		}
		return nil
	}
	// An adapter without SignUps.
	h := newHandler(t, auth.Config{
		Adapter:   withoutSignUps{s.store, s, s, s},
		Providers: []auth.Provider{&auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "i", ClientSecret: "s"}},
	})
	r, _ := http.NewRequest(http.MethodGet, origin, nil) //nolint:noctx // a test
	id := oauthIdentity("ada", victim)
	if _, err := h.Login(t.Context(), r, id); !errors.Is(err, auth.ErrAdapter) || len(s.users) != 1 || len(s.accounts) != 0 {
		t.Fatalf("got %v, users %v", err, s.users)
	}
	s.before = nil
	if _, err := h.Login(t.Context(), r, id); !errors.Is(err, auth.ErrOAuthAccountNotLinked) {
		t.Errorf("without a proof: got %v", err)
	}
	id.Proof = auth.EmailProven
	got, err := h.Login(t.Context(), r, id)
	if err != nil || len(s.users) != 1 || s.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "ada"}].UserID != got.User.ID {
		t.Errorf("got %+v, %v", got, err)
	}
}

// withoutSignUps is an adapter that has the other capabilities.
type withoutSignUps struct {
	*store
	adapter.AccountLists
	adapter.SessionLists
	lists interface {
		ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error)
	}
}

func (w withoutSignUps) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return w.lists.ListAuthenticatorsByUserID(ctx, userID)
}

// TestSignUpIsOneCall: if the adapter supports it, user and account are stored
// in one write, so a store that dies does not leave only one of them.
func TestSignUpIsOneCall(t *testing.T) {
	st := newStage(t, nil)
	var calls []string
	st.store.before = func(method string, _ ...any) error { calls = append(calls, method); return nil }
	st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
	if got := strings.Join(calls, " "); !strings.Contains(got, "getUserByEmail createUserWithAccount ") || strings.Contains(got, "getUser ") {
		t.Errorf("got %s", got)
	}
}

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
	if *second.AccessToken == *first.AccessToken || *second.IDToken == *first.IDToken || *second.ExpiresAt == *first.ExpiresAt {
		t.Error("the tokens are those of the first sign-in")
	}
	if second.RefreshToken == nil || *second.RefreshToken != *first.RefreshToken {
		t.Error("the refresh token is lost")
	}
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
				if o.Type, o.Account = kind, account; kind == auth.TypeOAuth {
					o.Checks = nil
				}
				c.Adapter = stores
				c.Events.SignIn = func(_ context.Context, e auth.SignInEvent) error {
					seen = string(e.Account.AuthorizationDetails)
					return nil
				}
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
			if string(a.AuthorizationDetails) != authorizationDetails || seen != details {
				t.Errorf("%s: stored are the details %s, want %s; events see %s", kind, a.AuthorizationDetails, authorizationDetails, seen)
			}
			if a.AccessToken == nil || a.IDToken == nil || a.RefreshToken == nil || a.ExpiresAt == nil || a.Scope == nil || a.TokenType == nil || a.SessionState == nil {
				t.Errorf("%s: one of the seven members is not stored: %+v", kind, a)
			}
		}
		byDefault := site(nil)
		want(byDefault, "ada", "")
		all := site(func(t auth.TokenSet) *auth.TokenSet { return &t })
		stores.users = map[string]adapter.User{}
		want(all, "grace", details)
		want(byDefault, "grace", details) // stays
	}
}

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
	if len(asked) != 0 {
		t.Errorf("asked about %v", asked)
	}
	id := st.userOf(b).ID
	st.at(b, "other", "ada").wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
	if len(asked) != 1 || asked[0] != id+" other" || len(st.store.accounts) != 1 {
		t.Errorf("asked about %v, accounts %v", asked, st.store.accounts)
	}
}

// withPasswords adds a credentials provider whose users have the password pw.
func withPasswords(ids bool, answer func() (bool, error)) func(st *stage, c *auth.Config) {
	return func(st *stage, c *auth.Config) {
		c.Session.Strategy = auth.StrategyJWT
		c.Providers = append(c.Providers, &auth.Credentials{
			UsesAdapterIDs: ids, Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
				if f.Get("password") != "pw" {
					return nil, nil
				}
				return &auth.User{ID: f.Get("id"), Email: victim}, nil
			},
		})
		if answer != nil {
			c.Callbacks.NoOtherWayIn = func(context.Context, *auth.User) (bool, error) { return answer() }
		}
	}
}

// idOf is the ID of the user who is signed in with a browser, or "".
func (st *stage) idOf(b *browser) string {
	b.t.Helper()
	session, err := st.Session(b.request("/"))
	if err != nil {
		b.t.Fatal(err)
	}
	if session == nil {
		return ""
	}
	return session.User.ID
}

var proofs = map[string]func(st *stage, b *browser) *reply{
	"mail link": func(st *stage, b *browser) *reply { return st.byMail(b) },
	"provider":  func(st *stage, b *browser) *reply { st.states = true; return st.at(b, "idp", "ada") },
}

// TestUserWithAPasswordIsNotGiven: the application registered a user with the
// victim's address and a password that somebody else knows. The adapter does not
// list passwords, so the person who proves the address is asked.
func TestUserWithAPasswordIsNotGiven(t *testing.T) {
	for name, prove := range proofs {
		for _, ids := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, adapter IDs %v", name, ids), func(t *testing.T) {
				st := newStage(t, withPasswords(ids, nil))
				st.store.users["u"] = adapter.User{ID: "u", Email: victim}
				mallory, b := newBrowser(t, st), newBrowser(t, st)
				mallory.post("/auth/callback/credentials", "id", "u", "password", "pw").wantLocation(t, origin)
				page := prove(st, b)
				st.wantPage(page, victim, "Sign in with a password", "Start afresh")
				b.wantNoSession()
				if st.store.users["u"].EmailVerified != nil {
					t.Error("the address of the other user counts as proven")
				}
				b.press(page, "Start afresh").wantLocation(t, origin)
				if old, fresh := st.idOf(mallory), st.idOf(b); fresh == "" || fresh == old || st.store.users["u"].Email != "" {
					t.Errorf("mallory is %q, the owner of the address %q, the user %+v", old, fresh, st.store.users["u"])
				}
			})
			t.Run(fmt.Sprintf("%s, own password, adapter IDs %v", name, ids), func(t *testing.T) {
				st := newStage(t, withPasswords(ids, nil))
				st.store.users["u"] = adapter.User{ID: "u", Email: victim}
				b := newBrowser(t, st)
				st.wantPage(prove(st, b))
				b.post("/auth/callback/credentials", "id", "u", "password", "pw").wantLocation(t, origin)
				if proven := st.store.users["u"].EmailVerified != nil; proven != ids || st.idOf(b) != "u" {
					t.Errorf("signed in as %q, the address is proven: %v", st.idOf(b), proven)
				}
				again := newBrowser(t, st)
				if again := prove(st, again); ids {
					again.wantLocation(t, origin) // and from now on the proof is enough
				}
				if ids && st.idOf(again) != "u" {
					t.Errorf("signed in as %q", st.idOf(again))
				}
			})
		}
	}
}

// TestNoOtherWayIn: the application answers for a user whom it only invited.
func TestNoOtherWayIn(t *testing.T) {
	for name, prove := range proofs {
		for answer, given := range map[string]bool{"yes": true, "no": false, "error": false} {
			t.Run(name+", "+answer, func(t *testing.T) {
				st := newStage(t, withPasswords(true, func() (bool, error) {
					if answer == "error" {
						return true, errors.New("the table of passwords is away")
					}
					return answer == "yes", nil
				}))
				st.store.users["u"] = adapter.User{ID: "u", Email: victim}
				b := newBrowser(t, st)
				end := prove(st, b)
				if answer == "no" {
					st.wantPage(end, "Sign in with a password")
				}
				if signedIn := st.idOf(b) == "u"; signedIn != given || (st.store.users["u"].EmailVerified != nil) != given {
					t.Errorf("given %v, want %v; location %s, user %+v", signedIn, given, end.location(), st.store.users["u"])
				}
			})
		}
	}
}

// TestUserWithTokensIsNotGiven: session tokens can't be ended, so a user without
// any way to sign in is given only if the application answers for the user.
func TestUserWithTokensIsNotGiven(t *testing.T) {
	for name, prove := range proofs {
		for _, answers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, %v", name, answers), func(t *testing.T) {
				st := newStage(t, func(_ *stage, c *auth.Config) {
					c.Session.Strategy = auth.StrategyJWT
					if answers {
						c.Callbacks.NoOtherWayIn = func(context.Context, *auth.User) (bool, error) { return true, nil }
					}
				})
				st.store.users["half"] = adapter.User{ID: "half", Email: victim}
				b := newBrowser(t, st)
				page := prove(st, b)
				if !answers {
					st.wantPage(page, "Other ways to sign in")
				}
				if got := st.idOf(b); (got == "half") != answers || !answers && got != "" {
					t.Errorf("signed in as %q", got)
				}
			})
		}
	}
}

// TestStrangerIsNoPasswordUser: a provider that says nothing about the address
// does not make its person the user who may have a password, also not with
// AllowDangerousEmailAccountLinking.
func TestStrangerIsNoPasswordUser(t *testing.T) {
	for _, answers := range []bool{false, true} {
		st := newStage(t, func(st *stage, c *auth.Config) {
			c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true
			var answer func() (bool, error)
			if answers {
				answer = func() (bool, error) { return true, nil }
			}
			withPasswords(true, answer)(st, c)
		})
		st.store.users["u"] = adapter.User{ID: "u", Email: victim}
		b := newBrowser(t, st)
		end := st.at(b, "idp", "mallory")
		if !answers {
			end.wantLocation(t, origin+"/auth/signin?error=OAuthAccountNotLinked")
		}
		if got := st.idOf(b); (got == "u") != answers {
			t.Errorf("the application answers %v: signed in as %q", answers, got)
		}
	}
}

// TestOnlyAccountBesideAPassword: the provider of a user's only account proves
// the address only if nobody else may have a password for the user.
func TestOnlyAccountBesideAPassword(t *testing.T) {
	for _, answers := range []bool{false, true} {
		st := newStage(t, withPasswords(true, func() (bool, error) { return answers, nil }))
		st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
		st.states = true
		b := newBrowser(t, st)
		st.at(b, "idp", "ada").wantLocation(t, origin)
		if proven := st.store.users[st.idOf(b)].EmailVerified != nil; proven != answers {
			t.Errorf("the application answers %v: proven %v", answers, proven)
		}
	}
}

// TestSignInCallbackIsAskedAgain: Callbacks.SignIn is asked about the user as
// whom the person continues, on each way to a session, and only once about the
// same one.
func TestSignInCallbackIsAskedAgain(t *testing.T) {
	var asked []string
	deny := ""
	newSite := func(t *testing.T) *stage {
		asked, deny = nil, ""
		st := newStage(t, func(st *stage, c *auth.Config) {
			c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true
			c.Callbacks.SignIn = func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
				id := p.User.ID
				if _, stored := st.store.users[id]; !stored {
					id = "new"
				}
				if !p.VerificationRequest {
					asked = append(asked, id)
				}
				switch {
				case deny != id:
					return auth.Allow(), nil
				case id == "elsewhere":
					return auth.DenyTo("/elsewhere"), nil
				}
				return auth.Deny(), nil
			}
		})
		return st
	}
	want := func(t *testing.T, ids ...string) {
		t.Helper()
		if !slices.Equal(asked, ids) {
			t.Errorf("Callbacks.SignIn was asked about %v, want %v", asked, ids)
		}
		asked = nil
	}
	denied := origin + "/auth/error?error=AccessDenied"
	t.Run("linked by the address", func(t *testing.T) {
		for _, id := range []string{"banned", "elsewhere", "other"} {
			st := newSite(t)
			st.store.users[id] = adapter.User{ID: id, Email: victim, EmailVerified: new(st.clock.Now())}
			b := newBrowser(t, st)
			if deny = id; id == "other" {
				deny = ""
			}
			end := st.at(b, "idp", "ada")
			want(t, "new", id)
			end.wantLocation(t, map[string]string{"banned": denied, "elsewhere": origin + "/elsewhere", "other": origin}[id])
			if linked := len(st.store.accounts) == 1; linked != (id == "other") {
				t.Errorf("%s: linked %v", id, linked)
			}
			if id == "other" {
				st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
				want(t, "other")
			} else {
				b.wantNoSession()
			}
		}
	})
	t.Run("linked to the signed-in user", func(t *testing.T) {
		st := newSite(t)
		b := newBrowser(t, st)
		st.byMail(b).wantLocation(t, origin)
		u := st.userOf(b).ID
		want(t, "new")
		deny = u
		st.at(b, "idp", "ada").wantLocation(t, denied)
		want(t, "new", u)
		if len(st.store.accounts) != 0 {
			t.Error("linked")
		}
		deny = ""
		st.at(b, "idp", "ada").wantLocation(t, origin)
		want(t, "new", u)
	})
	t.Run("given", func(t *testing.T) {
		st := newSite(t)
		st.store.users["half"] = adapter.User{ID: "half", Email: victim}
		st.states = true
		deny = "half"
		st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, denied)
		want(t, "new", "half")
		if st.store.users["half"].EmailVerified != nil {
			t.Error("given")
		}
		deny = ""
		st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
		want(t, "new", "half")
	})
	t.Run("afresh", func(t *testing.T) {
		for _, refuse := range []string{"new", ""} {
			st := newSite(t)
			st.at(newBrowser(t, st), "other", "mallory").wantLocation(t, origin)
			var holder string
			for id := range st.store.users {
				holder = id
			}
			asked = nil
			b := newBrowser(t, st)
			page := st.byMail(b)
			st.wantPage(page)
			want(t, holder)
			deny = refuse
			end := b.press(page, "Start afresh")
			want(t, "new")
			if refuse != "" {
				end.wantLocation(t, denied)
				b.wantNoSession()
				if st.store.users[holder].Email != victim {
					t.Error("the other user lost the address")
				}
				continue
			}
			end.wantLocation(t, origin)
		}
	})
}

// loose is a store whose address column takes texts for equal that fold alike in
// Unicode, as some collations do.
type loose struct{ capable }

func (s loose) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	for _, u := range s.users {
		if strings.EqualFold(u.Email, email) {
			return &u, nil
		}
	}
	return s.capable.GetUserByEmail(ctx, email)
}

// TestOneFoldingOfAddresses: the case of ASCII letters and the spelling of an
// international domain do not matter, and nothing else does not matter.
func TestOneFoldingOfAddresses(t *testing.T) {
	for _, c := range []struct {
		stored, given string
		same          bool
	}{
		{"viktor@corp.example", "Viktor@Corp.Example", true},
		{"Viktor@Corp.example", "Viktor@Corp.example", true},
		{"ada@b\u00fccher.example", "ada@xn--bcher-kva.example", true},
		{"ada@xn--bcher-kva.example", "ada@b\u00fccher.example", true},
		{"ada@xn--bcher-kva.example", "ADA@B\u00dcCHER.example", true},
		{"j\u00f6rg@x.example", "j\u00f6rg@X.example", true},
		{"viktor@corp.example", "vi\u212ator@corp.example", false},
		{"asa@corp.example", "a\u017fa@corp.example", false},
		{"j\u00f6rg@x.example", "J\u00d6RG@x.example", false},
		{"i\u0307da@x.example", "\u0130da@x.example", false},
		{"ada@strasse.example", "ada@stra\u00dfe.example", false},
		{"ada@corp.example", "ada@corp.example.example", false},
	} {
		for _, collation := range []bool{false, true} {
			st := newStage(t, func(st *stage, c *auth.Config) {
				c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true
				if collation {
					c.Adapter = loose{st.store}
				}
			})
			st.store.users["u"] = adapter.User{ID: "u", Email: c.stored, EmailVerified: new(st.clock.Now())}
			st.idp.claims = func(m map[string]any) { m["email"], m["email_verified"] = c.given, true }
			b := newBrowser(t, st)
			st.at(b, "idp", "ada").wantLocation(t, origin)
			if u := st.userOf(b); (u.ID == "u") != c.same {
				t.Errorf("%s signs in as %+v, and %s is stored", c.given, u, c.stored)
			}
		}
	}
}

// TestMailGoesToTheStoredAddress: a person who types another spelling of an
// address is mailed at the stored one, and signs in as its user.
func TestMailGoesToTheStoredAddress(t *testing.T) {
	for stored, typed := range map[string]string{
		"ada@xn--bcher-kva.example": "Ada@B\u00fccher.example", "ada@b\u00fccher.example": "ada@xn--bcher-kva.example", "Ada@Corp.example": "Ada@Corp.example", "ada@corp.example": "ADA@corp.example",
	} {
		st := newStage(t, nil)
		st.store.users["u"] = adapter.User{ID: "u", Email: stored, EmailVerified: new(st.clock.Now())}
		b := newBrowser(t, st)
		b.post("/auth/signin/email", "email", typed)
		link := st.mail.last(t)
		if u, err := url.Parse(link); err != nil || u.Query().Get("email") != stored {
			t.Errorf("%s: the link is %s, want one for %s", typed, link, stored)
		}
		b.get(link).wantLocation(t, origin)
		if u := st.userOf(b); u.ID != "u" {
			t.Errorf("%s signs in as %+v", typed, u)
		}
	}
}
