package auth

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
)

// A type that holds tokens, passwords, codes, cookies or secrets is printed
// without them, also where it is a field of another type. Package slog logs the
// result of LogValue. Package fmt prints the same through Format, for every
// verb.

const redacted = "[redacted]"

// format prints what is logged.
func format(f fmt.State, v slog.LogValuer) { _, _ = io.WriteString(f, v.LogValue().Resolve().String()) }

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

// LogValue shows the user who signs in, without tokens and submitted values.
func (p SignInParams) LogValue() slog.Value {
	return slog.GroupValue(userAttr(p.User), accountAttr(p.Account), slog.Bool("verificationRequest", p.VerificationRequest))
}

// LogValue shows the user and the account to be linked, without tokens.
func (p LinkParams) LogValue() slog.Value {
	return slog.GroupValue(userAttr(p.User), accountAttr(p.Account))
}

// LogValue shows why the callback is called, without claims and tokens.
func (p JWTParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("trigger", string(p.Trigger)), userAttr(p.User), accountAttr(p.Account), slog.Bool("readOnly", p.ReadOnly))
}

// LogValue shows why the callback is called, without claims.
func (p SessionParams) LogValue() slog.Value {
	return slog.GroupValue(slog.String("trigger", string(p.Trigger)), userAttr(p.User))
}

// LogValue keeps code, verifier and the secret of the client out of logs.
func (p TokenRequest) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", p.Provider.ID), slog.String("redirectUri", p.RedirectURI))
}

// LogValue keeps tokens and the secret of the client out of logs.
func (p UserInfoRequest) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", p.Provider.ID))
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

// LogValue shows the user, without the request's cookies.
func (e CreateUserEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), requestAttr(e.Request))
}

// LogValue shows the user, without the request's cookies.
func (e UpdateUserEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), requestAttr(e.Request))
}

// LogValue shows the user and the account, without tokens and cookies.
func (e LinkAccountEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), accountAttr(e.Account), requestAttr(e.Request))
}

// LogValue shows the user, without the request's cookies.
func (e ReleaseEmailEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), requestAttr(e.Request))
}

// LogValue shows the user and the account, without tokens and cookies.
func (e SignInEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), accountAttr(e.Account), slog.Bool("isNewUser", e.IsNewUser), requestAttr(e.Request))
}

// LogValue shows what failed and why, without the request's cookies.
func (e SignInFailedEvent) LogValue() slog.Value {
	return slog.GroupValue(slog.String("provider", e.Provider), slog.String("type", string(e.Type)), slog.String("reason", string(e.Reason)),
		slog.Any("error", e.Err), requestAttr(e.Request))
}

// LogValue shows the user and the counters, without the request's cookies.
func (e PasskeyClonedEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), slog.String("credentialId", e.CredentialID), slog.Int64("stored", e.Stored), slog.Int64("received", e.Received), requestAttr(e.Request))
}

// LogValue shows the passkey and its user.
func (e PasskeyBackupEvent) LogValue() slog.Value {
	return slog.GroupValue(userAttr(e.User), slog.String("credentialId", e.CredentialID), slog.Bool("syncable", e.Syncable), slog.Bool("backedUp", e.BackedUp), requestAttr(e.Request))
}

// LogValue shows the user, without token and cookies.
func (e SignOutEvent) LogValue() slog.Value {
	user := e.Token.String("sub")
	if e.Session != nil {
		user = e.Session.UserID
	}
	return slog.GroupValue(slog.String("user", user), requestAttr(e.Request))
}

// LogValue shows the user, without token and cookies.
func (e SessionEvent) LogValue() slog.Value {
	var user *User
	if e.Session != nil {
		user = e.Session.User
	}
	return slog.GroupValue(userAttr(user), requestAttr(e.Request))
}

// Package slog can log lists and structs that hold one of these types with
// encoding/json. Programs do not store or send the types below, so
// encoding/json writes only what LogValue returns. TokenSet, Account, User,
// Session, Form, Profile and Claims are data: encoding/json writes all of their
// fields.

func marshal(v slog.LogValuer) ([]byte, error) { return json.Marshal(v.LogValue().Resolve().String()) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (p LinkParams) MarshalJSON() ([]byte, error) { return marshal(p) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (p JWTParams) MarshalJSON() ([]byte, error) { return marshal(p) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (p SessionParams) MarshalJSON() ([]byte, error) { return marshal(p) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (o SignInOptions) MarshalJSON() ([]byte, error) { return marshal(o) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (v Attempt) MarshalJSON() ([]byte, error) { return marshal(v) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (r Result) MarshalJSON() ([]byte, error) { return marshal(r) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (c JWTConfig) MarshalJSON() ([]byte, error) { return marshal(c) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (m ClientMetadata) MarshalJSON() ([]byte, error) { return marshal(m) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (v WebAuthnAnswer) MarshalJSON() ([]byte, error) { return marshal(v) }

// MarshalJSON writes what LogValue returns, as a JSON string.
func (v WebAuthnExpectation) MarshalJSON() ([]byte, error) { return marshal(v) }

// The same for package fmt.

// Format prints what LogValue returns.
func (u User) Format(f fmt.State, _ rune) { format(f, u) }

// Format prints what LogValue returns.
func (s Session) Format(f fmt.State, _ rune) { format(f, s) }

// Format prints what LogValue returns.
func (p SignInParams) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (p LinkParams) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (p JWTParams) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (p SessionParams) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (p TokenRequest) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (p UserInfoRequest) Format(f fmt.State, _ rune) { format(f, p) }

// Format prints what LogValue returns.
func (e AuthorizationEndpoint) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e TokenEndpoint) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e UserInfoEndpoint) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (m ClientMetadata) Format(f fmt.State, _ rune) { format(f, m) }

// Format prints what LogValue returns.
func (c JWTConfig) Format(f fmt.State, _ rune) { format(f, c) }

// Format prints what LogValue returns.
func (m Message) Format(f fmt.State, _ rune) { format(f, m) }

// Format prints what LogValue returns.
func (o SignInOptions) Format(f fmt.State, _ rune) { format(f, o) }

// Format prints what LogValue returns.
func (r Result) Format(f fmt.State, _ rune) { format(f, r) }

// Format prints what LogValue returns.
func (e CreateUserEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e UpdateUserEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e LinkAccountEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e ReleaseEmailEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e SignInEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e SignInFailedEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e PasskeyClonedEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e PasskeyBackupEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e SignOutEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (e SessionEvent) Format(f fmt.State, _ rune) { format(f, e) }

// Format prints what LogValue returns.
func (v Account) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v TokenSet) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v Attempt) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v Config) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v Form) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v VerificationRequest) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v Email) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v OAuth) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v WebAuthnAnswer) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v WebAuthnExpectation) Format(f fmt.State, _ rune) { format(f, v) }

// Format prints what LogValue returns.
func (v Profile) Format(f fmt.State, _ rune) { format(f, v) }
