package auth

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"time"
)

// maxTickets is how many sign-ins of one browser may be under way.
const maxTickets = 4

// maxCookie is the length of name and value that every browser accepts (RFC
// 6265 section 6.1), minus some bytes for the attributes.
const maxCookie = 3936

// ticketName is the name of the ticket, the cookie of one sign-in: the name of
// the state cookie and a mark, which is a hash of the state. Sign-ins with a
// provider that has no state can't be told apart. They share one ticket, and
// only the last of them can finish.
func ticketName(r *request, o *oauthClient, state string) string {
	if !o.state {
		state = "provider " + o.provider.ID
	}
	sum := sha256.Sum256([]byte(state))
	return r.specs.state.name + "." + hex.EncodeToString(sum[:8])
}

// ticketValue is the value of a check as a ticket holds it. For the state it is
// a hash, because a state for a redirect proxy is long.
func ticketValue(what, value string) string {
	if what != "state" || value == "" {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// issueTicket returns the ticket of a new sign-in and, if the browser has too
// many tickets, the cookies that delete the oldest ones. Browsers send the
// oldest first (RFC 6265 section 5.4).
func (e *engine) issueTicket(r *request, o *oauthClient, state string, values Claims) ([]*http.Cookie, error) {
	spec := &r.specs.state
	name := ticketName(r, o, state)
	var others []string
	for _, c := range r.cookies {
		if mark, ok := strings.CutPrefix(c.Name, spec.name+"."); ok && len(mark) == 16 && c.Name != name {
			others = append(others, c.Name)
		}
	}
	values["callbackUrl"] = r.callbackURL
	own, err := e.sealCheck(r, o, spec, name, values)
	if err == nil && len(own.Name)+len(own.Value) > maxCookie {
		delete(values, "callbackUrl") // it is also in a cookie of its own
		own, err = e.sealCheck(r, o, spec, name, values)
	}
	if err != nil {
		return nil, err
	}
	own.Expires = time.Time{} // Max-Age is enough, and the header is long
	cookies := []*http.Cookie{own}
	for _, old := range others[:max(0, len(others)-maxTickets+1)] {
		cookies = append(cookies, spec.clear(old))
	}
	return cookies, nil
}
