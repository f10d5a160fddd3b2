package providers

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers/internal/unsupported"
)

//go:generate go run ./internal/generate

// ErrUnknown is matched by the error of ByID for an ID that is not in the
// catalogue.
var ErrUnknown = errors.New("providers: unknown provider")

// ErrUnsupported is matched by the error of ByID for a service that is known
// and can't be used, such as one that is retired or that uses OAuth 1.0a.
var ErrUnsupported = errors.New("providers: unsupported provider")

// ByID returns the provider with an ID of the catalogue. Like the constructors,
// it leaves the check of the options to auth.New. For an ID that is not in the
// catalogue, the error matches ErrUnknown, or ErrUnsupported with the reason.
//
// The providers credentials, webauthn and passkey lack what only the
// application has: the function Authorize, and the ceremonies of module
// auth/webauthn. They take no options.
func ByID(id string, opts ...Option) (auth.Provider, error) {
	for _, r := range table() {
		if r.id == id {
			return r.provider(opts), nil
		}
	}
	for _, r := range mailTable() {
		if r.id == id {
			return r.provider(opts), nil
		}
	}
	for _, u := range unsupported.Services() {
		if u.ID == id {
			return nil, fmt.Errorf("%w %q: %s", ErrUnsupported, id, u.Reason)
		}
	}
	if len(opts) > 0 && (id == "credentials" || id == "webauthn" || id == "passkey") {
		return nil, fmt.Errorf("providers: %s takes no options", id)
	}
	switch id {
	case "credentials":
		return &auth.Credentials{ID: id, Name: "Credentials"}, nil
	case "webauthn":
		return &auth.WebAuthn{ID: id, Name: "WebAuthn"}, nil
	case "passkey":
		return Passkey(), nil
	}
	return nil, fmt.Errorf("%w %q", ErrUnknown, id)
}

// Passkey makes a WebAuthn provider with the defaults of passkeys: the
// authenticator finds the credential, the user is verified, and the browser
// offers the credential in its autofill. Its Ceremonies are in module
// auth/webauthn.
func Passkey() *auth.WebAuthn {
	return &auth.WebAuthn{ID: "passkey", Name: "Passkey", EnableConditionalUI: true, UserVerification: auth.UserVerificationRequired, ResidentKey: "required"}
}

// Info describes a provider of the catalogue.
type Info struct {
	ID   string
	Name string
	Type auth.ProviderType
	// Constructor is the name of the function of this package that makes the
	// provider, or empty.
	Constructor string
	// Scope is the scope parameter that is sent by default.
	Scope string
	// Checks are the checks that the flow makes: state, PKCE, nonce.
	Checks []auth.Check
	// EmailVerified returns what the provider states about the e-mail address
	// in a profile. It is the default of auth.OAuth.EmailVerified. It is nil
	// for types of provider other than OAuth and OpenID Connect.
	EmailVerified func(profile auth.Profile, email string) auth.EmailProof
	// StatesEmailVerified reports that the provider is known to state whether
	// an address is verified. If it is false, EmailVerified looks for the
	// standard claim email_verified, which the provider is not known to send.
	StatesEmailVerified bool
	// Options are the options that the provider takes beside client ID and
	// secret.
	Options []OptionInfo
	// Environment lists the environment variables that are read.
	Environment []string
	// Note says in sentences what is special about the provider, or is empty.
	Note string
}

// OptionInfo describes an option.
type OptionInfo struct {
	// Name is the name of the function that makes the option, such as WithIssuer.
	Name     string
	Required bool
	// Default is the value without the option. A name in braces is an option.
	Default string
}

// All returns a description of every provider of the catalogue, ordered by ID.
func All() []Info {
	var all []Info
	for _, r := range table() {
		all = append(all, r.info())
	}
	for _, r := range mailTable() {
		info := Info{ID: r.id, Name: r.name, Type: auth.TypeEmail, Constructor: r.constructor, Options: infos(r.options)}
		if r.request != nil {
			info.Environment = []string{"AUTH_" + variable(r.id) + "_KEY"}
		}
		all = append(all, info)
	}
	all = append(all,
		Info{ID: "credentials", Name: "Credentials", Type: auth.TypeCredentials},
		Info{ID: "passkey", Name: "Passkey", Type: auth.TypeWebAuthn, Constructor: "Passkey"},
		Info{ID: "webauthn", Name: "WebAuthn", Type: auth.TypeWebAuthn})
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

func (r *row) info() Info {
	env := "AUTH_" + variable(r.id)
	i := Info{
		ID: r.id, Name: r.name, Type: cmp.Or(r.kind, auth.TypeOAuth), Constructor: r.constructor, Scope: r.scope, Checks: r.checks(),
		EmailVerified: r.emailVerified(), StatesEmailVerified: r.verified != "" || r.proof != nil, Options: infos(r.options), Environment: []string{env + "_ID", env + "_SECRET"}, Note: r.note,
	}
	if i.Scope == "" && !r.noScope && !r.emptyScope {
		i.Scope = "openid profile email"
	}
	if r.takes("issuer") {
		i.Environment = append(i.Environment, env+"_ISSUER")
	}
	if r.describe != nil {
		r.describe(&i)
	}
	return i
}

func infos(options []option) []OptionInfo {
	var all []OptionInfo
	for _, o := range options {
		all = append(all, OptionInfo{Name: how(o.name), Required: o.required, Default: o.fallback})
	}
	return all
}

// oauthRow returns the row with an ID. The caller, a constructor, knows that
// the ID is in the table.
func oauthRow(id string) *row {
	rows := table()
	i := slices.IndexFunc(rows, func(r row) bool { return r.id == id })
	return &rows[i]
}

func mailByID(id string) *mailRow {
	rows := mailTable()
	i := slices.IndexFunc(rows, func(r mailRow) bool { return r.id == id })
	return &rows[i]
}
