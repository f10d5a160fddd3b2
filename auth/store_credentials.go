package auth

import (
	"context"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
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
