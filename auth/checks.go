package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A check protects one run of the OAuth flow. Its value is sealed in a cookie
// when a sign-in starts, and is needed when the provider sends the browser
// back. See docs/protocol.md, "Checks".
//
// The cookies of the checks have the names and the content of Auth.js, so they
// hold the sign-in that was started last. Each sign-in also keeps all of its
// values in a cookie of its own, the ticket, so that other sign-ins in the same
// browser can be finished.

// checkMaxAge is the longest time that a person may take at the provider.
const checkMaxAge = 15 * time.Minute

// invalidCheck is the error for a check that is not valid. Anybody can send a
// forged answer of a provider, so this error is not a failure of the server.
func invalidCheck(what, message string) error {
	return &Error{Type: ErrInvalidCheck, Message: what + ": " + message, client: true}
}

// sealCheck returns the cookie called name with the claims of a check or a
// ticket.
func (e *engine) sealCheck(r *request, o *oauthClient, spec *cookieSpec, name string, claims Claims) (*http.Cookie, error) {
	claims["provider"] = o.provider.ID
	sealed, err := jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: e.config.JWT.Secret, Salt: name, MaxAge: checkMaxAge, Keys: e.keys, Now: e.config.Clock,
	})
	if err != nil {
		return nil, err
	}
	c := spec.setNamed(name, sealed)
	c.Expires = e.config.Clock().Add(checkMaxAge)
	e.debug(r.http.Context(), "CREATE_"+spec.key, slog.String("name", name), slog.Time("expires", c.Expires))
	return c, nil
}

// unsealCheck returns the claims of a cookie of a check or a ticket.
func (e *engine) unsealCheck(r *request, o *oauthClient, name, what string) (Claims, error) {
	sealed := r.cookies.get(name)
	if sealed == "" {
		return nil, invalidCheck(what, "the cookie is missing")
	}
	claims, err := jwt.Decode(jwt.DecodeParams{Token: sealed, Secrets: e.config.JWT.Secret, Salt: name, Keys: e.keys, Now: e.config.Clock})
	if err != nil {
		return nil, invalidCheck(what, "the cookie is not valid")
	}
	if claims.String("provider") != o.provider.ID {
		return nil, invalidCheck(what, "the sign-in was started with another provider")
	}
	if _, ok := e.checkBinding(r, claims, o.server); !ok {
		return nil, invalidCheck(what, "the sign-in was started in another browser, or at another server")
	}
	return claims, nil
}

// startChecks makes the values of all checks: parameters for the provider and
// cookies for the browser. The cookies also hold the claims of the binding,
// which Auth.js ignores.
func (e *engine) startChecks(r *request, o *oauthClient, redirectURI string, binding Claims, params *orderedQuery) ([]*http.Cookie, error) {
	var cookies []*http.Cookie
	ticket := maps.Clone(binding)
	seal := func(spec *cookieSpec, what, value string) error {
		ticket[what] = ticketValue(what, value)
		claims := maps.Clone(binding)
		claims["value"] = value
		c, err := e.sealCheck(r, o, spec, spec.name, claims)
		cookies = append(cookies, c)
		return err
	}
	var state string
	if o.state {
		var err error
		if state, err = e.newState(r, o, redirectURI); err != nil {
			return nil, err
		}
		params.set("state", state)
		if err := seal(&r.specs.state, "state", state); err != nil {
			return nil, err
		}
	}
	if o.pkce {
		verifier, err := randomBase64(e.config.Random)
		if err != nil {
			return nil, err
		}
		challenge := sha256.Sum256([]byte(verifier))
		params.set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
		params.set("code_challenge_method", "S256")
		if err := seal(&r.specs.pkce, "pkce", verifier); err != nil {
			return nil, err
		}
	}
	if o.nonce {
		nonce, err := randomBase64(e.config.Random)
		if err != nil {
			return nil, err
		}
		params.set("nonce", nonce)
		if err := seal(&r.specs.nonce, "nonce", nonce); err != nil {
			return nil, err
		}
	}
	if len(cookies) == 0 {
		return nil, nil
	}
	own, err := e.issueTicket(r, o, state, ticket)
	return append(cookies, own...), err
}

// openedChecks are the checks of a sign-in that the provider has answered.
type openedChecks struct {
	e *engine
	r *request
	o *oauthClient
	// ticket holds the values if the sign-in has a ticket; name is its cookie.
	ticket Claims
	name   string
	// begun says who began the sign-in; known says that a check has stated it.
	begun begun
	known bool
	// freshSince is the instant since which the person must have authenticated at
	// the provider, because the sign-in asked for that. The zero time means that
	// the instant does not matter.
	freshSince time.Time
}

// noteAge takes from a check how old the authentication may have been when the
// sign-in began (OpenID Connect Core 1.0 section 3.1.2.1). The strictest limit
// is kept.
func (c *openedChecks) noteAge(check Claims) {
	began, ok := check.Time("iat")
	age, asked := check[claimMaxAge].(float64)
	if since := began.Add(-time.Duration(age) * time.Second); ok && asked && since.After(c.freshSince) {
		c.freshSince = since
	}
}

// alsoBegunBy takes from one more check who began the sign-in. Checks that
// disagree belong to different sign-ins; the sign-in then links nothing.
func (c *openedChecks) alsoBegunBy(by begun) {
	if c.known && by != c.begun {
		by.bound = false
	}
	c.begun, c.known = by, true
}

// openChecks finds the sign-in that an answer belongs to.
func (e *engine) openChecks(r *request, o *oauthClient, params url.Values) (*openedChecks, error) {
	c := &openedChecks{e: e, r: r, o: o, name: ticketName(r, o, params.Get("state"))}
	if r.cookies.get(c.name) == "" {
		return c, nil
	}
	var err error
	if c.ticket, err = e.unsealCheck(r, o, c.name, "sign-in"); err != nil {
		return nil, err
	}
	if c.isStale() {
		c.ticket = nil
		r.pending = append(r.pending, r.specs.state.clear(c.name))
		return c, nil
	}
	c.begun, _ = e.checkBinding(r, c.ticket, o.server)
	c.noteAge(c.ticket)
	if back := c.ticket.String("callbackUrl"); back != "" {
		r.callbackURL = back
	}
	return c, nil
}

// isStale reports whether a sign-in with the same provider was started after
// the one of the ticket. The cookies of the checks are used then. Only a
// provider without a state needs that: its sign-ins share a ticket, which
// Auth.js neither replaces nor deletes.
func (c *openedChecks) isStale() bool {
	if c.o.state {
		return false
	}
	checks := map[string]*cookieSpec{}
	if c.o.pkce {
		checks["pkce"] = &c.r.specs.pkce
	}
	if c.o.nonce {
		checks["nonce"] = &c.r.specs.nonce
	}
	for what, spec := range checks {
		latest, err := c.e.unsealCheck(c.r, c.o, spec.name, what)
		if err != nil || latest.String("value") == c.ticket.String(what) {
			continue
		}
		of, _ := latest.Time("iat")
		mine, _ := c.ticket.Time("iat")
		if !of.Before(mine) {
			return true
		}
	}
	return false
}

// value returns the value of a check, and the cookies that delete the check.
func (c *openedChecks) value(spec *cookieSpec, what string) (value string, spent []*http.Cookie, err error) {
	c.e.debug(c.r.http.Context(), "PARSE_"+spec.key, slog.String("name", spec.name), slog.Bool("ticket", c.ticket != nil))
	latest, err := c.e.unsealCheck(c.r, c.o, spec.name, what)
	value = ticketValue(what, latest.String("value"))
	if c.ticket != nil {
		of := c.ticket.String(what)
		if value == of { // no other sign-in was started since
			spent = append(spent, spec.clear(spec.name))
		}
		value, err = of, nil
		spent = append(spent, c.r.specs.state.clear(c.name))
	} else {
		if err == nil {
			by, _ := c.e.checkBinding(c.r, latest, c.o.server)
			c.alsoBegunBy(by)
			c.noteAge(latest)
		}
		spent = append(spent, spec.clear(spec.name))
	}
	if err == nil && value == "" {
		err = invalidCheck(what, "the cookie holds no value")
	}
	return value, spent, err
}

// take returns the value of a check and deletes the check in the browser, even
// if the request fails later.
func (c *openedChecks) take(spec *cookieSpec, what string) (string, error) {
	value, spent, err := c.value(spec, what)
	if err != nil {
		return "", err
	}
	c.delete(spec, spent)
	return value, nil
}

// delete deletes the cookies of a check that was used. It deletes each cookie
// once.
func (c *openedChecks) delete(spec *cookieSpec, spent []*http.Cookie) {
	c.e.debug(c.r.http.Context(), "USE_"+spec.key, slog.String("provider", c.o.provider.ID))
	for _, s := range spent {
		if !slices.ContainsFunc(c.r.pending, func(p *http.Cookie) bool { return p.Name == s.Name && p.MaxAge < 0 }) {
			c.r.pending = append(c.r.pending, s)
			c.e.debug(c.r.http.Context(), "CLEAR_"+spec.key, slog.String("name", s.Name))
		}
	}
}

// checkState compares the state parameter with the state of this sign-in, by
// their hashes.
func (c *openedChecks) checkState(params url.Values) error {
	if !c.o.state {
		return nil
	}
	want, spent, err := c.value(&c.r.specs.state, "state")
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(ticketValue("state", params.Get("state"))), []byte(want)) != 1 {
		// A forged answer must not end the sign-in that is in progress.
		return &Error{Type: ErrCallbackRoute, Message: "state: the parameter differs from the one that was sent", client: true}
	}
	c.delete(&c.r.specs.state, spent)
	return c.e.spend(c.o, "state", want)
}
