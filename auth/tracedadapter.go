package auth

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// tracedAdapter names the calls of an adapter in the debug log, under the
// recorded names. It has the methods that this package calls.
type tracedAdapter struct {
	adapter.Adapter
	e *engine
}

func (a tracedAdapter) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_createUser")
	return a.Adapter.CreateUser(ctx, u)
}

func (a tracedAdapter) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_getUser")
	return a.Adapter.GetUser(ctx, id)
}

func (a tracedAdapter) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_getUserByEmail")
	return a.Adapter.GetUserByEmail(ctx, email)
}

func (a tracedAdapter) GetUserByAccount(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_getUserByAccount")
	return a.Adapter.GetUserByAccount(ctx, key)
}

func (a tracedAdapter) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_updateUser")
	return a.Adapter.UpdateUser(ctx, u)
}

func (a tracedAdapter) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	a.e.debug(ctx, "adapter_deleteUser")
	return a.Adapter.DeleteUser(ctx, id)
}

func (a tracedAdapter) LinkAccount(ctx context.Context, v adapter.Account) (*adapter.Account, error) {
	a.e.debug(ctx, "adapter_linkAccount")
	return a.Adapter.LinkAccount(ctx, v)
}

func (a tracedAdapter) CreateSession(ctx context.Context, v adapter.Session) (*adapter.Session, error) {
	a.e.debug(ctx, "adapter_createSession")
	return a.Adapter.CreateSession(ctx, v)
}

func (a tracedAdapter) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	a.e.debug(ctx, "adapter_getSessionAndUser")
	return a.Adapter.GetSessionAndUser(ctx, token)
}

func (a tracedAdapter) UpdateSession(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
	a.e.debug(ctx, "adapter_updateSession")
	return a.Adapter.UpdateSession(ctx, u)
}

func (a tracedAdapter) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	a.e.debug(ctx, "adapter_deleteSession")
	return a.Adapter.DeleteSession(ctx, token)
}

func (a tracedAdapter) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	a.e.debug(ctx, "adapter_createVerificationToken")
	return a.Adapter.CreateVerificationToken(ctx, v)
}

func (a tracedAdapter) UseVerificationToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	a.e.debug(ctx, "adapter_useVerificationToken")
	return a.Adapter.UseVerificationToken(ctx, key)
}
