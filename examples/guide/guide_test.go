package guide

import (
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const secret = "a random text of 32 characters .."

// newAuth calls auth.New with a configuration that must be right.
func newAuth(t *testing.T, c auth.Config) *auth.Handler {
	t.Helper()
	h, err := auth.New(c)
	require.NoError(t, err)
	return h
}

// newDev makes a development provider for the callback URL.
func newDev(t *testing.T, site, callback string) *devprovider.Provider {
	t.Helper()
	t.Setenv(devprovider.Switch, "on")
	p, err := devprovider.New(site, callback,
		devprovider.Person{ID: "grace", Name: "Grace Hopper", Email: "grace@example.com"}, devprovider.Person{ID: "emmy", Name: "Emmy Noether"})
	require.NoError(t, err)
	return p
}

// client keeps cookies and follows redirects.
type client struct {
	t    *testing.T
	http *http.Client
}

func newClient(t *testing.T) *client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &client{t, &http.Client{Jar: jar}}
}

// fetch follows redirects and returns the last URL and its body.
func (c *client) fetch(method, target string, form url.Values) (end, body string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, target, strings.NewReader(form.Encode()))
	require.NoError(c.t, err)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := c.http.Do(r)
	require.NoError(c.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(c.t, err)
	return response.Request.URL.String(), string(content)
}

// start starts a sign-in that ends at the session route.
func (c *client) start(site, provider string) (end, body string) {
	c.t.Helper()
	_, body = c.fetch(http.MethodGet, site+"/auth/csrf", nil)
	var csrf struct{ CSRFToken string }
	require.NoError(c.t, json.Unmarshal([]byte(body), &csrf))
	return c.fetch(http.MethodPost, site+"/auth/signin/"+provider, url.Values{"csrfToken": {csrf.CSRFToken}, "callbackUrl": {"/auth/session"}})
}

// signIn signs in at a development provider.
func (c *client) signIn(site, provider, person string) (end, body string) {
	c.t.Helper()
	chooser, _ := c.start(site, provider)
	return c.fetch(http.MethodPost, chooser, url.Values{"person": {person}})
}

// TestProviderOfOnesOwn signs in at a small OAuth server, over HTTP.
func TestProviderOfOnesOwn(t *testing.T) {
	t.Setenv("AUTH_ACME_ID", "acme-id")
	t.Setenv("AUTH_ACME_SECRET", "acme-secret")
	server := visitor.Serve(t, func(string) (http.Handler, error) {
		mux := http.NewServeMux()
		mux.HandleFunc("GET /oauth/authorize", func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			assert.Truef(t, q.Get("client_id") == "acme-id" && q.Get("scope") == "profile" && q.Get("code_challenge") != "",
				"authorization request %s", q)
			w.Header().Set("Location", q.Get("redirect_uri")+"?"+url.Values{"code": {"code-1"}, "state": {q.Get("state")}}.Encode())
			w.WriteHeader(http.StatusFound)
		})
		mux.HandleFunc("POST /oauth/token", func(w http.ResponseWriter, r *http.Request) {
			if id, key, _ := r.BasicAuth(); id != "acme-id" || key != "acme-secret" || r.PostFormValue("code") != "code-1" {
				t.Error("the token request has the wrong client ID or secret")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"token-1","token_type":"bearer"}`)
		})
		mux.HandleFunc("GET /api/me", func(w http.ResponseWriter, r *http.Request) {
			assert.Equal(t, "Bearer token-1", r.Header.Get("Authorization"), "the userinfo request has no token")
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"uid":7,"login":"grace","contact":{"mail":"grace@example.com"}}`)
		})
		return mux, nil
	})
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		return auth.New(auth.Config{URL: site, Secret: []string{secret}, Providers: []auth.Provider{acme(server)}})
	})
	_, session := newClient(t).start(site, "acme")
	assert.Contains(t, session, `"name":"grace","email":"grace@example.com"`, "the session")
}

func TestOpenIDProviderOfOnesOwn(t *testing.T) {
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		dev := newDev(t, site+"/dev", site+"/auth/callback/acme")
		t.Setenv("AUTH_ACME_ID", dev.OAuth().ClientID)
		t.Setenv("AUTH_ACME_SECRET", dev.OAuth().ClientSecret)
		mux := http.NewServeMux()
		mux.Handle("/dev/", dev)
		mux.Handle("/auth/", newAuth(t, auth.Config{URL: site, Secret: []string{secret}, Providers: []auth.Provider{acmeID(site + "/dev")}}))
		return mux, nil
	})
	_, session := newClient(t).signIn(site, "acme", "grace")
	assert.Contains(t, session, "Grace Hopper", "the session")
}

// TestBehindProxy checks URLs and cookies, which depend on the headers of the
// proxy.
func TestBehindProxy(t *testing.T) {
	ask := func(h http.Handler, proto, host string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/auth/providers", nil)
		r.URL.Scheme, r.URL.Host, r.Host = "", "", "10.0.0.7:8080" // as a server receives it
		r.Header.Set("X-Forwarded-Proto", proto)
		r.Header.Set("X-Forwarded-Host", host)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	ways := []auth.Provider{acme("https://acme.example.com")}
	t.Setenv("AUTH_ACME_ID", "id")
	t.Setenv("AUTH_ACME_SECRET", "secret")

	fixed := newAuth(t, auth.Config{URL: "https://app.example.com", Secret: []string{secret}, Providers: ways})
	assert.Contains(t, ask(fixed, "http", "evil.example.com").Body.String(), `"https://app.example.com/auth/signin/acme"`,
		"with URL")
	trusting := behindProxy(newAuth(t, auth.Config{TrustHost: new(true), Secret: []string{secret}, Providers: ways}))
	for _, host := range []string{"one.example.com", "two.example.com"} {
		got := ask(trusting, "https", host)
		assert.Containsf(t, got.Body.String(), `"https://`+host+`/auth/signin/acme"`,
			"behind a proxy for %s: %s", host, got.Body)
	}
	untrusting := newAuth(t, auth.Config{Secret: []string{secret}, Providers: ways})
	assert.Equal(t, http.StatusInternalServerError, ask(untrusting, "https", "app.example.com").Code,
		"without URL and trust: status")
}

// TestPreview signs in at a preview whose URL the provider does not know, with
// the variables of the guide.
func TestPreview(t *testing.T) {
	t.Setenv("AUTH_SECRET", secret)
	previewServer := httptest.NewUnstartedServer(nil)
	t.Cleanup(previewServer.Close)
	preview := "https://" + previewServer.Listener.Addr().String()
	var stable string
	var provider auth.Provider
	visitor.Serve(t, func(production string) (http.Handler, error) {
		stable = strings.Replace(production, "127.0.0.1", "localhost", 1) // the two have separate cookies
		t.Setenv("AUTH_REDIRECT_PROXY_URL", stable+"/auth")
		t.Setenv("AUTH_URL", stable)
		dev := newDev(t, stable+"/dev", stable+"/auth/callback/"+devprovider.ID)
		provider = dev.OAuth()
		mux := http.NewServeMux()
		mux.Handle("/dev/", dev)
		mux.Handle("/auth/", newAuth(t, auth.Config{Providers: []auth.Provider{provider}, RedirectProxyOrigins: []string{preview}}))
		return mux, nil
	})
	t.Setenv("AUTH_URL", preview)
	previewServer.Config.Handler = newAuth(t, auth.Config{Providers: []auth.Provider{provider}})
	previewServer.StartTLS()
	c := newClient(t)
	c.http.Transport = previewServer.Client().Transport
	end, session := c.signIn(preview, devprovider.ID, "grace")
	assert.Truef(t, end == preview+"/auth/session" && strings.Contains(session, "Grace Hopper"),
		"at the preview: the sign-in ends at %s: %s", end, session)
	_, session = c.fetch(http.MethodGet, stable+"/auth/session", nil)
	assert.Equal(t, "null", session, "the stable deployment has a session")
	if end, session := c.signIn(stable, devprovider.ID, "emmy"); end != stable+"/auth/session" || !strings.Contains(session, "Emmy Noether") {
		t.Errorf("at the stable deployment: the sign-in ends at %s: %s", end, session)
	}
}

// TestLinking: accounts are linked by e-mail address only in the cases of the guide.
func TestLinking(t *testing.T) {
	strict, trusted := "strict", "trusted"
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		mux := http.NewServeMux()
		way := func(id string) *auth.OAuth {
			dev := newDev(t, site+"/"+id, site+"/auth/callback/"+id)
			mux.Handle("/"+id+"/", dev)
			o := dev.OAuth()
			o.ID = id
			return o
		}
		c := linking(way(trusted), []auth.Provider{way(strict), way("first")}, memory.New())
		c.URL, c.Secret = site, []string{secret}
		mux.Handle("/auth/", newAuth(t, c))
		return mux, nil
	})
	_, session := newClient(t).signIn(site, "first", "grace")
	require.Contains(t, session, "Grace Hopper", "a new user")
	for _, c := range []struct{ name, provider, person, want string }{
		{"the address of a user", strict, "grace", "/auth/signin?error=OAuthAccountNotLinked"},
		{"the address of a user, from the trusted provider", trusted, "grace", "/auth/session"},
		{"no verified address, from the trusted provider", trusted, "emmy", "/auth/error?error=AccessDenied"},
		{"no address", strict, "emmy", "/auth/session"},
	} {
		end, _ := newClient(t).signIn(site, c.provider, c.person)
		assert.Equalf(t, site+c.want, end, "%s: the sign-in ends at %s, want %s", c.name, end, c.want)
	}
}

// TestFrontEnd reads a session in the format of the front end. Tests of package
// auth run Auth.js and prove that this is its format.
func TestFrontEnd(t *testing.T) {
	t.Setenv("AUTH_SECRET", secret)
	api, err := newAPI()
	require.NoError(t, err)
	token, err := jwt.Encode(jwt.EncodeParams{
		Token: jwt.Claims{"sub": "7", "name": "Grace Hopper"}, Secrets: []string{secret}, Salt: jwt.SecureCookieName, MaxAge: time.Hour,
	})
	require.NoError(t, err)
	for cookie, want := range map[string]int{token: http.StatusOK, "": http.StatusUnauthorized, token + "x": http.StatusUnauthorized} {
		r := httptest.NewRequest(http.MethodGet, "/api/me", nil)
		r.AddCookie(&http.Cookie{Name: jwt.SecureCookieName, Value: cookie})
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		assert.Falsef(t, w.Code != want || want == http.StatusOK && w.Body.String() != "{\"id\":\"7\"}\n",
			"status %d, body %s; want %d", w.Code, w.Body, want)
	}
}

// TestPasskeys: the sign-in page offers passkeys, and a text that is not a BLOB
// gives an error.
func TestPasskeys(t *testing.T) {
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		return auth.New(withPasskeys(auth.Config{URL: site, Secret: []string{secret}, Adapter: memory.New()}))
	})
	_, page := newClient(t).fetch(http.MethodGet, strings.Replace(site, "127.0.0.1", "localhost", 1)+"/auth/signin", nil)
	assert.Contains(t, page, "Create a passkey")
	p, err := certifiedPasskeys([]byte("x"), new(x509.Certificate))
	assert.Errorf(t, err, "got %v", p)
}
