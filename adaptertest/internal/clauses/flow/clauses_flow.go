package flow

import (
	"context"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/browser"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The flow clauses run the real core over the adapter, with requests like those of browsers. They show that the
// promises of the single methods together make sign-in work.

// flowMethods are the methods that the core calls for sign-in by mail with database sessions.
var flowMethods = []string{
	"CreateUser", "GetUser", "GetUserByEmail", "UpdateUser", "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession",
	"CreateVerificationToken", "UseVerificationToken",
}

var flowClauses = []kit.Check{
	{ID: "FLOW-01", Words: "link-signs-in-once", Races: true, Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, true) // with adapter.TokenEdits the core would delete the link itself
		email := flowAddress(c)
		first := s.visitor()
		link := first.askForLink(email)
		var in atomic.Int32
		others := kit.Times(4, s.visitor)
		tokens := kit.Map(others, (*visitor).CSRFToken)
		c.Parallel(len(others), func(i int) {
			if others[i].Confirm(link, tokens[i]); others[i].SignedInAs() != "" {
				in.Add(1)
			}
		})
		if n := in.Load(); n != 1 {
			c.Errorf("a link that was opened %d times at once signed in %d browsers, want 1", len(others), n)
		}
		late := s.visitor()
		if late.Open(link); late.SignedInAs() != "" {
			c.Errorf("a link that was used before signs in")
		}
	}},
	{ID: "FLOW-02", Words: "expired-session-is-removed-on-access", Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, false)
		v := s.signedIn(flowAddress(c))
		token := v.SessionToken()
		s.advance(flowMaxAge + time.Second)
		if who := v.SignedInAs(); who != "" {
			c.Errorf("a session that has expired still signs in %q", who)
		}
		kit.FindsNothing(c, "the record of the expired session after it was met", kit.GetSessionAndUser(token))
	}},
	{ID: "FLOW-03", Words: "session-is-extended-once-per-update-age", Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, false)
		v := s.signedIn(flowAddress(c))
		token := v.SessionToken()
		at := func(what string) time.Time {
			v.SignedInAs()
			r := c.GetSession(token)
			if r == nil {
				c.Fatalf("%s: the session is absent", what)
			}
			return r.Session.Expires
		}
		start := at("within updateAge")
		s.advance(flowUpdateAge / 2)
		if got := at("within updateAge"); !got.Equal(start) {
			c.Errorf("within updateAge the session was moved from %s to %s", diff.Show(start), diff.Show(got))
		}
		s.advance(flowUpdateAge)
		earliest := s.now().Add(flowMaxAge - time.Second)
		extended := at("after updateAge")
		if latest := s.now().Add(flowMaxAge + time.Second); extended.Before(earliest) || extended.After(latest) {
			c.Errorf("after updateAge the session expires %s, want between %s and %s", diff.Show(extended), diff.Show(earliest), diff.Show(latest))
		}
		s.advance(flowUpdateAge / 2)
		if got := at("within updateAge again"); !got.Equal(extended) {
			c.Errorf("within updateAge of the extension the session was moved from %s to %s", diff.Show(extended), diff.Show(got))
		}
	}},
	{ID: "FLOW-04", Words: "sign-out-removes-the-session", Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, false)
		email := flowAddress(c)
		v, elsewhere := s.signedIn(email), s.signedIn(email)
		token, kept := v.SessionToken(), v.Cookies()
		v.SignOut()
		kit.FindsNothing(c, "the session after sign-out", kit.GetSessionAndUser(token))
		v.Restore(kept)
		if who := v.SignedInAs(); who != "" {
			c.Errorf("the cookie of a session that was signed out signs in %q", who)
		}
		if who := elsewhere.SignedInAs(); who != email {
			c.Errorf("sign-out in one browser leaves %q signed in in the other, want %q", who, email)
		}
	}},
	{ID: "FLOW-05", Words: "first-sign-ins-at-once-make-one-user", Races: true, Requires: flowMethods, Test: func(c *kit.Context) {
		email := flowAddress(c)
		var visitors []*visitor
		var links []string
		for range 2 { // two sites, like two processes
			s := newSite(c, true) // with adapter.TokenEdits the first sign-in would delete the other links
			for range 4 {
				v := s.visitor()
				visitors, links = append(visitors, v), append(links, v.askForLink(email))
			}
		}
		c.Parallel(len(visitors), func(i int) { visitors[i].Open(links[i]) })
		holder := c.GetUserByEmail(email)
		if holder == nil {
			c.Fatalf("no user has the address after %d first sign-ins", len(visitors))
		}
		for _, v := range visitors {
			token := v.SessionToken()
			if token == "" {
				c.Errorf("a first sign-in among %d failed", len(visitors))
				continue
			}
			if r := c.GetSession(token); r == nil || r.User.ID != holder.ID {
				c.Errorf("a first sign-in ended with %s, and %q has the address", diff.Show(r), holder.ID)
			}
		}
	}},
	{ID: "FLOW-06", Words: "returning-person-is-the-same-user", Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, false)
		email := flowAddress(c)
		first := s.signedIn(email)
		before := c.GetUserByEmail(email)
		if before == nil || before.EmailVerified == nil {
			c.Fatalf("after the first sign-in the user is %s, want one with emailVerified", diff.Show(before))
		}
		s.advance(time.Minute)
		second := s.signedIn(email)
		after := c.GetUserByEmail(email)
		if after == nil || after.ID != before.ID {
			c.Fatalf("the second sign-in of %q ended as %s", before.ID, diff.Show(after))
		}
		if after.EmailVerified == nil || after.EmailVerified.Before(*before.EmailVerified) {
			c.Errorf("after the second sign-in emailVerified is %s, before it was %s", diff.Show(after.EmailVerified), diff.Show(before.EmailVerified))
		}
		for _, v := range []*visitor{first, second} {
			if r := c.GetSession(v.SessionToken()); r == nil || r.User.ID != before.ID {
				c.Errorf("a session of %q leads to %s", before.ID, diff.Show(r))
			}
		}
	}},
	{ID: "FLOW-07", Words: "wrong-link-spends-nothing", Requires: flowMethods, Test: func(c *kit.Context) {
		s := newSite(c, false)
		v := s.visitor()
		link := v.askForLink(flowAddress(c))
		for _, parameter := range []string{"token", "email"} {
			u, err := url.Parse(link)
			if err != nil {
				c.Fatalf("the link is not a URL: %v", err)
			}
			q := u.Query()
			q.Set(parameter, "x"+q.Get(parameter))
			u.RawQuery = q.Encode()
			stranger := s.visitor()
			if stranger.Open(u.String()); stranger.SignedInAs() != "" {
				c.Errorf("a link with another %s signs in", parameter)
			}
		}
		if v.Open(link); v.SignedInAs() == "" {
			c.Errorf("the right link does not sign in after wrong ones were opened")
		}
	}},
}

const (
	flowMaxAge    = 2 * time.Hour
	flowUpdateAge = 10 * time.Minute
	flowOrigin    = "http://localhost:3000"
)

// site is the core over the adapter, with its own clock and a mailbox.
type site struct {
	c       *kit.Context
	handler *auth.Handler
	ahead   atomic.Int64 // how far the core's clock is ahead, in nanoseconds
	links   sync.Map     // the last link by address
}

// newSite opens a site over the adapter of the clause. A bare one uses no optional interface. The observer has every
// one of them. If the adapter lacks one, the core must not see the observer's.
func newSite(c *kit.Context, bare bool) *site {
	s, a := &site{c: c}, c.Adapter
	if bare || len(c.Optional) > 0 {
		a = struct{ adapter.Adapter }{a}
	}
	handler, err := auth.New(auth.Config{
		URL:     flowOrigin,
		Secret:  []string{"the secret of the flow clauses, 32 characters or more"},
		Adapter: a,
		Session: auth.SessionConfig{Strategy: auth.StrategyDatabase, MaxAge: flowMaxAge, UpdateAge: new(flowUpdateAge)},
		Clock:   s.now,
		Logger:  slog.New(slog.DiscardHandler),
		Providers: []auth.Provider{&auth.Email{
			NormalizeIdentifier:     func(submitted string) (string, error) { return submitted, nil },
			SendVerificationRequest: s.deliver,
		}},
	})
	if err != nil {
		c.Fatalf("the core refuses the adapter: %v", err)
	}
	s.handler = handler
	return s
}

func (s *site) now() time.Time { return s.c.Now().Add(time.Duration(s.ahead.Load())) }

func (s *site) advance(d time.Duration) { s.ahead.Add(int64(d)) }

func (s *site) deliver(_ context.Context, p auth.VerificationRequest) error {
	s.links.Store(p.Identifier, p.URL)
	return nil
}

// flowAddress returns an address that no user has.
func flowAddress(c *kit.Context) string {
	return strings.ToLower(strings.ReplaceAll(c.Unique("ada"), "ü", "u")) + "@flow.example"
}

// visitor is a person with a browser at a site.
type visitor struct {
	*browser.Browser
	site *site
}

func (s *site) visitor() *visitor {
	return &visitor{Browser: browser.New(s.c.Ctx, s.c, s.handler, flowOrigin), site: s}
}

// signedIn returns a visitor who has opened a link that was sent to the address.
func (s *site) signedIn(email string) *visitor {
	v := s.visitor()
	v.Open(v.askForLink(email))
	return v
}

// askForLink requests a mail and returns the link in it.
func (v *visitor) askForLink(email string) string {
	w := v.Post("/auth/signin/email", url.Values{"email": {email}})
	link, sent := v.site.links.LoadAndDelete(email)
	if !sent {
		v.site.c.Fatalf("no mail was sent to %q: %s", email, w)
	}
	return link.(string)
}
