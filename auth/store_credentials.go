package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/internal/passwords"
)

// The calls of the store that are about passkeys and passwords.

func (s *store) account(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	s.trace(ctx, "adapter_getAccount")
	return fromAdapter(s.adapter.GetAccount(ctx, key.ProviderAccountID, key.Provider))
}

func (s *store) unlinkAccount(ctx context.Context, key adapter.AccountKey) error {
	s.trace(ctx, "adapter_unlinkAccount")
	_, err := fromAdapter(s.adapter.UnlinkAccount(ctx, key))
	return err
}

func (s *store) authenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	s.trace(ctx, "adapter_getAuthenticator")
	return fromAdapter(s.adapter.GetAuthenticator(ctx, credentialID))
}

func (s *store) authenticators(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	s.trace(ctx, "adapter_listAuthenticatorsByUserId")
	list, err := fromAdapter(s.adapter.ListAuthenticatorsByUserID(ctx, userID))
	if err == nil && list == nil {
		list = []adapter.Authenticator{}
	}
	return list, err
}

func (s *store) createAuthenticator(ctx context.Context, a adapter.Authenticator) error {
	s.trace(ctx, "adapter_createAuthenticator")
	_, err := fromAdapter(s.adapter.CreateAuthenticator(ctx, a))
	return err
}

// edits is the adapter's ability to change authenticators, if it has it.
func (s *store) edits() (adapter.AuthenticatorEdits, bool) {
	return adapter.Capability[adapter.AuthenticatorEdits](s.adapter)
}

// useCounter replaces the stored counter by the counter that an authenticator
// has sent. Moved reports that the stored counter is not from any more, because
// another sign-in came in between. Without adapter.AuthenticatorEdits the
// caller must make sure that no other sign-in comes in between.
func (s *store) useCounter(ctx context.Context, credentialID string, from, to int64) (moved bool, err error) {
	edits, ok := s.edits()
	if !ok {
		s.trace(ctx, "adapter_updateAuthenticatorCounter")
		_, err = fromAdapter(s.adapter.UpdateAuthenticatorCounter(ctx, credentialID, to))
		return false, err
	}
	s.trace(ctx, "adapter_touchAuthenticator")
	stored, err := fromAdapter(edits.TouchAuthenticator(ctx, credentialID, from, to, s.clock()))
	return err == nil && stored == nil, err
}

// setBackup stores the backup flags of an authenticator, if the adapter can.
func (s *store) setBackup(ctx context.Context, a *adapter.Authenticator) error {
	backups, ok := adapter.Capability[adapter.AuthenticatorBackups](s.adapter)
	if !ok {
		return nil
	}
	s.trace(ctx, "adapter_updateAuthenticatorBackup")
	_, err := fromAdapter(backups.UpdateAuthenticatorBackup(ctx, a.CredentialID, a.CredentialBackedUp, a.CredentialDeviceType))
	if errors.Is(err, adapter.ErrUnsupported) {
		return nil
	}
	return err
}

// rename gives an authenticator of the user a name. Found reports whether the
// user has it.
func (s *store) rename(ctx context.Context, userID, credentialID, name string) (found bool, err error) {
	edits, ok := s.edits()
	if !ok {
		return false, &Error{Type: ErrAdapter, Cause: adapter.ErrUnsupported}
	}
	s.trace(ctx, "adapter_renameAuthenticator")
	stored, err := fromAdapter(edits.RenameAuthenticator(ctx, userID, credentialID, name))
	return stored != nil, err
}

// remove deletes an authenticator of the user, with its account. Found reports
// whether they had it. With keepOne the last way to sign in is not removed.
func (s *store) remove(ctx context.Context, userID, credentialID string, keepOne bool) (found bool, err error) {
	edits, ok := s.edits()
	if !ok {
		return false, &Error{Type: ErrAdapter, Cause: adapter.ErrUnsupported}
	}
	s.trace(ctx, "adapter_deleteAuthenticator")
	removed, err := edits.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
	if errors.Is(err, adapter.ErrLastCredential) {
		return true, err
	}
	_, err = fromAdapter(removed, err)
	return removed != nil, err
}

// Password returns the password of a user, or nil.
func (s *store) Password(ctx context.Context, userID string) (*adapter.Password, error) {
	if s.passwords == nil {
		return nil, nil
	}
	s.trace(ctx, "adapter_getPassword")
	return fromAdapter(s.passwords.GetPassword(ctx, userID))
}

// passwordVersion returns the version of the password of a user: another text after
// each change of the password. It is empty for a user without one, and without a
// store.
func passwordVersion(ctx context.Context, s *store, userID string) (string, error) {
	if s == nil {
		return "", nil
	}
	found, err := s.Password(ctx, userID)
	return passwords.StateOf(found).Version, err
}

// SwapPassword compares and sets the password of a user.
func (s *store) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	s.trace(ctx, "adapter_swapPassword")
	return fromAdapter(s.passwords.SwapPassword(ctx, from, to))
}

// setPassword gives a user a password, in place of the one that they have.
func (s *store) setPassword(ctx context.Context, p adapter.Password) error {
	s.trace(ctx, "adapter_setPassword")
	_, err := fromAdapter(s.passwords.SetPassword(ctx, p))
	return err
}

// deletePassword removes the password of a user. With keepOne the last way to sign
// in is not removed.
func (s *store) deletePassword(ctx context.Context, userID string, keepOne bool) error {
	s.trace(ctx, "adapter_deletePassword")
	removed, err := s.passwords.DeletePassword(ctx, userID, keepOne)
	if errors.Is(err, adapter.ErrLastCredential) {
		return err
	}
	_, err = fromAdapter(removed, err)
	return err
}

// createUserWith stores a new user, with a password unless it is nil.
func (s *store) createUserWith(ctx context.Context, u adapter.User, p *adapter.Password) (*adapter.User, error) {
	if p == nil {
		return s.createUser(ctx, u)
	}
	s.trace(ctx, "adapter_createUserWithPassword")
	return fromAdapter(s.passwords.CreateUserWithPassword(ctx, u, *p))
}

// CreateToken, UseToken and DeleteTokens are the calls of the store for the tokens
// of mails about passwords.
func (s *store) CreateToken(ctx context.Context, t adapter.VerificationToken) error {
	return s.createVerificationToken(ctx, t)
}

// UseToken spends a token.
func (s *store) UseToken(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	return s.useVerificationToken(ctx, key.Identifier, key.Token)
}

// DeleteTokens ends all tokens of an identifier.
func (s *store) DeleteTokens(ctx context.Context, identifier string) error {
	return s.deleteVerificationTokens(ctx, identifier)
}

// renewPassword stores the password that a user chose after a proof of the address,
// and ends all sessions of the user. Without one, the proof makes the password that
// the user has count again, wherever wrong ones were tried.
func (s *store) renewPassword(ctx context.Context, userID string, p *adapter.Password) error {
	if p == nil {
		if s.passwords == nil {
			return nil
		}
		return passwords.Restore(ctx, s, userID)
	}
	chosen := *p
	chosen.UserID = userID
	if err := s.setPassword(ctx, chosen); err != nil {
		return err
	}
	return s.endSessions(ctx, userID)
}
