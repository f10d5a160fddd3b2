package mongo

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// changes collects the fields that one update of a document sets and removes. A
// null field is not stored, so setting null removes the field.
type changes struct {
	sets, removes fields
	problems      []error
}

func (c *changes) set(field string, value any, problem error) {
	c.sets.add(field, value)
	c.problems = append(c.problems, problem)
}

func (c *changes) remove(field string) { c.removes.add(field, "") }

func (c *changes) text(field string, change adapter.Change[*string]) {
	value, ok := change.Get()
	switch {
	case !ok:
	case value == nil:
		c.remove(field)
	default:
		c.set(field, *value, storable(*value))
	}
}

// apply changes the one document that matches and returns the changed document,
// or nil if none matches. Without changes it only reads.
func (c *changes) apply(ctx context.Context, to collection, filter bson.D) (bson.Raw, error) {
	if err := errors.Join(c.problems...); err != nil {
		return nil, err
	}
	var update bson.D
	if len(c.sets) > 0 {
		update = append(update, bson.E{Key: "$set", Value: bson.D(c.sets)})
	}
	if len(c.removes) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: bson.D(c.removes)})
	}
	if len(update) == 0 {
		return to.find(ctx, filter)
	}
	return to.change(ctx, filter, update)
}
