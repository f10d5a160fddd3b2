package memory

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateAuthenticator stores a credential of an existing user.
// [AUTHN-01] [AUTHN-03] [AUTHN-20] [CONC-06]
func (s *store) CreateAuthenticator(ctx context.Context, record adapter.Authenticator) (*adapter.Authenticator, error) {
	const op = "create authenticator"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	if record.CredentialID == "" {
		return nil, missing(op, "credential id")
	}
	a := ownAuthenticator(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.authenticators[a.CredentialID]; taken {
		return nil, conflict(op, "credential id")
	}
	owner, ok := s.users[record.UserID]
	if !ok {
		return nil, notFound(op, "user")
	}
	a.UserID = owner.ID
	s.authenticators[a.CredentialID] = &a
	owner.authenticators = append(owner.authenticators, &a)
	return copyAuthenticator(&a), nil
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

// UpdateAuthenticatorCounter stores the counter, a lower one included, and
// returns the record. [AUTHN-08] to [AUTHN-13]
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
