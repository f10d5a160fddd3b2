package adaptertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// keyed is a method that finds a record by its key. All these keys come from
// the network in the end. INPUT calls each with malformed keys, ERR and LIFE
// with a store that fails.
type keyed struct {
	method string
	// lookup is false for updates and deletes.
	lookup bool
	// parts are the parts of the key, by their names in (*uninvolvedUser).values.
	parts []string
	// unknown is what the method must return for an unknown key.
	unknown answer
	call    func(c *clauseContext, a adapter.Adapter, key []string) (any, error)
}

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

var keyedMethods = []keyed{
	{"GetUser", true, []string{"user id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetUser(c.ctx, k[0]))
	}},
	{"GetUserByEmail", true, []string{"e-mail"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetUserByEmail(c.ctx, k[0]))
	}},
	{"GetUserByAccount", true, []string{"provider", "account id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetUserByAccount(c.ctx, adapter.AccountKey{Provider: k[0], ProviderAccountID: k[1]}))
	}},
	{"GetAccount", true, []string{"provider", "account id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetAccount(c.ctx, k[1], k[0]))
	}},
	{"GetSessionAndUser", true, []string{"session token"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetSessionAndUser(c.ctx, k[0]))
	}},
	{"UseVerificationToken", true, []string{"identifier", "token"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.UseVerificationToken(c.ctx, adapter.VerificationTokenKey{Identifier: k[0], Token: k[1]}))
	}},
	{"GetAuthenticator", true, []string{"credential id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.GetAuthenticator(c.ctx, k[0]))
	}},
	{"ListAuthenticatorsByUserID", true, []string{"user id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		list, err := a.ListAuthenticatorsByUserID(c.ctx, k[0])
		if len(list) == 0 {
			return nil, err
		}
		return list, err
	}},
	{"ListAccountsByUserID", true, []string{"user id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		list, err := optional[adapter.AccountLists](a).ListAccountsByUserID(c.ctx, k[0])
		if len(list) == 0 {
			return nil, err
		}
		return list, err
	}},
	{"ListSessionsByUserID", true, []string{"user id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		list, err := optional[adapter.SessionLists](a).ListSessionsByUserID(c.ctx, k[0])
		if len(list) == 0 {
			return nil, err
		}
		return list, err
	}},
	{"UpdateAccount", false, []string{"provider", "account id"}, refusal, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		update := adapter.AccountUpdate{Provider: k[0], ProviderAccountID: k[1], Scope: adapter.To(new(c.unique("scope")))}
		return record(optional[adapter.AccountLists](a).UpdateAccount(c.ctx, update))
	}},
	{"DeleteSessionsByUserID", false, []string{"user id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return count(optional[adapter.SessionLists](a).DeleteSessionsByUserID(c.ctx, k[0], ""))
	}},
	{"DeleteAuthenticator", false, []string{"user id", "credential id"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(optional[adapter.AuthenticatorEdits](a).DeleteAuthenticator(c.ctx, k[0], k[1], false))
	}},
	{"TouchAuthenticator", false, []string{"credential id"}, refusal, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(optional[adapter.AuthenticatorEdits](a).TouchAuthenticator(c.ctx, k[0], 7, 1234, c.instant(0)))
	}},
	{"DeleteVerificationTokens", false, []string{"identifier"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return count(optional[adapter.TokenEdits](a).DeleteVerificationTokens(c.ctx, k[0]))
	}},
	{"UpdateUser", false, []string{"user id"}, refusal, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		u := c.newUser()
		return record(a.UpdateUser(c.ctx, adapter.UserUpdate{ID: k[0], Name: adapter.To(u.Name), Email: adapter.To(u.Email)}))
	}},
	{"DeleteUser", false, []string{"user id"}, either, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.DeleteUser(c.ctx, k[0]))
	}},
	{"UnlinkAccount", false, []string{"provider", "account id"}, either, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.UnlinkAccount(c.ctx, adapter.AccountKey{Provider: k[0], ProviderAccountID: k[1]}))
	}},
	{"UpdateSession", false, []string{"session token"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		expires := adapter.To(c.instant(time.Hour))
		return record(a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: k[0], Expires: expires}))
	}},
	{"DeleteSession", false, []string{"session token"}, absent, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.DeleteSession(c.ctx, k[0]))
	}},
	{"UpdateAuthenticatorCounter", false, []string{"credential id"}, refusal, func(c *clauseContext, a adapter.Adapter, k []string) (any, error) {
		return record(a.UpdateAuthenticatorCounter(c.ctx, k[0], 1234))
	}},
}

// record returns a nil any for a nil pointer.
func record[T any](r *T, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// count returns a nil any for a deletion of no record.
func count(n int64, err error) (any, error) {
	if n == 0 {
		return nil, err
	}
	return n, err
}

// keyed returns the methods that the adapter has; the clause does not apply if
// there is none.
func (c *clauseContext) keyed() []keyed {
	var have []keyed
	for _, k := range keyedMethods {
		if c.works(k.method) {
			have = append(have, k)
		}
	}
	if len(have) == 0 {
		c.notApplicable("the adapter has no method that takes a key")
	}
	return have
}

// lookups returns the keyed methods that only read a record or use it up.
func (c *clauseContext) lookups() []keyed {
	return slices.DeleteFunc(c.keyed(), func(k keyed) bool { return !k.lookup })
}

// misses reports a breach unless the method treats the key as unknown.
func (c *clauseContext) misses(k keyed, key []string) {
	got, err := k.call(c, c.a, key)
	what := fmt.Sprintf("%s(%s)", k.method, showKey(key))
	switch {
	case k.unknown == refusal:
		c.fails(what, got, err)
	case k.unknown == either && err != nil && got == nil:
	default:
		c.absent(what, got, err)
	}
}

// missesOrFails reports a breach if the method finds something.
func (c *clauseContext) missesOrFails(k keyed, key []string) {
	got, err := k.call(c, c.a, key)
	if err == nil && got != nil {
		c.Errorf("%s(%s): got %s, want absent or an error", k.method, showKey(key), diff.Show(got))
	}
}

// with returns key with part i replaced.
func with(key []string, i int, s string) []string {
	key = slices.Clone(key)
	key[i] = s
	return key
}

func showKey(key []string) string {
	values := make([]any, len(key))
	for i, k := range key {
		values[i] = k
	}
	return diff.Show(values...)
}

// values returns the keys, and the parts of keys, of all records of the
// uninvolved user.
func (b *uninvolvedUser) values() map[string]string {
	v := map[string]string{}
	if b.user != nil {
		v["user id"], v["e-mail"] = b.id, b.user.Email
	}
	if b.account != nil {
		v["provider"], v["account id"] = b.account.Provider, b.account.ProviderAccountID
	}
	if b.session != nil {
		v["session token"] = b.sessionToken
	}
	if b.token != nil {
		v["identifier"], v["token"] = b.token.Identifier, b.token.Token
	}
	if b.authenticator != nil {
		v["credential id"], v["passkey account id"] = b.credentialID, b.authenticator.ProviderAccountID
	}
	return v
}

// holds reports whether the uninvolved user has a record that the method finds.
func (b *uninvolvedUser) holds(name string) bool {
	m, _ := methodNamed(name)
	switch m.kind {
	case AccountRecord:
		return b.account != nil || b.byAccount != nil
	case SessionRecord:
		return b.session != nil
	case VerificationTokenRecord:
		return b.token != nil
	case AuthenticatorRecord:
		return b.authenticator != nil || len(b.list) > 0
	default:
		return b.user != nil || b.byEmail != nil
	}
}

// key returns the uninvolved user's key for the method, if it has one.
func (b *uninvolvedUser) key(k keyed) ([]string, bool) {
	if !b.holds(k.method) {
		return nil, false
	}
	values := b.values()
	key := make([]string, len(k.parts))
	for i, part := range k.parts {
		v, ok := values[part]
		if !ok {
			return nil, false
		}
		key[i] = v
	}
	return key, true
}

// residents creates n further users with one record of each kind, whose keys
// a clause may use. The clause must call check for each at its end.
func (c *clauseContext) residents(n int) []*uninvolvedUser {
	var all []*uninvolvedUser
	for range n {
		all = append(all, c.addUninvolved())
	}
	return all
}

// intact compares the residents' records with those before.
func (c *clauseContext) intact(residents []*uninvolvedUser) {
	for _, b := range residents {
		b.check(c, c.raw)
	}
}
