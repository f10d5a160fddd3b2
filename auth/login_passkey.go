package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// loginWithNewPasskey gives a passkey that was just registered to who is signed
// in, or makes a new user for it. It never gives one to a user who is not signed
// in, and never signs in an owner whom the passkey has already: a registration
// proves nothing about who holds a credential ID.
func (e *engine) loginWithNewPasskey(ctx context.Context, id *identity, current loggedIn) (*signedIn, error) {
	owner, err := e.store.userByAccount(ctx, id.key())
	if err != nil {
		return nil, err
	}
	if owner != nil {
		return nil, &Error{Type: ErrAccountNotLinked, Message: "the passkey has an owner already"}
	}
	done := &signedIn{account: id.account}
	if current.user != nil {
		done.user, done.session = current.user, current.session
		return done, e.addPasskey(ctx, id, current.user)
	}
	if id.user.Email != "" {
		taken, err := e.store.userByEmail(ctx, id.user.Email)
		if err != nil {
			return nil, err
		}
		if taken != nil {
			return nil, &Error{Type: ErrAccountNotLinked, Message: "another user has the e-mail address"}
		}
	}
	record := id.user.record()
	record.EmailVerified = nil // whoever registers may type any address
	if done.user, err = e.signUpWithPasskey(ctx, id, record); err != nil {
		return nil, err
	}
	done.isNewUser = true
	done.session, err = e.newSession(ctx, done.user)
	return done, err
}

// addPasskey stores a passkey of a user: the account, and what verifies it.
func (e *engine) addPasskey(ctx context.Context, id *identity, user *User) error {
	if err := e.storePasskey(ctx, id, user.ID); err != nil {
		return err
	}
	e.notifyPasskeyLinked(ctx, id, user)
	return nil
}

// storePasskey writes both records. If the second can't be written, the first is
// taken back, so that the passkey is nobody's.
func (e *engine) storePasskey(ctx context.Context, id *identity, userID string) error {
	account := id.account.record()
	account.UserID = userID
	if err := e.store.linkAccount(ctx, account); err != nil {
		return err
	}
	made := *id.authenticator
	made.UserID = userID
	err := e.store.createAuthenticator(ctx, made)
	if err == nil {
		return nil
	}
	undo := context.WithoutCancel(ctx)
	if stored, failed := e.store.authenticator(undo, made.CredentialID); failed == nil && stored != nil && stored.UserID == userID {
		return nil // just the answer was lost
	}
	if failed := e.store.unlinkAccount(undo, account.Key()); failed != nil {
		e.logError(ctx, &Error{Type: ErrAdapter, Message: "account without passkey left behind", Cause: failed})
	}
	return err
}

// signUpWithPasskey stores a new user with their passkey: in one step where the
// adapter can, and otherwise so that no failure leaves a user without a way in.
func (e *engine) signUpWithPasskey(ctx context.Context, id *identity, record adapter.User) (*User, error) {
	created, atOnce, err := e.store.signUp(ctx, record, id.account.record(), id.authenticator)
	if !atOnce {
		created, err = e.store.createUser(ctx, record)
	}
	if err != nil {
		return nil, err
	}
	user := userFromRecord(created)
	if !atOnce {
		if err := e.storePasskey(ctx, id, user.ID); err != nil {
			if failed := e.store.deleteUser(context.WithoutCancel(ctx), user.ID); failed != nil {
				err = errors.Join(err, failed)
			}
			return nil, err
		}
	}
	notify(ctx, e, "CreateUser", e.config.Events.CreateUser, CreateUserEvent{User: user})
	e.notifyPasskeyLinked(ctx, id, user)
	return user, nil
}

func (e *engine) notifyPasskeyLinked(ctx context.Context, id *identity, user *User) {
	account := *id.account
	notify(ctx, e, "LinkAccount", e.config.Events.LinkAccount, LinkAccountEvent{User: user, Account: &account, Profile: id.user})
}
