package auth

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// Session is a session as the client sees it. See docs/protocol.md, "Sessions".
type Session struct {
	// User is the user who is signed in.
	User *User
	// UserID is the ID of the user who owns the session, with StrategyDatabase. It
	// is for server code: the client does not see it.
	UserID string
	// Expires is when the session ends unless it is used again.
	Expires time.Time
	// Extra holds further members for the client. A member with the name of one of
	// the fields above is used only while that field is zero.
	Extra map[string]any
}

// MarshalJSON writes user and expires if they are set, and the members of
// Extra.
func (s Session) MarshalJSON() ([]byte, error) {
	var m wire.Members
	if s.User != nil {
		user, err := s.User.MarshalJSON()
		if err != nil {
			return nil, err
		}
		m.Raw("user", user)
	}
	if !s.Expires.IsZero() {
		m.Time("expires", s.Expires)
	}
	m.Extra(s.Extra, func(name string) bool {
		return name == "user" && s.User != nil || name == "expires" && !s.Expires.IsZero()
	})
	return m.End()
}

// sessionRead is the outcome of reading a session.
type sessionRead struct {
	// session is what the client may see; nil if there is none.
	session *Session
	// found says that there was a session, even if Callbacks.Session hides it.
	found bool
	// user is the user with ID, for server code.
	user *User
	// claims are those of the token, with StrategyJWT.
	claims Claims
	// cookies renew the session, or remove its cookies from the browser.
	cookies []*http.Cookie
	// void is the reason why there is no session although there is a cookie. It
	// has been logged.
	void error
	// err is the reason why it is not known whether there is a session: the store
	// or a function of the application failed. It has been logged.
	err error
}

// access says how a session is read.
type access struct {
	trigger Trigger
	// update is the data that the client sent, with TriggerUpdate.
	update json.RawMessage
	// noCookies makes no cookies. A database session is extended nevertheless.
	noCookies bool
	// peek extends no session; it goes with noCookies.
	peek bool
	// quiet calls no event.
	quiet bool
}

// session reads the session of the request and renews it. The cookie is removed
// from the browser only if it is not valid or if a callback ends the session.
// After a failure the cookie stays.
func (e *engine) session(ctx context.Context, r *request, a access) sessionRead {
	token, names := e.sessionCookie(ctx, r)
	if token == "" {
		return sessionRead{}
	}
	ctx = withRequest(ctx, r)
	read, failure := sessionRead{}, ErrJWTSession
	if e.config.Session.Strategy == StrategyJWT {
		read = e.sessionFromToken(ctx, r, token, names, a)
	} else {
		read, failure = e.sessionFromStore(ctx, r, token, names, a), ErrSessionToken
	}
	switch {
	case read.err != nil:
		read.err, read.cookies = &Error{Type: failure, Cause: read.err}, nil
		e.logError(ctx, read.err)
	case read.void != nil: // anybody can send a token that is made up
		e.logError(ctx, &Error{Type: failure, Cause: read.void, client: true})
	case read.found && !a.quiet:
		notify(ctx, e, "Session", e.config.Events.Session, SessionEvent{Session: read.session, Token: read.claims})
	}
	return read
}

// sessionFromStore reads a database session and extends it if that is due. If
// the store fails, the cookies stay.
func (e *engine) sessionFromStore(ctx context.Context, r *request, token string, names []string, a access) (read sessionRead) {
	stored, err := e.liveSession(ctx, token, !a.peek)
	if err != nil {
		read.err = err
		return read
	}
	spec := &r.specs.Session
	if stored == nil {
		read.cookies = spec.Spread(names, "", time.Time{}, time.Time{})
		return read
	}
	p := storedSession(stored)
	p.Trigger, p.NewSession = a.trigger, a.update
	if read.session, read.err = askSession(ctx, e.config.Callbacks.Session, p); read.err != nil {
		return read
	}
	read.user, read.found = userFromRecord(&stored.User), true
	if !a.noCookies {
		read.cookies = spec.Spread(names, token, e.config.Clock(), e.config.Session.cookieExpires(stored.Session, e.config.Clock()))
	}
	return read
}

// liveSession reads a database session and, if extend is set, extends it if that
// is due.
func (e *engine) liveSession(ctx context.Context, token string, extend bool) (*adapter.SessionAndUser, error) {
	if !extend {
		return e.store.sessionAndUser(ctx, token)
	}
	return e.store.liveSession(ctx, token)
}

// askSession calls Callbacks.Session, if there is one.
func askSession(ctx context.Context, ask func(context.Context, SessionParams) (*Session, error), p SessionParams) (*Session, error) {
	if ask == nil {
		return p.Session, nil
	}
	return guard(ctx, ask, p)
}

// storedSession is the argument of Callbacks.Session for a database session.
func storedSession(s *adapter.SessionAndUser) SessionParams {
	user := userFromRecord(&s.User)
	return SessionParams{Session: &Session{User: shownUser(user), UserID: user.ID, Expires: s.Session.Expires.UTC()}, User: user}
}

// tokenSession is the argument of Callbacks.Session for a session token.
func tokenSession(claims Claims, expires time.Time) SessionParams {
	return SessionParams{Session: &Session{User: userFromClaims(claims), Expires: expires}, Token: claims}
}

// expires is when a session that is renewed at an instant ends.
func (c *SessionConfig) expires(renewed, began time.Time) time.Time {
	end := renewed.Add(c.MaxAge)
	if last := began.Add(c.AbsoluteMaxAge); c.AbsoluteMaxAge > 0 && last.Before(end) {
		return last
	}
	return end
}

// stamp separates the random part of the key of a database session from the
// instant at which the session began. The instant is added only with
// AbsoluteMaxAge, or if the site has password.Provider. It needs no signature: a changed key finds another session,
// or none.
const stamp = ".t"

// stamped is the key of a database session that begins now.
func stamped(key string, now time.Time) string {
	return key + stamp + strconv.FormatInt(now.Unix(), 36)
}

// beganAt is when the database session with a key began, if the key contains that
// instant.
func beganAt(key string) (time.Time, bool) {
	i := strings.LastIndex(key, stamp)
	if i < 0 {
		return time.Time{}, false
	}
	seconds, err := strconv.ParseInt(key[i+len(stamp):], 36, 64)
	return time.Unix(seconds, 0), err == nil && seconds > 0
}

// outlived reports whether the database session with a key is older than
// AbsoluteMaxAge, and until when it can be extended; the zero time means that
// it can't be extended.
func (c *SessionConfig) outlived(key string, now time.Time) (over bool, until time.Time) {
	if c.AbsoluteMaxAge <= 0 {
		return false, now.Add(c.MaxAge)
	}
	start, ok := beganAt(key)
	if !ok {
		return false, time.Time{}
	}
	return !now.Before(start.Add(c.AbsoluteMaxAge)), c.expires(now, start)
}

// cookieExpires is when the cookie of a database session expires. The cookie
// may expire later than the session; the session is what decides.
func (c *SessionConfig) cookieExpires(s adapter.Session, now time.Time) time.Time {
	switch {
	case isBrief(s.SessionToken):
		return time.Time{}
	case c.AbsoluteMaxAge > 0:
		return s.Expires
	}
	return now.Add(c.MaxAge)
}

// A brief session is one of a person who does not want to be remembered in the
// browser: its cookie ends with the browser, and on the server it ends after
// briefAge, however much it is used.
const (
	briefAge = 12 * time.Hour
	// briefMark ends the random part of the key of a brief session, and claimBrief
	// marks its token.
	briefMark  = ".brief"
	claimBrief = "brief"
)

// isBrief reports whether the key of a database session is that of a brief one.
func isBrief(key string) bool {
	if i := strings.LastIndex(key, stamp); i >= 0 {
		key = key[:i]
	}
	return strings.HasSuffix(key, briefMark)
}

// briefEnd is when a brief session ends that began at an instant and would
// otherwise end at expires.
func briefEnd(expires, began time.Time) time.Time {
	if end := began.Add(briefAge); end.Before(expires) {
		return end
	}
	return expires
}
