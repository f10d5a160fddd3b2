package auth

import (
	"context"
	"fmt"
	"log/slog"
	"net/mail"
	"reflect"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/pages"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Password is the provider that password.Provider makes. A person signs in with
// address and password, and proves the address with a mail before the password is
// chosen. What the store has of the password says whether it is a way to sign in.
type Password struct{ settings passwords.Settings }

// LogValue keeps the settings out of logs.
func (Password) LogValue() slog.Value { return slog.StringValue("password") }

// Format prints no setting.
func (Password) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, "password") }

// NewPassword is called by password.Provider, which makes the settings.
func NewPassword(s passwords.Settings) *Password { return &Password{s} }

func (p *Password) id() string { return "password" }

func (p *Password) displayName() string { return "Password" }

func (p *Password) kind() ProviderType { return TypeCredentials }

// wayIn is what the page about a held address calls the provider.
func (p *Password) wayIn() pages.Credentials { return pages.Credentials{Password: true} }

// fields are the inputs of the sign-in page.
func (p *Password) fields(t *texts.Texts) []Field {
	return []Field{
		{Name: "email", Label: t.Common.Address, Type: "email", Identifier: true, Attributes: map[string]string{"autocomplete": "username", "required": ""}},
		{Name: "password", Label: t.Password.Label, Type: "password", Attributes: map[string]string{"autocomplete": "current-password", "required": ""}},
	}
}

// mailer is what sends the mails: the settings of the provider, or those of an
// e-mail provider with a server.
func (c *Config) mailer(p *Password) (from, server string) {
	if p.settings.Server != "" || p.settings.Send != nil {
		return p.settings.From, p.settings.Server
	}
	for _, other := range c.Providers {
		if e, ok := other.(*Email); ok && e != nil && e.Server != "" {
			return e.From, e.Server
		}
	}
	return p.settings.From, ""
}

// checkPassword checks password.Provider.
func (c *Config) checkPassword(p *Password, problem func(ErrorType, Provider, string, ...any)) {
	if p.settings.Problem != nil {
		problem(ErrInvalidProvider, p, "%v", p.settings.Problem)
	}
	if !c.knowsItsHosts() {
		problem(ErrInvalidProvider, p, "set Config.URL (AUTH_URL) or Config.Origins: a Host header that a stranger chose must not stand in a mail with which a password is chosen")
	}
	switch from, server := c.mailer(p); {
	case p.settings.Send != nil:
	case server == "":
		problem(ErrInvalidProvider, p, "one of Settings.Server, Settings.Send and a provider *auth.Email with a Server is needed")
	default:
		if _, err := smtpClient(context.Background(), server); err != nil {
			problem(ErrInvalidProvider, p, "%v", err)
		}
		if _, err := mail.ParseAddress(from); err != nil {
			problem(ErrInvalidProvider, p, "From is missing or is not an e-mail address")
		}
	}
	if c.Adapter == nil {
		problem(ErrMissingAdapter, p, "set Config.Adapter, which keeps the passwords")
		return
	}
	if given := p.settings.Adapter; given == nil || reflect.TypeOf(given) == reflect.TypeOf(c.Adapter) && reflect.TypeOf(given).Comparable() && given != c.Adapter {
		problem(ErrInvalidProvider, p, "its adapter is not Config.Adapter")
	}
	if _, ok := adapter.Capability[adapter.Passwords](c.Adapter); !ok {
		problem(ErrMissingAdapterMethods, p, "the adapter has no adapter.Passwords: if it serves tables of others, run the statements of its SchemaChanges, "+
			"which make the table for passwords, and start again; otherwise use an adapter that keeps passwords")
	}
	if _, ok := adapter.Capability[adapter.TokenEdits](c.Adapter); !ok {
		problem(ErrMissingAdapterMethods, p, "the adapter has no adapter.TokenEdits, with which a used link ends the others")
	}
	if _, ok := adapter.Capability[adapter.SessionLists](c.Adapter); !ok && c.Session.Strategy == StrategyDatabase {
		problem(ErrMissingAdapterMethods, p, "the adapter has no adapter.SessionLists, with which a new password ends the other sessions")
	}
}
