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

	"github.com/gatehouse-go/gatehouse/auth/internal/once"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
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
	// errPasswordChanged is about a token from before a change of the password.
	errPasswordChanged = errors.New("the password was changed since the sign-in")
)

// voidToken marks an error which says that the token is not valid. The error of
// an application's function that failed is not marked.
type voidToken struct{ error }

func (v voidToken) Unwrap() error { return v.error }

func isVoid(err error) bool {
	_, void := errors.AsType[voidToken](err)
	return void
}

// sessionTokens makes and opens session tokens.
type sessionTokens struct {
	config *Config
	keys   *jwt.Keys
	// once remembers which tokens were signed out.
	once *once.Memory
	// passwords has the passwords of the users; nil if nobody has any here.
	passwords *keptPasswords
}

// open decodes a session token and checks that its session has not ended.
// If the token is not valid, the error is a voidToken. Salt is the name of the
// cookie.
func (s *sessionTokens) open(ctx context.Context, token, salt string) (*openedToken, error) {
	claims, old, err := s.decode(ctx, token, salt)
	if err != nil {
		return nil, err
	}
	if t := s.named(claims); t.ID != "" && s.once.IsOver(t, s.config.Clock()) {
		return nil, voidToken{errSignedOut}
	}
	t := &openedToken{claims: claims, stale: old}
	c, now := &s.config.Session, s.config.Clock()
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
	return t, s.checkPassword(ctx, t)
}

// authTime is the claim that says when somebody signed in (OpenID Connect Core
// 1.0 section 2). Auth.js keeps it as it keeps all claims.
const authTime = "auth_time"

// decode returns the claims of a token, and whether another secret than the
// first one decrypted it.
func (s *sessionTokens) decode(ctx context.Context, token, salt string) (claims Claims, old bool, err error) {
	p := jwt.DecodeParams{Token: token, Secrets: s.config.JWT.Secret, Salt: salt, Keys: s.keys, Now: s.config.Clock}
	if s.config.JWT.Decode != nil {
		claims, err = guard(ctx, s.config.JWT.Decode, p)
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

// named names a token by its claim jti. The ID is empty for tokens that
// JWTConfig.Encode made, which may give one jti to many tokens.
func (s *sessionTokens) named(claims Claims) once.Token {
	if s.config.JWT.Encode != nil {
		return once.Token{}
	}
	issued, _ := claims.Time("iat")
	return once.Token{User: claims.String("sub"), ID: claims.String("jti"), Issued: issued}
}

// idOf is the id of a token that was just made. Salt is the name of the cookie.
func (s *sessionTokens) idOf(token, salt string) string {
	claims, err := jwt.Decode(jwt.DecodeParams{Token: token, Secrets: s.config.JWT.Secret[:1], Salt: salt, Keys: s.keys, Now: s.config.Clock})
	if err != nil {
		return ""
	}
	return claims.String("jti")
}

// due reports whether a token that is in use is replaced by a new one: at most
// once per Session.UpdateAge, so that a late response seldom undoes a sign-out.
// If UpdateAge is longer than half of the token's lifetime, that half is used
// instead; otherwise a session in use could end.
func (s *sessionTokens) due(t *openedToken) bool {
	after := min(*s.config.Session.UpdateAge, s.config.Session.MaxAge/2)
	return t.stale || !s.config.Clock().Before(t.issued.Add(after))
}

// sessionFromToken reads the session of a token, and replaces the token where
// that is due.
func (e *engine) sessionFromToken(ctx context.Context, r *request, token string, names []string, a access) (read sessionRead) {
	end := func(why error) sessionRead {
		return sessionRead{void: why, cookies: r.specs.Session.Spread(names, "", time.Time{}, time.Time{})}
	}
	t, err := e.tokens.open(ctx, token, r.specs.Session.Name)
	switch {
	case isVoid(err):
		return end(err)
	case err != nil:
		return sessionRead{err: err}
	}
	old := e.tokens.named(t.claims)
	claims, changed, err := e.tokens.ask(ctx, t.claims, JWTParams{Trigger: a.trigger, Session: a.update, ReadOnly: a.noCookies})
	switch {
	case err != nil:
		return sessionRead{err: err}
	case claims == nil:
		return end(nil)
	}
	renew := !a.noCookies && (changed || a.trigger == TriggerUpdate || e.tokens.due(t))
	now, expires := e.tokens.wholeSecond(), t.expires
	if renew {
		expires = e.config.Session.expires(now, t.began)
	}
	brief := t.claims[claimBrief] == true
	if renew && brief {
		expires = briefEnd(expires, t.began)
	}
	p := tokenSession(claims, expires)
	p.Trigger, p.NewSession = a.trigger, a.update
	read.user = p.Session.User.withID(claims.String("sub"))
	if read.session, err = askSession(ctx, e.config.Callbacks.Session, p); err != nil {
		return sessionRead{err: err}
	}
	read.found, read.claims = true, claims
	cookieExpires := expires
	if brief {
		cookieExpires = time.Time{}
	}
	switch {
	case renew:
		if token, err = e.tokens.issue(ctx, r.specs.Session.Name, claims, t.began, now, expires); err != nil {
			return sessionRead{err: err}
		}
		if old.ID != "" && !e.once.Replace(old, e.tokens.idOf(token, r.specs.Session.Name), now) {
			return end(errSignedOut)
		}
		read.cookies = e.tokenCookies(ctx, r, names, token, cookieExpires)
	case !a.noCookies && !r.specs.Session.IsTidy(names, token):
		read.cookies = e.tokenCookies(ctx, r, names, token, cookieExpires)
	}
	return read
}

// ask calls Callbacks.JWT for the claims of a session; nil claims mean that
// the callback ends the session. Changed reports whether the claims differ from
// before, without the claims that every token gets anew.
func (s *sessionTokens) ask(ctx context.Context, claims Claims, p JWTParams) (_ Claims, changed bool, err error) {
	ask := s.config.Callbacks.JWT
	if ask == nil {
		return claims, false, nil
	}
	before, err := lasting(claims)
	if err != nil {
		return nil, false, err
	}
	own := ownClaims(claims)
	p.Token = claims
	returned, err := guard(ctx, ask, p)
	if err != nil || returned == nil {
		return nil, false, err
	}
	keepOwn(returned, own)
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
func (s *sessionTokens) wholeSecond() time.Time { return s.config.Clock().Truncate(time.Second) }

// issue makes the token of a session that began, is used now, and expires.
func (s *sessionTokens) issue(ctx context.Context, salt string, claims Claims, began, now, expires time.Time) (string, error) {
	kept := make(Claims, len(claims)+1)
	maps.Copy(kept, claims)
	kept[authTime] = began.Unix()
	p := jwt.EncodeParams{
		Token: kept, Secrets: s.config.JWT.Secret, Salt: salt, MaxAge: expires.Sub(now), Keys: s.keys, Now: func() time.Time { return now },
	}
	if s.config.JWT.Encode == nil {
		return jwt.Encode(p)
	}
	token, err := guard(ctx, s.config.JWT.Encode, p)
	if err == nil && token == "" {
		err = errNoToken
	}
	return token, err
}

// tokenCookies replaces the session cookies called old by those of a token.
func (e *engine) tokenCookies(ctx context.Context, r *request, old []string, token string, expires time.Time) []*http.Cookie {
	cookies := r.specs.Session.Spread(old, token, e.config.Clock(), expires)
	if len(token) > jwt.ChunkSize {
		e.debug(ctx, "CHUNKING_SESSION_COOKIE", slog.Int("size", len(token)), slog.Int("chunkSize", jwt.ChunkSize))
	}
	return cookies
}

// The subject of a session token is an ID. Code that reads it must know whether
// it is the ID of a user of the adapter, or an ID that Credentials.Authorize
// returned and that another user may have in the adapter.

// claimAdapterID says whether the subject of a session token is the ID of a user
// of the adapter.
const claimAdapterID = "adapterId"

// claimPassword is the version of the user's password at the sign-in. It is absent
// if the user had none, and in tokens that Auth.js made.
const claimPassword = "passwordVersion"

// mark records in the claims of a session token whether the subject is the ID of a
// user of the adapter, which password the user has, and whether the session is a
// brief one. If a callback replaced the subject, it is not the ID of a user.
func (s *sessionTokens) mark(ctx context.Context, claims Claims, done *signedIn) error {
	stored := done.stored && claims.String("sub") == done.user.ID
	claims[claimAdapterID] = stored
	delete(claims, claimBrief)
	delete(claims, claimPassword)
	if done.brief {
		claims[claimBrief] = true
	}
	if s.passwords == nil || !stored {
		return nil
	}
	version := done.passwordVersion
	if version == "" {
		found, err := s.passwords.Password(ctx, done.user.ID)
		if err != nil {
			return err
		}
		version = passwords.StateOf(found).Version
	}
	if version != "" {
		claims[claimPassword] = version
	}
	return nil
}

// checkPassword returns an error if the password of the user was changed or removed
// since the sign-in.
func (s *sessionTokens) checkPassword(ctx context.Context, t *openedToken) error {
	if s.passwords == nil || !namesAdapterUser(t.claims, s.config.Providers) {
		return nil
	}
	now, err := s.passwords.Password(ctx, t.claims.String("sub"))
	if err != nil {
		return err
	}
	state := passwords.StateOf(now)
	version := t.claims.String(claimPassword)
	if version == state.Version || version == "" && t.began.Unix() > state.Changed {
		return nil
	}
	return voidToken{errPasswordChanged}
}

// ownClaims are the claims that a callback does not change.
func ownClaims(claims Claims) Claims {
	own := Claims{}
	for _, name := range []string{"sub", claimAdapterID, claimBrief, claimPassword} {
		own[name] = claims[name]
	}
	return own
}

// keepOwn restores the claims of ownClaims in those that a callback returned. A
// subject that the callback changed is not the ID of a user of the adapter.
func keepOwn(claims, own Claims) {
	for name, value := range own {
		switch {
		case name == "sub":
		case value != nil:
			claims[name] = value
		default:
			delete(claims, name)
		}
	}
	if claims.String("sub") != own.String("sub") {
		claims[claimAdapterID] = false
	}
}

// namesAdapterUser reports whether the subject of a session token is the ID of
// a user of the adapter. A token without claimAdapterID was made by Auth.js.
// Its subject is such an ID, unless there is a credentials provider that does
// not use the IDs of the adapter.
func namesAdapterUser(claims Claims, providers []Provider) bool {
	if says, ok := claims[claimAdapterID].(bool); ok {
		return says
	}
	for _, p := range providers {
		if p, ok := p.(*Credentials); ok && !p.UsesAdapterIDs {
			return false
		}
	}
	return true
}
