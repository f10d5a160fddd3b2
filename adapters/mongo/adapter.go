package mongo

import (
	"cmp"
	"errors"
	"fmt"
	"sync/atomic"

	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter keeps all records in one database. It is safe for concurrent use and
// never closes its client. It starts a goroutine only to end a transaction whose
// call failed at its deadline or lost the server. The goroutine makes three requests,
// and tries again for half a minute if it can't reach the server.
type Adapter struct {
	client *mgo.Client
	records
	site  *site
	forms forms

	// transactions says whether the server supports transactions: unknown,
	// hasTransactions or hasNone.
	transactions atomic.Int32
}

var (
	_ adapter.Adapter              = (*Adapter)(nil)
	_ adapter.Sweeper              = (*Adapter)(nil)
	_ adapter.SignUps              = (*Adapter)(nil)
	_ adapter.AccountLists         = (*Adapter)(nil)
	_ adapter.SessionLists         = (*Adapter)(nil)
	_ adapter.AuthenticatorEdits   = (*Adapter)(nil)
	_ adapter.AuthenticatorBackups = (*Adapter)(nil)
	_ adapter.EmailRequirer        = (*Adapter)(nil)
	_ adapter.TokenEdits           = (*Adapter)(nil)
	_ adapter.Passwords            = (*Adapter)(nil)
)

// records are the collections of the adapter.
type records struct{ users, accounts, sessions, tokens, authenticators, passwords collection }

// all returns the collections without that of passwords, which a site may lack.
func (r *records) all() []collection {
	return []collection{r.users, r.accounts, r.sessions, r.tokens, r.authenticators}
}

// forms are the forms of documents.
type forms struct {
	prisma     bool   // the collections are Prisma's
	credential string // the field of an authenticator that has the ID of the credential
}

// site is the database as others have made it, and what the application says about it.
type site struct {
	records
	db             *mgo.Database
	names          Collections // as given
	prefix         string
	newCollections bool
	forms          forms
	demotion       *demotion

	checked    atomic.Bool // check has found that the database is right
	needsEmail atomic.Bool // see RequiresEmail

	noPasswords atomic.Pointer[string] // why there is no place for passwords, or nil
}

// Option changes what New does by default.
type Option interface{ apply(*settings) error }

type settings struct {
	names          Collections
	named          bool
	prefix         string
	newCollections bool
}

type option func(*settings) error

func (f option) apply(o *settings) error { return f(o) }

// WithPrefix puts prefix before the name of every collection: with "auth_" the
// users are in auth_users. The default is no prefix, as in Auth.js.
func WithPrefix(prefix string) Option {
	return option(func(o *settings) error { o.prefix = prefix; return nil })
}

// New returns an adapter over the database. The caller keeps and closes the
// client. New does not touch the network. The first call of the adapter checks the rights
// of the database user, the collections, and how others have stored their values.
func New(db *mgo.Database, with ...Option) (*Adapter, error) {
	if db == nil {
		return nil, errors.New("mongo: New: the database is nil")
	}
	var o settings
	var problems []error
	for _, opt := range with {
		problems = append(problems, opt.apply(&o))
	}
	on := &site{db: db, demotion: &demotion{db: db}, names: o.names, prefix: o.prefix, newCollections: o.newCollections, forms: forms{prisma: o.names.prisma, credential: "credentialID"}}
	if o.names.prisma {
		on.forms.credential = "_id"
		on.needsEmail.Store(true)
	}
	seen := map[string]bool{}
	named := func(name, otherwise string, unique ...string) collection {
		name = o.prefix + cmp.Or(name, otherwise)
		if seen[name] {
			problems = append(problems, fmt.Errorf("two kinds of record have the same collection %q", name))
		}
		seen[name] = true
		problems = append(problems, allowed(name))
		return on.collection(name, unique)
	}
	on.users = named(o.names.Users, "users", "email")
	on.accounts = named(o.names.Accounts, "accounts", "provider", "providerAccountId")
	on.sessions = named(o.names.Sessions, "sessions", "sessionToken")
	on.tokens = named(o.names.VerificationTokens, "verification_tokens", "identifier", "token")
	on.authenticators = named(o.names.Authenticators, "authenticators", on.forms.credential)
	on.passwords = named(o.names.Passwords, "passwords")
	on.users.stamped, on.accounts.stamped, on.sessions.stamped = o.names.prisma, o.names.prisma, o.names.prisma
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("mongo: New: %w", err)
	}
	return &Adapter{client: db.Client(), records: on.records, site: on, forms: on.forms}, nil
}
