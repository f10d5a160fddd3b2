package limit_test

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/limit"
	"github.com/stretchr/testify/require"
)

// site is a site with passwords on a server of its own. The password of each user
// whose name is in users is "right".
type site struct {
	url string
	// checked is the number of passwords that were checked.
	checked atomic.Int32
}

var users = map[string]bool{"ada": true, "eve": true}

// clock shows the same time until it is moved.
type clock struct{ nanoseconds atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanoseconds.Store(time.Now().UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.nanoseconds.Load()) }
func (c *clock) move(d time.Duration) { c.nanoseconds.Add(int64(d)) }

func newSite(t *testing.T, o limit.Options, configure func(c *auth.Config)) *site {
	t.Helper()
	s := &site{}
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	s.url = server.URL
	authorize := func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
		s.checked.Add(1)
		name := strings.ToLower(f.Get("username"))
		if !users[name] || f.Get("password") != "right" {
			return nil, nil
		}
		return &auth.User{ID: name, Name: name}, nil
	}
	config := auth.Config{
		URL: s.url, Secret: []string{secret}, Theme: auth.Theme{BrandColor: "#123456"},
		Providers: []auth.Provider{
			&auth.Credentials{Authorize: authorize},
			&auth.Credentials{ID: "ldap", Name: "LDAP", Authorize: authorize},
		},
		Limit: limit.New(o),
	}
	if configure != nil {
		configure(&config)
	}
	h, err := auth.New(config)
	require.NoError(t, err)
	server.Config.Handler = h
	return s
}

// behindProxy makes the test a proxy of the site: it names the client.
func behindProxy(c *auth.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// visitor is a browser with cookies.
type visitor struct {
	t    *testing.T
	site *site
	*http.Client
	transport *http.Transport
}

func (s *site) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // a server of the test
	t.Cleanup(transport.CloseIdleConnections)
	return &visitor{t, s, &http.Client{
		Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, transport}
}

// guess is an attempt to sign in.
type guess struct {
	provider, name, password string
	json                     bool
	header                   http.Header
}

// answer is a response whose body was read.
type answer struct {
	*http.Response
	body string
}

// refused reports whether the answer is that of the limiter.
func (a *answer) refused() bool { return a.StatusCode == http.StatusTooManyRequests }

func (v *visitor) guess(g guess) *answer {
	v.t.Helper()
	g.provider, g.password = cmp.Or(g.provider, "credentials"), cmp.Or(g.password, "wrong")
	body, kind := url.Values{"username": {g.name}, "password": {g.password}}.Encode(), "application/x-www-form-urlencoded"
	if g.json {
		body, kind = fmt.Sprintf(`{"username":%q,"password":%q}`, g.name, g.password), "application/json"
	}
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.site.url+"/auth/callback/"+g.provider, strings.NewReader(body))
	require.NoError(v.t, err)
	maps.Copy(r.Header, g.header)
	r.Header.Set("Content-Type", kind)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.Header.Set("Accept", "text/html")
	res, err := v.Do(r)
	require.NoError(v.t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	require.NoError(v.t, err)
	return &answer{res, string(text)}
}

// from is the header of a proxy that names a client.
func from(client string) http.Header { return http.Header{"X-Forwarded-For": {client}} }
