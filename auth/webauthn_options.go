package auth

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/began"
	"github.com/gatehouse-go/gatehouse/auth/internal/wire"
)

// The options of ceremonies (WebAuthn Level 3, sections 5.4 and 5.5), with
// their members in the order of Auth.js. They have the JSON form that
// PublicKeyCredential.parse…OptionsFromJSON takes, with one exception, the user
// ID.

type authenticationOptions struct {
	Challenge        string                  `json:"challenge"`
	AllowCredentials *[]credentialDescriptor `json:"allowCredentials,omitempty"`
	Timeout          int64                   `json:"timeout"`
	UserVerification UserVerification        `json:"userVerification"`
	Extensions       map[string]any          `json:"extensions,omitempty"`
	RPID             string                  `json:"rpId"`
}

type registrationOptions struct {
	Challenge string `json:"challenge"`
	RP        struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	} `json:"rp"`
	User struct {
		// ID is text whose UTF-8 bytes are the user handle, as Auth.js and version 9
		// of @simplewebauthn/browser have it, and not base64url.
		ID          string `json:"id"`
		Name        string `json:"name"`
		DisplayName string `json:"displayName"`
	} `json:"user"`
	PubKeyCredParams       []credentialParameter  `json:"pubKeyCredParams"`
	Timeout                int64                  `json:"timeout"`
	Attestation            string                 `json:"attestation"`
	ExcludeCredentials     []credentialDescriptor `json:"excludeCredentials"`
	AuthenticatorSelection struct {
		Attachment         string           `json:"authenticatorAttachment,omitempty"`
		ResidentKey        string           `json:"residentKey"`
		UserVerification   UserVerification `json:"userVerification"`
		RequireResidentKey bool             `json:"requireResidentKey"`
	} `json:"authenticatorSelection"`
	Extensions map[string]any `json:"extensions"`
}

type credentialParameter struct {
	Alg  int    `json:"alg"`
	Type string `json:"type"`
}

type credentialDescriptor struct {
	ID         string   `json:"id"`
	Type       string   `json:"type"`
	Transports []string `json:"transports,omitempty"`
}

const publicKeyType = "public-key"

// descriptors returns the descriptors of stored credentials. The result is
// never nil.
func descriptors(stored []adapter.Authenticator) []credentialDescriptor {
	list := make([]credentialDescriptor, 0, len(stored))
	for _, a := range stored {
		list = append(list, credentialDescriptor{ID: base64URL(a.CredentialID), Type: publicKeyType, Transports: transportsOf(a)})
	}
	return list
}

// transportsOf are the ways to reach an authenticator, nil if none is known.
func transportsOf(a adapter.Authenticator) []string {
	if a.Transports == nil || *a.Transports == "" {
		return nil
	}
	return strings.Split(*a.Transports, ",")
}

// base64URL is a credential ID as browsers write it. What an adapter keeps is
// standard base64; another text is returned as it is, and matches no credential.
func base64URL(credentialID string) string {
	raw, err := base64.StdEncoding.DecodeString(credentialID)
	if err != nil {
		return credentialID
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// authenticationOptions are the options of navigator.credentials.get. With
// allowed nil the authenticator looks for a credential by itself.
func (p *WebAuthn) authenticationOptions(rp RelyingParty, challenge string, allowed []adapter.Authenticator) authenticationOptions {
	o := authenticationOptions{
		Challenge: challenge, Timeout: p.timeout().Milliseconds(), UserVerification: p.userVerification(),
		Extensions: p.AuthenticationExtensions, RPID: rp.ID,
	}
	if allowed != nil {
		list := descriptors(allowed)
		o.AllowCredentials = &list
	}
	return o
}

// registrationOptions are the options of navigator.credentials.create, for a
// user handle that is new each time: the credential, not the handle, says who
// signs in.
func (p *WebAuthn) registrationOptions(rp RelyingParty, challenge, userHandle string, user *User, exclude []adapter.Authenticator) registrationOptions {
	o := registrationOptions{
		Challenge: challenge, Timeout: p.timeout().Milliseconds(), Attestation: "none",
		ExcludeCredentials: descriptors(exclude), Extensions: map[string]any{},
	}
	o.RP.Name, o.RP.ID = rp.Name, rp.ID
	o.User.ID, o.User.Name, o.User.DisplayName = userHandle, user.Email, user.Email
	if user.Name != "" {
		o.User.DisplayName = user.Name
	}
	if o.User.Name == "" { // nobody but the user sees it, in the list of their passkeys
		if o.User.Name = o.User.DisplayName; o.User.Name == "" {
			o.User.Name, o.User.DisplayName = rp.Name, rp.Name
		}
	}
	for _, alg := range p.algorithms() {
		o.PubKeyCredParams = append(o.PubKeyCredParams, credentialParameter{alg, publicKeyType})
	}
	if p.Attestation != "" {
		o.Attestation = p.Attestation
	}
	s := &o.AuthenticatorSelection
	s.Attachment, s.UserVerification = p.Attachment, p.userVerification()
	s.ResidentKey = cmp.Or(p.ResidentKey, "preferred")
	s.RequireResidentKey = s.ResidentKey == "required"
	maps.Copy(o.Extensions, p.RegistrationExtensions)
	o.Extensions["credProps"] = true
	return o
}

// optionsAnswer is the body of the answer of webauthn-options.
func optionsAnswer(action began.CeremonyAction, options any) (json.RawMessage, error) {
	return wire.JSON(struct {
		Action  began.CeremonyAction `json:"action"`
		Options any                  `json:"options"`
	}{action, options})
}
