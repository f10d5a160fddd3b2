package mongo

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
)

// besideKinds are the collections of an authentication library: the names, without case,
// underscores and plural, and the fields of which a collection has at least one set.
var besideKinds = map[string]struct {
	field  func(*Collections) *string
	fields [][]string // of collections made for Auth.js
	better []string   // of collections that better-auth made, which no names serve
}{
	"user":              {func(c *Collections) *string { return &c.Users }, [][]string{{"email", "emailverified"}}, nil},
	"account":           {func(c *Collections) *string { return &c.Accounts }, [][]string{{"provider", "provideraccountid"}}, []string{"providerid", "accountid"}},
	"session":           {func(c *Collections) *string { return &c.Sessions }, [][]string{{"sessiontoken"}}, []string{"token", "expiresat"}},
	"verificationtoken": {func(c *Collections) *string { return &c.VerificationTokens }, [][]string{{"identifier", "token"}}, nil},
	"verification":      {func(c *Collections) *string { return &c.VerificationTokens }, nil, []string{"identifier", "expiresat"}},
	"authenticator":     {func(c *Collections) *string { return &c.Authenticators }, [][]string{{"credentialid"}, {"credentialpublickey"}}, nil},
	"passkey":           {func(c *Collections) *string { return &c.Authenticators }, nil, []string{"credentialid"}},
}

// plain returns a name without case and underscores.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// besidePattern matches the names of besideKinds, with the adapter's prefix or without.
func (s *site) besidePattern() string {
	var kinds []string
	for kind := range besideKinds {
		kinds = append(kinds, strings.Join(strings.Split(kind, ""), "_*"))
	}
	slices.Sort(kinds)
	return `^(?:` + regexp.QuoteMeta(s.prefix) + `)?_*(?:` + strings.Join(kinds, "|") + `)_*s?_*$`
}

// other is a collection of another product.
type other struct {
	name, kind string
	full       bool // has documents
	better     bool // better-auth made it
	neighbor   bool // EnsureIndexes made it, for an adapter with another prefix
}

// checkBeside refuses a database in which the adapter would begin with nobody, although
// collections that look like those of another authentication library have, or will have,
// the people of the site.
func (s *site) checkBeside(ctx context.Context, specs []mgo.CollectionSpecification, found values) error {
	half := s.names != Collections{} // some names are given, and the others are the defaults
	if s.newCollections || !half && (found.has(s.users) || found.has(s.accounts)) {
		return nil
	}
	ours := s.collectionNames()
	made, neighbors := false, false
	var others []other
	for _, spec := range specs {
		if slices.Contains(ours, spec.Name) {
			made = true
			continue
		}
		o, err := s.lookAt(ctx, spec.Name)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		neighbors = neighbors || o.neighbor && s.prefix != ""
		given, own := s.names, s.ofKind(o.kind)
		if half && (*besideKinds[o.kind].field(&given) != "" || found.has(own) || !o.full) {
			continue
		}
		others = append(others, *o)
	}
	if neighbors || !slices.ContainsFunc(others, func(o other) bool { return o.full || !made }) {
		return nil
	}
	slices.SortFunc(others, func(x, y other) int { return strings.Compare(x.name, y.name) })
	var names []string
	theirs := s.names
	if slices.ContainsFunc(others, func(o other) bool { return o.better }) {
		for _, o := range others {
			names = append(names, o.name)
		}
		return fmt.Errorf("collections of better-auth are there: %s: no names serve them, because they have other fields; "+
			"WithNewCollections begins with new ones beside them, in which nobody of theirs is known", strings.Join(names, ", "))
	}
	for _, o := range others {
		names = append(names, o.name)
		*besideKinds[o.kind].field(&theirs) = o.name
	}
	return fmt.Errorf("collections that look like those of another authentication library are there: %s: WithCollections(%s) serves them; "+
		"WithNewCollections begins with new ones beside them, in which nobody of theirs is known", strings.Join(names, ", "), theirs.literal())
}

// ofKind returns the adapter's collection of a kind.
func (s *site) ofKind(kind string) collection {
	var names Collections
	*besideKinds[kind].field(&names) = "this"
	i := slices.Index([]string{names.Users, names.Accounts, names.Sessions, names.VerificationTokens, names.Authenticators}, "this")
	return s.all()[i]
}

// lookAt returns the collection if it looks like one of an authentication library, by the
// fields of some documents and of its indexes.
func (s *site) lookAt(ctx context.Context, name string) (*other, error) {
	bare := plain(name)
	if rest, ok := strings.CutPrefix(bare, plain(s.prefix)); ok {
		bare = rest
	}
	o := &other{name: name, kind: strings.TrimSuffix(bare, "s")}
	kind, known := besideKinds[o.kind]
	if !known {
		return nil, nil
	}
	c := s.collection(name)
	fields := map[string]bool{}
	found, err := c.aggregateNow(ctx, bson.D{{Key: "$limit", Value: int32(20)}})
	if isCode(err, unauthorized) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, raw := range found {
		o.full = true
		elements, err := raw.Elements()
		if err != nil {
			return nil, err
		}
		for _, e := range elements {
			fields[plain(e.Key())] = true
		}
	}
	indexes, err := c.listIndexes(ctx)
	if err != nil && !isCode(err, unauthorized) {
		return nil, err
	}
	for _, i := range indexes {
		elements, _ := i.Key.Elements()
		for _, e := range elements {
			fields[plain(e.Key())] = true
			// Optional fields may be absent in all documents of Prisma, which names its
			// indexes by the model.
			if e.Key() == "email" && strings.HasSuffix(i.Name, "_email_key") {
				fields["emailverified"] = true
			}
		}
		o.neighbor = o.neighbor || i.Name == "email_unique" && isTextFilter(i.Partial, "email")
	}
	has := func(set []string) bool {
		return len(set) > 0 && !slices.ContainsFunc(set, func(f string) bool { return !fields[f] })
	}
	if slices.ContainsFunc(kind.fields, has) {
		return o, nil
	}
	if o.better = has(kind.better); o.better {
		return o, nil
	}
	return nil, nil
}
