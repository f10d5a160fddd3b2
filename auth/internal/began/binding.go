package began

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
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

// By says who began something.
type By struct {
	// Bound says that it began in the browser that ends it. If it is false, nothing
	// may be linked.
	Bound bool
	// User is the ID of the user who was signed in, or empty.
	User string
}

func (b *Browser) markCookie() wire.CookieSpec { return wire.HostCookie("authjs.browser", b.Secure) }

// csrfMark is the CSRF token if it can serve as the mark, or empty.
func (b *Browser) csrfMark() string {
	spec := &b.Cookies.CSRF
	if b.Secure && !strings.HasPrefix(spec.Name, "__Host-") || spec.Template.Domain != "" {
		return ""
	}
	return b.CSRF.CSRFToken(b.Jar.Get(spec.Name))
}

// HasMark reports whether the cookies of the browser contain a secret that no
// other browser has.
func (b *Browser) HasMark() bool {
	return b.csrfMark() != "" || len(b.Jar.Get(b.markCookie().Name)) == markLength
}

// Bind returns the claims that bind something to this browser and to a user,
// whose ID is empty if nobody is signed in. Server is empty without OAuth. A
// browser without a mark gets one: keep is then the cookie that keeps it.
func (b *Browser) Bind(server, user string) (claims jwt.Claims, keep []*http.Cookie, err error) {
	mark := b.csrfMark()
	if mark == "" {
		spec := b.markCookie()
		if mark = b.Jar.Get(spec.Name); len(mark) != markLength {
			if mark, err = wire.RandomBase64(b.Random); err != nil {
				return nil, nil, err
			}
		}
		c := spec.Set(mark)
		c.MaxAge = int(MaxAge.Seconds())
		keep = []*http.Cookie{c}
	}
	claims = jwt.Claims{claimBrowser: markHash(mark, server)}
	if user != "" {
		claims[claimUser] = user
	}
	return claims, keep, nil
}

func markHash(mark, server string) string {
	sum := sha256.Sum256([]byte("browser\x00" + mark + server))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Bound reports whether the claims were sealed for this browser and this
// server, and which user was signed in then. Claims without a binding come from
// Auth.js: such a sign-in may continue, but it links nothing.
func (b *Browser) Bound(claims jwt.Claims, server string) (By, bool) {
	if _, says := claims[claimBrowser]; !says {
		return By{}, true
	}
	for _, mark := range []string{b.csrfMark(), b.Jar.Get(b.markCookie().Name)} {
		if mark != "" && subtle.ConstantTimeCompare([]byte(claims.String(claimBrowser)), []byte(markHash(mark, server))) == 1 {
			return By{Bound: true, User: claims.String(claimUser)}, true
		}
	}
	return By{}, false
}
