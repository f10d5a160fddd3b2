package kit

import (
	"context"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Calls that are prepared now and made later: by races, histories, faults
// and workloads.

// Call is one call of a race or a history.
type Call struct {
	Method string
	Args   []any
	Do     func(ctx context.Context, a adapter.Adapter) (any, error)
}

// NewCall makes a call of a method that returns a T.
func NewCall[T any](method string, do func(ctx context.Context, a adapter.Adapter) (T, error), args ...any) Call {
	return Call{Method: method, Args: args, Do: func(ctx context.Context, a adapter.Adapter) (any, error) {
		return do(ctx, a)
	}}
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

// CreateUser returns a call of the method.
func CreateUser(u adapter.User) Call {
	return NewCall("CreateUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.CreateUser(ctx, u) }, u)
}

// GetUser returns a call of the method.
func GetUser(id string) Call {
	return NewCall("GetUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.GetUser(ctx, id) }, id)
}

// GetUserByEmail returns a call of the method.
func GetUserByEmail(email string) Call {
	return NewCall("GetUserByEmail", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return a.GetUserByEmail(ctx, email)
	}, email)
}

// GetUserByAccount returns a call of the method.
func GetUserByAccount(key adapter.AccountKey) Call {
	return NewCall("GetUserByAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return a.GetUserByAccount(ctx, key)
	}, key)
}

// UpdateUser returns a call of the method.
func UpdateUser(u adapter.UserUpdate) Call {
	return NewCall("UpdateUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.UpdateUser(ctx, u) }, u)
}

// DeleteUser returns a call of the method.
func DeleteUser(id string) Call {
	return NewCall("DeleteUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.DeleteUser(ctx, id) }, id)
}

// LinkAccount returns a call of the method.
func LinkAccount(account adapter.Account) Call {
	return NewCall("LinkAccount", func(ctx context.Context, a adapter.Adapter) (any, error) {
		_, err := a.LinkAccount(ctx, account)
		return &account, err // it may return nothing
	}, account)
}

// UnlinkAccount returns a call of the method.
func UnlinkAccount(key adapter.AccountKey) Call {
	return NewCall("UnlinkAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return a.UnlinkAccount(ctx, key)
	}, key)
}

// GetAccount returns a call of the method.
func GetAccount(key adapter.AccountKey) Call {
	return NewCall("GetAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return a.GetAccount(ctx, key.ProviderAccountID, key.Provider)
	}, key.ProviderAccountID, key.Provider)
}

// CreateSession returns a call of the method.
func CreateSession(s adapter.Session) Call {
	return NewCall("CreateSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.CreateSession(ctx, s)
	}, s)
}

// GetSession returns a call of GetSessionAndUser.
func GetSession(token string) Call {
	return NewCall("GetSessionAndUser", func(ctx context.Context, a adapter.Adapter) (*adapter.SessionAndUser, error) {
		return a.GetSessionAndUser(ctx, token)
	}, token)
}

// UpdateSession returns a call of the method.
func UpdateSession(u adapter.SessionUpdate) Call {
	return NewCall("UpdateSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.UpdateSession(ctx, u)
	}, u)
}

// DeleteSession returns a call of the method.
func DeleteSession(token string) Call {
	return NewCall("DeleteSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.DeleteSession(ctx, token)
	}, token)
}

// CreateToken returns a call of CreateVerificationToken.
func CreateToken(t adapter.VerificationToken) Call {
	return NewCall("CreateVerificationToken", func(ctx context.Context, a adapter.Adapter) (*adapter.VerificationToken, error) {
		return a.CreateVerificationToken(ctx, t)
	}, t)
}

// UseToken returns a call of UseVerificationToken.
func UseToken(key adapter.VerificationTokenKey) Call {
	return NewCall("UseVerificationToken", func(ctx context.Context, a adapter.Adapter) (*adapter.VerificationToken, error) {
		return a.UseVerificationToken(ctx, key)
	}, key)
}

// CreateAuthenticator returns a call of the method.
func CreateAuthenticator(w adapter.Authenticator) Call {
	return NewCall("CreateAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.CreateAuthenticator(ctx, w)
	}, w)
}

// GetAuthenticator returns a call of the method.
func GetAuthenticator(id string) Call {
	return NewCall("GetAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.GetAuthenticator(ctx, id)
	}, id)
}

// ListAuthenticators returns a call of ListAuthenticatorsByUserID.
func ListAuthenticators(userID string) Call {
	return NewCall("ListAuthenticatorsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Authenticator, error) {
		return a.ListAuthenticatorsByUserID(ctx, userID)
	}, userID)
}

// UpdateCounter returns a call of UpdateAuthenticatorCounter.
func UpdateCounter(id string, counter int64) Call {
	return NewCall("UpdateAuthenticatorCounter", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.UpdateAuthenticatorCounter(ctx, id, counter)
	}, id, counter)
}

// Call is the call of CreateUserWithAccount with the authenticator.
func (s SignUp) Call() Call {
	return NewCall("CreateUserWithAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return Optional[adapter.SignUps](a).CreateUserWithAccount(ctx, s.User, s.Account, &s.Authenticator)
	}, s.User, s.Account, s.Authenticator)
}

// WithoutPasskey is the call of CreateUserWithAccount without the authenticator.
func (s SignUp) WithoutPasskey() Call {
	return NewCall("CreateUserWithAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return Optional[adapter.SignUps](a).CreateUserWithAccount(ctx, s.User, s.Account, nil)
	}, s.User, s.Account)
}

// ListAccounts returns a call of ListAccountsByUserID.
func ListAccounts(userID string) Call {
	return NewCall("ListAccountsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Account, error) {
		return Optional[adapter.AccountLists](a).ListAccountsByUserID(ctx, userID)
	}, userID)
}

// UpdateAccount returns a call of the method.
func UpdateAccount(u adapter.AccountUpdate) Call {
	return NewCall("UpdateAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return Optional[adapter.AccountLists](a).UpdateAccount(ctx, u)
	}, u)
}

// ListSessions returns a call of ListSessionsByUserID.
func ListSessions(userID string) Call {
	return NewCall("ListSessionsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Session, error) {
		return Optional[adapter.SessionLists](a).ListSessionsByUserID(ctx, userID)
	}, userID)
}

// DeleteSessions returns a call of DeleteSessionsByUserID.
func DeleteSessions(userID, except string) Call {
	return NewCall("DeleteSessionsByUserID", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return Optional[adapter.SessionLists](a).DeleteSessionsByUserID(ctx, userID, except)
	}, userID, except)
}

// DeleteAuthenticator returns a call of the method.
func DeleteAuthenticator(userID, credentialID string, keepOne bool) Call {
	return NewCall("DeleteAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return Optional[adapter.AuthenticatorEdits](a).DeleteAuthenticator(ctx, userID, credentialID, keepOne)
	}, userID, credentialID, keepOne)
}

// RenameAuthenticator returns a call of the method.
func RenameAuthenticator(userID, credentialID, name string) Call {
	return NewCall("RenameAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return Optional[adapter.AuthenticatorEdits](a).RenameAuthenticator(ctx, userID, credentialID, name)
	}, userID, credentialID, name)
}

// TouchAuthenticator returns a call of the method.
func TouchAuthenticator(credentialID string, from, to int64, used time.Time) Call {
	return NewCall("TouchAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return Optional[adapter.AuthenticatorEdits](a).TouchAuthenticator(ctx, credentialID, from, to, used)
	}, credentialID, from, to, used)
}

// DeleteTokens returns a call of DeleteVerificationTokens.
func DeleteTokens(identifier string) Call {
	return NewCall("DeleteVerificationTokens", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return Optional[adapter.TokenEdits](a).DeleteVerificationTokens(ctx, identifier)
	}, identifier)
}

// Of makes a call of an optional interface. The call must succeed.
func Of[T any](c *Context, k Call) T {
	got, err := k.Do(c.Ctx, c.Adapter)
	if err != nil {
		c.Fatalf("%s: %v", k.Method, err)
	}
	result, ok := got.(T)
	if !ok {
		c.Fatalf("%s: returned %T, want %T", k.Method, got, result)
	}
	return result
}

// CallOf returns the call of the method.
func (k *Fixture) CallOf(method string) Call {
	calls := append(k.Reads(), k.Writes()...)
	return calls[slices.IndexFunc(calls, func(m Call) bool { return m.Method == method })]
}

// Reads are calls of the methods that change nothing.
func (k *Fixture) Reads() []Call {
	return []Call{
		GetUser(k.User.ID),
		GetUserByEmail(k.User.Email),
		GetUserByAccount(k.Account.Key()),
		GetAccount(k.Account.Key()),
		GetSession(k.Session.SessionToken),
		GetAuthenticator(k.Authenticator.CredentialID),
		ListAuthenticators(k.User.ID),
		ListAccounts(k.User.ID),
		ListSessions(k.User.ID),
	}
}

// Writes are calls of the methods that change something. All of them succeed
// in this order.
func (k *Fixture) Writes() []Call {
	return []Call{
		UpdateUser(k.UserUpdate),
		UpdateSession(k.SessionUpdate),
		TouchAuthenticator(k.Authenticator.CredentialID, k.Authenticator.Counter, k.Authenticator.Counter+1, k.Touched),
		UpdateCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+2),
		CreateUser(k.NewUser),
		LinkAccount(k.NewAccount),
		CreateSession(k.NewSession),
		CreateToken(k.NewToken),
		CreateAuthenticator(k.NewAuthenticator),
		UseToken(k.Token.Key()),
		k.SignUp.Call(),
		UpdateAccount(k.accountUpdate),
		DeleteAuthenticator(k.User.ID, k.Authenticator.CredentialID, false),
		UnlinkAccount(k.Account.Key()),
		DeleteSession(k.Session.SessionToken),
		DeleteSessions(k.User.ID, ""),
		DeleteTokens(k.NewToken.Identifier),
		DeleteUser(k.User.ID),
	}
}
