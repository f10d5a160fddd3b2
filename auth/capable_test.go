package auth_test

import (
	"context"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// capable is a store that has the optional interfaces of an adapter, too.
type capable struct{ *store }

func newCapable() capable { return capable{newStore()} }

func (s capable) CreateUserWithAccount(ctx context.Context, u adapter.User, a adapter.Account, passkey *adapter.Authenticator) (*adapter.User, error) {
	if err := s.enter(ctx, "createUserWithAccount", u, a); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	_, taken := s.accounts[a.Key()]
	taken = taken || s.byEmail(u.Email) != nil
	s.mu.Unlock()
	if taken {
		return nil, adapter.ErrConflict
	}
	created, err := s.CreateUser(ctx, u)
	if err == nil {
		a.UserID = created.ID
		_, err = s.LinkAccount(ctx, a)
	}
	return created, err
}

func (s capable) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	err := s.enter(ctx, "listAccountsByUserId", userID)
	defer s.mu.Unlock()
	list := []adapter.Account{}
	for _, a := range s.accounts {
		if a.UserID == userID {
			list = append(list, a)
		}
	}
	return list, err
}

func (s capable) UpdateAccount(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
	err := s.enter(ctx, "updateAccount", u)
	defer s.mu.Unlock()
	a, ok := s.accounts[u.Key()]
	switch {
	case err != nil:
		return nil, err
	case !ok:
		return nil, adapter.ErrNotFound
	}
	u.Apply(&a)
	s.accounts[u.Key()] = a
	return &a, nil
}

func (s capable) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	err := s.enter(ctx, "listAuthenticatorsByUserId", userID)
	defer s.mu.Unlock()
	return s.passkeys[userID], err
}

func (s capable) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	err := s.enter(ctx, "listSessionsByUserId", userID)
	defer s.mu.Unlock()
	list := []adapter.Session{}
	for _, v := range s.sessions {
		if v.UserID == userID {
			list = append(list, v)
		}
	}
	return list, err
}

func (s capable) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	err := s.enter(ctx, "deleteSessionsByUserId", userID, except)
	defer s.mu.Unlock()
	n := int64(0)
	for token, v := range s.sessions {
		if v.UserID == userID && token != except {
			delete(s.sessions, token)
			n++
		}
	}
	return n, err
}

func (s capable) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	err := s.enter(ctx, "deleteVerificationTokens", identifier)
	defer s.mu.Unlock()
	n := int64(0)
	for key := range s.tokens {
		if key.Identifier == identifier {
			delete(s.tokens, key)
			n++
		}
	}
	return n, err
}

func (s capable) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	err := s.enter(ctx, "unlinkAccount", key)
	defer s.mu.Unlock()
	a, ok := s.accounts[key]
	if err != nil || !ok {
		return nil, err
	}
	delete(s.accounts, key)
	return &a, nil
}
