package golden_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/internal/authjs"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAnswersLikeAuthJS sends the same requests to the real Auth.js and to our
// handler, and expects the same responses. No fix affects these requests;
// TestReplay checks the intended differences.
func TestAnswersLikeAuthJS(t *testing.T) {
	t.Parallel()
	all := exchanges(t)
	var answers []liveAnswer
	authjs.Call(t, "auth.mjs", all, &answers)
	require.Equalf(t, len(all), len(answers), "got %d answers to %d requests", len(answers), len(all))
	t.Logf("%d requests", len(all))
	for i, x := range all {
		theirs := answers[i]
		want := describe(t, theirs.Status, func(name string) string { return theirs.Headers[name] }, theirs.SetCookie, theirs.Body)
		ours := x.serve(t)
		got := describe(t, ours.StatusCode, ours.Header.Get, ours.Header.Values("Set-Cookie"), string(ours.body))
		assert.Falsef(t, theirs.Error != "" || want != got && namedCode(want) != namedCode(got),
			"%s\nAuth.js %s%s\n   ours %s", x, want, theirs.Error, got)
	}
}

// namedCode undoes what docs/differences.md says under "A mistake of a person is
// not one of the server".
var namedCode = strings.NewReplacer(
	"error=InvalidProvider", "error=Configuration", "error=UnknownAction", "error=Configuration", "error=EmailSignInError", "error=Configuration",
	"Nothing was done: the form did not come from this browser, or was open for too long. You are not signed in. Please try again.", "Unable to sign in.",
).Replace

// exchange is one request to one configuration.
type exchange struct {
	Config  map[string]any `json:"config"`
	Request liveRequest    `json:"request"`
}

type liveRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body"`
}

type liveAnswer struct {
	Status    int
	Headers   map[string]string
	SetCookie []string
	Body      string
	Error     string
}

func (x exchange) String() string {
	body := ""
	if x.Request.Body != nil {
		body = " " + *x.Request.Body
	}
	return fmt.Sprintf("%s %s %v%s, config %v", x.Request.Method, x.Request.URL, x.Request.Headers, body, x.Config)
}

const liveSecret = "live-secret-0123456789abcdef0123456789abcdef"

// liveToken is a CSRF token, and liveCSRF the cookie for it.
var (
	liveToken = strings.Repeat("ab", 32)
	liveCSRF  = "authjs.csrf-token=" + liveToken + "%7C" + sha256Hex(liveToken+liveSecret)
)

type exchangeList []exchange

// add adds a request. A target without an origin gets the usual origin.
func (l *exchangeList) add(config map[string]any, method, target string, headers map[string]string, body *string) {
	if strings.HasPrefix(target, "/") {
		target = origin + target
	}
	if headers == nil {
		headers = map[string]string{}
	}
	c := map[string]any{"secret": liveSecret}
	maps.Copy(c, config)
	*l = append(*l, exchange{c, liveRequest{method, target, headers, body}})
}

func (l *exchangeList) get(target string, cookies ...string) {
	l.add(nil, http.MethodGet, target, cookieHeaders(nil, cookies), nil)
}

func (l *exchangeList) form(target, body string, cookies ...string) {
	h := map[string]string{"content-type": "application/x-www-form-urlencoded"}
	l.add(nil, http.MethodPost, target, cookieHeaders(h, cookies), &body)
}

func (l *exchangeList) json(target, body string, cookies ...string) {
	h := map[string]string{"content-type": "application/json"}
	l.add(nil, http.MethodPost, target, cookieHeaders(h, cookies), &body)
}

func cookieHeaders(h map[string]string, cookies []string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, h)
	if len(cookies) > 0 {
		all["cookie"] = strings.Join(cookies, "; ")
	}
	return all
}

func exchanges(t *testing.T) []exchange {
	t.Helper()
	var l exchangeList
	l.routes()
	l.callbackURLs(t)
	l.bodies()
	l.scripts()
	l.sessions(t)
	l.origins()
	l.pages()
	// Here, a token that was signed out is not accepted any more.
	signsOut := func(x exchange) int {
		if x.Request.Method == http.MethodPost && strings.Contains(x.Request.URL, "/signout") {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(l, func(a, b exchange) int { return signsOut(a) - signsOut(b) })
	return l
}

func (l *exchangeList) routes() {
	for _, path := range []string{
		"/", "/auth", "/auth/", "/auth/csrf", "/auth/csrf/", "/auth/csrf//", "/auth//csrf", "//auth/csrf", "/auth/csrf/x", "/auth/session/",
		"/auth/providers", "/auth/signin", "/auth/signin/", "/auth/signin/credentials", "/auth/signin/nope", "/auth/signin/undefined",
		"/auth/signin/mock-oauth", "/auth/signin/a/b", "/auth/signout", "/auth/signout/x", "/auth/callback", "/auth/callback/credentials",
		"/auth/callback/undefined", "/auth/callback/nope", "/auth/error", "/auth/error/x", "/auth/verify-request", "/auth/verify-request/email",
		"/auth/webauthn-options", "/auth/webauthn-options/credentials", "/auth/webauthn-options/nope", "/auth/%63srf", "/auth/csrf%2F",
		"/auth/sign%69n", "/Auth/csrf", "/auth/CSRF", "/x/auth/csrf", "/auth/csrf;x=1", "/auth/csrf?x", "/auth/csrf#x", "/auth/signin?error=",
		"/auth/signin?error=x&error=CredentialsSignin", "/auth/error?error=", "/auth/error?error=configuration", "/auth/error?error=x&error=AccessDenied",
		"/auth/verify-request?provider=email&type=email",
	} {
		l.get(path)
		l.add(nil, http.MethodPost, origin+path, nil, nil)
	}
	for _, name := range []string{
		"Signin", "OAuthSignin", "OAuthCallbackError", "OAuthCreateAccount", "EmailCreateAccount", "Callback", "OAuthAccountNotLinked",
		"EmailSignin", "CredentialsSignin", "SessionRequired", "MissingCSRF", "AccountNotLinked", "Configuration", "Other", "<b>", "default",
		"Default", "oauthsignin",
	} {
		l.get("/auth/signin?error=" + url.QueryEscape(name))
		l.get("/auth/error?error=" + url.QueryEscape(name))
	}
}

func (l *exchangeList) callbackURLs(t *testing.T) {
	t.Helper()
	for _, u := range []string{
		"/", "/a", "", "/a?b=c#d", "//evil.example.com", "/\\evil.example.com", "///a", "/.//a", "/%zz", "/auth/signin",
		origin, origin + "/", origin + "/x", "HTTP://localhost:3000/x", "http://LOCALHOST:3000/x", origin + "?x", origin + "#x",
		origin + "/auth/signin?callbackUrl=x", "http://localhost:3001/", "https://localhost:3000/", "http://localhost/", "http://user@localhost:3000/",
		"http://localhost:3000@evil.example.com/", "http://evil.example.com/localhost:3000", "http://[::1]:3000/",
	} {
		l.get("/auth/session?callbackUrl=" + url.QueryEscape(u))
		l.get("/auth/csrf", "authjs.callback-url="+encodeURIComponent(u))
		l.form("/auth/signout", "csrfToken="+liveToken+"&callbackUrl="+url.QueryEscape(u), liveCSRF)
		l.form("/auth/callback/credentials?callbackUrl=%2Fquery", "username=ada&password=lovelace&csrfToken="+liveToken+"&callbackUrl="+url.QueryEscape(u), liveCSRF)
		body := must(json.Marshal(map[string]any{"csrfToken": liveToken, "callbackUrl": u}))(t)
		l.json("/auth/signout", string(body), liveCSRF)
	}
}

func (l *exchangeList) bodies() {
	for _, v := range []string{"null", "1", "true", "[]", `["/a"]`, "{}", `{"a":1}`, "0", "false"} {
		l.json("/auth/signout", `{"csrfToken":`+v+`}`, liveCSRF)
		l.json("/auth/callback/credentials", `{"csrfToken":"`+liveToken+`","username":`+v+`,"password":"x"}`, liveCSRF)
		l.json("/auth/signout", v, liveCSRF)
	}
	for _, body := range []string{
		"csrfToken=" + liveToken, "csrfToken=x&csrfToken=" + liveToken, "csrfToken=" + liveToken + "&csrfToken=x", "csrfToken=" + strings.ToUpper(liveToken),
		"csrfToken=%" + liveToken, "", "csrfToken", "&&csrfToken=" + liveToken + "&", "csrf%54oken=" + liveToken, "csrfToken=" + liveToken + ";x=1",
	} {
		for _, path := range []string{"/auth/signout", "/auth/signin/credentials", "/auth/signin"} {
			l.form(path, body, liveCSRF)
		}
	}
	for _, kind := range []string{
		"application/json", "application/json; charset=utf-8", "text/json", "application/vnd.api+json", "text/plain",
		"multipart/form-data; boundary=x", "x application/json y", "application/x-www-form-urlencoded; charset=x",
		"application/json, application/x-www-form-urlencoded",
	} {
		for _, body := range []string{`{"csrfToken":"` + liveToken + `"}`, `csrfToken=` + liveToken} {
			l.add(nil, http.MethodPost, "/auth/signout", map[string]string{"content-type": kind, "cookie": liveCSRF}, &body)
		}
	}
	for _, body := range []string{"{", "{}x", "[1", `"x"`, " {} ", `{"a":1,"a":2}`, "nul", "NaN"} {
		l.json("/auth/signout", body, liveCSRF)
	}
}

// scripts adds requests of scripts, which request the URL as JSON.
func (l *exchangeList) scripts() {
	for _, value := range []string{"1", "", "0", "false"} {
		h := map[string]string{"cookie": liveCSRF, "x-auth-return-redirect": value, "content-type": "application/x-www-form-urlencoded"}
		for path, bodies := range map[string][]string{
			"/auth/signout": {"csrfToken=" + liveToken, "csrfToken=bad"},
			"/auth/callback/credentials": {
				"username=ada&password=lovelace&csrfToken=" + liveToken, "username=ada&password=no&csrfToken=" + liveToken,
			},
		} {
			for _, body := range bodies {
				l.add(nil, http.MethodPost, path, h, &body)
			}
		}
		for _, path := range []string{"/auth/signin", "/auth/error?error=Configuration", "/auth/session", "/auth/callback/nope", "/auth/nope"} {
			l.add(nil, http.MethodGet, path, h, nil)
		}
	}
}

func (l *exchangeList) sessions(t *testing.T) {
	t.Helper()
	mint := func(claims auth.Claims, maxAge time.Duration) string {
		token, err := jwt.Encode(jwt.EncodeParams{Token: claims, Secrets: []string{liveSecret}, Salt: jwt.CookieName, MaxAge: maxAge})
		require.NoError(t, err)
		return token
	}
	const name = "authjs.session-token"
	for _, claims := range []auth.Claims{
		{}, {"sub": "1"}, {"name": "N", "email": "E", "picture": "P", "sub": "1"}, {"name": nil, "email": nil, "picture": nil},
		{"name": "", "email": "", "picture": ""}, {"name": 1, "email": true, "picture": []any{1}}, {"name": map[string]any{"a": 1}},
		{"x": 1}, {"sub": 5}, {"name": "<&>\u2028ü"}, {"nbf": 1}, {"blob": strings.Repeat("x", 6000)},
	} {
		cookies := mapped(jwt.SplitChunks(name, mint(claims, time.Hour)), func(c jwt.Cookie) string {
			return c.Name + "=" + c.Value
		})
		l.get("/auth/session", cookies...)
		l.get("/auth/signin", cookies...)
		l.add(map[string]any{"callbacks": map[string]any{"session": "session-token"}}, http.MethodGet, "/auth/session", cookieHeaders(nil, cookies), nil)
		l.form("/auth/signout", "csrfToken="+liveToken, append(cookies, liveCSRF)...)
	}
	one, big := mint(auth.Claims{"name": "N"}, time.Hour), mint(auth.Claims{"name": "N", "blob": strings.Repeat("x", 6000)}, time.Hour)
	for _, cookies := range [][]string{
		{name + "="}, {name + "=x"}, {name + "=" + one + "x"}, {name + `="` + one + `"`}, {name + "=" + strings.ReplaceAll(one, ".", "%2E")},
		{name + ".0=" + one}, {name + ".1=" + one}, {name + ".0=" + one[:50], name + ".1=" + one[50:]}, {name + ".1=" + one[50:], name + ".0=" + one[:50]},
		{name + ".0=" + big[:jwt.ChunkSize], name + ".2=" + big[2*jwt.ChunkSize:]}, {name + "=" + mint(nil, -time.Minute)},
		{"__Secure-" + name + "=" + one}, {strings.ToUpper(name) + "=" + one}, {" " + name + " = " + one}, {"x", name + "=" + one},
		{"=x", name + "=" + one}, {name + "=" + one, name + "=" + one},
	} {
		l.get("/auth/session", cookies...)
		l.form("/auth/signout", "csrfToken="+liveToken, append(cookies, liveCSRF)...)
	}
	updates := map[string]any{"callbacks": map[string]any{"jwt": "jwt-merge", "session": "session-token"}}
	for _, data := range []string{"", `,"data":{"a":[1,null]}`, `,"data":null`, `,"data":""`, `,"data":1`, `,"data":false`, `,"data":[]`, `,"data":"x"`} {
		body := `{"csrfToken":"` + liveToken + `"` + data + `}`
		l.add(updates, http.MethodPost, "/auth/session", map[string]string{"content-type": "application/json", "cookie": liveCSRF + "; " + name + "=" + one}, &body)
	}
	l.json("/auth/session", `{"data":1}`, liveCSRF, name+"="+one)
}

func (l *exchangeList) origins() {
	paths := []string{"/csrf", "/providers", "/signin", "/session", "/signout?x=1", "/error", "/verify-request"}
	for _, site := range []string{
		"https://app.example.com", "http://app.example.com:80", "https://app.example.com:443", "https://app.example.com:8443",
		"http://127.0.0.1:3000", "http://[::1]:3000", "https://APP.example.com",
	} {
		for _, path := range paths {
			l.get(site + "/auth" + path)
		}
	}
	for _, base := range []string{"/api/auth", "/a/b/c", "/a.b", "/AUTH"} {
		for _, path := range paths {
			l.add(map[string]any{"basePath": base}, http.MethodGet, base+path, nil, nil)
		}
	}
	l.add(map[string]any{"useSecureCookies": true}, http.MethodGet, "/auth/csrf", nil, nil)
	l.add(map[string]any{"useSecureCookies": false}, http.MethodGet, "https://x.example.com/auth/csrf", nil, nil)
	for _, refused := range []map[string]any{{"secret": ""}, {"trustHost": false}} {
		for _, path := range paths {
			l.add(refused, http.MethodGet, "/auth"+path, nil, nil)
		}
	}
}

func (l *exchangeList) pages() {
	for _, pages := range []map[string]any{
		{"signIn": "/login"}, {"error": "/oops"}, {"signOut": "/bye"}, {"verifyRequest": "/check"}, {"newUser": "/new"}, {"signOut": "/bye?x=1"},
	} {
		config := map[string]any{"pages": pages}
		for _, path := range []string{
			"/signin", "/signin?error=x", "/signin?error=a%20b%26c", "/error?error=Configuration", "/error?error=Other", "/signout",
			"/verify-request", "/verify-request?a=b&c=%20", "/callback/nope", "/signin/credentials",
		} {
			l.add(config, http.MethodGet, "/auth"+path, nil, nil)
		}
		for path, body := range map[string]string{
			"/auth/signout":              `{"csrfToken":"no"}`,
			"/auth/callback/credentials": `{"csrfToken":"` + liveToken + `","username":"eve"}`,
		} {
			l.add(config, http.MethodPost, path, map[string]string{"content-type": "application/json", "cookie": liveCSRF}, &body)
		}
	}
	for _, query := range []string{"email=a%40b", "email=%3Cb%3E", "a=b"} {
		l.get("/auth/signin?" + query)
		l.get("/auth/signout?" + query)
	}
	for _, path := range []string{"/signin", "/signout", "/csrf", "/session"} { // the forms keep the field of the token, with an empty value
		l.add(map[string]any{"skipCSRFCheck": true}, http.MethodGet, "/auth"+path, nil, nil)
	}
	l.add(map[string]any{"theme": map[string]any{"colorScheme": "dark", "logo": "/l.png"}}, http.MethodGet, "/auth/signin", nil, nil)
}

// serve returns our response. The configuration equals that of
// interop/auth.mjs.
func (x exchange) serve(t *testing.T) *response {
	t.Helper()
	c := auth.Config{TrustHost: new(true), Logger: slog.New(slog.DiscardHandler), Providers: []auth.Provider{
		&auth.Credentials{
			Fields: []auth.Field{{Name: "username", Label: "Username"}, {Name: "password", Label: "Password", Type: "password"}},
			Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
				if f.Get("username") != "ada" || f.Get("password") != "lovelace" {
					return nil, nil
				}
				return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
			},
		},
		&auth.OAuth{
			ID: "mock-oauth", Name: "Mock OAuth", ClientID: "id", ClientSecret: "secret",
			Authorization: auth.AuthorizationEndpoint{URL: "https://idp.example.com/authorize?scope=profile"},
			Token:         auth.TokenEndpoint{URL: "https://idp.example.com/token"},
			UserInfo:      auth.UserInfoEndpoint{URL: "https://idp.example.com/userinfo"},
		},
	}}
	for name, value := range x.Config {
		if name == "callbacks" {
			liveCallbacks(&c, object(value))
			continue
		}
		raw := must(json.Marshal(value))(t)
		require.NoError(t, options[name](nil, &c, raw))
	}
	c.Session.UpdateAge = new(time.Duration) // as in Auth.js, which replaces a token each time it reads one
	var body io.Reader
	if x.Request.Body != nil {
		body = strings.NewReader(*x.Request.Body)
	}
	hr := must(http.NewRequestWithContext(t.Context(), x.Request.Method, x.Request.URL, body))(t)
	for name, value := range x.Request.Headers {
		hr.Header.Set(name, value)
	}
	resp := auth.Auth(hr, c)
	defer resp.Body.Close()
	read := must(io.ReadAll(resp.Body))(t)
	return &response{resp, read}
}

// liveCallbacks sets the callbacks that interop/auth.mjs defines by name.
func liveCallbacks(c *auth.Config, names map[string]any) {
	if names["session"] == "session-token" {
		c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
			s := *p.Session
			s.Extra = map[string]any{"token": p.Token}
			return &s, nil
		}
	}
	if names["jwt"] == "jwt-merge" {
		c.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
			if p.Trigger != auth.TriggerUpdate {
				return p.Token, nil
			}
			claims := maps.Clone(p.Token)
			claims["update"] = rawJSON(p.Session)
			return claims, nil
		}
	}
}

var (
	anyHex     = regexp.MustCompile(hex64)
	sessionAge = regexp.MustCompile(`(session-token(?:\.\d)?=[^;]+; )Max-Age=[1-9]\d*; `) // a named departure
	anyExpires = regexp.MustCompile(`Expires=[^;]*`)
	anyInstant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	anySeconds = regexp.MustCompile(`"(iat|exp)":\d+`)
	anyChunk   = regexp.MustCompile(`(session-token\.\d)=[^;]+`)
)

// masked replaces the parts that differ in each run.
func masked(s string) string {
	s = sessionAge.ReplaceAllString(s, "$1")
	s = anyExpires.ReplaceAllString(s, "Expires=…")
	s = anyInstant.ReplaceAllString(s, "…")
	s = anySeconds.ReplaceAllString(s, `"$1":0`)
	s = anyChunk.ReplaceAllString(s, "$1=…")
	s = randomJWE.ReplaceAllString(s, "(JWE)")
	s = randomUUID.ReplaceAllString(s, "(UUID)")
	return anyHex.ReplaceAllString(s, "(hex)")
}

// describe returns the parts of a response that a client sees, as text.
func describe(t *testing.T, status int, header func(string) string, cookies []string, body string) string {
	t.Helper()
	cache := header("cache-control")
	if strings.Contains(body, `name="csrfToken" value="`) && cache == "private, no-store" {
		cache = "" // see fixUnstoredToken
	}
	text := fmt.Sprintf("%d %s %s %s", status, header("location"), header("content-type"), cache)
	for _, c := range cookies {
		if typedCookie.MatchString(splitSetCookie(c).name) {
			continue
		}
		text += "\n\t" + masked(c)
	}
	body = masked(body)
	var value any
	switch {
	case strings.HasPrefix(strings.ToLower(body), "<!doctype html>"):
		p, err := page(body)
		require.NoError(t, err)
		value = p
	case json.Unmarshal([]byte(body), &value) != nil:
		return text + "\n\t" + body
	}
	canonical := must(json.Marshal(value))(t)
	return text + "\n\t" + string(canonical)
}
