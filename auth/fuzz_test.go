package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/stretchr/testify/require"
)

func fuzzEngine(f *testing.F) *engine {
	f.Helper()
	e, problems := compile(Config{
		Secret: []string{"0123456789abcdef0123456789abcdef", "earlier-secret"}, URL: "https://app.example.com", Logger: slog.New(slog.DiscardHandler),
		Providers: []Provider{&Credentials{Authorize: func(context.Context, Form, *http.Request) (*User, error) { return nil, nil }}},
	}, unshared)
	require.Truef(f, len(problems) <= 0, "%v", problems)
	return e
}

// FuzzCallbackURL: for every callback URL, the browser stays on the site.
func FuzzCallbackURL(f *testing.F) {
	e := fuzzEngine(f)
	for _, s := range []string{
		"", "/", "/inbox?x=1#y", "//evil.example", `/\evil.example`, `\\evil.example`, "https://app.example.com/x", "https://app.example.com.evil.example/",
		"https://app.example.com@evil.example/", `https://app.example.com\@evil.example/`, "https://evil.example", "HTTPS://APP.EXAMPLE.COM:443/", "javascript:alert(1)",
		"http://app.example.com/", "https:evil.example", "https:/evil.example", " https://evil.example", "/\t/evil.example", "https://[::1]/", "data:text/html,x",
	} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, submitted, remembered string) {
		const origin = "https://app.example.com"
		got, err := e.resolveCallbackURL(t.Context(), origin, submitted, remembered)
		require.NoError(t, err)
		// A browser reads a backslash like a slash and drops tabs and line breaks.
		read := strings.NewReplacer("\\", "/", "\t", "", "\n", "", "\r", "").Replace(got)
		rest, ok := strings.CutPrefix(strings.ToLower(read), origin)
		if !ok {
			u, err := url.Parse(got)
			require.Falsef(t, err != nil || wire.OriginOf(u) != origin || u.User != nil && !strings.HasPrefix(rest, "/"),
				"%q, %q: got %q", submitted, remembered, got)
			return
		}
		require.Truef(t, rest == "" || strings.ContainsRune("/?#:", rune(rest[0])),
			"%q, %q: got %q", submitted, remembered, got)
	})
}

// FuzzRequest: no path, query, body or cookie makes the handler panic, sends
// the browser off the site, or makes an invalid header.
func FuzzRequest(f *testing.F) {
	h := &Handler{fuzzEngine(f)}
	f.Add("POST", "/auth/callback/credentials", "a=b&c", "application/x-www-form-urlencoded", "a=b; c")
	f.Add("GET", "/auth/signin?callbackUrl=/x&error=%22", "", "", "authjs.callback-url=https%3A%2F%2Fevil")
	f.Add("POST", "/auth/session", `{"csrfToken":{},"data":[1]}`, "application/json", "")
	f.Add("POST", "/auth/signout", `[1]`, "application/json; charset=x", "__Secure-authjs.session-token=a.b.c")
	f.Add("GET", "/auth//error//?error=%0d%0aX:y", "", "", "")
	f.Fuzz(func(t *testing.T, method, target, body, kind, cookie string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || u.Host != "" {
			return
		}
		r := httptest.NewRequest(http.MethodGet, "/", strings.NewReader(body))
		r.Method, r.URL = method, u
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Cookie", cookie)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		l := w.Header().Get("Location")
		require.Truef(t, l == "" || strings.HasPrefix(l, "https://app.example.com"), "location %q", l)
		for _, values := range w.Header() {
			for _, v := range values {
				require.Falsef(t, strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r >= 0x7f }), "header %q", v)
			}
		}
	})
}

// FuzzNormalizeEmail: an accepted address is one plain address, and a second
// normalization does not change it.
func FuzzNormalizeEmail(f *testing.F) {
	for _, s := range []string{"ada@example.com", "Ada <ada@example.com>", "a@b,c@d", "\"a\"@b", "a\r\n@b", "ａ＠ｂ．ｃ", "i\u0307@x.y", "ada@b\u00fccher.example", "ß@ẞ.de"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := NormalizeEmail(s)
		if err != nil {
			return
		}
		again, err := NormalizeEmail(got)
		require.Truef(t, err == nil && again == got, "%q: %q becomes %q, %v", s, got, again, err)
		require.Truef(t, strings.Count(got, "@") == 1 && !strings.ContainsFunc(got, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.IsUpper(r) && unicode.ToLower(r) != r
		}), "%q: got %q", s, got)
		if list, err := mail.ParseAddressList(got); err == nil && (len(list) != 1 || list[0].Address != got) {
			t.Fatalf("%q: a mail program reads %q as %v", s, got, list)
		}
	})
}
