package memory

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// LinkAccount stores an account of an existing user. AuthorizationDetails that
// are not JSON are refused. [ACCT-06] [ACCT-08] [ACCT-16] [CONC-04]
func (s *store) LinkAccount(ctx context.Context, record adapter.Account) (*adapter.Account, error) {
	const op = "link account"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	a, err := newAccount(op, record)
	if err != nil {
		return nil, err
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
	s.addAccount(a, owner)
	return a.copy(), nil
}

// newAccount returns the record in the form that the store keeps. An invalid
// record is an error.
func newAccount(op string, record adapter.Account) (*account, error) {
	switch {
	case record.Provider == "":
		return nil, missing(op, "provider")
	case record.ProviderAccountID == "":
		return nil, missing(op, "provider account id")
	}
	a := &account{Account: ownAccount(record)}
	if !isJSON(a.AuthorizationDetails) {
		return nil, notJSON(op)
	}
	return a, nil
}

// isJSON reports whether the authorization details are absent or valid JSON.
func isJSON(details json.RawMessage) bool { return details == nil || json.Valid(details) }

func notJSON(op string) error {
	return fmt.Errorf("memory: %s: authorization details are not JSON", op)
}

// addAccount stores an account of the owner. The caller holds the lock.
func (s *store) addAccount(a *account, owner *user) {
	a.UserID, a.owner = owner.ID, owner
	s.accounts[a.Key()] = a
	owner.accounts.add(a)
}

// dropAccount removes the account. The caller holds the lock.
func (s *store) dropAccount(a *account) {
	delete(s.accounts, a.Key())
	a.owner.accounts.remove(a)
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
	s.dropAccount(a)
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

// ListAccountsByUserID returns the user's accounts. For an unknown user the
// slice is empty and not nil. [ALIST-01] to [ALIST-03]
func (s *store) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	if err := begin(ctx, "list accounts"); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := []adapter.Account{}
	if u, ok := s.users[userID]; ok {
		for _, a := range u.accounts {
			list = append(list, *a.copy())
		}
	}
	return list, nil
}

// UpdateAccount changes the fields that the update sets. [ALIST-04] to
// [ALIST-07]
func (s *store) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	const op = "update account"
	if err := begin(ctx, op); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.accounts[update.Key()]
	if !ok {
		return nil, notFound(op, "account")
	}
	changed := a.Account
	update.Apply(&changed)
	changed = ownAccount(changed)
	if !isJSON(changed.AuthorizationDetails) {
		return nil, notJSON(op)
	}
	a.Account = changed
	return a.copy(), nil
}
