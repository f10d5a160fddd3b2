package mongo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What other programs store in a field may have another type: identifiers as texts, dates
// as numbers or texts, flags as numbers. A lookup does not find such a record, or can't
// read it. So the adapter looks at some documents of each collection, once.

// form is the form of a value that the adapter reads and writes.
type form int

const (
	anID form = iota
	aText
	aKey // a text that every document has
	aDate
	aNumber
	aFlag
)

// stored is a field and its form.
type stored struct {
	field string
	form  form
}

// storedFields returns the fields of each collection whose form matters.
func (s *site) storedFields() map[string][]stored {
	credential := stored{s.forms.credential, aKey}
	return map[string][]stored{
		s.users.Name():          {{"_id", anID}, {"email", aText}, {"emailVerified", aDate}},
		s.accounts.Name():       {{"userId", anID}, {"provider", aKey}, {"providerAccountId", aKey}, {"expires_at", aNumber}},
		s.sessions.Name():       {{"userId", anID}, {"sessionToken", aKey}, {"expires", aDate}},
		s.tokens.Name():         {{"identifier", aKey}, {"token", aKey}, {"expires", aDate}},
		s.authenticators.Name(): {{"userId", anID}, credential, {"counter", aNumber}, {"credentialBackedUp", aFlag}},
	}
}

// sampled is how many of the oldest and of the newest documents of a collection are
// looked at. All identifiers of users that are no ObjectID are first or last, because they
// are sorted by type.
const sampled = 100

// values has for each collection with documents the names of the forms that are stored in
// each field.
type values map[string]map[string][]string

// has reports whether the collection has documents.
func (v values) has(c collection) bool { return v[c.Name()] != nil }

// sample looks at the documents in one round trip.
func (s *site) sample(ctx context.Context) (values, error) {
	var pipeline []bson.D
	for _, c := range s.all() {
		for _, direction := range []int32{1, -1} {
			stages := s.sampleStages(c, direction)
			if pipeline == nil {
				pipeline = stages // of the users, on which the aggregation runs
				continue
			}
			pipeline = append(pipeline, bson.D{{Key: "$unionWith", Value: bson.D{{Key: "coll", Value: c.Name()}, {Key: "pipeline", Value: stages}}}})
		}
	}
	found, err := s.users.aggregateNow(ctx, pipeline...)
	if err != nil {
		return nil, err
	}
	all := values{}
	for _, raw := range found {
		var one struct {
			ID struct {
				In string            `bson:"in"`
				Is map[string]string `bson:"is"`
			} `bson:"_id"`
		}
		if err := bson.Unmarshal(raw, &one); err != nil {
			return nil, err
		}
		in := all[one.ID.In]
		if in == nil {
			in = map[string][]string{}
			all[one.ID.In] = in
		}
		for field, is := range one.ID.Is {
			if !slices.Contains(in[field], is) {
				in[field] = append(in[field], is)
			}
		}
	}
	return all, nil
}

// sampleStages returns the stages that group documents by the forms of their values.
func (s *site) sampleStages(c collection, direction int32) []bson.D {
	var is bson.D
	for _, f := range s.storedFields()[c.Name()] {
		is = append(is, bson.E{Key: f.field, Value: f.form.of("$" + f.field)})
	}
	return []bson.D{
		{{Key: "$sort", Value: bson.D{{Key: "_id", Value: direction}}}},
		{{Key: "$limit", Value: int32(sampled)}},
		{{Key: "$group", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "in", Value: bson.D{{Key: "$literal", Value: c.Name()}}}, {Key: "is", Value: is}}}}}},
	}
}

// Patterns of texts that stand for dates and whole numbers.
const (
	datePattern  = `^[0-9]{4}-[0-9]{2}-[0-9]{2}`
	digitPattern = `^-?[0-9]{1,18}$`
	// mostSeconds is the greatest number that is taken for seconds: the year 5138. As
	// milliseconds it is in 1973.
	mostSeconds = int64(1e11)
)

func op(name string, arguments ...any) bson.D {
	if len(arguments) == 1 {
		return bson.D{{Key: name, Value: arguments[0]}}
	}
	return bson.D{{Key: name, Value: bson.A(arguments)}}
}

// of returns the expression for the name of the form of a value: its type, or seconds,
// milliseconds, date text, digits.
func (f form) of(value string) bson.D {
	kind := op("$type", value)
	if f != aDate && f != aNumber {
		return kind
	}
	matches := func(pattern string) bson.D {
		return op("$regexMatch", bson.D{{Key: "input", Value: value}, {Key: "regex", Value: pattern}})
	}
	text := op("$cond", matches(datePattern), "date text", op("$cond", matches(digitPattern), "digits", "unreadable"))
	number := any(kind)
	if f == aDate {
		number = op("$cond", op("$lt", value, mostSeconds), "seconds", "milliseconds")
	}
	return op("$cond", op("$eq", kind, "string"), text, op("$cond", op("$isNumber", value), number, kind))
}

// right are the names of the forms that the adapter reads, and of those whose records are
// refused one by one.
var right = map[form][]string{
	anID:    {"objectId", "missing", "null"},
	aText:   {"string", "missing", "null"},
	aKey:    {"string"},
	aDate:   {"date", "missing", "null", "unreadable", "object", "array"},
	aNumber: {"int", "long", "double", "missing", "null", "unreadable", "object", "array", "bool", "date text"},
	aFlag:   {"bool", "missing", "null"},
}

const anotherProduct = "another product's, which the adapter can't serve"

// checkValues refuses values in another form, with the commands that convert them. Documents
// of another product are refused without: its programs would not know them any more.
func (s *site) checkValues(found values) error {
	var foreign, problems []error
	advice := ids{s: s}
	for _, c := range s.all() {
		for _, f := range s.storedFields()[c.Name()] {
			accepted := right[f.form]
			if f.form == anID && f.field == "_id" {
				accepted = accepted[:1]
			}
			for _, is := range found[c.Name()][f.field] {
				switch {
				case slices.Contains(accepted, is):
				case f.form == anID:
					advice.note(c, f.field, is)
				case is == "missing":
					foreign = append(foreign, fmt.Errorf("documents have no %s.%s: they are %s", c.Name(), f.field, anotherProduct))
				default:
					problems = append(problems, fmt.Errorf("%s.%s is stored as %s, and the adapter reads and writes %s: %s",
						c.Name(), f.field, is, f.form, f.convert(c.Name(), is)))
				}
			}
		}
	}
	if advice.users && slices.Equal(found[s.users.Name()]["email"], []string{"missing"}) && !found.has(s.accounts) {
		foreign = append(foreign, fmt.Errorf("nobody in %s has an email or an account, and their identifiers are no ObjectIDs, as at a site of Meteor: they are %s",
			s.users.Name(), anotherProduct))
	}
	if len(foreign) > 0 {
		return errors.Join(foreign...)
	}
	return errors.Join(append(problems, advice.problem())...)
}

func (f form) String() string {
	return [...]string{anID: "ObjectIDs", aText: "texts", aKey: "texts", aDate: "dates", aNumber: "numbers", aFlag: "booleans"}[f]
}

// convert returns the advice for a field: the command that converts its values, or one that
// lists the documents whose values stand for nothing.
func (f stored) convert(in, is string) string {
	value := "$" + f.field
	where, to := bson.D{{Key: "$type", Value: is}}, bson.D(nil)
	date := func(v any) bson.D { return op("$toDate", op("$toLong", v)) }
	bound := func(operator string) bson.D {
		return bson.D{{Key: "$type", Value: "number"}, {Key: operator, Value: mostSeconds}}
	}
	switch {
	case f.form == aDate && is == "seconds":
		where, to = bound("$lt"), date(op("$multiply", value, int32(1000)))
	case f.form == aDate && is == "milliseconds":
		where, to = bound("$gte"), date(value)
	case f.form == aDate && is == "date text":
		where, to = op("$regex", datePattern), op("$toDate", value)
	case f.form == aDate && is == "digits":
		number := op("$toLong", value)
		where, to = op("$regex", digitPattern), date(op("$multiply", number, op("$cond", op("$lt", number, mostSeconds), int32(1000), int32(1))))
	case f.form == aDate && is == "timestamp":
		to = op("$toDate", value)
	case f.form == aDate && is == "bool":
		to = op("$cond", value, "$$NOW", nil)
	case f.form == aNumber && is == "digits":
		where, to = op("$regex", digitPattern), op("$toLong", value)
	case f.form == aNumber && is == "decimal":
		to = op("$toLong", value)
	case f.form == aNumber && is == "date":
		to = op("$toLong", op("$divide", op("$toLong", value), int32(1000)))
	case f.form == aFlag && (is == "string" || slices.Contains(numberTypes, is)):
		to = op("$in", value, bson.A{int32(1), "1", "true"})
	case (f.form == aText || f.form == aKey) && f.field != "_id" && slices.Contains(numberTypes, is):
		to = op("$toString", op("$toLong", value))
	case (f.form == aText || f.form == aKey) && f.field != "_id" && is == "objectId":
		to = op("$toString", value)
	default:
		list := bson.D{{Key: "find", Value: in}, {Key: "filter", Value: bson.D{{Key: f.field, Value: where}}}}
		return "no command can tell what they stand for: correct or delete the documents that this lists, run " + shell(list)
	}
	return "if no other program writes them, run " + shell(updateAll(in, bson.D{{Key: f.field, Value: where}}, bson.D{{Key: f.field, Value: to}}))
}

var numberTypes = []string{"int", "long", "double", "decimal"}

// updateAll is the command that sets fields of all documents that match.
func updateAll(in string, filter, set bson.D) bson.D {
	return bson.D{{Key: "update", Value: in}, {Key: "updates", Value: bson.A{bson.D{
		{Key: "q", Value: filter}, {Key: "u", Value: bson.A{bson.D{{Key: "$set", Value: set}}}}, {Key: "multi", Value: true},
	}}}}
}

// shell is a command in the language of mongosh.
func shell(command bson.D) string {
	text, err := bson.MarshalExtJSON(command, false, false)
	if err != nil {
		return "a command that can't be shown"
	}
	return "db.runCommand(" + string(text) + ")"
}

// ids collects the identifiers that are no ObjectIDs.
type ids struct {
	s     *site
	found []string
	users bool         // identifiers of users
	refs  []collection // collections with references
}

func (i *ids) note(c collection, field, is string) {
	i.found = append(i.found, fmt.Sprintf("%s.%s is stored as %s", c.Name(), field, is))
	if c.Name() == i.s.users.Name() {
		i.users = true
	} else if len(i.refs) == 0 || i.refs[len(i.refs)-1].Name() != c.Name() {
		i.refs = append(i.refs, c)
	}
}

// problem returns the error with the commands that give every user an ObjectID. A text of
// 24 hexadecimal digits keeps them.
func (i *ids) problem() error {
	if len(i.found) == 0 {
		return nil
	}
	var commands []string
	add := func(command bson.D) { commands = append(commands, shell(command)) }
	toID := func(value, otherwise string) bson.D {
		return op("$convert", bson.D{{Key: "input", Value: value}, {Key: "to", Value: "objectId"}, {Key: "onError", Value: otherwise}})
	}
	aggregate := func(in string, stages ...bson.D) {
		add(bson.D{{Key: "aggregate", Value: in}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}}})
	}
	other := bson.D{{Key: "$not", Value: op("$type", "objectId")}}
	users, moved := i.s.users.Name(), i.s.users.Name()+"_moved"
	if i.users {
		aggregate(users, op("$match", bson.D{{Key: "_id", Value: other}}),
			op("$set", bson.D{{Key: "formerId", Value: "$_id"}, {Key: "_id", Value: toID("$_id", "$$REMOVE")}}), op("$out", moved))
	}
	for _, c := range i.refs {
		if i.users {
			aggregate(c.Name(), op("$match", bson.D{{Key: "userId", Value: other}}),
				op("$lookup", bson.D{{Key: "from", Value: moved}, {Key: "localField", Value: "userId"}, {Key: "foreignField", Value: "formerId"}, {Key: "as", Value: "owner"}}),
				op("$match", bson.D{{Key: "owner.0", Value: op("$exists", true)}}),
				op("$set", bson.D{{Key: "userId", Value: op("$arrayElemAt", "$owner._id", int32(0))}}), op("$unset", "owner"),
				op("$merge", bson.D{{Key: "into", Value: c.Name()}, {Key: "whenMatched", Value: "replace"}}))
		}
		add(updateAll(c.Name(), bson.D{{Key: "userId", Value: op("$type", "string")}}, bson.D{{Key: "userId", Value: toID("$userId", "$userId")}}))
	}
	if i.users {
		add(bson.D{{Key: "delete", Value: users}, {Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: other}}}, {Key: "limit", Value: int32(0)}}}}})
		aggregate(moved, op("$unset", "formerId"), op("$merge", bson.D{{Key: "into", Value: users}}))
		add(bson.D{{Key: "drop", Value: moved}})
	}
	return fmt.Errorf("%s, and the adapter needs ObjectIDs, as @auth/mongodb-adapter and Prisma with @db.ObjectId store them: stop the site and run %s",
		strings.Join(i.found, ", "), strings.Join(commands, "; "))
}
