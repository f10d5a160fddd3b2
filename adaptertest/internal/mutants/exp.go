package mutants

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func expMutants() []Mutant {
	return []Mutant{
		{Name: "sessions vanish early", Fails: []string{"EXP-01"},
			Fault: "GetSessionAndUser finds nothing in the last five seconds of a session",
			mem:   hidden(func(m *mem, s adapter.Session) bool { return s.Expires.Sub(m.clock.Now()) < 5*time.Second })},
		{Name: "clean-up removes accounts", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes the accounts whose access token has expired",
			mem: preparing(deleteExpired, func(m *mem, now *time.Time) {
				maps.DeleteFunc(m.accounts, func(_ adapter.AccountKey, a adapter.Account) bool {
					return a.ExpiresAt != nil && *a.ExpiresAt <= now.Unix()
				})
			})},
		{Name: "clean-up removes unverified users", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes the users whose emailVerified is null",
			mem: preparing(deleteExpired, func(m *mem, now *time.Time) {
				for id, u := range m.users {
					if u.EmailVerified == nil {
						m.dropUser(id)
					}
				}
			})},
		{Name: "clean-up removes users who have nothing", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes users who have no verified address, no account and no session.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				swept, err := m.DeleteExpired(ctx, now)
				defer held(&m.mu)()
				for id, u := range m.users {
					if err == nil && u.EmailVerified == nil && len(m.accountsOf[id]) == 0 && len(m.sessionsOf[id]) == 0 {
						m.dropUser(id)
					}
				}
				return swept, err
			})},
		{Name: "clean-up removes users without records in SQL", Fails: []string{"EXP-02"},
			Fault: "DeleteExpired deletes users who have no verified address, no account and no session, in one statement.",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (adapter.Swept, error) {
				swept, err := l.DeleteExpired(ctx, now)
				if err != nil {
					return swept, err
				}
				return swept, l.exec(ctx, `DELETE FROM "user" WHERE emailVerified IS NULL AND id NOT IN (SELECT userId FROM "account") AND id NOT IN (SELECT userId FROM "session") AND id NOT IN (SELECT userId FROM "authenticator")`)
			})},
		{Name: "lifetime of less than a second has no end", Fails: []string{"EXP-03"},
			Fault: "a lifetime of less than a second becomes 0 seconds, which means none",
			mem: preparing(createSession, func(m *mem, s *adapter.Session) {
				if left := s.Expires.Sub(m.clock.Now()); left > 0 && left < time.Second {
					s.Expires = s.Expires.Add(100 * 365 * day)
				}
			})},
		{Name: "past expiry refused", Fails: []string{"EXP-03"},
			Fault: "CreateVerificationToken fails for an expiry in the past",
			mem: refusing(createToken, errors.New("mem: invalid expire time"), func(m *mem, t adapter.VerificationToken) bool {
				return t.Expires.Before(m.clock.Now())
			})},
		{Name: "lifetime of more than 30 days is read as a date", Fails: []string{"EXP-04", "EXP-01"},
			Fault: "a lifetime of more than 30 days is read as an instant in the distant past",
			mem:   hidden(func(m *mem, s adapter.Session) bool { return s.Expires.Sub(m.clock.Now()) > 30*day })},
		{Name: "lifetimes in 32 bits", Fails: []string{"EXP-04"},
			Fault: "a lifetime of more than 2^31 milliseconds wraps around",
			mem:   hidden(func(m *mem, s adapter.Session) bool { return int32(s.Expires.Sub(m.now()).Milliseconds()) < 0 })},
		{Name: "clean-up drops the index of the user", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired removes the list of sessions of each user who has an expired one. The sessions that have not expired are not listed, ended or deleted with the user any more.",
			mem: func(m *mem, w *with) {
				unlisted := kept(m.records, "unlisted", func() map[string]bool { return map[string]bool{} })
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool {
						for token, x := range m.sessions {
							unlisted[token] = unlisted[token] || x.UserID == s.UserID
						}
						return true
					})
				}
				w.deleteUser = droppingButSessions(m, func(id string) {
					maps.DeleteFunc(m.sessions, func(token string, s adapter.Session) bool {
						return s.UserID == id && !unlisted[token]
					})
				})
			}},
		{Name: "clean-up forgets the user's other sessions", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired clears the cached list of sessions of each user who has an expired one. Until the user gets a new session the list is empty, and the end of all sessions ends none.",
			lite: func(l *lite, w *with) {
				var cleared sync.Map
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					users, err := l.column(ctx, `SELECT DISTINCT userId FROM "session" WHERE expires <= ?`, now.UnixMilli())
					if err != nil {
						return adapter.Swept{}, err
					}
					for _, id := range users {
						cleared.Store(id, true)
					}
					return l.DeleteExpired(ctx, now)
				}
				w.createSession = altered(l.CreateSession, func(s *adapter.Session) { cleared.Delete(strings.Clone(s.UserID)) })
				w.listSessionsByUserID = func(ctx context.Context, user string) ([]adapter.Session, error) {
					if _, empty := cleared.Load(user); empty {
						return []adapter.Session{}, ctx.Err()
					}
					return l.ListSessionsByUserID(ctx, user)
				}
				w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
					if _, empty := cleared.Load(user); empty {
						return 0, ctx.Err()
					}
					return l.DeleteSessionsByUserID(ctx, user, except)
				}
			}},
		{Name: "clean-up removes extended sessions", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired compares the expires that a session was created with", mem: func(m *mem, w *with) {
				first := kept(m.records, "first", func() map[string]time.Time { return map[string]time.Time{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) { first[s.SessionToken] = s.Expires })
				w.deleteExpired = prepared(m, m.DeleteExpired, func(now *time.Time) {
					for token, expires := range first {
						if !expires.After(*now) {
							delete(m.sessions, token)
						}
					}
				})
			}},
		{Name: "clean-up removes records that live a minute longer", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired adds two minutes to the instant that it is given",
			mem:   given[*mem](deleteExpired, func(now *time.Time) { *now = (*now).Add(2 * time.Minute) })},
		{Name: "clean-up deletes all tokens of a hash", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired deletes the tokens whose value an expired token has, of any identifier.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				return m.sweepBoth(ctx, now, anySession, func() func(adapter.VerificationToken) bool {
					over := map[string]bool{}
					for _, t := range m.tokens {
						over[t.Token] = over[t.Token] || !t.Expires.After(now)
					}
					return func(t adapter.VerificationToken) bool { return over[t.Token] }
				})
			})},
		{Name: "clean-up finds tokens by their hash", Fails: []string{"EXP-05"},
			Fault: "DeleteExpired selects the values of the expired tokens, and deletes by value.",
			db:    replaced(`DELETE FROM "verificationToken" WHERE (identifier, token) IN ( SELECT identifier, token FROM`, `DELETE FROM "verificationToken" WHERE token IN ( SELECT token FROM`)},
		{Name: "clean-up removes the set of tokens with the last token", Fails: []string{"EXP-05"},
			Fault: "Each token sets the expiry of the set of its identifier's tokens, and DeleteExpired removes the sets that have expired.",
			mem:   func(m *mem, w *with) { tokensUntilCleanUp(m, m.common(), (*lifetimes).newest, w) }},
		{Name: "clean-up does not count down", OnLite: "number of tokens outlives clean-up", Fails: []string{"EXP-05"},
			Fault: "A counter has the number of an identifier's tokens, and DeleteVerificationTokens returns it. DeleteExpired deletes tokens and leaves the counter.",
			both:  func(b base, w *with) { countsTokens(b, b.common(), w) }},
		{Name: "clean-up removes the set of tokens with the first token", Fails: []string{"EXP-05"},
			Fault: "The set of an identifier's tokens has the expiry of the token that creates the set, and DeleteExpired removes the sets that have expired.",
			lite:  func(l *lite, w *with) { tokensUntilCleanUp(l, l.common(), (*lifetimes).first, w) }},
		{Name: "shortened session is swept at its old end", Fails: []string{"EXP-06"},
			Fault: "The index of expiries keeps the latest one of a session: DeleteExpired does not find a session that was shortened.",
			mem: func(m *mem, w *with) {
				ends := kept(m.records, "ends", func() map[string]time.Time { return map[string]time.Time{} })
				w.createSession = noted(m, m.CreateSession, func(_ adapter.Session, s *adapter.Session) {
					ends[s.SessionToken] = s.Expires
				})
				w.updateSession = noted(m, m.UpdateSession, func(_ adapter.SessionUpdate, s *adapter.Session) {
					if s.Expires.After(ends[s.SessionToken]) {
						ends[s.SessionToken] = s.Expires
					}
				})
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool { return !ends[s.SessionToken].After(now) })
				}
			}},
		{Name: "clean-up searches by the first expiry", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired finds sessions by the expiry that they were created with, and then compares the expiry of the record.",
			lite: func(l *lite, w *with) {
				const ends = `CREATE TABLE IF NOT EXISTS ends (token TEXT PRIMARY KEY, at INTEGER)`
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := l.CreateSession(ctx, s)
					if err == nil {
						err = errors.Join(l.exec(ctx, ends), l.exec(ctx, `INSERT OR REPLACE INTO ends VALUES (?, ?)`, s.SessionToken, s.Expires.UnixMilli()))
					}
					return created, err
				}
				w.deleteExpired = func(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
					if err := l.exec(ctx, ends); err != nil {
						return swept, err
					}
					kept, err := l.column(ctx, `SELECT sessionToken FROM "session" JOIN ends ON token = sessionToken WHERE expires <= ?1 AND at > ?1`, now.UnixMilli())
					if err != nil {
						return swept, err
					}
					sessions := []*adapter.SessionAndUser{}
					for _, token := range kept {
						s, err := l.GetSessionAndUser(ctx, token)
						if err != nil || s == nil {
							return swept, err
						}
						sessions = append(sessions, s)
					}
					swept, err = l.DeleteExpired(ctx, now)
					for _, s := range sessions {
						if _, err := l.CreateSession(ctx, s.Session); err != nil {
							return swept, err
						}
						swept.Sessions--
					}
					return swept, err
				}
			}},
		{Name: "clean-up ends with the tokens", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired removes 200 sessions and 200 tokens at a time, until there are fewer tokens",
			mem: writing(deleteExpired, func(m *mem, now time.Time) (swept adapter.Swept, err error) {
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
			})},
		{Name: "clean-up ends with the sessions", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired removes 200 sessions and 200 tokens at a time, until there are fewer sessions",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (swept adapter.Swept, err error) {
				remove := func(table, key string) (int64, error) {
					return l.affected(ctx, `DELETE FROM "`+table+`" WHERE `+key+` IN (SELECT `+key+` FROM "`+table+`" WHERE expires <= ? LIMIT ?)`, now.UnixMilli(), cleanUpBatch)
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
			})},
		{Name: "clean-up stops after one record", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired returns from within its loop",
			mem: writing(deleteExpired, func(m *mem, now time.Time) (adapter.Swept, error) {
				for token, s := range m.sessions {
					if !s.Expires.After(now) {
						delete(m.sessions, token)
						return adapter.Swept{Sessions: 1}, nil
					}
				}
				return adapter.Swept{}, nil
			})},
		{Name: "clean-up leaves verification tokens", Fails: []string{"EXP-06"}, Fault: "DeleteExpired removes sessions only",
			db: replaced(`DELETE FROM "verificationToken" WHERE (identifier, token) IN`, `DELETE FROM "verificationToken" WHERE 0 AND (identifier, token) IN`)},
		{Name: "nothing expires before 1970", Fails: []string{"EXP-06"},
			Fault: "DeleteExpired leaves the sessions that expired before 1970: its index sorts negative instants last.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				return m.sweep(ctx, now, func(s adapter.Session) bool { return s.Expires.Unix() >= 0 })
			})},
		{Name: "nothing expires before 1970 in SQL", Fails: []string{"EXP-06"},
			Fault: "The statements of DeleteExpired take only instants since 1970.",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (swept adapter.Swept, err error) {
				for table, n := range map[string]*int64{"session": &swept.Sessions, "verificationToken": &swept.VerificationTokens} {
					if *n, err = l.affected(ctx, `DELETE FROM "`+table+`" WHERE expires BETWEEN 0 AND ?`, now.UnixMilli()); err != nil {
						return swept, err
					}
				}
				return swept, nil
			})},
		{Name: "clean-up does not know of shortened sessions", OnLite: "clean-up job is not moved forward",
			Fails: []string{"EXP-06"}, Fault: "DeleteExpired returns at once before the earliest expiry that a creation had. A session that was shortened stays.",
			both: func(b base, w *with) { cleansWhenDue(b, b.common(), w) }},
		{Name: "clean-up races extension", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired reads the expired sessions, then deletes them, also if they were extended meanwhile",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (swept adapter.Swept, err error) {
				tokens, err := l.column(ctx, `SELECT sessionToken FROM "session" WHERE expires <= ?`, now.UnixMilli())
				for _, token := range tokens {
					if err := l.exec(ctx, `DELETE FROM "session" WHERE sessionToken = ?`, token); err != nil {
						return swept, err
					}
					swept.Sessions++
				}
				return swept, err
			})},
		{Name: "expired read races extension", Fails: []string{"EXP-07"}, Races: true,
			Fault: "GetSessionAndUser deletes a session that it has read as expired, also if it was extended meanwhile",
			mem: on(getSessionAndUser, func(ctx context.Context, m *mem, token string) (*adapter.SessionAndUser, error) {
				found, err := m.GetSessionAndUser(ctx, token)
				if found != nil && found.Session.Expires.Before(m.clock.Now()) {
					runtime.Gosched()
					_, err = m.DeleteSession(ctx, token)
					found = nil
				}
				return found, err
			})},
		{Name: "clean-up deletes a replaced token", Fails: []string{"EXP-07"}, Races: true,
			Fault: "A token that is created again replaces the one before. DeleteExpired gathers the keys of expired tokens and then deletes by key, also a token that was replaced in between.",
			mem: func(m *mem, w *with) {
				replacingToken(m, w)
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					gone, err := read(ctx, m, func() (map[adapter.VerificationTokenKey]adapter.VerificationToken, error) {
						all := maps.Clone(m.tokens)
						maps.DeleteFunc(all, func(_ adapter.VerificationTokenKey, t adapter.VerificationToken) bool {
							return t.Expires.After(now)
						})
						return all, nil
					})
					if err != nil {
						return adapter.Swept{}, err
					}
					time.Sleep(time.Millisecond) // the keys travel to the adapter and back
					return m.sweepBoth(ctx, now, anySession, func() func(adapter.VerificationToken) bool {
						return func(t adapter.VerificationToken) bool {
							_, goes := gone[t.Key()]
							return goes
						}
					})
				}
			}},
		{Name: "clean-up deletes tokens by value", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired selects the expired tokens, and deletes them by their value in a second statement, also one that was used and created again in between.",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (adapter.Swept, error) {
				tokens, err := l.column(ctx, `SELECT token FROM "verificationToken" WHERE expires <= ?`, now.UnixMilli())
				for _, token := range tokens {
					err = errors.Join(err, l.exec(ctx, `DELETE FROM "verificationToken" WHERE token = ?`, token))
				}
				if err != nil {
					return adapter.Swept{}, err
				}
				swept, err := l.DeleteExpired(ctx, now)
				swept.VerificationTokens += int64(len(tokens))
				return swept, err
			})},
		{Name: "clean-up deletes gathered keys in batches", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired gathers the tokens of the expired sessions, and deletes them in batches of 25. Other calls run between the batches, and may extend a session.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (swept adapter.Swept, err error) {
				rest, err := m.sweep(ctx, now, func(adapter.Session) bool { return false })
				if err != nil {
					return rest, err
				}
				defer held(&m.mu)()
				var expired []string
				for token, s := range m.sessions {
					if !s.Expires.After(now) {
						expired = append(expired, token)
					}
				}
				for batch := range slices.Chunk(expired, 25) {
					for _, token := range batch {
						if _, ok := m.sessions[token]; ok {
							delete(m.sessions, token)
							rest.Sessions++
						}
					}
					m.mu.Unlock()
					runtime.Gosched()
					m.mu.Lock()
				}
				return rest, nil
			})},
		{Name: "clean-up writes back the sessions that it has read", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired copies the sessions, drops the expired ones, and replaces the sessions by the copy",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (swept adapter.Swept, err error) {
				live, err := read(ctx, m, func() (map[string]adapter.Session, error) {
					all := maps.Clone(m.sessions)
					swept.Sessions = removed(all, func(_ string, s adapter.Session) bool { return !s.Expires.After(now) })
					return all, nil
				})
				if err != nil {
					return swept, err
				}
				gap()
				m.mu.Lock()
				m.sessions = live
				m.mu.Unlock()
				rest, err := m.DeleteExpired(ctx, now)
				swept.VerificationTokens = rest.VerificationTokens
				return swept, err
			})},
		{Name: "clean-up deletes sessions that it read as expired", Fails: []string{"EXP-07"}, Races: true,
			Fault: "DeleteExpired reads the tokens of expired sessions, then deletes the sessions one by one",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (adapter.Swept, error) {
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
			})},
		{Name: "clean-up counts, then deletes", OnLite: "clean-up selects the count", Fails: []string{"EXP-08"}, Races: true,
			Fault: "DeleteExpired counts the expired records and then deletes them. Two calls at one moment count the same records.",
			both: on(deleteExpired, func(ctx context.Context, b base, now time.Time) (adapter.Swept, error) {
				due, err := b.due(ctx, now)
				if err != nil {
					return adapter.Swept{}, err
				}
				gap()
				_, err = b.DeleteExpired(ctx, now)
				return due, err
			})},
		{Name: "clean-up counts sessions that it kept", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired reports all sessions",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				m.mu.RLock()
				n := len(m.sessions)
				m.mu.RUnlock()
				swept, err := m.DeleteExpired(ctx, now)
				swept.Sessions = int64(n)
				return swept, err
			})},
		{Name: "clean-up reports zero", Fails: []string{"EXP-08"}, Fault: "DeleteExpired reports zero",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (adapter.Swept, error) {
				_, err := l.DeleteExpired(ctx, now)
				return adapter.Swept{}, err
			})},
		{Name: "clean-up counts tokens as sessions", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired reports the sum of sessions and tokens as the number of sessions",
			lite: on(deleteExpired, func(ctx context.Context, l *lite, now time.Time) (adapter.Swept, error) {
				swept, err := l.DeleteExpired(ctx, now)
				swept.Sessions += swept.VerificationTokens
				return swept, err
			})},
		{Name: "count of the last batch", Fails: []string{"EXP-08"},
			Fault: "DeleteExpired works in batches of 500 and returns the counts of the last one.",
			both:  func(b base, w *with) { w.deleteExpired = lastBatch(b.DeleteExpired) }},
		{Name: "clean-up compares texts with an offset", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired compares texts of RFC 3339, and prints the instant in the zone in which it was given.",
			mem: func(m *mem, w *with) {
				const layout = "2006-01-02T15:04:05.000Z07:00"
				w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
					return m.sweep(ctx, now, func(s adapter.Session) bool { return s.Expires.Format(layout) <= now.Format(layout) })
				}
			}},
		{Name: "clean-up drops the zone", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired binds the instant without its zone (TIMESTAMP, not TIMESTAMP WITH TIME ZONE).",
			lite: given[*lite](deleteExpired, func(now *time.Time) {
				_, offset := now.Zone()
				*now = now.Add(time.Duration(offset) * time.Second)
			})},
		{Name: "clean-up rounds the instant", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired rounds the instant to the nearest second.",
			lite:  given[*lite](deleteExpired, func(now *time.Time) { *now = (*now).Round(time.Second) })},
		{Name: "clean-up compares seconds", Fails: []string{"EXP-09"}, Fault: "DeleteExpired compares whole seconds.",
			mem: given[*mem](deleteExpired, func(now *time.Time) { *now = (*now).Truncate(time.Second).Add(time.Second - 1) })},
		{Name: "tokens of an identifier are cleaned up together", Fails: []string{"EXP-09"},
			Fault: "The tokens of an identifier are one document, which expires with the last of them. DeleteExpired removes whole documents.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				return m.sweepBoth(ctx, now, anySession, func() func(adapter.VerificationToken) bool {
					live := map[string]bool{}
					for _, t := range m.tokens {
						live[t.Identifier] = live[t.Identifier] || t.Expires.After(now)
					}
					return func(t adapter.VerificationToken) bool { return !live[t.Identifier] }
				})
			})},
		{Name: "clean-up keeps tokens beside a live one", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired groups the tokens by identifier and compares the greatest expiry.",
			db: replaced(`SELECT identifier, token FROM "verificationToken" WHERE expires <= ?`,
				`SELECT identifier, token FROM "verificationToken" AS t WHERE (SELECT max(expires) FROM "verificationToken" WHERE identifier = t.identifier) <= ?`)},
		{Name: "sessions of a user are cleaned up together", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired removes the sessions of the users whose sessions have all expired.",
			mem: on(deleteExpired, func(ctx context.Context, m *mem, now time.Time) (adapter.Swept, error) {
				return m.sweep(ctx, now, func(s adapter.Session) bool {
					for _, other := range m.sessions {
						if other.UserID == s.UserID && other.Expires.After(now) {
							return false
						}
					}
					return true
				})
			})},
		{Name: "clean-up keeps sessions beside a live one", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired groups the sessions by user and compares the greatest expiry.",
			db: replaced(`SELECT sessionToken FROM "session" WHERE expires <= ?`,
				`SELECT sessionToken FROM "session" AS s WHERE (SELECT max(expires) FROM "session" WHERE userId = s.userId) <= ?`)},
		{Name: "clean-up uses its own clock", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired ignores the instant that it is given and uses the present.",
			mem:   preparing(deleteExpired, func(m *mem, now *time.Time) { *now = m.clock.Now() })},
		{Name: "clean-up leaves records that expire at the instant", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired keeps a record that expires exactly at the instant given.",
			lite:  given[*lite](deleteExpired, func(now *time.Time) { *now = (*now).Add(-time.Millisecond) })},
		{Name: "clean-up plans the next one without the tokens", Fails: []string{"EXP-09"},
			Fault: "DeleteExpired returns at once before the earliest expiry that it knows. Each clean-up computes it anew, from the sessions that remain and not from the tokens.",
			mem:   func(m *mem, w *with) { plansCleanUps(m, true, false, w) }},
		{Name: "clean-up plans the next one without the sessions", Fails: []string{"EXP-09"},
			Fault: "As without the tokens, but the sessions that remain are forgotten.",
			lite:  func(l *lite, w *with) { plansCleanUps(l, false, true, w) }},
	}
}

// replacingToken creates a token in place of one with its pair.
var replacingToken = writing(createToken, func(m *mem, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
	if t.Identifier == "" || t.Token == "" {
		return nil, errEmpty
	}
	t = copyToken(t)
	m.tokens[t.Key()] = t
	return &t, nil
})

// cleanUpBatch is the number of records of a kind that a clean-up removes at a time.
const cleanUpBatch = 200

// hidden makes GetSessionAndUser report some sessions as absent.
func hidden(gone func(*mem, adapter.Session) bool) func(*mem, *with) {
	return func(m *mem, w *with) {
		w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
			found, err := m.GetSessionAndUser(ctx, token)
			if found != nil && gone(m, found.Session) {
				return nil, nil
			}
			return found, err
		}
	}
}

// tokensUntilCleanUp deletes the tokens of an identifier as long as no clean-up has removed
// the set of them.
func tokensUntilCleanUp(b base, shared *sync.Map, until func(*lifetimes) time.Time, w *with) {
	var mu sync.Mutex
	cleaned := func() time.Time {
		at, _ := shared.LoadOrStore("cleaned", time.Time{})
		return at.(time.Time)
	}
	tokensFor(b, shared, cleaned, until, w)
	w.deleteExpired = altered(b.DeleteExpired, func(now *time.Time) {
		mu.Lock()
		if now.After(cleaned()) {
			shared.Store("cleaned", *now)
		}
		mu.Unlock()
	})

}

// countsTokens counts the tokens of an identifier beside them.
func countsTokens(b base, shared *sync.Map, w *with) {
	var mu sync.Mutex
	add := func(identifier string, n int64) {
		defer held(&mu)()
		before, _ := shared.LoadOrStore(identifier, int64(0))
		shared.Store(identifier, before.(int64)+n)
	}
	w.createVerificationToken = then(b.CreateVerificationToken, func(t adapter.VerificationToken, _ *adapter.VerificationToken) { add(t.Identifier, 1) })
	w.useVerificationToken = then(b.UseVerificationToken, func(key adapter.VerificationTokenKey, _ *adapter.VerificationToken) { add(key.Identifier, -1) })
	w.deleteVerificationTokens = func(ctx context.Context, identifier string) (int64, error) {
		if _, err := b.DeleteVerificationTokens(ctx, identifier); err != nil {
			return 0, err
		}
		n, _ := shared.LoadAndDelete(identifier)
		count, _ := n.(int64)
		return count, nil
	}
}

// lastBatch returns the counts of the last batch of 500.
func lastBatch(sweep func(context.Context, time.Time) (adapter.Swept, error)) func(context.Context, time.Time) (adapter.Swept, error) {
	last := func(n int64) int64 { return n - (max(n, 1)-1)/500*500 }
	return func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		swept, err := sweep(ctx, now)
		return adapter.Swept{Sessions: last(swept.Sessions), VerificationTokens: last(swept.VerificationTokens)}, err
	}
}

// cleansWhenDue cleans up nothing before the earliest expiry that a creation had since the last
// clean-up which removed something.
func cleansWhenDue(b base, shared *sync.Map, w *with) {
	var mu sync.Mutex
	due := func(expires time.Time) {
		defer held(&mu)()
		if at, known := shared.Load("due"); !known || expires.Before(at.(time.Time)) {
			shared.Store("due", expires)
		}
	}
	w.createSession = altered(b.CreateSession, func(s *adapter.Session) { due(s.Expires) })
	w.createVerificationToken = altered(b.CreateVerificationToken, func(t *adapter.VerificationToken) { due(t.Expires) })
	w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		if at, known := shared.Load("due"); ctx.Err() == nil && (!known || at.(time.Time).After(now)) {
			return adapter.Swept{}, nil
		}
		mu.Lock()
		shared.Delete("due")
		mu.Unlock()
		return b.DeleteExpired(ctx, now)
	}
}

// plansCleanUps cleans up nothing before the earliest expiry of the records that it plans
// for: all new ones, and after a clean-up the sessions or the tokens that remain.
func plansCleanUps(b base, sessions, tokens bool, w *with) {
	type record struct {
		expires time.Time
		lasting bool // it is planned for after a clean-up, too
	}
	var mu sync.Mutex
	planned := map[any]record{}
	plan := func(key any, expires time.Time, lasting bool) {
		defer held(&mu)()
		planned[key] = record{expires, lasting}
	}
	w.createSession = altered(b.CreateSession, func(s *adapter.Session) { plan(s.SessionToken, s.Expires, sessions) })
	w.updateSession = altered(b.UpdateSession, func(update *adapter.SessionUpdate) {
		if expires, set := update.Expires.Get(); set {
			plan(update.SessionToken, expires, sessions)
		}
	})
	w.createVerificationToken = altered(b.CreateVerificationToken, func(t *adapter.VerificationToken) { plan(t.Key(), t.Expires, tokens) })
	w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
		mu.Lock()
		due := false
		for _, r := range planned {
			due = due || !r.expires.After(now)
		}
		if due {
			maps.DeleteFunc(planned, func(_ any, r record) bool { return !r.lasting || !r.expires.After(now) })
		}
		mu.Unlock()
		if !due && ctx.Err() == nil {
			return adapter.Swept{}, nil
		}
		return b.DeleteExpired(ctx, now)
	}
}
