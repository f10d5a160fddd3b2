package kit

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Method is a method of the contract.
type Method struct {
	Name string
	// Rules are the clauses that its comment promises and single calls show.
	Rules string
	// Kind is the kind of record that it is about.
	Kind Kind
	// Creator is the method that creates the record which the method works on, if CreateUser alone is not enough.
	Creator string
	// Write says that a snapshot shows the change that the method makes.
	Write bool
	// Parts are the parts of the key by which it finds a record, by their names in (*UninvolvedUser).Values, and none if
	// it finds none. All these keys come from the network in the end. INPUT calls each with malformed keys, ERR and LIFE
	// with a store that fails.
	Parts []string
	// Unknown is what it must return for an unknown key.
	Unknown answer
	// args are the arguments of a call with a key: the parts, unless it says otherwise.
	args func(c *Context, key []string) []any
}

// signature is what the interfaces say of a method.
type signature struct {
	name       string
	capability string                     // the optional interface that it belongs to
	has        func(adapter.Adapter) bool // reports whether an adapter has that interface
	call       caller
}

// signatures are the methods of the contract, in its order.
var signatures []signature

// caller makes a call of a method with the arguments, in the order of its parameters.
type caller func(ctx context.Context, a adapter.Adapter, args []any) (any, error)

// declare adds a method of the interface I to the signatures.
func declare[I any](name string, call caller) {
	s := signature{name: name, has: hasCapability[I], call: call}
	if of := reflect.TypeFor[I](); of != reflect.TypeFor[adapter.Adapter]() {
		s.capability = of.Name()
	}
	signatures = append(signatures, s)
}

// one to four declare a method of the interface I with so many parameters, and return what prepares a call of it.
func one[I, A, R any](name string, method func(I, context.Context, A) (R, error)) func(A) Call {
	declare[I](name, func(ctx context.Context, a adapter.Adapter, x []any) (any, error) {
		return method(as[I](a), ctx, x[0].(A))
	})
	return func(a A) Call { return newCall(name, a) }
}

func two[I, A, B, R any](name string, method func(I, context.Context, A, B) (R, error)) func(A, B) Call {
	declare[I](name, func(ctx context.Context, a adapter.Adapter, x []any) (any, error) {
		return method(as[I](a), ctx, x[0].(A), x[1].(B))
	})
	return func(a A, b B) Call { return newCall(name, a, b) }
}

func three[I, A, B, C, R any](name string, method func(I, context.Context, A, B, C) (R, error)) func(A, B, C) Call {
	declare[I](name, func(ctx context.Context, a adapter.Adapter, x []any) (any, error) {
		return method(as[I](a), ctx, x[0].(A), x[1].(B), x[2].(C))
	})
	return func(a A, b B, c C) Call { return newCall(name, a, b, c) }
}

func four[I, A, B, C, D, R any](name string, method func(I, context.Context, A, B, C, D) (R, error)) func(A, B, C, D) Call {
	declare[I](name, func(ctx context.Context, a adapter.Adapter, x []any) (any, error) {
		return method(as[I](a), ctx, x[0].(A), x[1].(B), x[2].(C), x[3].(D))
	})
	return func(a A, b B, c C, d D) Call { return newCall(name, a, b, c, d) }
}

// as returns the adapter itself if I is adapter.Adapter, and else its optional interface I.
func as[I any](a adapter.Adapter) I {
	if own, ok := any(&a).(*I); ok {
		return *own
	}
	return Optional[I](a)
}

// methods are the 19 methods of an adapter, and those of the optional interfaces.
var methods = []Method{
	{Name: "CreateUser", Rules: "USER-01 to USER-06, USER-11, USER-12", Kind: UserRecord, Write: true},
	{Name: "GetUser", Rules: "USER-02, USER-07, USER-08", Kind: UserRecord, Parts: userID},
	{Name: "GetUserByEmail", Rules: "USER-09, USER-10, USER-16", Kind: UserRecord, Parts: []string{"e-mail"}},
	{Name: "GetUserByAccount", Rules: "ACCT-01, ACCT-04, ACCT-05", Kind: AccountRecord, Creator: "LinkAccount",
		Parts: accountParts, args: accountArgs},
	{Name: "UpdateUser", Rules: "USER-17 to USER-22", Kind: UserRecord, Write: true, Parts: userID, Unknown: Refusal,
		args: func(c *Context, k []string) []any { return []any{UserUpdate(c, k[0], []string{"name", "email"})} }},
	{Name: "DeleteUser", Rules: "CASC-01 to CASC-10", Kind: UserRecord, Write: true, Parts: userID, Unknown: either},
	{Name: "LinkAccount", Rules: "ACCT-06, ACCT-14, ACCT-16, ACCT-22, ACCT-23", Kind: AccountRecord, Write: true},
	{Name: "UnlinkAccount", Rules: "ACCT-07, ACCT-10 to ACCT-13", Kind: AccountRecord, Creator: "LinkAccount", Write: true,
		Parts: accountParts, Unknown: either, args: accountArgs},
	{Name: "GetAccount", Rules: "ACCT-02, ACCT-03", Kind: AccountRecord, Creator: "LinkAccount",
		Parts: accountParts, args: func(_ *Context, k []string) []any { return []any{k[1], k[0]} }},
	{Name: "CreateSession", Rules: "SESS-01, SESS-05, SESS-07", Kind: SessionRecord, Write: true},
	{Name: "GetSessionAndUser", Rules: "SESS-02, SESS-19, SESS-21, SESS-22", Kind: SessionRecord, Creator: "CreateSession",
		Parts: sessionToken},
	{Name: "UpdateSession", Rules: "SESS-08 to SESS-14", Kind: SessionRecord, Creator: "CreateSession", Write: true,
		Parts: sessionToken, args: func(c *Context, k []string) []any {
			return []any{adapter.SessionUpdate{SessionToken: k[0], Expires: adapter.To(c.Instant(time.Hour))}}
		}},
	{Name: "DeleteSession", Rules: "SESS-15 to SESS-18", Kind: SessionRecord, Creator: "CreateSession", Write: true, Parts: sessionToken},
	{Name: "CreateVerificationToken", Rules: "VTOK-01, VTOK-07 to VTOK-10, VTOK-15", Kind: VerificationTokenRecord},
	{Name: "UseVerificationToken", Rules: "VTOK-02 to VTOK-06", Kind: VerificationTokenRecord, Creator: "CreateVerificationToken",
		Parts: []string{"identifier", "token"}, args: func(_ *Context, k []string) []any {
			return []any{adapter.VerificationTokenKey{Identifier: k[0], Token: k[1]}}
		}},
	{Name: "CreateAuthenticator", Rules: "AUTHN-01, AUTHN-03, AUTHN-20", Kind: AuthenticatorRecord, Write: true},
	{Name: "GetAuthenticator", Rules: "AUTHN-02, AUTHN-15", Kind: AuthenticatorRecord, Creator: "CreateAuthenticator",
		Parts: credentialID},
	{Name: "ListAuthenticatorsByUserID", Rules: "AUTHN-04, AUTHN-06, AUTHN-07, AUTHN-21", Kind: AuthenticatorRecord, Parts: userID},
	{Name: "UpdateAuthenticatorCounter", Rules: "AUTHN-08 to AUTHN-14", Kind: AuthenticatorRecord, Creator: "CreateAuthenticator",
		Write: true, Parts: credentialID, Unknown: Refusal,
		args: func(_ *Context, k []string) []any { return []any{k[0], int64(1234)} }},

	{Name: "CreateUserWithAccount", Rules: "SIGNUP-01 to SIGNUP-06", Kind: UserRecord, Write: true},
	{Name: "ListAccountsByUserID", Rules: "ALIST-01 to ALIST-03", Kind: AccountRecord, Creator: "LinkAccount", Parts: userID},
	{Name: "UpdateAccount", Rules: "ALIST-04 to ALIST-07", Kind: AccountRecord, Creator: "LinkAccount", Write: true,
		Parts: accountParts, Unknown: Refusal, args: func(c *Context, k []string) []any {
			return []any{AccountUpdate(c, accountKey(k), []string{"scope"})}
		}},
	{Name: "ListSessionsByUserID", Rules: "SLIST-01 to SLIST-03", Kind: SessionRecord, Creator: "CreateSession", Parts: userID},
	{Name: "DeleteSessionsByUserID", Rules: "SLIST-04 to SLIST-07", Kind: SessionRecord, Creator: "CreateSession", Write: true,
		Parts: userID, args: func(_ *Context, k []string) []any { return []any{k[0], ""} }},
	{Name: "DeleteAuthenticator", Rules: "AEDIT-01 to AEDIT-05", Kind: AuthenticatorRecord, Creator: "CreateAuthenticator", Write: true,
		Parts: []string{"user id", "credential id"}, args: func(_ *Context, k []string) []any { return []any{k[0], k[1], false} }},
	{Name: "RenameAuthenticator", Rules: "AEDIT-06", Kind: AuthenticatorRecord, Creator: "CreateAuthenticator"},
	{Name: "TouchAuthenticator", Rules: "AEDIT-07 to AEDIT-10", Kind: AuthenticatorRecord, Creator: "CreateAuthenticator", Write: true,
		Parts: credentialID, Unknown: Refusal,
		args: func(c *Context, k []string) []any { return []any{k[0], int64(7), int64(1234), c.Instant(0)} }},
	{Name: "DeleteVerificationTokens", Rules: "TEDIT-01 to TEDIT-03", Kind: VerificationTokenRecord, Creator: "CreateVerificationToken",
		Parts: []string{"identifier"}},
	{Name: "CreateUserWithPassword", Rules: "PASS-01, PASS-08, PASS-09", Kind: UserRecord, Write: true},
	{Name: "GetPassword", Rules: "PASS-01, PASS-02", Kind: UserRecord, Creator: "SetPassword", Parts: userID},
	{Name: "SetPassword", Rules: "PASS-01, PASS-03, PASS-11", Kind: UserRecord, Write: true},
	{Name: "SwapPassword", Rules: "PASS-04, PASS-05", Kind: UserRecord, Creator: "SetPassword", Write: true,
		Parts: userID, args: func(c *Context, k []string) []any { return []any{NewPassword(c, k[0]), NewPassword(c, k[0])} }},
	{Name: "DeletePassword", Rules: "PASS-06, PASS-07", Kind: UserRecord, Creator: "SetPassword", Write: true,
		Parts: userID, args: func(_ *Context, k []string) []any { return []any{k[0], false} }},
}

var (
	userID       = []string{"user id"}
	accountParts = []string{"provider", "account id"}
	sessionToken = []string{"session token"}
	credentialID = []string{"credential id"}
)

func accountKey(k []string) adapter.AccountKey {
	return adapter.AccountKey{Provider: k[0], ProviderAccountID: k[1]}
}

func accountArgs(_ *Context, k []string) []any { return []any{accountKey(k)} }

// signatureOf returns the signature of the method.
func signatureOf(method string) signature {
	return signatures[slices.IndexFunc(signatures, func(s signature) bool { return s.name == method })]
}

// Optional reports whether the method belongs to an optional interface.
func (m Method) Optional() bool { return signatureOf(m.Name).capability != "" }

func hasCapability[T any](a adapter.Adapter) bool {
	_, ok := adapter.Capability[T](a)
	return ok
}

// MethodNamed returns the method of the contract with the name.
func MethodNamed(name string) (Method, bool) {
	return Find(methods, func(m Method) bool { return m.Name == name })
}

// MethodsThat returns the names of the methods that keep accepts.
func MethodsThat(keep func(Method) bool) []string {
	return Map(Keep(methods, keep), func(m Method) string { return m.Name })
}

// MissingMethods returns the methods that the adapter lacks: those of the 19, and those of the optional interfaces.
// If the adapter says that one method of an optional interface is missing, the whole interface is missing.
func MissingMethods(a adapter.Adapter) (required, optional []string) {
	declared := adapter.Missing(a)
	lacks := map[string]bool{}
	for _, s := range signatures {
		if s.capability != "" && (!s.has(a) || slices.Contains(declared, s.name)) {
			lacks[s.capability] = true
		}
	}
	for _, s := range signatures {
		if lacks[s.capability] {
			optional = append(optional, s.name)
		}
	}
	required = slices.DeleteFunc(slices.Clone(declared), func(name string) bool {
		m, known := MethodNamed(name)
		return !known || m.Optional()
	})
	return required, optional
}

// Optional returns the optional interface T of an adapter. The clause has checked that the adapter under test has it.
// If another handle lacks it, the harness is wrong.
func Optional[T any](a adapter.Adapter) T {
	t, ok := adapter.Capability[T](a)
	if !ok {
		panic("the harness opened a handle that lacks an optional interface which the adapter of New has")
	}
	return t
}

// Stores reports whether the adapter can create and read records of the kind.
func (c *Context) Stores(kind Kind) bool {
	k := KindOf(kind)
	return c.Works(k.Create) && c.Works(k.Read)
}

// Works reports whether the adapter has the method, and the methods that create the records it works on.
func (c *Context) Works(name string) bool {
	m, ok := MethodNamed(name)
	if !ok || c.Lacks(name) || m.Kind != VerificationTokenRecord && c.Lacks("CreateUser") {
		return false
	}
	return m.Creator == "" || !c.Lacks(m.Creator)
}

// Working returns the calls that the adapter can make.
func (c *Context) Working(calls []Call) []Call {
	return slices.DeleteFunc(calls, func(k Call) bool { return !c.Works(k.Method) })
}

// Having returns those of the methods that the adapter can be called with.
func (c *Context) Having(methods []string) []string {
	return Keep(methods, c.Works)
}

// answer is the result of a method for an unknown key.
type answer int

const (
	absent  answer = iota // no record and no error
	Refusal               // an error, because the method can't return an absent record
	either                // no record; an error breaks a SHOULD of another clause
)

// With returns a call with the key.
func (m Method) With(c *Context, key []string) Call {
	args := anyOf(key)
	if m.args != nil {
		args = m.args(c, key)
	}
	return newCall(m.Name, args...)
}

// Call makes the call with the key. A result without a record is nil.
func (m Method) Call(c *Context, a adapter.Adapter, key []string) (any, error) {
	return m.With(c, key).find(c, a)
}

// Lookup reports whether the method only reads a record or uses it up.
func (m Method) Lookup() bool { return IsLookup(m.Name) || m.Name == "UseVerificationToken" }

// IsLookup reports whether the method only reads.
func IsLookup(method string) bool {
	return strings.HasPrefix(method, "Get") || strings.HasPrefix(method, "List")
}

// KeyedMethods returns the methods that take a key: lookups, then those of optional interfaces, then the others.
func KeyedMethods() []Method {
	keyed := Keep(methods, func(m Method) bool { return m.Parts != nil })
	return slices.Concat(Keep(keyed, Method.Lookup),
		Keep(keyed, func(m Method) bool { return m.Optional() && !m.Lookup() }),
		Keep(keyed, func(m Method) bool { return !m.Optional() && !m.Lookup() }))
}

// UnknownKey returns a key of the method that no record has.
func (m Method) UnknownKey(c *Context) []string {
	key := make([]string, len(m.Parts))
	for i, part := range m.Parts {
		if key[i] = c.Unique(part); part == "user id" {
			key[i] = c.ID()
		}
	}
	return key
}

// MethodsWithKey returns the methods that the adapter has; the clause does not apply if there is none.
func MethodsWithKey(c *Context) []Method {
	return Applicable(c, KeyedMethods(), func(m Method) bool { return c.Works(m.Name) }, "the adapter has no method that takes a key")
}

// Applicable returns those that keep accepts. The clause does not apply, for the reason, if there is none.
func Applicable[T any](c *Context, all []T, keep func(T) bool, reason string) []T {
	have := Keep(all, keep)
	if len(have) == 0 {
		c.NotApplicable("%s", reason)
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

func ShowKey(key []string) string { return diff.Show(anyOf(key)...) }

func anyOf(key []string) []any {
	return Map(key, func(k string) any { return k })
}
