package mutants

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// errorKindMutants return errors of the wrong kind.
func errorKindMutants() []Mutant {
	return []Mutant{
		{Name: "absent owner is a conflict", Fails: []string{"ERR-11"},
			Fault: "the error of LinkAccount for an unknown user matches ErrConflict",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if errors.Is(err, adapter.ErrNotFound) {
						err = conflict("the account")
					}
					return linked, err
				}}
			}},
		{Name: "every constraint is a conflict", Fails: []string{"ERR-11"},
			Fault: "CreateSession reports a violated foreign key as a taken token",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := l.CreateSession(ctx, s)
					if errors.Is(err, adapter.ErrNotFound) {
						err = conflict("the session token")
					}
					return created, err
				}}
			}},
		{Name: "error for an absent owner matches nothing", Fails: []string{"ERR-11"},
			Fault: "the error of UpdateSession for an unknown new owner matches nothing",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					updated, err := m.UpdateSession(ctx, u)
					if errors.Is(err, adapter.ErrNotFound) {
						err = errors.New("mem: foreign key")
					}
					return updated, err
				}}
			}},
		{Name: "taken credential is not found", Fails: []string{"ERR-11"},
			Fault: "the error of CreateAuthenticator for a taken ID matches ErrNotFound too",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := m.CreateAuthenticator(ctx, a)
					if errors.Is(err, adapter.ErrConflict) {
						err = fmt.Errorf("%w: %w", err, adapter.ErrNotFound)
					}
					return created, err
				}}
			}},
		{Name: "busy store is a conflict", Fails: []string{"ERR-11"},
			Fault: "every error of CreateUser matches ErrConflict",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					created, err := l.CreateUser(ctx, u)
					if err != nil && !errors.Is(err, adapter.ErrConflict) && ctx.Err() == nil {
						err = fmt.Errorf("%w: %w", adapter.ErrConflict, err)
					}
					return created, err
				}}
			}},
		{Name: "unavailable store reports not found", Fails: []string{"ERR-11"},
			Fault: "every error of UpdateUser matches ErrNotFound, unless it is a conflict",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					updated, err := l.UpdateUser(ctx, u)
					if err != nil && !errors.Is(err, adapter.ErrConflict) && ctx.Err() == nil {
						err = fmt.Errorf("%w: %w", adapter.ErrNotFound, err)
					}
					return updated, err
				}}
			}},
		{Name: "retry conflicts with its own write", Fails: []string{"ERR-11"},
			Fault: "LinkAccount tries again after a lost reply and reports the account that it has just written as a conflict",
			lite: func(l *lite) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := l.LinkAccount(ctx, a)
					if err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) && ctx.Err() == nil {
						return l.LinkAccount(ctx, a)
					}
					return linked, err
				}}
			}},
		{Name: "retried update finds nothing", Fails: []string{"ERR-11"},
			Fault: "UpdateAuthenticatorCounter tries again with the counter that it has read as condition, and reports not found when the counter has changed",
			lite: func(l *lite) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					before, err := l.GetAuthenticator(ctx, id)
					if err != nil {
						return nil, err
					}
					updated, err := l.UpdateAuthenticatorCounter(ctx, id, counter)
					if err == nil || errors.Is(err, adapter.ErrNotFound) || ctx.Err() != nil {
						return updated, err
					}
					if now, err := l.GetAuthenticator(ctx, id); err == nil && now != nil && before != nil && now.Counter != before.Counter {
						return nil, notFound("authenticator with the counter")
					}
					return nil, err
				}}
			}},
	}
}

// folded is mem with addresses that are compared without regard to case.
func folded(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }

// foldedBy stores addresses under the text that key returns for them. The record
// keeps the given spelling in lower case.
func foldedBy(m *mem, key func(string) string) with {
	w := storing(m, func(record any) {
		switch r := record.(type) {
		case *adapter.User:
			r.Email = key(r.Email)
		case *adapter.UserUpdate:
			if email, set := r.Email.Get(); set {
				r.Email = adapter.To(key(email))
			}
		}
	})
	w.getUserByEmail = rekeyed(m.GetUserByEmail, key)
	return w
}

// addressMutants compare addresses incorrectly.
func addressMutants() []Mutant {
	domainOnly := func(email string) string {
		local, domain, found := strings.Cut(email, "@")
		if !found {
			return email
		}
		return local + "@" + lowerASCII(domain)
	}
	return []Mutant{
		{Name: "domain is folded", Fails: []string{"USER-27"},
			Fault: "addresses are equal if their domains differ in case only",
			mem:   func(m *mem) with { return foldedBy(m, domainOnly) }},
		{Name: "first letter is folded", Fails: []string{"USER-27"},
			Fault: "the first letter of an address is stored in lower case",
			mem: func(m *mem) with {
				return foldedBy(m, func(email string) string {
					if email == "" {
						return ""
					}
					return lowerASCII(email[:1]) + email[1:]
				})
			}},
		{Name: "local part is folded", Fails: []string{"USER-27"}, harness: folded,
			Fault: "the adapter declares that it folds case, and folds only the local part",
			mem: func(m *mem) with {
				return foldedBy(m, func(email string) string {
					local, domain, found := strings.Cut(email, "@")
					if !found {
						return email
					}
					return lowerASCII(local) + "@" + domain
				})
			}},
		{Name: "change of case conflicts with itself", Fails: []string{"USER-27"}, harness: folded,
			Fault: "addresses are folded, and UpdateUser that changes only the case of the user's address is a conflict",
			mem: func(m *mem) with {
				w := foldedBy(m, lowerASCII)
				update := w.updateUser
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					if email, set := u.Email.Get(); set {
						if holder, _ := w.getUserByEmail(ctx, email); holder != nil && holder.Email != email {
							return nil, conflict("the e-mail")
						}
					}
					return update(ctx, u)
				}
				return w
			}},
		{Name: "change of case frees the address", Fails: []string{"USER-27"}, harness: folded,
			Fault: "addresses are folded, and a change of case only removes the address from the index",
			mem: func(m *mem) with {
				w := foldedBy(m, lowerASCII)
				update := w.updateUser
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					email, set := u.Email.Get()
					before, _ := m.GetUser(ctx, u.ID)
					updated, err := update(ctx, u)
					if err == nil && set && before != nil && email != before.Email && lowerASCII(email) == before.Email {
						m.mu.Lock()
						delete(m.emails, before.Email)
						m.mu.Unlock()
					}
					return updated, err
				}
				return w
			}},
		{Name: "update compares addresses exactly", Fails: []string{"USER-27"}, harness: folded,
			Fault: "lookups and CreateUser fold addresses; UpdateUser indexes an address as given",
			mem: func(m *mem) with {
				w := foldedBy(m, lowerASCII)
				w.updateUser = m.UpdateUser
				return w
			}},
		{Name: "plus tag is dropped", Fails: []string{"USER-14"},
			Fault: "the part of the local part that follows a plus sign is dropped",
			mem: func(m *mem) with {
				return foldedBy(m, func(email string) string {
					local, domain, found := strings.Cut(email, "@")
					if !found {
						return email
					}
					local, _, _ = strings.Cut(local, "+")
					return local + "@" + domain
				})
			}},
		{Name: "dots in an address are dropped", Fails: []string{"USER-14"},
			Fault: "dots in the local part are dropped",
			mem: func(m *mem) with {
				return foldedBy(m, func(email string) string {
					local, domain, found := strings.Cut(email, "@")
					if !found {
						return email
					}
					return strings.ReplaceAll(local, ".", "") + "@" + domain
				})
			}},
		{Name: "look-alike letters are equal", Fails: []string{"USER-14"},
			Fault: "Cyrillic and Greek letters are replaced by the Latin ones that they look like",
			mem: func(m *mem) with {
				return foldedBy(m, strings.NewReplacer("р", "p", "ο", "o", "а", "a", "е", "e").Replace)
			}},
		{Name: "invisible characters are dropped", Fails: []string{"USER-14"},
			Fault: "soft hyphens, joiners and marks are dropped from addresses",
			lite: func(l *lite) with {
				clean := strings.NewReplacer("\u00ad", "", "\u200d", "", "\ufeff", "").Replace
				w := storing(l, func(record any) {
					switch r := record.(type) {
					case *adapter.User:
						r.Email = clean(r.Email)
					case *adapter.UserUpdate:
						if email, set := r.Email.Get(); set {
							r.Email = adapter.To(clean(email))
						}
					}
				})
				w.getUserByEmail = rekeyed(l.GetUserByEmail, clean)
				return w
			}},
	}
}

// throughDouble decodes JSON into doubles.
func throughDouble(raw json.RawMessage) json.RawMessage {
	var v any
	if raw == nil || json.Unmarshal(raw, &v) != nil {
		return raw
	}
	again, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return again
}

// numberMutants store numbers and instants in fields that are too small.
func numberMutants() []Mutant {
	return []Mutant{
		{Name: "JSON numbers are doubles", Fails: []string{"DATA-14"},
			Fault: "authorization details are decoded without UseNumber",
			mem: func(m *mem) with {
				return with{linkAccount: before(m.LinkAccount, func(record any) {
					a := record.(*adapter.Account)
					a.AuthorizationDetails = throughDouble(a.AuthorizationDetails)
				})}
			}},
		{Name: "JSON numbers are doubles when read", Fails: []string{"DATA-14"},
			Fault: "GetAccount decodes and encodes the authorization details",
			lite: func(l *lite) with {
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := l.GetAccount(ctx, id, provider)
					if a != nil {
						a.AuthorizationDetails = throughDouble(a.AuthorizationDetails)
					}
					return a, err
				}}
			}},
		{Name: "counters are doubles", Fails: []string{"DATA-14"},
			Fault: "UpdateAuthenticatorCounter sends the counter as a double",
			lite: func(l *lite) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					return l.UpdateAuthenticatorCounter(ctx, id, int64(float64(counter)))
				}}
			}},
		{Name: "expiry of an account is unsigned", Fails: []string{"DATA-14"},
			Fault: "expires_at is kept in 32 bits without a sign",
			mem: func(m *mem) with {
				return with{linkAccount: before(m.LinkAccount, func(record any) {
					if a := record.(*adapter.Account); a.ExpiresAt != nil {
						a.ExpiresAt = new(int64(uint32(*a.ExpiresAt))) //nolint:gosec // the fault
					}
				})}
			}},
		{Name: "instants are nanoseconds", Fails: []string{"TIME-11"},
			Fault: "instants are kept as a count of nanoseconds in 64 bits",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time { return time.Unix(0, t.UnixNano()) }))
			}},
		{Name: "instants are 32-bit seconds", Fails: []string{"TIME-11"},
			Fault: "instants are kept as unsigned 32-bit seconds, with milliseconds beside them",
			lite: func(l *lite) with {
				return storing(l, instants(func(t time.Time) time.Time {
					return time.Unix(int64(uint32(t.Unix())), int64(t.Nanosecond())) //nolint:gosec // the fault
				}))
			}},
		{Name: "instants before 1970 are cut to the wrong side", Fails: []string{"TIME-11"},
			Fault: "the milliseconds of an instant before 1970 are added to the next second",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time {
					if s := t.Unix(); s < 0 && t.Nanosecond() > 0 {
						return time.Unix(s+1, int64(t.Nanosecond()))
					}
					return t
				}))
			}},
		{Name: "instants end in 2100", Fails: []string{"TIME-11"},
			Fault: "an instant after 2100 is treated as a mistake and stored as the last instant of 2100",
			lite: func(l *lite) with {
				last := time.Date(2100, 12, 31, 23, 59, 59, 0, time.UTC)
				return storing(l, instants(func(t time.Time) time.Time {
					if t.After(last) {
						return last
					}
					return t
				}))
			}},
	}
}

// togetherMutants confuse values that depend on each other: fields of a record,
// expiry times, joins and counts.
func togetherMutants() []Mutant {
	return []Mutant{
		{Name: "moved session keeps the old expiry", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession of the owner also writes the expiry that it has read before",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					if _, moves := u.UserID.Get(); moves {
						if s, _ := m.GetSessionAndUser(ctx, u.SessionToken); s != nil {
							gap()
							if _, set := u.Expires.Get(); !set {
								u.Expires = adapter.To(s.Session.Expires)
							}
						}
					}
					return m.UpdateSession(ctx, u)
				}}
			}},
		{Name: "extension undoes a change of owner", Fails: []string{"CONC-19"}, Races: true,
			Fault: "UpdateSession of the expiry also writes the owner that it has read before",
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					if _, moves := u.UserID.Get(); !moves {
						s, err := l.GetSessionAndUser(ctx, u.SessionToken)
						if err != nil {
							return nil, err
						}
						if s != nil {
							u.UserID = adapter.To(s.Session.UserID)
						}
					}
					return l.UpdateSession(ctx, u)
				}}
			}},
		{Name: "image and verification are written together", Fails: []string{"CONC-08"}, Races: true,
			Fault: "UpdateUser of the image also writes the emailVerified that it has read before",
			lite: func(l *lite) with {
				return with{updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					_, image := u.Image.Get()
					_, verified := u.EmailVerified.Get()
					if image && !verified {
						before, err := l.GetUser(ctx, u.ID)
						if err != nil {
							return nil, err
						}
						if before != nil {
							u.EmailVerified = adapter.To(before.EmailVerified)
						}
					}
					return l.UpdateUser(ctx, u)
				}}
			}},
		{Name: "clean-up writes back the sessions that it has read", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired copies the sessions, drops the expired ones, and replaces the sessions by the copy",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					if err := m.begin(ctx); err != nil {
						return adapter.Swept{}, err
					}
					m.mu.RLock()
					live := map[string]adapter.Session{}
					var swept adapter.Swept
					for token, s := range m.sessions {
						if s.Expires.After(now) {
							live[token] = s
						} else {
							swept.Sessions++
						}
					}
					m.mu.RUnlock()
					gap()
					m.mu.Lock()
					m.sessions = live
					m.mu.Unlock()
					rest, err := m.DeleteExpired(ctx, now)
					swept.VerificationTokens = rest.VerificationTokens
					return swept, err
				}}
			}},
		{Name: "clean-up deletes sessions that it read as expired", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired reads the tokens of expired sessions, then deletes the sessions one by one",
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					var swept adapter.Swept
					tokens, err := l.column(ctx, `SELECT sessionToken FROM "session" WHERE expires <= ?`, now.UnixMilli())
					for _, token := range tokens {
						if _, err := l.DeleteSession(ctx, token); err != nil {
							return swept, err
						}
						swept.Sessions++
					}
					rest, sweepErr := l.DeleteExpired(ctx, now)
					swept.VerificationTokens = rest.VerificationTokens
					return swept, errors.Join(err, sweepErr)
				}}
			}},
		{Name: "sessions that expired survive their user", Fails: []string{"CASC-11"},
			Fault: "DeleteUser deletes the sessions that have not expired; the others are found again when the ID is used again",
			mem: func(m *mem) with {
				return with{deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
					return write(ctx, m, func() (*adapter.User, error) {
						u := m.user(id)
						if u == nil {
							return nil, nil
						}
						m.dropAccounts(id)
						for token, s := range m.sessions {
							if s.UserID == id && s.Expires.After(m.clock.Now()) {
								delete(m.sessions, token)
							}
						}
						m.dropAuthenticators(id)
						m.dropUser(id)
						return u, nil
					})
				}}
			}},
		{Name: "deletion uses an index that expires", Fails: []string{"CASC-11"},
			Fault: "DeleteUser finds the user's sessions in an index that expires together with the session written last",
			mem:   deletionByIndex},
		{Name: "list of authenticators by a join", Fails: []string{"ACCT-21"},
			Fault: "ListAuthenticatorsByUserID joins the accounts by their id, and returns an authenticator once for each account",
			lite: func(l *lite) with {
				return with{listAuthenticators: func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
					list, err := l.ListAuthenticatorsByUserID(ctx, userID)
					joined := []adapter.Authenticator{}
					for _, a := range list {
						accounts, err := l.column(ctx, `SELECT provider FROM "account" WHERE userId = ? AND providerAccountId = ?`, userID, a.ProviderAccountID)
						if err != nil {
							return nil, err
						}
						for range max(1, len(accounts)) {
							joined = append(joined, a)
						}
					}
					return joined, err
				}}
			}},
		{Name: "unlinking ignores the provider in the index", Fails: []string{"ACCT-21"},
			Fault: "UnlinkAccount removes every account with the id from the index of GetUserByAccount",
			mem: func(m *mem) with {
				gone := func() map[string]bool {
					return kept(m.records, "unlinked", func() map[string]bool { return map[string]bool{} })
				}
				return with{
					linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
						linked, err := m.LinkAccount(ctx, a)
						if err == nil {
							m.mu.Lock()
							delete(gone(), a.ProviderAccountID)
							m.mu.Unlock()
						}
						return linked, err
					},
					unlinkAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
						a, err := m.UnlinkAccount(ctx, k)
						if a != nil {
							m.mu.Lock()
							gone()[k.ProviderAccountID] = true
							m.mu.Unlock()
						}
						return a, err
					},
					getUserByAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
						m.mu.Lock()
						hidden := gone()[k.ProviderAccountID]
						m.mu.Unlock()
						if hidden {
							return nil, m.begin(ctx)
						}
						return m.GetUserByAccount(ctx, k)
					},
				}
			}},
		{Name: "clean-up counts sessions that it kept", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired reports all sessions",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					m.mu.RLock()
					n := len(m.sessions)
					m.mu.RUnlock()
					swept, err := m.DeleteExpired(ctx, now)
					swept.Sessions = int64(n)
					return swept, err
				}}
			}},
		{Name: "clean-up reports zero", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired reports zero",
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					_, err := l.DeleteExpired(ctx, now)
					return adapter.Swept{}, err
				}}
			}},
		{Name: "clean-up counts tokens as sessions", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired reports the sum of sessions and tokens as the number of sessions",
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					swept, err := l.DeleteExpired(ctx, now)
					swept.Sessions += swept.VerificationTokens
					return swept, err
				}}
			}},
	}
}

// deletionByIndex deletes a user's sessions by an index, which expires together
// with the session that was written last.
func deletionByIndex(m *mem) with {
	w := forgetfulIndex(m)
	list := w.listSessions
	w.optional = optional{}
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		known, err := list(ctx, id)
		if err != nil {
			return nil, err
		}
		return write(ctx, m, func() (*adapter.User, error) {
			u := m.user(id)
			if u == nil {
				return nil, nil
			}
			for _, s := range known {
				delete(m.sessions, s.SessionToken)
			}
			m.dropAccounts(id)
			m.dropAuthenticators(id)
			m.dropUser(id)
			return u, nil
		})
	}
	return w
}

// leakMutants leave a resource open when they find no record.
func leakMutants() []Mutant {
	return []Mutant{
		{Name: "miss leaves a transaction open", Fails: []string{"LIFE-08"}, AuthJS: true,
			Fault: "UseVerificationToken begins a transaction and does not end it when the token is unknown",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					t, err := l.peek(ctx, key)
					if t == nil && err == nil {
						tx, err := l.db.BeginTx(context.WithoutCancel(ctx), nil)
						if err == nil {
							_, err = tx.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`, key.Identifier, key.Token)
						}
						return nil, err
					}
					return l.UseVerificationToken(ctx, key)
				}}
			}},
		{Name: "miss keeps its connection", Fails: []string{"LIFE-08"},
			Fault: "GetUser takes a connection and releases it only if it finds a user",
			lite: func(l *lite) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := l.GetUser(ctx, id)
					if u == nil && err == nil {
						_, err = l.db.Conn(ctx)
					}
					return u, err
				}}
			}},
		{Name: "empty list keeps its rows", Fails: []string{"LIFE-08"},
			Fault: "ListAuthenticatorsByUserID does not close the result when it is empty",
			lite: func(l *lite) with {
				return with{listAuthenticators: func(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
					list, err := l.ListAuthenticatorsByUserID(ctx, userID)
					if err == nil && len(list) == 0 {
						var rows *sql.Rows
						if rows, err = l.db.QueryContext(context.WithoutCancel(ctx), `SELECT id FROM "user" UNION ALL SELECT 'x'`); err == nil { //nolint:rowserrcheck,sqlclosecheck // the seeded fault
							rows.Next()
						}
					}
					return list, err
				}}
			}},
		{Name: "miss keeps the lock", Fails: []string{"LIFE-08"},
			Fault: "DeleteSession of an unknown token returns without unlocking",
			mem: func(m *mem) with {
				held := make(chan struct{}, 1)
				return with{
					deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
						s, err := m.DeleteSession(ctx, token)
						if s == nil && err == nil {
							select {
							case held <- struct{}{}:
								m.mu.Lock()
								kept(m.records, "locked", func() *bool { return new(true) })
								m.mu.Unlock()
							default:
							}
						}
						return s, err
					},
					updateUser: func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
						m.mu.Lock()
						_, locked := m.extra["locked"]
						m.mu.Unlock()
						if locked {
							<-ctx.Done()
							return nil, ctx.Err()
						}
						return m.UpdateUser(ctx, u)
					},
				}
			}},
	}
}

// growthMutants read every record of a table.
func growthMutants() []Mutant {
	return []Mutant{
		{Name: "lookup by address reads all users", Fails: []string{"VOL-04"},
			Fault: "GetUserByEmail walks over all users",
			mem: func(m *mem) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					return read(ctx, m, func() (*adapter.User, error) {
						for _, u := range m.users {
							if u.Email == email && email != "" {
								return new(copyUser(u)), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "lookup of an unknown address reads all users", Fails: []string{"VOL-04"},
			Fault: "GetUserByEmail reads all users when the index has no entry",
			lite: func(l *lite) with {
				return with{getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
					u, err := l.GetUserByEmail(ctx, email)
					if u == nil && err == nil {
						_, err = l.column(ctx, `SELECT id FROM "user" WHERE email || '' = ?`, email)
					}
					return u, err
				}}
			}},
		{Name: "query can't use the index", Fails: []string{"VOL-04"},
			Fault: "GetSessionAndUser compares an expression of the column",
			db:    replaced(`s.sessionToken = ?`, `s.sessionToken || '' = ?`)},
		{Name: "lookup of an account reads all accounts", Fails: []string{"VOL-04"},
			Fault: "GetAccount walks over all accounts",
			mem: func(m *mem) with {
				return with{getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					return read(ctx, m, func() (*adapter.Account, error) {
						for k, a := range m.accounts {
							if k == (adapter.AccountKey{Provider: provider, ProviderAccountID: id}) {
								return new(copyAccount(a)), nil
							}
						}
						return nil, nil
					})
				}}
			}},
		{Name: "list of authenticators reads all authenticators", Fails: []string{"VOL-04"},
			Fault: "ListAuthenticatorsByUserID has no index that it could use",
			db:    replaced(`FROM "authenticator" WHERE userId = ?`, `FROM "authenticator" WHERE userId || '' = ?`)},
	}
}
