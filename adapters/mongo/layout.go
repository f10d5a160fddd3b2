package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Collections are the names of the collections. An empty name means the default,
// which is the name that the Auth.js adapter uses.
type Collections struct {
	Users              string // users
	Accounts           string // accounts
	Sessions           string // sessions
	VerificationTokens string // verification_tokens
	Authenticators     string // authenticators
	Passwords          string // passwords, which Auth.js does not have

	prisma bool
}

// Prisma are the collections that @auth/prisma-adapter documents for MongoDB: User,
// Account, Session, VerificationToken and Authenticator. The ID of a credential is in _id.
// The fields createdAt and updatedAt of users, accounts and sessions are set to the present
// by an insert, and updatedAt by each change.
//
// With these collections EnsureIndexes makes nothing: Prisma makes the unique indexes, and
// would drop others (prisma db push). It compares them, and the error says what to write in
// schema.prisma. IndexChanges also returns the command that makes the collection of
// passwords, which no product has.
// https://authjs.dev/getting-started/adapters/prisma
func Prisma() Collections {
	return Collections{Users: "User", Accounts: "Account", Sessions: "Session", VerificationTokens: "VerificationToken", Authenticators: "Authenticator", prisma: true}
}

// WithCollections sets the names of the collections: those of a site, or [Prisma]. The
// adapter then has passwords only if their collection is there: see [Adapter.Missing].
func WithCollections(names Collections) Option {
	return option(func(o *settings) error {
		if o.named {
			return errors.New("WithCollections is given twice: a site has one set of collections")
		}
		o.names, o.named = names, true
		return nil
	})
}

// WithNewCollections lets the adapter begin with new collections beside collections that
// look like those of another authentication library. The users in those are then unknown
// to the adapter. Without this option the first call fails, because a forgotten
// [WithCollections] is the usual reason.
func WithNewCollections() Option {
	return option(func(o *settings) error { o.newCollections = true; return nil })
}

// allowed returns an error for a name that MongoDB does not allow.
func allowed(name string) error {
	if strings.ContainsAny(name, "$\x00") || strings.HasPrefix(name, "system.") {
		return fmt.Errorf("the collection %q: a name has no dollar sign and no null, and does not begin with system", name)
	}
	return nil
}

// literal is the names in Go, for advice.
func (c Collections) literal() string {
	fits := func(name, prismas string) bool { return name == "" || name == prismas }
	if p := Prisma(); fits(c.Users, p.Users) && fits(c.Accounts, p.Accounts) && fits(c.Sessions, p.Sessions) &&
		fits(c.VerificationTokens, p.VerificationTokens) && fits(c.Authenticators, p.Authenticators) {
		return "mongo.Prisma()"
	}
	var fields []string
	for _, f := range []struct{ field, name string }{{"Users", c.Users}, {"Accounts", c.Accounts}, {"Sessions", c.Sessions},
		{"VerificationTokens", c.VerificationTokens}, {"Authenticators", c.Authenticators}} {
		if f.name != "" {
			fields = append(fields, fmt.Sprintf("%s: %q", f.field, f.name))
		}
	}
	return "mongo.Collections{" + strings.Join(fields, ", ") + "}"
}

// RequiresEmail reports whether users without an e-mail address are refused. It is true for
// [Prisma] while the unique index of User.email holds users without an address too, so that
// only one user could have none. It is known from the first call on.
func (a *Adapter) RequiresEmail() bool { return a.site.needsEmail.Load() }

var errNeedsEmail = errors.New("the user has no e-mail address, and the unique index of addresses lets only one user have none: IndexChanges returns the commands for an index that lets all")

// hasEmail checks the database, and returns an error for a user without an address if the
// collection has no room for many of them.
func (s *site) hasEmail(ctx context.Context, email string) error {
	if err := s.check(ctx); err != nil {
		return err
	}
	if email == "" && s.needsEmail.Load() {
		return errNeedsEmail
	}
	return nil
}

// checkEmailIndex finds out whether the unique index of addresses holds users without one.
// Without the right to list indexes it is taken to do so.
func (s *site) checkEmailIndex(ctx context.Context) error {
	if !s.forms.prisma {
		return nil
	}
	all, err := s.users.listIndexes(ctx)
	if isCode(err, unauthorized) {
		return nil
	}
	if err == nil {
		s.needsEmail.Store(slices.ContainsFunc(all, holdsAll))
	}
	return err
}

// holdsAll reports whether an index of addresses holds users without an address.
func holdsAll(e existing) bool {
	return e.Unique && e.Partial == nil && !e.Sparse && index{fields: []string{"email"}}.on(e.Key)
}
