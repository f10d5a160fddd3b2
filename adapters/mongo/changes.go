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
	// proof is the field that another value of the field of clears.
	proof, of string
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
	if c.proof != "" {
		return to.change(ctx, filter, c.pipeline())
	}
	return to.change(ctx, filter, update)
}

// pipeline is the update as stages, which can compare the stored fields.
func (c *changes) pipeline() bson.A {
	var to any
	set := bson.D{}
	for _, field := range c.sets {
		set = append(set, bson.E{Key: field.Key, Value: bson.D{{Key: "$literal", Value: field.Value}}})
		if field.Key == c.of {
			to = field.Value
		}
	}
	stored := func(field string) bson.D { return bson.D{{Key: "$ifNull", Value: bson.A{"$" + field, nil}}} }
	same := bson.D{{Key: "$eq", Value: bson.A{stored(c.of), bson.D{{Key: "$literal", Value: to}}}}}
	set = append(set, bson.E{Key: c.proof, Value: bson.D{{Key: "$cond", Value: bson.A{same, stored(c.proof), nil}}}})
	stages := bson.A{bson.D{{Key: "$set", Value: set}}}
	for _, field := range c.removes {
		stages = append(stages, bson.D{{Key: "$unset", Value: field.Key}})
	}
	return stages
}
