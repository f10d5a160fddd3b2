package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// errGivenAway says that a user was given to somebody else while an account was
// being linked to this user.
var errGivenAway = errors.New("the user now belongs to another person, who proved the address")

// signUp stores a new user with an account and, unless it is nil, an
// authenticator: all or nothing. If the adapter can't do so in one call, the
// records are stored one after the other, and are removed again if a later
// write fails.
func (s *store) signUp(ctx context.Context, u adapter.User, a adapter.Account, passkey *adapter.Authenticator) (*adapter.User, error) {
	if s.signUps != nil {
		s.trace(ctx, "adapter_createUserWithAccount")
		created, err := fromAdapter(s.signUps.CreateUserWithAccount(ctx, u, a, passkey))
		if !errors.Is(err, adapter.ErrUnsupported) {
			return created, err
		}
	}
	created, err := s.createUser(ctx, u)
	if err != nil {
		return nil, err
	}
	if err := s.link(ctx, created, a, passkey); err != nil {
		return nil, errors.Join(err, s.undoSignUp(context.WithoutCancel(ctx), a.Key(), created.ID, passkey))
	}
	return created, nil
}

// undoSignUp removes a user whose account could not be stored. The user stays
// if the account was stored and only the response of the store was lost. For a
// passkey, the authenticator must be stored, too: without it the account is
// useless.
func (s *store) undoSignUp(ctx context.Context, key adapter.AccountKey, userID string, passkey *adapter.Authenticator) error {
	owner, err := s.userByAccount(ctx, key)
	kept := owner != nil && owner.ID == userID
	if err == nil && kept && passkey != nil {
		var stored *adapter.Authenticator
		stored, err = s.authenticator(ctx, passkey.CredentialID)
		kept = stored != nil && stored.UserID == userID
	}
	if err == nil && !kept {
		err = s.deleteUser(ctx, userID)
	}
	if err != nil {
		return &Error{Type: ErrAdapter, Message: "a user without an account remains in the store", Cause: err}
	}
	return nil
}

// link stores an account of a user and, unless it is nil, an authenticator. The
// user was read before. If the address of the user was proven since then, the
// user may have been given to somebody else, and the account is removed again.
func (s *store) link(ctx context.Context, u *adapter.User, a adapter.Account, passkey *adapter.Authenticator) error {
	a.UserID = u.ID
	s.trace(ctx, "adapter_linkAccount")
	if _, err := fromAdapter(s.adapter.LinkAccount(ctx, a)); err != nil {
		return err
	}
	var err error
	if passkey != nil {
		err = s.addAuthenticator(ctx, u.ID, *passkey)
	}
	if err == nil && u.EmailVerified == nil && u.Email != "" {
		var now *adapter.User
		if now, err = s.user(ctx, u.ID); err == nil && (now == nil || now.EmailVerified != nil) {
			err = errGivenAway
		}
	}
	if err != nil {
		return errors.Join(err, s.unlinkAccount(context.WithoutCancel(ctx), a.Key()))
	}
	return nil
}

// addAuthenticator stores an authenticator of a user. It is not a failure if
// the authenticator was stored and only the response of the store was lost.
func (s *store) addAuthenticator(ctx context.Context, userID string, a adapter.Authenticator) error {
	a.UserID = userID
	err := s.createAuthenticator(ctx, a)
	if err == nil || errors.Is(err, adapter.ErrConflict) {
		return err
	}
	if stored, failed := s.authenticator(context.WithoutCancel(ctx), a.CredentialID); failed == nil && stored != nil && stored.UserID == userID {
		return nil
	}
	return err
}
