package adaptertest

import (
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// method is a method of the contract.
type method struct {
	name string
	// kind is the kind of record that it is about.
	kind Kind
	// creator is the method without which it has nothing to work on, if that is
	// not CreateUser alone.
	creator string
	// write says that it changes something that a snapshot shows.
	write bool
	// capability is the optional interface that it belongs to.
	capability string
}

// methods are the 19 methods of an adapter, and those of the optional interfaces.
var methods = []method{
	{name: "CreateUser", kind: UserRecord, write: true},
	{name: "GetUser", kind: UserRecord},
	{name: "GetUserByEmail", kind: UserRecord},
	{name: "GetUserByAccount", kind: AccountRecord, creator: "LinkAccount"},
	{name: "UpdateUser", kind: UserRecord, write: true},
	{name: "DeleteUser", kind: UserRecord, write: true},
	{name: "LinkAccount", kind: AccountRecord, write: true},
	{name: "UnlinkAccount", kind: AccountRecord, creator: "LinkAccount", write: true},
	{name: "GetAccount", kind: AccountRecord, creator: "LinkAccount"},
	{name: "CreateSession", kind: SessionRecord, write: true},
	{name: "GetSessionAndUser", kind: SessionRecord, creator: "CreateSession"},
	{name: "UpdateSession", kind: SessionRecord, creator: "CreateSession", write: true},
	{name: "DeleteSession", kind: SessionRecord, creator: "CreateSession", write: true},
	{name: "CreateVerificationToken", kind: VerificationTokenRecord},
	{name: "UseVerificationToken", kind: VerificationTokenRecord, creator: "CreateVerificationToken"},
	{name: "CreateAuthenticator", kind: AuthenticatorRecord, write: true},
	{name: "GetAuthenticator", kind: AuthenticatorRecord, creator: "CreateAuthenticator"},
	{name: "ListAuthenticatorsByUserID", kind: AuthenticatorRecord},
	{name: "UpdateAuthenticatorCounter", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true},

	{name: "CreateUserWithAccount", kind: UserRecord, write: true, capability: "SignUps"},
	{name: "ListAccountsByUserID", kind: AccountRecord, creator: "LinkAccount", capability: "AccountLists"},
	{name: "UpdateAccount", kind: AccountRecord, creator: "LinkAccount", write: true, capability: "AccountLists"},
	{name: "ListSessionsByUserID", kind: SessionRecord, creator: "CreateSession", capability: "SessionLists"},
	{name: "DeleteSessionsByUserID", kind: SessionRecord, creator: "CreateSession", write: true, capability: "SessionLists"},
	{name: "DeleteAuthenticator", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true, capability: "AuthenticatorEdits"},
	{name: "RenameAuthenticator", kind: AuthenticatorRecord, creator: "CreateAuthenticator", capability: "AuthenticatorEdits"},
	{name: "TouchAuthenticator", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true, capability: "AuthenticatorEdits"},
	{name: "DeleteVerificationTokens", kind: VerificationTokenRecord, creator: "CreateVerificationToken", capability: "TokenEdits"},
}

// capabilities tell whether an adapter has an optional interface.
var capabilities = []struct {
	name string
	has  func(adapter.Adapter) bool
}{
	{"SignUps", hasCapability[adapter.SignUps]},
	{"AccountLists", hasCapability[adapter.AccountLists]},
	{"SessionLists", hasCapability[adapter.SessionLists]},
	{"AuthenticatorEdits", hasCapability[adapter.AuthenticatorEdits]},
	{"TokenEdits", hasCapability[adapter.TokenEdits]},
}

func hasCapability[T any](a adapter.Adapter) bool {
	_, ok := adapter.Capability[T](a)
	return ok
}

// methodNamed returns the method of the contract with the name.
func methodNamed(name string) (method, bool) {
	i := slices.IndexFunc(methods, func(m method) bool { return m.name == name })
	if i < 0 {
		return method{}, false
	}
	return methods[i], true
}

// methodsThat returns the names of the methods that keep accepts.
func methodsThat(keep func(method) bool) []string {
	var names []string
	for _, m := range methods {
		if keep(m) {
			names = append(names, m.name)
		}
	}
	return names
}

// missingMethods returns what the adapter lacks of the 19 methods, and of those
// of the optional interfaces. An interface is missing
// as a whole if the adapter says that one of its methods is missing.
func missingMethods(a adapter.Adapter) (required, optional []string) {
	declared := adapter.Missing(a)
	lacks := map[string]bool{}
	for _, c := range capabilities {
		lacks[c.name] = !c.has(a)
	}
	for _, m := range methods {
		if m.capability != "" && slices.Contains(declared, m.name) {
			lacks[m.capability] = true
		}
	}
	for _, m := range methods {
		if m.capability != "" && lacks[m.capability] {
			optional = append(optional, m.name)
		}
	}
	required = slices.DeleteFunc(slices.Clone(declared), func(name string) bool {
		m, known := methodNamed(name)
		return known && m.capability != ""
	})
	return required, optional
}

// optional returns the optional interface T of an adapter, which the clause has
// made sure that the first one has. Another handle that lacks it is the fault of
// the harness.
func optional[T any](a adapter.Adapter) T {
	t, ok := adapter.Capability[T](a)
	if !ok {
		panic("the harness opened a handle that lacks an optional interface which the adapter of New has")
	}
	return t
}

// stores reports whether the adapter can create and read records of the kind.
func (c *clauseContext) stores(kind Kind) bool {
	k := kindOf(kind)
	return c.works(k.create) && c.works(k.read)
}

// works reports whether the adapter has the method and what it works on.
func (c *clauseContext) works(name string) bool {
	m, ok := methodNamed(name)
	if !ok || c.lacks(name) || m.kind != VerificationTokenRecord && c.lacks("CreateUser") {
		return false
	}
	return m.creator == "" || !c.lacks(m.creator)
}

// working returns the calls that the adapter can make.
func (c *clauseContext) working(calls []call) []call {
	return slices.DeleteFunc(calls, func(k call) bool { return !c.works(k.method) })
}
