package mongo

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Adapter keeps all records in one database. It is safe for concurrent use,
// never closes its client and starts no goroutine.
type Adapter struct {
	users, accounts, sessions, tokens, authenticators collection
}

var (
	_ adapter.Adapter = (*Adapter)(nil)
	_ adapter.Sweeper = (*Adapter)(nil)
)

// Collections are the names of the collections. An empty name stands for its
// default, which is that of the Auth.js adapter.
type Collections struct {
	Users              string // users
	Accounts           string // accounts
	Sessions           string // sessions
	VerificationTokens string // verification_tokens
	Authenticators     string // authenticators
}

// Option changes an Adapter.
type Option func(*Collections)

// WithCollections sets the names of the collections.
func WithCollections(names Collections) Option {
	return func(c *Collections) { *c = names }
}

// New returns an adapter over the database, whose client stays the caller's. It
// does not touch the network.
func New(db *mgo.Database, options ...Option) (*Adapter, error) {
	if db == nil {
		return nil, errors.New("mongo: New: the database is nil")
	}
	var c Collections
	for _, o := range options {
		o(&c)
	}
	seen := map[string]bool{}
	var problems []error
	named := func(name, otherwise string) collection {
		if name == "" {
			name = otherwise
		}
		if seen[name] {
			problems = append(problems, fmt.Errorf("mongo: New: two kinds of record share the collection %q", name))
		}
		seen[name] = true
		return newCollection(db, name)
	}
	a := &Adapter{
		users:          named(c.Users, "users"),
		accounts:       named(c.Accounts, "accounts"),
		sessions:       named(c.Sessions, "sessions"),
		tokens:         named(c.VerificationTokens, "verification_tokens"),
		authenticators: named(c.Authenticators, "authenticators"),
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	return a, nil
}

// wrap puts the operation before an error, unless it is nil, and marks
// violations of unique indexes. What the server says of one is left out of the
// text, because it holds the key.
func wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case mgo.IsDuplicateKeyError(err) || errors.Is(err, errTaken):
		return &conflict{operation: operation, what: "the key is taken", cause: err}
	default:
		return fmt.Errorf("mongo: %s: %w", operation, err)
	}
}

// errTaken says that a key was found to be taken where the server did not say so.
var errTaken = errors.New("the key is taken")

// conflict is a violated unique index.
type conflict struct {
	operation, what string
	cause           error
}

func (e *conflict) Error() string   { return "mongo: " + e.operation + ": " + e.what }
func (e *conflict) Unwrap() []error { return []error{adapter.ErrConflict, e.cause} }

// required refuses empty keys [INPUT-14].
func required(fields ...string) error {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			return fmt.Errorf("%s is empty", fields[i])
		}
	}
	return nil
}

// storable refuses texts that BSON can't hold.
func storable(texts ...string) error {
	for _, s := range texts {
		if !utf8.ValidString(s) {
			return errors.New("a text is not UTF-8, which MongoDB can't keep")
		}
	}
	return nil
}

// lookup reports whether texts can be keys of a record: neither empty nor
// unstorable.
func lookup(texts ...string) bool {
	for _, s := range texts {
		if s == "" || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// objectID reads an ID. Only the form that the adapter returns is one: the
// digits of an ObjectID in other letters find nobody.
func objectID(id string) (bson.ObjectID, bool) {
	oid, err := bson.ObjectIDFromHex(id)
	return oid, err == nil && oid.Hex() == id
}
