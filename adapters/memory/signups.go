package memory

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// CreateUserWithAccount stores a new user, an account and, unless it is nil, an
// authenticator of that user: all of them or none. [SIGNUP-01] to [SIGNUP-06]
func (s *store) CreateUserWithAccount(ctx context.Context, record adapter.User, first adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	const op = "create user with account"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	a, err := newAccount(op, first)
	if err != nil {
		return nil, err
	}
	var credential *adapter.Authenticator
	if authenticator != nil {
		if credential, err = newAuthenticator(op, *authenticator); err != nil {
			return nil, err
		}
	}
	u := newUser(record)
	s.mu.Lock()
	defer s.mu.Unlock()
	what := s.takenFrom(u)
	if _, taken := s.accounts[a.Key()]; taken {
		what = "provider and account id"
	}
	if credential != nil && s.authenticators[credential.CredentialID] != nil {
		what = "credential id"
	}
	if what != "" {
		return nil, conflict(op, what)
	}
	s.addUser(u)
	s.addAccount(a, u)
	if credential != nil {
		s.addAuthenticator(credential, u)
	}
	return u.copy(), nil
}
