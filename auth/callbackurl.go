package auth

import (
	"context"
	"net/url"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
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
		if !wire.IsWebURL(candidate) {
			e.logError(ctx, &Error{Type: ErrInvalidCallbackURL, Message: "a callback URL that is not an http(s) URL was ignored"})
			continue
		}
		return e.redirect(ctx, candidate, origin)
	}
	return origin, nil
}

// defaultRedirect keeps the browser on the site.
func defaultRedirect(_ context.Context, p RedirectParams) (string, error) {
	if strings.HasPrefix(p.URL, "/") {
		return p.BaseURL + p.URL, nil
	}
	if u, err := url.Parse(p.URL); err == nil && wire.OriginOf(u) == p.BaseURL {
		return p.URL, nil
	}
	return p.BaseURL, nil
}
