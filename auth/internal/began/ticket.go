package began

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// ticketName is the name of the ticket, the cookie of one sign-in: the name of
// the state cookie and a mark, which is a hash of the state. Sign-ins with a
// provider that has no state can't be told apart. They share one ticket, and
// only the last of them can finish.
func (b *Browser) ticketName(p *Provider, state string) string {
	if !p.Has(State) {
		state = "provider " + p.ID
	}
	return b.Cookies.State.Name + "." + markOf(state)
}

// ticketValue is the value of a check as a ticket holds it. For the state it is
// a hash, because a state for a redirect proxy is long.
func ticketValue(check Check, value string) string {
	if check != State || value == "" {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// maxCookies is the size in bytes of all cookies of the sign-ins of a browser,
// which with the CSRF cookie is 6 KB. A server refuses a longer header line than
// 8 KB by default, and the cookies of the session and of the application come on
// top.
const maxCookies = 5800

// claimCallbackURL is the claim of a ticket that says where the browser goes in
// the end. claimCallbackHash takes its place if it does not fit: a hash, by which
// it is known in the cookie for the callback URL.
const (
	claimCallbackURL  = "callbackUrl"
	claimCallbackHash = "callbackHash"
)

// issueTicket returns the ticket of a new sign-in and, if the browser has too
// many tickets, the cookies that delete the oldest ones. If the cookies are too
// long, tickets lose the callback URL, the oldest first; what they begin ends at
// the home of the site. Checks are the other cookies of the sign-in.
func (b *Browser) issueTicket(p *Provider, state, callbackURL string, values jwt.Claims, checks []*http.Cookie) ([]*http.Cookie, error) {
	spec := &b.Cookies.State
	name := b.ticketName(p, state)
	cookies := []*http.Cookie{}
	deleted := b.tooMany(spec.Name, name)
	for _, old := range deleted {
		cookies = append(cookies, spec.Clear(old))
	}
	values[claimCallbackURL] = callbackURL
	own, err := b.seal(p, spec, name, values)
	if err != nil {
		return nil, err
	}
	size := length(b.Cookies.CallbackURL.Name, wire.EncodeURIComponent(callbackURL)) + length(own.Name, own.Value)
	for _, name := range []string{b.finishedCookie().Name, b.knownCookie().Name} {
		if value := b.Jar.Get(name); value != "" {
			size += length(name, value)
		}
	}
	for _, c := range checks {
		size += length(c.Name, c.Value)
	}
	others := slices.DeleteFunc(b.tickets(spec.Name, name), func(name string) bool { return slices.Contains(deleted, name) })
	for _, other := range others {
		size += length(other, b.Jar.Get(other))
	}
	if size > maxCookies {
		if shorter := b.withoutFinishedURLs(); shorter != nil {
			size -= len(b.Jar.Get(shorter.Name)) - len(shorter.Value)
			cookies = append(cookies, shorter)
		}
	}
	for _, other := range others { // the oldest first
		if size <= maxCookies {
			break
		}
		if shorter := b.withoutURL(spec, other); shorter != nil {
			size -= length(other, b.Jar.Get(other)) - length(other, shorter.Value)
			cookies = append(cookies, shorter)
		}
	}
	if size > maxCookies && len(callbackURL) > shortURL || len(own.Name)+len(own.Value) > MaxCookie {
		delete(values, claimCallbackURL)
		values[claimCallbackHash] = markOf(callbackURL)
		size -= len(own.Value)
		if own, err = b.seal(p, spec, name, values); err != nil {
			return nil, err
		}
		size += len(own.Value)
	}
	if size > maxCookies { // what the browser finished is the oldest
		cookies = append(cookies, b.ForgetFinished()...)
	}
	own.Expires = time.Time{} // Max-Age is enough, and the header is long
	return append([]*http.Cookie{own}, cookies...), nil
}

// length is the size of a cookie in the Cookie header.
func length(name, value string) int { return len(name) + len(value) + len("=; ") }

// shortURL is the length in bytes of a callback URL that is not worth leaving out.
const shortURL = 100

// withoutURL returns a ticket without its callback URL, or nil if it has none or
// a short one. It is valid for as long as the ticket is.
func (b *Browser) withoutURL(spec *wire.CookieSpec, name string) *http.Cookie {
	claims, err := b.Open(name, b.Jar.Get(name))
	issued, ok := claims.Time("iat")
	if err != nil || !ok || len(claims.String(claimCallbackURL)) <= shortURL {
		return nil
	}
	claims[claimCallbackHash] = markOf(claims.String(claimCallbackURL))
	delete(claims, claimCallbackURL)
	sealed, err := jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: b.Secrets, Salt: name, MaxAge: MaxAge, Keys: b.Keys, Now: func() time.Time { return issued },
	})
	if err != nil {
		return nil
	}
	c := spec.SetNamed(name, sealed)
	if spec.Template.MaxAge > 0 {
		c.MaxAge = max(1, int(issued.Add(MaxAge).Sub(b.Clock())/time.Second))
	}
	return c
}

// whereTo returns the callback URL of a ticket. If the ticket has lost it, it is
// the URL that the browser remembers, unless that is another one's.
func (b *Browser) whereTo(ticket jwt.Claims) (callbackURL string, lost bool) {
	if u := ticket.String(claimCallbackURL); u != "" {
		return u, false
	}
	hash := ticket.String(claimCallbackHash)
	remembered := b.Jar.Get(b.Cookies.CallbackURL.Name)
	if hash == "" || hash == markOf(remembered) {
		return remembered, false
	}
	return "", true
}

// Knows reports whether the browser sent its mark, and also a check or the
// ticket of the sign-in with a state.
func (b *Browser) Knows(p *Provider, state string) bool {
	if b.csrfMark() == "" && b.Jar.Get(b.markCookie().Name) == "" {
		return false
	}
	names := []string{b.ticketName(p, state), b.Cookies.State.Name, b.Cookies.PKCE.Name, b.Cookies.Nonce.Name}
	return slices.ContainsFunc(names, func(name string) bool { return b.Jar.Get(name) != "" })
}

// markOf is the end of a cookie's name that tells it from others of its kind.
func markOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// tooMany returns the names of the oldest cookies of a kind, which must make
// room for one more. Their names are name, a dot and a mark. Browsers send the
// oldest first (RFC 6265 section 5.4). The cookie called but does not count.
func (b *Browser) tooMany(name, but string) []string {
	found := b.tickets(name, but)
	return found[:max(0, len(found)-maxAtOnce+1)]
}

// tickets returns the names of the cookies of a kind, the oldest first.
func (b *Browser) tickets(name, but string) []string {
	var found []string
	for _, c := range b.Jar {
		if mark, ok := strings.CutPrefix(c.Name, name+"."); ok && len(mark) == 16 && c.Name != but {
			found = append(found, c.Name)
		}
	}
	return found
}
