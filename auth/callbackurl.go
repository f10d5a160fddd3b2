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
// to Config.Home. A candidate that is not an http(s) URL is ignored. So is a URL
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
	return e.config.home(origin), nil
}

// home is the URL that Home names, on the site with the origin.
func (c *Config) home(origin string) string {
	if c.Home == "" || strings.HasPrefix(c.Home, "/") {
		return origin + c.Home
	}
	return c.Home
}

// keepOnSite is the default of Callbacks.Redirect: it keeps the browser on the
// site. A URL of another site becomes home.
func keepOnSite(target, origin, home string) string {
	if strings.HasPrefix(target, "/") {
		return origin + target
	}
	if u, err := url.Parse(target); err == nil && wire.OriginOf(u) == origin {
		return target
	}
	return home
}
