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
	others []product  // of collections of others, which no names serve
}{
	"user": {
		func(c *Collections) *string { return &c.Users }, [][]string{{"email", "emailverified"}},
		[]product{{payload, []string{"email", "hash", "salt"}}, {meteor, []string{"createdat", "services"}}, {parse, []string{"hashedpassword"}}},
	},
	"account": {
		func(c *Collections) *string { return &c.Accounts }, [][]string{{"provider", "provideraccountid"}},
		[]product{{nextAuth, []string{"compoundid", "providerid"}}, {betterAuth, []string{"providerid", "accountid"}}},
	},
	"session": {
		func(c *Collections) *string { return &c.Sessions }, [][]string{{"sessiontoken"}},
		[]product{{betterAuth, []string{"token", "expiresat"}}, {lucia, []string{"userid", "expiresat"}}, {lucia, []string{"userid", "activeexpires"}}},
	},
	"verificationtoken": {func(c *Collections) *string { return &c.VerificationTokens }, [][]string{{"identifier", "token"}}, nil},
	"verification": {
		func(c *Collections) *string { return &c.VerificationTokens }, nil,
		[]product{{betterAuth, []string{"identifier", "expiresat"}}},
	},
	"authenticator": {func(c *Collections) *string { return &c.Authenticators }, [][]string{{"credentialid"}, {"credentialpublickey"}}, nil},
	"passkey":       {func(c *Collections) *string { return &c.Authenticators }, nil, []product{{betterAuth, []string{"credentialid"}}}},
}

// product is a library whose collections have other fields.
type product struct {
	name   string
	fields []string
}

const (
	betterAuth = "better-auth"
	lucia      = "Lucia"
	meteor     = "Meteor"
	nextAuth   = "NextAuth.js 3"
	parse      = "Parse Server"
	payload    = "Payload"
)

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
	product    string // that made it, if no names serve it
	full       bool   // has documents
	neighbor   bool   // EnsureIndexes made it, for an adapter with another prefix
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
	if i := slices.IndexFunc(others, func(o other) bool { return o.product != "" }); i >= 0 {
		for _, o := range others {
			names = append(names, o.name)
		}
		return fmt.Errorf("collections of %s are there: %s: no names serve them, because they have other fields; "+
			"WithNewCollections begins with new ones beside them, in which nobody of theirs is known", others[i].product, strings.Join(names, ", "))
	}
	for _, o := range others {
		names = append(names, o.name)
		*besideKinds[o.kind].field(&theirs) = o.name
	}
	instead := ""
	if s.prefix != "" {
		instead = ", without WithPrefix,"
	}
	return fmt.Errorf("collections that look like those of another authentication library are there: %s: WithCollections(%s)%s serves them; "+
		"WithNewCollections begins with new ones beside them, in which nobody of theirs is known", strings.Join(names, ", "), theirs.literal(), instead)
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
		if fields["hashedpassword"] || fields["puser"] { // which also has email, emailVerified and _session_token
			o.product = parse
		}
		return o, nil
	}
	i := slices.IndexFunc(kind.others, func(p product) bool { return has(p.fields) })
	if i < 0 {
		return nil, nil
	}
	o.product = kind.others[i].name
	return o, nil
}
