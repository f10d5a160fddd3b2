package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Accounts, sessions and authenticators name their owner in userId. DeleteUser
// deletes the user first, and no lookup finds a record whose owner is absent. So
// all records of a user disappear in one instant, without a transaction.

// ownerField is the field of a lookup's result that holds the list with the owner.
const ownerField = "gatehouseOwner"

// owned is a stored record with its owner.
type owned struct {
	raw   bson.Raw
	owner *adapter.User
}

// findOwned returns the one record that matches and its owner, or nil if either
// is absent.
func (a *Adapter) findOwned(ctx context.Context, c collection, filter bson.D) (*owned, error) {
	found, err := c.aggregate(ctx,
		bson.D{{Key: "$match", Value: filter}},
		bson.D{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: a.users.Name()}, {Key: "localField", Value: "userId"},
			{Key: "foreignField", Value: "_id"}, {Key: "as", Value: ownerField},
		}}})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	d := &document{raw: found[0]}
	d.id("userId")
	if d.err != nil {
		return nil, d.err
	}
	owners, err := d.raw.Lookup(ownerField).Array().Values()
	if err != nil || len(owners) == 0 {
		return nil, err
	}
	owner, err := decodeUser(owners[0].Document())
	if err != nil {
		return nil, err
	}
	return &owned{raw: d.raw, owner: owner}, nil
}

// listOwned returns all records of the user, or none if the user is absent.
func (a *Adapter) listOwned(ctx context.Context, c collection, userID string) ([]bson.Raw, error) {
	ownerID, ok := objectID(userID)
	if !ok {
		return nil, a.site.absent(ctx)
	}
	const record = "record"
	return a.users.aggregate(ctx,
		bson.D{{Key: "$match", Value: bson.D{{Key: "_id", Value: ownerID}}}},
		bson.D{{Key: "$lookup", Value: bson.D{
			{Key: "from", Value: c.Name()}, {Key: "localField", Value: "_id"},
			{Key: "foreignField", Value: "userId"}, {Key: "as", Value: record},
		}}},
		bson.D{{Key: "$unwind", Value: "$" + record}},
		bson.D{{Key: "$replaceRoot", Value: bson.D{{Key: "newRoot", Value: "$" + record}}}})
}

// list decodes all records of a user. Without records the list is empty and not
// nil.
func list[T any](ctx context.Context, a *Adapter, c collection, userID string, decode func(bson.Raw) (*T, error)) ([]T, error) {
	found, err := a.listOwned(ctx, c, userID)
	if err != nil {
		return nil, err
	}
	all := make([]T, len(found))
	for i, raw := range found {
		record, err := decode(raw)
		if err != nil {
			return nil, err
		}
		all[i] = *record
	}
	return all, nil
}

// create inserts a record of the user and then looks for the user. If the user is
// absent, or was deleted at the same time, create deletes the record again. No
// lookup finds the record before that.
func (a *Adapter) create(ctx context.Context, c collection, userID string, key bson.D, doc fields) error {
	ownerID, ok := objectID(userID)
	if !ok {
		return firstOf(a.site.absent(ctx), errNoUser)
	}
	id, doc := ownedBy(ownerID, doc)
	if err := a.insertOwned(ctx, c, key, doc); err != nil {
		return err
	}
	there, err := a.exists(ctx, ownerID)
	if err != nil || there {
		return err
	}
	if _, err := c.delete(ctx, byID(id)); err != nil {
		return err
	}
	return errNoUser
}

// insertOwned inserts a record. If a record without an owner has the same key,
// insertOwned removes that record first.
func (a *Adapter) insertOwned(ctx context.Context, c collection, key bson.D, doc fields) error {
	err := c.insert(ctx, doc)
	if !isTaken(err) {
		return err
	}
	freed, e := a.removeOrphan(ctx, c, key)
	if e != nil {
		return e
	}
	if freed {
		return c.insert(ctx, doc)
	}
	return err
}

// exists reports whether the user exists.
func (a *Adapter) exists(ctx context.Context, id bson.ObjectID) (bool, error) {
	raw, err := a.users.findOne(ctx, byID(id), onlyID())
	return raw != nil, err
}

// removeOrphan first waits for firstOwnerWait for the owner of a pending record,
// then each time twice as long, at last for lastOwnerWait: 255 ms in all.
const (
	firstOwnerWait = time.Millisecond
	lastOwnerWait  = 128 * time.Millisecond
)

// removeOrphan removes the record with the key if it is an orphan. It reports
// whether the key is free. A pending record may still get its owner, see
// signUpInOrder: removeOrphan waits for the owner, so that of two sign-ups at once
// the one that came first goes on.
func (a *Adapter) removeOrphan(ctx context.Context, c collection, key bson.D) (bool, error) {
	for wait := firstOwnerWait; ; wait *= 2 {
		raw, err := c.find(ctx, key)
		if err != nil || raw == nil {
			return err == nil, err
		}
		orphan, pending, err := a.isOrphan(ctx, raw)
		if err != nil || !orphan {
			return false, err
		}
		if !pending || wait > lastOwnerWait {
			filter := append(byID(raw.Lookup("_id")), bson.E{Key: pendingField, Value: bson.D{{Key: "$exists", Value: pending}}})
			n, err := c.delete(ctx, filter)
			return n == 1, err
		}
		if err := rest(ctx, wait); err != nil {
			return false, err
		}
	}
}

// isOrphan reports whether the owner of a record is absent, or it is an account
// whose authenticator was deleted; and whether it is pending. IDs are not used
// twice, so a deleted owner never comes back.
func (a *Adapter) isOrphan(ctx context.Context, raw bson.Raw) (orphan, pending bool, err error) {
	d := &document{raw: raw}
	ownerID := d.id("userId")
	if d.err != nil {
		return false, false, d.err
	}
	_, pending = d.lookup(pendingField)
	there, err := a.exists(ctx, ownerID)
	if err != nil || !there {
		return err == nil, pending, err
	}
	orphan, err = a.over(ctx, raw)
	return orphan, pending, err
}

// ownedBy adds the owner to a document, and an ID if it has none. It returns the ID.
func ownedBy(ownerID bson.ObjectID, doc fields) (id any, whole fields) {
	owner := bson.E{Key: "userId", Value: ownerID}
	if doc[0].Key == "_id" {
		return doc[0].Value, append(doc, owner)
	}
	id = bson.NewObjectID()
	return id, append(fields{{Key: "_id", Value: id}, owner}, doc...)
}

func byID(id any) bson.D { return bson.D{{Key: "_id", Value: id}} }
