package mutants

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const day = 24 * time.Hour

// cleanUpBatch is the number of records of a kind that a clean-up removes at a time.
const cleanUpBatch = 200

func expiryMutants() []Mutant {
	return []Mutant{
		{Name: "sessions vanish early", Fails: []string{"EXP-01"},
			Fault: "GetSessionAndUser finds nothing in the last five seconds of a session",
			mem: func(m *mem) with {
				return hidden(m, func(s adapter.Session) bool { return s.Expires.Sub(m.clock.Now()) < 5*time.Second })
			}},
		{Name: "clean-up removes accounts", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes the accounts whose access token has expired",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					m.mu.Lock()
					for key, a := range m.accounts {
						if a.ExpiresAt != nil && *a.ExpiresAt <= now.Unix() {
							delete(m.accounts, key)
						}
					}
					m.mu.Unlock()
					return m.DeleteExpired(ctx, now)
				}}
			}},
		{Name: "clean-up removes unverified users", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes the users whose emailVerified is null",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					m.mu.Lock()
					for id, u := range m.users {
						if u.EmailVerified == nil {
							m.dropUser(id)
						}
					}
					m.mu.Unlock()
					return m.DeleteExpired(ctx, now)
				}}
			}},
		{Name: "lifetime of less than a second has no end", Fails: []string{"EXP-03"},
			Fault: "a lifetime of less than a second becomes 0 seconds, which means none",
			mem: func(m *mem) with {
				return storing(m, func(record any) {
					if s, ok := record.(*adapter.Session); ok {
						if left := s.Expires.Sub(m.clock.Now()); left > 0 && left < time.Second {
							s.Expires = s.Expires.Add(100 * 365 * day)
						}
					}
				})
			}},
		{Name: "clean-up ends with the tokens", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired removes 200 sessions and 200 tokens at a time, until there are fewer tokens",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return write(ctx, m, func() (swept adapter.Swept, err error) {
						for tokens := cleanUpBatch; tokens == cleanUpBatch; {
							sessions := 0
							for token, s := range m.sessions {
								if sessions < cleanUpBatch && !s.Expires.After(now) {
									delete(m.sessions, token)
									sessions++
								}
							}
							tokens = 0
							for key, t := range m.tokens {
								if tokens < cleanUpBatch && !t.Expires.After(now) {
									delete(m.tokens, key)
									tokens++
								}
							}
							swept.Sessions += int64(sessions)
							swept.VerificationTokens += int64(tokens)
						}
						return swept, nil
					})
				}}
			}},
		{Name: "clean-up ends with the sessions", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired removes 200 sessions and 200 tokens at a time, until there are fewer sessions",
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					remove := func(table, key string) (int64, error) {
						result, err := l.db.ExecContext(ctx, `DELETE FROM "`+table+`" WHERE `+key+` IN (SELECT `+key+` FROM "`+table+`" WHERE expires <= ? LIMIT ?)`, now.UnixMilli(), cleanUpBatch)
						if err != nil {
							return 0, err
						}
						return result.RowsAffected()
					}
					for sessions := int64(cleanUpBatch); err == nil && sessions == cleanUpBatch; {
						var tokens int64
						if sessions, err = remove("session", "sessionToken"); err == nil {
							tokens, err = remove("verificationToken", "rowid")
						}
						swept.Sessions += sessions
						swept.VerificationTokens += tokens
					}
					return swept, err
				}}
			}},
		{Name: "past expiry refused", Fails: []string{"EXP-03"},
			Fault: "CreateVerificationToken fails for an expiry in the past",
			mem: func(m *mem) with {
				return with{createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
					if t.Expires.Before(m.clock.Now()) {
						return nil, errors.New("mem: invalid expire time")
					}
					return m.CreateVerificationToken(ctx, t)
				}}
			}},
		{Name: "lifetime of more than 30 days is read as a date", Fails: []string{"EXP-04", "EXP-01"},
			Fault: "a lifetime of more than 30 days is read as an instant in the distant past",
			mem: func(m *mem) with {
				return hidden(m, func(s adapter.Session) bool { return s.Expires.Sub(m.clock.Now()) > 30*day })
			}},
		{Name: "lifetimes in 32 bits", Fails: []string{"EXP-04"},
			Fault: "a lifetime of more than 2^31 milliseconds wraps around",
			mem: func(m *mem) with {
				return hidden(m, func(s adapter.Session) bool { return int32(s.Expires.Sub(m.clock.Now()).Milliseconds()) < 0 })
			}},
		{Name: "clean-up removes extended sessions", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired compares the expires that a session was created with",
			mem: func(m *mem) with {
				first := kept(m.records, "first", func() map[string]time.Time { return map[string]time.Time{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							first[s.SessionToken] = s.Expires
						}
						return created, err
					},
					deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
						m.mu.Lock()
						for token, expires := range first {
							if !expires.After(now) {
								delete(m.sessions, token)
							}
						}
						m.mu.Unlock()
						return m.DeleteExpired(ctx, now)
					},
				}
			}},
		{Name: "clean-up removes records that live a minute longer", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired adds two minutes to the instant that it is given",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.DeleteExpired(ctx, now.Add(2*time.Minute))
				}}
			}},
		{Name: "clean-up stops after one record", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired returns from within its loop",
			mem: func(m *mem) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return write(ctx, m, func() (adapter.Swept, error) {
						for token, s := range m.sessions {
							if !s.Expires.After(now) {
								delete(m.sessions, token)
								return adapter.Swept{Sessions: 1}, nil
							}
						}
						return adapter.Swept{}, nil
					})
				}}
			}},
		{Name: "clean-up leaves verification tokens", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired removes sessions only",
			db:    replaced(`DELETE FROM "verificationToken" WHERE (identifier, token) IN`, `DELETE FROM "verificationToken" WHERE 0 AND (identifier, token) IN`)},
		{Name: "clean-up races extension", Fails: []string{"EXP-07"},
			Fault: "DeleteExpired reads the expired sessions, then deletes them, also if they were extended meanwhile",
			Races: true,
			lite: func(l *lite) with {
				return with{deleteExpired: func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					tokens, err := l.column(ctx, `SELECT sessionToken FROM "session" WHERE expires <= ?`, now.UnixMilli())
					for _, token := range tokens {
						if err := l.exec(ctx, `DELETE FROM "session" WHERE sessionToken = ?`, token); err != nil {
							return swept, err
						}
						swept.Sessions++
					}
					return swept, err
				}}
			}},
		{Name: "expired read races extension", Fails: []string{"EXP-07"},
			Fault: "GetSessionAndUser deletes a session that it has read as expired, also if it was extended meanwhile",
			Races: true,
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := m.GetSessionAndUser(ctx, token)
					if found != nil && found.Session.Expires.Before(m.clock.Now()) {
						runtime.Gosched()
						_, err = m.DeleteSession(ctx, token)
						found = nil
					}
					return found, err
				}}
			}},
	}
}

// hidden makes GetSessionAndUser report some sessions as absent.
func hidden(m *mem, gone func(adapter.Session) bool) with {
	return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
		found, err := m.GetSessionAndUser(ctx, token)
		if found != nil && gone(found.Session) {
			return nil, nil
		}
		return found, err
	}}
}
