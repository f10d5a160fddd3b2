package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A check protects one run of the OAuth flow: its value is kept sealed in a
// cookie when a sign-in starts, and asked for when the provider sends the
// browser back. Behaviour reference section 6.3.

// checkMaxAge is how long somebody may take at the provider.
const checkMaxAge = 15 * time.Minute

// stateSalt is the salt of the state parameter itself, which a deployment that
// is the redirect proxy of another one reads too.
const stateSalt = "encodedState"

// maxPendingChecks is how many sign-ins of one browser may be under way in
// other tabs before all of them are forgotten.
const maxPendingChecks = 5

// sealCheck is the cookie for a value. A second sign-in in the same browser
// gets cookies of its own, marked by its state, so that the first can go on.
func (e *engine) sealCheck(r *request, o *oauthClient, spec *cookieSpec, value, mark string) (*http.Cookie, error) {
	name := spec.name
	if mark != "" && r.cookies.get(name) != "" {
		name += "." + mark
	}
	claims := Claims{"value": value, "provider": o.provider.ID, "callbackUrl": r.callbackURL}
	sealed, err := jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: e.config.JWT.Secret, Salt: name, MaxAge: checkMaxAge, Keys: e.keys, Now: e.config.Clock,
	})
	if err != nil {
		return nil, err
	}
	c := spec.setNamed(name, sealed)
	c.Expires = e.config.Clock().Add(checkMaxAge)
	if o.formPost { // the browser sends it along with a form of the provider's site
		c.SameSite, c.Secure = http.SameSiteNoneMode, true
	}
	return c, nil
}

// openCheck takes the value out of the cookie and spends it: the cookie is
// deleted, whatever becomes of the request.
func (e *engine) openCheck(r *request, o *oauthClient, spec *cookieSpec, what, mark string) (string, error) {
	invalid := func(message string) error { return &Error{Type: ErrInvalidCheck, Message: what + ": " + message} }
	name := spec.name
	if mark != "" && r.cookies.get(name+"."+mark) != "" {
		name += "." + mark
	}
	sealed := r.cookies.get(name)
	if sealed == "" {
		return "", invalid("the cookie is missing")
	}
	claims, err := jwt.Decode(jwt.DecodeParams{Token: sealed, Secrets: e.config.JWT.Secret, Salt: name, Keys: e.keys, Now: e.config.Clock})
	if err != nil {
		return "", invalid("the cookie is not valid")
	}
	value := claims.String("value")
	if value == "" {
		return "", invalid("the cookie holds no value")
	}
	if provider := claims.String("provider"); provider != o.provider.ID {
		return "", invalid("the sign-in was started with another provider")
	}
	if back := claims.String("callbackUrl"); back != "" {
		r.callbackURL = back
	}
	r.pending = append(r.pending, spec.clear(name))
	return value, nil
}

// markOf ties the cookies of one sign-in to its state.
func markOf(state string) string {
	if state == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(state))
	return hex.EncodeToString(sum[:8])
}

// startChecks makes the values of all checks: parameters for the provider and
// cookies for the browser.
func (e *engine) startChecks(r *request, o *oauthClient, redirectURI string, params *orderedQuery) ([]*http.Cookie, error) {
	var cookies []*http.Cookie
	seal := func(spec *cookieSpec, value, mark string) error {
		c, err := e.sealCheck(r, o, spec, value, mark)
		cookies = append(cookies, c)
		return err
	}
	var mark string
	if o.state {
		state, err := e.newState(r, o, redirectURI)
		if err != nil {
			return nil, err
		}
		mark = markOf(state)
		params.set("state", state)
		if err := seal(&r.specs.state, state, mark); err != nil {
			return nil, err
		}
		cookies = append(r.forgetOldChecks(), cookies...)
	}
	if o.pkce {
		verifier, err := randomBase64(e.config.Random)
		if err != nil {
			return nil, err
		}
		challenge := sha256.Sum256([]byte(verifier))
		params.set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
		params.set("code_challenge_method", "S256")
		if err := seal(&r.specs.pkce, verifier, mark); err != nil {
			return nil, err
		}
	}
	if o.nonce {
		nonce, err := randomBase64(e.config.Random)
		if err != nil {
			return nil, err
		}
		params.set("nonce", nonce)
		if err := seal(&r.specs.nonce, nonce, mark); err != nil {
			return nil, err
		}
	}
	return cookies, nil
}

// newState is a random value, sealed with the URL that a redirect proxy must
// send the browser on to.
func (e *engine) newState(r *request, o *oauthClient, redirectURI string) (string, error) {
	random, err := randomBase64(e.config.Random)
	if err != nil {
		return "", err
	}
	claims := Claims{"random": random}
	if own := e.providerURL(r, ActionCallback, o.provider.ID); own != redirectURI {
		claims["origin"] = own
	}
	return jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: e.config.JWT.Secret, Salt: stateSalt, MaxAge: checkMaxAge, Keys: e.keys, Now: e.config.Clock,
	})
}

// forgetOldChecks deletes the cookies of sign-ins that were given up, once
// there are many.
func (r *request) forgetOldChecks() []*http.Cookie {
	var old []*http.Cookie
	states := 0
	for _, spec := range []*cookieSpec{&r.specs.state, &r.specs.pkce, &r.specs.nonce} {
		for _, c := range r.cookies {
			if strings.HasPrefix(c.Name, spec.name+".") {
				old = append(old, spec.clear(c.Name))
				if spec == &r.specs.state {
					states++
				}
			}
		}
	}
	if states < maxPendingChecks {
		return nil
	}
	return old
}

// proxied sends the browser on to the deployment that the sign-in was started
// from, if this one is only its redirect proxy.
func (e *engine) proxied(r *request, o *oauthClient, params url.Values) (*Result, error) {
	state := params.Get("state")
	if state == "" || o.proxy == "" || o.proxyOrigin != r.origin {
		return nil, nil
	}
	claims, err := jwt.Decode(jwt.DecodeParams{Token: state, Secrets: e.config.JWT.Secret, Salt: stateSalt, Keys: e.keys, Now: e.config.Clock})
	if err != nil {
		return nil, &Error{Type: ErrInvalidCheck, Message: "state: not made by a deployment that this one is the redirect proxy of"}
	}
	origin := claims.String("origin")
	if u, err := url.Parse(origin); origin == "" || err == nil && originOf(u) == r.origin {
		return nil, nil
	}
	query := r.http.URL.RawQuery
	if query == "" {
		query = params.Encode()
	}
	return redirectTo(origin + "?" + parseQuery(query).encode()), nil
}

// checkState compares the state parameter with the one of this browser.
func (e *engine) checkState(r *request, o *oauthClient, params url.Values) error {
	if !o.state {
		return nil
	}
	given := params.Get("state")
	want, err := e.openCheck(r, o, &r.specs.state, "state", markOf(given))
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(given), []byte(want)) != 1 {
		// A forged answer must not end the sign-in that is under way.
		r.pending = r.pending[:len(r.pending)-1]
		return &Error{Type: ErrCallbackRoute, Message: "state: the parameter is not the one that was sent"}
	}
	return o.spend("state", want)
}

// spend lets a value through once.
func (o *oauthClient) spend(what, value string) error {
	if !o.spent.add(value) {
		return &Error{Type: ErrInvalidCheck, Message: what + ": the sign-in was finished before"}
	}
	return nil
}

// spentChecks remembers the checks that were used in this process, for as long
// as their cookies are good. A browser that keeps a deleted cookie gets nowhere
// with it.
type spentChecks struct {
	now  func() time.Time
	mu   sync.Mutex
	seen map[[sha256.Size]byte]time.Time
	// next is when what has expired is dropped.
	next time.Time
}

func newSpentChecks(now func() time.Time) *spentChecks {
	return &spentChecks{now: now, seen: map[[sha256.Size]byte]time.Time{}}
}

// add reports whether the value was not there before.
func (s *spentChecks) add(value string) bool {
	sum := sha256.Sum256([]byte(value))
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.After(s.next) {
		for k, expires := range s.seen {
			if now.After(expires) {
				delete(s.seen, k)
			}
		}
		s.next = now.Add(time.Minute)
	}
	if expires, ok := s.seen[sum]; ok && !now.After(expires) {
		return false
	}
	// A cookie is good until a little after its age, see package jwt.
	s.seen[sum] = now.Add(checkMaxAge + time.Minute)
	return true
}

// randomBase64 is 32 random bytes in base64url.
func randomBase64(random io.Reader) (string, error) {
	var b [32]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(b[:]), nil
}
