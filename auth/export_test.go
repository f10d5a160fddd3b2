package auth

import (
	"context"
	"errors"
	"net/http"
)

// Identity is what a provider has found out, for tests of the login by itself.
type Identity struct {
	User        *User
	Account     *Account
	Proof       EmailProof
	LinkByEmail bool
	// BegunAs is the ID of the user who was signed in when the sign-in began.
	BegunAs string
}

// LoggedIn is the outcome of a login.
type LoggedIn struct {
	User      *User
	IsNewUser bool
	Token     string
}

// ErrHeldAddress stands for the page about an address that another user holds.
var ErrHeldAddress = errors.New("another user holds the address")

// Login is the decision tree that every provider but credentials ends in.
func (h *Handler) Login(ctx context.Context, r *http.Request, id Identity) (*LoggedIn, error) {
	done, err := h.engine.login(ctx, h.engine.browser(context.Background(), h.engine.newRequest(r, ActionCallback)), identity{
		user: id.User, account: id.Account, proof: id.Proof, stored: func(context.Context) (TokenSet, error) { return id.Account.TokenSet, nil },
		linkByEmail: id.LinkByEmail, begun: begun{bound: true, user: id.BegunAs},
	})
	if _, held := errors.AsType[*heldAddress](err); held {
		return nil, ErrHeldAddress
	}
	if err != nil {
		return nil, err
	}
	out := &LoggedIn{User: done.user, IsNewUser: done.isNewUser}
	if done.session != nil {
		out.Token = done.session.SessionToken
	}
	return out, nil
}
