package stress_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

const siteURL = "https://app.example.com"

// newSite is a handler with the providers, over the adapter.
func newSite(t *testing.T, a adapter.Adapter, providers ...auth.Provider) *auth.Handler {
	t.Helper()
	return must(auth.New(auth.Config{
		Secret: []string{"0123456789abcdef0123456789abcdef"}, URL: siteURL, Adapter: a, Providers: providers,
		Logger:       slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Experimental: auth.Experimental{EnableWebAuthn: true},
	}))(t)
}

// tab is a browser at a site.
type tab struct {
	t       *testing.T
	site    http.Handler
	cookies map[string]string
}

func newTab(t *testing.T, site http.Handler) *tab { return &tab{t, site, map[string]string{}} }

// do makes a request to a path or URL of the site, and keeps the cookies of the answer.
func (b *tab) do(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.t.Context(), method, siteURL+strings.TrimPrefix(path, siteURL), strings.NewReader(body))
	r.Header.Set("Origin", siteURL)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	for _, c := range (&http.Response{Header: w.Header()}).Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

// submit posts a form with a CSRF token and fields as name, value, ….
func (b *tab) submit(path string, fields ...string) *httptest.ResponseRecorder {
	b.t.Helper()
	var csrf struct{ CSRFToken string }
	assert.NoError(b.t, json.NewDecoder(b.do(http.MethodGet, "/auth/csrf", "").Body).Decode(&csrf))
	form := url.Values{"csrfToken": {csrf.CSRFToken}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return b.do(http.MethodPost, path, form.Encode())
}
