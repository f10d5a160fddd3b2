package adaptertest

import (
	"context"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Calls that are prepared now and made later: by races, histories, faults
// and workloads.

// call is one call of a race or a history.
type call struct {
	method string
	args   []any
	do     func(ctx context.Context, a adapter.Adapter) (any, error)
}

// newCall makes a call of a method that returns a T.
func newCall[T any](method string, do func(ctx context.Context, a adapter.Adapter) (T, error), args ...any) call {
	return call{method: method, args: args, do: func(ctx context.Context, a adapter.Adapter) (any, error) {
		return do(ctx, a)
	}}
}

// yields returns the call with another result.
func (k call) yields(result func(any) any) call {
	do := k.do
	k.do = func(ctx context.Context, a adapter.Adapter) (any, error) {
		got, err := do(ctx, a)
		return result(got), err
	}
	return k
}

func createUser(u adapter.User) call {
	return newCall("CreateUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.CreateUser(ctx, u) }, u)
}

func getUser(id string) call {
	return newCall("GetUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.GetUser(ctx, id) }, id)
}

func getUserByEmail(email string) call {
	return newCall("GetUserByEmail", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return a.GetUserByEmail(ctx, email)
	}, email)
}

func getUserByAccount(key adapter.AccountKey) call {
	return newCall("GetUserByAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return a.GetUserByAccount(ctx, key)
	}, key)
}

func updateUser(u adapter.UserUpdate) call {
	return newCall("UpdateUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.UpdateUser(ctx, u) }, u)
}

func deleteUser(id string) call {
	return newCall("DeleteUser", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) { return a.DeleteUser(ctx, id) }, id)
}

func linkAccount(account adapter.Account) call {
	return newCall("LinkAccount", func(ctx context.Context, a adapter.Adapter) (any, error) {
		_, err := a.LinkAccount(ctx, account)
		return &account, err // it may return nothing
	}, account)
}

func unlinkAccount(key adapter.AccountKey) call {
	return newCall("UnlinkAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return a.UnlinkAccount(ctx, key)
	}, key)
}

func getAccount(key adapter.AccountKey) call {
	return newCall("GetAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return a.GetAccount(ctx, key.ProviderAccountID, key.Provider)
	}, key.ProviderAccountID, key.Provider)
}

func createSession(s adapter.Session) call {
	return newCall("CreateSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.CreateSession(ctx, s)
	}, s)
}

func getSession(token string) call {
	return newCall("GetSessionAndUser", func(ctx context.Context, a adapter.Adapter) (*adapter.SessionAndUser, error) {
		return a.GetSessionAndUser(ctx, token)
	}, token)
}

func updateSession(u adapter.SessionUpdate) call {
	return newCall("UpdateSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.UpdateSession(ctx, u)
	}, u)
}

func deleteSession(token string) call {
	return newCall("DeleteSession", func(ctx context.Context, a adapter.Adapter) (*adapter.Session, error) {
		return a.DeleteSession(ctx, token)
	}, token)
}

func createToken(t adapter.VerificationToken) call {
	return newCall("CreateVerificationToken", func(ctx context.Context, a adapter.Adapter) (*adapter.VerificationToken, error) {
		return a.CreateVerificationToken(ctx, t)
	}, t)
}

func useToken(key adapter.VerificationTokenKey) call {
	return newCall("UseVerificationToken", func(ctx context.Context, a adapter.Adapter) (*adapter.VerificationToken, error) {
		return a.UseVerificationToken(ctx, key)
	}, key)
}

func createAuthenticator(w adapter.Authenticator) call {
	return newCall("CreateAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.CreateAuthenticator(ctx, w)
	}, w)
}

func getAuthenticator(id string) call {
	return newCall("GetAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.GetAuthenticator(ctx, id)
	}, id)
}

func listAuthenticators(userID string) call {
	return newCall("ListAuthenticatorsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Authenticator, error) {
		return a.ListAuthenticatorsByUserID(ctx, userID)
	}, userID)
}

func updateCounter(id string, counter int64) call {
	return newCall("UpdateAuthenticatorCounter", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return a.UpdateAuthenticatorCounter(ctx, id, counter)
	}, id, counter)
}

func (s signUp) call() call {
	return newCall("CreateUserWithAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return optional[adapter.SignUps](a).CreateUserWithAccount(ctx, s.user, s.account, &s.authenticator)
	}, s.user, s.account, s.authenticator)
}

func (s signUp) withoutPasskey() call {
	return newCall("CreateUserWithAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		return optional[adapter.SignUps](a).CreateUserWithAccount(ctx, s.user, s.account, nil)
	}, s.user, s.account)
}

func listAccounts(userID string) call {
	return newCall("ListAccountsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Account, error) {
		return optional[adapter.AccountLists](a).ListAccountsByUserID(ctx, userID)
	}, userID)
}

func updateAccount(u adapter.AccountUpdate) call {
	return newCall("UpdateAccount", func(ctx context.Context, a adapter.Adapter) (*adapter.Account, error) {
		return optional[adapter.AccountLists](a).UpdateAccount(ctx, u)
	}, u)
}

func listSessions(userID string) call {
	return newCall("ListSessionsByUserID", func(ctx context.Context, a adapter.Adapter) ([]adapter.Session, error) {
		return optional[adapter.SessionLists](a).ListSessionsByUserID(ctx, userID)
	}, userID)
}

func deleteSessions(userID, except string) call {
	return newCall("DeleteSessionsByUserID", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return optional[adapter.SessionLists](a).DeleteSessionsByUserID(ctx, userID, except)
	}, userID, except)
}

func deleteAuthenticator(userID, credentialID string, keepOne bool) call {
	return newCall("DeleteAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).DeleteAuthenticator(ctx, userID, credentialID, keepOne)
	}, userID, credentialID, keepOne)
}

func renameAuthenticator(userID, credentialID, name string) call {
	return newCall("RenameAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).RenameAuthenticator(ctx, userID, credentialID, name)
	}, userID, credentialID, name)
}

func touchAuthenticator(credentialID string, from, to int64, used time.Time) call {
	return newCall("TouchAuthenticator", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
		return optional[adapter.AuthenticatorEdits](a).TouchAuthenticator(ctx, credentialID, from, to, used)
	}, credentialID, from, to, used)
}

func deleteTokens(identifier string) call {
	return newCall("DeleteVerificationTokens", func(ctx context.Context, a adapter.Adapter) (int64, error) {
		return optional[adapter.TokenEdits](a).DeleteVerificationTokens(ctx, identifier)
	}, identifier)
}

// of makes a call of an optional interface. The call must succeed.
func of[T any](c *clauseContext, k call) T {
	got, err := k.do(c.ctx, c.a)
	if err != nil {
		c.Fatalf("%s: %v", k.method, err)
	}
	result, ok := got.(T)
	if !ok {
		c.Fatalf("%s: returned %T, want %T", k.method, got, result)
	}
	return result
}

// callOf returns the call of the method.
func (k *fixture) callOf(method string) call {
	calls := append(k.reads(), k.writes()...)
	return calls[slices.IndexFunc(calls, func(m call) bool { return m.method == method })]
}

// reads are calls of the methods that change nothing.
func (k *fixture) reads() []call {
	return []call{
		getUser(k.user.ID),
		getUserByEmail(k.user.Email),
		getUserByAccount(k.account.Key()),
		getAccount(k.account.Key()),
		getSession(k.session.SessionToken),
		getAuthenticator(k.authenticator.CredentialID),
		listAuthenticators(k.user.ID),
		listAccounts(k.user.ID),
		listSessions(k.user.ID),
	}
}

// writes are calls of the methods that change something. All of them succeed
// in this order.
func (k *fixture) writes() []call {
	return []call{
		updateUser(k.userUpdate),
		updateSession(k.sessionUpdate),
		touchAuthenticator(k.authenticator.CredentialID, k.authenticator.Counter, k.authenticator.Counter+1, k.touched),
		updateCounter(k.authenticator.CredentialID, k.authenticator.Counter+2),
		createUser(k.newUser),
		linkAccount(k.newAccount),
		createSession(k.newSession),
		createToken(k.newToken),
		createAuthenticator(k.newAuthenticator),
		useToken(k.token.Key()),
		k.signUp.call(),
		updateAccount(k.accountUpdate),
		deleteAuthenticator(k.user.ID, k.authenticator.CredentialID, false),
		unlinkAccount(k.account.Key()),
		deleteSession(k.session.SessionToken),
		deleteSessions(k.user.ID, ""),
		deleteTokens(k.newToken.Identifier),
		deleteUser(k.user.ID),
	}
}
