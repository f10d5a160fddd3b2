package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestClientAddress: a client has one address on all its connections, and names
// no other one unless a trusted proxy repeats it.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		peer      string
		forwarded []string
		proxies   []netip.Prefix
		want      string
	}{
		{"203.0.113.9:4000", nil, nil, "203.0.113.9"},
		{"203.0.113.9:4001", nil, nil, "203.0.113.9"},
		{"203.0.113.9", nil, nil, "203.0.113.9"},
		{"[::ffff:203.0.113.9]:4000", nil, nil, "203.0.113.9"},
		{"[2001:db8:1:2:3:4:5:6]:4000", nil, nil, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2::7]:4001", nil, nil, "2001:db8:1:2::/64"},
		{"[2001:db8:1:3::7]:4000", nil, nil, "2001:db8:1:3::/64"},
		{"[fe80::1%eth0]:4000", nil, nil, "fe80::/64"},
		{"[64:ff9b::203.0.113.9]:4000", nil, nil, "203.0.113.9"},
		{"@", nil, nil, ""},
		{"203.0.113.9:4000", []string{"198.51.100.1"}, nil, "203.0.113.9"},
		{"203.0.113.9:4000", []string{"198.51.100.1"}, proxies, "203.0.113.9"},
		{"10.0.0.1:4000", []string{"198.51.100.1"}, nil, "10.0.0.1"},
		{"10.0.0.1:4000", []string{"198.51.100.1"}, proxies, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"192.0.2.1, 198.51.100.1"}, proxies, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"192.0.2.1", "198.51.100.1, 10.9.9.9"}, proxies, "198.51.100.1"},
		{"[fd00::1]:4000", []string{"[2001:db8::1]:5000"}, proxies, "2001:db8::/64"},
		{"10.0.0.1:4000", []string{"198.51.100.1:5000"}, proxies, "198.51.100.1"},
		{"10.0.0.1:4000", []string{"198.51.100.1, unknown"}, proxies, "10.0.0.1"},
		{"10.0.0.1:4000", nil, proxies, "10.0.0.1"},
	} {
		h := newHandler(t, auth.Config{TrustedProxies: c.proxies})
		r := httptest.NewRequest(http.MethodGet, origin, nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		assert.Equalf(t, c.want, h.ClientAddress(r), "%s, forwarded for %q, proxies %v", c.peer, c.forwarded, c.proxies)
	}
}

// TestAttemptNamesTheAccount: the limit gets the name that was typed, also for
// credentials, in one spelling.
func TestAttemptNamesTheAccount(t *testing.T) {
	t.Parallel()
	fields := []auth.Field{{Name: "remember", Type: "checkbox"}, {Name: "company"}, {Name: "who", Identifier: true}, {Name: "pin", Type: "password"}}
	for _, c := range []struct {
		fields []auth.Field
		form   []string
		want   string
	}{
		{nil, []string{"username", " Ada ", "password", "x"}, "ada"},
		{nil, []string{"email", "Ada@Example.com", "password", "x"}, "ada@example.com"},
		{nil, []string{"password", "x"}, ""},
		{nil, []string{"username", "vi\u212ator", "password", "x"}, "vi\u212ator"},
		{fields, []string{"company", "acme", "who", "ADA", "pin", "1", "remember", "on"}, "ada"},
		{fields[:2], []string{"company", "Acme", "who", "ADA"}, "acme"},
		{[]auth.Field{{Name: "pin", Type: "password"}}, []string{"pin", "1", "username", "ada"}, ""},
	} {
		var asked []auth.Attempt
		b := newBrowser(t, newHandler(t, auth.Config{
			Providers: []auth.Provider{&auth.Credentials{Fields: c.fields, Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return nil, nil }}},
			Limit:     on(func(a auth.Attempt) { asked = append(asked, a) }),
		}))
		b.post("/auth/callback/credentials", c.form...)
		assert.Truef(t, len(asked) == 1 && asked[0].Identifier == c.want, "%q: got %+v, want %q", c.form, asked, c.want)
	}
}

// TestNewConnectionIsNoNewClient guesses passwords over HTTP, each on a
// connection of its own. A limit on Attempt.Client ends that.
func TestNewConnectionIsNoNewClient(t *testing.T) {
	t.Parallel()
	checked, tries := 0, map[string]int{}
	server := httptest.NewUnstartedServer(nil)
	h := newHandler(t, auth.Config{
		URL: "http://" + server.Listener.Addr().String(), SkipCSRFCheck: auth.SkipCSRFCheck,
		Providers: []auth.Provider{&auth.Credentials{Authorize: func(_ context.Context, _ auth.Form, _ *http.Request) (*auth.User, error) { checked++; return nil, nil }}},
		Limit: func(_ context.Context, a auth.Attempt) error {
			if tries[a.Client]++; tries[a.Client] > 5 {
				return &auth.TooManyAttempts{RetryAfter: time.Minute}
			}
			return nil
		},
	})
	server.Config.Handler = h
	server.Start()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for i := range 20 {
		r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/auth/callback/credentials", strings.NewReader(url.Values{"username": {fmt.Sprint("ada", i)}, "password": {fmt.Sprint(i)}}.Encode())))(t)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i)) // no proxy is configured
		res, err := client.Do(r)
		require.NoError(t, err)
		res.Body.Close()
	}
	assert.Truef(t, checked == 5 && len(tries) == 1,
		"%d passwords were checked, by %d clients, want 5 by one", checked, len(tries))
}

// TestParallelGuessesAreAllLimited: of many guesses at the same time, each is
// reported to Config.Limit before its password is checked.
func TestParallelGuessesAreAllLimited(t *testing.T) {
	const guesses, allowed = 50, 5
	var asked, checked atomic.Int32
	p := password()
	authorize := p.Authorize
	p.Authorize = func(ctx context.Context, f auth.Form, r *http.Request) (*auth.User, error) {
		checked.Add(1)
		return authorize(ctx, f, r)
	}
	h := newHandler(t, auth.Config{Providers: []auth.Provider{p}, Limit: func(context.Context, auth.Attempt) error {
		if asked.Add(1) > allowed {
			return &auth.TooManyAttempts{}
		}
		return nil
	}})
	var group sync.WaitGroup
	for range guesses {
		group.Go(func() { newBrowser(t, h).post("/auth/callback/credentials", "username", "ada", "password", "guess") })
	}
	group.Wait()
	assert.Truef(t, asked.Load() == guesses && checked.Load() == allowed,
		"Limit was asked %d times, want %d; %d passwords were checked, want %d", asked.Load(), guesses, checked.Load(), allowed)
}

// TestBeginningsAreLimited: a sign-in at a provider is an attempt, too. If it is
// refused, the browser is not sent there.
func TestBeginningsAreLimited(t *testing.T) {
	t.Parallel()
	var asked []auth.Attempt
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Limit = func(_ context.Context, a auth.Attempt) error {
			if asked = append(asked, a); len(asked) > 1 {
				return &auth.TooManyAttempts{RetryAfter: 90 * time.Second}
			}
			return nil
		}
	})
	b := newBrowser(t, s)
	if r := b.post("/auth/signin/idp"); r.StatusCode != http.StatusFound || strings.HasPrefix(r.location(), origin) {
		t.Fatalf("the first: status %d, location %s", r.StatusCode, r.location())
	}
	if r := b.post("/auth/signin/idp"); r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "90" || len(r.Cookies()) > 0 {
		t.Errorf("the second: status %d, header %v", r.StatusCode, r.Header)
	}
	if a := asked[0]; len(asked) != 2 || a.Provider != "idp" || a.Type != auth.TypeOIDC && a.Type != auth.TypeOAuth || a.Identifier != "" || a.Browser != "" {
		t.Errorf("the attempts are %+v", asked)
	}
}
