package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPreHijackByAnUnprovenAddress: the attacker signs up at a provider that
// says nothing about the victim's address. An account that proves the address
// later is never merged with that user.
func TestPreHijackByAnUnprovenAddress(t *testing.T) {
	for name, prove := range proofsElsewhere {
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
				require.Nil(t, hijacked.EmailVerified, "an address that nobody stated is taken as proven")
				st.wantPage(prove(st, b), victim, "Sign in with idp", "Start afresh")
				b.wantNoSession()
				assert.Truef(t, len(st.store.users) == 1 && len(st.store.accounts) == 1,
					"users %v, accounts %v", st.store.users, st.store.accounts)
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
	assert.Empty(t, st.userOf(attacker).Email, "the user has the address")
	st.byMail(b).wantLocation(t, origin)
	u := st.userOf(b)
	assert.Truef(t, u.Email == victim && u.EmailVerified != nil && u.ID != st.userOf(attacker).ID, "the victim is %+v", u)
}

// TestDangerousLinkingNeedsMoreThanAFalse: AllowDangerousEmailAccountLinking
// does not link an address that the provider says is not the person's.
func TestDangerousLinkingNeedsMoreThanAFalse(t *testing.T) {
	st := newStage(t, func(_ *stage, c *auth.Config) { c.Providers[0].(*auth.OAuth).AllowDangerousEmailAccountLinking = true })
	st.store.users["owner"] = adapter.User{ID: "owner", Email: victim, EmailVerified: new(st.clock.Now())}
	st.states = false
	b := newBrowser(t, st)
	st.at(b, "idp", "mallory").wantLocation(t, origin)
	u := st.userOf(b)
	assert.Truef(t, u.ID != "owner" && u.Email == "", "signed in as %+v", u)
	st.states = nil // the honest neighbour: the option does what it says
	b = newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	u = st.userOf(b)
	assert.Equalf(t, "owner", u.ID, "signed in as %+v", u)
}

// TestUserWithoutAnyWayInIsGiven: a sign-up that died between its writes leaves
// a user without an account. The person who proves the address gets that user,
// and every earlier session of the user ends.
func TestUserWithoutAnyWayInIsGiven(t *testing.T) {
	for name, prove := range proofs {
		t.Run(name, func(t *testing.T) {
			st := newStage(t, nil)
			st.store.users["half"] = adapter.User{ID: "half", Email: victim}
			st.store.sessions["old"] = adapter.Session{SessionToken: "old", UserID: "half", Expires: st.clock.Now().Add(time.Hour)}
			b := newBrowser(t, st)
			prove(st, b).wantLocation(t, origin)
			u := st.userOf(b)
			assert.Truef(t, u.ID == "half" && u.EmailVerified != nil, "signed in as %+v", u)
			assert.NotContains(t, st.store.sessions, "old", "an old session of the user goes on")
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
			given := s.users["half"].EmailVerified != nil
			assert.Falsef(t, !done || linked && given, "linked: %v, given away: %v", linked, given)
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
	require.NotNil(t, st.store.users["u"].EmailVerified, "the address is not proven")
	b := newBrowser(t, st)
	st.byMail(b).wantLocation(t, origin)
	assert.Equalf(t, "u", st.userOf(b).ID, "signed in as %+v", st.userOf(b))
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
	assert.Nil(t, st.store.users["u"].EmailVerified, "the address is taken as proven")
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
	u := st.userOf(b)
	assert.Truef(t, u.ID != "u" && u.Email == lookalike, "signed in as %+v", u)
	key := adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"}
	st.store.accounts[key] = adapter.Account{UserID: "u", Provider: "idp", ProviderAccountID: "mallory"}
	st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
	assert.Nil(t, st.store.users["u"].EmailVerified, "the address counts as proven")
	st.idp.claims = func(m map[string]any) { m["email"], m["email_verified"] = "KIM@Example.com", true } // the honest neighbour
	st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
	assert.NotNil(t, st.store.users["u"].EmailVerified, "the address does not count as proven")
}

// TestAdapterWithoutListsIsAsked: an adapter that can't list accounts can't say
// that a user has none. A site that has only mail links does not ask.
func TestAdapterWithoutListsIsAsked(t *testing.T) {
	s, box := newStore(), &outbox{}
	s.users["u"] = adapter.User{ID: "u", Email: victim}
	mailOnly := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
	mailOnly.byMail(box, victim).wantLocation(t, origin)

	s.users["u"] = adapter.User{ID: "u", Email: victim}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{
		box.provider(), &auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "i", ClientSecret: "s"},
	}}))
	b.post("/auth/signin/email", "email", victim)
	page := b.get(box.last(t))
	require.Truef(t, page.StatusCode == http.StatusOK && strings.Contains(page.body, "Sign in with idp"),
		"got %d %s", page.StatusCode, page.body)
	b.press(page, "Start afresh").wantLocation(t, origin) // nobody is locked out
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
				assert.Nil(t, st.store.users["u"].EmailVerified, "the address of the other user counts as proven")
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
				assert.Equal(t, "u", st.idOf(b), "signed in as")
				assert.Equal(t, ids, st.store.users["u"].EmailVerified != nil, "the address is proven")
				again := newBrowser(t, st)
				if again := prove(st, again); ids {
					again.wantLocation(t, origin) // and from now on the proof is enough
				}
				assert.Falsef(t, ids && st.idOf(again) != "u", "signed in as %q", st.idOf(again))
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
				assert.Equalf(t, given, st.idOf(b) == "u", "given; location %s", end.location())
				assert.Equal(t, given, st.store.users["u"].EmailVerified != nil, "the address is proven")
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
				got := st.idOf(b)
				assert.Falsef(t, (got == "half") != answers || !answers && got != "", "signed in as %q", got)
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
		got := st.idOf(b)
		assert.Equalf(t, answers, got == "u", "the application answers %v: signed in as %q", answers, got)
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
		assert.Equalf(t, answers, st.store.users[st.idOf(b)].EmailVerified != nil,
			"the application answers %v: proven", answers)
	}
}

// TestFirstProofStays: EmailVerified is the instant of the first proof. Later
// sign-ins by mail change nothing, and cause no event.
func TestFirstProofStays(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]bool{"mail only": false, "other ways": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			updated := 0
			st := newStage(t, func(st *stage, c *auth.Config) {
				if !others {
					c.Providers = []auth.Provider{st.mail.provider()}
				}
				c.Events.UpdateUser = on(func(auth.UpdateUserEvent) { updated++ })
			})
			st.store.users["old"] = adapter.User{ID: "old", Email: victim}
			first := st.clock.Now()
			for range 3 {
				b := newBrowser(t, st)
				st.byMail(b).wantLocation(t, origin)
				u := st.userOf(b)
				assert.Truef(t, u.ID == "old" && u.EmailVerified != nil && u.EmailVerified.Equal(first),
					"the user is %+v, want the proof of %v", u, first)
				st.clock.advance(time.Hour)
			}
			assert.Equal(t, 1, updated, "events: the first link proved the address")
		})
	}
}

// TestProofOfAnAddressThatChanges: the user gets another address while the owner of the old
// one proves it. The new address has no proof then, and the owner of the old one is not
// signed in as the user.
func TestProofOfAnAddressThatChanges(t *testing.T) {
	t.Parallel()
	for name, prove := range proofs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, nil)
			st.store.users["half"] = adapter.User{ID: "half", Email: victim}
			st.store.before = func(method string, args ...any) error {
				if method != "updateUser" {
					return nil
				}
				st.store.before = nil
				_, err := st.store.UpdateUser(t.Context(), adapter.UserUpdate{ID: "half", Email: adapter.To("new@x.example")})
				return err
			}
			b := newBrowser(t, st)
			prove(st, b)
			u := st.store.users["half"]
			assert.Truef(t, u.Email == "new@x.example" && u.EmailVerified == nil, "the user is %+v", u)
			for _, s := range st.store.sessions {
				assert.NotEqual(t, "half", s.UserID, "the owner of the old address is signed in as the user")
			}
		})
	}
}

// TestRefusalTellsNothingOfTheAddress: the duration of a refused sign-in does
// not show whether the address is verified, and is never more than 100 ms.
func TestRefusalTellsNothingOfTheAddress(t *testing.T) {
	for name, adapterOf := range map[string]func(s capable) adapter.Adapter{
		"with SignUps":    func(s capable) adapter.Adapter { return s },
		"without SignUps": func(s capable) adapter.Adapter { return withoutSignUps{s.store, s, s, s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, calls := map[bool]time.Duration{}, map[bool]int{}
				for _, verified := range []bool{false, true} {
					s := newCapable()
					u := adapter.User{ID: "u", Email: victim}
					if verified {
						u.EmailVerified = new(time.Now())
					}
					s.users["u"] = u
					s.before = func(string, ...any) error { calls[verified]++; <-time.After(time.Millisecond); return nil }
					h := newHandler(t, auth.Config{Adapter: adapterOf(s)})
					began := time.Now()
					_, err := h.Login(t.Context(), httptest.NewRequest(http.MethodGet, origin, nil), oauthIdentity("mallory", victim))
					require.Error(t, err, "signed in")
					took[verified] = time.Since(began)
				}
				assert.Truef(t, took[false] == took[true] && calls[false] == calls[true], "took %v with %v calls", took, calls)
				assert.Truef(t, took[true] <= 100*time.Millisecond, "took %v", took[true])
			})
		})
	}
}
