package auth

import (
	"fmt"
	"log/slog"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
)

// A type that holds tokens, passwords, codes, cookies or secrets is printed
// without them, also where it is a field of another type. Package slog logs the
// result of LogValue. Package fmt prints the same through Format, for every
// verb.

const redacted = redact.Text

// shows is a struct that only this package makes. Its method show chooses what
// the embedded redact.Shown prints.
type shows[T any] interface {
	*T
	show()
}

// shown returns a value that the application gets.
func shown[T any, P shows[T]](v T) T {
	P(&v).show()
	return v
}

// userAttr is the ID of a user.
func userAttr(u *User) slog.Attr {
	if u == nil {
		return slog.String("user", "")
	}
	return slog.String("user", u.ID)
}

// accountAttr is an account without its tokens.
func accountAttr(a *Account) slog.Attr {
	if a == nil {
		return slog.String("account", "")
	}
	return slog.Any("account", a.LogValue())
}

func requestAttr(r *http.Request) slog.Attr {
	if r == nil || r.URL == nil {
		return slog.String("request", "")
	}
	return slog.String("request", r.Method+" "+r.URL.Path)
}

// LogValue leaves out Extra, in which applications keep tokens.
func (u User) LogValue() slog.Value {
	attrs := []slog.Attr{slog.String("id", u.ID), slog.String("name", u.Name), slog.String("email", u.Email), slog.String("image", u.Image)}
	if u.EmailVerified != nil {
		attrs = append(attrs, slog.Time("emailVerified", *u.EmailVerified))
	}
	return slog.GroupValue(attrs...)
}

// LogValue leaves out Extra, in which applications keep tokens.
func (s Session) LogValue() slog.Value {
	return slog.GroupValue(userAttr(s.User), slog.Time("expires", s.Expires))
}

func (p *SignInParams) show() {
	p.Shown = redact.Show(userAttr(p.User), accountAttr(p.Account), slog.Bool("verificationRequest", p.VerificationRequest))
}

func (p *LinkParams) show() {
	p.Shown = redact.Show(userAttr(p.User), accountAttr(p.Account))
}

// LogValue shows why the callback is called, without claims and tokens.
func (p JWTParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("trigger", string(p.Trigger)), userAttr(p.User), accountAttr(p.Account), slog.Bool("readOnly", p.ReadOnly))
}

// LogValue shows why the callback is called, without claims.
func (p SessionParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("trigger", string(p.Trigger)), userAttr(p.User))
}

func (p *TokenRequest) show() {
	p.Shown = redact.Show(slog.String("provider", p.Provider.ID), slog.String("redirectUri", p.RedirectURI))
}

func (p *UserInfoRequest) show() {
	p.Shown = redact.Show(slog.String("provider", p.Provider.ID))
}

// LogValue keeps parameters out of logs.
func (e AuthorizationEndpoint) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps parameters out of logs.
func (e TokenEndpoint) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps parameters out of logs.
func (e UserInfoEndpoint) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps the private key out of logs.
func (m ClientMetadata) LogValue() slog.Value {
	return slog.GroupValue(slog.String("tokenEndpointAuthMethod", string(m.TokenEndpointAuthMethod)), slog.String("keyId", m.KeyID))
}

// LogValue keeps secrets out of logs.
func (c JWTConfig) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps the link out of logs.
func (m Message) LogValue() slog.Value { return slog.GroupValue(slog.String("subject", m.Subject)) }

// LogValue keeps the submitted values out of logs.
func (o SignInOptions) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps cookies, codes and bodies out of logs.
func (r Result) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("status", r.status()), slog.Int("cookies", len(r.Cookies)), slog.Int("size", len(r.Body)))
}

func (e *CreateUserEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), requestAttr(hr))
}

func (e *UpdateUserEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), requestAttr(hr))
}

func (e *LinkAccountEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), accountAttr(e.Account), requestAttr(hr))
}

func (e *ReleaseEmailEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), requestAttr(hr))
}

func (e *SignInEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), accountAttr(e.Account), slog.Bool("isNewUser", e.IsNewUser), requestAttr(hr))
}

func (e *SignInFailedEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(slog.String("provider", e.Provider), slog.String("type", string(e.Type)), slog.String("reason", string(e.Reason)),
		slog.Any("error", e.Err), requestAttr(hr))
}

func (e *PasskeyClonedEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), slog.String("credentialId", e.CredentialID), slog.Int64("stored", e.Stored), slog.Int64("received", e.Received), requestAttr(hr))
}

func (e *PasskeyBackupEvent) setRequest(hr *http.Request) {
	e.Request, e.Shown = hr, redact.Show(userAttr(e.User), slog.String("credentialId", e.CredentialID), slog.Bool("syncable", e.Syncable), slog.Bool("backedUp", e.BackedUp), requestAttr(hr))
}

func (e *SignOutEvent) setRequest(hr *http.Request) {
	user := e.Token.String("sub")
	if e.Session != nil {
		user = e.Session.UserID
	}
	e.Request, e.Shown = hr, redact.Show(slog.String("user", user), requestAttr(hr))
}

func (e *SessionEvent) setRequest(hr *http.Request) {
	var user *User
	if e.Session != nil {
		user = e.Session.User
	}
	e.Request, e.Shown = hr, redact.Show(userAttr(user), requestAttr(hr))
}

// Package slog can log lists and structs that hold one of these types with
// encoding/json. Programs do not store or send the types below, so
// encoding/json writes only what LogValue returns. TokenSet, Account, User,
// Session, Form, Profile and Claims are data: encoding/json writes all of their
// fields.

// MarshalJSON writes what LogValue returns, as a JSON string.
func (p JWTParams) MarshalJSON() ([]byte, error) { return redact.JSON(p) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (p SessionParams) MarshalJSON() ([]byte, error) { return redact.JSON(p) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (o SignInOptions) MarshalJSON() ([]byte, error) { return redact.JSON(o) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (r Result) MarshalJSON() ([]byte, error) { return redact.JSON(r) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (c JWTConfig) MarshalJSON() ([]byte, error) { return redact.JSON(c) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (m ClientMetadata) MarshalJSON() ([]byte, error) { return redact.JSON(m) }

// The same for package fmt.

// Format prints what LogValue returns.
func (u User) Format(f fmt.State, _ rune) { redact.Format(f, u) }

// Format prints what LogValue returns.
func (s Session) Format(f fmt.State, _ rune) { redact.Format(f, s) }

// Format prints what LogValue returns.
func (p JWTParams) Format(f fmt.State, _ rune) { redact.Format(f, p) }

// Format prints what LogValue returns.
func (p SessionParams) Format(f fmt.State, _ rune) { redact.Format(f, p) }

// Format prints what LogValue returns.
func (e AuthorizationEndpoint) Format(f fmt.State, _ rune) { redact.Format(f, e) }

// Format prints what LogValue returns.
func (e TokenEndpoint) Format(f fmt.State, _ rune) { redact.Format(f, e) }

// Format prints what LogValue returns.
func (e UserInfoEndpoint) Format(f fmt.State, _ rune) { redact.Format(f, e) }

// Format prints what LogValue returns.
func (m ClientMetadata) Format(f fmt.State, _ rune) { redact.Format(f, m) }

// Format prints what LogValue returns.
func (c JWTConfig) Format(f fmt.State, _ rune) { redact.Format(f, c) }

// Format prints what LogValue returns.
func (m Message) Format(f fmt.State, _ rune) { redact.Format(f, m) }

// Format prints what LogValue returns.
func (o SignInOptions) Format(f fmt.State, _ rune) { redact.Format(f, o) }

// Format prints what LogValue returns.
func (r Result) Format(f fmt.State, _ rune) { redact.Format(f, r) }

// Format prints what LogValue returns.
func (v Account) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v TokenSet) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v Config) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v Form) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v Email) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v OAuth) Format(f fmt.State, _ rune) { redact.Format(f, v) }

// Format prints what LogValue returns.
func (v Profile) Format(f fmt.State, _ rune) { redact.Format(f, v) }
