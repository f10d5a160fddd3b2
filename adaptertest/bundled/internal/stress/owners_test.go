package stress_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// assigning are wirings whose store gives each user an ID of its own, whatever ID the core proposes.
var assigning = []string{"postgres, tables of Auth.js", "mongo, replica set", "mongo, standalone"}

// TestAccountNamesItsOwner: in every callback and event the account names its owner by the ID that the store has given, and
// nobody while it has no owner.
func TestAccountNamesItsOwner(t *testing.T) {
	inWirings(t, assigning, wiringstest.Servers(t, stores.Options{Fast: true}), func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
			t.Run(string(strategy), func(t *testing.T) { testOwners(t, o.Harness.New(t), strategy) })
		}
	})
}

// ownerLog collects the owners that callbacks and events name.
type ownerLog struct {
	seen []string
	link string // the last link that was mailed
}

func (l *ownerLog) note(where string, a *auth.Account) { l.seen = append(l.seen, where+" "+a.UserID) }

// want checks what was seen since the last call. Events of the jwt callback are left out with database sessions.
func (l *ownerLog) want(t *testing.T, strategy auth.Strategy, what string, events ...string) {
	t.Helper()
	if strategy == auth.StrategyDatabase {
		events = slices.DeleteFunc(events, func(e string) bool { return e[:3] == "jwt" })
	}
	assert.Equal(t, events, l.seen, what)
	l.seen = nil
}

func (l *ownerLog) site(t *testing.T, a adapter.Adapter, strategy auth.Strategy) *auth.Handler {
	t.Helper()
	idp := newIDP(t)
	return must(auth.New(auth.Config{
		Secret: []string{"0123456789abcdef0123456789abcdef"}, URL: siteURL, Adapter: a, Session: auth.SessionConfig{Strategy: strategy},
		Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Providers: []auth.Provider{idp, webauthn.Passkey(), &auth.Email{SendVerificationRequest: func(_ context.Context, v auth.VerificationRequest) error {
			l.link = v.URL
			return nil
		}}},
		Experimental: auth.Experimental{EnableWebAuthn: true},
		Callbacks: auth.Callbacks{
			SignIn: func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
				l.note("signIn", p.Account)
				return auth.Allow(), nil
			},
			JWT: func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
				if p.Account != nil {
					l.note("jwt", p.Account)
				}
				return p.Token, nil
			},
		},
		Events: auth.Events{
			LinkAccount: func(_ context.Context, e auth.LinkAccountEvent) error {
				l.note("linked", e.Account)
				return nil
			},
			SignIn: func(_ context.Context, e auth.SignInEvent) error {
				l.note("signed in", e.Account)
				return nil
			},
		},
	}))(t)
}

func testOwners(t *testing.T, store adapter.Adapter, strategy auth.Strategy) {
	log := &ownerLog{}
	site := log.site(t, store, strategy)
	open := func() *tab { return newTab(t, site) }
	byMail := func(b *tab) {
		t.Helper()
		b.do(http.MethodPost, "/auth/signin/email", url.Values{"email": {"ada@example.com"}}.Encode())
		link := must(url.Parse(log.link))(t)
		require.Equal(t, siteURL, b.do(http.MethodGet, link.RequestURI(), "").Header().Get("Location"), "the link ends at")
	}
	atProvider := func(b *tab, person string) {
		t.Helper()
		to := must(url.Parse(b.do(http.MethodPost, "/auth/signin/idp", "").Header().Get("Location")))(t)
		answer := url.Values{"code": {person}, "state": {to.Query().Get("state")}}
		require.Equal(t, siteURL, b.do(http.MethodGet, "/auth/callback/idp?"+answer.Encode(), "").Header().Get("Location"),
			"the sign-in ends at")
	}
	owner := func(email string) string {
		t.Helper()
		u, err := store.GetUserByEmail(t.Context(), email)
		require.Truef(t, err == nil && u != nil, "%v %v", u, err)
		require.NotEqualf(t, len("00000000-0000-0000-0000-000000000000"), len(u.ID),
			"the store keeps the ID that the core proposes: %s", u.ID)
		return u.ID
	}

	b := open()
	byMail(b)
	ada := owner("ada@example.com")
	log.want(t, strategy, "new, by mail", "signIn ", "signIn ", "jwt "+ada, "signed in "+ada)
	byMail(open())
	log.want(t, strategy, "again, by mail", "signIn "+ada, "signIn "+ada, "jwt "+ada, "signed in "+ada)
	atProvider(b, "ada-there")
	log.want(t, strategy, "linked", "signIn ", "signIn ", "linked "+ada, "jwt "+ada, "signed in "+ada)
	atProvider(open(), "ada-there")
	log.want(t, strategy, "again, at a provider", "signIn "+ada, "jwt "+ada, "signed in "+ada)
	atProvider(open(), "grace")
	grace := owner("grace@example.com")
	log.want(t, strategy, "new, at a provider", "signIn ", "linked "+grace, "jwt "+grace, "signed in "+grace)
	assert.NotEqual(t, grace, ada, "two people have the ID")
	key := softkey.New(t, softkey.ES256)
	c := open()
	c.done(c.register(key, "eve@example.com"))
	eve := owner("eve@example.com")
	log.want(t, strategy, "new, by passkey", "signIn ", "linked "+eve, "jwt "+eve, "signed in "+eve)
	c = open()
	c.done(c.signIn(key))
	log.want(t, strategy, "again, by passkey", "signIn "+eve, "jwt "+eve, "signed in "+eve)
}
