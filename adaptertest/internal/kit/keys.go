package kit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	Refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

// Call makes the call with the key. A result without a record is nil.
func (m Method) Call(c *Context, a adapter.Adapter, key []string) (any, error) {
	args := make([]any, len(key))
	for i, part := range key {
		args[i] = part
	}
	if m.args != nil {
		args = m.args(c, key)
	}
	got, err := newCall(m.Name, args...).Do(c.Ctx, a)
	if IsNothing(got) {
		return nil, err
	}
	return got, err
}

// RecordOrNil returns a nil any for a nil pointer.
func RecordOrNil[T any](r *T, err error) (any, error) {
	if r == nil {
		return nil, err
	}
	return r, err
}

// Lookup reports whether the method only reads a record or uses it up.
func (m Method) Lookup() bool {
	return strings.HasPrefix(m.Name, "Get") || strings.HasPrefix(m.Name, "List") || m.Name == "UseVerificationToken"
}

// keyedMethods returns the methods that take a key: lookups, then those of optional
// interfaces, then the others.
func keyedMethods() []Method {
	keyed := slices.DeleteFunc(slices.Clone(methods), func(m Method) bool { return m.Parts == nil })
	slices.SortStableFunc(keyed, func(a, b Method) int { return keyOrder(a) - keyOrder(b) })
	return keyed
}

func keyOrder(m Method) int {
	switch {
	case m.Lookup():
		return 0
	case m.Optional():
		return 1
	default:
		return 2
	}
}

// MethodsWithKey returns the methods that the adapter has; the clause does not apply if
// there is none.
func MethodsWithKey(c *Context) []Method {
	have := slices.DeleteFunc(keyedMethods(), func(m Method) bool { return !c.Works(m.Name) })
	if len(have) == 0 {
		c.NotApplicable("the adapter has no method that takes a key")
	}
	return have
}

// Lookups returns the keyed methods that only read a record or use it up.
func Lookups(c *Context) []Method {
	return slices.DeleteFunc(MethodsWithKey(c), func(m Method) bool { return !m.Lookup() })
}

// Misses reports a breach unless the method treats the key as unknown.
func Misses(c *Context, k Method, key []string) {
	got, err := k.Call(c, c.Adapter, key)
	what := fmt.Sprintf("%s(%s)", k.Name, ShowKey(key))
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
func (b *UninvolvedUser) Key(k Method) ([]string, bool) {
	if !b.holds(k.Name) {
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
