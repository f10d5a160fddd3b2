package auth

import (
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Email is a provider that mails a link, which signs in once, until it expires:
// at once in the browser that asked for it, and elsewhere after a page has asked.
// It needs an adapter. See docs/protocol.md, "Records".
type Email struct {
	// ID is part of the URL; the default is email.
	ID string
	// Name is shown; the default is Email.
	Name string
	// From is the sender, such as "Example <no-reply@example.com>".
	From string
	// Server is the SMTP server that SendVerificationRequest uses by default, as
	// smtp://user:password@host:port or smtps://… (TLS from the first byte).
	// With smtp, STARTTLS is required unless the host is a loopback address.
	// Either Server or SendVerificationRequest is required.
	Server string
	// APIKey is for the SendVerificationRequest of mail services.
	APIKey string
	// MaxAge is how long a link is good for; the default is 24 hours.
	MaxAge time.Duration
	// Secret is what the tokens are hashed with, in place of Config.Secret. The
	// first is used for new tokens, all are accepted.
	Secret []string
	// NormalizeIdentifier turns what was submitted into the one address that is
	// mailed, looked up and stored. The default is NormalizeEmail.
	NormalizeIdentifier func(submitted string) (string, error)
	// GenerateVerificationToken makes the token of a link. The default, also
	// when it returns "", is 16 random bytes and a MAC in hexadecimal. A token with
	// less than 128 bits, such as a code of six digits, needs an adapter with
	// adapter.TokenEdits: it has five tries, and a new one ends the older ones.
	GenerateVerificationToken func(ctx context.Context) (string, error)
	// Message writes the mail; the default is EmailMessage.
	Message func(p VerificationRequest) (Message, error)
	// SendVerificationRequest sends the mail; the default does so through
	// Server. The token is in the store when it is called.
	SendVerificationRequest func(ctx context.Context, p VerificationRequest) error

	// Complete, if set, is called by New, on a copy whose APIKey has been taken
	// from the environment. It fills in what depends on it. Its error is a
	// problem of the configuration.
	Complete func(p *Email) error
}

// VerificationRequest is the argument of Email.SendVerificationRequest. It
// holds secrets and logs as [redacted].
type VerificationRequest struct {
	// Identifier is the address to mail to.
	Identifier string
	// URL is the link, which contains the token.
	URL string
	// Token is the token in the link. Only its hash is stored.
	Token string
	// Expires is the instant from which the link is void.
	Expires time.Time
	// Provider is the provider, with its defaults filled in.
	Provider Email
	Theme    Theme
	// Request is the request that asked for the link. Its body can be read.
	Request *http.Request
}

// Message is a mail.
type Message struct {
	Subject string
	Text    string
	HTML    string
}

func (p *Email) id() string {
	if p.ID == "" {
		return "email"
	}
	return p.ID
}

func (p *Email) displayName() string {
	if p.Name == "" {
		return "Email"
	}
	return p.Name
}

func (p *Email) kind() ProviderType { return TypeEmail }

// LogValue keeps link and token out of logs.
func (VerificationRequest) LogValue() slog.Value { return slog.StringValue(redacted) }

// LogValue keeps secrets out of logs.
func (p Email) LogValue() slog.Value { return slog.StringValue(p.id()) }
