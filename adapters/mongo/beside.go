package mongo

import (
	"cmp"
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

// defaultNames are the adapter's own collections, without a prefix.
var defaultNames = []string{"users", "accounts", "sessions", "verification_tokens", "authenticators"}

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
	ours       bool   // EnsureIndexes made its index of addresses
}

// checkBeside refuses a database in which the adapter would begin with nobody, although
// collections that look like those of another authentication library have, or will have,
// the people of the site.
func (s *site) checkBeside(ctx context.Context, specs []mgo.CollectionSpecification, all bool, found values) error {
	half := s.names != Collections{} // some names are given, and the others are the defaults
	if s.newCollections || !half && (found.has(s.users) || found.has(s.accounts)) {
		return nil
	}
	if !all && (s.names.Users == "" && !found.has(s.users) || s.names.Accounts == "" && !found.has(s.accounts)) {
		return s.unseen(ctx, []collection{s.collection("")}, rightListCollections)
	}
	ours := s.collectionNames()
	made, neighbor := false, false
	var others []other
	var unread []collection
	for _, spec := range specs {
		if slices.Contains(ours, spec.Name) {
			made = true
			continue
		}
		kind, own := s.kindOf(spec.Name)
		given := s.names
		if kind == "" || half && (*besideKinds[kind].field(&given) != "" || found.has(own)) {
			continue
		}
		o, err := s.lookAt(ctx, spec.Name, kind)
		switch {
		case isCode(err, unauthorized):
			unread = append(unread, s.collection(spec.Name))
		case err != nil:
			return err
		case o != nil && (o.full || !half):
			others = append(others, *o)
			neighbor = neighbor || o.ours && o.name == defaultNames[0] && s.prefix != ""
		}
	}
	others = slices.DeleteFunc(others, func(o other) bool {
		return neighbor && o.product == "" && slices.Contains(defaultNames, o.name)
	})
	if slices.ContainsFunc(others, func(o other) bool { return o.full || !made }) {
		return s.refuseBeside(others)
	}
	if neighbor { // with its collections, whatever the database user may do there
		unread = slices.DeleteFunc(unread, func(c collection) bool { return slices.Contains(defaultNames, c.Name()) })
	}
	if len(unread) > 0 {
		return s.unseen(ctx, unread, rightFind, rightListIndexes)
	}
	return nil
}

// unseen is the error of a database whose people can't be seen, because the database user
// lacks rights.
func (s *site) unseen(ctx context.Context, in []collection, rights ...string) error {
	lacks, err := s.lacksRights(ctx, in, func(collection) []string { return rights })
	if err != nil {
		return err
	}
	if lacks == "" {
		lacks = "the database user lacks rights: " + strings.Join(rights, ", ")
	}
	return fmt.Errorf("the adapter has no users yet, and can't see whether another authentication library has: %s; "+
		"WithNewCollections begins with nobody all the same", lacks)
}

// refuseBeside names the collections of others and the options.
func (s *site) refuseBeside(others []other) error {
	slices.SortFunc(others, func(x, y other) int { return strings.Compare(x.name, y.name) })
	var names []string
	theirs, product := s.names, ""
	for _, o := range others {
		names = append(names, o.name)
		product = cmp.Or(product, o.product)
		*besideKinds[o.kind].field(&theirs) = o.name
	}
	const begin = "WithNewCollections begins with new ones beside them, in which nobody of theirs is known"
	if product != "" {
		return fmt.Errorf("collections of %s are there: %s: no names serve them, because they have other fields; %s",
			product, strings.Join(names, ", "), begin)
	}
	instead := ""
	if s.prefix != "" {
		instead = ", without WithPrefix,"
	}
	return fmt.Errorf("collections that look like those of another authentication library are there: %s: WithCollections(%s)%s serves them; %s",
		strings.Join(names, ", "), theirs.literal(), instead, begin)
}

// ofKind returns the adapter's collection of a kind.
func (s *site) ofKind(kind string) collection {
	var names Collections
	*besideKinds[kind].field(&names) = "this"
	i := slices.Index([]string{names.Users, names.Accounts, names.Sessions, names.VerificationTokens, names.Authenticators}, "this")
	return s.all()[i]
}

// kindOf returns the kind of a collection by its name, which is empty if no library of
// authentication has such a name, and the adapter's own collection of that kind.
func (s *site) kindOf(name string) (kind string, own collection) {
	bare := plain(name)
	if rest, ok := strings.CutPrefix(bare, plain(s.prefix)); ok {
		bare = rest
	}
	kind = strings.TrimSuffix(bare, "s")
	if _, known := besideKinds[kind]; !known {
		return "", own
	}
	return kind, s.ofKind(kind)
}

// lookAt returns the collection if it looks like one of an authentication library, by the
// fields of some documents and of its indexes. The error is one of a lacking right if they
// can't be read.
func (s *site) lookAt(ctx context.Context, name, kind string) (*other, error) {
	o := &other{name: name, kind: kind}
	c := s.collection(name)
	fields := map[string]bool{}
	found, err := c.aggregateNow(ctx, bson.D{{Key: "$limit", Value: int32(20)}})
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
	if err != nil && (!o.full || !isCode(err, unauthorized)) {
		return nil, err
	}
	for _, i := range indexes {
		ours := i.Name == "email_unique" && isTextFilter(i.Partial, "email")
		o.ours = o.ours || ours
		elements, _ := i.Key.Elements()
		for _, e := range elements {
			fields[plain(e.Key())] = true
			// Optional fields may be absent in all documents. Prisma names its indexes by the
			// model.
			if e.Key() == "email" && (ours || strings.HasSuffix(i.Name, "_email_key")) {
				fields["emailverified"] = true
			}
		}
	}
	has := func(set []string) bool {
		return len(set) > 0 && !slices.ContainsFunc(set, func(f string) bool { return !fields[f] })
	}
	like := besideKinds[kind]
	if slices.ContainsFunc(like.fields, has) {
		if fields["hashedpassword"] || fields["puser"] { // which also has email, emailVerified and _session_token
			o.product = parse
		}
		return o, nil
	}
	i := slices.IndexFunc(like.others, func(p product) bool { return has(p.fields) })
	if i < 0 {
		return nil, nil
	}
	o.product = like.others[i].name
	return o, nil
}
