package mutants

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func slistMutants() []Mutant {
	token := func(s adapter.Session) string { return s.SessionToken }
	return []Mutant{
		{Name: "tokens of a user are joined with commas", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "The list of a user's session tokens is one text that is split at commas.", mem: func(m *mem, w *with) {
				split := func(id string) []string {
					var tokens []string
					for token := range m.sessionsOf[id] {
						if s, ok := m.sessions[token]; ok && s.UserID == id {
							tokens = append(tokens, token)
						}
					}
					return strings.Split(strings.Join(tokens, ","), ",")
				}
				w.listSessionsByUserID = rlocked(m, func(id string) ([]adapter.Session, error) {
					list := []adapter.Session{}
					for _, token := range split(id) {
						if s, ok := m.sessions[token]; ok {
							list = append(list, copySession(s))
						}
					}
					return list, nil
				})
				w.deleteSessionsByUserID = func(ctx context.Context, id, except string) (int64, error) {
					return write(ctx, m, func() (n int64, err error) {
						for _, token := range split(id) {
							if _, ok := m.sessions[token]; ok && token != except {
								delete(m.sessions, token)
								n++
							}
						}
						return n, nil
					})
				}
			}},
		{Name: "list of sessions ends with their first lifetimes", OnLite: "index of sessions has its own expiry", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "The set of a user's sessions expires when the last of them was to expire that CreateSession stored. UpdateSession extends the session, not the set.",
			both:  func(b base, w *with) { listedFor(b, (*lifetimes).last, w) }},
		{Name: "list of sessions ends with the first session", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "The set of a user's sessions gets its expiry from the session that creates the set.",
			mem:   func(m *mem, w *with) { listedFor(m, (*lifetimes).first, w) }},
		{Name: "list leaves out what had expired before", OnLite: "index has no session that had expired", Fails: []string{"SLIST-01"},
			Fault: "CreateSession adds the session to the user's list unless it has expired, and UpdateSession, which extends it, does not.",
			both:  listsWhatLived},
		{Name: "pages of sessions by position", Fails: []string{"SLIST-01"}, Races: true,
			Fault: "ListSessionsByUserID reads pages of 25 by position: if a session before the page ends, one that stays is missing.",
			mem:   func(m *mem, w *with) { w.listSessionsByUserID = byPosition(m.ListSessionsByUserID, token) }},
		{Name: "list of sessions ends at a deleted one", Fails: []string{"SLIST-01"}, Races: true,
			Fault: "ListSessionsByUserID reads the tokens, then each session, and ends at one that was deleted in between.",
			lite: on(listSessions, func(ctx context.Context, l *lite, userID string) ([]adapter.Session, error) {
				index, err := l.ListSessionsByUserID(ctx, userID)
				for i, s := range index {
					found, err := l.GetSessionAndUser(ctx, s.SessionToken)
					if err != nil {
						return nil, err
					}
					if found == nil && s.Expires.After(time.Now()) {
						return index[:i], nil
					}
				}
				return index, err
			})},
		{Name: "session that came back is not listed", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "A session that moves to another user is marked in the index of its first user. When it moves back, the mark stays: it is neither listed nor ended with the sessions of the user.",
			mem:   func(m *mem, w *with) { markedAway(m, m.common(), w) }},
		{Name: "row that came back is not listed", Fails: []string{"SLIST-01"},
			Fault: "A table holds the sessions that have left a user. Lists and deletions pass them over, also after they have come back.",
			lite:  func(l *lite, w *with) { markedAway(l, l.common(), w) }},
		{Name: "moved session stays in the old list", Fails: []string{"SLIST-01"},
			Fault: "sessions are listed by the user who had them first", mem: func(m *mem, w *with) {
				owners := kept(m.records, "first owners", func() map[string]string { return map[string]string{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					owners[s.SessionToken] = s.UserID
				})
				w.listSessionsByUserID = locked(m, func(id string) ([]adapter.Session, error) {
					list := []adapter.Session{}
					for token, s := range m.sessions {
						if owners[token] == id {
							list = append(list, copySession(s))
						}
					}
					return list, nil
				})
			}},
		{Name: "list of sessions shows the first expiry", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID returns the sessions with the expiry that they were created with",
			mem: func(m *mem, w *with) {
				first := kept(m.records, "first expiry", func() map[string]time.Time { return map[string]time.Time{} })
				w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
					first[s.SessionToken] = s.Expires.UTC()
				})
				w.listSessionsByUserID = func(ctx context.Context, id string) ([]adapter.Session, error) {
					list, err := m.ListSessionsByUserID(ctx, id)
					defer held(&m.mu)()
					for i := range list {
						list[i].Expires = first[list[i].SessionToken]
					}
					return list, err
				}
			}},
		{Name: "list of sessions ends at the first that expires soon", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID stops at a session that expires within an hour",
			lite: on(listSessions, func(ctx context.Context, l *lite, id string) ([]adapter.Session, error) {
				list, err := l.ListSessionsByUserID(ctx, id)
				slices.SortFunc(list, func(a, b adapter.Session) int { return b.Expires.Compare(a.Expires) })
				for i, s := range list {
					if i > 0 && time.Until(s.Expires) < time.Hour {
						return list[:i], err
					}
				}
				return list, err
			})},
		{Name: "index of sessions expires with the session written last", Fails: []string{"SLIST-01", "SLIST-04"},
			Fault: "the list of a user's sessions is lost when the session that was written last expires", mem: forgetfulIndex},
		{Name: "sessions are joined with authenticators", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID returns each session once for each authenticator of the user.",
			lite: on(listSessions, func(ctx context.Context, l *lite, id string) ([]adapter.Session, error) {
				return joined(ctx, id, l.ListSessionsByUserID, l.ListAuthenticatorsByUserID, func(adapter.Session, adapter.Authenticator) bool { return true })
			})},
		{Name: "same owner leaves the list", Fails: []string{"SLIST-01", "CASC-02"},
			Fault: "An update that names the user whom the session has adds the session to the user's list, and then removes it from the list of the user before, who is the same.",
			mem:   unlistedByOwnUpdate},
		{Name: "same owner leaves the table of owners", Fails: []string{"SLIST-01"},
			Fault: "As before, in a table of its own that says whose sessions to list and to end.", lite: func(l *lite, w *with) {
				unlisted := func(ctx context.Context, token string) (bool, error) {
					if err := l.exec(ctx, `CREATE TABLE IF NOT EXISTS unlisted (token TEXT PRIMARY KEY)`); err != nil {
						return false, err
					}
					return l.exists(ctx, `SELECT 1 FROM unlisted WHERE token = ?`, token)
				}
				w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
					found, err := l.GetSessionAndUser(ctx, u.SessionToken)
					if err != nil {
						return nil, err
					}
					updated, err := l.UpdateSession(ctx, u)
					if id, set := u.UserID.Get(); err == nil && set && found != nil && found.User.ID == id {
						if _, err = unlisted(ctx, u.SessionToken); err == nil {
							err = l.exec(ctx, `INSERT OR IGNORE INTO unlisted VALUES (?)`, u.SessionToken)
						}
					}
					return updated, err
				}
				w.listSessionsByUserID = func(ctx context.Context, id string) ([]adapter.Session, error) {
					all, err := l.ListSessionsByUserID(ctx, id)
					list := []adapter.Session{}
					for _, s := range all {
						gone, goneErr := unlisted(ctx, s.SessionToken)
						if err = errors.Join(err, goneErr); !gone {
							list = append(list, s)
						}
					}
					return list, err
				}
			}},
		{Name: "next long page begins after the last expiry", OnLite: "next page begins after the last expiry", Fails: []string{"SLIST-01"},
			Fault: "ListSessionsByUserID reads pages of 100; the next one has what expires after the last session of the page.",
			both:  func(b base, w *with) { pagedSessions(b.ListSessionsByUserID, 100, w) }},
		{Name: "empty list of sessions is nil", Fails: []string{"SLIST-02"},
			Fault: "ListSessionsByUserID of a user without sessions returns nil",
			lite: on(listSessions, func(ctx context.Context, l *lite, id string) ([]adapter.Session, error) {
				list, err := l.ListSessionsByUserID(ctx, id)
				if len(list) == 0 {
					return nil, err
				}
				return list, err
			})},
		{Name: "ending the sessions of an unknown user fails", Fails: []string{"SLIST-02"},
			Fault: "DeleteSessionsByUserID of an unknown user fails with ErrNotFound",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
				if u, _ := m.GetUser(ctx, userID); u == nil {
					return 0, notFound("user")
				}
				return m.DeleteSessionsByUserID(ctx, userID, except)
			})},
		{Name: "failed list of sessions is short", Fails: []string{"SLIST-03"},
			Fault: "ListSessionsByUserID returns an empty list when the store fails",
			lite: on(listSessions, func(ctx context.Context, l *lite, id string) ([]adapter.Session, error) {
				list, err := l.ListSessionsByUserID(ctx, id)
				if err != nil {
					return []adapter.Session{}, nil //nolint:nilerr // the seeded fault
				}
				return list, nil
			})},
		{Name: "empty exception is null", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID compares with NULL if except is empty; no token is unequal to NULL, so no session is deleted.",
			db:    replaced("sessionToken <> ?", "sessionToken <> NULLIF(?, '')")},
		{Name: "pages begin after an expiry", Fails: []string{"SLIST-04"},
			Fault: "ListSessionsByUserID reads pages by expiry: if sessions with one expiry cross the end of a page, some are missing.",
			mem:   func(m *mem, w *with) { pagedSessions(m.ListSessionsByUserID, 50, w) }},
		{Name: "one page of sessions", OnLite: "rows of sessions of a mebibyte", Fails: []string{"SLIST-04"},
			Fault: "The list of sessions ends after one mebibyte.",
			both:  func(b base, w *with) { w.listSessionsByUserID = pageOfBytes(b.ListSessionsByUserID) }},
		{Name: "sign-out everywhere deletes listed sessions only", OnLite: "sign-out everywhere leaves expired sessions", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the sessions of a list that leaves out expired ones.",
			both: onDeleteSessions(func(ctx context.Context, b base, id, except string) (int64, error) {
				all, err := b.ListSessionsByUserID(ctx, id)
				if err != nil {
					return 0, err
				}
				all = slices.DeleteFunc(all, func(s adapter.Session) bool { return !s.Expires.After(b.now()) })
				return endEach(ctx, b, all, except, func() {})
			})},
		{Name: "at most a hundred sessions are ended", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the first page",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "session" WHERE sessionToken IN (SELECT sessionToken FROM "session" WHERE userId = ? AND sessionToken <> ? LIMIT 1000)`, userID, except)
			})},
		{Name: "the session to keep ends too", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID ignores the exception",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, _ string) (int64, error) {
				return m.DeleteSessionsByUserID(ctx, userID, "")
			})},
		{Name: "the session to keep is counted as deleted", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID reports how many sessions it has looked at",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
				list, err := m.ListSessionsByUserID(ctx, userID)
				if err == nil {
					_, err = m.DeleteSessionsByUserID(ctx, userID, except)
				}
				return int64(len(list)), err
			})},
		{Name: "sessions of other users end too", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the sessions of all users, except the one to keep",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
				n, err := m.DeleteSessionsByUserID(ctx, userID, except)
				defer held(&m.mu)()
				maps.DeleteFunc(m.sessions, func(token string, _ adapter.Session) bool { return token != except && n > 0 })
				return n, err
			})},
		{Name: "sessions that expire late stay", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes the sessions that expire within 30 days",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "session" WHERE userId = ? AND sessionToken <> ? AND expires < ?`, userID, except, time.Now().Add(30*24*time.Hour).UnixMilli())
			})},
		{Name: "page with the session to keep is the last", OnLite: "batch with the session to keep is the last", Fails: []string{"SLIST-04"},
			Fault: "DeleteSessionsByUserID deletes pages of 1,000 by expiry and ends when one deletes fewer: the one with the session to keep.",
			both: onDeleteSessions(func(ctx context.Context, b base, userID, except string) (total int64, err error) {
				for {
					page, err := b.ListSessionsByUserID(ctx, userID)
					if err != nil {
						return total, err
					}
					slices.SortFunc(page, byExpiry)
					n, err := endEach(ctx, b, page[:min(len(page), 1000)], except, func() {})
					if total += n; err != nil || n < 1000 {
						return total, err
					}
				}
			})},
		{Name: "empty exception keeps all sessions", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID keeps the sessions whose token begins with the exception",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
				return write(ctx, m, func() (int64, error) {
					return removed(m.sessions, func(token string, s adapter.Session) bool {
						return s.UserID == userID && !strings.HasPrefix(token, except)
					}), nil
				})
			})},
		{Name: "exception of another user keeps all sessions", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID does nothing if the exception is not a session of the user",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				if except != "" {
					s, err := l.GetSessionAndUser(ctx, except)
					if err != nil || s == nil || s.User.ID != userID {
						return 0, err
					}
				}
				return l.DeleteSessionsByUserID(ctx, userID, except)
			})},
		{Name: "exception is read as a pattern", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID compares the exception with LIKE",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				return l.affected(ctx, `DELETE FROM "session" WHERE userId = ? AND sessionToken NOT LIKE ?`, userID, except)
			})},
		{Name: "exception is decoded", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID decodes percent encodings in the exception.",
			mem:   exceptionAs[*mem](decoded)},
		{Name: "exception has no padding", Fails: []string{"SLIST-05"},
			Fault: "DeleteSessionsByUserID compares the tokens without base64 padding.",
			lite:  exceptionAs[*lite](func(token string) string { return strings.TrimRight(token, "=") + "=" })},
		{Name: "session moved meanwhile ends too", OnLite: "moved session ends with the others", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID lists the sessions, does other work, and deletes each by its token.",
			both: onDeleteSessions(func(ctx context.Context, b base, id, except string) (int64, error) {
				return endListed(ctx, b, id, except, roundTrip)
			})},
		{Name: "sign-out deletes gathered sessions", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID gathers the tokens of the sessions, and deletes the sessions one by one. Other calls run in between, and may give a session to another user.",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, user, except string) (int64, error) {
				return endListed(ctx, m, user, except, func() {})
			})},
		{Name: "extended session is not ended", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID reads the sessions, then deletes those that have not changed since",
			mem: onDeleteSessions(func(ctx context.Context, m *mem, userID, except string) (int64, error) {
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
			})},
		{Name: "ended sessions are counted twice", Fails: []string{"SLIST-06"}, Races: true,
			Fault: "DeleteSessionsByUserID reports how many sessions it read before it deleted",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				list, err := l.ListSessionsByUserID(ctx, userID)
				if err != nil {
					return 0, err
				}
				if _, err := l.DeleteSessionsByUserID(ctx, userID, except); err != nil {
					return 0, err
				}
				return int64(len(slices.DeleteFunc(list, func(s adapter.Session) bool { return s.SessionToken == except }))), nil
			})},
		{Name: "failed deletion of a session is ignored", Fails: []string{"SLIST-07"},
			Fault: "DeleteSessionsByUserID deletes the sessions one by one and ignores errors",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (n int64, err error) {
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
			})},
		{Name: "failed deletion of sessions reports success", Fails: []string{"SLIST-07"},
			Fault: "DeleteSessionsByUserID reports as deleted the sessions that it meant to delete, and ignores the store's error",
			lite: onDeleteSessions(func(ctx context.Context, l *lite, userID, except string) (int64, error) {
				n, err := l.DeleteSessionsByUserID(ctx, userID, except)
				if err != nil && !errors.Is(err, context.Canceled) {
					return n, nil
				}
				return n, err
			})},
	}
}

// endListed lists a user's sessions and deletes each by its token, after a pause. Other calls
// can run in between.
func endListed(ctx context.Context, b base, id, except string, pause func()) (int64, error) {
	all, err := b.ListSessionsByUserID(ctx, id)
	if err != nil {
		return 0, err
	}
	return endEach(ctx, b, all, except, pause)
}

// endEach deletes each session by its token, after a pause.
func endEach(ctx context.Context, b base, all []adapter.Session, except string, pause func()) (n int64, err error) {
	for _, s := range all {
		if s.SessionToken == except {
			continue
		}
		pause()
		deleted, err := b.DeleteSession(ctx, s.SessionToken)
		if err != nil {
			return n, err
		}
		if deleted != nil {
			n++
		}
	}
	return n, nil
}

func byExpiry(a, b adapter.Session) int { return a.Expires.Compare(b.Expires) }

// listedFor lists and ends the sessions of a user as long as a set of them lives.
func listedFor(b base, until func(*lifetimes) time.Time, w *with) {
	sets := setsIn(b.common(), b.now, until)
	w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
		created, err := b.CreateSession(ctx, s)
		if err == nil && s.Expires.After(b.now()) {
			sets.add(s.UserID, s.Expires)
		}
		return created, err
	}
	w.listSessionsByUserID = func(ctx context.Context, user string) ([]adapter.Session, error) {
		list, err := b.ListSessionsByUserID(ctx, user)
		if err == nil && sets.over(user) {
			return []adapter.Session{}, nil
		}
		return list, err
	}
	w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
		if sets.over(user) {
			return 0, ctx.Err()
		}
		return b.DeleteSessionsByUserID(ctx, user, except)
	}
}

// listsWhatLived lists the sessions that had not expired when they were created.
func listsWhatLived(b base, w *with) {
	shared := b.common()
	w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
		created, err := b.CreateSession(ctx, s)
		if err == nil && s.Expires.After(b.now()) {
			shared.Delete(s.SessionToken)
		} else if err == nil {
			shared.Store(s.SessionToken, true)
		}
		return created, err
	}
	w.listSessionsByUserID = func(ctx context.Context, user string) ([]adapter.Session, error) {
		list, err := b.ListSessionsByUserID(ctx, user)
		return slices.DeleteFunc(list, func(s adapter.Session) bool { _, unlisted := shared.Load(s.SessionToken); return unlisted }), err
	}
}

// markedAway marks sessions that leave a user.
func markedAway(b base, away *sync.Map, w *with) {
	mark := func(user, token string) string { return user + "\x00" + token }
	over := func(user string, s adapter.Session) bool {
		_, left := away.Load(mark(user, s.SessionToken))
		return left
	}
	w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		before, err := b.GetSessionAndUser(ctx, u.SessionToken)
		if before == nil || err != nil {
			return b.UpdateSession(ctx, u)
		}
		after, err := b.UpdateSession(ctx, u)
		if after != nil && err == nil && after.UserID != before.Session.UserID {
			away.Store(mark(before.Session.UserID, after.SessionToken), true)
		}
		return after, err
	}
	w.listSessionsByUserID = func(ctx context.Context, user string) ([]adapter.Session, error) {
		list, err := b.ListSessionsByUserID(ctx, user)
		return slices.DeleteFunc(list, func(s adapter.Session) bool { return over(user, s) }), err
	}
	w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
		list, err := b.ListSessionsByUserID(ctx, user)
		if err != nil {
			return 0, err
		}
		list = slices.DeleteFunc(list, func(s adapter.Session) bool { return over(user, s) })
		return endEach(ctx, b, list, except, func() {})
	}
}

func decoded(text string) string {
	if d, err := url.PathUnescape(text); err == nil {
		return d
	}
	return text
}

// exceptionAs changes the exception of DeleteSessionsByUserID.
func exceptionAs[B base](change func(string) string) func(B, *with) {
	return func(b B, w *with) {
		w.deleteSessionsByUserID = func(ctx context.Context, user, except string) (int64, error) {
			if except != "" {
				list, err := b.ListSessionsByUserID(ctx, user)
				if err != nil {
					return 0, err
				}
				for _, s := range list {
					if change(s.SessionToken) == change(except) {
						except = s.SessionToken
					}
				}
			}
			return b.DeleteSessionsByUserID(ctx, user, except)
		}
	}
}

// unlistedByOwnUpdate keeps the sessions that are stored and in no user's list.
func unlistedByOwnUpdate(m *mem, w *with) {
	unlisted := kept(m.records, "unlisted", func() map[string]bool { return map[string]bool{} })
	end := func(id, except string) int64 {
		return removed(m.sessions, func(token string, s adapter.Session) bool {
			return s.UserID == id && token != except && !unlisted[token]
		})
	}
	w.createSession = noted(m, m.CreateSession, func(s adapter.Session, _ *adapter.Session) {
		delete(unlisted, s.SessionToken)
	})
	w.updateSession = func(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
		m.mu.RLock()
		before := m.sessions[u.SessionToken].UserID
		m.mu.RUnlock()
		updated, err := m.UpdateSession(ctx, u)
		if updated != nil && u.UserID.IsSet() {
			m.mu.Lock()
			unlisted[u.SessionToken] = before == updated.UserID
			m.mu.Unlock()
		}
		return updated, err
	}
	w.deleteUser = droppingButSessions(m, func(id string) { end(id, "") })
	w.listSessionsByUserID = func(ctx context.Context, id string) ([]adapter.Session, error) {
		list, err := m.ListSessionsByUserID(ctx, id)
		defer held(&m.mu)()
		return slices.DeleteFunc(list, func(s adapter.Session) bool { return unlisted[s.SessionToken] }), err
	}
	w.deleteSessionsByUserID = func(ctx context.Context, id, except string) (int64, error) {
		return write(ctx, m, func() (int64, error) { return end(id, except), nil })
	}
}

// pagedSessions lists the sessions of a user in pages. The next page has the
// sessions that expire after the last one of the page.
func pagedSessions(list func(context.Context, string) ([]adapter.Session, error), size int, w *with) {
	w.listSessionsByUserID = func(ctx context.Context, id string) ([]adapter.Session, error) {
		rest, err := list(ctx, id)
		slices.SortFunc(rest, byExpiry)
		all := []adapter.Session{}
		for len(rest) > 0 {
			page := rest[:min(size, len(rest))]
			all = append(all, page...)
			last := page[len(page)-1].Expires
			rest = slices.DeleteFunc(rest[len(page):], func(s adapter.Session) bool { return !s.Expires.After(last) })
		}
		return all, err
	}
}
