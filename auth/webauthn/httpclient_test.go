package webauthn_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/client"
	"github.com/stretchr/testify/require"
)

// lab is a page on which a test calls the functions of the script directly.
var lab = `<p>lab</p><script type=module>` + client.Passkey + `
window.lab = { begin, ask, finish, creationOptions, requestOptions, credentialToJSON };</script>`

// httpClient is a client of a site that is a program and keeps cookies.
type httpClient struct {
	t    *testing.T
	site string
	c    *http.Client
}

// do returns the redirect of the response, and its body.
func (h *httpClient) do(r *http.Request) (location, body string) {
	h.t.Helper()
	if h.c == nil {
		jar := must(cookiejar.New(nil))(h.t)
		h.c = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	res, err := h.c.Do(r)
	require.NoError(h.t, err)
	defer func() { _ = res.Body.Close() }()
	text := must(io.ReadAll(res.Body))(h.t)
	return res.Header.Get("Location"), string(text)
}

func (h *httpClient) get(path string) string {
	h.t.Helper()
	r := must(http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.site+path, nil))(h.t)
	_, body := h.do(r)
	return body
}

// post posts a form as a page of the site does, and returns the redirect.
func (h *httpClient) post(path string, form url.Values) string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.site+path, strings.NewReader(form.Encode()))
	require.NoError(h.t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", h.site)
	location, _ := h.do(r)
	return location
}
