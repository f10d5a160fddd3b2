package auth

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A mail link proves an e-mail address, and so does a provider that says that
// the address is verified. A user whose EmailVerified is nil holds their
// address without a proof: anybody may have created that user, with an address
// that belongs to somebody else. Such a user is never merged with the person
// who proves the address, unless that person signs in as the user as well, or
// certainly nobody else can sign in as the user.

// heldAddress is the error of a login that proved an address, if the address is
// held by a user who has not proven it and who has other ways to sign in. The
// person is asked what to do.
type heldAddress struct {
	holder *adapter.User
	ways   waysIn
	// id is the identity that proved the address.
	id identity
}

func (*heldAddress) Error() string {
	return "a user who has not proven the address holds it, and has other ways to sign in"
}

// provenAddress is an address that was proven in a browser while a user held it
// without a proof.
type provenAddress struct {
	// userID is the user who holds the address.
	userID, email string
	// at is when it was proven.
	at time.Time
	// id is the identity that proved the address.
	id identity
}

// claimAddress decides about the user who holds, without a proof, the address
// that the identity has proven. The result is the user, if the user is given to
// the identity, or nil if the address is free now. Otherwise the error is a
// *heldAddress.
func (e *engine) claimAddress(ctx context.Context, id *identity, holder *adapter.User) (*adapter.User, error) {
	ways, err := e.waysIn(ctx, holder)
	switch {
	case err != nil:
		return nil, err
	case ways.none() && !ways.sessions:
		return e.give(ctx, id, holder)
	case !id.afresh:
		return nil, &heldAddress{holder, ways, *id}
	}
	if err := id.approve(ctx, nil); err != nil {
		return nil, err
	}
	if _, err := e.store.updateUser(ctx, adapter.UserUpdate{ID: holder.ID, IfEmail: holder.Email, Email: adapter.To("")}); err != nil {
		return nil, raced(err)
	}
	notify(ctx, e, "ReleaseEmail", e.config.Events.ReleaseEmail, ReleaseEmailEvent{User: userFromRecord(holder)})
	return nil, nil
}

// waysIn returns the ways to sign in as a user whose address is not proven:
// those that the adapter lists, and what Callbacks.NoOtherWayIn or else the
// configuration says about others.
func (e *engine) waysIn(ctx context.Context, user *adapter.User) (waysIn, error) {
	ways, err := e.store.waysIn(ctx, user.ID)
	if err != nil {
		return waysIn{}, err
	}
	ways.unlisted, ways.sessions = e.passwords, !e.store.endsSessions()
	if ask := e.config.Callbacks.NoOtherWayIn; ask != nil && !ways.unknown {
		no, err := guard(ctx, ask, userFromRecord(user))
		if err != nil {
			return waysIn{}, err
		}
		ways.unlisted, ways.sessions = !no, ways.sessions && !no
	}
	return ways, nil
}

// give makes the identity that has proven the address the owner of a user who
// has no way to sign in. The sessions of the user end. If an account is linked
// to the user meanwhile, the change is undone.
func (e *engine) give(ctx context.Context, id *identity, holder *adapter.User) (*adapter.User, error) {
	if err := id.approve(ctx, holder); err != nil {
		return nil, err
	}
	given, err := e.store.prove(ctx, holder, e.config.Clock())
	if err != nil {
		return nil, raced(err)
	}
	ways, err := e.waysIn(ctx, holder)
	if err == nil && ways.none() && !ways.sessions {
		return given, e.store.endSessions(ctx, holder.ID)
	}
	_, undone := e.store.updateUser(context.WithoutCancel(ctx), adapter.UserUpdate{ID: holder.ID, IfEmail: holder.Email, EmailVerified: adapter.To[*time.Time](nil)})
	if err != nil || undone != nil {
		return nil, errors.Join(err, undone)
	}
	return nil, &heldAddress{holder, ways, *id}
}

// mayTakeAddress decides about the user who holds the address of an account
// without an owner. The result is the user to link the account to, or nil if
// the address is free now. Otherwise the error says why the account is not
// linked.
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
	default: // nothing is proven, so a user is linked only if nobody can sign in as the user
		ways, err := e.waysIn(ctx, holder)
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

// noteProof records that the address of the user who signs in was proven: by
// the provider of the user's only account, or earlier in the same browser. The
// result is the user as stored now.
func (e *engine) noteProof(ctx context.Context, id *identity, user *adapter.User) (*adapter.User, error) {
	if user.EmailVerified != nil || user.Email == "" {
		return user, nil
	}
	earlier := id.earlier
	if earlier != nil && (earlier.userID != user.ID || !sameAddress(earlier.email, user.Email)) {
		earlier = nil
	}
	if earlier == nil {
		if id.proof != EmailProven || !sameAddress(id.user.Email, user.Email) {
			return user, nil
		}
		ways, err := e.waysIn(ctx, user)
		if err != nil || !ways.only(id.key()) {
			return user, err
		}
	}
	updated, err := e.store.prove(ctx, user, e.config.Clock())
	if errors.Is(err, adapter.ErrUnsupported) {
		return user, nil
	}
	if err != nil {
		return nil, raced(err)
	}
	notify(ctx, e, "UpdateUser", e.config.Events.UpdateUser, UpdateUserEvent{User: userFromRecord(updated)})
	if earlier != nil && earlier.id.account.Type != TypeEmail {
		if err := e.linkEarlier(ctx, earlier, updated); err != nil {
			e.logError(ctx, err) // the user is signed in nevertheless
		}
	}
	return updated, nil
}

// linkEarlier links the account that proved the address earlier. The person has
// now proven both: the account and the user.
func (e *engine) linkEarlier(ctx context.Context, p *provenAddress, user *adapter.User) error {
	if err := mayLink(ctx, e.config.Callbacks.Link, &p.id, user); err != nil {
		return err
	}
	account := p.id.kept.account(p.id.account)
	if err := e.store.link(ctx, user, account.record(), nil); err != nil {
		return err
	}
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: userFromRecord(user), Account: account.ownedBy(userFromRecord(user)), Profile: p.id.user})
	return nil
}
