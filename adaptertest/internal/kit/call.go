package kit

import (
	"context"
	"slices"

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

// newCall makes a call of the method with arguments in the order of its parameters.
func newCall(method string, args ...any) Call {
	call := signatureOf(method).call
	return Call{Method: method, Args: args, Do: func(ctx context.Context, a adapter.Adapter) (any, error) {
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

// Writes are calls of the methods that change something. All of them succeed
// in this order.
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
