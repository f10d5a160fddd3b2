package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Who may have an address. An address is proven by a mail link, or by a provider
// that says so. A user whose EmailVerified is nil holds their address without a
// proof: anybody may have made them, with an address that belongs to somebody
// else. Such a user is never merged with who proves the address, unless the user
// signs in as well.

// heldAddress is the error of a login that proved an address which an unproven
// user with other ways to sign in holds. The person is asked what to do.
type heldAddress struct {
	holder *adapter.User
	ways   waysIn
	// id is who proved the address.
	id identity
}

func (*heldAddress) Error() string {
	return "a user who has not proven the address holds it, and has other ways to sign in"
}

// provenAddress is an address that was proven in a browser while a user held it
// who had not.
type provenAddress struct {
	// userID is the user who holds the address.
	userID, email string
	// id is who proved it.
	id identity
}

// claimAddress decides about the unproven user who holds the address that the
// identity has proven. The result is the user, if they are given to who proved
// the address, or nil if the address is free now. Otherwise the error is a
// *heldAddress.
func (e *engine) claimAddress(ctx context.Context, id *identity, holder *adapter.User) (*adapter.User, error) {
	ways, err := e.store.waysIn(ctx, holder.ID)
	switch {
	case err != nil:
		return nil, err
	case ways.none() && e.store.endsSessions():
		return e.give(ctx, id, holder)
	case !id.afresh:
		return nil, &heldAddress{holder, ways, *id}
	}
	if _, err := e.store.updateUser(ctx, adapter.UserUpdate{ID: holder.ID, Email: adapter.To("")}); err != nil {
		return nil, raced(err)
	}
	notify(ctx, e, "ReleaseEmail", e.config.Events.ReleaseEmail, ReleaseEmailEvent{User: userFromRecord(holder)})
	return nil, nil
}

// give gives a user without any way to sign in to who has proven the address:
// the sessions of the user end. An account that is linked meanwhile undoes it.
func (e *engine) give(ctx context.Context, id *identity, holder *adapter.User) (*adapter.User, error) {
	now := e.config.Clock()
	given, err := e.store.updateUser(ctx, adapter.UserUpdate{ID: holder.ID, EmailVerified: adapter.To(&now)})
	if err != nil {
		return nil, raced(err)
	}
	ways, err := e.store.waysIn(ctx, holder.ID)
	if err == nil && ways.none() {
		return given, e.store.endSessions(ctx, holder.ID)
	}
	_, undone := e.store.updateUser(context.WithoutCancel(ctx), adapter.UserUpdate{ID: holder.ID, EmailVerified: adapter.To[*time.Time](nil)})
	if err != nil || undone != nil {
		return nil, errors.Join(err, undone)
	}
	return nil, &heldAddress{holder, ways, *id}
}

// mayTakeAddress decides about the user who holds the address of an account
// that nobody has. The result is the user to link the account to, or nil if the
// address is free now. Otherwise the error says why not.
func (e *engine) mayTakeAddress(ctx context.Context, id *identity, holder *adapter.User) (*adapter.User, error) {
	switch {
	case holder.EmailVerified == nil && id.proof == EmailProven:
		given, err := e.claimAddress(ctx, id, holder)
		if given != nil && err == nil {
			notify(ctx, e, "UpdateUser", e.config.Events.UpdateUser, UpdateUserEvent{User: userFromRecord(given)})
		}
		return given, err
	case !id.linkByEmail:
	case holder.EmailVerified != nil:
		return holder, nil
	default: // nothing is proven, so only a user whom nobody can be is linked
		ways, err := e.store.waysIn(ctx, holder.ID)
		if err != nil || ways.none() {
			return holder, err
		}
	}
	refused := &Error{Type: id.notLinked(), Message: "another user has the e-mail address of the account"}
	if id.account.Type != TypeWebAuthn {
		refused.Cause = errAddressTaken
	}
	return nil, refused
}

// noteProof records that an address was proven by who signs in as the user: by
// the provider of the user's only account, or earlier in the same browser. The
// result is the user as stored now.
func (e *engine) noteProof(ctx context.Context, id *identity, user *adapter.User) (*adapter.User, error) {
	if user.EmailVerified != nil || user.Email == "" {
		return user, nil
	}
	earlier := id.earlier
	if earlier != nil && (earlier.userID != user.ID || asciiLower(earlier.email) != asciiLower(user.Email)) {
		earlier = nil
	}
	if earlier == nil {
		if id.proof != EmailProven || asciiLower(id.user.Email) != asciiLower(user.Email) {
			return user, nil
		}
		ways, err := e.store.waysIn(ctx, user.ID)
		if err != nil || !ways.only(id.key()) {
			return user, err
		}
	}
	now := e.config.Clock()
	updated, err := e.store.updateUser(ctx, adapter.UserUpdate{ID: user.ID, EmailVerified: adapter.To(&now)})
	if errors.Is(err, adapter.ErrUnsupported) {
		return user, nil
	}
	if err != nil {
		return nil, raced(err)
	}
	notify(ctx, e, "UpdateUser", e.config.Events.UpdateUser, UpdateUserEvent{User: userFromRecord(updated)})
	if earlier != nil && earlier.id.account.Type != TypeEmail {
		if err := e.linkEarlier(ctx, earlier, updated); err != nil {
			e.logError(ctx, err) // the user is signed in all the same
		}
	}
	return updated, nil
}

// linkEarlier links the account that proved the address earlier. Both proofs are
// there.
func (e *engine) linkEarlier(ctx context.Context, p *provenAddress, user *adapter.User) error {
	if err := e.mayLink(ctx, &p.id, user); err != nil {
		return err
	}
	account := p.id.kept.account(p.id.account)
	if err := e.store.link(ctx, user, account.record(), nil); err != nil {
		return err
	}
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: userFromRecord(user), Account: account, Profile: p.id.user})
	return nil
}

// asciiLower is an address with the letters of ASCII in lower case. Other letters
// stay: some of them have a lower case in ASCII, such as the Kelvin sign, and so
// would make one address of two.
func asciiLower(email string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, email)
}
