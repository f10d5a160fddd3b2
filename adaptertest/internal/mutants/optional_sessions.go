package mutants

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ending replaces the deletion of a user's sessions.
func ending(deleteSessions func(ctx context.Context, userID, except string) (int64, error)) with {
	return with{optional: optional{deleteSessions: deleteSessions}}
}

func sessionListMutants() []Mutant {
	return []Mutant{
		{Name: "moved session stays in the old list", Fails: []string{"SLIST-01"},
			Fault: "sessions are listed by the user who had them first",
			mem: func(m *mem) with {
				owners := func() map[string]string {
					return kept(m.records, "first owners", func() map[string]string { return map[string]string{} })
				}
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							owners()[s.SessionToken] = s.UserID
							m.mu.Unlock()
						}
						return created, err
					},
					optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
						return write(ctx, m, func() ([]adapter.Session, error) {
							list := []adapter.Session{}
							for token, s := range m.sessions {
								if owners()[token] == id {
									list = append(list, copySession(s))
								}
							}
							return list, nil
						})
					}},
				}
			}},
		{Name: "list of sessions shows the first expiry", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID returns the sessions with the expiry that they were created with",
			mem: func(m *mem) with {
				first := func() map[string]time.Time {
					return kept(m.records, "first expiry", func() map[string]time.Time { return map[string]time.Time{} })
				}
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := m.CreateSession(ctx, s)
						if err == nil {
							m.mu.Lock()
							first()[s.SessionToken] = s.Expires.UTC()
							m.mu.Unlock()
						}
						return created, err
					},
					optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
						list, err := m.ListSessionsByUserID(ctx, id)
						m.mu.Lock()
						defer m.mu.Unlock()
						for i := range list {
							list[i].Expires = first()[list[i].SessionToken]
						}
						return list, err
					}},
				}
			}},
		{Name: "list of sessions ends at the first that expires soon", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID stops at a session that expires within an hour",
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					list, err := l.ListSessionsByUserID(ctx, id)
					slices.SortFunc(list, func(a, b adapter.Session) int { return b.Expires.Compare(a.Expires) })
					for i, s := range list {
						if i > 0 && time.Until(s.Expires) < time.Hour {
							return list[:i], err
						}
					}
					return list, err
				}}}
			}},
		{Name: "index of sessions expires with the session written last", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "the list of a user's sessions is lost when the session that was written last expires",
			mem:   forgetfulIndex},
		{Name: "empty list of sessions is nil", Fails: []string{"SLIST-02"},
			Fault: "ListSessionsByUserID of a user without sessions returns nil",
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					list, err := l.ListSessionsByUserID(ctx, id)
					if len(list) == 0 {
						return nil, err
					}
					return list, err
				}}}
			}},
		{Name: "ending the sessions of an unknown user fails", Fails: []string{"SLIST-02"},
			Fault: "DeleteSessionsByUserID of an unknown user fails with ErrNotFound",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					if u, _ := m.GetUser(ctx, userID); u == nil {
						return 0, notFound("user")
					}
					return m.DeleteSessionsByUserID(ctx, userID, except)
				})
			}},
		{Name: "failed list of sessions is short", Fails: []string{"SLIST-03"},
			Fault: "ListSessionsByUserID returns an empty list when the store fails",
			lite: func(l *lite) with {
				return with{optional: optional{listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
					list, err := l.ListSessionsByUserID(ctx, id)
					if err != nil {
						return []adapter.Session{}, nil //nolint:nilerr // the seeded fault
					}
					return list, nil
				}}}
			}},
		{Name: "at most a hundred sessions are ended", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the first page",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "session" WHERE sessionToken IN (SELECT sessionToken FROM "session" WHERE userId = ? AND sessionToken <> ? LIMIT 1000)`, userID, except)
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "the session to keep ends too", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID ignores the exception",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, _ string) (int64, error) {
					return m.DeleteSessionsByUserID(ctx, userID, "")
				})
			}},
		{Name: "the session to keep is counted as deleted", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID reports how many sessions it has looked at",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					list, err := m.ListSessionsByUserID(ctx, userID)
					if err == nil {
						_, err = m.DeleteSessionsByUserID(ctx, userID, except)
					}
					return int64(len(list)), err
				})
			}},
		{Name: "sessions of other users end too", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the sessions of all users, except the one to keep",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					n, err := m.DeleteSessionsByUserID(ctx, userID, except)
					m.mu.Lock()
					defer m.mu.Unlock()
					for token := range m.sessions {
						if token != except && n > 0 {
							delete(m.sessions, token)
						}
					}
					return n, err
				})
			}},
		{Name: "sessions that expire late stay", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the sessions that expire within 30 days",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "session" WHERE userId = ? AND sessionToken <> ? AND expires < ?`, userID, except, time.Now().Add(30*24*time.Hour).UnixMilli())
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "empty exception keeps all sessions", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID keeps the sessions whose token begins with the exception",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					return write(ctx, m, func() (n int64, err error) {
						for token, s := range m.sessions {
							if s.UserID == userID && !strings.HasPrefix(token, except) {
								delete(m.sessions, token)
								n++
							}
						}
						return n, nil
					})
				})
			}},
		{Name: "exception of another user keeps all sessions", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID does nothing if the exception is not a session of the user",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					if except != "" {
						s, err := l.GetSessionAndUser(ctx, except)
						if err != nil || s == nil || s.User.ID != userID {
							return 0, err
						}
					}
					return l.DeleteSessionsByUserID(ctx, userID, except)
				})
			}},
		{Name: "exception is read as a pattern", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID compares the exception with LIKE",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					r, err := l.db.ExecContext(ctx, `DELETE FROM "session" WHERE userId = ? AND sessionToken NOT LIKE ?`, userID, except)
					if err != nil {
						return 0, err
					}
					return r.RowsAffected()
				})
			}},
		{Name: "extended session is not ended", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID reads the sessions, then deletes those that have not changed since",
			mem: func(m *mem) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					list, err := m.ListSessionsByUserID(ctx, userID)
					if err != nil {
						return 0, err
					}
					gap()
					return write(ctx, m, func() (n int64, err error) {
						for _, s := range list {
							if now, ok := m.sessions[s.SessionToken]; ok && s.SessionToken != except && now.Expires.Equal(s.Expires) {
								delete(m.sessions, s.SessionToken)
								n++
							}
						}
						return n, nil
					})
				})
			}},
		{Name: "ended sessions are counted twice", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID reports how many sessions it read before it deleted",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					list, err := l.ListSessionsByUserID(ctx, userID)
					if err != nil {
						return 0, err
					}
					if _, err := l.DeleteSessionsByUserID(ctx, userID, except); err != nil {
						return 0, err
					}
					return int64(len(slices.DeleteFunc(list, func(s adapter.Session) bool { return s.SessionToken == except }))), nil
				})
			}},
		{Name: "failed deletion of a session is ignored", Fails: []string{"SLIST-07"},
			Fault: "DeleteSessionsByUserID deletes the sessions one by one and ignores errors",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (n int64, err error) {
					list, err := l.ListSessionsByUserID(ctx, userID)
					if err != nil {
						return 0, err
					}
					for _, s := range list {
						if s.SessionToken == except {
							continue
						}
						if gone, err := l.DeleteSession(ctx, s.SessionToken); err == nil && gone != nil {
							n++
						}
					}
					return n, nil
				})
			}},
		{Name: "failed deletion of sessions reports success", Fails: []string{"SLIST-07"},
			Fault: "DeleteSessionsByUserID reports as deleted the sessions that it meant to delete, and ignores the store's error",
			lite: func(l *lite) with {
				return ending(func(ctx context.Context, userID, except string) (int64, error) {
					n, err := l.DeleteSessionsByUserID(ctx, userID, except)
					if err != nil && !errors.Is(err, context.Canceled) {
						return n, nil
					}
					return n, err
				})
			}},
	}
}

// forgetfulIndex lists a user's sessions by an index, which expires together with
// the session that was written last.
func forgetfulIndex(m *mem) with {
	type index struct {
		tokens map[string]bool
		until  time.Time
	}
	all := func() map[string]*index {
		return kept(m.records, "index", func() map[string]*index { return map[string]*index{} })
	}
	listed := func(id string) []adapter.Session { // the caller holds the lock
		list := []adapter.Session{}
		if x := all()[id]; x != nil && x.until.After(m.clock.Now()) {
			for token := range x.tokens {
				if s, ok := m.sessions[token]; ok && s.UserID == id {
					list = append(list, copySession(s))
				}
			}
		}
		return list
	}
	wrote := func(s adapter.Session) {
		m.mu.Lock()
		defer m.mu.Unlock()
		x := all()[s.UserID]
		if x == nil {
			x = &index{tokens: map[string]bool{}}
			all()[s.UserID] = x
		}
		x.tokens[s.SessionToken], x.until = true, s.Expires
	}
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			created, err := m.CreateSession(ctx, s)
			if err == nil {
				wrote(s)
			}
			return created, err
		},
		updateSession: func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
			updated, err := m.UpdateSession(ctx, u)
			if err == nil && updated != nil {
				wrote(*updated)
			}
			return updated, err
		},
		optional: optional{
			listSessions: func(ctx context.Context, id string) ([]adapter.Session, error) {
				return write(ctx, m, func() ([]adapter.Session, error) { return listed(id), nil })
			},
			deleteSessions: func(ctx context.Context, id, except string) (int64, error) {
				return write(ctx, m, func() (n int64, err error) {
					for _, s := range listed(id) {
						if s.SessionToken != except {
							delete(m.sessions, s.SessionToken)
							n++
						}
					}
					return n, nil
				})
			},
		},
	}
}
