package kit

import (
	"context"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Calls that are prepared now and made later: by races, histories, faults and workloads.

// Call is one call of a race or a history.
type Call struct {
	Method string
	Args   []any
	Do     func(ctx context.Context, a adapter.Adapter) (any, error)
}

// NewCall makes a call of a method that returns a T.
func NewCall[T any](method string, do func(ctx context.Context, a adapter.Adapter) (T, error), args ...any) Call {
	return Call{Method: method, Args: args, Do: func(ctx context.Context, a adapter.Adapter) (any, error) {
		defer underWay(ctx, a, method, args)()
		return do(ctx, a)
	}}
}

// tracing is the key of a clause's trace in the context of its phases.
type tracing struct{}

// underWay records a call beside the observer. It does not record those of a race, whose timing it would change.
func underWay(ctx context.Context, a adapter.Adapter, method string, args []any) (finish func()) {
	t, _ := ctx.Value(tracing{}).(*trace)
	if _, observed := a.(*Observer); t == nil || observed || t.races.Load() > 0 {
		return func() {}
	}
	return t.Begin(Call{Method: method, Args: args})
}

// Yields returns the call with another result.
func (k Call) Yields(result func(any) any) Call {
	do := k.Do
	k.Do = func(ctx context.Context, a adapter.Adapter) (any, error) {
		got, err := do(ctx, a)
		return result(got), err
	}
	return k
}

// find makes the call. A result without a record is nil.
func (k Call) find(c *Context, a adapter.Adapter) (any, error) {
	got, err := k.Do(c.Ctx, a)
	if IsNothing(got) {
		return nil, err
	}
	return got, err
}

// newCall makes a call of the method with arguments in the order of its parameters.
func newCall(method string, args ...any) Call {
	call := signatureOf(method).call
	return Call{Method: method, Args: args, Do: func(ctx context.Context, a adapter.Adapter) (any, error) {
		defer underWay(ctx, a, method, args)()
		got, err := call(ctx, a, args)
		if account, ok := args[0].(adapter.Account); ok && method == "LinkAccount" && err == nil {
			return &account, nil // it may return nothing
		}
		return got, err
	}}
}

// GetAccountByKey returns a call of GetAccount.
func GetAccountByKey(key adapter.AccountKey) Call {
	return GetAccount(key.ProviderAccountID, key.Provider)
}

// ExtendSession returns a call of UpdateSession that sets the end of the session.
func ExtendSession(token string, expires time.Time) Call {
	return UpdateSession(adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(expires)})
}

// MoveSession returns a call of UpdateSession that gives the session to the user.
func MoveSession(token, userID string) Call {
	return UpdateSession(adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(userID)})
}

// Of makes a call of an optional interface. The call must succeed.
func Of[T any](c *Context, k Call) T {
	got := Done(c, c.Adapter, k)
	result, ok := got.(T)
	if !ok {
		c.Fatalf("%s: returned %T, want %T", k.Method, got, result)
	}
	return result
}

// CallOf returns the call of the method.
func (k *Records) CallOf(method string) Call {
	calls := append(k.Reads(), k.Writes()...)
	return calls[slices.IndexFunc(calls, func(m Call) bool { return m.Method == method })]
}

// Reads are calls of the methods that change nothing.
func (k *Records) Reads() []Call {
	return []Call{
		GetUser(k.User.ID),
		GetUserByEmail(k.User.Email),
		GetUserByAccount(k.Account.Key()),
		GetAccountByKey(k.Account.Key()),
		GetSessionAndUser(k.Session.SessionToken),
		GetAuthenticator(k.Authenticator.CredentialID),
		ListAuthenticatorsByUserID(k.User.ID),
		ListAccountsByUserID(k.User.ID),
		ListSessionsByUserID(k.User.ID),
		GetPassword(k.User.ID),
	}
}

// Writes are calls of the methods that change something. All of them succeed in this order.
func (k *Records) Writes() []Call {
	return []Call{
		UpdateUser(k.New.UserUpdate),
		UpdateSession(k.New.SessionUpdate),
		TouchAuthenticator(k.Authenticator.CredentialID, k.Authenticator.Counter, k.Authenticator.Counter+1, k.New.Touched),
		UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+2),
		CreateUser(k.New.User),
		LinkAccount(k.New.Account),
		CreateSession(k.New.Session),
		CreateVerificationToken(k.New.Token),
		CreateAuthenticator(k.New.Authenticator),
		UseVerificationToken(k.Token.Key()),
		k.SignUp.Call(),
		UpdateAccount(k.New.accountUpdate),
		DeleteAuthenticator(k.User.ID, k.Authenticator.CredentialID, false),
		UnlinkAccount(k.Account.Key()),
		DeleteSession(k.Session.SessionToken),
		DeleteSessionsByUserID(k.User.ID, ""),
		DeleteVerificationTokens(k.New.Token.Identifier),
		k.Entrant.WithPassword(),
		SwapPassword(k.Password, k.Swapped),
		SetPassword(k.New.Password),
		DeletePassword(k.User.ID, false),
		DeleteUser(k.User.ID),
	}
}

// The calls below are steps that must succeed: an error ends the clause.

func Must[T any](c *Context, method string, result T, err error) T {
	if err != nil {
		c.Fatalf("%s: %v", method, err)
	}
	return result
}

func MustRecord[T any](c *Context, method string, result *T, err error) *T {
	if Must(c, method, result, err) == nil {
		c.Fatalf("%s: returned no record", method)
	}
	return result
}

// stored makes a call that must return a record.
func stored[T any](c *Context, k Call) *T { return MustRecord(c, k.Method, Of[*T](c, k), nil) }

func (c *Context) CreateUser(u adapter.User) *adapter.User {
	return stored[adapter.User](c, CreateUser(u))
}

// User creates a user with every field set.
func (c *Context) User() *adapter.User { return c.CreateUser(c.NewUser()) }

func (c *Context) GetUser(id string) *adapter.User { return Of[*adapter.User](c, GetUser(id)) }

func (c *Context) GetUserByEmail(email string) *adapter.User {
	return Of[*adapter.User](c, GetUserByEmail(email))
}

func (c *Context) GetUserByAccount(key adapter.AccountKey) *adapter.User {
	return Of[*adapter.User](c, GetUserByAccount(key))
}

func (c *Context) UpdateUser(u adapter.UserUpdate) *adapter.User {
	return stored[adapter.User](c, UpdateUser(u))
}

func (c *Context) DeleteUser(id string) *adapter.User { return Of[*adapter.User](c, DeleteUser(id)) }

// LinkAccount links an account. The contract allows LinkAccount to return nil, so LinkAccount returns its argument.
func (c *Context) LinkAccount(a adapter.Account) adapter.Account {
	r, err := c.Adapter.LinkAccount(c.Ctx, a)
	Must(c, "LinkAccount", r, err)
	return a
}

// Account links an account with every field set to the user.
func (c *Context) Account(userID string) adapter.Account {
	return c.LinkAccount(c.NewAccount(userID))
}

func (c *Context) UnlinkAccount(key adapter.AccountKey) *adapter.Account {
	return Of[*adapter.Account](c, UnlinkAccount(key))
}

func (c *Context) GetAccount(key adapter.AccountKey) *adapter.Account {
	return Of[*adapter.Account](c, GetAccount(key.ProviderAccountID, key.Provider))
}

func (c *Context) CreateSession(s adapter.Session) *adapter.Session {
	return stored[adapter.Session](c, CreateSession(s))
}

// Session creates a session of the user that expires in an hour.
func (c *Context) Session(userID string) adapter.Session {
	s := c.NewSession(userID)
	c.CreateSession(s)
	return s
}

// SessionUntil creates a session of the user that expires at the instant.
func SessionUntil(c *Context, userID string, expires time.Time) adapter.Session {
	s := c.NewSession(userID)
	s.Expires = expires
	c.CreateSession(s)
	return s
}

func (c *Context) GetSession(token string) *adapter.SessionAndUser {
	return Of[*adapter.SessionAndUser](c, GetSessionAndUser(token))
}

func (c *Context) UpdateSession(u adapter.SessionUpdate) *adapter.Session {
	return Of[*adapter.Session](c, UpdateSession(u))
}

// Extend moves the expiry of the session. UpdateSession must succeed, and may return nil.
func Extend(c *Context, s *adapter.Session, expires time.Time) *adapter.Session {
	s.Expires = expires
	return Of[*adapter.Session](c, ExtendSession(s.SessionToken, expires))
}

func (c *Context) DeleteSession(token string) *adapter.Session {
	return Of[*adapter.Session](c, DeleteSession(token))
}

func (c *Context) CreateToken(t adapter.VerificationToken) *adapter.VerificationToken {
	return Of[*adapter.VerificationToken](c, CreateVerificationToken(t))
}

// Token creates a verification token that expires in an hour.
func (c *Context) Token() adapter.VerificationToken {
	t := c.NewToken()
	c.CreateToken(t)
	return t
}

// TokenOf creates a verification token of the identifier that expires at the instant.
func TokenOf(c *Context, identifier string, expires time.Time) adapter.VerificationToken {
	t := c.NewToken()
	t.Identifier, t.Expires = identifier, expires
	c.CreateToken(t)
	return t
}

func (c *Context) UseToken(key adapter.VerificationTokenKey) *adapter.VerificationToken {
	return Of[*adapter.VerificationToken](c, UseVerificationToken(key))
}

func (c *Context) CreateAuthenticator(a adapter.Authenticator) *adapter.Authenticator {
	return stored[adapter.Authenticator](c, CreateAuthenticator(a))
}

// Authenticator creates an authenticator of the user with every field set.
func (c *Context) Authenticator(userID string) adapter.Authenticator {
	a := c.NewAuthenticator(userID)
	c.CreateAuthenticator(a)
	return a
}

func (c *Context) GetAuthenticator(credentialID string) *adapter.Authenticator {
	return Of[*adapter.Authenticator](c, GetAuthenticator(credentialID))
}

func (c *Context) ListAuthenticators(userID string) []adapter.Authenticator {
	return Of[[]adapter.Authenticator](c, ListAuthenticatorsByUserID(userID))
}

func (c *Context) UpdateCounter(credentialID string, counter int64) *adapter.Authenticator {
	return stored[adapter.Authenticator](c, UpdateAuthenticatorCounter(credentialID, counter))
}

// SomeUsers creates n users.
func SomeUsers(c *Context, n int) []*adapter.User { return Times(n, c.User) }

// Times returns what n calls of one return.
func Times[T any](n int, one func() T) (all []T) {
	for range n {
		all = append(all, one())
	}
	return all
}

// RawUser creates a user without the observer.
func RawUser(c *Context) *adapter.User {
	u, err := c.Raw.CreateUser(c.Ctx, c.NewUser())
	return MustRecord(c, "CreateUser", u, err)
}

// Done makes a call through an adapter. The call must succeed.
func Done(c *Context, a adapter.Adapter, k Call) any {
	got, err := k.Do(c.Ctx, a)
	return Must(c, k.Method, got, err)
}

// StoreRaw creates the record, without the observer, and returns it.
func StoreRaw[T any](c *Context, create func(T) Call, record T) T {
	Done(c, c.Raw, create(record))
	return record
}

// Used reports a breach unless the token can be used.
func Used(c *Context, what string, t adapter.VerificationToken) {
	c.Same("UseVerificationToken, "+what, c.UseToken(t.Key()), &t)
}

// UsedAsSpelled is Used without the prefix, for an identifier that may come back in another case, if that is declared.
func UsedAsSpelled(c *Context, what string, t adapter.VerificationToken) {
	got := c.UseToken(t.Key())
	if got != nil {
		got.Identifier = AddressAs(c, got.Identifier, t.Identifier)
	}
	c.Same(what, got, &t)
}
