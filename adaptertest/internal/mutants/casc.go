package mutants

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func cascMutants() []Mutant {
	return []Mutant{
		{Name: "deleteUser does nothing", Fails: []string{"CASC-01", "CASC-02", "CASC-03", "CASC-04"}, AuthJS: true,
			Fault: "DeleteUser has an empty body", mem: func(_ *mem, w *with) {
				w.deleteUser = func(context.Context, string) (*adapter.User, error) { return nil, nil }
			}},
		{Name: "user without sessions is not deleted", Fails: []string{"CASC-01"},
			Fault: "DeleteUser returns early when it finds no session",
			mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				if sessions, err := m.ListSessionsByUserID(ctx, id); len(sessions) == 0 || err != nil {
					return nil, err
				}
				return m.DeleteUser(ctx, id)
			})},
		{Name: "only one session per user is deleted", Listed: "M34", Fails: []string{"CASC-02", "CASC-08"},
			Fault: "DeleteUser deletes the session that was created last; the others are hidden until the id is used again",
			mem: func(m *mem, w *with) {
				last := kept(m.records, "last", func() map[string]string { return map[string]string{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) { last[s.UserID] = s.SessionToken })
				w.deleteUser = droppingButSessions(m, func(id string) { delete(m.sessions, last[id]) })
			}},
		{Name: "declared cascade is not enforced", Listed: "M33", Fails: []string{"CASC-02", "CASC-03", "SESS-22"},
			AuthJS: true, Fault: "foreign keys are declared but not enforced, and DeleteUser deletes the user only; reading a session without a user fails",
			lite: func(l *lite, w *with) {
				withoutCascade(l, w)
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					s, err := l.GetSessionAndUser(ctx, token)
					if s != nil || err != nil {
						return s, err
					}
					there, err := l.exists(ctx, `SELECT 1 FROM "session" WHERE sessionToken = ?`, token)
					if there {
						return nil, notFound("user")
					}
					return nil, err
				}

			},
			db: replaced(`REFERENCES "user" (id) ON DELETE CASCADE`, ``,
				`DELETE FROM "session" WHERE userId = old.id; DELETE FROM "account" WHERE userId = old.id; DELETE FROM "authenticator" WHERE userId = old.id;`, `SELECT 1;`)},
		{Name: "owner of an account is remembered", OnLite: "owner of an account is cached", Fails: []string{"CASC-03", "CASC-07"},
			Fault: "GetUserByAccount remembers the ID of the owner until the account is unlinked. Deleting the user does not forget it, so nobody else is found by the account.",
			both:  func(b base, w *with) { rememberingOwners(b, b.common(), w) }},
		{Name: "accounts survive", Fails: []string{"CASC-03", "CASC-07", "CASC-08"}, AuthJS: true,
			Fault: "DeleteUser leaves the accounts",
			mem: func(m *mem, w *with) {
				w.deleteUser = dropping(m, func(id string, _ *adapter.User) {
					m.dropSessions(id)
					m.dropAuthenticators(id)
					m.dropUser(id)
				})
			}},
		{Name: "account key of a deleted user stays taken", Fails: []string{"CASC-03"},
			Fault: "DeleteUser leaves the keys of the user's accounts in the index.", mem: func(m *mem, w *with) {
				gone := kept(m.records, "gone", func() map[adapter.AccountKey]bool { return map[adapter.AccountKey]bool{} })
				w.deleteUser = prepared(m, m.DeleteUser, func(id *string) {
					for k, a := range m.accounts {
						if a.UserID == *id {
							gone[k] = true
						}
					}
				})
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if taken, _ := look(m, &gone, a.Key()); taken {
						return nil, conflict("the account")
					}
					return m.LinkAccount(ctx, a)
				}
			}},
		{Name: "passkeys survive", Listed: "M32", Fails: []string{"CASC-04"}, Fault: "DeleteUser leaves the authenticators",
			db: replaced(`credentialID TEXT NOT NULL PRIMARY KEY, userId TEXT NOT NULL REFERENCES "user" (id) ON DELETE CASCADE`, `credentialID TEXT NOT NULL PRIMARY KEY, userId TEXT NOT NULL`,
				`DELETE FROM "authenticator" WHERE userId = old.id;`, ``)},
		{Name: "sessions of all users are deleted", Fails: []string{"CASC-05"}, Fault: "DeleteUser deletes every session",
			mem: noting(deleteUser, func(m *mem, _ string, _ *adapter.User) { clear(m.sessions) })},
		{Name: "tokens that begin with the address are deleted", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes the tokens whose identifiers begin with the address.",
			lite: following(deleteUser, func(ctx context.Context, l *lite, u *adapter.User) error {
				return l.exec(ctx, `DELETE FROM "verificationToken" WHERE ?1 <> '' AND identifier LIKE ?1 || '%'`, u.Email)
			})},
		{Name: "tokens of the address in any case are deleted", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes the tokens of the address without regard to case.",
			mem: noting(deleteUser, func(m *mem, _ string, u *adapter.User) {
				maps.DeleteFunc(m.tokens, func(k adapter.VerificationTokenKey, _ adapter.VerificationToken) bool {
					return strings.EqualFold(k.Identifier, u.Email)
				})
			})},
		{Name: "passkeys go by the id of the account", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes the authenticators whose ProviderAccountID is that of an account of the user, whoever owns them.",
			mem: deletedByAccount(func(_ context.Context, m *mem, account adapter.Account) error {
				defer held(&m.mu)()
				for _, a := range m.authenticators {
					if a.ProviderAccountID == account.ProviderAccountID {
						m.dropAuthenticator(a)
					}
				}
				return nil
			})},
		{Name: "passkey rows go by the id of the account", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes from the table of authenticators by providerAccountId, without the user ID.",
			lite: deletedByAccount(func(ctx context.Context, l *lite, account adapter.Account) error {
				return l.exec(ctx, `DELETE FROM "authenticator" WHERE providerAccountId = ?`, account.ProviderAccountID)
			})},
		{Name: "sessions of a user in another case are deleted", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes the sessions whose user ID is the deleted one regardless of case.",
			mem: noting(deleteUser, func(m *mem, id string, _ *adapter.User) {
				maps.DeleteFunc(m.sessions, func(_ string, s adapter.Session) bool { return strings.EqualFold(s.UserID, id) })
			})},
		{Name: "accounts of a user with a blank more are deleted", Fails: []string{"CASC-05"},
			Fault: "DeleteUser deletes the accounts in a collation that ignores trailing blanks.",
			lite: following(deleteUser, func(ctx context.Context, l *lite, u *adapter.User) error {
				return l.exec(ctx, `DELETE FROM "account" WHERE userId = ? COLLATE RTRIM`, u.ID)
			})},
		{Name: "deleting a missing user is an error", Fails: []string{"CASC-06"},
			Fault: "DeleteUser fails when there is no such user", mem: missing[*mem](deleteUser, notFound("user"))},
		{Name: "next user of the e-mail gets the old accounts", Fails: []string{"CASC-07"},
			Fault: "DeleteUser keeps the accounts under the e-mail, and the next user with that e-mail gets them",
			mem: func(m *mem, w *with) {
				filed := kept(m.records, "filed", func() map[string][]adapter.Account { return map[string][]adapter.Account{} })
				w.deleteUser = prepared(m, m.DeleteUser, func(id *string) {
					for _, a := range m.accounts {
						if a.UserID == *id {
							filed[m.users[*id].Email] = append(filed[m.users[*id].Email], a)
						}
					}
				})
				w.createUser = noted(m, m.CreateUser, func(u adapter.User, created *adapter.User) {
					for _, a := range filed[u.Email] {
						a.UserID = created.ID
						m.accounts[a.Key()] = a
					}
					delete(filed, u.Email)
				})
			}},
		{Name: "next user of the id gets the old passkeys", Fails: []string{"CASC-08", "CASC-04"},
			Fault: "DeleteUser leaves the list of credentials, and the next user with the id has them", mem: func(m *mem, w *with) {
				waiting := kept(m.records, "waiting", func() map[string][]adapter.Authenticator { return map[string][]adapter.Authenticator{} })
				w.deleteUser = prepared(m, m.DeleteUser, func(id *string) {
					var left []adapter.Authenticator
					for _, c := range m.credentials[*id] {
						left = append(left, m.authenticators[c])
					}
					waiting[*id] = left
				})
				w.listAuthenticatorsByUserID = func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := m.ListAuthenticatorsByUserID(ctx, id)
					if u, _ := m.GetUser(ctx, id); u != nil {
						left, _ := look(m, &waiting, id)
						list = append(list, left...)
					}
					return list, err
				}
			}},
		{Name: "only the first sessions are deleted", Fails: []string{"CASC-09"},
			Fault: "DeleteUser deletes 25 sessions at most", mem: func(m *mem, w *with) {
				w.deleteUser = droppingButSessions(m, func(id string) {
					batch := 25
					for token, s := range m.sessions {
						if s.UserID == id && batch > 0 {
							delete(m.sessions, token)
							batch--
						}
					}
				})
			}},
		{Name: "user with a hundred records can't be deleted", Fails: []string{"CASC-09"},
			Fault: "DeleteUser is one transaction, and the store allows a hundred items in a transaction.",
			lite: on(deleteUser, func(ctx context.Context, l *lite, id string) (*adapter.User, error) {
				var n int
				err := l.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM "account" WHERE userId = ?1) + (SELECT count(*) FROM "session" WHERE userId = ?1) + (SELECT count(*) FROM "authenticator" WHERE userId = ?1)`, id).Scan(&n)
				if err != nil {
					return nil, err
				}
				if n >= 100 {
					return nil, fmt.Errorf("lite: a transaction has at most 100 items")
				}
				return l.DeleteUser(ctx, id)
			})},
		{Name: "deleted user is returned as first read", OnLite: "deleted user is returned as loaded",
			Fails: []string{"CASC-10"},
			Fault: "DeleteUser returns the user from the objects that the adapter has read, which updates do not refresh.",
			both: func(b base, w *with) {
				var loaded firstReads[adapter.User]
				w.getUser = then(b.GetUser, func(_ string, u *adapter.User) { loaded.records.LoadOrStore(u.ID, copyUser(*u)) })
				w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := b.DeleteUser(ctx, id)
					return loaded.deleted(id, u), err
				}
			}},
		{Name: "deleteUser returns another user", Fails: []string{"CASC-10"},
			Fault: "DeleteUser returns another user, who still exists",
			mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				u, err := m.DeleteUser(ctx, id)
				defer held(m.mu.RLocker())()
				for other := range m.users {
					if u != nil {
						return m.user(other), nil
					}
				}
				return u, err
			})},
		{Name: "sessions that expired survive their user", Fails: []string{"CASC-11"},
			Fault: "DeleteUser deletes the sessions that have not expired; the others are found again when the ID is used again",
			mem: func(m *mem, w *with) {
				w.deleteUser = droppingButSessions(m, func(id string) {
					maps.DeleteFunc(m.sessions, func(_ string, s adapter.Session) bool {
						return s.UserID == id && s.Expires.After(m.clock.Now())
					})
				})
			}},
		{Name: "deletion uses an index that expires", Fails: []string{"CASC-11"},
			Fault: "DeleteUser finds the user's sessions in an index that expires together with the session written last",
			mem:   deletionByIndex},
		{Name: "deletion deletes accounts that were unlinked", Fails: []string{"CASC-12"},
			Fault: "The set of a user's accounts keeps a pair that was unlinked; deleting the user deletes the account of the user who has it now.",
			mem: noting(deleteUser, func(m *mem, id string, _ *adapter.User) {
				for key := range m.accountsOf[id] {
					delete(m.accounts, key)
				}
			})},
		{Name: "deletion frees an address that another user has", Fails: []string{"CASC-12"},
			Fault: "DeleteUser frees the address that the user was created with, although another user has it now.",
			mem: func(m *mem, w *with) {
				first := kept(m.records, "first addresses", func() map[string]string { return map[string]string{} })
				w.createUser = noted(m, m.CreateUser, func(_ adapter.User, got *adapter.User) { first[got.ID] = got.Email })
				w.deleteUser = noted(m, m.DeleteUser, func(id string, _ *adapter.User) { delete(m.emails, first[id]) })
			}},
		{Name: "deletion deletes sessions that were moved", Fails: []string{"CASC-12", "SESS-23"},
			Fault: "Sessions are stored with the user who signed in; deleting that user deletes a session that another user has now.",
			lite: together(
				following(createSession, func(ctx context.Context, l *lite, s *adapter.Session) error {
					if err := l.exec(ctx, `CREATE TABLE IF NOT EXISTS began (userId TEXT, sessionToken TEXT)`); err != nil {
						return err
					}
					return l.exec(ctx, `INSERT INTO began VALUES (?, ?)`, s.UserID, s.SessionToken)
				}),
				following(deleteUser, func(ctx context.Context, l *lite, u *adapter.User) error {
					return l.exec(ctx, `DELETE FROM "session" WHERE sessionToken IN (SELECT sessionToken FROM began WHERE userId = ?)`, u.ID)
				}))},
	}
}

// rememberingOwners remembers the owners of accounts that GetUserByAccount has found.
func rememberingOwners(b base, owners *sync.Map, w *with) {
	w.getUserByAccount = func(ctx context.Context, key adapter.AccountKey) (*adapter.User, error) {
		if id, ok := owners.Load(key); ok {
			return b.GetUser(ctx, id.(string))
		}
		u, err := b.GetUserByAccount(ctx, key)
		if u != nil {
			owners.Store(adapter.AccountKey{Provider: strings.Clone(key.Provider), ProviderAccountID: strings.Clone(key.ProviderAccountID)}, u.ID)
		}
		return u, err
	}
	w.unlinkAccount = altered(b.UnlinkAccount, func(key *adapter.AccountKey) { owners.Delete(*key) })
}

// withoutCascade deletes only the user's row.
func withoutCascade(l *lite, w *with) {
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		u, err := l.GetUser(ctx, id)
		if u != nil {
			err = l.exec(ctx, `DELETE FROM "user" WHERE id = ?`, id)
		}
		return u, err
	}
}

// deletionByIndex deletes a user's sessions by an index, which expires together
// with the session that was written last.
func deletionByIndex(m *mem, w *with) {
	forgetfulIndex(m, w)
	list := w.listSessionsByUserID
	w.listSessionsByUserID, w.deleteSessionsByUserID = nil, nil
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		known, err := list(ctx, id)
		if err != nil {
			return nil, err
		}
		return droppingButSessions(m, func(string) {
			for _, s := range known {
				delete(m.sessions, s.SessionToken)
			}
		})(ctx, id)
	}

}

// deletedByAccount calls remove for each account of a deleted user.
func deletedByAccount[B base](remove func(context.Context, B, adapter.Account) error) func(B, *with) {
	return func(b B, w *with) {
		w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
			accounts, err := b.ListAccountsByUserID(ctx, id)
			if err != nil {
				return nil, err
			}
			u, err := b.DeleteUser(ctx, id)
			if u == nil || err != nil {
				return u, err
			}
			for _, a := range accounts {
				if err := remove(ctx, b, a); err != nil {
					return nil, err
				}
			}
			return u, nil
		}
	}
}
