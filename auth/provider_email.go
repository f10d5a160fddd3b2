package auth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/internal/redact"
	"github.com/gatehouse-go/gatehouse/auth/texts"
)

// Email is a provider that mails a link. The link signs in once, before it
// expires. In the browser that asked for the link it works at once; in any
// other browser a page asks first. The provider needs an adapter. See
// docs/protocol.md, "Records".
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
	// APIKey is the key of a mail service, for its SendVerificationRequest.
	APIKey string
	// MaxAge is how long a link is valid; the default is 24 hours. With Code it is
	// ten minutes, and no longer time is accepted.
	MaxAge time.Duration
	// Secret holds the secrets with which tokens are hashed, in place of
	// Config.Secret. New tokens are hashed with the first secret; a token is
	// accepted with each of them.
	Secret []string
	// NormalizeIdentifier turns the submitted text into an address. The mail is
	// sent to this address, and the user is looked up and stored with it. The
	// default is NormalizeEmail.
	NormalizeIdentifier func(submitted string) (string, error)
	// Code puts a code of six digits into the mail, beside the link. A person may
	// type it on the page verify-request, in the browser that asked for the mail; it
	// and the link use up one token. Code needs Config.URL, an adapter as for
	// GenerateVerificationToken, and no GenerateVerificationToken. A person can be
	// talked into giving a code away: see SECURITY.md.
	Code bool
	// GenerateVerificationToken makes the token of a link. The default, which is
	// also used if it returns "", is 16 random bytes and a MAC of 16 bytes, in
	// hexadecimal. A token with less than 128 bits, such as a code of six digits,
	// is a code: it counts only in the browser that asked for the mail, and has
	// five tries; an address has 30 wrong codes a day (UTC). The link has a longer
	// token. Codes need an adapter with adapter.TokenEdits whose
	// CreateVerificationToken returns ErrConflict for a token that is stored.
	GenerateVerificationToken func(ctx context.Context) (string, error)
	// Message writes the mail; the default is EmailMessage.
	Message func(p VerificationRequest) (Message, error)
	// SendVerificationRequest sends the mail; the default sends it through Server.
	// The token is stored before the call.
	SendVerificationRequest func(ctx context.Context, p VerificationRequest) error

	// Complete, if set, is called by New, on a copy whose APIKey has been taken
	// from the environment. It fills in the fields that depend on the key. New
	// reports its error as a problem of the configuration.
	Complete func(p *Email) error
}

// VerificationRequest is the argument of Email.SendVerificationRequest. It
// holds secrets and logs as [redacted].
type VerificationRequest struct {
	// Identifier is the address to mail to.
	Identifier string
	// URL is the link, which contains the token.
	URL string
	// Token is the token in the link, or the code if there is one. Only the hash of
	// the token in the link is stored.
	Token string
	// Code is the code that the person may type in the browser that asked for the
	// mail, in place of opening the link; empty if the mail has none.
	Code string
	// Expires is the instant from which the link is not valid.
	Expires time.Time
	// Provider is the provider, with its defaults filled in.
	Provider Email
	Theme    Theme
	// Texts are the texts in the language of Request; nil means English.
	Texts *texts.Texts
	// Request is the request that asked for the link. Its body can be read.
	Request *http.Request

	redact.Shown // prints no secret
}

// Message is a mail.
type Message struct {
	Subject string
	Text    string
	HTML    string
}

func (p *Email) id() string { return cmp.Or(p.ID, "email") }

// maxAge is how long a link and its code are valid.
func (p *Email) maxAge() time.Duration {
	switch {
	case p.MaxAge != 0:
		return p.MaxAge
	case p.Code:
		return codeMaxAge
	}
	return defaultEmailMaxAge
}

func (p *Email) displayName() string { return cmp.Or(p.Name, "Email") }

func (p *Email) kind() ProviderType { return TypeEmail }

// LogValue keeps secrets out of logs.
func (p Email) LogValue() slog.Value { return slog.StringValue(p.id()) }
