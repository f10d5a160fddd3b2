package password

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
)

// Mail is a mail about a password: the address, the text, and what it is about.
// Whoever has the link in it can choose the password.
type Mail = passwords.Mail

// MailKind is what a [Mail] is about.
type MailKind = passwords.Kind

// The kinds of mails.
const (
	MailSignUp      = passwords.SignUp
	MailSignUpKnown = passwords.SignUpKnown // somebody signs up with the address of a user
	MailReset       = passwords.Reset
	MailChanged     = passwords.Changed
	MailRemoved     = passwords.Removed
)

// Settings are those of [Provider]. Either Server and From or Send is needed,
// unless the configuration has an *auth.Email with a Server.
type Settings struct {
	// Hashing has the settings of the hashes, and the formats that users brought along.
	Hashing Options
	// Rules say which new passwords are accepted.
	Rules Rules
	// From is the sender of mails, such as "Example <no-reply@example.com>", and
	// Server the SMTP server, as for auth.Email.
	From, Server string
	// Send sends a mail in place of the SMTP server.
	Send func(ctx context.Context, m Mail) error
}

// Provider is a way to sign in with address and password. Its ID is password. The
// adapter is that of the configuration, and must have adapter.Passwords. The pages
// of the provider are below the base path: password/sign-up, password/forgot,
// password/change and password/remove. What is wrong with the settings is reported
// by auth.New.
//
// A person proves an address with the link of a mail, and chooses the password
// after that, in the browser that opened the link. Use database sessions: with
// session tokens, each reading of a session asks the store whether the password was
// changed.
func Provider(a adapter.Adapter, s Settings) *auth.Password {
	made := passwords.Settings{Adapter: a, From: s.From, Server: s.Server, Send: s.Send}
	h, err := NewHasher(s.Hashing)
	made.Problem = errors.Join(err, s.Rules.Validate())
	made.Hasher = &core{h, s.Rules}
	return auth.NewPassword(made)
}

// core is what package auth sees of a Hasher.
type core struct {
	hasher *Hasher
	rules  Rules
}

// ofCore turns the errors of this package into those that the core knows.
func ofCore(err error) error {
	if busy, ok := errors.AsType[*BusyError](err); ok {
		return &passwords.Busy{RetryAfter: busy.RetryAfter}
	}
	return err
}

func (c *core) Hash(ctx context.Context, client, password string) (string, error) {
	hash, err := c.hasher.Hash(ctx, client, password)
	return hash, ofCore(err)
}

func (c *core) Check(ctx context.Context, client, stored, password string) (bool, string, error) {
	done, err := c.hasher.Check(ctx, client, stored, password)
	return done.Matches, done.Rehash, ofCore(err)
}

func (c *core) Refuse(ctx context.Context, password string, words ...string) passwords.Reason {
	refusal, _ := errors.AsType[Refusal](c.rules.Check(ctx, password, words...))
	return passwords.Reason(refusal)
}

func (c *core) Min() int { return c.rules.Min() }
