package jwt

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Names of the session cookie, over plain HTTP and over HTTPS.
const (
	CookieName       = "authjs.session-token"
	SecureCookieName = "__Secure-authjs.session-token"
)

// ErrMissingRequest is returned when no request headers are given.
var ErrMissingRequest = errors.New("jwt: no request headers")

// GetTokenParams is what [GetToken] and [GetRawToken] take (docs/protocol.md, "Session tokens").
type GetTokenParams struct {
	// Header is the header of the request that carries the token.
	Header http.Header
	// Secrets holds the secrets that may have made the token, newest first.
	Secrets []string
	// CookieName is the name of the cookie. Empty means SecureCookieName if the
	// site has secure cookies, else CookieName.
	CookieName string
	// URL is the URL of the site. Empty means the environment variable AUTH_URL,
	// or NEXTAUTH_URL if that is not set. The site has secure cookies unless its
	// URL begins with http:, or is not known.
	URL string
	// SecureCookie, if it is not nil, says whether the site has secure cookies,
	// whatever its URL is.
	SecureCookie *bool
	// Salt is the salt of the token. Empty means the name of the cookie.
	Salt string
	// Decode reads the token. Nil means [Decode].
	Decode func(context.Context, DecodeParams) (Claims, error)
	// Logger gets at debug level the reason why a token was refused. Nil means
	// no log.
	Logger *slog.Logger

	// Keys caches derived keys. Nil derives them at each call.
	Keys *Keys
	// Now is the clock. Nil means time.Now.
	Now func() time.Time
}

// LogValue keeps headers and secrets out of logs.
func (p GetTokenParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("cookie", p.cookieName()))
}

// GetToken returns the claims of the token that a request carries: in the
// session cookie, whole or in chunks, or else in "Authorization: Bearer".
//
// A request with two cookies of one name and different values is (nil, nil), as
// after the domain of the cookie was changed: GetToken asks no store and no
// memory of sign-outs, so it can't know which of them counts. auth.Handler does.
// GetToken also accepts a token that was signed out, until the token expires.
//
// A request without a token is (nil, nil), and so is a request whose token is
// not accepted. A bad token in the cookie is not replaced by a good one in the
// Authorization header. It returns [ErrMissingRequest] without a header, and
// [ErrMissingSecret] when there is a token but no secret.
func GetToken(ctx context.Context, p GetTokenParams) (Claims, error) {
	token, err := GetRawToken(p)
	if err != nil || token == "" {
		return nil, err
	}
	if len(p.Secrets) == 0 {
		return nil, ErrMissingSecret
	}
	decode := p.Decode
	if decode == nil {
		decode = func(_ context.Context, d DecodeParams) (Claims, error) { return Decode(d) }
	}
	salt := cmp.Or(p.Salt, p.cookieName())
	claims, err := decode(ctx, DecodeParams{Token: token, Secrets: p.Secrets, Salt: salt, Keys: p.Keys, Now: p.Now})
	if err != nil {
		if p.Logger != nil {
			p.Logger.DebugContext(ctx, "jwt: token refused", "error", err)
		}
		return nil, nil // a bad token is not an error of the application
	}
	if rival := p.rival(); rival != "" {
		theirs, err := decode(ctx, DecodeParams{Token: rival, Secrets: p.Secrets, Salt: salt, Keys: p.Keys, Now: p.Now})
		if err == nil && theirs.String("sub") != claims.String("sub") {
			return nil, nil // the two tokens can't be told apart
		}
	}
	return claims, nil
}

// rival returns the token in the chunks beside a whole one, or "". Chunks that
// are left over from an earlier token of the same person are harmless, but
// another host may have set a token of another person.
func (p GetTokenParams) rival() string {
	name := p.cookieName()
	cookies := ParseCookies(strings.Join(p.Header["Cookie"], "; "))
	isWhole := func(c Cookie) bool { return c.Name == name }
	if !slices.ContainsFunc(cookies, isWhole) {
		return ""
	}
	rival, _ := ReadChunks(slices.DeleteFunc(cookies, isWhole), name)
	return rival
}

// GetRawToken returns the token that a request carries, without decoding it, or
// "" if the request carries none. It needs no secret. It looks in the same
// places as [GetToken].
func GetRawToken(p GetTokenParams) (string, error) {
	if p.Header == nil {
		return "", ErrMissingRequest
	}
	cookies := ParseCookies(strings.Join(p.Header["Cookie"], "; "))
	if token, names := ReadChunks(cookies, p.cookieName()); token != "" || len(names) > 0 {
		return token, nil // empty if the cookies are ambiguous
	}
	return bearer(p.Header.Get("Authorization")), nil
}

// bearer returns the second word of an Authorization header, percent-decoded,
// if the first word is Bearer, in any case (RFC 9110 section 11.1), or "".
func bearer(authorization string) string {
	scheme, token, ok := strings.Cut(authorization, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	token, _, _ = strings.Cut(token, " ")
	token, err := url.PathUnescape(token)
	if err != nil || !utf8.ValidString(token) {
		return ""
	}
	return token
}

func (p GetTokenParams) cookieName() string {
	switch {
	case p.CookieName != "":
		return p.CookieName
	case p.secure():
		return SecureCookieName
	}
	return CookieName
}

// secure reports whether the site has secure cookies.
func (p GetTokenParams) secure() bool {
	if p.SecureCookie != nil {
		return *p.SecureCookie
	}
	site := cmp.Or(p.URL, os.Getenv("AUTH_URL"), os.Getenv("NEXTAUTH_URL"))
	return site != "" && !strings.HasPrefix(strings.ToLower(site), "http:")
}
