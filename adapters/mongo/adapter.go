package mongo

import (
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
	client                                            *mgo.Client
	users, accounts, sessions, tokens, authenticators collection

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
	_ adapter.TokenEdits           = (*Adapter)(nil)
)

// Collections are the names of the collections. An empty name means the default,
// which is the name that the Auth.js adapter uses.
type Collections struct {
	Users              string // users
	Accounts           string // accounts
	Sessions           string // sessions
	VerificationTokens string // verification_tokens
	Authenticators     string // authenticators
}

// Option changes what New does by default.
type Option interface{ apply(*settings) }

type settings struct {
	names  Collections
	prefix string
}

type option func(*settings)

func (f option) apply(o *settings) { f(o) }

// WithCollections sets the names of the collections.
func WithCollections(names Collections) Option {
	return option(func(o *settings) { o.names = names })
}

// WithPrefix puts prefix before the name of every collection: with "auth_" the
// users are in auth_users. The default is no prefix, as in Auth.js.
func WithPrefix(prefix string) Option {
	return option(func(o *settings) { o.prefix = prefix })
}

// New returns an adapter over the database. The caller keeps and closes the
// client. New does not touch the network.
func New(db *mgo.Database, with ...Option) (*Adapter, error) {
	if db == nil {
		return nil, errors.New("mongo: New: the database is nil")
	}
	var o settings
	for _, opt := range with {
		opt.apply(&o)
	}
	seen := map[string]bool{}
	var problems []error
	named := func(name, otherwise string) collection {
		if name == "" {
			name = otherwise
		}
		name = o.prefix + name
		if seen[name] {
			problems = append(problems, fmt.Errorf("mongo: New: two kinds of record have the same collection %q", name))
		}
		seen[name] = true
		return newCollection(db, name)
	}
	a := &Adapter{
		client:         db.Client(),
		users:          named(o.names.Users, "users"),
		accounts:       named(o.names.Accounts, "accounts"),
		sessions:       named(o.names.Sessions, "sessions"),
		tokens:         named(o.names.VerificationTokens, "verification_tokens"),
		authenticators: named(o.names.Authenticators, "authenticators"),
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return a, nil
}
