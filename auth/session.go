package auth

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// Session is a session as the client sees it. Specification section 2.1.
type Session struct {
	// User is who is signed in.
	User *User
	// Expires is when the session ends unless it is used again.
	Expires time.Time
	// Extra holds further members for the client. A member that is named like
	// one of the fields above counts only while that field is zero.
	Extra map[string]any
}

// MarshalJSON writes user and expires if they are set, and the members of
// Extra.
func (s Session) MarshalJSON() ([]byte, error) {
	var m members
	if s.User != nil {
		user, err := s.User.MarshalJSON()
		if err != nil {
			return nil, err
		}
		m.begin("user")
		m.json = append(m.json, user...)
	}
	if !s.Expires.IsZero() {
		m.time("expires", s.Expires)
	}
	m.extra(s.Extra, func(name string) bool {
		return name == "user" && s.User != nil || name == "expires" && !s.Expires.IsZero()
	})
	return m.end()
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
	// cookies renew the session, or remove what is left of it.
	cookies []*http.Cookie
	// err is why the session could not be read. It has been logged.
	err error
}

// sessionCookie returns the value of the session cookie, and the names of the
// cookies it is spread over.
func (r *request) sessionCookie() (value string, names []string) {
	return jwt.ReadChunks(r.cookies, r.specs.session.name)
}

// access is one reading of a session.
type access struct {
	trigger Trigger
	// update is what the client sent along, with TriggerUpdate.
	update json.RawMessage
	// readOnly makes no cookies.
	readOnly bool
}

// session reads the session of the request and renews it.
func (e *engine) session(ctx context.Context, r *request, a access) sessionRead {
	token, names := r.sessionCookie()
	if token == "" {
		return sessionRead{}
	}
	read, failure := sessionRead{}, ErrJWTSession
	if e.config.Session.Strategy == StrategyJWT {
		read = e.sessionFromToken(ctx, r, token, names, a)
	} else {
		read, failure = e.sessionFromStore(ctx, r, token, names, a), ErrSessionToken
	}
	if read.err != nil {
		read.err = &Error{Type: failure, Cause: read.err}
		e.logError(ctx, read.err)
	} else if read.found {
		notify(ctx, e, "Session", e.config.Events.Session, SessionEvent{Session: read.session, Token: read.claims})
	}
	return read
}

// sessionFromToken reads and renews a session token. One that can't be used is
// removed from the browser.
func (e *engine) sessionFromToken(ctx context.Context, r *request, token string, names []string, a access) (read sessionRead) {
	read.cookies = r.specs.session.sessionCookies(names, "", time.Time{})
	claims, err := e.decodeToken(ctx, token, r.specs.session.name)
	if err != nil {
		read.err = err
		return read
	}
	if e.config.Callbacks.JWT != nil {
		claims, read.err = guard(ctx, e.config.Callbacks.JWT, JWTParams{Token: claims, Trigger: a.trigger, Session: a.update})
		if read.err != nil || claims == nil {
			return read
		}
	}
	expires := e.config.Clock().Add(e.config.Session.MaxAge)
	session := &Session{User: userFromClaims(claims), Expires: expires}
	read.user = session.User.withID(claims.String("sub"))
	if e.config.Callbacks.Session != nil {
		session, read.err = guard(ctx, e.config.Callbacks.Session, SessionParams{Session: session, Token: claims, Trigger: a.trigger, NewSession: a.update})
		if read.err != nil {
			return read
		}
	}
	read.session, read.found, read.claims = session, true, claims
	if a.readOnly {
		read.cookies = nil
		return read
	}
	renewed, err := e.encodeToken(ctx, r, claims)
	if err != nil {
		read.err = err
		return read
	}
	read.cookies = e.tokenCookies(ctx, r, names, renewed, expires)
	return read
}

// tokenCookies replaces the session cookies called old by those of a token.
func (e *engine) tokenCookies(ctx context.Context, r *request, old []string, token string, expires time.Time) []*http.Cookie {
	cookies := r.specs.session.sessionCookies(old, token, expires)
	if len(token) > jwt.ChunkSize {
		e.debug(ctx, "CHUNKING_SESSION_COOKIE", slog.Int("size", len(token)), slog.Int("chunkSize", jwt.ChunkSize))
	}
	return cookies
}

// sessionFromStore reads a database session and extends it if that is due. A
// store that fails leaves the cookies alone.
func (e *engine) sessionFromStore(ctx context.Context, r *request, token string, names []string, a access) (read sessionRead) {
	stored, err := e.liveSession(ctx, token)
	if err != nil {
		read.err = err
		return read
	}
	spec := &r.specs.session
	if stored == nil {
		read.cookies = spec.sessionCookies(names, "", time.Time{})
		return read
	}
	user := userFromRecord(&stored.User)
	read.user = user
	session := &Session{User: shownUser(user), Expires: stored.Session.Expires.UTC()}
	if e.config.Callbacks.Session != nil {
		session, read.err = guard(ctx, e.config.Callbacks.Session, SessionParams{Session: session, User: user, Trigger: a.trigger, NewSession: a.update})
		if read.err != nil {
			return read
		}
	}
	read.session, read.found = session, true
	if !a.readOnly {
		read.cookies = spec.sessionCookies(names, token, e.config.Clock().Add(e.config.Session.MaxAge))
	}
	return read
}

var errNoClaims = errors.New("JWT.Decode returned no claims")

// liveSession reads a database session and extends it if that is due.
func (e *engine) liveSession(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	return e.store.liveSession(ctx, token)
}

// decodeToken returns the claims of a session token that is good. Salt is the
// name of its cookie.
func (e *engine) decodeToken(ctx context.Context, token, salt string) (Claims, error) {
	p := jwt.DecodeParams{Token: token, Secrets: e.config.JWT.Secret, Salt: salt, Keys: e.keys, Now: e.config.Clock}
	if e.config.JWT.Decode == nil {
		return jwt.Decode(p)
	}
	claims, err := guard(ctx, e.config.JWT.Decode, p)
	if err == nil && claims == nil {
		err = errNoClaims
	}
	return claims, err
}

func (e *engine) encodeToken(ctx context.Context, r *request, claims Claims) (string, error) {
	p := jwt.EncodeParams{Token: claims, Secrets: e.config.JWT.Secret, Salt: r.specs.session.name, MaxAge: e.config.JWT.MaxAge, Keys: e.keys, Now: e.config.Clock}
	if e.config.JWT.Encode == nil {
		return jwt.Encode(p)
	}
	return guard(ctx, e.config.JWT.Encode, p)
}
