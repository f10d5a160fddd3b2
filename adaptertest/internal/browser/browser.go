// Package browser simulates a browser at a site that signs users in by mail: it
// keeps cookies, submits forms with their CSRF token and follows links. It calls
// the site's handler in the process, without a network.
package browser

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
)

// Fataler ends a test that can't continue, like testing.T.
type Fataler interface {
	Fatalf(format string, args ...any)
}

// Browser is one browser at one site. It is for one goroutine at a time.
type Browser struct {
	ctx    context.Context
	fail   Fataler
	site   http.Handler
	origin *url.URL
	jar    http.CookieJar
}

// New returns a browser without cookies for the site at origin, which is a URL
// without a path. Its requests have the context. It calls fail if a request
// can't be made.
func New(ctx context.Context, fail Fataler, site http.Handler, origin string) *Browser {
	u, err := url.Parse(origin)
	if err != nil {
		fail.Fatalf("the origin of the site: %v", err)
	}
	u.Path = "/"
	jar, err := cookiejar.New(nil)
	if err != nil {
		fail.Fatalf("cookie jar: %v", err)
	}
	return &Browser{ctx: ctx, fail: fail, site: site, origin: u, jar: jar}
}

// Request makes a request and keeps the cookies of the response. The form is
// the body; nil means no body.
func (b *Browser) Request(method, target string, form url.Values) *Response {
	var body bytes.Buffer
	body.WriteString(form.Encode())
	r, err := http.NewRequestWithContext(b.ctx, method, target, &body)
	if err != nil {
		b.fail.Fatalf("%s: %v", method, err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Host, r.RequestURI = r.URL.Host, r.URL.RequestURI()
	for _, cookie := range b.jar.Cookies(b.origin) {
		r.AddCookie(cookie)
	}
	w := &Response{header: http.Header{}}
	b.site.ServeHTTP(w, r)
	b.jar.SetCookies(b.origin, (&http.Response{Header: w.header}).Cookies())
	return w
}

// path returns the URL of a path at the site.
func (b *Browser) path(path string) string { return strings.TrimSuffix(b.origin.String(), "/") + path }

// Post submits a form with the browser's CSRF token to a path.
func (b *Browser) Post(path string, form url.Values) *Response {
	form.Set("csrfToken", b.CSRFToken())
	return b.Request(http.MethodPost, b.path(path), form)
}

// CSRFToken returns the browser's CSRF token.
func (b *Browser) CSRFToken() string {
	return b.field("/auth/csrf", "csrfToken")
}

// SignedInAs returns the address that the session route returns, or the empty
// string.
func (b *Browser) SignedInAs() string {
	return b.field("/auth/session", "email")
}

// field returns the text of a field in the JSON answer of a path, or the empty string.
func (b *Browser) field(path, name string) string {
	_, rest, _ := strings.Cut(b.Request(http.MethodGet, b.path(path), nil).body.String(), `"`+name+`":"`)
	text, _, _ := strings.Cut(rest, `"`)
	return text
}

// Open opens a link. If a page asks for a confirmation, Open confirms.
func (b *Browser) Open(link string) {
	if w := b.Request(http.MethodGet, link, nil); w.status == http.StatusOK {
		b.Confirm(link, b.CSRFToken())
	}
}

// Confirm uses a link that another browser asked for.
func (b *Browser) Confirm(link, csrfToken string) {
	path, query, _ := strings.Cut(link, "?")
	form, err := url.ParseQuery(query)
	if err != nil {
		b.fail.Fatalf("the query of the link: %v", err)
	}
	form.Set("csrfToken", csrfToken)
	b.Request(http.MethodPost, path, form)
}

// SignOut signs out.
func (b *Browser) SignOut() { b.Post("/auth/signout", url.Values{}) }

// SessionToken returns the value of the session cookie, or the empty string.
func (b *Browser) SessionToken() string {
	for _, cookie := range b.Cookies() {
		if strings.HasSuffix(cookie.Name, "authjs.session-token") {
			token, err := url.QueryUnescape(cookie.Value)
			if err == nil {
				return token
			}
		}
	}
	return ""
}

// Cookies returns the cookies for the site.
func (b *Browser) Cookies() []*http.Cookie { return b.jar.Cookies(b.origin) }

// Restore puts cookies back.
func (b *Browser) Restore(cookies []*http.Cookie) { b.jar.SetCookies(b.origin, cookies) }

// Response records the response that a handler writes.
type Response struct {
	status int
	header http.Header
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (w *Response) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *Response) WriteHeader(status int) { w.status = status }

// Write implements [http.ResponseWriter].
func (w *Response) Write(b []byte) (int, error) { return w.body.Write(b) }

// String returns the status and the target of a redirect.
func (w *Response) String() string {
	return fmt.Sprintf("status %d, location %q", w.status, w.header.Get("Location"))
}
