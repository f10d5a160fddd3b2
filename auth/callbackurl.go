package auth

import (
	"context"
	"net/url"
	"strings"
)

// maxCallbackURL is the largest length in bytes of a callback URL, without the
// origin of the site. The URL is kept in cookies, and all cookies of a site
// must fit into one header.
const maxCallbackURL = 1024

// resolveCallbackURL decides where the browser goes at the end: to the URL in
// the request, else to the URL in the cookie that an earlier request set, else
// to the site. A candidate that is not an http(s) URL is ignored. So is a URL
// in the request that is longer than maxCallbackURL; the cookie may hold a
// longer one, which Callbacks.Redirect made.
func (e *engine) resolveCallbackURL(ctx context.Context, origin, submitted, remembered string) (string, error) {
	if len(strings.TrimPrefix(submitted, origin)) > maxCallbackURL {
		e.logError(ctx, &Error{Type: ErrInvalidCallbackURL, Message: "a callback URL that is too long was ignored"})
		submitted = ""
	}
	for _, candidate := range []string{submitted, remembered} {
		if candidate == "" {
			continue
		}
		if !isWebURL(candidate) {
			e.logError(ctx, &Error{Type: ErrInvalidCallbackURL, Message: "a callback URL that is not an http(s) URL was ignored"})
			continue
		}
		return e.redirect(ctx, candidate, origin)
	}
	return origin, nil
}

// isWebURL reports whether s is an absolute http(s) URL or begins with a slash.
func isWebURL(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	if s[0] == '/' {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// defaultRedirect keeps the browser on the site.
func defaultRedirect(_ context.Context, p RedirectParams) (string, error) {
	if strings.HasPrefix(p.URL, "/") {
		return p.BaseURL + p.URL, nil
	}
	if u, err := url.Parse(p.URL); err == nil && originOf(u) == p.BaseURL {
		return p.URL, nil
	}
	return p.BaseURL, nil
}

// withQuery appends parameters to a URL that may already have some.
func withQuery(page, query string) string {
	if strings.Contains(page, "?") {
		return page + "&" + query
	}
	return page + "?" + query
}

// queryEscape escapes a query value as URLSearchParams of JavaScript does.
func queryEscape(s string) string { return formEscape.Replace(url.QueryEscape(s)) }

var formEscape = strings.NewReplacer("~", "%7E", "%2A", "*")
