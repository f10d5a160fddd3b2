package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// openedToken is a valid session token.
type openedToken struct {
	claims Claims
	// issued is when the token was made, began is when its session began, and
	// expires is when its session ends.
	issued, began, expires time.Time
	// stale says that the token must be replaced by a new one, regardless of its
	// age.
	stale bool
}

var (
	errNoClaims = errors.New("JWT.Decode returned no claims")
	errNoToken  = errors.New("JWT.Encode returned no token")
	errRevoked  = errors.New("the session was revoked")
	errOutlived = errors.New("the session is older than Session.AbsoluteMaxAge")
	errIdle     = errors.New("the session was not used for Session.MaxAge")
	// errSignedOut is about a token whose session was signed out in this process.
	errSignedOut = errors.New("the session was signed out")
)

// voidToken marks an error which says that the token is not valid. The error of
// an application's function that failed is not marked.
type voidToken struct{ error }

func (v voidToken) Unwrap() error { return v.error }

func isVoid(err error) bool {
	_, void := errors.AsType[voidToken](err)
	return void
}

// openToken decodes a session token and checks that its session has not ended.
// If the token is not valid, the error is a voidToken. Salt is the name of the
// cookie.
func (e *engine) openToken(ctx context.Context, token, salt string) (*openedToken, error) {
	claims, old, err := e.decode(ctx, token, salt)
	if err != nil {
		return nil, err
	}
	if id := e.tokenID(claims); id != "" && e.lineage.isOver(id) {
		return nil, voidToken{errSignedOut}
	}
	t := &openedToken{claims: claims, stale: old}
	c, now := &e.config.Session, e.config.Clock()
	var known bool
	if t.issued, known = claims.Time("iat"); !known {
		t.issued, t.stale = now, true
	}
	// Auth.js does not set auth_time. For its tokens, the first iat that is seen
	// is used as auth_time.
	if t.began, known = claims.Time(authTime); !known || t.began.After(t.issued) {
		t.began, t.stale = t.issued, t.stale || c.AbsoluteMaxAge > 0
	}
	if c.AbsoluteMaxAge > 0 && !now.Before(t.began.Add(c.AbsoluteMaxAge)) {
		return nil, voidToken{errOutlived}
	}
	t.expires = c.expires(t.issued, t.began)
	switch exp, known := claims.Time("exp"); {
	case known && exp.Before(t.expires):
		t.expires = exp
	case !known && now.After(t.expires): // JWT.Encode did not set it, so JWT.Decode can't check it
		return nil, voidToken{errIdle}
	}
	if c.Revoked != nil {
		revoked, err := guard(ctx, c.Revoked, maps.Clone(claims))
		if err != nil {
			return nil, err
		}
		if revoked {
			return nil, voidToken{errRevoked}
		}
	}
	return t, nil
}

// authTime is the claim that says when somebody signed in (OpenID Connect Core
// 1.0 section 2). Auth.js keeps it as it keeps all claims.
const authTime = "auth_time"

// decode returns the claims of a token, and whether another secret than the
// first one decrypted it.
func (e *engine) decode(ctx context.Context, token, salt string) (claims Claims, old bool, err error) {
	p := jwt.DecodeParams{Token: token, Secrets: e.config.JWT.Secret, Salt: salt, Keys: e.keys, Now: e.config.Clock}
	if e.config.JWT.Decode != nil {
		claims, err = guard(ctx, e.config.JWT.Decode, p)
		switch {
		case err == nil && claims == nil:
			err = voidToken{errNoClaims}
		case errors.Is(err, jwt.ErrInvalid):
			err = voidToken{err}
		}
		return claims, false, err
	}
	if claims, err = jwt.Decode(p); err != nil {
		return nil, false, voidToken{err}
	}
	if len(p.Secrets) > 1 {
		p.Secrets = p.Secrets[:1]
		_, first := jwt.Decode(p)
		old = first != nil
	}
	return claims, old, nil
}

// due reports whether a token that is in use is replaced by a new one: at most
// once per Session.UpdateAge, so that a late response seldom undoes a sign-out.
// If UpdateAge is longer than half of the token's lifetime, that half is used
// instead; otherwise a session in use could end.
func (e *engine) due(t *openedToken) bool {
	after := min(*e.config.Session.UpdateAge, e.config.Session.MaxAge/2)
	return t.stale || !e.config.Clock().Before(t.issued.Add(after))
}

// sessionFromToken reads the session of a token, and replaces the token where
// that is due.
func (e *engine) sessionFromToken(ctx context.Context, r *request, token string, names []string, a access) (read sessionRead) {
	end := func(why error) sessionRead {
		return sessionRead{void: why, cookies: r.specs.Session.Spread(names, "", time.Time{})}
	}
	t, err := e.openToken(ctx, token, r.specs.Session.Name)
	switch {
	case isVoid(err):
		return end(err)
	case err != nil:
		return sessionRead{err: err}
	}
	id := e.tokenID(t.claims)
	claims, changed, err := e.askJWT(ctx, t.claims, JWTParams{Trigger: a.trigger, Session: a.update, ReadOnly: a.readOnly})
	switch {
	case err != nil:
		return sessionRead{err: err}
	case claims == nil:
		return end(nil)
	}
	renew := !a.readOnly && (changed || a.trigger == TriggerUpdate || e.due(t))
	now, expires := e.wholeSecond(), t.expires
	if renew {
		expires = e.config.Session.expires(now, t.began)
	}
	p := tokenSession(claims, expires)
	p.Trigger, p.NewSession = a.trigger, a.update
	read.user = p.Session.User.withID(claims.String("sub"))
	if read.session, err = e.askSession(ctx, p); err != nil {
		return sessionRead{err: err}
	}
	read.found, read.claims = true, claims
	switch {
	case renew:
		if token, err = e.issueToken(ctx, r, claims, t.began, now, expires); err != nil {
			return sessionRead{err: err}
		}
		if id != "" && !e.lineage.replace(id, e.idOf(token, r.specs.Session.Name)) {
			return end(errSignedOut)
		}
		read.cookies = e.tokenCookies(ctx, r, names, token, expires)
	case !a.readOnly && !r.specs.Session.IsTidy(names, token):
		read.cookies = e.tokenCookies(ctx, r, names, token, expires)
	}
	return read
}

// askJWT calls Callbacks.JWT for the claims of a session; nil claims mean that
// the callback ends the session. Changed reports whether the claims differ from
// before, without the claims that every token gets anew.
func (e *engine) askJWT(ctx context.Context, claims Claims, p JWTParams) (_ Claims, changed bool, err error) {
	ask := e.config.Callbacks.JWT
	if ask == nil {
		return claims, false, nil
	}
	before, err := lasting(claims)
	if err != nil {
		return nil, false, err
	}
	subject, says := claims.String("sub"), claims[claimAdapterID]
	p.Token = claims
	returned, err := guard(ctx, ask, p)
	if err != nil || returned == nil {
		return nil, false, err
	}
	keepSubject(returned, subject, says)
	after, err := lasting(returned)
	return returned, !bytes.Equal(before, after), err
}

// lasting is the JSON of the claims that a new token takes over.
func lasting(claims Claims) ([]byte, error) {
	c := maps.Clone(claims)
	for _, name := range []string{"iat", "exp", "nbf", "jti", authTime} {
		delete(c, name)
	}
	return json.Marshal(c)
}

// wholeSecond is the present instant as a token can state it, so that session,
// cookie and token end at the same instant.
func (e *engine) wholeSecond() time.Time { return e.config.Clock().Truncate(time.Second) }

// issueToken makes the token of a session that began, is used now, and expires.
func (e *engine) issueToken(ctx context.Context, r *request, claims Claims, began, now, expires time.Time) (string, error) {
	kept := make(Claims, len(claims)+1)
	maps.Copy(kept, claims)
	kept[authTime] = began.Unix()
	p := jwt.EncodeParams{
		Token: kept, Secrets: e.config.JWT.Secret, Salt: r.specs.Session.Name, MaxAge: expires.Sub(now), Keys: e.keys, Now: func() time.Time { return now },
	}
	if e.config.JWT.Encode == nil {
		return jwt.Encode(p)
	}
	token, err := guard(ctx, e.config.JWT.Encode, p)
	if err == nil && token == "" {
		err = errNoToken
	}
	return token, err
}

// tokenCookies replaces the session cookies called old by those of a token.
func (e *engine) tokenCookies(ctx context.Context, r *request, old []string, token string, expires time.Time) []*http.Cookie {
	cookies := r.specs.Session.Spread(old, token, expires)
	if len(token) > jwt.ChunkSize {
		e.debug(ctx, "CHUNKING_SESSION_COOKIE", slog.Int("size", len(token)), slog.Int("chunkSize", jwt.ChunkSize))
	}
	return cookies
}
