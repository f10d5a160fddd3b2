package auth

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFailureKeepsDeletions: a check that was used is removed from the browser
// although the sign-in failed. New cookies are not set.
func TestFailureKeepsDeletions(t *testing.T) {
	e, problems := compile(Config{Secret: []string{"s"}, Logger: slog.New(slog.DiscardHandler)}, unshared)
	require.Truef(t, len(problems) <= 0, "%v", problems)
	r := e.newRequest(httptest.NewRequest(http.MethodGet, "/", nil), ActionCallback)
	r.pending = []*http.Cookie{r.specs.CSRF.Set("new"), r.specs.State.Clear(r.specs.State.Name)}
	result := e.failed(r, &Error{Type: ErrInvalidCheck})
	assert.Truef(t, len(result.Cookies) == 1 && wire.FormatCookie(result.Cookies[0]) == "authjs.state=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax",
		"got %v", result.Cookies)
}

// TestLocationIsASCII: the target of an application's redirect can't add
// headers.
func TestLocationIsASCII(t *testing.T) {
	for location, want := range map[string]string{
		"/plain?a=b": "/plain?a=b", "/\u00fc": "/%C3%BC", "/a\r\nSet-Cookie: x=y": "/a%0D%0ASet-Cookie:%20x=y", "/\x7f": "/%7F",
	} {
		w := httptest.NewRecorder()
		redirectTo(location).Send(w)
		assert.Equalf(t, want, w.Header().Get("Location"), "%q: sent", location)
		response := redirectTo(location).Response(nil)
		assert.Equalf(t, want, response.Header.Get("Location"), "%q: response", location)
		_ = response.Body.Close()
	}
}

// TestErrorKind: Kind names the page that an error leads to.
func TestErrorKind(t *testing.T) {
	e, problems := compile(Config{Secret: []string{"s"}, Logger: slog.New(slog.DiscardHandler), Pages: Pages{SignIn: "/login", Error: "/oops"}}, unshared)
	require.Truef(t, len(problems) <= 0, "%v", problems)
	r := e.newRequest(httptest.NewRequest(http.MethodGet, "/", nil), ActionCallback)
	for _, kind := range []ErrorType{
		ErrAuth, ErrAccessDenied, ErrAccountNotLinked, ErrAdapter, ErrCallbackRoute, ErrCredentialsSignin, ErrEmailSignIn, ErrInvalidCheck, ErrMissingCSRF, ErrMissingSecret,
		ErrOAuthAccountNotLinked, ErrOAuthCallback, ErrOAuthSignIn, ErrVerification, ErrWebAuthnVerification, "Another",
	} {
		err := &Error{Type: kind}
		page := map[ErrorKind]string{KindSignIn: "/login", KindError: "/oops"}[err.Kind()]
		if location := e.errorURL(r, err); page == "" || !strings.HasPrefix(location, "http://example.com"+page+"?") {
			t.Errorf("%s: Kind is %q, and the browser is sent to %s", kind, err.Kind(), location)
		}
	}
	assert.True(t, KindSignIn == (&Error{Type: ErrCredentialsSignin}).Kind() && KindError == (&Error{Type: ErrAccessDenied}).Kind(),
		"a wrong password leads back to the form, a refusal does not")
}

// TestDeprecatedStyle: Bg takes the place of BrandColor, and Text is the colour
// of the text.
func TestDeprecatedStyle(t *testing.T) {
	for css, style := range map[string]Style{
		"{--provider-brand-color:#123456;--provider-text-color:#fff}":   {Bg: "#123456"},
		"{--provider-brand-color:#654321;--provider-text-color:#fff}":   {Bg: "#123456", BrandColor: "#654321"},
		"{--provider-brand-color:#123456;--provider-text-color:silver}": {Bg: "#123456", Text: "silver"},
		"{--provider-brand-color:#654321;--provider-text-color:silver}": {BrandColor: "#654321", Text: "silver"},
	} {
		c := Config{Providers: []Provider{&OAuth{ID: "idp", Style: style}}}
		languages, err := newLanguages(&c, nil)
		require.NoError(t, err)
		got := string(newLooks(&c, "", languages)().For(httptest.NewRequest(http.MethodGet, "/", nil)).Style)
		assert.Containsf(t, got, css, "%+v: the style sheet lacks %s", style, css)
	}
}
