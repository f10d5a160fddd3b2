package began

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

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

// issueTicket returns the ticket of a new sign-in and, if the browser has too
// many tickets, the cookies that delete the oldest ones.
func (b *Browser) issueTicket(p *Provider, state, callbackURL string, values jwt.Claims) ([]*http.Cookie, error) {
	spec := &b.Cookies.State
	name := b.ticketName(p, state)
	values["callbackUrl"] = callbackURL
	own, err := b.seal(p, spec, name, values)
	if err == nil && len(own.Name)+len(own.Value) > MaxCookie {
		delete(values, "callbackUrl") // it is also in a cookie of its own
		own, err = b.seal(p, spec, name, values)
	}
	if err != nil {
		return nil, err
	}
	own.Expires = time.Time{} // Max-Age is enough, and the header is long
	cookies := []*http.Cookie{own}
	for _, old := range b.tooMany(spec.Name, name) {
		cookies = append(cookies, spec.Clear(old))
	}
	return cookies, nil
}

// Knows reports whether the browser sent its mark, and also a check or the
// ticket of the sign-in with a state.
func (b *Browser) Knows(p *Provider, state string) bool {
	if b.csrfMark() == "" && b.Jar.Get(b.markCookie().Name) == "" {
		return false
	}
	for _, name := range []string{b.ticketName(p, state), b.Cookies.State.Name, b.Cookies.PKCE.Name, b.Cookies.Nonce.Name} {
		if b.Jar.Get(name) != "" {
			return true
		}
	}
	return false
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
	var found []string
	for _, c := range b.Jar {
		if mark, ok := strings.CutPrefix(c.Name, name+"."); ok && len(mark) == 16 && c.Name != but {
			found = append(found, c.Name)
		}
	}
	return found[:max(0, len(found)-maxAtOnce+1)]
}
