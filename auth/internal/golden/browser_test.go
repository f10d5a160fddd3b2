package golden_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// browser keeps cookies in wire form, in the order in which it received them.
// Like the browser of the recording, it removes a cookie when a response
// deletes it, and not when the cookie expires: the content of a cookie has its
// own expiry.
type browser struct{ cookies []*http.Cookie }

func (b *browser) find(name string) int {
	return slices.IndexFunc(b.cookies, func(c *http.Cookie) bool { return c.Name == name })
}

// put stores a cookie without attributes.
func (b *browser) put(name, value string) { b.store(&http.Cookie{Name: name, Value: value, Path: "/"}) }

func (b *browser) drop(name string) {
	if i := b.find(name); i >= 0 {
		b.cookies = slices.Delete(b.cookies, i, i+1)
	}
}

func (b *browser) store(c *http.Cookie) {
	if i := b.find(c.Name); i >= 0 {
		b.cookies[i] = c
		return
	}
	b.cookies = append(b.cookies, c)
}

// receive stores the cookies of a response.
func (b *browser) receive(resp *http.Response) {
	for _, c := range resp.Cookies() {
		if c.MaxAge < 0 {
			b.drop(c.Name)
			continue
		}
		b.store(c)
	}
}

// header returns the Cookie header for a URL.
func (b *browser) header(u *url.URL) string {
	var pairs []string
	for _, c := range b.cookies {
		if c.Secure && u.Scheme != "https" && u.Hostname() != "localhost" || !strings.HasPrefix(u.Path, c.Path) {
			continue
		}
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}
