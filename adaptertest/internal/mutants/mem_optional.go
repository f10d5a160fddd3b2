package mutants

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The methods of the optional interfaces, over maps.

func (m *mem) CreateUserWithAccount(ctx context.Context, u adapter.User, account adapter.Account, authenticator *adapter.Authenticator) (*adapter.User, error) {
	return write(ctx, m, func() (*adapter.User, error) {
		if account.Provider == "" || account.ProviderAccountID == "" || authenticator != nil && authenticator.CredentialID == "" {
			return nil, errEmpty
		}
		if err := freeUser(m.records, &u); err != nil {
			return nil, err
		}
		if _, taken := m.accounts[account.Key()]; taken {
			return nil, conflict("the account")
		}
		if authenticator != nil {
			if _, taken := m.authenticators[authenticator.CredentialID]; taken {
				return nil, conflict("the credential id")
			}
		}
		m.putUser(u)
		account.UserID = u.ID
		m.putAccount(account)
		if authenticator != nil {
			a := *authenticator
			a.UserID = u.ID
			m.putAuthenticator(a)
		}
		return new(copyUser(u)), nil
	})
}

// ownedBy returns the records of a user by their index.
func ownedBy[K comparable, T any](index map[string]map[K]bool, all map[K]T, userID string, copied func(T) T, owner func(T) string) []T {
	list := []T{}
	for key := range index[userID] {
		if x, ok := all[key]; ok && owner(x) == userID {
			list = append(list, copied(x))
		}
	}
	return list
}

func (m *mem) ListAccountsByUserID(ctx context.Context, userID string) ([]adapter.Account, error) {
	return read(ctx, m, func() ([]adapter.Account, error) {
		return ownedBy(m.accountsOf, m.accounts, userID, copyAccount, func(a adapter.Account) string { return a.UserID }), nil
	})
}

func (m *mem) UpdateAccount(ctx context.Context, update adapter.AccountUpdate) (*adapter.Account, error) {
	return write(ctx, m, func() (*adapter.Account, error) {
		a, ok := m.accounts[update.Key()]
		if !ok {
			return nil, notFound("account")
		}
		if update.Apply(&a); !isJSON(a.AuthorizationDetails) {
			return nil, errDetails
		}
		m.accounts[a.Key()] = copyAccount(a)
		return new(copyAccount(a)), nil
	})
}

func (m *mem) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	return read(ctx, m, func() ([]adapter.Session, error) {
		return ownedBy(m.sessionsOf, m.sessions, userID, copySession, func(s adapter.Session) string { return s.UserID }), nil
	})
}

func (m *mem) DeleteSessionsByUserID(ctx context.Context, userID, except string) (int64, error) {
	return write(ctx, m, func() (int64, error) {
		var deleted int64
		for token := range m.sessionsOf[userID] {
			if s, ok := m.sessions[token]; ok && s.UserID == userID && token != except {
				delete(m.sessions, token)
				deleted++
			}
		}
		return deleted, nil
	})
}

// dropAuthenticator deletes an authenticator and removes it from its user's list.
func (r *records) dropAuthenticator(a adapter.Authenticator) {
	delete(r.authenticators, a.CredentialID)
	r.credentials[a.UserID] = without(r.credentials[a.UserID], a.CredentialID)
}

func (m *mem) DeleteAuthenticator(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
	return write(ctx, m, func() (*adapter.Authenticator, error) {
		a, ok := m.authenticators[credentialID]
		if !ok || a.UserID != userID {
			return nil, nil
		}
		connected := m.connected(a)
		left := len(m.credentials[userID]) - 1 - len(connected)
		for _, x := range m.accounts {
			if x.UserID == userID {
				left++
			}
		}
		if _, has := m.passwords[userID]; keepOne && left == 0 && !has {
			return nil, fmt.Errorf("mem: %w", adapter.ErrLastCredential)
		}
		m.dropAuthenticator(a)
		for _, key := range connected {
			delete(m.accounts, key)
		}
		return new(copyAuthenticator(a)), nil
	})
}

// connected returns the accounts that are deleted with the authenticator.
func (r *records) connected(a adapter.Authenticator) []adapter.AccountKey {
	for _, id := range r.credentials[a.UserID] {
		if id != a.CredentialID && r.authenticators[id].ProviderAccountID == a.ProviderAccountID {
			return nil
		}
	}
	var keys []adapter.AccountKey
	for key, x := range r.accounts {
		if x.UserID == a.UserID && connects(x, a) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (m *mem) RenameAuthenticator(ctx context.Context, userID, credentialID, name string) (*adapter.Authenticator, error) {
	return write(ctx, m, func() (*adapter.Authenticator, error) {
		a, ok := m.authenticators[credentialID]
		if !ok || a.UserID != userID {
			return nil, nil
		}
		a.Name = copyText(&name)
		m.authenticators[credentialID] = a
		return new(copyAuthenticator(a)), nil
	})
}

func (m *mem) TouchAuthenticator(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
	return reworked(ctx, m, credentialID, func(a *adapter.Authenticator) bool {
		same := a.Counter == from
		a.Counter, a.LastUsed = to, copyInstant(&used)
		return same
	})
}

func (m *mem) DeleteVerificationTokens(ctx context.Context, identifier string) (int64, error) {
	return write(ctx, m, func() (int64, error) {
		return removed(m.tokens, func(key adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
			return key.Identifier == identifier
		}), nil
	})
}

func (m *mem) CreateUserWithPassword(ctx context.Context, u adapter.User, password adapter.Password) (*adapter.User, error) {
	if err := password.Check(); err != nil {
		return nil, err
	}
	return write(ctx, m, func() (*adapter.User, error) {
		if err := freeUser(m.records, &u); err != nil {
			return nil, err
		}
		m.putUser(u)
		password.UserID = u.ID
		m.passwords[u.ID] = password
		return new(copyUser(u)), nil
	})
}

func (m *mem) GetPassword(ctx context.Context, userID string) (*adapter.Password, error) {
	return found(ctx, m, &m.passwords, userID, func(p adapter.Password) adapter.Password { return p })
}

func (m *mem) SetPassword(ctx context.Context, password adapter.Password) (*adapter.Password, error) {
	if err := password.Check(); err != nil {
		return nil, err
	}
	return write(ctx, m, func() (*adapter.Password, error) {
		if _, ok := m.users[password.UserID]; !ok {
			return nil, notFound("user")
		}
		m.passwords[password.UserID] = password
		return &password, nil
	})
}

func (m *mem) SwapPassword(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
	if err := to.Check(); err != nil {
		return nil, err
	}
	return write(ctx, m, func() (*adapter.Password, error) {
		if p, ok := m.passwords[from.UserID]; !ok || p != from {
			return nil, nil
		}
		to.UserID = from.UserID
		m.passwords[from.UserID] = to
		return &to, nil
	})
}

func (m *mem) DeletePassword(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
	return write(ctx, m, func() (*adapter.Password, error) {
		p, ok := m.passwords[userID]
		if !ok {
			return nil, nil
		}
		if authenticators, accounts := m.waysIn(userID); keepOne && authenticators+accounts == 0 {
			return nil, fmt.Errorf("mem: %w", adapter.ErrLastCredential)
		}
		delete(m.passwords, userID)
		return &p, nil
	})
}
