package auth

import (
	"context"
	"errors"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth/internal/began"
)

// Identity is the result of a provider, for tests that call the login directly.
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

// ErrHeldAddress means that the page about an address that another user holds
// is shown.
var ErrHeldAddress = errors.New("another user holds the address")

// Login is the decision tree at the end of every sign-in except those with
// credentials.
func (h *Handler) Login(ctx context.Context, r *http.Request, id Identity) (*LoggedIn, error) {
	done, err := h.engine.login(ctx, h.engine.browser(context.Background(), h.engine.newRequest(r, ActionCallback)), &identity{
		user: id.User, account: id.Account, proof: id.Proof, stored: func(context.Context) (TokenSet, error) { return id.Account.TokenSet, nil },
		linkByEmail: id.LinkByEmail, begun: began.By{Bound: true, User: id.BegunAs},
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
