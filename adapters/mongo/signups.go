package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// pendingField marks the account and the authenticator of a sign-up without a
// transaction until the user is stored.
const pendingField = "gatehousePending"

// signUp has the documents that CreateUserWithAccount inserts.
type signUp struct {
	id    bson.ObjectID
	user  fields
	owned []ownedDocument
}

type ownedDocument struct {
	collection collection
	id         any
	key        bson.D
	doc        fields
}

// CreateUserWithAccount implements adapter.SignUps. It uses a transaction where
// the server supports transactions. On a standalone server it stores the
// account first, then the authenticator, then the user. No lookup finds the
// account and the authenticator before the user is stored. So a call that fails
// leaves either all of the records, or records that no lookup finds and whose
// keys are free.
func (a *Adapter) CreateUserWithAccount(ctx context.Context, user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	s, stored, err := a.newSignUp(user, account, authenticator)
	if err != nil {
		return nil, wrap("create user with account", err)
	}
	if err := a.site.hasEmail(ctx, user.Email); err != nil {
		return nil, wrap("create user with account", err)
	}
	atOnce, err := a.askTransactions(ctx)
	switch {
	case err != nil:
	case atOnce:
		err = a.signUpAtOnce(ctx, s)
	default:
		err = a.signUpInOrder(ctx, s)
	}
	if err != nil {
		return nil, wrap("create user with account", err)
	}
	return stored, nil
}

func (a *Adapter) newSignUp(user adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*signUp, *adapter.User, error) {
	if err := required("provider", account.Provider, "providerAccountId", account.ProviderAccountID); err != nil {
		return nil, nil, err
	}
	doc, stored, err := newUser(user)
	if err != nil {
		return nil, nil, err
	}
	s := &signUp{user: doc}
	s.id, _ = objectID(stored.ID)
	add := func(c collection, key bson.D, doc fields) {
		id, doc := ownedBy(s.id, doc)
		s.owned = append(s.owned, ownedDocument{c, id, key, doc})
	}
	if doc, _, err = a.forms.newAccount(account); err != nil {
		return nil, nil, err
	}
	add(a.accounts, accountFilter(account.Key()), doc)
	if authenticator == nil {
		return s, stored, nil
	}
	if err := required("credentialID", authenticator.CredentialID); err != nil {
		return nil, nil, err
	}
	if doc, _, err = a.forms.newAuthenticator(*authenticator); err != nil {
		return nil, nil, err
	}
	add(a.authenticators, a.forms.authenticatorFilter(authenticator.CredentialID), doc)
	return s, stored, nil
}

// signUpAtOnce stores a sign-up in a transaction. If records without an owner
// hold its keys, it removes them and repeats the transaction.
func (a *Adapter) signUpAtOnce(ctx context.Context, s *signUp) error {
	insert := func(ctx context.Context) error {
		if err := a.users.insert(ctx, s.user); err != nil {
			return err
		}
		for _, o := range s.owned {
			if err := o.collection.insert(ctx, o.doc); err != nil {
				return err
			}
		}
		return nil
	}
	err := a.transaction(ctx, insert)
	if !isTaken(err) {
		return err
	}
	if free, e := a.removeOrphans(ctx, s); e != nil || !free {
		return firstOf(e, err)
	}
	return a.transaction(ctx, insert)
}

// removeOrphans removes the records without an owner that hold keys of a
// sign-up. It reports whether all the keys are free.
func (a *Adapter) removeOrphans(ctx context.Context, s *signUp) (bool, error) {
	for _, o := range s.owned {
		if free, err := a.removeOrphan(ctx, o.collection, o.key); err != nil || !free {
			return false, err
		}
	}
	return true, nil
}

// signUpInOrder stores a sign-up without a transaction.
//
// A record whose user is not stored yet looks like a record whose user was
// deleted, so another call may remove it and take its key. So signUpInOrder
// marks the record as pending, which lets other calls wait for the user for a
// while, and removes the mark when the user is stored. If
// it does not find the record then, another call has taken the key, and this
// sign-up fails.
func (a *Adapter) signUpInOrder(ctx context.Context, s *signUp) error {
	for _, o := range s.owned {
		if err := a.insertOwned(ctx, o.collection, o.key, append(o.doc, bson.E{Key: pendingField, Value: true})); err != nil {
			return errors.Join(err, a.undo(ctx, s, err))
		}
	}
	if err := a.users.insert(ctx, s.user); err != nil {
		return errors.Join(err, a.undo(ctx, s, err))
	}
	for _, o := range s.owned {
		raw, err := o.collection.change(ctx, byID(o.id), bson.D{{Key: "$unset", Value: bson.D{{Key: pendingField, Value: ""}}}})
		if err != nil {
			return err
		}
		if raw == nil {
			_, err := a.deleteUser(ctx, s.id)
			return errors.Join(&conflict{operation: "create user with account", what: "the key is taken"}, err)
		}
	}
	return nil
}

// undo removes the stored documents of a sign-up after a refusal. After
// another error the user may be stored: then the account and the authenticator
// must stay.
func (a *Adapter) undo(ctx context.Context, s *signUp, why error) error {
	if !isCode(why, duplicateKey, validationFailed, unauthorized) {
		return nil
	}
	for _, o := range s.owned {
		if _, err := o.collection.delete(ctx, byID(o.id)); err != nil {
			return err
		}
	}
	return nil
}
