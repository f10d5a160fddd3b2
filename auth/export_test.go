package auth

import (
	"context"
	"net/http"
)

// Identity is what a provider has found out, for tests of the login by itself.
type Identity struct {
	User        *User
	Account     *Account
	LinkByEmail bool
}

// LoggedIn is the outcome of a login.
type LoggedIn struct {
	User      *User
	IsNewUser bool
	Token     string
}

// Login is the decision tree that every provider but credentials ends in.
func (h *Handler) Login(ctx context.Context, r *http.Request, id Identity) (*LoggedIn, error) {
	done, err := h.engine.login(ctx, h.engine.newRequest(r, ActionCallback).browser(), identity{
		user: id.User, account: id.Account, stored: func(context.Context) (TokenSet, error) { return id.Account.TokenSet, nil }, linkByEmail: id.LinkByEmail,
	})
	if err != nil {
		return nil, err
	}
	out := &LoggedIn{User: done.user, IsNewUser: done.isNewUser}
	if done.session != nil {
		out.Token = done.session.SessionToken
	}
	return out, nil
}
