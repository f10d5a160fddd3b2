package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
)

// A sign-in is bound to the browser and to the user that began it. So nobody
// can make a browser end a sign-in that somebody else began, or link an account
// to a user who did not ask for it (RFC 9700 section 4.7). The cookie that
// keeps the state of a sign-in holds two sealed claims: the hash of the
// browser's mark, and the ID of the user who was signed in. With OAuth, the
// hash also covers the server and the client ID there: if the provider ID means
// another server when the answer comes, that server gets neither the code nor
// the PKCE verifier (RFC 9700 section 4.4.2).
//
// The mark is the CSRF token of the browser, if that token is in a cookie that
// no other host can set: on https a cookie whose name begins with __Host- (RFC
// 6265bis section 4.1.3.2), on http any cookie, because http has no such names.
// Otherwise the mark is a random value in a cookie that no other host can set.

const (
	claimBrowser = "b"
	claimUser    = "u"
	claimMaxAge  = "max_age"
	// markLength is the length of 32 bytes in base64url.
	markLength = 43
)

// begun says who began a sign-in.
type begun struct {
	// bound says that the sign-in began in the browser that ends it. If it is
	// false, nothing may be linked.
	bound bool
	// user is the ID of the user who was signed in, or empty.
	user string
}

// hostCookie is the template of a cookie that no other host can set. It is
// secure if the origin is https or Config.UseSecureCookies is true. The second
// matters behind a server that ends TLS, where the request looks like plain
// http.
func (r *request) hostCookie(name string) cookieSpec {
	secure := r.isSecure()
	if secure {
		name = "__Host-" + name
	}
	return cookieSpec{name: name, template: http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure}}
}

func (r *request) isSecure() bool { return r.secure || strings.HasPrefix(r.origin, "https:") }

func (r *request) markCookie() cookieSpec { return r.hostCookie("authjs.browser") }

// csrfMark is the CSRF token if it can serve as the mark, or empty.
func (e *engine) csrfMark(r *request) string {
	spec := &r.specs.csrf
	if r.isSecure() && !strings.HasPrefix(spec.name, "__Host-") || spec.template.Domain != "" {
		return ""
	}
	return e.csrfKeys.tokenOf(r.cookies.get(spec.name))
}

// markBrowser returns the mark of the browser, and the cookie that keeps the
// mark if the cookie has to be set. A browser without a mark gets one.
func (e *engine) markBrowser(r *request) (mark string, keep []*http.Cookie, err error) {
	if mark := e.csrfMark(r); mark != "" {
		return mark, nil, nil
	}
	spec := r.markCookie()
	if mark = r.cookies.get(spec.name); len(mark) != markLength {
		if mark, err = randomBase64(e.config.Random); err != nil {
			return "", nil, err
		}
	}
	c := spec.set(mark)
	c.MaxAge = int(checkMaxAge.Seconds())
	return mark, []*http.Cookie{c}, nil
}

// bindingClaims are the claims that bind a sign-in. Server is empty for
// sign-ins without OAuth.
func bindingClaims(mark, server, user string) Claims {
	c := Claims{claimBrowser: markHash(mark, server)}
	if user != "" {
		c[claimUser] = user
	}
	return c
}

func markHash(mark, server string) string {
	sum := sha256.Sum256([]byte("browser\x00" + mark + server))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// checkBinding reports whether the claims were sealed for this browser and this
// server, and which user was signed in then. Claims without a binding come from
// Auth.js: such a sign-in may continue, but it links nothing.
func (e *engine) checkBinding(r *request, claims Claims, server string) (begun, bool) {
	if _, says := claims[claimBrowser]; !says {
		return begun{}, true
	}
	spec := r.markCookie()
	for _, mark := range []string{e.csrfMark(r), r.cookies.get(spec.name)} {
		if mark != "" && subtle.ConstantTimeCompare([]byte(claims.String(claimBrowser)), []byte(markHash(mark, server))) == 1 {
			return begun{bound: true, user: claims.String(claimUser)}, true
		}
	}
	return begun{}, false
}
