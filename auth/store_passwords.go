package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
)

// keptPasswords is the part of the store that keeps passwords, and the tokens of
// the mails about them. Without an adapter, nobody has a password.
type keptPasswords struct {
	adapter adapter.Passwords
	of      *store
}

// Password returns the password of a user, or nil.
func (s *keptPasswords) Password(ctx context.Context, userID string) (*adapter.Password, error) {
	if s.adapter == nil {
		return nil, nil
	}
	s.of.trace(ctx, "adapter_getPassword")
	return fromAdapter(s.adapter.GetPassword(ctx, userID))
}

// passwordVersion returns the version of the password of a user: another text after
// each change of the password. It is empty for a user without one, and without a
// store.
func passwordVersion(ctx context.Context, s *keptPasswords, userID string) (string, error) {
	if s == nil {
		return "", nil
	}
	found, err := s.Password(ctx, userID)
	return passwords.StateOf(found).Version, err
}

// SwapPassword compares and sets the password of a user.
func (s *keptPasswords) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	s.of.trace(ctx, "adapter_swapPassword")
	return fromAdapter(s.adapter.SwapPassword(ctx, from, to))
}

// setPassword gives a user a password, in place of the one that they have.
func (s *keptPasswords) setPassword(ctx context.Context, p adapter.Password) error {
	s.of.trace(ctx, "adapter_setPassword")
	_, err := fromAdapter(s.adapter.SetPassword(ctx, p))
	return err
}

// deletePassword removes the password of a user. With keepOne the last way to sign
// in is not removed.
func (s *keptPasswords) deletePassword(ctx context.Context, userID string, keepOne bool) error {
	s.of.trace(ctx, "adapter_deletePassword")
	removed, err := s.adapter.DeletePassword(ctx, userID, keepOne)
	if errors.Is(err, adapter.ErrLastCredential) {
		return err
	}
	_, err = fromAdapter(removed, err)
	return err
}

// createUserWith stores a new user, with a password unless it is nil.
func (s *keptPasswords) createUserWith(ctx context.Context, u adapter.User, p *adapter.Password) (*adapter.User, error) {
	if p == nil {
		return s.of.createUser(ctx, u)
	}
	s.of.trace(ctx, "adapter_createUserWithPassword")
	return fromAdapter(s.adapter.CreateUserWithPassword(ctx, u, *p))
}

// CreateToken, UseToken and DeleteTokens are the calls of the store for the tokens
// of mails about passwords.
func (s *keptPasswords) CreateToken(ctx context.Context, t adapter.VerificationToken) error {
	return s.of.createVerificationToken(ctx, t)
}

// UseToken spends a token.
func (s *keptPasswords) UseToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return s.of.useVerificationToken(ctx, key.Identifier, key.Token)
}

// DeleteTokens ends all tokens of an identifier.
func (s *keptPasswords) DeleteTokens(ctx context.Context, identifier string) error {
	return s.of.deleteVerificationTokens(ctx, identifier)
}

// renewPassword stores the password that a user chose after a proof of the address,
// and ends all sessions of the user. Without one, the proof makes the password that
// the user has count again, wherever wrong ones were tried.
func (s *keptPasswords) renewPassword(ctx context.Context, userID string, p *adapter.Password) error {
	if p == nil {
		if s.adapter == nil {
			return nil
		}
		return passwords.Restore(ctx, s, userID)
	}
	chosen := *p
	chosen.UserID = userID
	if err := s.setPassword(ctx, chosen); err != nil {
		return err
	}
	return s.of.endSessions(ctx, userID)
}
