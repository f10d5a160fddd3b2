package began

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// Check protects one run of the OAuth flow. Its value is sealed in a cookie
// when a sign-in starts, and is needed when the provider sends the browser
// back. See docs/protocol.md, "Checks".
//
// The cookies of the checks have the names and the content of Auth.js, so they
// hold the sign-in that was started last. Each sign-in also keeps all of its
// values in a cookie of its own, the ticket, so that other sign-ins in the same
// browser can be finished.
type Check string

// The checks.
const (
	State Check = "state"
	PKCE  Check = "pkce"
	Nonce Check = "nonce"
)

// spec is the cookie of a check.
func (b *Browser) spec(check Check) *wire.CookieSpec {
	switch check {
	case PKCE:
		return &b.Cookies.PKCE
	case Nonce:
		return &b.Cookies.Nonce
	case State:
	}
	return &b.Cookies.State
}

// Provider is what must be known of a provider.
type Provider struct {
	ID string
	// Server identifies the authorization server and the client there.
	Server string
	// Checks are the checks of the flow, in the order State, PKCE, Nonce.
	Checks []Check
}

// Has reports whether the flow has a check.
func (p *Provider) Has(check Check) bool { return slices.Contains(p.Checks, check) }

// Start is a sign-in that begins.
type Start struct {
	Provider Provider
	// Relay is the URL to which the redirect proxy sends the browser on, or empty
	// if the provider sends the browser back to this site.
	Relay string
	// CallbackURL is where the browser goes in the end.
	CallbackURL string
	// User is the ID of the user who is signed in, or empty.
	User string
	// MaxAge is the age in seconds that the authentication at the provider may
	// have, or nil if it does not matter.
	MaxAge *int64
}

// seal returns the cookie called name with the claims of a check or a ticket.
func (b *Browser) seal(p *Provider, spec *wire.CookieSpec, name string, claims jwt.Claims) (*http.Cookie, error) {
	claims["provider"] = p.ID
	sealed, err := b.Seal(name, claims)
	if err != nil {
		return nil, err
	}
	c := spec.SetNamed(name, sealed)
	c.Expires = b.Clock().Add(MaxAge)
	b.Log("CREATE_"+spec.Key, slog.String("name", name), slog.Time("expires", c.Expires))
	return c, nil
}

// unseal returns the claims of a cookie of a check or a ticket.
func (b *Browser) unseal(p *Provider, name, what string) (jwt.Claims, error) {
	sealed := b.Jar.Get(name)
	if sealed == "" {
		return nil, invalidCheck(what, "the cookie is missing")
	}
	claims, err := b.Open(name, sealed)
	if err != nil {
		return nil, invalidCheck(what, "the cookie is not valid")
	}
	if claims.String("provider") != p.ID {
		return nil, invalidCheck(what, "the sign-in was started with another provider")
	}
	if _, ok := b.Bound(claims, p.Server); !ok {
		return nil, invalidCheck(what, "the sign-in was started in another browser, or at another server")
	}
	return claims, nil
}

// BeginSignIn makes the values of all checks: parameters for the provider and
// cookies for the browser. The cookies also hold the claims of the binding,
// which Auth.js ignores.
func (b *Browser) BeginSignIn(s Start) (parameters wire.Query, cookies []*http.Cookie, err error) {
	p := &s.Provider
	binding, keep, err := b.Bind(p.Server, s.User)
	if err != nil {
		return nil, nil, err
	}
	if s.MaxAge != nil {
		binding[claimMaxAge] = *s.MaxAge
	}
	if len(p.Checks) == 0 {
		return nil, nil, nil
	}
	ticket := maps.Clone(binding)
	state := ""
	for _, check := range p.Checks {
		value, err := b.newValue(check, s.Relay)
		if err != nil {
			return nil, nil, err
		}
		switch check {
		case State:
			state = value
			parameters.Add("state", value)
		case PKCE:
			challenge := sha256.Sum256([]byte(value))
			parameters.Add("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
			parameters.Add("code_challenge_method", "S256")
		case Nonce:
			parameters.Add("nonce", value)
		}
		ticket[string(check)] = ticketValue(check, value)
		claims := maps.Clone(binding)
		claims["value"] = value
		spec := b.spec(check)
		c, err := b.seal(p, spec, spec.Name, claims)
		if err != nil {
			return nil, nil, err
		}
		cookies = append(cookies, c)
	}
	own, err := b.issueTicket(p, state, s.CallbackURL, ticket, slices.Concat(cookies, keep))
	if err != nil {
		return nil, nil, err
	}
	return parameters, slices.Concat(cookies, own, keep), nil
}

// relaySalt is the salt with which the state parameter is encrypted for a
// redirect proxy.
const relaySalt = "encodedState"

// newValue returns a random value. The state for a redirect proxy is a token
// that holds a random value and the URL to which the proxy sends the browser
// on. Some providers refuse a state as long as this token.
func (b *Browser) newValue(check Check, relay string) (string, error) {
	random, err := wire.RandomBase64(b.Random)
	if err != nil || check != State || relay == "" {
		return random, err
	}
	return b.Seal(relaySalt, jwt.Claims{"random": random, "origin": relay})
}

// RelayOf returns the URL to which a redirect proxy sends the browser on. The
// URL stands in the state that another deployment made.
func (s *Sealer) RelayOf(state string) (string, error) {
	claims, err := s.Open(relaySalt, state)
	if err != nil {
		return "", invalidCheck("state", "not made by a deployment that this one is the redirect proxy of")
	}
	return claims.String("origin"), nil
}

// SignIn is a sign-in that the provider has answered.
type SignIn struct {
	b *Browser
	p *Provider
	// ticket holds the values if the sign-in has a ticket; name is its cookie.
	ticket jwt.Claims
	name   string
	// deleted are the names of the cookies that were deleted.
	deleted []string
	// known says that a check has stated who began the sign-in.
	known bool

	// By says who began the sign-in.
	By By
	// CallbackURL is where the browser goes in the end, or empty if the ticket does
	// not say it. LostURL says that there was another, which did not fit into the
	// cookies.
	CallbackURL string
	LostURL     bool
	// FreshSince is the instant since which the person must have authenticated at
	// the provider, because the sign-in asked for that. The zero time means that
	// the instant does not matter.
	FreshSince time.Time
	// since is when the sign-in began.
	since time.Time
}

// noteAge takes from a check how old the authentication may have been when the
// sign-in began (OpenID Connect Core 1.0 section 3.1.2.1). The strictest limit
// is kept.
func (s *SignIn) noteAge(check jwt.Claims) {
	began, ok := check.Time("iat")
	s.since = began
	age, asked := check[claimMaxAge].(float64)
	if since := began.Add(-time.Duration(age) * time.Second); ok && asked && since.After(s.FreshSince) {
		s.FreshSince = since
	}
}

// alsoBegunBy takes from one more check who began the sign-in. Checks that
// disagree belong to different sign-ins; the sign-in then links nothing.
func (s *SignIn) alsoBegunBy(by By) {
	if s.known && by != s.By {
		by.Bound = false
	}
	s.By, s.known = by, true
}

// OpenSignIn finds the sign-in that an answer belongs to, by the state in the
// answer. It returns the cookies to delete, too.
func (b *Browser) OpenSignIn(p *Provider, state string) (*SignIn, []*http.Cookie, error) {
	s := &SignIn{b: b, p: p, name: b.ticketName(p, state)}
	if b.Jar.Get(s.name) == "" {
		return s, nil, nil
	}
	var err error
	if s.ticket, err = b.unseal(p, s.name, "sign-in"); err != nil {
		return nil, nil, err
	}
	if s.isStale() {
		s.ticket = nil
		return s, s.delete(b.Cookies.State.Clear(s.name)), nil
	}
	s.By, _ = b.Bound(s.ticket, p.Server)
	s.noteAge(s.ticket)
	s.CallbackURL, s.LostURL = b.whereTo(s.ticket)
	return s, nil, nil
}

// isStale reports whether a sign-in with the same provider was started after
// the one of the ticket. The cookies of the checks are used then. Only a
// provider without a state needs that: its sign-ins share a ticket, which
// Auth.js neither replaces nor deletes.
func (s *SignIn) isStale() bool {
	if s.p.Has(State) {
		return false
	}
	for _, check := range s.p.Checks {
		latest, err := s.b.unseal(s.p, s.b.spec(check).Name, string(check))
		if err != nil || latest.String("value") == s.ticket.String(string(check)) {
			continue
		}
		of, _ := latest.Time("iat")
		mine, _ := s.ticket.Time("iat")
		if !of.Before(mine) {
			return true
		}
	}
	return false
}

// value returns the value of a check, and the cookies that delete the check.
func (s *SignIn) value(check Check) (value string, spent []*http.Cookie, err error) {
	spec := s.b.spec(check)
	s.b.Log("PARSE_"+spec.Key, slog.String("name", spec.Name), slog.Bool("ticket", s.ticket != nil))
	latest, err := s.b.unseal(s.p, spec.Name, string(check))
	value = ticketValue(check, latest.String("value"))
	if s.ticket != nil {
		of := s.ticket.String(string(check))
		if value == of { // no other sign-in was started since
			spent = append(spent, spec.Clear(spec.Name))
		}
		value, err = of, nil
		spent = append(spent, s.b.Cookies.State.Clear(s.name))
	} else {
		if err == nil {
			by, _ := s.b.Bound(latest, s.p.Server)
			s.alsoBegunBy(by)
			s.noteAge(latest)
		}
		spent = append(spent, spec.Clear(spec.Name))
	}
	if err == nil && value == "" {
		err = invalidCheck(string(check), "the cookie holds no value")
	}
	return value, spent, err
}

// Take returns the value of a check, and the cookies that delete it in the
// browser, which are to be sent even if the request fails later.
func (s *SignIn) Take(check Check) (string, []*http.Cookie, error) {
	value, spent, err := s.value(check)
	if err != nil {
		return "", nil, err
	}
	return value, s.use(check, spent), s.spend(check, value)
}

// use deletes the cookies of a check that was used. It deletes each cookie once.
func (s *SignIn) use(check Check, spent []*http.Cookie) (deleted []*http.Cookie) {
	key := s.b.spec(check).Key
	s.b.Log("USE_"+key, slog.String("provider", s.p.ID))
	for _, c := range spent {
		for _, c := range s.delete(c) {
			deleted = append(deleted, c)
			s.b.Log("CLEAR_"+key, slog.String("name", c.Name))
		}
	}
	return deleted
}

// delete returns the cookie unless it was deleted before.
func (s *SignIn) delete(c *http.Cookie) []*http.Cookie {
	if slices.Contains(s.deleted, c.Name) {
		return nil
	}
	s.deleted = append(s.deleted, c.Name)
	return []*http.Cookie{c}
}

// spend accepts a sign-in once, by the value of its first check.
func (s *SignIn) spend(check Check, value string) error {
	if check == s.p.Checks[0] && !s.b.Once.Spend("sign-in "+s.p.ID, value, s.since, s.b.Clock()) {
		return invalidCheck(string(check), "the sign-in was finished before")
	}
	return nil
}

// CheckState compares the state of the answer with the state of this sign-in,
// by their hashes. It returns the cookies to delete.
func (s *SignIn) CheckState(state string) ([]*http.Cookie, error) {
	if !s.p.Has(State) {
		return nil, nil
	}
	want, spent, err := s.value(State)
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(ticketValue(State, state)), []byte(want)) != 1 {
		// A forged answer must not end the sign-in that is in progress.
		return nil, &Error{ForgedState, "state: the parameter differs from the one that was sent"}
	}
	return s.use(State, spent), s.spend(State, want)
}
