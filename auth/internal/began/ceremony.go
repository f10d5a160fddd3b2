package began

import (
	"crypto/subtle"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

// CeremonyAction is what a passkey is used for.
type CeremonyAction string

// The two ceremonies of WebAuthn.
const (
	Register     CeremonyAction = "register"
	Authenticate CeremonyAction = "authenticate"
)

// Ceremony is a WebAuthn ceremony that was begun. The route webauthn-options
// seals it in a cookie, and the callback opens that cookie.
//
// Each ceremony has its own cookie, whose name contains a hash of its
// challenge, so that ceremonies in several tabs don't overwrite each other. A
// browser holds at most four. The ceremony that was begun last is also in a
// cookie with the name and the content that Auth.js uses.
type Ceremony struct {
	// Provider is the ID of the provider.
	Provider  string
	Action    CeremonyAction
	Challenge string
	// RPID is the ID of the relying party in the options. It is empty if Auth.js
	// began the ceremony.
	RPID string
	// By says in which browser the ceremony began, and who was signed in.
	By By
	// Data is the user who registers, nil unless Action is Register.
	Data *Person
	// Listed, if set, is the ID of the user whose passkeys the options listed. The
	// ceremony signs in no other user.
	Listed string
	// Foreign says that Auth.js began the ceremony. Auth.js seals neither RPID nor
	// the user who began it.
	Foreign bool
	// Began is when the ceremony began.
	Began time.Time
}

// Person is the part of a user that is sealed in the cookie of a registration.
type Person struct {
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	Image string `json:"image,omitempty"`
}

// innerChallengeSalt is the salt of the token inside the cookie of Auth.js.
const innerChallengeSalt = "encodedWebauthnChallenge"

// ceremonyName returns the name of the cookie of the ceremony with a challenge.
// ceremonySalt returns the salt of the token in that cookie.
func ceremonyName(spec *wire.CookieSpec, challenge string) string {
	return spec.Name + "." + markOf(challenge)
}

func ceremonySalt(spec *wire.CookieSpec) string { return spec.Name + ".ceremony" }

// BeginCeremony returns the cookies for a new ceremony. If there are too many,
// it also deletes the oldest.
func (b *Browser) BeginCeremony(c Ceremony) ([]*http.Cookie, error) {
	spec := &b.Cookies.Challenge
	own, keep, err := b.Bind("", c.By.User)
	if err != nil {
		return nil, err
	}
	inner := jwt.Claims{"challenge": c.Challenge}
	own["provider"], own["action"], own["rp"] = c.Provider, string(c.Action), c.RPID
	if c.Listed != "" {
		own["listed"] = c.Listed
	}
	outer := maps.Clone(own)
	own["challenge"] = c.Challenge
	if c.Data != nil {
		inner["registerData"], own["registerData"] = c.Data, c.Data
	}
	sealedInner, err := b.Seal(innerChallengeSalt, inner)
	if err != nil {
		return nil, err
	}
	outer["value"] = sealedInner
	latest, err := b.Seal(spec.Name, outer)
	if err != nil {
		return nil, err
	}
	sealed, err := b.Seal(ceremonySalt(spec), own)
	if err != nil {
		return nil, err
	}
	name := ceremonyName(spec, c.Challenge)
	cookies := []*http.Cookie{spec.Set(latest), spec.SetNamed(name, sealed)}
	for _, c := range cookies {
		c.Expires = b.Clock().Add(MaxAge)
		if len(c.Name)+len(c.Value) > MaxCookie {
			return nil, &Error{TooLarge, "the user that GetUserInfo returned does not fit in a cookie"}
		}
	}
	b.Log("CREATE_"+spec.Key, slog.String("name", name))
	cookies = append(cookies, keep...)
	for _, old := range b.tooMany(spec.Name, name) {
		cookies = append(cookies, spec.Clear(old))
	}
	return cookies, nil
}

// EndCeremony finds the ceremony of an answer by the challenge in the answer.
// It returns the cookies to delete, even if the error is not nil.
func (b *Browser) EndCeremony(provider, challenge string) (*Ceremony, []*http.Cookie, error) {
	spec := &b.Cookies.Challenge
	name := ceremonyName(spec, challenge)
	b.Log("PARSE_"+spec.Key, slog.String("name", name))
	var deleted []*http.Cookie
	latest, latestErr := b.latestCeremony(provider)
	c, err := latest, latestErr
	if sealed := b.Jar.Get(name); sealed != "" {
		deleted = append(deleted, spec.Clear(name))
		c, err = b.ownCeremony(provider, sealed)
		if err == nil && latestErr == nil && latest.Challenge == c.Challenge { // no ceremony was begun since
			deleted = append(deleted, spec.Clear(spec.Name))
		}
	} else if b.Jar.Get(spec.Name) != "" {
		deleted = append(deleted, spec.Clear(spec.Name))
	}
	if err != nil {
		return nil, deleted, err
	}
	if subtle.ConstantTimeCompare([]byte(c.Challenge), []byte(challenge)) != 1 {
		return nil, deleted, &Error{OtherChallenge, "the challenge was not given to this browser"}
	}
	b.Log("USE_"+spec.Key, slog.String("name", name))
	return c, deleted, nil
}

// ownCeremony opens the ceremony's own cookie.
func (b *Browser) ownCeremony(provider, sealed string) (*Ceremony, error) {
	claims, err := b.Open(ceremonySalt(&b.Cookies.Challenge), sealed)
	if err != nil {
		return nil, lostChallenge("the cookie is not valid")
	}
	return b.ceremonyOf(provider, claims, claims)
}

// latestCeremony opens the cookie of Auth.js.
func (b *Browser) latestCeremony(provider string) (*Ceremony, error) {
	spec := &b.Cookies.Challenge
	sealed := b.Jar.Get(spec.Name)
	if sealed == "" {
		return nil, lostChallenge("the cookie is missing")
	}
	outer, err := b.Open(spec.Name, sealed)
	if err != nil {
		return nil, lostChallenge("the cookie is not valid")
	}
	inner, err := b.Open(innerChallengeSalt, outer.String("value"))
	if err != nil {
		return nil, lostChallenge("the cookie holds no challenge")
	}
	return b.ceremonyOf(provider, outer, inner)
}

// ceremonyOf reads the claims that bind a ceremony, and the claims that are its
// content.
func (b *Browser) ceremonyOf(provider string, binding, content jwt.Claims) (*Ceremony, error) {
	if binding.String("provider") != provider {
		return nil, lostChallenge("the ceremony was begun with another provider")
	}
	by, ok := b.Bound(binding, "")
	if !ok {
		return nil, lostChallenge("the ceremony was begun in another browser")
	}
	c := &Ceremony{
		Provider: provider, Action: CeremonyAction(binding.String("action")), Challenge: content.String("challenge"), RPID: binding.String("rp"),
		By: by, Listed: binding.String("listed"),
	}
	c.Began, _ = content.Time("iat")
	if c.Challenge == "" {
		return nil, lostChallenge("the cookie holds no challenge")
	}
	if data, ok := content["registerData"]; ok && data != nil {
		var err error
		if c.Data, err = personOf(data); err != nil {
			return nil, lostChallenge("the cookie says nothing of the user")
		}
	}
	if _, ours := binding["action"]; ours {
		return c, nil
	}
	c.Foreign, c.Action = true, Authenticate
	if c.Data != nil {
		c.Action, c.By.User = Register, c.Data.ID
	}
	return c, nil
}

func lostChallenge(message string) error { return &Error{LostChallenge, "challenge: " + message} }

// personOf reads a claim that Person was sealed in.
func personOf(claim any) (*Person, error) {
	b, err := json.Marshal(claim)
	if err != nil {
		return nil, err
	}
	p := new(Person)
	return p, json.Unmarshal(b, p)
}
