package mutants

import (
	"context"
	"errors"
	"hash/fnv"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func sessMutants() []Mutant {
	return []Mutant{
		{Name: "created session has the time of the call", Fails: []string{"SESS-01"},
			Fault: "CreateSession stores expires, and returns the time of the call in its place",
			mem: noting(createSession, func(m *mem, _ adapter.Session, created *adapter.Session) {
				created.Expires = m.clock.Now()
			})},
		{Name: "session of the newest user", Fails: []string{"SESS-02"},
			Fault: "GetSessionAndUser returns the session with the user who was created last",
			lite: on(getSessionAndUser, func(ctx context.Context, l *lite, token string) (*adapter.SessionAndUser, error) {
				s, err := l.GetSessionAndUser(ctx, token)
				if s == nil {
					return s, err
				}
				var id string
				if err := l.db.QueryRowContext(ctx, `SELECT id FROM "user" ORDER BY rowid DESC LIMIT 1`).Scan(&id); err != nil {
					return nil, err
				}
				u, err := l.GetUser(ctx, id)
				if u != nil {
					s.User = *u
				}
				return s, err
			})},
		{Name: "unknown session is an error", Fails: []string{"SESS-03", "SESS-15"}, AuthJS: true,
			Fault: "GetSessionAndUser of an unknown token fails", mem: missing[*mem](getSessionAndUser, notFound("session"))},
		{Name: "session is found by its token in lower case", Fails: []string{"SESS-04"},
			Fault: "GetSessionAndUser looks up an unknown token in upper case too.",
			mem:   func(m *mem, w *with) { w.getSessionAndUser = again(m.GetSessionAndUser, strings.ToUpper) }},
		{Name: "case-folding columns", Listed: "M40", Fails: []string{"SESS-04", "ACCT-08", "AUTHN-15"},
			Fault: "session tokens, account ids and credential ids are COLLATE NOCASE, where the check of the schema does not see it",
			db: replaced(`sessionToken TEXT NOT NULL PRIMARY KEY`, `sessionToken TEXT COLLATE /**/ NOCASE NOT NULL PRIMARY KEY`,
				`providerAccountId TEXT NOT NULL, access_token`, `providerAccountId TEXT COLLATE /**/ NOCASE NOT NULL, access_token`,
				`credentialID TEXT NOT NULL PRIMARY KEY`, `credentialID TEXT COLLATE /**/ NOCASE NOT NULL PRIMARY KEY`)},
		{Name: "session tokens are cut at a NUL", Fails: []string{"SESS-04", "INPUT-11"},
			Fault: "a session token is read as a C string, which ends at the first NUL",
			mem:   keyedSessions(func(t string) string { t, _, _ = strings.Cut(t, "\x00"); return t })},
		{Name: "session tokens are decoded", Fails: []string{"SESS-04"},
			Fault: "a session token is percent-decoded before it is looked up", mem: keyedSessions(func(t string) string {
				if decoded, err := url.PathUnescape(t); err == nil {
					return decoded
				}
				return t
			})},
		{Name: "session tokens are compared in part", Fails: []string{"SESS-04"},
			Fault: "only the first 64 bytes of a session token are compared",
			mem:   keyedSessions(func(t string) string { return t[:min(len(t), 64)] })},
		{Name: "sessions are deleted by prefix", Fails: []string{"SESS-04"},
			Fault: "DeleteSession deletes every session whose token begins with the one given",
			db:    replaced(`DELETE FROM "session" WHERE sessionToken = ?`, `DELETE FROM "session" WHERE instr(sessionToken, ?) = 1`)},
		{Name: "session update trims the token", Fails: []string{"SESS-04"},
			Fault: "UpdateSession ignores blanks around the token",
			mem:   given[*mem](updateSession, func(update *adapter.SessionUpdate) { update.SessionToken = strings.TrimSpace(update.SessionToken) })},
		{Name: "token in use re-bound", Listed: "M17", Fails: []string{"SESS-05"},
			Fault: "CreateSession overwrites a session that has the token",
			mem: on(createSession, func(ctx context.Context, m *mem, s adapter.Session) (*adapter.Session, error) {
				if _, err := m.DeleteSession(ctx, s.SessionToken); err != nil {
					return nil, err
				}
				return m.CreateSession(ctx, s)
			})},
		{Name: "refused session extends the one in use", Fails: []string{"SESS-05"},
			Fault: "CreateSession with a token in use fails after it has changed the expires of the session in use",
			mem: spoiling(createSession, adapter.ErrConflict, func(m *mem, s adapter.Session) {
				old := m.sessions[s.SessionToken]
				old.Expires = s.Expires
				m.sessions[s.SessionToken] = old
			})},
		{Name: "all sessions of the user are extended", Fails: []string{"SESS-06", "SESS-08"},
			Fault: "UpdateSession with expires changes every session of the owner",
			lite: on(updateSession, func(ctx context.Context, l *lite, update adapter.SessionUpdate) (*adapter.Session, error) {
				s, err := l.UpdateSession(ctx, update)
				if s != nil && update.Expires.IsSet() {
					err = l.exec(ctx, `UPDATE "session" SET expires = ? WHERE userId = ?`, s.Expires.UnixMilli(), s.UserID)
				}
				return s, err
			})},
		{Name: "session without an owner is kept", Fails: []string{"SESS-07"},
			Fault: "CreateSession does not check that the owner exists; the session is read once a user is created with that id",
			mem: writing(createSession, func(m *mem, s adapter.Session) (*adapter.Session, error) {
				if _, taken := m.sessions[s.SessionToken]; taken {
					return nil, conflict("the session token")
				}
				s = copySession(s)
				m.sessions[s.SessionToken] = s
				return &s, nil
			})},
		{Name: "session without an owner is lost in silence", Fails: []string{"SESS-07"},
			Fault: "CreateSession for an unknown user stores nothing, and returns its argument",
			mem: answering(createSession, adapter.ErrNotFound,
				func(_ context.Context, _ *mem, s adapter.Session) (*adapter.Session, error) {
					return &s, nil
				})},
		{Name: "cached session keeps its first user", Fails: []string{"SESS-08"},
			Fault: "GetSessionAndUser caches the owner, and UpdateSession of the owner does not clear the cache.",
			mem: func(m *mem, w *with) {
				cache := m.common()
				w.getSessionAndUser = noted(m, m.GetSessionAndUser, func(token string, got *adapter.SessionAndUser) {
					first, _ := cache.LoadOrStore(token, got.User.ID)
					if u := m.user(first.(string)); u != nil {
						got.User = *u
					}
				})
				w.deleteSession = altered(m.DeleteSession, func(token *string) { cache.Delete(*token) })
			}},
		{Name: "owner or expiry", OnLite: "column of the owner or of the expiry", Fails: []string{"SESS-08"},
			Fault: "UpdateSession stores the new owner or, if none is given, the new expiry, and returns what it has stored.",
			both: given[base](updateSession, func(u *adapter.SessionUpdate) {
				if u.UserID.IsSet() {
					u.Expires = adapter.Change[time.Time]{}
				}
			})},
		{Name: "two users share a lock", OnLite: "two users share a lock of the database", Fails: []string{"SESS-08"}, Chance: true,
			Fault: "UpdateSession with a new owner locks both users, by a hash of the ID. If both have one lock, the call waits for itself, and fails.",
			both: func(b base, w *with) {
				var locks [32]sync.Mutex
				lock := func(id string) *sync.Mutex {
					h := fnv.New32a()
					_, _ = h.Write([]byte(id))
					return &locks[h.Sum32()%uint32(len(locks))]
				}
				w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
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
				}
			}},
		{Name: "update changes the owner", Fails: []string{"SESS-08"},
			Fault: "UpdateSession without a user gives the session to some other user",
			mem: noting(updateSession, func(m *mem, update adapter.SessionUpdate, s *adapter.Session) {
				if !update.UserID.IsSet() {
					for id := range m.users {
						if id != s.UserID {
							s.UserID = id
							m.sessions[s.SessionToken] = *s
							break
						}
					}
				}
			})},
		{Name: "update returns the session before it", Fails: []string{"SESS-09"},
			Fault: "UpdateSession returns the record that it read before it wrote",
			mem: on(updateSession, func(ctx context.Context, m *mem, update adapter.SessionUpdate) (*adapter.Session, error) {
				before, ok := look(m, &m.sessions, update.SessionToken)
				s, err := m.UpdateSession(ctx, update)
				if ok && err == nil {
					return &before, nil
				}
				return s, err
			})},
		{Name: "update to the same value is a miss", Fails: []string{"SESS-09"},
			Fault: "UpdateSession counts changed rows: writing the stored value again returns no session",
			mem: on(updateSession, func(ctx context.Context, m *mem, update adapter.SessionUpdate) (*adapter.Session, error) {
				before, _ := look(m, &m.sessions, update.SessionToken)
				s, err := m.UpdateSession(ctx, update)
				if s != nil && *s == before {
					return nil, nil
				}
				return s, err
			})},
		{Name: "update of an unknown session is an error", Fails: []string{"SESS-10"},
			Fault: "UpdateSession fails when it finds nothing", mem: missing[*mem](updateSession, notFound("session"))},
		{Name: "updateSession upserts", Listed: "M13", Fails: []string{"SESS-10", "SESS-11"},
			Fault: "UpdateSession of an unknown token creates a session of the user given",
			lite: on(updateSession, func(ctx context.Context, l *lite, update adapter.SessionUpdate) (*adapter.Session, error) {
				s, err := l.UpdateSession(ctx, update)
				if s != nil || err != nil {
					return s, err
				}
				ghost := adapter.Session{SessionToken: update.SessionToken}
				update.Apply(&ghost)
				if ghost.UserID == "" {
					return nil, nil
				}
				return l.CreateSession(ctx, ghost)
			})},
		{Name: "deleted session is revived", Fails: []string{"SESS-11"},
			Fault: "DeleteSession marks the session as deleted, and UpdateSession with expires removes the mark",
			mem: func(m *mem, w *with) {
				marked := kept(m.records, "marked", func() map[string]adapter.Session { return map[string]adapter.Session{} })
				w.deleteSession = noted(m, m.DeleteSession, func(token string, s *adapter.Session) { marked[token] = *s })
				w.updateSession = prepared(m, m.UpdateSession, func(update *adapter.SessionUpdate) {
					if s, ok := marked[update.SessionToken]; ok {
						m.sessions[update.SessionToken] = s
						delete(marked, update.SessionToken)
					}
				})
			}},
		{Name: "shortening is ignored", Fails: []string{"SESS-12", "SESS-06"},
			Fault: "UpdateSession keeps the later of two expires",
			db:    replaced(`SET expires = ?`, `SET expires = MAX(?, expires)`)},
		{Name: "extension by seconds is saved later", OnLite: "short extension is saved later", Fails: []string{"SESS-12", "SESS-13"},
			Fault: "UpdateSession does not store a change of less than ten seconds, and returns the session as if it had.", both: func(b base, w *with) {
				w.updateSession = unlessShort(b.GetSessionAndUser, b.UpdateSession, 10*time.Second)
			}},
		{Name: "extension does not change the store's own expiry", Fails: []string{"SESS-13"},
			Fault: "sessions are removed at the expires that they were created with", mem: func(m *mem, w *with) {
				deadlines := kept(m.records, "deadlines", func() map[string]time.Time { return map[string]time.Time{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) { deadlines[s.SessionToken] = s.Expires })
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					deadline, ok := look(m, &deadlines, token)
					if ok && !deadline.After(m.clock.Now()) {
						return nil, m.begin(ctx)
					}
					return m.GetSessionAndUser(ctx, token)
				}
			}},
		{Name: "empty update deletes", Fails: []string{"SESS-14", "SESS-09"},
			Fault: "UpdateSession without expires deletes the session",
			mem: on(updateSession, func(ctx context.Context, m *mem, update adapter.SessionUpdate) (*adapter.Session, error) {
				if !update.Expires.IsSet() {
					_, err := m.DeleteSession(ctx, update.SessionToken)
					return nil, err
				}
				return m.UpdateSession(ctx, update)
			})},
		{Name: "deleted session is read once more", Fails: []string{"SESS-15", "FLOW-02", "FLOW-04"},
			Fault: "GetSessionAndUser reads from a cache that notices a deletion one read too late", mem: func(m *mem, w *with) {
				cache := kept(m.records, "cache", func() map[string]adapter.SessionAndUser { return map[string]adapter.SessionAndUser{} })
				w.deleteSession = prepared(m, m.DeleteSession, func(token *string) {
					if s, ok := m.sessions[*token]; ok {
						cache[*token] = adapter.SessionAndUser{Session: s, User: *m.user(s.UserID)}
					}
				})
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					if s, err := taken(ctx, m, &cache, token); s != nil || err != nil {
						return s, err
					}
					return m.GetSessionAndUser(ctx, token)
				}
			}},
		{Name: "deleteSession signs out everywhere", Listed: "M14", Fails: []string{"SESS-16", "SESS-06", "FLOW-04"},
			Fault: "DeleteSession deletes every session of the owner",
			mem:   noting(deleteSession, func(m *mem, _ string, s *adapter.Session) { m.dropSessions(s.UserID) })},
		{Name: "deleted session is returned as first read", OnLite: "deleted session is returned as loaded",
			Fails: []string{"SESS-17"}, Fault: "DeleteSession returns the session from the objects that the adapter has read, which updates do not refresh.",
			both: func(b base, w *with) {
				var loaded firstReads[adapter.Session]
				w.getSessionAndUser = then(b.GetSessionAndUser, func(_ string, s *adapter.SessionAndUser) {
					loaded.records.LoadOrStore(s.Session.SessionToken, copySession(s.Session))
				})
				w.deleteSession = func(ctx context.Context, token string) (*adapter.Session, error) {
					s, err := b.DeleteSession(ctx, token)
					return loaded.deleted(token, s), err
				}
			}},
		{Name: "deleteSession returns another session", Fails: []string{"SESS-17"},
			Fault: "DeleteSession returns some other session of the owner",
			mem: on(deleteSession, func(ctx context.Context, m *mem, token string) (*adapter.Session, error) {
				s, err := m.DeleteSession(ctx, token)
				defer held(m.mu.RLocker())()
				for _, x := range m.sessions {
					if s != nil && x.UserID == s.UserID {
						return &x, nil
					}
				}
				return s, err
			})},
		{Name: "missing session is an error", Listed: "M15", Fails: []string{"SESS-18"},
			Fault: "DeleteSession of an unknown token fails with the driver's 'no rows'",
			lite:  missing[*lite](deleteSession, errNoRows)},
		{Name: "reading extends", Fails: []string{"SESS-19", "FLOW-03"},
			Fault: "GetSessionAndUser moves expires to two hours after the read",
			mem: noting(getSessionAndUser, func(m *mem, token string, _ *adapter.SessionAndUser) {
				if s, ok := m.sessions[token]; ok {
					s.Expires = m.clock.Now().Add(2 * time.Hour)
					m.sessions[token] = s
				}
			})},
		{Name: "expired session gets an hour of grace", Fails: []string{"SESS-20"},
			Fault: "GetSessionAndUser returns an expired session with an expires in the future",
			mem: noting(getSessionAndUser, func(m *mem, _ string, found *adapter.SessionAndUser) {
				if found.Session.Expires.Before(m.clock.Now()) {
					found.Session.Expires = m.clock.Now().Add(time.Hour)
				}
			})},
		{Name: "user copied into the session", Listed: "M16", Fails: []string{"SESS-21"},
			Fault: "GetSessionAndUser returns the user as it was when the session was created", mem: func(m *mem, w *with) {
				copies := kept(m.records, "copies", func() map[string]adapter.User { return map[string]adapter.User{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					copies[s.SessionToken] = copyUser(m.users[s.UserID])
				})
				w.getSessionAndUser = noted(m, m.GetSessionAndUser, func(token string, found *adapter.SessionAndUser) {
					if u, ok := copies[token]; ok && found.User.ID == u.ID {
						found.User = copyUser(u)
					}
				})
			}},
		{Name: "session of a deleted user is an error", Fails: []string{"SESS-22"}, AuthJS: true,
			Fault: "DeleteUser leaves the sessions, and GetSessionAndUser fails when it does not find the user",
			mem: func(m *mem, w *with) {
				w.deleteUser = droppingButSessions(m, func(string) {})
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := m.GetSessionAndUser(ctx, token)
					defer held(m.mu.RLocker())()
					if _, there := m.sessions[token]; there && found == nil && err == nil {
						return nil, notFound("user")
					}
					return found, err
				}
			}},
		{Name: "moved session stays with its first user", Fails: []string{"SESS-23"},
			Fault: "UpdateSession accepts another user, and deleting the first user also deletes the session",
			mem: func(m *mem, w *with) {
				sets := kept(m.records, "sets", func() map[string][]string { return map[string][]string{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					sets[s.UserID] = append(sets[s.UserID], s.SessionToken)
				})
				w.deleteUser = prepared(m, m.DeleteUser, func(id *string) {
					for _, token := range sets[*id] {
						delete(m.sessions, token)
					}
				})
			}},
		{Name: "token created again keeps the later expiry", Fails: []string{"SESS-24"},
			Fault: "CreateSession merges its argument with the record of a deleted session that had the token",
			mem: func(m *mem, w *with) {
				latest := kept(m.records, "latest", func() map[string]time.Time { return map[string]time.Time{} })
				w.deleteSession = noted(m, m.DeleteSession, func(token string, s *adapter.Session) { latest[token] = s.Expires })
				w.createSession = prepared(m, m.CreateSession, func(s *adapter.Session) {
					if later := latest[s.SessionToken]; later.After(s.Expires) {
						s.Expires = later
					}
				})
			}},
	}
}

// unlessShort does not store a change of the expiry that is shorter than least.
func unlessShort(find func(context.Context, string) (*adapter.SessionAndUser, error), update updateSessionFunc, least time.Duration) updateSessionFunc {
	return func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		expires, set := u.Expires.Get()
		found, err := find(ctx, u.SessionToken)
		if err != nil || found == nil || !set || expires.Sub(found.Session.Expires).Abs() >= least {
			return update(ctx, u)
		}
		u.Expires = adapter.Change[time.Time]{}
		s, err := update(ctx, u)
		if s != nil {
			s.Expires = expires.UTC()
		}
		return s, err
	}
}
