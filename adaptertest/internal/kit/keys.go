package kit

import (
	"fmt"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Keyed is a method that finds a record by its key. All these keys come from
// the network in the end. INPUT calls each with malformed keys, ERR and LIFE
// with a store that fails.
type Keyed struct {
	Method string
	// Lookup is false for updates and deletes.
	Lookup bool
	// Parts are the parts of the key, by their names in (*UninvolvedUser).values.
	Parts []string
	// Unknown is what the method must return for an unknown key.
	Unknown answer
	of      func(c *Context, key []string) Call
}

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	Refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

// Call makes the call with the key. A result without a record is nil.
func (k Keyed) Call(c *Context, a adapter.Adapter, key []string) (any, error) {
	got, err := k.of(c, key).Do(c.Ctx, a)
	if IsNothing(got) {
		return nil, err
	}
	return got, err
}

var keyedMethods = []Keyed{
	{"GetUser", true, []string{"user id"}, absent, func(_ *Context, k []string) Call { return GetUser(k[0]) }},
	{"GetUserByEmail", true, []string{"e-mail"}, absent, func(_ *Context, k []string) Call { return GetUserByEmail(k[0]) }},
	{"GetUserByAccount", true, accountKeyParts, absent, func(_ *Context, k []string) Call { return GetUserByAccount(accountKey(k)) }},
	{"GetAccount", true, accountKeyParts, absent, func(_ *Context, k []string) Call { return GetAccount(accountKey(k)) }},
	{"GetSessionAndUser", true, []string{"session token"}, absent, func(_ *Context, k []string) Call { return GetSession(k[0]) }},
	{"UseVerificationToken", true, []string{"identifier", "token"}, absent, func(_ *Context, k []string) Call {
		return UseToken(adapter.VerificationTokenKey{Identifier: k[0], Token: k[1]})
	}},
	{"GetAuthenticator", true, []string{"credential id"}, absent, func(_ *Context, k []string) Call { return GetAuthenticator(k[0]) }},
	{"ListAuthenticatorsByUserID", true, []string{"user id"}, absent, func(_ *Context, k []string) Call { return ListAuthenticators(k[0]) }},
	{"ListAccountsByUserID", true, []string{"user id"}, absent, func(_ *Context, k []string) Call { return ListAccounts(k[0]) }},
	{"ListSessionsByUserID", true, []string{"user id"}, absent, func(_ *Context, k []string) Call { return ListSessions(k[0]) }},
	{"UpdateAccount", false, accountKeyParts, Refusal, func(c *Context, k []string) Call {
		return UpdateAccount(AccountUpdate(c, accountKey(k), []string{"scope"}))
	}},
	{"DeleteSessionsByUserID", false, []string{"user id"}, absent, func(_ *Context, k []string) Call { return DeleteSessions(k[0], "") }},
	{"DeleteAuthenticator", false, []string{"user id", "credential id"}, absent, func(_ *Context, k []string) Call {
		return DeleteAuthenticator(k[0], k[1], false)
	}},
	{"TouchAuthenticator", false, []string{"credential id"}, Refusal, func(c *Context, k []string) Call {
		return TouchAuthenticator(k[0], 7, 1234, c.Instant(0))
	}},
	{"DeleteVerificationTokens", false, []string{"identifier"}, absent, func(_ *Context, k []string) Call { return DeleteTokens(k[0]) }},
	{"UpdateUser", false, []string{"user id"}, Refusal, func(c *Context, k []string) Call {
		return UpdateUser(UserUpdate(c, k[0], []string{"name", "email"}))
	}},
	{"DeleteUser", false, []string{"user id"}, either, func(_ *Context, k []string) Call { return DeleteUser(k[0]) }},
	{"UnlinkAccount", false, accountKeyParts, either, func(_ *Context, k []string) Call { return UnlinkAccount(accountKey(k)) }},
	{"UpdateSession", false, []string{"session token"}, absent, func(c *Context, k []string) Call {
		return UpdateSession(adapter.SessionUpdate{SessionToken: k[0], Expires: adapter.To(c.Instant(time.Hour))})
	}},
	{"DeleteSession", false, []string{"session token"}, absent, func(_ *Context, k []string) Call { return DeleteSession(k[0]) }},
	{"UpdateAuthenticatorCounter", false, []string{"credential id"}, Refusal, func(_ *Context, k []string) Call { return UpdateCounter(k[0], 1234) }},
}

var accountKeyParts = []string{"provider", "account id"}

func accountKey(parts []string) adapter.AccountKey {
	return adapter.AccountKey{Provider: parts[0], ProviderAccountID: parts[1]}
}

// RecordOrNil returns a nil any for a nil pointer.
func RecordOrNil[T any](r *T, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// MethodsWithKey returns the methods that the adapter has; the clause does not apply if
// there is none.
func MethodsWithKey(c *Context) []Keyed {
	var have []Keyed
	for _, k := range keyedMethods {
		if c.Works(k.Method) {
			have = append(have, k)
		}
	}
	if len(have) == 0 {
		c.NotApplicable("the adapter has no method that takes a key")
	}
	return have
}

// Lookups returns the keyed methods that only read a record or use it up.
func Lookups(c *Context) []Keyed {
	return slices.DeleteFunc(MethodsWithKey(c), func(k Keyed) bool { return !k.Lookup })
}

// Misses reports a breach unless the method treats the key as unknown.
func Misses(c *Context, k Keyed, key []string) {
	got, err := k.Call(c, c.Adapter, key)
	what := fmt.Sprintf("%s(%s)", k.Method, ShowKey(key))
	switch {
	case k.Unknown == Refusal:
		c.Fails(what, got, err)
	case k.Unknown == either && err != nil && got == nil:
	default:
		c.Absent(what, got, err)
	}
}

// With returns key with part i replaced.
func With(key []string, i int, s string) []string {
	key = slices.Clone(key)
	key[i] = s
	return key
}

func ShowKey(key []string) string {
	values := make([]any, len(key))
	for i, k := range key {
		values[i] = k
	}
	return diff.Show(values...)
}

// Values returns the keys, and the parts of keys, of all records of the
// uninvolved user.
func (b *UninvolvedUser) Values() map[string]string {
	v := map[string]string{}
	if b.User != nil {
		v["user id"], v["e-mail"] = b.ID, b.User.Email
	}
	if b.Account != nil {
		v["provider"], v["account id"] = b.Account.Provider, b.Account.ProviderAccountID
	}
	if b.Session != nil {
		v["session token"] = b.SessionToken
	}
	if b.Token != nil {
		v["identifier"], v["token"] = b.Token.Identifier, b.Token.Token
	}
	if b.Authenticator != nil {
		v["credential id"], v["passkey account id"] = b.CredentialID, b.Authenticator.ProviderAccountID
	}
	return v
}

// holds reports whether the uninvolved user has a record that the method finds.
func (b *UninvolvedUser) holds(name string) bool {
	m, _ := MethodNamed(name)
	switch m.Kind {
	case AccountRecord:
		return b.Account != nil || b.byAccount != nil
	case SessionRecord:
		return b.Session != nil
	case VerificationTokenRecord:
		return b.Token != nil
	case AuthenticatorRecord:
		return b.Authenticator != nil || len(b.list) > 0
	default:
		return b.User != nil || b.byEmail != nil
	}
}

// Key returns the uninvolved user's key for the method, if it has one.
func (b *UninvolvedUser) Key(k Keyed) ([]string, bool) {
	if !b.holds(k.Method) {
		return nil, false
	}
	values := b.Values()
	key := make([]string, len(k.Parts))
	for i, part := range k.Parts {
		v, ok := values[part]
		if !ok {
			return nil, false
		}
		key[i] = v
	}
	return key, true
}

// Residents creates n further users with one record of each kind, whose keys
// a clause may use. The clause must call check for each at its end.
func Residents(c *Context, n int) []*UninvolvedUser {
	var all []*UninvolvedUser
	for range n {
		all = append(all, addUninvolved(c))
	}
	return all
}

// Intact compares the residents' records with those before.
func Intact(c *Context, residents []*UninvolvedUser) {
	for _, b := range residents {
		b.Check(c, c.Raw)
	}
}
