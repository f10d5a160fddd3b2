package mongo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ttlMargin is how long the server keeps expired records. It is so long that the
// difference between two clocks does not remove a record early.
const ttlMargin = time.Hour

// index is an index that the adapter needs.
type index struct {
	collection collection
	fields     []string
	unique     bool
	// texts: the index holds only documents whose field is a text that is not
	// empty. The server uses such an index for a lookup by equality. It does not
	// use an index with a filter on the type.
	texts bool
	// ttl: the server removes expired documents. Without it only DeleteExpired
	// removes them.
	ttl bool
	// name is set if an index of an earlier version may have the default name.
	name string
}

func (s *site) indexes() []index {
	all := []index{
		{collection: s.users, fields: []string{"email"}, unique: true, texts: true, name: "email_unique"},
		{collection: s.accounts, fields: []string{"provider", "providerAccountId"}, unique: true},
		{collection: s.accounts, fields: []string{"userId"}},
		{collection: s.sessions, fields: []string{"sessionToken"}, unique: true},
		{collection: s.sessions, fields: []string{"userId"}},
		{collection: s.sessions, fields: []string{"expires"}, ttl: true},
		{collection: s.tokens, fields: []string{"identifier", "token"}, unique: true},
		{collection: s.tokens, fields: []string{"expires"}, ttl: true},
		{collection: s.authenticators, fields: []string{s.forms.credential}, unique: true},
		{collection: s.authenticators, fields: []string{"userId"}},
	}
	if !s.others() {
		all = append(all, s.passwordIndex())
	}
	if s.forms.prisma { // the server has a unique index of _id
		all = slices.DeleteFunc(all, func(i index) bool { return i.fields[0] == "_id" })
	}
	return all
}

// passwordIndex is the index that the server makes with the collection of passwords.
func (s *site) passwordIndex() index {
	return index{collection: s.passwords, fields: []string{"_id"}, name: "_id_"}
}

// EnsureIndexes creates the indexes that are missing: the unique indexes that
// the adapter's promises depend on, the indexes that lookups need, and TTL
// indexes, with which the server removes sessions and tokens an hour after their
// expiry. Several processes may call it at once, and it changes no record
// [CAP-03]. An existing index that does the same stays, under any name. The
// index of addresses that earlier versions made is replaced: the new one is
// complete before the old one is dropped.
//
// If stored records share a key that must be unique, the error matches
// adapter.ErrConflict and names the collection and its fields. No record is
// lost; correct the records and call again. If an index on the same fields does
// something else, the error says what to change.
func (a *Adapter) EnsureIndexes(ctx context.Context) error {
	there, err := a.site.listIndexes(ctx)
	if err == nil && a.forms.prisma {
		return a.site.comparePrisma("ensure indexes", there)
	}
	if err != nil {
		return fmt.Errorf("mongo: ensure indexes: %w", err)
	}
	if err := a.site.checkRights(ctx, a.site.indexRights(there)); err != nil {
		return fmt.Errorf("mongo: ensure indexes: %w", err)
	}
	for _, i := range a.site.indexes() {
		err := i.ensure(ctx, there[i.collection.Name()])
		switch {
		case isCode(err, duplicateKey):
			return &conflict{operation: "ensure indexes", what: i.String() + ": stored records share a key", cause: err}
		case err != nil:
			return fmt.Errorf("mongo: ensure indexes: %s: %w", i, err)
		}
	}
	return nil
}

// indexRights returns the rights for the indexes that are to be made or dropped on a
// collection, so that a lack of one is known before the first index is made.
func (s *site) indexRights(there map[string][]existing) func(collection) []string {
	return func(c collection) (rights []string) {
		for _, i := range s.indexes() {
			if i.collection.Name() != c.Name() {
				continue
			}
			all := there[c.Name()]
			if found, err := i.find(all); err == nil && !found && !slices.Contains(rights, rightCreateIndex) {
				rights = append(rights, rightCreateIndex)
			}
			if slices.ContainsFunc(all, i.replaces) {
				rights = append(rights, rightDropIndex)
			}
		}
		return rights
	}
}

// CheckIndexes reports every index that EnsureIndexes would create or refuse, as
// one error, and changes nothing. It is for applications that create the indexes
// with their own tool.
func (a *Adapter) CheckIndexes(ctx context.Context) error {
	there, err := a.site.listIndexes(ctx)
	if err == nil && a.forms.prisma {
		return a.site.comparePrisma("check indexes", there)
	}
	if err != nil {
		return fmt.Errorf("mongo: check indexes: %w", err)
	}
	var problems []error
	for _, i := range a.site.indexes() {
		found, err := i.find(there[i.collection.Name()])
		if err == nil && !found {
			err = fmt.Errorf("the index is missing: run %s", shell(i.command()))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("mongo: check indexes: %s: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

// comparePrisma reports the unique indexes that Prisma has not made. The adapter makes none
// in its collections.
func (s *site) comparePrisma(operation string, there map[string][]existing) error {
	var problems []error
	for _, i := range s.indexes() {
		if !i.unique || slices.ContainsFunc(there[i.collection.Name()], func(e existing) bool { return i.texts && i.on(e.Key) && holdsAll(e) }) {
			continue
		}
		found, err := i.find(there[i.collection.Name()])
		if err == nil && !found {
			err = fmt.Errorf("the unique index is missing: run prisma db push with this line of schema.prisma, %s", i.prismaLine())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("mongo: %s: %s: %w", operation, i, err))
		}
	}
	return errors.Join(problems...)
}

// IndexChanges returns the commands, for mongosh, that make the indexes which are missing,
// for an application that makes indexes with its own tool. For [Prisma] a comment before a
// command has the line for schema.prisma, with which prisma db push keeps the index. The
// commands also replace the index of addresses by one that lets many users have none, for
// which there is no line: run them again after prisma db push.
func (a *Adapter) IndexChanges(ctx context.Context) ([]string, error) {
	there, err := a.site.listIndexes(ctx)
	if err != nil {
		return nil, fmt.Errorf("mongo: index changes: %w", err)
	}
	var commands []string
	wanted := a.site.indexes()
	if a.site.others() {
		wanted = append(wanted, a.site.passwordIndex())
	}
	for _, i := range wanted {
		all := there[i.collection.Name()]
		replaced := func(e existing) bool { return i.replaces(e) || a.forms.prisma && i.texts && i.on(e.Key) && holdsAll(e) }
		kept := slices.DeleteFunc(slices.Clone(all), replaced)
		found, err := i.find(kept)
		if err != nil {
			return nil, fmt.Errorf("mongo: index changes: %s: %w", i, err)
		}
		if !found {
			line := ""
			if a.forms.prisma && !i.texts && i.fields[0] != "_id" {
				line = "// schema.prisma, " + i.prismaLine() + "\n"
			}
			commands = append(commands, line+shell(i.command()))
		}
		for _, e := range all {
			if replaced(e) {
				commands = append(commands, shell(i.commandToDrop(e.Name)))
			}
		}
	}
	return commands, nil
}

// prismaLine is the index in schema.prisma, with its model. Prisma has no words for the time
// after which documents are removed, and leaves that of an index as it is.
func (i index) prismaLine() string {
	kind := "@@index"
	if i.unique {
		kind = "@@unique"
	}
	return fmt.Sprintf("model %s: %s([%s], map: %q)", i.collection.Name(), kind, strings.Join(i.fields, ", "), i.indexName())
}

// definition is the index in the terms of the command createIndexes.
func (i index) definition() bson.D {
	var keys bson.D
	for _, f := range i.fields {
		keys = append(keys, bson.E{Key: f, Value: int32(1)})
	}
	d := bson.D{{Key: "key", Value: keys}, {Key: "name", Value: i.indexName()}}
	if i.unique {
		d = append(d, bson.E{Key: "unique", Value: true})
	}
	if i.texts {
		d = append(d, bson.E{Key: "partialFilterExpression", Value: bson.D{{Key: i.fields[0], Value: bson.D{{Key: "$gt", Value: ""}}}}})
	}
	if i.ttl {
		d = append(d, bson.E{Key: "expireAfterSeconds", Value: int32(ttlMargin / time.Second)})
	}
	return d
}

// indexName is the name of a new index.
func (i index) indexName() string {
	return cmp.Or(i.name, strings.Join(i.fields, "_1_")+"_1")
}

// existing is an index that the server has.
type existing struct {
	Name      string         `bson:"name"`
	Key       bson.Raw       `bson:"key"`
	Unique    bool           `bson:"unique"`
	Sparse    bool           `bson:"sparse"`
	Hidden    bool           `bson:"hidden"`
	Partial   bson.Raw       `bson:"partialFilterExpression"`
	Collation bson.Raw       `bson:"collation"`
	Expire    *bson.RawValue `bson:"expireAfterSeconds"`
}

// listIndexes returns the indexes of each collection by its name.
func (s *site) listIndexes(ctx context.Context) (map[string][]existing, error) {
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	there := map[string][]existing{}
	for _, c := range append(s.all(), s.passwords) {
		all, err := c.listIndexes(ctx)
		if s.others() && c.Name() == s.passwords.Name() && isCode(err, unauthorized) {
			err = nil // see whyNoPasswords
		}
		if isCode(err, unauthorized) { // says which rights, with the command that adds them
			err = firstOf(s.checkRights(ctx, func(collection) []string { return []string{rightListIndexes} }), err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name(), err)
		}
		there[c.Name()] = all
	}
	return there, nil
}

// listIndexes returns the indexes of the collection.
func (c collection) listIndexes(ctx context.Context) (all []existing, err error) {
	cursor, err := c.Indexes().List(ctx)
	if err == nil {
		err = cursor.All(ctx, &all)
	}
	return all, c.done(ctx, rightListIndexes, err)
}

// String names the index by its collection and fields.
func (i index) String() string {
	return fmt.Sprintf("%s (%s)", i.collection.Name(), strings.Join(i.fields, ", "))
}

// command makes the index.
func (i index) command() bson.D {
	return bson.D{{Key: "createIndexes", Value: i.collection.Name()}, {Key: "indexes", Value: bson.A{i.definition()}}}
}

// commandToDrop drops an index of the collection.
func (i index) commandToDrop(name string) bson.D {
	return bson.D{{Key: "dropIndexes", Value: i.collection.Name()}, {Key: "index", Value: name}}
}

func (i index) ensure(ctx context.Context, there []existing) error {
	found, err := i.find(there)
	if err != nil {
		return err
	}
	if !found {
		if err := i.create(ctx); err != nil {
			return err
		}
	}
	for _, e := range there {
		if i.replaces(e) {
			return i.drop(ctx, e.Name)
		}
	}
	return nil
}

// find reports whether the index exists. If another index on the same fields
// prevents it, find returns an error.
func (i index) find(there []existing) (found bool, err error) {
	for _, e := range there {
		if e.Name == "_id_" && e.Collation != nil {
			return false, fmt.Errorf("the collection compares texts by the rules of a language (collation %s), so two different keys may be equal: "+
				copied(i.collection.Name()), e.Collation)
		}
		if !i.on(e.Key) || i.replaces(e) {
			continue
		}
		differs := i.differences(e)
		if len(differs) == 0 {
			found = true
			continue
		}
		if i.harmless(e) {
			continue
		}
		err = errors.Join(err, fmt.Errorf("the index %s %s: run %s; %s", e.Name, strings.Join(differs, " and "), shell(i.commandToDrop(e.Name)), shell(i.command())))
	}
	return found, err
}

// differences describes how an existing index on the same fields differs from
// the required one.
func (i index) differences(e existing) []string {
	var all []string
	say := func(differs bool, what string) {
		if differs {
			all = append(all, what)
		}
	}
	say(i.unique && !e.Unique, "does not make the keys unique")
	say(!i.unique && e.Unique, "allows one record for each key only")
	switch {
	case i.texts && e.Unique && e.Partial == nil:
		say(true, "lets only one user have no address")
	case i.texts:
		say(!isTextFilter(e.Partial, i.fields[0]), `has another filter than {`+i.fields[0]+`: {$gt: ""}}`)
	default:
		say(e.Partial != nil, "leaves records out by a filter")
	}
	say(e.Sparse && !i.texts, "is sparse")
	say(e.Collation != nil, "compares texts by the rules of a language (collation)")
	say(e.Hidden, "is hidden")
	if seconds, ok := e.expires(); i.ttl {
		say(!ok, "does not remove what has expired (expireAfterSeconds)")
		say(ok && seconds < int64(ttlMargin.Seconds()), fmt.Sprintf("removes records %d seconds after their expiry, where clocks may differ by more", seconds))
	} else {
		say(ok, "removes records (expireAfterSeconds)")
	}
	return all
}

// harmless reports whether an index that the adapter does not need may stay: the
// server can keep it beside the required one, and it neither refuses nor removes
// records.
func (i index) harmless(e existing) bool {
	_, expires := e.expires()
	return i.texts && !e.Unique && !expires && e.Partial != nil
}

// expires returns the number of seconds after which the server removes a record.
// It reports false for an index that removes none.
func (e existing) expires() (seconds int64, ok bool) {
	if e.Expire == nil {
		return 0, false
	}
	return e.Expire.AsInt64OK()
}

// isTextFilter reports whether a filter is {field: {$gt: ""}}.
func isTextFilter(filter bson.Raw, field string) bool {
	text, ok := filter.Lookup(field, "$gt").StringValueOK()
	elements, err := filter.Elements()
	return ok && text == "" && err == nil && len(elements) == 1
}

// replaces reports whether e is the index that earlier versions made, which
// lookups can't use.
func (i index) replaces(e existing) bool {
	if !i.texts || e.Name != i.fields[0]+"_1" {
		return false
	}
	kind, ok := e.Partial.Lookup(i.fields[0], "$type").StringValueOK()
	return ok && kind == "string"
}

// on reports whether a key has the fields in their order. The direction of each
// field does not matter.
func (i index) on(key bson.Raw) bool {
	elements, err := key.Elements()
	if err != nil || len(elements) != len(i.fields) {
		return false
	}
	for n, e := range elements {
		if e.Key() != i.fields[n] || !e.Value().IsNumber() {
			return false
		}
	}
	return true
}

func (i index) create(ctx context.Context) error {
	majority := bson.D{{Key: "w", Value: "majority"}}
	command := append(i.command(), bson.E{Key: "writeConcern", Value: majority})
	err := i.collection.Database().RunCommand(ctx, command).Err()
	return i.collection.done(ctx, rightCreateIndex, err)
}

// drop drops an index. It is no error if another process has dropped it.
func (i index) drop(ctx context.Context, name string) error {
	err := i.collection.done(ctx, rightDropIndex, i.collection.Indexes().DropOne(ctx, name))
	if isCode(err, indexNotFound) {
		return nil
	}
	return err
}
