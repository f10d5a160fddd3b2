package auth_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// realSite is a stage behind a real TLS server, which is reached under the name
// of the site.
type realSite struct {
	*stage
	client *http.Client // without cookies; it follows no redirects
	addr   string
}

func newRealSite(t *testing.T) *realSite {
	t.Helper()
	st := newStage(t, nil)
	server := httptest.NewUnstartedServer(st)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of connections that are cut
	server.StartTLS()
	t.Cleanup(server.Close)
	addr := server.Listener.Addr().String()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a server of the test
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &realSite{st, &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, addr}
}

// state counts the records in the store.
func (s *realSite) state() string {
	s.store.mu.Lock()
	defer s.store.mu.Unlock()
	return fmt.Sprintf("%d users, %d accounts, %d sessions, %d tokens", len(s.store.users), len(s.store.accounts), len(s.store.sessions), len(s.store.tokens))
}

// send sends a request with the cookies of a browser, over the wire.
func (s *realSite) send(b *browser, method, target, body string, header http.Header) *reply {
	s.t.Helper()
	if strings.HasPrefix(target, "/") {
		target = origin + target
	}
	r := must(http.NewRequestWithContext(s.t.Context(), method, target, strings.NewReader(body)))(s.t)
	b.addCookies(r)
	for name, v := range header {
		r.Header[name] = append(r.Header[name], v...)
	}
	resp, err := s.client.Do(r)
	require.NoError(s.t, err)
	defer resp.Body.Close()
	read := must(io.ReadAll(resp.Body))(s.t)
	return &reply{resp, string(read)}
}

var formType = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}

// TestAttacksOverHTTP attacks a whole site over the network. No attack changes
// the store, and afterwards the legitimate person can still use the site.
func TestAttacksOverHTTP(t *testing.T) {
	s := newRealSite(t)
	victim := newBrowser(t, s)
	s.at(victim, "idp", "ada").wantLocation(t, origin)
	csrf := victim.csrf()
	unchanged := func(t *testing.T, what string, attack func()) {
		t.Helper()
		before := s.state()
		attack()
		assert.Equalf(t, before, s.state(), "%s: the store has", what)
	}
	t.Run("methods", func(t *testing.T) {
		for _, method := range []string{"OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "post", "PROPFIND", "QUERY"} {
			for _, path := range []string{"/auth/signout", "/auth/signin/idp", "/auth/signin/email", "/auth/session", "/auth/callback/idp"} {
				unchanged(t, method+" "+path, func() {
					resp := s.send(victim, method, path, "csrfToken="+csrf+"&email=eve@example.com", http.Header{
						"Content-Type": formType["Content-Type"], "X-Http-Method-Override": {"POST"}, "X-Http-Method": {"POST"},
					})
					assert.Truef(t, resp.StatusCode == http.StatusMethodNotAllowed &&
						resp.Header.Get("Allow") == "GET, HEAD, POST" && len(resp.Header["Set-Cookie"]) <= 0,
						"%s %s: status %d, Allow %q, cookies %q", method, path, resp.StatusCode, resp.Header.Get("Allow"), resp.Header["Set-Cookie"])
				})
			}
		}
		unchanged(t, "GET with overrides", func() {
			s.send(victim, "GET", "/auth/signout?_method=POST&csrfToken="+csrf, "csrfToken="+csrf, http.Header{"X-Http-Method-Override": {"POST"}})
		})
	})
	t.Run("the CSRF token elsewhere", func(t *testing.T) {
		for what, r := range map[string]struct{ target, body, kind string }{
			"in the query":       {"/auth/signout?csrfToken=" + csrf, "x=1", "application/x-www-form-urlencoded"},
			"in a list":          {"/auth/signout", `{"csrfToken":["` + csrf + `"]}`, "application/json"},
			"in an object":       {"/auth/signout", `{"data":{"csrfToken":"` + csrf + `"}}`, "application/json"},
			"as text":            {"/auth/signout", "csrfToken=" + csrf, "text/plain"},
			"as multipart":       {"/auth/signout", "--x\r\nContent-Disposition: form-data; name=\"csrfToken\"\r\n\r\n" + csrf + "\r\n--x--", "multipart/form-data; boundary=x"},
			"in UTF-16":          {"/auth/signout", "\xff\xfec\x00s\x00r\x00f\x00", "application/json; charset=utf-16"},
			"in capitals":        {"/auth/signout", "csrfToken=" + strings.ToUpper(csrf), "application/x-www-form-urlencoded"},
			"cut short":          {"/auth/signout", "csrfToken=" + csrf[:63], "application/x-www-form-urlencoded"},
			"beside a wrong one": {"/auth/signout", `{"csrfToken":"` + csrf + `","csrfToken":"x"}`, "application/json"},
			"with a null byte":   {"/auth/signout", "csrfToken=" + csrf + "%00", "application/x-www-form-urlencoded"},
		} {
			unchanged(t, what, func() { s.send(victim, "POST", r.target, r.body, http.Header{"Content-Type": {r.kind}}) })
		}
	})
	t.Run("paths", func(t *testing.T) {
		for _, path := range []string{
			"/auth/%73ignout", "/auth/signout%2f", "/auth/signout%00", "/auth/./signout", "/auth/x/../signout", "/auth/signout;x=1", "/AUTH/signout", "/auth/signout/idp",
			"/auth//signout/../../x", "/auth/callback/idp%2f..%2femail", "/auth/callback/%69dp/x", "/auth/callback/__proto__", "/auth/signin/constructor",
		} {
			unchanged(t, path, func() {
				resp := s.send(victim, "POST", path, "csrfToken="+strings.Repeat("0", 64), formType)
				assert.Truef(t, resp.StatusCode < 500 && !strings.Contains(resp.body, "panic"),
					"%s: status %d", path, resp.StatusCode)
			})
		}
	})
	t.Run("headers", func(t *testing.T) {
		b := newBrowser(t, s)
		b.csrf()
		for what, h := range map[string]http.Header{
			"forwarded": {"X-Forwarded-Host": {"evil.example"}, "X-Forwarded-Proto": {"http"}, "Forwarded": {"host=evil.example;proto=http"}, "X-Original-Host": {"evil.example"}},
			"rewritten": {"X-Original-Url": {"/auth/signout"}, "X-Rewrite-Url": {"/auth/signout"}},
			"origins":   {"Origin": {"https://evil.example", origin}, "Referer": {"https://evil.example/"}},
			"long":      {"X-Long": {strings.Repeat("x", 100000)}},
			"cookies":   {"Cookie": {strings.Repeat("a=b; ", 5000)}},
			"encodings": {"Content-Encoding": {"gzip"}, "Accept-Encoding": {"br"}},
		} {
			resp := s.send(b, "GET", "/auth/signin", "", h)
			assert.Truef(t, resp.StatusCode == http.StatusOK && !strings.Contains(resp.body, "evil.example"),
				"%s: status %d, body has the foreign host: %v", what, resp.StatusCode, strings.Contains(resp.body, "evil.example"))
		}
		req := "GET /auth/providers HTTP/1.1\r\nHost: evil.example\r\n\r\n"
		conn := must(tls.Dial("tcp", s.addr, &tls.Config{InsecureSkipVerify: true}))(t) //nolint:gosec // a server of the test
		defer func() { _ = conn.Close() }()
		must(io.WriteString(conn, req))(t)
		buffer := make([]byte, 4096)
		n, err := conn.Read(buffer)
		assert.Truef(t, err == nil && !bytes.Contains(buffer[:n], []byte("evil.example")),
			"a foreign Host header is in the answer: %v\n%s", err, buffer[:n])
	})
	t.Run("redirects", func(t *testing.T) {
		for _, target := range []string{
			"https://evil.example", "//evil.example", `/\evil.example`, `\\evil.example`, "https:evil.example", "https:/evil.example", "https:///evil.example",
			"https://app.example.com@evil.example", "https://app.example.com.evil.example", "https://app.example.com:443@evil.example", `https://app.example.com\@evil.example`,
			"https://app.example.com%2eevil.example", "https://app.example.com%00.evil.example", "javascript:alert(1)", "data:text/html,x", " https://evil.example",
			"\thttps://evil.example", "https://evil.example#https://app.example.com", "https://evil.example?https://app.example.com", "/%09/evil.example", "http://app.example.com",
			"https://app.example.com:8443", "https://APP.example.com:443@evil.example/", "/\r\nSet-Cookie: x=1", "https://xn--pp-8ka.example.com/",
		} {
			b := newBrowser(t, s)
			b.post("/auth/signout", "callbackUrl", target)
			l := b.post("/auth/signout", "callbackUrl", target).location()
			u, err := url.Parse(l)
			assert.Falsef(t, err != nil || u.Scheme != "https" || u.Host != "app.example.com" || u.User != nil || strings.ContainsAny(l, "\r\n\t\\ ") && !strings.HasPrefix(l, origin+"/"),
				"%q leads to %q, %v", target, l, err)
		}
	})
	t.Run("orders", func(t *testing.T) {
		unchanged(t, "begun signed in, ended signed out and in as another", func() {
			b := victim.clone(s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/other?login_hint=mallory"))
			delete(b.cookies, "__Secure-authjs.session-token")
			b.get("/auth/callback/other?" + answer.Encode())
		})
		unchanged(t, "an answer at the route of another provider", func() {
			b := newBrowser(t, s)
			answer := s.idp.authorize(t, s.start(b, "/auth/signin/idp?login_hint=eve"))
			b.get("/auth/callback/other?" + answer.Encode())
			b.get("/auth/callback/email?" + answer.Encode())
		})
		unchanged(t, "an answer with the state of another sign-in of the browser", func() {
			b := newBrowser(t, s)
			first := s.idp.authorize(t, s.start(b, "/auth/signin/idp?login_hint=eve"))
			second := s.idp.authorize(t, s.start(b, "/auth/signin/idp?login_hint=eve"))
			first.Set("state", second.Get("state"))
			b.get("/auth/callback/idp?" + first.Encode())
		})
	})
	t.Run("races", func(t *testing.T) {
		b := newBrowser(t, s)
		answer := s.idp.authorize(t, s.start(b, "/auth/signin/other?login_hint=race"))
		var group sync.WaitGroup
		var in atomic.Int32
		for range 20 {
			group.Go(func() {
				resp := s.send(b, "GET", "/auth/callback/other?"+answer.Encode(), "", nil)
				for _, c := range resp.Cookies() {
					if strings.HasSuffix(c.Name, "session-token") && c.Value != "" {
						in.Add(1)
					}
				}
			})
		}
		group.Wait()
		assert.LessOrEqual(t, in.Load(), int32(1), "how often one answer of the provider signed in")
	})
	t.Run("the honest person", func(t *testing.T) {
		victim.wantSession(`"name":"ada"`)
		resp := s.send(victim, "POST", "/auth/signout", "csrfToken="+csrf, formType)
		assert.Equalf(t, origin, resp.location(), "signing out leads to %q: %s", resp.location(), resp.body)
		victim.wantNoSession()
	})
}
