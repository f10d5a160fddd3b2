package mutants

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func sessionMutants() []Mutant {
	return []Mutant{
		{Name: "created session has the time of the call", Fails: []string{"SESS-01"},
			Fault: "CreateSession stores expires, and returns the time of the call in its place",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := m.CreateSession(ctx, s)
					if created != nil {
						created.Expires = m.clock.Now()
					}
					return created, err
				}}
			}},
		{Name: "session of the newest user", Fails: []string{"SESS-02"},
			Fault: "GetSessionAndUser returns the session with the user who was created last",
			lite: func(l *lite) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
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
				}}
			}},
		{Name: "unknown session is an error", Fails: []string{"SESS-03", "SESS-15"}, AuthJS: true,
			Fault: "GetSessionAndUser of an unknown token fails",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					s, err := m.GetSessionAndUser(ctx, token)
					if s == nil && err == nil {
						return nil, notFound("session")
					}
					return s, err
				}}
			}},
		{Name: "case-folding columns", Listed: "M40", Fails: []string{"SESS-04", "ACCT-08", "AUTHN-15"},
			Fault: "session tokens, account ids and credential ids are COLLATE NOCASE",
			db: replaced(`sessionToken TEXT NOT NULL PRIMARY KEY`, `sessionToken TEXT COLLATE NOCASE NOT NULL PRIMARY KEY`,
				`providerAccountId TEXT NOT NULL, access_token`, `providerAccountId TEXT COLLATE NOCASE NOT NULL, access_token`,
				`credentialID TEXT NOT NULL PRIMARY KEY`, `credentialID TEXT COLLATE NOCASE NOT NULL PRIMARY KEY`)},
		{Name: "session tokens are cut at a NUL", Fails: []string{"SESS-04", "INPUT-11"},
			Fault: "a session token is read as a C string, which ends at the first NUL",
			mem: func(m *mem) with {
				return keyedSessions(m, func(t string) string { t, _, _ = strings.Cut(t, "\x00"); return t })
			}},
		{Name: "session tokens are decoded", Fails: []string{"SESS-04"},
			Fault: "a session token is percent-decoded before it is looked up",
			mem: func(m *mem) with {
				return keyedSessions(m, func(t string) string {
					if decoded, err := url.PathUnescape(t); err == nil {
						return decoded
					}
					return t
				})
			}},
		{Name: "session tokens are compared in part", Fails: []string{"SESS-04"},
			Fault: "only the first 64 bytes of a session token are compared",
			mem:   func(m *mem) with { return keyedSessions(m, func(t string) string { return t[:min(len(t), 64)] }) }},
		{Name: "sessions are deleted by prefix", Fails: []string{"SESS-04"},
			Fault: "DeleteSession deletes every session whose token begins with the one given",
			db:    replaced(`DELETE FROM "session" WHERE sessionToken = ?`, `DELETE FROM "session" WHERE instr(sessionToken, ?) = 1`)},
		{Name: "session update trims the token", Fails: []string{"SESS-04"},
			Fault: "UpdateSession ignores blanks around the token",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					update.SessionToken = strings.TrimSpace(update.SessionToken)
					return m.UpdateSession(ctx, update)
				}}
			}},
		{Name: "token in use re-bound", Listed: "M17", Fails: []string{"SESS-05"},
			Fault: "CreateSession overwrites a session that has the token",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					if _, err := m.DeleteSession(ctx, s.SessionToken); err != nil {
						return nil, err
					}
					return m.CreateSession(ctx, s)
				}}
			}},
		{Name: "refused session extends the one in use", Fails: []string{"SESS-05"},
			Fault: "CreateSession with a token in use fails after it has changed the expires of the session in use",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := m.CreateSession(ctx, s)
					if errors.Is(err, adapter.ErrConflict) {
						m.mu.Lock()
						defer m.mu.Unlock()
						old := m.sessions[s.SessionToken]
						old.Expires = s.Expires
						m.sessions[s.SessionToken] = old
					}
					return created, err
				}}
			}},
		{Name: "all sessions of the user are extended", Fails: []string{"SESS-06", "SESS-08"},
			Fault: "UpdateSession with expires changes every session of the owner",
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					s, err := l.UpdateSession(ctx, update)
					if s != nil && update.Expires.IsSet() {
						err = l.exec(ctx, `UPDATE "session" SET expires = ? WHERE userId = ?`, s.Expires.UnixMilli(), s.UserID)
					}
					return s, err
				}}
			}},
		{Name: "session without an owner is kept", Fails: []string{"SESS-07"},
			Fault: "CreateSession does not check that the owner exists; the session is read once a user is created with that id",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					return write(ctx, m, func() (*adapter.Session, error) {
						if _, taken := m.sessions[s.SessionToken]; taken {
							return nil, conflict("the session token")
						}
						s = copySession(s)
						m.sessions[s.SessionToken] = s
						return &s, nil
					})
				}}
			}},
		{Name: "session without an owner is lost in silence", Fails: []string{"SESS-07"},
			Fault: "CreateSession for an unknown user stores nothing, and returns its argument",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := m.CreateSession(ctx, s)
					if errors.Is(err, adapter.ErrNotFound) {
						return &s, nil
					}
					return created, err
				}}
			}},
		{Name: "update changes the owner", Fails: []string{"SESS-08"},
			Fault: "UpdateSession without a user gives the session to some other user",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					s, err := m.UpdateSession(ctx, update)
					if s != nil && !update.UserID.IsSet() {
						m.mu.Lock()
						defer m.mu.Unlock()
						for id := range m.users {
							if id != s.UserID {
								s.UserID = id
								m.sessions[s.SessionToken] = *s
								break
							}
						}
					}
					return s, err
				}}
			}},
		{Name: "update returns the session before it", Fails: []string{"SESS-09"},
			Fault: "UpdateSession returns the record that it read before it wrote",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					m.mu.RLock()
					before, ok := m.sessions[update.SessionToken]
					m.mu.RUnlock()
					s, err := m.UpdateSession(ctx, update)
					if ok && err == nil {
						return &before, nil
					}
					return s, err
				}}
			}},
		{Name: "update to the same value is a miss", Fails: []string{"SESS-09"},
			Fault: "UpdateSession counts changed rows: writing the stored value again returns no session",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					m.mu.RLock()
					before := m.sessions[update.SessionToken]
					m.mu.RUnlock()
					s, err := m.UpdateSession(ctx, update)
					if s != nil && *s == before {
						return nil, nil
					}
					return s, err
				}}
			}},
		{Name: "update of an unknown session is an error", Fails: []string{"SESS-10"},
			Fault: "UpdateSession fails when it finds nothing",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					s, err := m.UpdateSession(ctx, update)
					if s == nil && err == nil {
						return nil, notFound("session")
					}
					return s, err
				}}
			}},
		{Name: "updateSession upserts", Listed: "M13", Fails: []string{"SESS-10", "SESS-11"},
			Fault: "UpdateSession of an unknown token creates a session of the user given",
			lite: func(l *lite) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
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
				}}
			}},
		{Name: "deleted session is revived", Fails: []string{"SESS-11"},
			Fault: "DeleteSession marks the session as deleted, and UpdateSession with expires removes the mark",
			mem: func(m *mem) with {
				marked := kept(m.records, "marked", func() map[string]adapter.Session { return map[string]adapter.Session{} })
				return with{
					deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
						s, err := m.DeleteSession(ctx, token)
						if s != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							marked[token] = *s
						}
						return s, err
					},
					updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
						m.mu.Lock()
						if s, ok := marked[update.SessionToken]; ok {
							m.sessions[update.SessionToken] = s
							delete(marked, update.SessionToken)
						}
						m.mu.Unlock()
						return m.UpdateSession(ctx, update)
					},
				}
			}},
		{Name: "shortening is ignored", Fails: []string{"SESS-12", "SESS-06"},
			Fault: "UpdateSession keeps the later of two expires",
			db:    replaced(`SET expires = ?`, `SET expires = MAX(?, expires)`)},
		{Name: "extension does not change the store's own expiry", Fails: []string{"SESS-13"},
			Fault: "sessions are removed at the expires that they were created with",
			mem: func(m *mem) with {
				deadlines := kept(m.records, "deadlines", func() map[string]time.Time { return map[string]time.Time{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							deadlines[s.SessionToken] = s.Expires
						}
						return created, err
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						m.mu.RLock()
						deadline, ok := deadlines[token]
						m.mu.RUnlock()
						if ok && !deadline.After(m.clock.Now()) {
							return nil, m.begin(ctx)
						}
						return m.GetSessionAndUser(ctx, token)
					},
				}
			}},
		{Name: "empty update deletes", Fails: []string{"SESS-14", "SESS-09"},
			Fault: "UpdateSession without expires deletes the session",
			mem: func(m *mem) with {
				return with{updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
					if !update.Expires.IsSet() {
						_, err := m.DeleteSession(ctx, update.SessionToken)
						return nil, err
					}
					return m.UpdateSession(ctx, update)
				}}
			}},
		{Name: "deleted session is read once more", Fails: []string{"SESS-15", "FLOW-02", "FLOW-04"},
			Fault: "GetSessionAndUser reads from a cache that notices a deletion one read too late",
			mem: func(m *mem) with {
				cache := kept(m.records, "cache", func() map[string]adapter.SessionAndUser { return map[string]adapter.SessionAndUser{} })
				return with{
					deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
						if s, _ := m.GetSessionAndUser(ctx, token); s != nil {
							m.mu.Lock()
							cache[token] = *s
							m.mu.Unlock()
						}
						return m.DeleteSession(ctx, token)
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						m.mu.Lock()
						s, ok := cache[token]
						delete(cache, token)
						m.mu.Unlock()
						if ok {
							return &s, nil
						}
						return m.GetSessionAndUser(ctx, token)
					},
				}
			}},
		{Name: "deleteSession signs out everywhere", Listed: "M14", Fails: []string{"SESS-16", "SESS-06", "FLOW-04"},
			Fault: "DeleteSession deletes every session of the owner",
			mem: func(m *mem) with {
				return with{deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
					s, err := m.DeleteSession(ctx, token)
					if s != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						m.dropSessions(s.UserID)
					}
					return s, err
				}}
			}},
		{Name: "deleteSession returns another session", Fails: []string{"SESS-17"},
			Fault: "DeleteSession returns some other session of the owner",
			mem: func(m *mem) with {
				return with{deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
					s, err := m.DeleteSession(ctx, token)
					m.mu.RLock()
					defer m.mu.RUnlock()
					for _, x := range m.sessions {
						if s != nil && x.UserID == s.UserID {
							return &x, nil
						}
					}
					return s, err
				}}
			}},
		{Name: "missing session is an error", Listed: "M15", Fails: []string{"SESS-18"},
			Fault: "DeleteSession of an unknown token fails with the driver's 'no rows'",
			lite: func(l *lite) with {
				return with{deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
					s, err := l.DeleteSession(ctx, token)
					if s == nil && err == nil {
						return nil, errNoRows
					}
					return s, err
				}}
			}},
		{Name: "reading extends", Fails: []string{"SESS-19", "FLOW-03"},
			Fault: "GetSessionAndUser moves expires to two hours after the read",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := m.GetSessionAndUser(ctx, token)
					if found != nil {
						m.mu.Lock()
						defer m.mu.Unlock()
						if s, ok := m.sessions[token]; ok {
							s.Expires = m.clock.Now().Add(2 * time.Hour)
							m.sessions[token] = s
						}
					}
					return found, err
				}}
			}},
		{Name: "expired session gets an hour of grace", Fails: []string{"SESS-20"},
			Fault: "GetSessionAndUser returns an expired session with an expires in the future",
			mem: func(m *mem) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					found, err := m.GetSessionAndUser(ctx, token)
					if found != nil && found.Session.Expires.Before(m.clock.Now()) {
						found.Session.Expires = m.clock.Now().Add(time.Hour)
					}
					return found, err
				}}
			}},
		{Name: "user copied into the session", Listed: "M16", Fails: []string{"SESS-21"},
			Fault: "GetSessionAndUser returns the user as it was when the session was created",
			mem: func(m *mem) with {
				copies := kept(m.records, "copies", func() map[string]adapter.User { return map[string]adapter.User{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							copies[s.SessionToken] = copyUser(m.users[s.UserID])
						}
						return created, err
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						found, err := m.GetSessionAndUser(ctx, token)
						m.mu.RLock()
						defer m.mu.RUnlock()
						if u, ok := copies[token]; ok && found != nil && found.User.ID == u.ID {
							found.User = copyUser(u)
						}
						return found, err
					},
				}
			}},
		{Name: "session of a deleted user is an error", Fails: []string{"SESS-22"}, AuthJS: true,
			Fault: "DeleteUser leaves the sessions, and GetSessionAndUser fails when it does not find the user",
			mem: func(m *mem) with {
				return with{
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						return write(ctx, m, func() (*adapter.User, error) {
							u := m.user(id)
							if u != nil {
								m.dropAccounts(id)
								m.dropAuthenticators(id)
								m.dropUser(id)
							}
							return u, nil
						})
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						found, err := m.GetSessionAndUser(ctx, token)
						m.mu.RLock()
						defer m.mu.RUnlock()
						if _, there := m.sessions[token]; there && found == nil && err == nil {
							return nil, notFound("user")
						}
						return found, err
					},
				}
			}},
		{Name: "moved session stays with its first user", Fails: []string{"SESS-23"},
			Fault: "UpdateSession accepts another user, and deleting the first user also deletes the session",
			mem: func(m *mem) with {
				sets := kept(m.records, "sets", func() map[string][]string { return map[string][]string{} })
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							sets[s.UserID] = append(sets[s.UserID], s.SessionToken)
						}
						return created, err
					},
					deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
						m.mu.Lock()
						for _, token := range sets[id] {
							delete(m.sessions, token)
						}
						m.mu.Unlock()
						return m.DeleteUser(ctx, id)
					},
				}
			}},
		{Name: "token created again keeps the later expiry", Fails: []string{"SESS-24"},
			Fault: "CreateSession merges its argument with the record of a deleted session that had the token",
			mem: func(m *mem) with {
				latest := kept(m.records, "latest", func() map[string]time.Time { return map[string]time.Time{} })
				return with{
					deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
						s, err := m.DeleteSession(ctx, token)
						if s != nil {
							m.mu.Lock()
							defer m.mu.Unlock()
							latest[token] = s.Expires
						}
						return s, err
					},
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						m.mu.RLock()
						if later := latest[s.SessionToken]; later.After(s.Expires) {
							s.Expires = later
						}
						m.mu.RUnlock()
						return m.CreateSession(ctx, s)
					},
				}
			}},
	}
}

// keyedSessions stores the sessions under the text that key returns for a token.
func keyedSessions(m *mem, key func(string) string) with {
	find := func(token string) string {
		for t := range m.sessions {
			if key(t) == key(token) {
				return t
			}
		}
		return token
	}
	locked := func(token string) string {
		m.mu.RLock()
		defer m.mu.RUnlock()
		return find(token)
	}
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			if locked(s.SessionToken) != s.SessionToken {
				return nil, conflict("the session token")
			}
			return m.CreateSession(ctx, s)
		},
		getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
			return m.GetSessionAndUser(ctx, locked(token))
		},
		updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
			update.SessionToken = locked(update.SessionToken)
			return m.UpdateSession(ctx, update)
		},
		deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
			return m.DeleteSession(ctx, locked(token))
		},
	}
}
