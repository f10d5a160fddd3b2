package memory

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount stores an account of an existing user. AuthorizationDetails that
// are not JSON are refused. [ACCT-06] [ACCT-08] [ACCT-16] [CONC-04]
func (s *store) LinkAccount(ctx context.Context, record adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	switch {
	case record.Provider == "":
		return nil, missing(op, "provider")
	case record.ProviderAccountID == "":
		return nil, missing(op, "provider account id")
	}
	a := &account{Account: ownAccount(record)}
	if a.AuthorizationDetails != nil && !json.Valid(a.AuthorizationDetails) {
		return nil, errors.New("memory: link account: authorization details are not JSON")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.accounts[a.Key()]; taken {
		return nil, conflict(op, "provider and account id")
	}
	owner, ok := s.users[record.UserID]
	if !ok {
		return nil, notFound(op, "user")
	}
	a.UserID, a.owner = owner.ID, owner
	s.accounts[a.Key()] = a
	owner.accounts.add(a)
	return a.copy(), nil
}

// UnlinkAccount deletes the account and returns it, or nil.
// [ACCT-07] [ACCT-10] to [ACCT-13]
func (s *store) UnlinkAccount(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
	if err := begin(ctx, "unlink account"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[key]
	if !ok {
		return nil, nil
	}
	delete(s.accounts, key)
	a.owner.accounts.remove(a)
	return a.copy(), nil
}

// GetAccount returns the account, or nil. [ACCT-02] [ACCT-03]
func (s *store) GetAccount(ctx context.Context, providerAccountID, provider string) (*adapter.Account, error) {
	if err := begin(ctx, "get account"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if a, ok := s.accounts[adapter.AccountKey{Provider: provider, ProviderAccountID: providerAccountID}]; ok {
		return a.copy(), nil
	}
	return nil, nil
}
