package mutants

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// neighbourMutants harm a record beside the one that a call is about, or forget that a record
// came back.
func neighbourMutants() []Mutant {
	return []Mutant{
		{Name: "owner and session are read at two moments", Races: true, Fault: "GetSessionAndUser reads the owner, then the session. A session that moves in between comes with the user who had it before.", Fails: []string{"CONC-19"},
			mem: func(m *mem) with { return readTwice(m) }},
		{Name: "owner and session are two statements", Races: true, Fault: "GetSessionAndUser selects the owner by a join and the session in a second statement, without a transaction.", Fails: []string{"CONC-19"},
			lite: func(l *lite) with { return readTwice(l) }},

		{Name: "extension joins another one", Races: true, Fault: "UpdateSession joins an update of the session that is running, and returns its result. Its own values are never stored.", Fails: []string{"CONC-19"},
			mem: func(m *mem) with { return joinedUpdates(m) }},
		{Name: "updates of one row are one", Races: true, Fault: "UpdateSession combines calls for one token, as a look-up may, and runs the first one only.", Fails: []string{"CONC-19"},
			lite: func(l *lite) with { return joinedUpdates(l) }},

		{Name: "last two passkeys leave their account", Races: true, Fault: "DeleteAuthenticator looks whether another authenticator is connected to the account, and then deletes. Of two calls each sees the authenticator of the other, and the account stays.", Fails: []string{"CONC-21"},
			mem: func(m *mem) with { return countedConnections(m) }},

		{Name: "deletion frees the address twice", Races: true, Fault: "DeleteUser takes the address out of the index once more after the deletion, also if a new user has it by then.", Fails: []string{"CONC-21"},
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := m.DeleteUser(ctx, id)
					if u == nil || err != nil || u.Email == "" {
						return u, err
					}
					for range 10 {
						gap()
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					delete(m.emails, u.Email)
					return u, nil
				}}
			}},

		{Name: "session that came back is not listed", Fault: "A session that moves to another user is marked in the index of its first user. When it moves back, the mark stays: it is neither listed nor ended with the sessions of the user.", Fails: []string{"SLIST-01", "SLIST-04"},
			mem: func(m *mem) with { return markedAway(m, m.common()) }},
		{Name: "row that came back is not listed", Fault: "A table holds the sessions that have left a user. Lists and deletions pass them over, also after they have come back.", Fails: []string{"SLIST-01"},
			lite: func(l *lite) with { return markedAway(l, l.common()) }},

		{Name: "two users share a lock", Fault: "UpdateSession with a new owner locks both users, by a hash of the ID. If both have one lock, the call waits for itself, and fails.", Fails: []string{"SESS-08"},
			mem: func(m *mem) with { return striped(m) }},
		{Name: "two users share a lock of the database", Fault: "UpdateSession with a new owner takes advisory locks by a hash of the two IDs, and fails if it has the lock already.", Fails: []string{"SESS-08"},
			lite: func(l *lite) with { return striped(l) }},

		{Name: "passkeys go by the id of the account", Fault: "DeleteUser deletes the authenticators whose ProviderAccountID is that of an account of the user, whoever owns them.", Fails: []string{"CASC-05"},
			mem: func(m *mem) with {
				return deletedByAccount(m, func(_ context.Context, account adapter.Account) error {
					m.mu.Lock()
					defer m.mu.Unlock()
					for _, a := range m.authenticators {
						if a.ProviderAccountID == account.ProviderAccountID {
							m.dropAuthenticator(a)
						}
					}
					return nil
				})
			}},
		{Name: "passkey rows go by the id of the account", Fault: "DeleteUser deletes from the table of authenticators by providerAccountId, without the user ID.", Fails: []string{"CASC-05"},
			lite: func(l *lite) with {
				return deletedByAccount(l, func(ctx context.Context, account adapter.Account) error {
					return l.exec(ctx, `DELETE FROM "authenticator" WHERE providerAccountId = ?`, account.ProviderAccountID)
				})
			}},

		{Name: "verified address needs no link", Fault: "UpdateUser that sets EmailVerified deletes the pending tokens of the address.", Fails: []string{"VTOK-14"},
			mem: func(m *mem) with { return withoutPending(m) }},
		{Name: "trigger removes the links of a verified address", Fault: "A trigger deletes the verification tokens of an address when a user with this address is verified.", Fails: []string{"VTOK-14"},
			lite: func(l *lite) with { return withoutPending(l) }},

		{Name: "former addresses are freed again", Fault: "UpdateUser with a new address frees all addresses that the user ever had, also one that another user has by now.", Fails: []string{"USER-26"},
			mem: func(m *mem) with {
				had := kept(m.records, "had", func() map[string][]string { return map[string][]string{} })
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					before, err := m.GetUser(ctx, u.ID)
					if before == nil || err != nil {
						return m.UpdateUser(ctx, u)
					}
					after, err := m.UpdateUser(ctx, u)
					if err != nil || after.Email == before.Email {
						return after, err
					}
					m.mu.Lock()
					defer m.mu.Unlock()
					had[u.ID] = append(had[u.ID], before.Email)
					for _, former := range had[u.ID] {
						if former != after.Email {
							delete(m.emails, former)
						}
					}
					return after, nil
				}}
			}},
	}
}

// readTwice reads the owner and the session in two calls.
func readTwice(b base) with {
	return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
		first, err := b.GetSessionAndUser(ctx, token)
		if first == nil || err != nil {
			return nil, err
		}
		gap()
		second, err := b.GetSessionAndUser(ctx, token)
		if second == nil || err != nil {
			return nil, err
		}
		return &adapter.SessionAndUser{Session: second.Session, User: first.User}, nil
	}}
}

// joinedUpdates lets an update of a session wait for the one that is running, and return
// its result.
func joinedUpdates(b base) with {
	update := func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		gap()
		return b.UpdateSession(ctx, u)
	}
	copied := func(s *adapter.Session) *adapter.Session {
		if s == nil {
			return nil
		}
		return new(copySession(*s))
	}
	return with{updateSession: inOneFlightBy(func(u adapter.SessionUpdate) string { return u.SessionToken }, update, copied)}
}

// countedConnections decides before the deletion whether the connected account goes too.
func countedConnections(m *mem) with {
	return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
		var accounts []adapter.Account
		m.mu.RLock()
		if a, ok := m.authenticators[id]; ok && a.UserID == userID {
			for _, key := range m.connected(a) {
				accounts = append(accounts, copyAccount(m.accounts[key]))
			}
		}
		before := map[adapter.AccountKey]adapter.Account{}
		for key, a := range m.accounts {
			if a.UserID == userID {
				before[key] = copyAccount(a)
			}
		}
		m.mu.RUnlock()
		gap()
		gone, err := m.DeleteAuthenticator(ctx, userID, id, keepOne)
		if gone == nil || err != nil {
			return gone, err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		for key, a := range before { // what the correct deletion took away, and this one would not
			if _, there := m.accounts[key]; !there && m.users[userID].ID != "" && a.ProviderAccountID == gone.ProviderAccountID &&
				!slices.ContainsFunc(accounts, func(x adapter.Account) bool { return x.Key() == key }) {
				m.accounts[key] = a
			}
		}
		return gone, nil
	}}}
}

// markedAway marks sessions that leave a user.
func markedAway(b base, away *sync.Map) with {
	mark := func(user, token string) string { return user + "\x00" + token }
	over := func(user string, s adapter.Session) bool {
		_, left := away.Load(mark(user, s.SessionToken))
		return left
	}
	return with{
		updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
			before, err := b.GetSessionAndUser(ctx, u.SessionToken)
			if before == nil || err != nil {
				return b.UpdateSession(ctx, u)
			}
			after, err := b.UpdateSession(ctx, u)
			if after != nil && err == nil && after.UserID != before.Session.UserID {
				away.Store(mark(before.Session.UserID, after.SessionToken), true)
			}
			return after, err
		},
		optional: optional{
			listSessions: func(ctx context.Context, user string) ([]adapter.Session, error) {
				list, err := b.ListSessionsByUserID(ctx, user)
				return slices.DeleteFunc(list, func(s adapter.Session) bool { return over(user, s) }), err
			},
			deleteSessions: func(ctx context.Context, user, except string) (n int64, err error) {
				list, err := b.ListSessionsByUserID(ctx, user)
				if err != nil {
					return 0, err
				}
				for _, s := range list {
					if s.SessionToken == except || over(user, s) {
						continue
					}
					if _, err := b.DeleteSession(ctx, s.SessionToken); err != nil {
						return n, err
					}
					n++
				}
				return n, nil
			},
		},
	}
}

// striped locks both users of a session that moves, by one of a few locks each.
func striped(b base) with {
	var locks [32]sync.Mutex
	lock := func(id string) *sync.Mutex {
		h := fnv.New32a()
		_, _ = h.Write([]byte(id))
		return &locks[h.Sum32()%uint32(len(locks))]
	}
	return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		to, moves := u.UserID.Get()
		before, err := b.GetSessionAndUser(ctx, u.SessionToken)
		if !moves || before == nil || err != nil || before.Session.UserID == to {
			return b.UpdateSession(ctx, u)
		}
		if lock(before.Session.UserID) == lock(to) {
			select {
			case <-time.After(20 * time.Millisecond):
				return nil, errors.New("lock wait timeout exceeded")
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return b.UpdateSession(ctx, u)
	}}
}

// deletedByAccount calls remove for each account of a deleted user.
func deletedByAccount(b base, remove func(context.Context, adapter.Account) error) with {
	return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
		accounts, err := b.ListAccountsByUserID(ctx, id)
		if err != nil {
			return nil, err
		}
		u, err := b.DeleteUser(ctx, id)
		if u == nil || err != nil {
			return u, err
		}
		for _, a := range accounts {
			if err := remove(ctx, a); err != nil {
				return nil, err
			}
		}
		return u, nil
	}}
}

// withoutPending deletes the pending tokens of an address that becomes verified.
func withoutPending(b base) with {
	return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		got, err := b.UpdateUser(ctx, u)
		if at, set := u.EmailVerified.Get(); set && at != nil && err == nil && got.Email != "" {
			if _, err := b.DeleteVerificationTokens(ctx, got.Email); err != nil {
				return nil, err
			}
		}
		return got, err
	}}
}
