package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator stores a credential of an existing user.
// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06]
func (s *store) CreateAuthenticator(ctx context.Context, record adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	a, err := newAuthenticator(op, record)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.authenticators[a.CredentialID]; taken {
		return nil, conflict(op, "credential id")
	}
	owner, ok := s.users[record.UserID]
	if !ok {
		return nil, notFound(op, "user")
	}
	s.addAuthenticator(a, owner)
	return copyAuthenticator(a), nil
}

// newAuthenticator returns the record in the form that the store keeps. An
// invalid record is an error.
func newAuthenticator(op string, record adapter.Authenticator) (*adapter.Authenticator, error) {
	if record.CredentialID == "" {
		return nil, missing(op, "credential id")
	}
	a := ownAuthenticator(record)
	return &a, nil
}

// addAuthenticator stores an authenticator of the owner. The caller holds the
// lock.
func (s *store) addAuthenticator(a *adapter.Authenticator, owner *user) {
	a.UserID = owner.ID
	s.authenticators[a.CredentialID] = a
	owner.authenticators = append(owner.authenticators, a)
}

// GetAuthenticator returns the authenticator, or nil. [AUTHN-02] [AUTHN-15]
func (s *store) GetAuthenticator(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
	if err := begin(ctx, "get authenticator"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a, ok := s.authenticators[credentialID]; ok {
		return copyAuthenticator(a), nil
	}
	return nil, nil
}

// ListAuthenticatorsByUserID returns the user's authenticators in the order of
// their creation. For an unknown user the slice is empty and not nil.
// [AUTHN-04] to [AUTHN-07]
func (s *store) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	if err := begin(ctx, "list authenticators"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := []adapter.Authenticator{}
	if u, ok := s.users[userID]; ok {
		for _, a := range u.authenticators {
			list = append(list, *copyAuthenticator(a))
		}
	}
	return list, nil
}

// UpdateAuthenticatorCounter stores the counter, even a lower one, and returns
// the record. [AUTHN-08] to [AUTHN-13]
func (s *store) UpdateAuthenticatorCounter(ctx context.Context, credentialID string, counter int64) (*adapter.Authenticator, error) {
	const op = "update authenticator counter"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.authenticators[credentialID]
	if !ok {
		return nil, notFound(op, "authenticator")
	}
	a.Counter = counter
	return copyAuthenticator(a), nil
}

// DeleteAuthenticator deletes the user's authenticator, and the account that it
// is connected to unless another authenticator uses that account. [AEDIT-01] to
// [AEDIT-05]
func (s *store) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	const op = "delete authenticator"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	owner, deleted := s.ownedAuthenticator(userID, credentialID)
	if deleted == nil {
		return nil, nil
	}
	connected := connectedAccounts(owner, deleted)
	if keepOne && len(owner.authenticators) == 1 && len(owner.accounts) == len(connected) && owner.password == nil {
		return nil, fmt.Errorf("memory: %s: %w", op, adapter.ErrLastCredential)
	}
	delete(s.authenticators, credentialID)
	owner.authenticators = slices.DeleteFunc(owner.authenticators, func(a *adapter.Authenticator) bool { return a == deleted })
	for _, a := range connected {
		s.dropAccount(a)
	}
	return copyAuthenticator(deleted), nil
}

// connectedAccounts returns the owner's accounts that are deleted together with
// the authenticator.
func connectedAccounts(owner *user, ending *adapter.Authenticator) []*account {
	for _, other := range owner.authenticators {
		if other != ending && other.ProviderAccountID == ending.ProviderAccountID {
			return nil
		}
	}
	var connected []*account
	for _, a := range owner.accounts {
		if a.Type == adapter.AccountWebAuthn && a.ProviderAccountID == ending.ProviderAccountID {
			connected = append(connected, a)
		}
	}
	return connected
}

// RenameAuthenticator stores the name of the user's authenticator. [AEDIT-06]
func (s *store) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	if err := begin(ctx, "rename authenticator"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, renamed := s.ownedAuthenticator(userID, credentialID)
	if renamed == nil {
		return nil, nil
	}
	renamed.Name = new(strings.Clone(name))
	return copyAuthenticator(renamed), nil
}

// UpdateAuthenticatorBackup stores the backup flags of an authenticator.
// [AEDIT-11]
func (s *store) UpdateAuthenticatorBackup(ctx context.Context, credentialID string, backedUp bool, deviceType string) (*adapter.Authenticator, error) {
	if err := begin(ctx, "update authenticator backup"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.authenticators[credentialID]
	if !ok {
		return nil, fmt.Errorf("memory: update authenticator backup: %w", adapter.ErrNotFound)
	}
	a.CredentialBackedUp, a.CredentialDeviceType = backedUp, strings.Clone(deviceType)
	return copyAuthenticator(a), nil
}

// ownedAuthenticator returns the user and the user's authenticator, or nil. The
// caller holds the lock.
func (s *store) ownedAuthenticator(userID, credentialID string) (*user, *adapter.Authenticator) {
	a, ok := s.authenticators[credentialID]
	if !ok || a.UserID != userID {
		return nil, nil
	}
	return s.users[userID], a
}

// TouchAuthenticator stores the counter to and the instant of use, if the
// stored counter equals from. [AEDIT-07] to [AEDIT-10]
func (s *store) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	const op = "touch authenticator"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.authenticators[credentialID]
	if !ok {
		return nil, notFound(op, "authenticator")
	}
	if a.Counter != from {
		return nil, nil
	}
	a.Counter, a.LastUsed = to, new(used.UTC())
	return copyAuthenticator(a), nil
}
