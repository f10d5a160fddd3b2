package auth_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oauthIdentity is a person at the provider idp.
func oauthIdentity(id, email string) auth.Identity {
	return auth.Identity{
		User:    &auth.User{ID: "fresh", Name: "Ada", Email: email},
		Account: &auth.Account{Provider: "idp", Type: auth.TypeOAuth, ProviderAccountID: id, TokenSet: auth.TokenSet{AccessToken: "at", ExpiresAt: time.Unix(1800000000, 0)}},
	}
}

// TestLoginTree walks the branches of a sign-in with an account: which user
// signs in, which methods of the adapter are called, and which events are sent.
func TestLoginTree(t *testing.T) {
	const signedIn = "signed-in"
	for name, c := range map[string]struct {
		id      auth.Identity
		session bool // the browser is signed in as user-a
		want    string
		err     auth.ErrorType
		calls   string
		events  string
	}{
		"new user": {
			id: oauthIdentity("n", "new@example.com"), want: "user-1",
			calls: "getUserByAccount getUserByEmail createUser linkAccount getUser createSession", events: "createUser linkAccount",
		},
		"new user without address": {
			id: oauthIdentity("n", ""), want: "user-1", calls: "getUserByAccount createUser linkAccount createSession", events: "createUser linkAccount",
		},
		"returning user": {id: oauthIdentity("a", "a@example.com"), want: "user-a", calls: "getUserByAccount createSession"},
		"same user while signed in": {
			id: oauthIdentity("a", "a@example.com"), session: true, want: "user-a",
			calls: "getSessionAndUser getUserByAccount createSession deleteSession",
		},
		"link while signed in": {
			id: func() auth.Identity { i := oauthIdentity("n", "other@example.com"); i.BegunAs = "user-a"; return i }(), session: true, want: "user-a",
			calls: "getSessionAndUser getUserByAccount linkAccount getUser createSession deleteSession", events: "linkAccount",
		},
		"link that began as nobody": {
			id: oauthIdentity("n", "other@example.com"), session: true, err: auth.ErrOAuthAccountNotLinked, calls: "getSessionAndUser getUserByAccount",
		},
		"link that began as another": {
			id:      func() auth.Identity { i := oauthIdentity("n", "other@example.com"); i.BegunAs = "user-b"; return i }(),
			session: true, err: auth.ErrOAuthAccountNotLinked, calls: "getSessionAndUser getUserByAccount",
		},
		"link whose session ended": {
			id:  func() auth.Identity { i := oauthIdentity("n", "other@example.com"); i.BegunAs = "user-b"; return i }(),
			err: auth.ErrOAuthAccountNotLinked, calls: "getUserByAccount",
		},
		"account of another while signed in": {
			id: oauthIdentity("b", "b@example.com"), session: true, err: auth.ErrOAuthAccountNotLinked, calls: "getSessionAndUser getUserByAccount",
		},
		"address of another": {
			id: oauthIdentity("n", "a@example.com"), err: auth.ErrOAuthAccountNotLinked,
			calls: strings.TrimSpace(strings.Repeat("getUserByAccount getUserByEmail ", 5)),
		},
		"address of another, verified": {
			id: oauthIdentity("n", "v@example.com"), err: auth.ErrOAuthAccountNotLinked,
			calls: strings.TrimSpace(strings.Repeat("getUserByAccount getUserByEmail ", 5)),
		},
		"address of another, dangerous": { // 16: no event createUser, since nobody was created
			id: func() auth.Identity { i := oauthIdentity("n", "v@example.com"); i.LinkByEmail = true; return i }(), want: "user-v",
			calls: "getUserByAccount getUserByEmail linkAccount createSession", events: "linkAccount",
		},
		"webauthn, address of another": {
			id:  auth.Identity{User: &auth.User{Email: "a@example.com"}, Account: &auth.Account{Provider: "passkey", Type: auth.TypeWebAuthn, ProviderAccountID: "n"}},
			err: auth.ErrAccountNotLinked, calls: "getUserByAccount getUserByEmail",
		},
	} {
		synctestRun(t, name, func(t *testing.T) {
			s := newStore()
			s.users["user-v"] = adapter.User{ID: "user-v", Email: "v@example.com", EmailVerified: new(time.Now())}
			for _, x := range []string{"a", "b"} {
				s.users["user-"+x] = adapter.User{ID: "user-" + x, Email: x + "@example.com"}
				s.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: x}] = adapter.Account{UserID: "user-" + x}
			}
			s.sessions[signedIn] = adapter.Session{SessionToken: signedIn, UserID: "user-a", Expires: time.Now().Add(time.Hour)}
			var calls, events []string
			s.before = noting(&calls)
			h := newHandler(t, auth.Config{Adapter: s, Events: auth.Events{
				CreateUser:  on(func(auth.CreateUserEvent) { events = append(events, "createUser") }),
				LinkAccount: on(func(auth.LinkAccountEvent) { events = append(events, "linkAccount") }),
			}})
			r := httptest.NewRequest(http.MethodGet, origin, nil)
			if c.session {
				r.Header.Set("Cookie", "__Secure-authjs.session-token="+signedIn)
			}
			got, err := h.Login(t.Context(), r, c.id)
			if c.err != "" {
				require.ErrorIs(t, err, c.err)
			} else if err != nil {
				t.Fatal(err)
			} else if got.User.ID != c.want || got.IsNewUser != (c.want == "user-1") || got.Token == signedIn {
				t.Errorf("got %+v", got)
			}
			assert.Equal(t, c.calls, strings.Join(calls, " "), "calls")
			assert.Equal(t, c.events, strings.Join(events, " "), "events")
		})
	}
}

// synctestRun is t.Run in a bubble, in which waiting takes no time.
func synctestRun(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// TestLoginLeavesNoUserWithoutAccount: a user whose account can't be linked
// would hold the address permanently.
func TestLoginLeavesNoUserWithoutAccount(t *testing.T) {
	s := newStore()
	s.before = failingAt("linkAccount", errors.New("connection lost"))
	h := newHandler(t, auth.Config{Adapter: s})
	r := httptest.NewRequest(http.MethodGet, origin, nil)
	_, err := h.Login(t.Context(), r, oauthIdentity("n", "new@example.com"))
	require.ErrorIs(t, err, auth.ErrAdapter)
	assert.Empty(t, s.users, "a user is left")
	s.before = nil
	_, err = h.Login(t.Context(), r, oauthIdentity("n", "new@example.com"))
	assert.NoError(t, err, "the next attempt")
}

// TestLoginWithoutAdapter keeps the user as the provider describes them.
func TestLoginWithoutAdapter(t *testing.T) {
	h := newHandler(t, auth.Config{})
	got, err := h.Login(t.Context(), httptest.NewRequest(http.MethodGet, origin, nil), oauthIdentity("n", "new@example.com"))
	assert.Truef(t, err == nil && got.User.ID == "fresh" && !got.IsNewUser && got.Token == "", "got %+v, %v", got, err)
}

// TestConcurrentFirstSignIns: one person signs in for the first time many times
// at once, in one process or several. All sign-ins succeed and make one user.
func TestConcurrentFirstSignIns(t *testing.T) {
	const people, each = 8, 16
	for _, processes := range []int{1, 2} {
		for _, kind := range []auth.ProviderType{auth.TypeEmail, auth.TypeOAuth} {
			t.Run(fmt.Sprintf("%s, %d processes", kind, processes), func(t *testing.T) {
				s := newStore()
				var handlers []*auth.Handler
				for range processes {
					handlers = append(handlers, newHandler(t, auth.Config{Adapter: s}))
				}
				start := make(chan struct{})
				var wg sync.WaitGroup
				var mu sync.Mutex
				ids := map[string][]string{}
				for i := range people * each {
					wg.Go(func() {
						email := fmt.Sprintf("person-%d@example.com", i%people)
						id := oauthIdentity(email, email)
						if kind == auth.TypeEmail {
							id.Account = &auth.Account{Provider: "email", Type: auth.TypeEmail, ProviderAccountID: email}
						}
						<-start
						got, err := handlers[i%processes].Login(context.WithoutCancel(t.Context()), httptest.NewRequest(http.MethodGet, origin, nil), id)
						mu.Lock()
						defer mu.Unlock()
						if !assert.NoError(t, err, email) {
							return
						}
						if !slices.Contains(ids[email], got.User.ID) {
							ids[email] = append(ids[email], got.User.ID)
						}
					})
				}
				close(start)
				wg.Wait()
				assert.Len(t, s.users, people)
				for email, list := range ids {
					assert.Lenf(t, list, 1, "%s signed in as", email)
				}
				if kind == auth.TypeOAuth {
					assert.Len(t, s.accounts, people)
				}
			})
		}
	}
}

// TestLoginStartsAgain: another process comes in between two steps of a login.
// The login ends with the same user.
func TestLoginStartsAgain(t *testing.T) {
	key := adapter.AccountKey{Provider: "idp", ProviderAccountID: "n"}
	mail := auth.Identity{
		User:    &auth.User{ID: "fresh", Email: "new@example.com"},
		Account: &auth.Account{Provider: "email", Type: auth.TypeEmail, ProviderAccountID: "new@example.com"},
	}
	for name, c := range map[string]struct {
		id     auth.Identity
		seed   func(s *store)
		before string // the method before which the other process runs
		other  func(s *store)
		want   string // the only user
		isNew  bool
	}{
		"email, user made meanwhile": {
			id: mail, before: "createUser", want: "other",
			other: func(s *store) { s.users["other"] = adapter.User{ID: "other", Email: "new@example.com"} },
		},
		"email, user deleted meanwhile": {
			id: mail, before: "updateUser", want: "user-1", isNew: true,
			seed:  func(s *store) { s.users["old"] = adapter.User{ID: "old", Email: "new@example.com"} },
			other: func(s *store) { delete(s.users, "old") },
		},
		"account, user and account made meanwhile": {
			id: oauthIdentity("n", "new@example.com"), before: "createUser", want: "other",
			other: func(s *store) {
				s.users["other"] = adapter.User{ID: "other", Email: "new@example.com"}
				s.accounts[key] = adapter.Account{UserID: "other", Provider: "idp", ProviderAccountID: "n"}
			},
		},
		"account without address, made meanwhile": {
			id: oauthIdentity("n", ""), before: "linkAccount", want: "other",
			other: func(s *store) {
				s.users["other"] = adapter.User{ID: "other"}
				s.accounts[key] = adapter.Account{UserID: "other", Provider: "idp", ProviderAccountID: "n"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore()
			if c.seed != nil {
				c.seed(s)
			}
			s.before = func(method string, _ ...any) error {
				if method == c.before && c.other != nil {
					s.mu.Lock()
					defer s.mu.Unlock()
					c.other(s)
					c.other = nil
				}
				return nil
			}
			h := newHandler(t, auth.Config{Adapter: s})
			got := must(h.Login(t.Context(), httptest.NewRequest(http.MethodGet, origin, nil), c.id))(t)
			assert.Truef(t, got.User.ID == c.want && got.IsNewUser == c.isNew && s.sessions[got.Token].UserID == c.want,
				"got %+v with a session of %q, want %s", got, s.sessions[got.Token].UserID, c.want)
			assert.Equal(t, []string{c.want}, slices.Collect(maps.Keys(s.users)), "users")
		})
	}
}

// TestLoginBetweenUserAndAccount: while one process has stored the user and not
// yet the account, the same person signs in at another one. It waits for the
// account, and signs in as that user; if the account never comes, it makes the
// user itself.
func TestLoginBetweenUserAndAccount(t *testing.T) {
	for name, linking := range map[string]error{"linked": nil, "not linked": errors.New("connection lost")} {
		synctestRun(t, name, func(t *testing.T) {
			s := newStore()
			held, linkings := make(chan struct{}), 0
			s.before = func(method string, _ ...any) error {
				if method != "linkAccount" {
					return nil
				}
				if linkings++; linkings > 1 {
					return nil
				}
				<-held
				return linking
			}
			first, second := newHandler(t, auth.Config{Adapter: s}), newHandler(t, auth.Config{Adapter: s})
			r := httptest.NewRequest(http.MethodGet, origin, nil)
			var wg sync.WaitGroup
			var got [2]*auth.LoggedIn
			var errs [2]error
			wg.Go(func() { got[0], errs[0] = first.Login(t.Context(), r, oauthIdentity("n", "new@example.com")) })
			synctest.Wait()
			wg.Go(func() { got[1], errs[1] = second.Login(t.Context(), r, oauthIdentity("n", "new@example.com")) })
			<-time.After(50 * time.Millisecond)
			close(held)
			wg.Wait()
			require.ErrorIs(t, errs[0], linking)
			require.NoError(t, errs[1])
			assert.Len(t, s.users, 1)
			assert.Len(t, s.accounts, 1)
			assert.Contains(t, s.users, got[1].User.ID)
			assert.Equal(t, linking != nil, got[1].IsNewUser, "new user")
		})
	}
}

// TestLoginGivesUp: if the store has an account without its user, nobody can
// sign up with it. The login tries three times, and leaves no records behind.
func TestLoginGivesUp(t *testing.T) {
	s := newStore()
	s.accounts[adapter.AccountKey{Provider: "idp", ProviderAccountID: "n"}] = adapter.Account{UserID: "gone"}
	h := newHandler(t, auth.Config{Adapter: s})
	_, err := h.Login(t.Context(), httptest.NewRequest(http.MethodGet, origin, nil), oauthIdentity("n", "new@example.com"))
	assert.Truef(t, errors.Is(err, adapter.ErrConflict) && s.created == 3 && len(s.users) == 0,
		"got %v after %d users, of whom are left %v", err, s.created, s.users)
}

// TestLoginKeepsUserThatAnotherLinked: a second process may link the account to
// the user that the first has just made, since their address is the same and
// the provider is trusted with it. The first process then must not undo
// anything.
func TestLoginKeepsUserThatAnotherLinked(t *testing.T) {
	s := newStore()
	first, second := newHandler(t, auth.Config{Adapter: s}), newHandler(t, auth.Config{Adapter: s})
	r := httptest.NewRequest(http.MethodGet, origin, nil)
	id := oauthIdentity("n", "new@example.com")
	id.LinkByEmail, id.Proof = true, auth.EmailProven
	var other *auth.LoggedIn
	s.before = func(method string, _ ...any) error {
		if method == "linkAccount" && other == nil {
			other = &auth.LoggedIn{}
			var err error
			other, err = second.Login(t.Context(), r, id)
			assert.NoError(t, err)
		}
		return nil
	}
	got := must(first.Login(t.Context(), r, id))(t)
	assert.Truef(t, got.User.ID == other.User.ID && len(s.users) == 1 && len(s.accounts) == 1,
		"signed in as %s and %s, users %v, accounts %v", got.User.ID, other.User.ID, s.users, s.accounts)
}

// TestLoginsOfOneAccountTakeTurns: while a person signs in for the first time,
// a second login of the same account waits. A login of another account does not
// wait, and a login whose client hangs up ends.
func TestLoginsOfOneAccountTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		held, entered := make(chan struct{}), 0
		s.before = func(method string, args ...any) error {
			if method == "getUserByAccount" && args[0] == (adapter.AccountKey{Provider: "idp", ProviderAccountID: "a"}) {
				entered++
				<-held
			}
			return nil
		}
		h := newHandler(t, auth.Config{Adapter: s})
		r := httptest.NewRequest(http.MethodGet, origin, nil)
		var wg sync.WaitGroup
		ids := make([]string, 2)
		for i := range ids {
			wg.Go(func() {
				got, err := h.Login(t.Context(), r, oauthIdentity("a", "a@example.com"))
				if !assert.NoError(t, err) {
					return
				}
				ids[i] = got.User.ID
			})
		}
		synctest.Wait()
		assert.Equal(t, 1, entered, "logins of one account at once")
		_, err := h.Login(t.Context(), r, oauthIdentity("b", "b@example.com"))
		assert.NoError(t, err)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = h.Login(gone, r, oauthIdentity("a", "a@example.com"))
		assert.ErrorIs(t, err, context.Canceled)
		close(held)
		wg.Wait()
		assert.Truef(t, ids[0] == ids[1] && len(s.users) == 2, "signed in as %v, %d users", ids, len(s.users))
	})
}

// TestAccountNamesItsOwner: an account in a callback or an event names the user
// who owns it, by the ID that the store has given. Nobody owns an account before
// it is stored.
func TestAccountNamesItsOwner(t *testing.T) {
	t.Parallel()
	for name, sites := range map[string]func(c *auth.Config){
		"database": func(*auth.Config) {},
		"token":    func(c *auth.Config) { c.Session.Strategy = auth.StrategyJWT },
		"no store": func(c *auth.Config) { c.Adapter, c.Providers = nil, c.Providers[:2] },
		"credentials": func(c *auth.Config) {
			c.Adapter, c.Providers = nil, []auth.Provider{password()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			note := func(where string, a *auth.Account, u *auth.User) {
				owner := "nobody"
				switch a.UserID {
				case "":
				case u.ID:
					owner = "the user"
				default:
					owner = "another: " + a.UserID
				}
				seen = append(seen, where+" "+owner)
			}
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Callbacks.SignIn = allowing(func(p auth.SignInParams) { note("signIn", p.Account, p.User) })
				c.Callbacks.JWT = changingToken(func(p auth.JWTParams) {
					if p.Account != nil {
						note("jwt", p.Account, p.User)
					}
				})
				c.Events.LinkAccount = on(func(e auth.LinkAccountEvent) { note("linked", e.Account, e.User) })
				c.Events.SignIn = on(func(e auth.SignInEvent) { note("signed in", e.Account, e.User) })
				sites(c)
			})
			want := func(kind string, events ...string) {
				t.Helper()
				if !slices.Contains([]string{"token", "no store", "credentials"}, name) {
					events = slices.DeleteFunc(events, func(e string) bool { return strings.HasPrefix(e, "jwt") })
				}
				assert.Equal(t, events, seen, kind)
				seen = nil
			}
			b := newBrowser(t, st)
			switch name {
			case "credentials":
				b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin)
				want("credentials", "signIn the user", "jwt the user", "signed in the user")
				return
			case "no store":
				for range 2 {
					st.at(b, "idp", "ada").wantLocation(t, origin)
					want("no store", "signIn the user", "jwt the user", "signed in the user")
				}
				return
			}
			st.byMail(b).wantLocation(t, origin)
			want("new by mail", "signIn nobody", "signIn nobody", "jwt the user", "signed in the user")
			st.byMail(b).wantLocation(t, origin)
			want("again by mail", "signIn the user", "signIn the user", "jwt the user", "signed in the user")
			st.at(b, "idp", "ada").wantLocation(t, origin)
			want("linked", "signIn nobody", "signIn nobody", "linked the user", "jwt the user", "signed in the user")
			st.at(newBrowser(t, st), "idp", "ada").wantLocation(t, origin)
			want("owner", "signIn the user", "jwt the user", "signed in the user")
			st.states = false // the person has no address
			st.at(newBrowser(t, st), "other", "grace").wantLocation(t, origin)
			want("new", "signIn nobody", "linked the user", "jwt the user", "signed in the user")
		})
	}
}

// TestDenyToLeadsToAnyURL: the application sends a person whom it refuses to a
// path or to any site, with each type of provider. Callbacks.Redirect judges
// only what a client supplied.
func TestDenyToLeadsToAnyURL(t *testing.T) {
	t.Parallel()
	const denied = origin + "/auth/error?error=AccessDenied"
	for to, want := range map[string]string{
		"/pay-first": origin + "/pay-first", "https://other.example/join?a=b": "https://other.example/join?a=b", "http://other.example": "http://other.example",
		origin + "/x": origin + "/x", "//other.example/x": origin + "//other.example/x",
		"javascript:alert(1)": denied, "mailto:a@b.example": denied, "other.example": denied, "https:/other.example": denied, "/x\r\nSet-Cookie: a=b": denied, "": denied,
	} {
		for _, redirect := range []bool{false, true} {
			set := func(c *auth.Config) {
				c.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) { return auth.DenyTo(to), nil }
				if redirect {
					c.Callbacks.Redirect = func(_ context.Context, p auth.RedirectParams) (string, error) { return p.BaseURL + "/judged", nil }
				}
			}
			st := newStage(t, func(_ *stage, c *auth.Config) { set(c) })
			config := auth.Config{Providers: []auth.Provider{password()}}
			set(&config)
			for kind, res := range map[string]*reply{
				"OAuth":       st.at(newBrowser(t, st), "idp", "ada"),
				"mail":        newBrowser(t, st).post("/auth/signin/email", "email", victim),
				"credentials": newBrowser(t, newHandler(t, config)).post("/auth/callback/credentials", "username", "ada", "password", "lovelace"),
			} {
				assert.Equalf(t, want, res.location(), "%s, DenyTo(%q): the browser is sent to", kind, to)
			}
		}
	}
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
	newBrowser(t, h).post("/auth/callback/credentials", "username", "ada", "password", "lovelace", "callbackUrl", "https://other.example/").wantLocation(t, origin)
}

// TestCookiesOfAbandonedSignIns: sign-ins that were begun and given up leave
// cookies that fit into the header line of every server, however long their
// callback URLs are, also in a browser that remembers what it finished. Each can
// still be finished. What lost its callback URL ends at the home of the site, and
// never at the page of another sign-in.
func TestCookiesOfAbandonedSignIns(t *testing.T) {
	t.Parallel()
	for _, n := range []int{20, 300, 500, 700, 1000} {
		for _, finished := range []bool{false, true} {
			testAbandonedSignIns(t, n, finished)
		}
	}
}

// testAbandonedSignIns begins sign-ins whose callback URLs have n bytes, in a
// browser that finished one before, or in one without cookies.
func testAbandonedSignIns(t *testing.T, n int, finished bool) {
	t.Helper()
	s := newSite(t, nil)
	b := newBrowser(t, s)
	if finished {
		page := "/finished" + strings.Repeat("x", n)
		start := b.post("/auth/signin/idp", "callbackUrl", page).location()
		b.get(callback(s.idp.authorize(t, start))).wantLocation(t, origin+page)
	}
	var starts, pages []string
	for i := range 6 {
		page := fmt.Sprintf("/%d%s", i, strings.Repeat("x", n))
		start := b.post("/auth/signin/idp", "callbackUrl", page)
		starts, pages = append(starts, start.location()), append(pages, origin+page)
		size := len("Cookie: ")
		for _, c := range b.cookies {
			if !strings.Contains(c.Name, "session-token") {
				size += len(c.Name) + len(c.Value) + len("=; ")
			}
		}
		assert.LessOrEqualf(t, size, 6<<10, "callback URL of %d bytes, sign-in %d: bytes in the Cookie header", n, i+1)
	}
	kept := maps.Clone(b.cookies)
	ownPage := 0
	for i := 2; i < 6; i++ { // four may be under way
		b.cookies = maps.Clone(kept)
		end := b.get("/auth/callback/idp?" + s.idp.authorize(t, starts[i]).Encode()).location()
		if end == pages[i] {
			ownPage++
		} else if end != origin {
			t.Errorf("callback URL of %d bytes: sign-in %d ends at %.60s", n, i+1, end)
		}
		assert.Falsef(t, i == 5 && end != pages[i], "callback URL of %d bytes: the last sign-in ends at %s", n, end)
		b.wantSession("ada@example.com")
	}
	assert.Falsef(t, n == 20 && ownPage != 4, "short callback URLs: %d of 4 sign-ins end at their page", ownPage)
}

// TestAccountTakenAwayWhileSigningIn: an attacker's account is linked to the
// victim. The attacker signs in with it, and a callback of the application
// takes time. Meanwhile the victim removes the account and ends all sessions.
// The sign-in must not sign in as the victim, even if the account signed up
// anew meanwhile. If nothing changes meanwhile, the sign-in succeeds.
func TestAccountTakenAwayWhileSigningIn(t *testing.T) {
	for _, what := range []string{"unlinked", "signed up anew", ""} {
		t.Run(what, func(t *testing.T) {
			var during func()
			st := newStage(t, func(_ *stage, c *auth.Config) {
				c.Callbacks.SignIn = allowing(func(auth.SignInParams) {
					if f := during; f != nil {
						during = nil
						f()
					}
				})
			})
			owner := newBrowser(t, st)
			st.at(owner, "other", "ada").wantLocation(t, origin)
			st.at(owner, "idp", "mallory").wantLocation(t, origin)
			id := st.userOf(owner).ID
			if what != "" {
				during = func() {
					_, err := st.store.UnlinkAccount(t.Context(), adapter.AccountKey{Provider: "idp", ProviderAccountID: "mallory"})
					assert.NoError(t, err)
					_, err = st.store.DeleteSessionsByUserID(t.Context(), id, "")
					assert.NoError(t, err)
					st.idp.claims = func(m map[string]any) { m["email"] = "mallory@evil.example" }
					if what == "signed up anew" {
						st.at(newBrowser(t, st), "idp", "mallory").wantLocation(t, origin)
					}
				}
			}
			st.at(newBrowser(t, st), "idp", "mallory")
			ofOwner := 0
			for _, s := range st.store.sessions {
				if s.UserID == id {
					ofOwner++
				}
			}
			assert.Equal(t, map[bool]int{true: 2}[what == ""], ofOwner, "sessions of the victim")
		})
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
		assert.Equal(t, ids, asked, "users about whom Callbacks.SignIn was asked")
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
			assert.Equalf(t, id == "other", len(st.store.accounts) == 1, "%s: linked", id)
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
		assert.Empty(t, st.store.accounts, "linked")
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
		assert.Nil(t, st.store.users["half"].EmailVerified, "given")
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
				assert.Equal(t, victim, st.store.users[holder].Email, "the other user lost the address")
				continue
			}
			end.wantLocation(t, origin)
		}
	})
}

// TestSessionIsRotated: the key of a session from before a sign-in, or from
// before an account was linked, is not valid afterwards.
func TestSessionIsRotated(t *testing.T) {
	st := newStage(t, nil)
	b := newBrowser(t, st)
	st.at(b, "idp", "ada").wantLocation(t, origin)
	for _, provider := range []string{"idp", "other"} {
		old := *b.cookies["__Secure-authjs.session-token"]
		st.at(b, provider, "ada").wantLocation(t, origin)
		assert.NotEqualf(t, old.Value, b.cookies["__Secure-authjs.session-token"].Value,
			"%s: the session has the same key", provider)
		_, ok := st.store.sessions[old.Value]
		assert.Truef(t, !ok && len(st.store.sessions) == 1, "%s: the old session goes on: %v", provider, st.store.sessions)
	}
	b.wantSession(`"name":"ada"`)
}
