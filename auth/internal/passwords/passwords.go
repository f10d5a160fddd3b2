// Package passwords is what the core and package auth/password know of each
// other: how passwords are hashed and kept, how wrong ones are counted, and how
// the tokens of mails about passwords are made.
package passwords

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Settings are those of a provider. Package auth/password makes them.
type Settings struct {
	Adapter adapter.Adapter
	Hasher  Hasher
	From    string
	Server  string
	Send    func(ctx context.Context, m Mail) error
	// Problem is what is wrong with the settings, or nil.
	Problem error
}

// Hasher hashes and checks passwords. A *Busy error means that too many calls
// wait; another one is about the stored hash, or says that the context ended.
type Hasher interface {
	Hash(ctx context.Context, client, password string) (string, error)
	// Check does the same work for each hash, and for the empty one, which matches
	// nothing. Rehash is a new hash of a password that matches, or empty.
	Check(ctx context.Context, client, stored, password string) (matches bool, rehash string, err error)
	// Refuse returns why a new password is not accepted, or "". The words are those
	// of the user and the site.
	Refuse(ctx context.Context, password string, words ...string) Reason
	// Min is the number of code points of the shortest password.
	Min() int
}

// Reason is why a password is not accepted, as password.Refusal names it.
type Reason string

// MaxBytes is the length in bytes of the longest password that is looked at, and
// MaxCharacters the number of code points of the longest one that is accepted.
const (
	MaxBytes      = 4096
	MaxCharacters = 128
)

// Busy says that too many passwords wait to be hashed.
type Busy struct{ RetryAfter time.Duration }

// Error says so.
func (b *Busy) Error() string { return "too many passwords wait to be hashed" }

// Mail is a mail about a password. It logs without its secrets.
type Mail struct {
	// To is the address, and Subject, Text and HTML are the mail.
	To, Subject, Text, HTML string
	// Kind says what the mail is about.
	Kind Kind
	// URL is the link in the mail, or empty. Whoever has it can choose the password.
	URL string
	// Expires is when the link ends.
	Expires time.Time
}

// LogValue keeps the link out of logs.
func (m Mail) LogValue() slog.Value { return slog.StringValue(string(m.Kind)) }

// Format prints the kind of the mail only.
func (m Mail) Format(f fmt.State, _ rune) { _, _ = fmt.Fprintf(f, "mail: %s", string(m.Kind)) }

// Kind is what a mail is about.
type Kind string

// The kinds of mails. SignUpKnown answers a sign-up with the address of a user. A
// forgotten password of nobody is answered by SignUp.
const (
	SignUp      Kind = "sign-up"
	SignUpKnown Kind = "sign-up-known"
	Reset       Kind = "reset"
	Changed     Kind = "changed"
	Removed     Kind = "removed"
)
