package oidcprovider_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// browser is a browser without scripts that follows redirects.
type browser struct {
	t      *testing.T
	site   string
	client *http.Client
	// posted says that the last response of the provider came as a form.
	posted bool
}

func newBrowser(t *testing.T, server *httptest.Server) *browser {
	t.Helper()
	jar := must(cookiejar.New(nil))(t)
	return &browser{t: t, site: server.URL, client: &http.Client{Jar: jar, Transport: server.Client().Transport}}
}

// page is a page that was read.
type page struct {
	url  *url.URL
	text string
	// answer is set in place of text if the page leads to the callback route.
	// It is the request that the browser makes there.
	answer *http.Request
}

var (
	formTag  = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	inputTag = regexp.MustCompile(`<input[^>]* name="([^"]*)"(?:[^>]* value="([^"]*)")?`)
	abortTag = regexp.MustCompile(`<a href="([^"]*/abort)"`)
)

// request makes a request; if form is not nil, it is a POST of the form.
func (b *browser) request(target string, form url.Values) *http.Request {
	b.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	r := must(http.NewRequestWithContext(b.t.Context(), method, target, body))(b.t)
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

// do sends a request and follows redirects, up to the callback route.
func (b *browser) do(r *http.Request) page {
	b.t.Helper()
	client := *b.client
	client.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if b.isAnswer(r.URL) {
			return http.ErrUseLastResponse
		}
		return nil
	}
	res, err := client.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body := must(io.ReadAll(res.Body))(b.t)
	if location, err := res.Location(); err == nil && b.isAnswer(location) {
		b.posted = false
		return page{url: location, answer: b.request(location.String(), nil)}
	}
	return page{url: res.Request.URL, text: string(body)}
}

func (b *browser) isAnswer(u *url.URL) bool {
	return strings.HasPrefix(u.String(), b.site+"/auth/callback/")
}

// submit submits the form of the page, with the values that a person fills in.
func (b *browser) submit(p page, person string) page {
	b.t.Helper()
	form := formTag.FindStringSubmatch(p.text)
	require.NotNilf(b.t, form, "%s has no form:\n%s", p.url, p.text)
	action := must(p.url.Parse(html.UnescapeString(form[1])))(b.t)
	fields := url.Values{}
	for _, input := range inputTag.FindAllStringSubmatch(p.text, -1) {
		fields.Set(input[1], html.UnescapeString(input[2]))
	}
	for name, value := range map[string]string{"login": person, "password": "any"} {
		if fields.Has(name) {
			fields.Set(name, value)
		}
	}
	r := b.request(action.String(), fields)
	if !b.isAnswer(action) {
		return b.do(r)
	}
	b.posted = true
	return page{url: action, answer: r}
}

// start presses the button of the provider on the sign-in page.
func (b *browser) start() page {
	b.t.Helper()
	var csrf struct{ CSRFToken string }
	require.NoError(b.t, json.Unmarshal([]byte(b.do(b.request(b.site+"/auth/csrf", nil)).text), &csrf))
	return b.do(b.request(b.site+"/auth/signin/op", url.Values{"csrfToken": {csrf.CSRFToken}, "callbackUrl": {b.site + "/welcome"}}))
}

// authorize goes from the site through the pages of the provider, and returns
// the request with the authorization response.
func (b *browser) authorize(person string) *http.Request {
	b.t.Helper()
	p := b.start()
	for pages := 0; p.answer == nil; pages++ {
		require.Truef(b.t, pages <= 5, "the pages of the provider have no end; this is %s", p.url)
		p = b.submit(p, person)
	}
	return p.answer
}

// cancel goes to the provider and back without signing in.
func (b *browser) cancel() *http.Request {
	b.t.Helper()
	p := b.start()
	abort := abortTag.FindStringSubmatch(p.text)
	require.NotNilf(b.t, abort, "%s can't be left:\n%s", p.url, p.text)
	if p = b.do(b.request(html.UnescapeString(abort[1]), nil)); p.answer == nil {
		p = b.submit(p, "") // the form of form_post
	}
	return p.answer
}

// signIn goes through the whole sign-in.
func (b *browser) signIn(person string) page {
	b.t.Helper()
	return b.do(b.authorize(person))
}

// session returns the response of the session route.
func (b *browser) session() string {
	b.t.Helper()
	return b.do(b.request(b.site+"/auth/session", nil)).text
}

// cookies returns the names of the cookies of the site.
func (b *browser) cookies() []string {
	b.t.Helper()
	site := must(url.Parse(b.site + "/auth/callback/op"))(b.t)
	var names []string
	for _, c := range b.client.Jar.Cookies(site) {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	return names
}
