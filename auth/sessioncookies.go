package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// A browser may send several session cookies of one name: one that was set for
// this host, and one for a parent domain, because Cookies.SessionToken.Domain was
// changed or because another host of that domain set it. Nothing in the request
// says which is which (RFC 6265 section 4.2.2), so they are told apart by what
// they are worth here.

// sessionCookies is what the session cookies of a request are worth.
type sessionCookies struct {
	// known says that the other fields are set.
	known bool
	// value is the value that counts, or empty, and names are the names of the
	// cookies.
	value string
	names []string
	// valid are the values that are sessions here. It is set only if there are
	// several values, of which others says that some are no sessions here.
	valid  []string
	others bool
	// clash says that the values are sessions of two people.
	clash bool
}

// sessionCookie returns the value of the session cookie and the names of its
// cookies. If there are several values, those that are no sessions here don't
// count; of several sessions of one person the one that expires last counts. If
// they are sessions of two people, the value is empty: another host may have set
// one of them.
func (e *engine) sessionCookie(ctx context.Context, r *request) (value string, names []string) {
	c := e.sessionCookies(ctx, r)
	return c.value, c.names
}

func (e *engine) sessionCookies(ctx context.Context, r *request) *sessionCookies {
	c := &r.session
	if c.known {
		return c
	}
	c.known = true
	name := r.specs.Session.Name
	c.value, c.names = jwt.ReadChunks(r.cookies, name)
	tokens := e.config.Session.Strategy == StrategyJWT
	if !r.cookies.Several(name, tokens) {
		return c
	}
	candidates := wire.Candidates(r.http.Header["Cookie"], name, tokens)
	if len(candidates) == 1 {
		c.value = candidates[0]
		return c
	}
	c.value = ""
	var first string
	var latest time.Time
	for _, value := range candidates {
		person, expires, err := e.worth(ctx, value, name)
		switch {
		case err != nil: // the same error follows when the value is read
			*c = sessionCookies{known: true, value: value, names: c.names, others: true}
			return c
		case expires.IsZero():
			c.others = true
			continue
		}
		if c.valid = append(c.valid, value); len(c.valid) == 1 {
			first = person
		}
		c.clash = c.clash || person != first || len(c.valid) > 1 && person == ""
		if expires.After(latest) {
			c.value, latest = value, expires
		}
	}
	if c.clash {
		c.value = ""
	}
	return c
}

// worth returns whose session a value is, and when the session ends; the zero
// time means that it is no session here. Person is empty if the session does not
// say whose it is.
func (e *engine) worth(ctx context.Context, value, salt string) (person string, expires time.Time, err error) {
	if e.config.Session.Strategy == StrategyDatabase {
		stored, err := e.store.sessionAndUser(ctx, value)
		if err != nil || stored == nil {
			return "", time.Time{}, err
		}
		return stored.User.ID, stored.Session.Expires, nil
	}
	opened, err := e.tokens.open(ctx, value, salt)
	if isVoid(err) {
		return "", time.Time{}, nil
	}
	if err != nil {
		return "", time.Time{}, err
	}
	person = opened.claims.String("sub")
	if person != "" && !namesAdapterUser(opened.claims, e.config.Providers) {
		person = "\x00" + person // the ID of the application, which a user of the adapter may have too
	}
	return person, opened.expires, nil
}

// endCookies ends every session that the cookies name. It returns the cookies
// that delete them from the browser.
func (e *engine) endCookies(ctx context.Context, r *request) []*http.Cookie {
	c := e.sessionCookies(ctx, r)
	values := c.valid
	if values == nil && c.value != "" {
		values = []string{c.value}
	}
	ended := false
	for _, value := range values {
		event, err := e.endSession(ctx, value, r.specs.Session.Name)
		if err != nil {
			e.logError(ctx, &Error{Type: ErrSignOut, Cause: err, client: isVoid(err)})
			continue
		}
		ended = ended || event.Session != nil || event.Token != nil
		notify(ctx, e, "SignOut", e.config.Events.SignOut, event)
	}
	deleted := r.specs.Session.Spread(c.names, "", time.Time{}, time.Time{})
	if ended {
		deleted = append(deleted, c.elsewhere(&r.specs.Session)...)
	}
	return deleted
}

// replaces reports whether the session cookies that a browser had at a sign-in
// were sessions here.
func (e *engine) replaces(ctx context.Context, r *request, c *sessionCookies, done *signedIn) bool {
	spec := &r.specs.Session
	switch {
	case len(spec.Elsewhere) == 0 || len(c.names) == 0:
		return false
	case c.valid != nil:
		return true
	case c.value == "" || e.config.Session.Strategy == StrategyDatabase:
		return done.replaced
	}
	_, _, err := e.tokens.decode(ctx, c.value, spec.Name)
	return err == nil
}

// elsewhere returns the cookies that delete the session cookies of this host and
// of the domains that had them before. If one of the cookies is no session here,
// the result is empty: it belongs to another program.
func (c *sessionCookies) elsewhere(spec *wire.CookieSpec) []*http.Cookie {
	if c.others {
		return nil
	}
	var deleted []*http.Cookie
	for _, domain := range spec.Elsewhere {
		for _, name := range c.names {
			cookie := spec.Clear(name)
			cookie.Domain = domain
			deleted = append(deleted, cookie)
		}
	}
	return deleted
}
