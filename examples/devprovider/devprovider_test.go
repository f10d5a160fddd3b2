package devprovider

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var grace = Person{ID: "grace", Name: "Grace Hopper", Email: "grace@example.com", Picture: "https://example.com/grace.png"}

// TestSignIn signs in at a site over HTTP with the real core, which verifies
// the signatures of the provider.
func TestSignIn(t *testing.T) {
	t.Setenv(Switch, "on")
	for name, configure := range map[string]func(o *auth.OAuth){
		"by the ID token": func(*auth.OAuth) {},
		"by userinfo":     func(o *auth.OAuth) { o.UserInfoOnly = true },
	} {
		t.Run(name, func(t *testing.T) {
			mux := http.NewServeMux()
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			p, err := New(server.URL+"/dev", server.URL+"/auth/callback/"+ID, grace)
			require.NoError(t, err)
			o := p.OAuth()
			configure(o)
			handler, err := auth.New(auth.Config{URL: server.URL, Secret: []string{"a random text of 32 characters .."}, Providers: []auth.Provider{o}})
			require.NoError(t, err)
			mux.Handle("/dev/", p)
			mux.Handle("/auth/", handler)
			jar, err := cookiejar.New(nil)
			require.NoError(t, err)
			client := &http.Client{Jar: jar}

			_, body := fetch(t, client, http.MethodGet, server.URL+"/auth/csrf", nil)
			var csrf struct{ CSRFToken string }
			require.NoError(t, json.Unmarshal([]byte(body), &csrf))
			form := url.Values{"csrfToken": {csrf.CSRFToken}, "callbackUrl": {"/auth/session"}}
			chooser, body := fetch(t, client, http.MethodPost, server.URL+"/auth/signin/"+ID, form)
			require.Truef(t, strings.Contains(body, "For development only") && strings.Contains(body, "Grace Hopper"),
				"got %s, want the page to choose from\n%s", chooser, body)
			_, body = fetch(t, client, http.MethodPost, chooser, url.Values{"person": {"grace"}})
			for _, want := range []string{grace.Name, grace.Email, grace.Picture} {
				assert.Contains(t, body, want, "the session")
			}
		})
	}
}

// fetch follows redirects and returns the last URL and its body.
func fetch(t *testing.T, client *http.Client, method, target string, form url.Values) (end, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.Truef(t, err == nil && response.StatusCode == http.StatusOK,
		"%s %s: %s, %v\n%s", method, target, response.Status, err, content)
	return response.Request.URL.String(), string(content)
}

const (
	issuer   = "http://localhost:3000/dev"
	callback = "http://localhost:3000/auth/callback/development"
	verifier = "a-verifier-of-at-least-forty-three-characters"
)

func newProvider(t *testing.T) *Provider {
	t.Helper()
	t.Setenv(Switch, "on")
	p, err := New(issuer, callback, grace)
	require.NoError(t, err)
	return p
}

func TestRefusedOffLoopback(t *testing.T) {
	t.Setenv(Switch, "on")
	for _, site := range []string{
		"https://app.example.com", "http://192.168.1.20:3000", "http://0.0.0.0:3000", "http://:3000", "http://localhost.example.com", "http://127.0.0.1.example.com", "localhost:3000",
	} {
		_, err := New(site+"/dev", callback)
		assert.Errorf(t, err, "an issuer at %s is accepted", site)
		_, err = New(issuer, site+"/auth/callback/development")
		assert.Errorf(t, err, "a client at %s is accepted", site)
	}
	for _, site := range []string{"http://localhost:3000", "http://127.0.0.1", "https://[::1]:3000", "http://app.localhost:3000"} {
		_, err := New(site+"/dev", site+"/auth/callback/development")
		assert.NoError(t, err)
	}
}

func TestOtherMachinesAreRefused(t *testing.T) {
	p := newProvider(t)
	for name, change := range map[string]func(r *http.Request){
		"from another machine":               func(r *http.Request) { r.RemoteAddr = "192.168.1.20:40000" },
		"for another host (DNS rebinding)":   func(r *http.Request) { r.Host = "rebound.example.com:3000" },
		"through a proxy":                    func(r *http.Request) { r.Header.Set("X-Forwarded-For", "192.0.2.1") },
		"through a proxy with RFC 7239":      func(r *http.Request) { r.Header.Set("Forwarded", "for=192.0.2.1") },
		"through a proxy with one address":   func(r *http.Request) { r.Header.Set("X-Real-IP", "192.0.2.1") },
		"through a proxy of a cloud":         func(r *http.Request) { r.Header.Set("Fly-Client-IP", "192.0.2.1") },
		"through a proxy that names itself":  func(r *http.Request) { r.Header.Set("Via", "1.1 proxy") },
		"through a proxy for another host":   func(r *http.Request) { r.Header.Set("X-Forwarded-Host", "app.example.com") },
		"made in no connection":              func(r *http.Request) { r.RemoteAddr = "" },
		"with an address that can't be read": func(r *http.Request) { r.RemoteAddr = "@" },
	} {
		for _, target := range []string{"/dev/authorize?" + request().Encode(), "/dev/token", "/dev/userinfo", "/dev/jwks"} {
			r := local(http.MethodGet, target, nil)
			change(r)
			assert.Equalf(t, http.StatusForbidden, serve(p, r).Code, "a request %s for %s: status", name, target)
		}
	}
}

// TestOwnProxyIsNoStranger: a proxy of the developer, for the same machine, may
// stand in front.
func TestOwnProxyIsNoStranger(t *testing.T) {
	r := local(http.MethodGet, "/dev/jwks", nil)
	r.Header.Set("X-Forwarded-For", "127.0.0.1")
	r.Header.Set("X-Forwarded-Proto", "http")
	r.Header.Set("X-Forwarded-Host", "localhost:5173")
	assert.Equal(t, http.StatusOK, serve(newProvider(t), r).Code, "status")
}

// TestSwitch: without the switch nobody gets a provider.
func TestSwitch(t *testing.T) {
	for value, on := range map[string]bool{"": false, "off": false, "1": false, "on": true} {
		t.Setenv(Switch, value)
		if _, err := New("http://localhost:3000/dev", callback); (err == nil) != on || err != nil && !strings.Contains(err.Error(), Switch) {
			t.Errorf("%s=%s: %v", Switch, value, err)
		}
	}
}

// request returns a correct authorization request.
func request() url.Values {
	hash := sha256.Sum256([]byte(verifier))
	return url.Values{
		"client_id": {ID}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid profile email"}, "state": {"state-1"},
		"nonce": {"nonce-1"}, "code_challenge": {base64.RawURLEncoding.EncodeToString(hash[:])}, "code_challenge_method": {"S256"},
	}
}

// local returns a request from this machine.
func local(method, target string, form url.Values) *http.Request {
	r := httptest.NewRequest(method, "http://localhost:3000"+target, strings.NewReader(form.Encode()))
	r.RemoteAddr = "127.0.0.1:40000"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func serve(p *Provider, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func TestAuthorizationRequests(t *testing.T) {
	p := newProvider(t)
	set := func(name string, values ...string) func(q url.Values) { return func(q url.Values) { q[name] = values } }
	for name, c := range map[string]struct {
		change func(q url.Values)
		// want is the error that the client gets; refused means that the
		// browser is not sent back.
		want string
	}{
		"redirect_uri of another path":  {set("redirect_uri", callback+"/x"), "refused"},
		"redirect_uri with a query":     {set("redirect_uri", callback+"?x=1"), "refused"},
		"redirect_uri of another host":  {set("redirect_uri", strings.Replace(callback, "localhost", "127.0.0.1", 1)), "refused"},
		"redirect_uri of a stranger":    {set("redirect_uri", "https://evil.example.com/"), "refused"},
		"redirect_uri missing":          {set("redirect_uri"), "refused"},
		"redirect_uri twice":            {set("redirect_uri", callback, callback), "refused"},
		"another client":                {set("client_id", "other"), "refused"},
		"no PKCE":                       {func(q url.Values) { q.Del("code_challenge"); q.Del("code_challenge_method") }, "invalid_request"},
		"plain PKCE":                    {set("code_challenge_method", "plain"), "invalid_request"},
		"a challenge that is too short": {set("code_challenge", "short"), "invalid_request"},
		"the implicit flow":             {set("response_type", "id_token"), "unsupported_response_type"},
		"the answer in the fragment":    {set("response_mode", "fragment"), "invalid_request"},
		"no OpenID":                     {set("scope", "profile"), "invalid_scope"},
		"no interaction":                {set("prompt", "none"), "interaction_required"},
		"a request object":              {set("request", "e30."), "request_not_supported"},
		"a request object by reference": {set("request_uri", "https://evil.example.com/"), "request_uri_not_supported"},
		"a parameter twice":             {set("nonce", "1", "2"), "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			q := request()
			c.change(q)
			// A wrong request is refused for every person that is chosen.
			for _, r := range []*http.Request{
				local(http.MethodGet, "/dev/authorize?"+q.Encode(), nil),
				local(http.MethodPost, "/dev/authorize?"+q.Encode(), url.Values{"person": {"grace"}}),
			} {
				got := serve(p, r)
				if c.want == "refused" {
					assert.Truef(t, got.Code == http.StatusBadRequest && got.Header().Get("Location") == "",
						"%s: status %d, location %q; want 400 and none", r.Method, got.Code, got.Header().Get("Location"))
					continue
				}
				if sent := sentBack(t, got); sent.Get("error") != c.want || sent.Has("code") || sent.Get("state") != "state-1" || sent.Get("iss") != issuer {
					t.Errorf("%s: the client is told %v, want the error %s", r.Method, sent, c.want)
				}
			}
		})
	}
}

func TestNobodyIsChosen(t *testing.T) {
	p := newProvider(t)
	for _, r := range []*http.Request{
		local(http.MethodGet, "/dev/authorize?"+request().Encode(), nil),
		local(http.MethodGet, "/dev/authorize?person=grace&"+request().Encode(), nil),
		local(http.MethodPost, "/dev/authorize", request()),
		local(http.MethodPost, "/dev/authorize?"+request().Encode(), url.Values{"person": {"eve"}}),
	} {
		if got := serve(p, r); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "Grace Hopper") {
			t.Errorf("%s %s: status %d, want the page to choose from", r.Method, r.URL, got.Code)
		}
	}
	got := sentBack(t, serve(p, local(http.MethodPost, "/dev/authorize?"+request().Encode(), url.Values{"cancel": {"1"}})))
	assert.Truef(t, got.Get("error") == "access_denied" && !got.Has("code"),
		"refused by the person: the client is told %v", got)
}

// sentBack returns the parameters that the client gets.
func sentBack(t *testing.T, w *httptest.ResponseRecorder) url.Values {
	t.Helper()
	location, err := url.Parse(w.Header().Get("Location"))
	require.Truef(t, err == nil && w.Code == http.StatusSeeOther && strings.HasPrefix(location.String(), callback+"?"),
		"status %d, location %q", w.Code, w.Header().Get("Location"))
	return location.Query()
}

// code signs Grace in and returns the code.
func code(t *testing.T, p *Provider, scope string) string {
	t.Helper()
	q := request()
	q.Set("scope", scope)
	got := sentBack(t, serve(p, local(http.MethodPost, "/dev/authorize?"+q.Encode(), url.Values{"person": {"grace"}})))
	require.NotEmptyf(t, got.Get("code"), "the client is told %v, want a code", got)
	return got.Get("code")
}

// exchange sends a token request with the code, after change has altered it.
func exchange(p *Provider, code string, change func(form url.Values, r *http.Request)) *httptest.ResponseRecorder {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
	r := local(http.MethodPost, "/dev/token", nil)
	r.SetBasicAuth(ID, p.clientSecret)
	if change != nil {
		change(form, r)
	}
	r.Body = io.NopCloser(strings.NewReader(form.Encode()))
	return serve(p, r)
}

// accessToken reads a successful token response.
func accessToken(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var tokens struct {
		AccessToken string `json:"access_token"`
	}
	require.Equalf(t, http.StatusOK, w.Code, "token request: %s", w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &tokens))
	require.NotEmpty(t, tokens.AccessToken)
	return tokens.AccessToken
}

// userInfo requests the claims for a token; the status is 401 if the token is
// not valid.
func userInfo(p *Provider, token string) *httptest.ResponseRecorder {
	r := local(http.MethodGet, "/dev/userinfo", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return serve(p, r)
}

func TestTokenRequests(t *testing.T) {
	p := newProvider(t)
	set := func(name string, values ...string) func(url.Values, *http.Request) {
		return func(form url.Values, _ *http.Request) { form[name] = values }
	}
	for name, c := range map[string]struct {
		change func(form url.Values, r *http.Request)
		want   string
		// spent says that the code is not valid any more.
		spent bool
	}{
		"wrong verifier":     {set("code_verifier", verifier+"x"), "invalid_grant", true},
		"wrong redirect_uri": {set("redirect_uri", callback+"/"), "invalid_grant", true},
		"wrong code":         {set("code", "x"), "invalid_grant", false},
		"no verifier":        {set("code_verifier"), "invalid_request", false},
		"a verifier twice":   {set("code_verifier", verifier, verifier), "invalid_request", false},
		"another grant type": {set("grant_type", "refresh_token"), "unsupported_grant_type", false},
		"wrong secret":       {func(_ url.Values, r *http.Request) { r.SetBasicAuth(ID, "x") }, "invalid_client", false},
		"another client":     {func(_ url.Values, r *http.Request) { r.SetBasicAuth("x", p.clientSecret) }, "invalid_client", false},
		"no client":          {func(_ url.Values, r *http.Request) { r.Header.Del("Authorization") }, "invalid_client", false},
	} {
		t.Run(name, func(t *testing.T) {
			code := code(t, p, "openid")
			got := exchange(p, code, c.change)
			var failure struct{ Error string }
			if err := json.Unmarshal(got.Body.Bytes(), &failure); err != nil || got.Code < 400 || failure.Error != c.want {
				t.Errorf("status %d, %s; want the error %s", got.Code, got.Body, c.want)
			}
			again := exchange(p, code, nil)
			assert.Equal(t, c.spent, again.Code != http.StatusOK, "the right request afterwards: the code is spent")
		})
	}
}

func TestCodeReplay(t *testing.T) {
	p := newProvider(t)
	code := code(t, p, "openid")
	token := accessToken(t, exchange(p, code, nil))
	require.Equal(t, http.StatusOK, userInfo(p, token).Code, "userinfo: status")
	if got := exchange(p, code, nil); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "invalid_grant") {
		t.Errorf("a code that is sent twice: status %d: %s", got.Code, got.Body)
	}
	assert.Equal(t, http.StatusUnauthorized, userInfo(p, token).Code, "the token of a code that was sent twice: status")
}

func TestScopes(t *testing.T) {
	p := newProvider(t)
	for scope, want := range map[string]string{
		"openid":         `{"sub":"grace"}`,
		"openid email":   `{"email":"grace@example.com","email_verified":true,"sub":"grace"}`,
		"openid profile": `{"name":"Grace Hopper","picture":"https://example.com/grace.png","sub":"grace"}`,
	} {
		got := userInfo(p, accessToken(t, exchange(p, code(t, p, scope), nil))).Body.String()
		assert.Equalf(t, want, strings.TrimSpace(got), "scope %s gives %s, want %s", scope, got, want)
	}
}

func TestLifetimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pass := func(d time.Duration) { <-time.After(d) } // moves the clock of the synctest bubble without waiting
		p := newProvider(t)
		early, late := code(t, p, "openid"), code(t, p, "openid")
		pass(codeLifetime - time.Second)
		token := accessToken(t, exchange(p, early, nil))
		pass(time.Second)
		assert.Equalf(t, http.StatusBadRequest, exchange(p, late, nil).Code, "a code after %s: status", codeLifetime)
		pass(tokenLifetime - 2*time.Second)
		assert.Equal(t, http.StatusOK, userInfo(p, token).Code, "a token before its end: status")
		pass(time.Second)
		assert.Equalf(t, http.StatusUnauthorized, userInfo(p, token).Code, "a token after %s: status", tokenLifetime)
		pass(time.Minute)
		code(t, p, "openid")
		assert.Truef(t, len(p.codes) == 1 && len(p.tokens) == 0,
			"%d codes and %d tokens are kept, want 1 and 0", len(p.codes), len(p.tokens))
	})
}
