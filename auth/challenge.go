package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// ceremonyAction is what a passkey is used for.
type ceremonyAction string

const (
	actionRegister     ceremonyAction = "register"
	actionAuthenticate ceremonyAction = "authenticate"
)

// ceremony is a WebAuthn ceremony that was begun. The route webauthn-options
// seals it in a cookie, and the callback opens that cookie.
//
// Each ceremony has its own cookie, whose name contains a hash of its
// challenge, so that ceremonies in several tabs don't overwrite each other. A
// browser holds at most four. The ceremony that was begun last is also in a
// cookie with the name and the content that Auth.js uses.
type ceremony struct {
	action    ceremonyAction
	challenge string
	// rpID is the ID of the relying party in the options. It is empty if Auth.js
	// began the ceremony.
	rpID string
	// begun says in which browser the ceremony began, and who was signed in.
	begun begun
	// data is the user who registers, nil unless action is actionRegister.
	data *User
	// only, if set, is the only user whom the ceremony may sign in: the user who
	// is signed in now, although nobody was when the ceremony began.
	only string
	// listed, if set, is the ID of the user whose passkeys the options listed. The
	// ceremony signs in no other user.
	listed string
	// foreign says that Auth.js began the ceremony. Auth.js seals neither rpID nor
	// the user who began it.
	foreign bool
}

// innerChallengeSalt is the salt of the token inside the cookie of Auth.js.
const innerChallengeSalt = "encodedWebauthnChallenge"

// ceremonyName returns the name of the cookie of the ceremony with a challenge.
// ceremonySalt returns the salt of the token in that cookie.
func ceremonyName(spec *cookieSpec, challenge string) string {
	sum := sha256.Sum256([]byte(challenge))
	return spec.name + "." + hex.EncodeToString(sum[:8])
}

func ceremonySalt(spec *cookieSpec) string { return spec.name + ".ceremony" }

// beginCeremony returns the cookies for a new ceremony. If there are too many,
// it also deletes the oldest.
func (e *engine) beginCeremony(r *request, p *WebAuthn, c ceremony) ([]*http.Cookie, error) {
	spec := &r.specs.challenge
	mark, keep, err := e.markBrowser(r)
	if err != nil {
		return nil, err
	}
	inner := Claims{"challenge": c.challenge}
	own := bindingClaims(mark, "", c.begun.user)
	own["provider"], own["action"], own["rp"] = p.id(), string(c.action), c.rpID
	if c.listed != "" {
		own["listed"] = c.listed
	}
	outer := maps.Clone(own)
	own["challenge"] = c.challenge
	if c.data != nil {
		inner["registerData"], own["registerData"] = c.data, c.data
	}
	sealedInner, err := e.sealChallenge(innerChallengeSalt, inner)
	if err != nil {
		return nil, err
	}
	outer["value"] = sealedInner
	latest, err := e.sealChallenge(spec.name, outer)
	if err != nil {
		return nil, err
	}
	sealed, err := e.sealChallenge(ceremonySalt(spec), own)
	if err != nil {
		return nil, err
	}
	name := ceremonyName(spec, c.challenge)
	cookies := []*http.Cookie{spec.set(latest), spec.setNamed(name, sealed)}
	for _, c := range cookies {
		c.Expires = e.config.Clock().Add(checkMaxAge)
		if len(c.Name)+len(c.Value) > maxCookie {
			return nil, &Error{Type: ErrAuth, Message: "the user that GetUserInfo returned does not fit in a cookie"}
		}
	}
	e.debug(r.http.Context(), "CREATE_"+spec.key, slog.String("name", name))
	cookies = append(cookies, keep...)
	others := marked(r.cookies, spec.name, name)
	for _, old := range others[:max(0, len(others)-maxTickets+1)] {
		cookies = append(cookies, spec.clear(old))
	}
	return cookies, nil
}

// marked returns the names of cookies that are name, a dot and a mark, except
// the name but.
func marked(list cookies, name, but string) []string {
	var found []string
	for _, c := range list {
		if mark, ok := strings.CutPrefix(c.Name, name+"."); ok && len(mark) == 16 && c.Name != but {
			found = append(found, c.Name)
		}
	}
	return found
}

func (e *engine) sealChallenge(salt string, claims Claims) (string, error) {
	return jwt.Encode(jwt.EncodeParams{
		Token: claims, Secrets: e.config.JWT.Secret, Salt: salt, MaxAge: checkMaxAge, Keys: e.keys, Now: e.config.Clock,
	})
}

func (e *engine) openChallenge(salt, sealed string) (Claims, error) {
	return jwt.Decode(jwt.DecodeParams{Token: sealed, Secrets: e.config.JWT.Secret, Salt: salt, Keys: e.keys, Now: e.config.Clock})
}

// endCeremony finds the ceremony of an answer by the challenge in the answer,
// and deletes its cookies.
func (e *engine) endCeremony(r *request, p *WebAuthn, challenge string) (*ceremony, error) {
	spec := &r.specs.challenge
	name := ceremonyName(spec, challenge)
	e.debug(r.http.Context(), "PARSE_"+spec.key, slog.String("name", name))
	latest, latestErr := e.latestCeremony(r, p)
	c, err := latest, latestErr
	if sealed := r.cookies.get(name); sealed != "" {
		r.pending = append(r.pending, spec.clear(name))
		c, err = e.ownCeremony(r, p, sealed)
		if err == nil && latestErr == nil && latest.challenge == c.challenge { // no ceremony was begun since
			r.pending = append(r.pending, spec.clear(spec.name))
		}
	} else if r.cookies.get(spec.name) != "" {
		r.pending = append(r.pending, spec.clear(spec.name))
	}
	if err != nil {
		return nil, err
	}
	if subtle.ConstantTimeCompare([]byte(c.challenge), []byte(challenge)) != 1 {
		return nil, &Error{Type: ErrWebAuthnVerification, Code: codeExpired, Message: "the challenge was not given to this browser"}
	}
	e.debug(r.http.Context(), "USE_"+spec.key, slog.String("name", name))
	return c, nil
}

// ownCeremony opens the ceremony's own cookie.
func (e *engine) ownCeremony(r *request, p *WebAuthn, sealed string) (*ceremony, error) {
	claims, err := e.openChallenge(ceremonySalt(&r.specs.challenge), sealed)
	if err != nil {
		return nil, lostChallenge("the cookie is not valid")
	}
	return e.ceremonyOf(r, p, claims, claims)
}

// latestCeremony opens the cookie of Auth.js.
func (e *engine) latestCeremony(r *request, p *WebAuthn) (*ceremony, error) {
	spec := &r.specs.challenge
	sealed := r.cookies.get(spec.name)
	if sealed == "" {
		return nil, lostChallenge("the cookie is missing")
	}
	outer, err := e.openChallenge(spec.name, sealed)
	if err != nil {
		return nil, lostChallenge("the cookie is not valid")
	}
	inner, err := e.openChallenge(innerChallengeSalt, outer.String("value"))
	if err != nil {
		return nil, lostChallenge("the cookie holds no challenge")
	}
	return e.ceremonyOf(r, p, outer, inner)
}

// ceremonyOf reads the claims that bind a ceremony, and the claims that are its
// content.
func (e *engine) ceremonyOf(r *request, p *WebAuthn, binding, content Claims) (*ceremony, error) {
	if binding.String("provider") != p.id() {
		return nil, lostChallenge("the ceremony was begun with another provider")
	}
	began, ok := e.checkBinding(r, binding, "")
	if !ok {
		return nil, lostChallenge("the ceremony was begun in another browser")
	}
	c := &ceremony{
		action: ceremonyAction(binding.String("action")), challenge: content.String("challenge"), rpID: binding.String("rp"), begun: began,
		listed: binding.String("listed"),
	}
	if c.challenge == "" {
		return nil, lostChallenge("the cookie holds no challenge")
	}
	if data, ok := content["registerData"]; ok && data != nil {
		var err error
		if c.data, err = userFromSealed(data); err != nil {
			return nil, lostChallenge("the cookie says nothing of the user")
		}
	}
	if _, ours := binding["action"]; ours {
		return c, nil
	}
	c.foreign, c.action = true, actionAuthenticate
	if c.data != nil {
		c.action, c.begun.user = actionRegister, c.data.ID
	}
	return c, nil
}

func lostChallenge(message string) error {
	return &Error{Type: ErrWebAuthnVerification, Code: codeExpired, Cause: invalidCheck("challenge", message)}
}

// userFromSealed returns the user in the cookie of a registration.
func userFromSealed(v any) (*User, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var sealed struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Email string `json:"email"`
		Image string `json:"image"`
	}
	if err := json.Unmarshal(b, &sealed); err != nil {
		return nil, err
	}
	return &User{ID: sealed.ID, Name: sealed.Name, Email: sealed.Email, Image: sealed.Image}, nil
}
