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
	of      func(c *clauseContext, key []string) call
}

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

// call makes the call with the key. A result without a record is nil.
func (k keyed) call(c *clauseContext, a adapter.Adapter, key []string) (any, error) {
	got, err := k.of(c, key).do(c.ctx, a)
	if isNothing(got) {
		return nil, err
	}
	return got, err
}

var keyedMethods = []keyed{
	{"GetUser", true, []string{"user id"}, absent, func(_ *clauseContext, k []string) call { return getUser(k[0]) }},
	{"GetUserByEmail", true, []string{"e-mail"}, absent, func(_ *clauseContext, k []string) call { return getUserByEmail(k[0]) }},
	{"GetUserByAccount", true, accountKeyParts, absent, func(_ *clauseContext, k []string) call { return getUserByAccount(accountKey(k)) }},
	{"GetAccount", true, accountKeyParts, absent, func(_ *clauseContext, k []string) call { return getAccount(accountKey(k)) }},
	{"GetSessionAndUser", true, []string{"session token"}, absent, func(_ *clauseContext, k []string) call { return getSession(k[0]) }},
	{"UseVerificationToken", true, []string{"identifier", "token"}, absent, func(_ *clauseContext, k []string) call {
		return useToken(adapter.VerificationTokenKey{Identifier: k[0], Token: k[1]})
	}},
	{"GetAuthenticator", true, []string{"credential id"}, absent, func(_ *clauseContext, k []string) call { return getAuthenticator(k[0]) }},
	{"ListAuthenticatorsByUserID", true, []string{"user id"}, absent, func(_ *clauseContext, k []string) call { return listAuthenticators(k[0]) }},
	{"ListAccountsByUserID", true, []string{"user id"}, absent, func(_ *clauseContext, k []string) call { return listAccounts(k[0]) }},
	{"ListSessionsByUserID", true, []string{"user id"}, absent, func(_ *clauseContext, k []string) call { return listSessions(k[0]) }},
	{"UpdateAccount", false, accountKeyParts, refusal, func(c *clauseContext, k []string) call {
		return updateAccount(c.accountUpdate(accountKey(k), []string{"scope"}))
	}},
	{"DeleteSessionsByUserID", false, []string{"user id"}, absent, func(_ *clauseContext, k []string) call { return deleteSessions(k[0], "") }},
	{"DeleteAuthenticator", false, []string{"user id", "credential id"}, absent, func(_ *clauseContext, k []string) call {
		return deleteAuthenticator(k[0], k[1], false)
	}},
	{"TouchAuthenticator", false, []string{"credential id"}, refusal, func(c *clauseContext, k []string) call {
		return touchAuthenticator(k[0], 7, 1234, c.instant(0))
	}},
	{"DeleteVerificationTokens", false, []string{"identifier"}, absent, func(_ *clauseContext, k []string) call { return deleteTokens(k[0]) }},
	{"UpdateUser", false, []string{"user id"}, refusal, func(c *clauseContext, k []string) call {
		return updateUser(c.userUpdate(k[0], []string{"name", "email"}))
	}},
	{"DeleteUser", false, []string{"user id"}, either, func(_ *clauseContext, k []string) call { return deleteUser(k[0]) }},
	{"UnlinkAccount", false, accountKeyParts, either, func(_ *clauseContext, k []string) call { return unlinkAccount(accountKey(k)) }},
	{"UpdateSession", false, []string{"session token"}, absent, func(c *clauseContext, k []string) call {
		return updateSession(adapter.SessionUpdate{SessionToken: k[0], Expires: adapter.To(c.instant(time.Hour))})
	}},
	{"DeleteSession", false, []string{"session token"}, absent, func(_ *clauseContext, k []string) call { return deleteSession(k[0]) }},
	{"UpdateAuthenticatorCounter", false, []string{"credential id"}, refusal, func(_ *clauseContext, k []string) call { return updateCounter(k[0], 1234) }},
}

var accountKeyParts = []string{"provider", "account id"}

func accountKey(parts []string) adapter.AccountKey {
	return adapter.AccountKey{Provider: parts[0], ProviderAccountID: parts[1]}
}

// record returns a nil any for a nil pointer.
func record[T any](r *T, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return r, err
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
