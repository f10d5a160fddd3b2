package adaptertest

import (
	"slices"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// method is a method of the contract.
type method struct {
	name string
	// rules are the clauses that its comment promises and single calls show.
	rules string
	// kind is the kind of record that it is about.
	kind Kind
	// creator is the method that creates the record which the method works on,
	// if CreateUser alone is not enough.
	creator string
	// write says that a snapshot shows the change that the method makes.
	write bool
	// capability is the optional interface that it belongs to.
	capability string
}

// methods are the 19 methods of an adapter, and those of the optional interfaces.
var methods = []method{
	{name: "CreateUser", rules: "USER-01 to USER-06, USER-11, USER-12", kind: UserRecord, write: true},
	{name: "GetUser", rules: "USER-02, USER-07, USER-08", kind: UserRecord},
	{name: "GetUserByEmail", rules: "USER-09, USER-10, USER-16", kind: UserRecord},
	{name: "GetUserByAccount", rules: "ACCT-01, ACCT-04, ACCT-05", kind: AccountRecord, creator: "LinkAccount"},
	{name: "UpdateUser", rules: "USER-17 to USER-22", kind: UserRecord, write: true},
	{name: "DeleteUser", rules: "CASC-01 to CASC-10", kind: UserRecord, write: true},
	{name: "LinkAccount", rules: "ACCT-06, ACCT-14, ACCT-16, ACCT-22, ACCT-23", kind: AccountRecord, write: true},
	{name: "UnlinkAccount", rules: "ACCT-07, ACCT-10 to ACCT-13", kind: AccountRecord, creator: "LinkAccount", write: true},
	{name: "GetAccount", rules: "ACCT-02, ACCT-03", kind: AccountRecord, creator: "LinkAccount"},
	{name: "CreateSession", rules: "SESS-01, SESS-05, SESS-07", kind: SessionRecord, write: true},
	{name: "GetSessionAndUser", rules: "SESS-02, SESS-19, SESS-21, SESS-22", kind: SessionRecord, creator: "CreateSession"},
	{name: "UpdateSession", rules: "SESS-08 to SESS-14", kind: SessionRecord, creator: "CreateSession", write: true},
	{name: "DeleteSession", rules: "SESS-15 to SESS-18", kind: SessionRecord, creator: "CreateSession", write: true},
	{name: "CreateVerificationToken", rules: "VTOK-01, VTOK-07 to VTOK-10, VTOK-15", kind: VerificationTokenRecord},
	{name: "UseVerificationToken", rules: "VTOK-02 to VTOK-06", kind: VerificationTokenRecord, creator: "CreateVerificationToken"},
	{name: "CreateAuthenticator", rules: "AUTHN-01, AUTHN-03, AUTHN-20", kind: AuthenticatorRecord, write: true},
	{name: "GetAuthenticator", rules: "AUTHN-02, AUTHN-15", kind: AuthenticatorRecord, creator: "CreateAuthenticator"},
	{name: "ListAuthenticatorsByUserID", rules: "AUTHN-04, AUTHN-06, AUTHN-07, AUTHN-21", kind: AuthenticatorRecord},
	{name: "UpdateAuthenticatorCounter", rules: "AUTHN-08 to AUTHN-14", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true},

	{name: "CreateUserWithAccount", rules: "SIGNUP-01 to SIGNUP-06", kind: UserRecord, write: true, capability: "SignUps"},
	{name: "ListAccountsByUserID", rules: "ALIST-01 to ALIST-03", kind: AccountRecord, creator: "LinkAccount", capability: "AccountLists"},
	{name: "UpdateAccount", rules: "ALIST-04 to ALIST-07", kind: AccountRecord, creator: "LinkAccount", write: true, capability: "AccountLists"},
	{name: "ListSessionsByUserID", rules: "SLIST-01 to SLIST-03", kind: SessionRecord, creator: "CreateSession", capability: "SessionLists"},
	{name: "DeleteSessionsByUserID", rules: "SLIST-04 to SLIST-07", kind: SessionRecord, creator: "CreateSession", write: true, capability: "SessionLists"},
	{name: "DeleteAuthenticator", rules: "AEDIT-01 to AEDIT-05", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true, capability: "AuthenticatorEdits"},
	{name: "RenameAuthenticator", rules: "AEDIT-06", kind: AuthenticatorRecord, creator: "CreateAuthenticator", capability: "AuthenticatorEdits"},
	{name: "TouchAuthenticator", rules: "AEDIT-07 to AEDIT-10", kind: AuthenticatorRecord, creator: "CreateAuthenticator", write: true, capability: "AuthenticatorEdits"},
	{name: "DeleteVerificationTokens", rules: "TEDIT-01 to TEDIT-03", kind: VerificationTokenRecord, creator: "CreateVerificationToken", capability: "TokenEdits"},
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

// missingMethods returns the methods that the adapter lacks: those of the 19,
// and those of the optional interfaces. If the adapter says that one method of
// an optional interface is missing, the whole interface is missing.
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

// optional returns the optional interface T of an adapter. The clause has
// checked that the adapter under test has it. If another handle lacks it, the
// harness is wrong.
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

// works reports whether the adapter has the method, and the methods that
// create the records it works on.
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

// having returns those of the methods that the adapter can be called with.
func (c *clauseContext) having(methods []string) []string {
	return slices.DeleteFunc(slices.Clone(methods), func(method string) bool { return !c.works(method) })
}

// itsRecord is the group of a case that is a method: the kind of record that it is about.
func itsRecord(method string) []string {
	m, _ := methodNamed(method)
	return []string{string(m.kind)}
}

// itself is the group of a case that is a method.
func itself(method string) []string { return []string{method} }
