package mongo

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Accounts, sessions and authenticators are children: documents that name their
// owner in userId. A child whose owner is gone is not there.

// child is a child as stored, with its owner.
type child struct {
	id    bson.ObjectID
	raw   bson.Raw
	owner *adapter.User
}

// child returns the one child that matches and its owner, or nil if either is
// absent.
func (a *Adapter) child(ctx context.Context, c collection, filter bson.D) (*child, error) {
	raw, err := c.find(ctx, filter)
	if err != nil || raw == nil {
		return nil, err
	}
	d := &document{raw: raw}
	id, ownerID := d.id("_id"), d.id("userId")
	if d.err != nil {
		return nil, d.err
	}
	owner, err := a.userByID(ctx, ownerID)
	if err != nil || owner == nil {
		return nil, err
	}
	return &child{id: id, raw: raw, owner: owner}, nil
}

// createChild inserts a child of the user. The user is looked for before, so
// that nothing is written for nobody, and again after, because it may have been
// deleted meanwhile together with what it owned at that moment. A key whose
// holder has no owner any more is free.
func (a *Adapter) createChild(ctx context.Context, c collection, userID string, key bson.D, doc fields) error {
	ownerID, ok := objectID(userID)
	if !ok {
		return fmt.Errorf("the user does not exist: %w", adapter.ErrNotFound)
	}
	if err := a.exists(ctx, ownerID); err != nil {
		return err
	}
	id := bson.NewObjectID()
	doc = append(fields{{Key: "_id", Value: id}, {Key: "userId", Value: ownerID}}, doc...)
	err := c.insert(ctx, doc)
	if mgo.IsDuplicateKeyError(err) {
		freed, e := a.removeOrphan(ctx, c, key)
		if e != nil {
			return e
		}
		if freed {
			err = c.insert(ctx, doc)
		}
	}
	if err != nil {
		return err
	}
	if err := a.exists(ctx, ownerID); err != nil {
		if _, e := c.delete(ctx, id); e != nil {
			return e
		}
		return err
	}
	return nil
}

// exists fails with ErrNotFound if there is no such user.
func (a *Adapter) exists(ctx context.Context, id bson.ObjectID) error {
	u, err := a.userByID(ctx, id)
	if err == nil && u == nil {
		err = fmt.Errorf("the user does not exist: %w", adapter.ErrNotFound)
	}
	return err
}

// removeOrphan removes the child with the key if its owner is gone, and reports
// whether the key is free.
func (a *Adapter) removeOrphan(ctx context.Context, c collection, key bson.D) (bool, error) {
	raw, err := c.find(ctx, key)
	if err != nil {
		return false, err
	}
	if raw == nil {
		return true, nil
	}
	d := &document{raw: raw}
	id, ownerID := d.id("_id"), d.id("userId")
	if d.err != nil {
		return false, d.err
	}
	owner, err := a.userByID(ctx, ownerID)
	if err != nil || owner != nil {
		return false, err
	}
	_, err = c.delete(ctx, id)
	return err == nil, err
}
