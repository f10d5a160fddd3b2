package mongo

import (
	"context"
	"errors"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Passwords are in a collection of their own, so that no program that reads users gets a
// hash. The _id of a password is the ID of its user: a user has one at most. A user who is
// deleted takes it along as all other records, see owner.go.

func decodePassword(raw bson.Raw) (*adapter.Password, error) {
	d := &document{raw: raw}
	p := &adapter.Password{UserID: d.id("_id").Hex(), Hash: d.text("hash"), State: optional(d.optional("state"))}
	return p, d.err
}

func newPassword(ownerID bson.ObjectID, p adapter.Password) fields {
	return fields{{Key: "_id", Value: ownerID}, {Key: "userId", Value: ownerID}, {Key: "hash", Value: p.Hash}, {Key: "state", Value: p.State}}
}

// CreateUserWithPassword implements adapter.Passwords. It uses a transaction where the
// server supports transactions. On a standalone server it stores the password first: no
// lookup finds it before the user is stored.
func (a *Adapter) CreateUserWithPassword(ctx context.Context, user adapter.User, password adapter.Password) (*adapter.User, error) {
	const op = "create user with password"
	doc, stored, err := newUser(user)
	if err = errors.Join(password.Check(), err); err != nil {
		return nil, wrap(op, err)
	}
	id, _ := objectID(stored.ID)
	s := &signUp{id: id, user: doc, owned: []ownedDocument{{a.passwords, id, byID(id), newPassword(id, password)}}}
	if err := a.site.hasPasswords(ctx); err != nil {
		return nil, wrap(op, err)
	}
	if err := a.site.hasEmail(ctx, user.Email); err != nil {
		return nil, wrap(op, err)
	}
	atOnce, err := a.askTransactions(ctx)
	switch {
	case err != nil:
	case atOnce:
		err = a.signUpAtOnce(ctx, s)
	default:
		if err = a.passwords.insert(ctx, s.owned[0].doc); err == nil {
			err = a.users.insert(ctx, s.user)
		}
		if err != nil {
			err = errors.Join(err, a.undo(ctx, s, err))
		}
	}
	if err != nil {
		return nil, wrap(op, err)
	}
	return stored, nil
}

// GetPassword implements adapter.Passwords.
func (a *Adapter) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	const op = "get password"
	ownerID, ok := objectID(userID)
	if err := a.site.hasPasswords(ctx); err != nil || !ok {
		return nil, wrap(op, err)
	}
	found, err := a.findOwned(ctx, a.passwords, byID(ownerID))
	if err != nil || found == nil {
		return nil, wrap(op, err)
	}
	p, err := decodePassword(found.raw)
	if err != nil {
		return nil, wrap(op, err)
	}
	return p, nil
}

// SetPassword implements adapter.Passwords. It takes two round trips.
func (a *Adapter) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	const op = "set password"
	if err := password.Check(); err != nil {
		return nil, wrap(op, err)
	}
	ownerID, ok := objectID(password.UserID)
	if err := a.site.hasPasswords(ctx); err != nil || !ok {
		return nil, wrap(op, firstOf(err, errNoUser))
	}
	if err := a.setPassword(ctx, ownerID, password); err != nil {
		return nil, wrap(op, err)
	}
	return &password, nil
}

// setPassword stores the password and then looks for the user, as create does.
func (a *Adapter) setPassword(ctx context.Context, ownerID bson.ObjectID, password adapter.Password) error {
	err := a.passwords.upsert(ctx, newPassword(ownerID, password))
	if isTaken(err) { // another call has stored the first one at the same moment
		err = a.passwords.upsert(ctx, newPassword(ownerID, password))
	}
	if err != nil {
		return err
	}
	there, err := a.exists(ctx, ownerID)
	if err != nil || there {
		return err
	}
	_, err = a.passwords.delete(ctx, byID(ownerID))
	return firstOf(err, errNoUser)
}

// upsert stores a document, or replaces the one with its _id.
func (c collection) upsert(ctx context.Context, document fields) error {
	return c.write(ctx, rightUpdate, func() error {
		_, err := c.ReplaceOne(abortable{ctx}, byID(document[0].Value), bson.D(document), options.Replace().SetUpsert(true))
		return err
	})
}

// SwapPassword implements adapter.Passwords.
func (a *Adapter) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	const op = "swap password"
	if err := to.Check(); err != nil {
		return nil, wrap(op, err)
	}
	ownerID, ok := objectID(from.UserID)
	if err := a.site.hasPasswords(ctx); err != nil || !ok || from.Check() != nil {
		return nil, wrap(op, err)
	}
	var state any = from.State
	if from.State == "" { // an operator may have stored none
		state = bson.D{{Key: "$in", Value: bson.A{"", nil}}}
	}
	filter := append(byID(ownerID), bson.E{Key: "hash", Value: from.Hash}, bson.E{Key: "state", Value: state})
	raw, err := a.passwords.change(ctx, filter, bson.D{{Key: "$set", Value: bson.D{{Key: "hash", Value: to.Hash}, {Key: "state", Value: to.State}}}})
	if err != nil || raw == nil {
		return nil, wrap(op, err)
	}
	to.UserID = from.UserID
	return &to, nil
}

// DeletePassword implements adapter.Passwords. With keepOne the call reserves the user, as
// DeleteAuthenticator does.
func (a *Adapter) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	const op = "delete password"
	ownerID, ok := objectID(userID)
	if err := a.site.hasPasswords(ctx); err != nil || !ok {
		return nil, wrap(op, err)
	}
	var taken bson.Raw
	take := func(ctx context.Context) (err error) {
		taken, err = a.passwords.take(ctx, byID(ownerID))
		return err
	}
	var err error
	if keepOne {
		err = a.reserved(ctx, ownerID, func(ctx context.Context) error {
			there, err := a.passwords.find(ctx, byID(ownerID))
			if err != nil || there == nil {
				return err
			}
			if last, err := a.isOnlyPassword(ctx, ownerID); err != nil || last {
				return firstOf(err, adapter.ErrLastCredential)
			}
			return take(ctx)
		})
	} else {
		err = take(ctx)
	}
	if err != nil || taken == nil {
		return nil, wrap(op, err)
	}
	p, err := decodePassword(taken)
	if err != nil {
		return nil, wrap(op, err)
	}
	return p, nil
}

// isOnlyPassword reports whether the user has neither an authenticator nor an account.
func (a *Adapter) isOnlyPassword(ctx context.Context, ownerID bson.ObjectID) (bool, error) {
	owned := bson.D{{Key: "userId", Value: ownerID}}
	passkey, err := a.authenticators.find(ctx, owned)
	if err != nil || passkey != nil {
		return false, err
	}
	account, err := a.accounts.find(ctx, append(owned, bson.E{Key: endsWithField, Value: nil}))
	return err == nil && account == nil, err
}

// hasPassword reports whether the user has a password, as far as the database has a place
// for it.
func (a *Adapter) hasPassword(ctx context.Context, ownerID bson.ObjectID) (bool, error) {
	if a.site.noPasswords.Load() != nil {
		return false, nil
	}
	raw, err := a.passwords.find(ctx, byID(ownerID))
	return raw != nil, err
}

// others reports whether the collections are those of others, which WithCollections names.
func (s *site) others() bool { return s.names != Collections{} }

// Missing lists the methods of adapter.Passwords while the database has no place for them.
// With [WithCollections] it lists them until the first call has found the collection: call
// EnsureIndexes or CheckIndexes before auth.New.
func (a *Adapter) Missing() []string {
	lacks := a.site.noPasswords.Load() != nil
	if !a.site.checked.Load() {
		lacks = a.site.others()
	}
	if !lacks {
		return nil
	}
	return []string{"CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"}
}

// hasPasswords checks the database, and returns an error if it has no place for passwords.
func (s *site) hasPasswords(ctx context.Context) error {
	if err := s.absent(ctx); err != nil {
		return err
	}
	if why := s.noPasswords.Load(); why != nil {
		return fmt.Errorf("%w: %s", adapter.ErrUnsupported, *why)
	}
	return nil
}

// checkPasswords finds out whether the database has a place for passwords. Among collections
// of others the adapter makes none; and one of the application may have the name.
func (s *site) checkPasswords(ctx context.Context, specs []mgo.CollectionSpecification) error {
	why, err := s.whyNoPasswords(ctx, specs)
	if err != nil {
		return err
	}
	s.noPasswords.Store(nil)
	if why != "" {
		s.noPasswords.Store(&why)
	}
	return nil
}

func (s *site) whyNoPasswords(ctx context.Context, specs []mgo.CollectionSpecification) (string, error) {
	name, there := s.passwords.Name(), false
	for _, spec := range specs {
		if spec.Name == name {
			there = true
			if err := s.checkKind(spec); err != nil {
				return err.Error(), nil //nolint:nilerr // the error is the reason
			}
		}
	}
	switch {
	case !there && s.others():
		return fmt.Sprintf("the collection %s is missing: IndexChanges returns the command that makes it", name), nil
	case !there:
		return "", nil
	}
	if s.others() {
		lacks, err := s.lacksRights(ctx, []collection{s.passwords}, s.rights)
		if err != nil || lacks != "" {
			return lacks, err
		}
	}
	isText := bson.D{{Key: "$type", Value: "string"}}
	found, err := s.passwords.aggregateNow(ctx, bson.D{{Key: "$limit", Value: int32(20)}}, bson.D{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "hash", Value: bson.D{{Key: "$not", Value: isText}}}}, bson.D{{Key: "_id", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$type", Value: "objectId"}}}}}},
	}}}}})
	if err != nil || len(found) == 0 {
		return "", err
	}
	return fmt.Sprintf("the collection %s has documents of another kind: WithCollections gives another name for that of the passwords", name), nil
}
