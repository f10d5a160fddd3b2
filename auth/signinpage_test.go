package auth_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/texts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTypedAddressIsKept: a form that was refused leads to the sign-in page, on which
// what was typed stands once, in its field and beside the error. It stands in no URL,
// and the cookie shows nothing and is read once, for a minute.
func TestTypedAddressIsKept(t *testing.T) {
	now := newClock()
	var box outbox
	refuses := &auth.Credentials{Fields: []auth.Field{{Name: "user"}, {Name: "pin", Type: "password"}}, Authorize: password().Authorize}
	h := newHandler(t, auth.Config{
		Adapter: newStore(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Clock: now.Now, Providers: []auth.Provider{box.provider(), refuses},
	})
	for path, form := range map[string]url.Values{
		"/auth/callback/credentials": {"user": {"ada.secret"}, "pin": {"wrong"}},
		"/auth/signin/email":         {"email": {"ada.secret"}},
	} {
		b := newBrowser(t, h)
		fields := []string{"csrfToken", b.csrf()}
		for name := range form {
			fields = append(fields, name, form.Get(name))
		}
		r := b.submit(path, fields...)
		kept := r.Header["Set-Cookie"]
		require.Truef(t, !strings.Contains(r.location(), "ada") && len(kept) == 1 && !strings.Contains(kept[0], "ada") &&
			!strings.Contains(kept[0], "wrong") &&
			strings.Contains(kept[0], "__Host-authjs.typed=") && strings.Contains(kept[0], "Max-Age=60"),
			"%s leads to %s with %q", path, r.location(), kept)
		page := b.get(r.location())
		assert.Truef(t, strings.Count(page.body, `value="ada.secret"`) == 1 && !strings.Contains(page.body, `"wrong"`) &&
			strings.Count(page.body, " autofocus") == 1 &&
			strings.Contains(page.body, `aria-describedby="signin-error" autofocus`) && strings.Contains(page.Header.Get("Cache-Control"), "no-store"),
			"%s: %v\n%s", path, page.Header, page.body)
		assert.NotContainsf(t, b.get(r.location()).body, "ada.secret", "%s: the second page has the address, too", path)
		b.submit(path, fields...)
		now.advance(2 * time.Minute)
		assert.NotContainsf(t, b.get(r.location()).body, "ada.secret", "%s: a page after two minutes has the address", path)
	}
	b := newBrowser(t, h)
	r := b.do(http.MethodPost, "/auth/signin/email", strings.NewReader("email=ada&csrfToken="+b.csrf()), http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"}, "X-Auth-Return-Redirect": {"1"},
	})
	assert.Empty(t, r.Header["Set-Cookie"], "a script gets")
}

// TestSignInData: a page of one's own gets what the built-in page shows, in the
// language of the reader, and the cookies that it needs.
func TestSignInData(t *testing.T) {
	var box outbox
	h := newHandler(t, auth.Config{
		Adapter: newStore(), Session: auth.SessionConfig{Strategy: auth.StrategyJWT}, Theme: auth.Theme{Name: "Example"}, Pages: auth.Pages{SignIn: "/login"},
		Providers: []auth.Provider{
			box.provider(), password(), &auth.OAuth{ID: "github", Name: "GitHub", ClientID: "i", ClientSecret: "s", Issuer: "https://github.example"},
		},
	})
	data := func(method, target string) (*auth.SignInData, http.Header) {
		r := httptest.NewRequestWithContext(t.Context(), method, origin+target, nil)
		r.Header.Set("Accept-Language", "ar")
		w := httptest.NewRecorder()
		return must(h.SignInData(w, r))(t), w.Header()
	}
	d, header := data(http.MethodGet, "/login?error=CredentialsSignin&callbackUrl=%2Finbox&error=x&email=a%40b.example")
	assert.Truef(t, d.Site == "Example" && d.Direction == "rtl" && d.Texts.Language == "ar" &&
		d.CallbackURL == "/inbox" && d.Error == "x" && d.Typed == "a@b.example",
		"got %+v", d)
	assert.Truef(t, len(d.Buttons) == 1 && d.Buttons[0].URL == origin+"/auth/signin/github" && strings.HasPrefix(string(d.Buttons[0].Mark), "<svg"),
		"got the buttons %+v", d.Buttons)
	assert.Truef(t, len(d.ByAddress) == 1 && d.ByAddress[0].URL == origin+"/auth/signin/email" && len(d.Forms) == 1 &&
		d.Forms[0].URL == origin+"/auth/callback/credentials",
		"got %+v and %+v", d.ByAddress, d.Forms)
	if set := header["Set-Cookie"]; len(set) != 1 || !strings.Contains(set[0], "csrf-token="+d.CSRFToken) || !strings.Contains(header.Get("Cache-Control"), "no-store") {
		t.Errorf("got the header %v", header)
	}
	d, _ = data(http.MethodGet, "/login?error=CredentialsSignin")
	assert.Truef(t, d.Message == texts.Arabic().SignIn.Errors.Credentials && d.At == "credentials",
		"got the message %q at %q", d.Message, d.At)
	_, header = data(http.MethodHead, "/login")
	assert.Empty(t, header["Set-Cookie"], "HEAD sets")
}
