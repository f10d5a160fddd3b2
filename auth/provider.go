package auth

import (
	"log/slog"
)

// Provider is a way to sign in: *OAuth, *Email, *Credentials, *Password or *WebAuthn. The
// interface is sealed. New reads a provider and does not change it; one value
// may be used in several configurations.
type Provider interface {
	// id is unique among the providers and part of the URLs.
	id() string
	// displayName is what clients are told. A page shows a name in its language if the
	// configuration has none.
	displayName() string
	// kind is the provider's type.
	kind() ProviderType
}

// Form is what a client submitted: the fields of a form, or the members of a
// JSON object. If a field is given twice, the last value is used. It logs as
// [redacted].
type Form map[string]any

// Get returns the text of a field, or "" if the field is absent or not a text.
func (f Form) Get(name string) string {
	s, _ := f[name].(string)
	return s
}

// Field is an input of the form that the sign-in page shows.
type Field struct {
	// Name is the name under which the value is submitted.
	Name string
	// Label is the label of the input; the default is Name.
	Label string
	// Type is the type of the HTML input; the default is text.
	Type string
	// Identifier says that the field names the account, such as a user name or an
	// address: Attempt.Identifier then has what was typed. Without such a field it
	// has what was typed into the first field that is not a password.
	Identifier bool
	// Placeholder is shown while the input is empty.
	Placeholder string
	// Attributes are further HTML attributes of the input, such as
	// autocomplete. An attribute without a value, such as required, has the
	// value "".
	Attributes map[string]string
}

// Style is how the button of a provider looks on the built-in sign-in page.
type Style struct {
	// BrandColor is the CSS colour of the button.
	BrandColor string
	// Logo is the URL of a picture; with "" the button has none.
	Logo string
	// Bg is used if BrandColor is empty.
	//
	// Deprecated: set BrandColor.
	Bg string
	// Text is the CSS colour of the text on the button.
	//
	// Deprecated: without it, the text is white or black, which can be read on
	// BrandColor.
	Text string
}

// LogValue keeps the submitted values, which may be passwords, out of logs.
func (Form) LogValue() slog.Value { return slog.StringValue(redacted) }

// ProviderType is one of the five kinds of provider.
type ProviderType string

// The provider types.
const (
	TypeOAuth       ProviderType = "oauth"
	TypeOIDC        ProviderType = "oidc"
	TypeEmail       ProviderType = "email"
	TypeCredentials ProviderType = "credentials"
	TypeWebAuthn    ProviderType = "webauthn"
)
