package auth_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tests of this file check behaviour that differs from Auth.js on purpose:
// docs/differences.md names them.

// Auth.js hashes with all secrets joined, so every rotation makes all tokens in
// use invalid.
func TestRotationKeepsCSRFCookies(t *testing.T) {
	before := newHandler(t, auth.Config{Secret: []string{oldSecret}})
	after := newHandler(t, auth.Config{Secret: []string{secret, oldSecret}})
	b := newBrowser(t, before)
	token := b.csrf()
	b.h = after
	assert.Equal(t, token, b.csrf(), "the CSRF token was replaced by the rotation")
	b.submit("/auth/signout", "csrfToken", token).wantLocation(t, origin)
}

func TestRotationKeepsMailLinks(t *testing.T) {
	s, box := newStore(), &outbox{}
	before := newHandler(t, auth.Config{Secret: []string{oldSecret}, Adapter: s, Providers: []auth.Provider{box.provider()}})
	after := newHandler(t, auth.Config{Secret: []string{secret, oldSecret}, Adapter: s, Providers: []auth.Provider{box.provider()}})
	b := newBrowser(t, before)
	b.post("/auth/signin/email", "email", "ada@example.com")
	b.h = after
	b.get(box.last(t)).wantLocation(t, origin)
	b.wantSession("ada@example.com")
}

// Tokens that Auth.js itself made with a list of secrets are accepted, also if
// the list is the one before a rotation. Tokens that were made with another
// list are not accepted.
func TestJoinedSecretsAreAccepted(t *testing.T) {
	const oldest = "the oldest of all secrets, which is long enough"
	h := newHandler(t, auth.Config{Secret: []string{secret, oldSecret, oldest}})
	for list, want := range map[string]bool{
		secret + "," + oldSecret + "," + oldest: true, oldSecret + "," + oldest: true, oldest: true, oldSecret: true,
		secret + "," + oldSecret: false, oldest + "," + oldSecret: false, secret + "," + oldest: false, "": false,
	} {
		sum := sha256.Sum256([]byte("token" + list))
		b := newBrowser(t, h)
		b.cookies["csrf"] = &http.Cookie{Name: "__Host-authjs.csrf-token", Value: "token%7C" + hex.EncodeToString(sum[:])}
		assert.Equalf(t, want, b.csrf() == "token", "%q: the token of the cookie is taken", list)
	}
}

// At a sign-in, Auth.js treats the user of an expired database session as
// signed in.
func TestExpiredSessionIsNobodyAtLogin(t *testing.T) {
	s, box, c := newStore(), &outbox{}, newClock()
	s.users["old"] = adapter.User{ID: "old", Email: "old@example.com"}
	s.sessions["expired"] = adapter.Session{SessionToken: "expired", UserID: "old", Expires: c.Now().Add(-time.Millisecond)}
	var calls []string
	h := newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}, Clock: c.Now})
	b := newBrowser(t, h)
	b.cookies["session"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: "expired"}
	b.post("/auth/signin/email", "email", "ada@example.com")
	s.before = noting(&calls)
	b.get(box.last(t)).wantLocation(t, origin)
	assert.Contains(t, strings.Join(calls, " "), "getSessionAndUser deleteSession getUserByEmail",
		"the expired session is not removed first")
}

// In Auth.js AUTH_TRUST_HOST=false turns trust on.
func TestTrustHostIsABoolean(t *testing.T) {
	for value, want := range map[string]bool{"false": false, "0": false, "no": false, "off": false, "FALSE": false, "true": true, "1": true, "yes": true} {
		config := auth.Config{}
		auth.SetEnvDefaults(env{"AUTH_TRUST_HOST": value, "NODE_ENV": "production"}.get, &config, false)
		assert.Equalf(t, want, *config.TrustHost, "AUTH_TRUST_HOST=%s", value)
	}
	config := auth.Config{}
	auth.SetEnvDefaults(env{"AUTH_URL": "", "AUTH_TRUST_HOST": "true", "NODE_ENV": "production"}.get, &config, false)
	assert.True(t, *config.TrustHost, "an empty AUTH_URL hides AUTH_TRUST_HOST")
}

type env map[string]string

func (e env) get(name string) string { return e[name] }

// In Auth.js any query parameter replaces what the sign-in page shows.
func TestQueryDoesNotReachThePage(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Session: auth.SessionConfig{Strategy: auth.StrategyJWT}})
	b := newBrowser(t, h)
	page := b.get("/auth/signin?csrfToken=mine&providers=x&theme=y&callbackUrl=https%3A%2F%2Fevil.example%2F").body
	assert.Truef(t, !strings.Contains(page, "mine") && !strings.Contains(page, "evil.example"),
		"the query is in the page:\n%s", page)
}

// Auth.js matches the base path with a regular expression that does not end
// after it.
func TestBasePathEndsAtASlash(t *testing.T) {
	h := newHandler(t, auth.Config{BasePath: "/a.b"})
	b := newBrowser(t, h)
	for path, want := range map[string]int{"/a.b/csrf": 200, "/axb/csrf": 400, "/a.bcsrf": 400, "/a.b": 400, "/x/a.b/csrf": 400} {
		assert.Equalf(t, want, b.get(path).StatusCode, "%s: got status", path)
	}
}

// In Auth.js, the link "Sign in" of the error page leads to no page.
func TestErrorPageLeadsToSignIn(t *testing.T) {
	b := newBrowser(t, newHandler(t, auth.Config{}))
	assert.Contains(t, b.get("/auth/error?error=AccessDenied").body, `href="`+origin+`/auth/signin"`,
		"no link to the sign-in page")
}

// In Auth.js, a configuration with an e-mail provider changes the next
// configuration.
func TestConfigurationsAreIndependent(t *testing.T) {
	newHandler(t, auth.Config{Adapter: newStore(), Providers: []auth.Provider{(&outbox{}).provider()}})
	newHandler(t, auth.Config{Providers: []auth.Provider{password()}})
}

// Auth.js accepts credentials with database sessions, and then nobody is
// ever signed in.
func TestCredentialsNeedAdapterIDs(t *testing.T) {
	for name, session := range map[string]auth.SessionConfig{"explicit": {Strategy: auth.StrategyDatabase}, "implied": {}} {
		_, err := auth.New(auth.Config{Secret: []string{secret}, Adapter: newStore(), Session: session, Providers: []auth.Provider{password(), (&outbox{}).provider()}})
		assert.Truef(t, errors.Is(err, auth.ErrUnsupportedStrategy) &&
			strings.Contains(err.Error(), "provider credentials: ") && strings.Contains(err.Error(), "set Credentials.UsesAdapterIDs"),
			"%s: got %v, want %s", name, err, auth.ErrUnsupportedStrategy)
	}
}

// Auth.js sends the client the expiry that the session had before it was
// extended.
func TestExtendedSessionSaysSo(t *testing.T) {
	s, c := newStore(), newClock()
	s.users["u"] = adapter.User{ID: "u", Email: "ada@example.com"}
	s.sessions["s"] = adapter.Session{SessionToken: "s", UserID: "u", Expires: c.Now().Add(time.Hour)}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Clock: c.Now}))
	b.cookies["session"] = &http.Cookie{Name: "__Secure-authjs.session-token", Value: "s"}
	b.wantSession(`"expires":"2026-02-14T12:00:00.000Z"`)
}

// In Auth.js signing in by e-mail again leaves the earlier session behind.
func TestEmailSignInReplacesTheSession(t *testing.T) {
	for name, second := range map[string]string{"same user": "ada@example.com", "new user": "eve@example.com"} {
		s, box := newStore(), &outbox{}
		b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
		for _, email := range []string{"ada@example.com", second} {
			b.byMail(box, email).wantLocation(t, origin)
		}
		b.wantSession(second)
		assert.Lenf(t, s.sessions, 1, "%s: sessions in the store", name)
	}
}

// Auth.js joins all cookies whose name begins with the name of the session
// cookie.
func TestCookieNamesAreExact(t *testing.T) {
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}}))
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace")
	for _, name := range []string{"-hint", ".x", ".01", ".0 ", "2"} {
		b.cookies[name] = &http.Cookie{Name: "__Secure-authjs.session-token" + name, Value: "junk"}
	}
	b.wantSession("Ada Lovelace")
	assert.Contains(t, b.cookies, "-hint", "a cookie of somebody else was deleted")
}

// With database sessions Auth.js leaves stale chunks of a token behind.
func TestStaleChunksAreRemoved(t *testing.T) {
	s, box := newStore(), &outbox{}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
	for _, name := range []string{"__Secure-authjs.session-token.0", "__Secure-authjs.session-token.1"} {
		b.cookies[name] = &http.Cookie{Name: name, Value: "stale"}
	}
	b.byMail(box, "ada@example.com").wantLocation(t, origin)
	assert.NotContains(t, b.cookies, "__Secure-authjs.session-token.0", "a stale chunk is still there")
	b.wantSession("ada@example.com")
}

// In Auth.js, a failed sign-in loses the callback URL.
func TestFailureKeepsTheCallbackURL(t *testing.T) {
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}}))
	b.post("/auth/callback/credentials", "username", "ada", "password", "wrong", "callbackUrl", "/inbox").
		wantLocation(t, origin+"/auth/signin?error=CredentialsSignin&code=credentials")
	b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace").wantLocation(t, origin+"/inbox")
}

// In Auth.js, a bad callback URL is a configuration error, and a bad cookie
// locks the browser out.
func TestBadCallbackURLIsIgnored(t *testing.T) {
	for _, bad := range []string{"javascript:alert(1)", "no-scheme", "https://", "data:text/html,x", "http://a b/", "//\x00"} {
		b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{password()}}))
		b.cookies["callback"] = &http.Cookie{Name: "__Secure-authjs.callback-url", Value: url.PathEscape(bad)}
		assert.Equalf(t, http.StatusOK, b.get("/auth/session").StatusCode, "cookie %q: got status", bad)
		b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace", "callbackUrl", bad).wantLocation(t, origin)
	}
}

// Auth.js appends a second question mark, and the text "undefined".
func TestErrorURLsAreWellFormed(t *testing.T) {
	h := newHandler(t, auth.Config{Providers: []auth.Provider{password()}, Pages: auth.Pages{SignIn: "/login?lang=en", Error: "https://help.example.com/oops"}})
	b := newBrowser(t, h)
	b.post("/auth/callback/credentials").wantLocation(t, origin+"/login?lang=en&error=CredentialsSignin&code=credentials")
	b.get("/auth/callback/nobody").wantLocation(t, "https://help.example.com/oops?error=InvalidProvider")
	b.get("/auth/error").wantLocation(t, "https://help.example.com/oops")
	b.get("/auth/error?error=a%26b").wantLocation(t, "https://help.example.com/oops?error=a%26b")
}

// Auth.js shows a mistyped address as an error of the server.
func TestMistypedAddressGoesBackToTheForm(t *testing.T) {
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: newStore(), Providers: []auth.Provider{(&outbox{}).provider()}}))
	b.post("/auth/signin/email", "email", "ada@").wantLocation(t, origin+"/auth/signin?error=EmailSignInError")
}

// Auth.js sends the mail at the same time as it stores the token.
func TestTokenIsStoredBeforeTheMail(t *testing.T) {
	s := newStore()
	box := &outbox{send: on(func(auth.VerificationRequest) {
		s.mu.Lock()
		defer s.mu.Unlock()
		assert.Lenf(t, s.tokens, 1, "%d tokens are stored when the mail is sent, want 1", len(s.tokens))
	})}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
	b.post("/auth/signin/email", "email", "ada@example.com").wantLocation(t, origin+"/auth/verify-request?provider=email&type=email")
	s.before = failingAt("createVerificationToken", errors.New("disk full"))
	assert.Equal(t, http.StatusServiceUnavailable, b.post("/auth/signin/email", "email", "ada@example.com").StatusCode)
	assert.Len(t, box.mails, 1, "a mail went out although its token was not stored")
}

// A link with a wrong token or address spends nothing.
func TestWrongLinkUsesUpNothing(t *testing.T) {
	s, box := newStore(), &outbox{}
	b := newBrowser(t, newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}}))
	b.post("/auth/signin/email", "email", "ada@example.com")
	link := box.last(t)
	for _, wrong := range []string{
		strings.Replace(link, "token=", "token=0", 1), strings.Replace(link, "ada%40", "eve%40", 1),
		strings.Replace(link, "&email=ada%40example.com", "", 1),
	} {
		b.open(wrong).wantLocation(t, origin+"/auth/error?error=Verification")
	}
	b.get(link).wantLocation(t, origin)
	newBrowser(t, b.h).open(link).wantLocation(t, origin+"/auth/error?error=Verification")
}

// The lists in Auth.js omit methods that are called.
func TestMissingMethodsAreAllNamed(t *testing.T) {
	partial := must(adapter.Partial(verificationOnly{}))(t)
	_, err := auth.New(auth.Config{Secret: []string{secret}, Adapter: partial, Providers: []auth.Provider{(&outbox{}).provider()}})
	require.ErrorIs(t, err, auth.ErrMissingAdapterMethods)
	for _, method := range []string{"CreateUser", "GetUserByEmail", "UpdateUser", "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession"} {
		assert.Containsf(t, err.Error(), method, "%s is not named in %v", method, err)
	}
}

type verificationOnly struct{}

func (verificationOnly) CreateVerificationToken(context.Context, adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return nil, nil
}

func (verificationOnly) UseVerificationToken(context.Context, adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return nil, nil
}

// The sign-in is finished if the client disconnects after its link was spent.
func TestSpentLinkIsFinishedWithoutTheClient(t *testing.T) {
	s, box := newStore(), &outbox{}
	h := newHandler(t, auth.Config{Adapter: s, Providers: []auth.Provider{box.provider()}})
	b := newBrowser(t, h)
	b.post("/auth/signin/email", "email", "ada@example.com")
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(method string, _ ...any) error {
		if method == "useVerificationToken" {
			cancel()
		}
		return nil
	}
	r := b.request("/").WithContext(ctx)
	r.Method, r.URL = http.MethodGet, must(url.Parse(box.last(t)))(t)
	w := serve(h, r)
	assert.Truef(t, len(s.sessions) == 1 && w.Header().Get("Location") == origin,
		"got %d sessions and location %q", len(s.sessions), w.Header().Get("Location"))
}

// The request that Authorize gets has the body as it was sent.
func TestAuthorizeSeesTheBody(t *testing.T) {
	p := password()
	p.Authorize = func(_ context.Context, _ auth.Form, r *http.Request) (*auth.User, error) {
		body, err := io.ReadAll(r.Body)
		return &auth.User{ID: "1", Name: string(body)}, err
	}
	b := newBrowser(t, newHandler(t, auth.Config{Providers: []auth.Provider{p}}))
	b.post("/auth/callback/credentials", "x", "y")
	b.wantSession("&x=y")
	h := newHandler(t, auth.Config{Providers: []auth.Provider{p}, SkipCSRFCheck: auth.SkipCSRFCheck})
	b = newBrowser(t, h)
	b.do(http.MethodPost, "/auth/callback/credentials", strings.NewReader("a body of another kind"), http.Header{"Content-Type": {"text/plain"}})
	b.wantSession("a body of another kind")
}

// Two addresses in one field, quotes, line breaks and look-alikes never reach a
// mail program.
func TestEmailNormalization(t *testing.T) {
	for submitted, want := range map[string]string{
		"Ada@Example.COM": "ada@example.com", " ada@example.com\u3000": "ada@example.com", "ada+tag@example.com": "ada+tag@example.com",
		"ada\uff20example\uff0ecom": "ada@example.com", "\ufb01sh@example.com": "fish@example.com", "ada@b\u00fccher.example": "ada@b\u00fccher.example",
		"\u0130@example.com": "\u0130@example.com", "J\u00d6RG@example.com": "j\u00d6rg@example.com", "ada@B\u00dcCHER.example": "ada@b\u00fccher.example",
		"ada@xn--bcher-kva.example": "ada@b\u00fccher.example", "ada@XN--BCHER-KVA.Example": "ada@b\u00fccher.example", "ada@stra\u00dfe.example": "ada@stra\u00dfe.example",
		"ada@my_host.example": "ada@my_host.example", "ada@\u0440\u0443\u0441.example": "ada@\u0440\u0443\u0441.example", "o'brien@example.com": "o'brien@example.com",
	} {
		got, err := auth.NormalizeEmail(submitted)
		assert.Truef(t, got == want && err == nil, "%q: got %q, %v, want %q", submitted, got, err, want)
	}
	for _, submitted := range []string{
		"", " ", "ada", "@", "ada@", "@example.com", "a@b@c", "ada@example.com,eve@example.com", "ada@example.com,evil.com",
		"ada@example.com;eve", "ada@example.com eve", "ada love@example.com", "Ada <ada@example.com>", `"ada"@example.com`,
		`"ada@evil.com"@example.com`, "\uff02ada\uff02@example.com", "ada\r\nBcc: eve@example.com", "ada\n@example.com", "ada@exa\x00mple.com",
		"ada\u200b@example.com", "ada\u202e@example.com", "ada@.com", "ada@example..com", "ada@example.com.", `ada\@example.com`,
		"vi\u212ator@example.com", "a\u017fa@example.com", "\U0001d41a\u0064a@example.com", "ada@xn--a.example", "ada@xn--bcher-KVB\u00fc.example", "ada@\u200dx\u00fc.example",
		"ada(comment)@example.com", "ada@[127.0.0.1]", strings.Repeat("a", 300) + "@example.com",
	} {
		got, err := auth.NormalizeEmail(submitted)
		assert.Errorf(t, err, "%q: got %q, want an error", submitted, got)
	}
}

// The whole token in a CSRF cookie is compared, whatever its length.
func TestCSRFNeedsTheWholeToken(t *testing.T) {
	b := newBrowser(t, newHandler(t, auth.Config{}))
	token := b.csrf()
	for _, wrong := range []string{"", token[:63], token + "0", strings.ToUpper(token), strings.Repeat("0", 64)} {
		b.submit("/auth/signout", "csrfToken", wrong).wantLocation(t, origin+"/auth/signin?error=MissingCSRF")
	}
	b.submit("/auth/signout", "csrfToken", token).wantLocation(t, origin)
}
