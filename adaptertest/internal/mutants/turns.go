package mutants

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// turnMutants do each call right by itself. What one call leaves behind makes a later one
// wrong.
func turnMutants() []Mutant {
	return []Mutant{
		{Name: "cached session keeps the tag of its first owner", Fault: "GetSessionAndUser has a cache. UpdateUser removes the sessions that have the user's tag, and UpdateSession, which may change the owner, leaves the tag.", Fails: []string{"ISO-05"}, Rounds: 3,
			mem: func(m *mem) with { return taggedSessions(m, m.common()) }},
		{Name: "moved session shows its new owner as of then", Fault: "As the cached session, with the cache beside a database.", Fails: []string{"ISO-05"}, Rounds: 3,
			lite: func(l *lite) with { return taggedSessions(l, l.common()) }},
		{Name: "sign-out everywhere ends older sessions that come later", Fault: "DeleteSessionsByUserID also keeps the instant. GetSessionAndUser takes a session for ended that is older and that belongs to the user by now.", Fails: []string{"ISO-05"}, Rounds: 3,
			mem: func(m *mem) with { return endsOlderSessions(m) }},

		{Name: "clean-up does not know of shortened sessions", Fault: "DeleteExpired returns at once before the earliest expiry that a creation had. A session that was shortened stays.", Fails: []string{"EXP-06"},
			mem: func(m *mem) with { return cleansWhenDue(m, m.common()) }},
		{Name: "clean-up job is not moved forward", Fault: "The clean-up has nothing to do before the instant of its next job. Creations set that instant, UpdateSession does not.", Fails: []string{"EXP-06"},
			lite: func(l *lite) with { return cleansWhenDue(l, l.common()) }},
		{Name: "clean-up plans the next one without the tokens", Fault: "DeleteExpired returns at once before the earliest expiry that it knows. Each clean-up computes it anew, from the sessions that remain and not from the tokens.", Fails: []string{"EXP-09"},
			mem: func(m *mem) with { return plansCleanUps(m, true, false) }},
		{Name: "clean-up plans the next one without the sessions", Fault: "As without the tokens, but the sessions that remain are forgotten.", Fails: []string{"EXP-09"},
			lite: func(l *lite) with { return plansCleanUps(l, false, true) }},

		{Name: "refused account counts as a credential", Fault: "A counter has the ways to sign in of each user. LinkAccount increments it before it finds that another user has the account.", Fails: []string{"AEDIT-03"},
			mem: func(m *mem) with {
				w, count := countsCredentials(m, m.common())
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					return linked, count(a.UserID, err)
				}
				return w
			}},
		{Name: "refused passkey counts as a credential", Fault: "A counter has the ways to sign in of each user. CreateAuthenticator increments it before the insert fails.", Fails: []string{"AEDIT-03"},
			lite: func(l *lite) with {
				w, count := countsCredentials(l, l.common())
				w.createAuthenticator = func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := l.CreateAuthenticator(ctx, a)
					return created, count(a.UserID, err)
				}
				return w
			}},

		{Name: "sign-up counts as one credential", Fault: "A counter has the ways to sign in of each user. CreateUserWithAccount sets it to one, also with a passkey.", Fails: []string{"AEDIT-03"},
			mem: func(m *mem) with {
				return miscountsSignUps(m, m.common(), func(passkey bool) int {
					if passkey {
						return -1
					}
					return 0
				})
			}},
		{Name: "sign-up counts as two credentials", Fault: "A counter has the ways to sign in of each user. CreateUserWithAccount sets it to two, also without a passkey.", Fails: []string{"AEDIT-03"},
			lite: func(l *lite) with {
				return miscountsSignUps(l, l.common(), func(passkey bool) int {
					if passkey {
						return 0
					}
					return 1
				})
			}},
	}
}

// taggedSession is an entry of a cache.
type taggedSession struct {
	tag   string // the user's ID when the entry was made
	found adapter.SessionAndUser
}

// taggedSessions looks up sessions through a cache. All writes of sessions and users empty it,
// except UpdateUser, which removes the entries with the user's tag, and UpdateSession,
// which changes the entry.
func taggedSessions(b base, shared *sync.Map) with {
	lock, _ := shared.LoadOrStore("lock", new(sync.Mutex))
	entries, _ := shared.LoadOrStore("entries", map[string]taggedSession{})
	cache := entries.(map[string]taggedSession)
	within := func(f func()) {
		lock.(*sync.Mutex).Lock()
		defer lock.(*sync.Mutex).Unlock()
		f()
	}
	empty := func() { within(func() { clear(cache) }) }
	return with{
		getSessionAndUser: func(ctx context.Context, token string) (found *adapter.SessionAndUser, err error) {
			within(func() {
				if e, ok := cache[token]; ok && ctx.Err() == nil {
					found = &adapter.SessionAndUser{Session: e.found.Session, User: copyUser(e.found.User)}
					return
				}
				if found, err = b.GetSessionAndUser(ctx, token); found != nil {
					cache[token] = taggedSession{found.User.ID, adapter.SessionAndUser{Session: found.Session, User: copyUser(found.User)}}
				}
			})
			return found, err
		},
		updateUser: func(ctx context.Context, update adapter.UserUpdate) (*adapter.User, error) {
			user, err := b.UpdateUser(ctx, update)
			within(func() {
				for token, e := range cache {
					if e.tag == update.ID {
						delete(cache, token)
					}
				}
			})
			return user, err
		},
		updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
			session, err := b.UpdateSession(ctx, update)
			within(func() {
				e, cached := cache[update.SessionToken]
				delete(cache, update.SessionToken)
				if fresh, lookErr := b.GetSessionAndUser(ctx, update.SessionToken); cached && lookErr == nil && fresh != nil {
					cache[update.SessionToken] = taggedSession{e.tag, *fresh}
				}
			})
			return session, err
		},
		deleteUser: func(ctx context.Context, id string) (*adapter.User, error) {
			defer empty()
			return b.DeleteUser(ctx, id)
		},
		deleteSession: func(ctx context.Context, token string) (*adapter.Session, error) {
			defer empty()
			return b.DeleteSession(ctx, token)
		},
		deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
			defer empty()
			return b.DeleteExpired(ctx, now)
		},
		optional: optional{deleteSessions: func(ctx context.Context, user, except string) (int64, error) {
			defer empty()
			return b.DeleteSessionsByUserID(ctx, user, except)
		}},
	}
}

// endsOlderSessions takes sessions for ended that were created before their present owner
// signed out everywhere through this handle.
func endsOlderSessions(b base) with {
	var mu sync.Mutex
	created, ended, n := map[string]int{}, map[string]int{}, 0
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			stored, err := b.CreateSession(ctx, s)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				n++
				created[s.SessionToken] = n
			}
			return stored, err
		},
		getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
			found, err := b.GetSessionAndUser(ctx, token)
			mu.Lock()
			defer mu.Unlock()
			if number, known := created[token]; found != nil && known && number <= ended[found.User.ID] {
				return nil, err
			}
			return found, err
		},
		optional: optional{deleteSessions: func(ctx context.Context, user, except string) (int64, error) {
			deleted, err := b.DeleteSessionsByUserID(ctx, user, except)
			if err == nil && except == "" {
				mu.Lock()
				defer mu.Unlock()
				ended[user] = n
			}
			return deleted, err
		}},
	}
}

// cleansWhenDue cleans up nothing before the earliest expiry that a creation had since the last
// clean-up which removed something.
func cleansWhenDue(b base, shared *sync.Map) with {
	var mu sync.Mutex
	due := func(expires time.Time) {
		mu.Lock()
		defer mu.Unlock()
		if at, known := shared.Load("due"); !known || expires.Before(at.(time.Time)) {
			shared.Store("due", expires)
		}
	}
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			due(s.Expires)
			return b.CreateSession(ctx, s)
		},
		createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
			due(t.Expires)
			return b.CreateVerificationToken(ctx, t)
		},
		deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
			if at, known := shared.Load("due"); ctx.Err() == nil && (!known || at.(time.Time).After(now)) {
				return adapter.Swept{}, nil
			}
			mu.Lock()
			shared.Delete("due")
			mu.Unlock()
			return b.DeleteExpired(ctx, now)
		},
	}
}

// plansCleanUps cleans up nothing before the earliest expiry of the records that it plans
// for: all new ones, and after a clean-up the sessions or the tokens that remain.
func plansCleanUps(b base, sessions, tokens bool) with {
	type record struct {
		expires time.Time
		lasting bool // it is planned for after a clean-up, too
	}
	var mu sync.Mutex
	planned := map[any]record{}
	plan := func(key any, expires time.Time, lasting bool) {
		mu.Lock()
		defer mu.Unlock()
		planned[key] = record{expires, lasting}
	}
	return with{
		createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			plan(s.SessionToken, s.Expires, sessions)
			return b.CreateSession(ctx, s)
		},
		updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
			if expires, set := update.Expires.Get(); set {
				plan(update.SessionToken, expires, sessions)
			}
			return b.UpdateSession(ctx, update)
		},
		createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
			plan(t.Key(), t.Expires, tokens)
			return b.CreateVerificationToken(ctx, t)
		},
		deleteExpired: func(ctx context.Context, now time.Time) (adapter.Swept, error) {
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
		},
	}
}

// countsCredentials lets a user remove the last credential after one of theirs was refused.
// count notes the outcome of a creation, and returns its error.
func countsCredentials(b base, shared *sync.Map) (w with, count func(user string, err error) error) {
	w.deleteAuthenticator = func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
		_, more := shared.Load(userID)
		return b.DeleteAuthenticator(ctx, userID, credentialID, keepOne && !more)
	}
	return w, func(user string, err error) error {
		if errors.Is(err, adapter.ErrConflict) {
			shared.Store(user, true)
		}
		return err
	}
}

// miscountsSignUps decides by a counter whether a user loses the last credential. By off it is
// wrong for the users who signed up.
func miscountsSignUps(b base, shared *sync.Map, off func(passkey bool) int) with {
	return with{optional: optional{
		signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
			created, err := b.CreateUserWithAccount(ctx, u, a, w)
			if created != nil {
				shared.Store(created.ID, off(w != nil))
			}
			return created, err
		},
		deleteAuthenticator: func(ctx context.Context, userID, credentialID string, keepOne bool) (*adapter.Authenticator, error) {
			found, err := b.GetAuthenticator(ctx, credentialID)
			wrong, signedUp := shared.Load(userID)
			if !keepOne || err != nil || found == nil || found.UserID != userID || !signedUp {
				return b.DeleteAuthenticator(ctx, userID, credentialID, keepOne)
			}
			accounts, err := b.ListAccountsByUserID(ctx, userID)
			passkeys, listErr := b.ListAuthenticatorsByUserID(ctx, userID)
			left := len(accounts) + len(passkeys) - 1 + wrong.(int)
			for _, a := range accounts {
				if a.Type == adapter.AccountWebAuthn && a.ProviderAccountID == found.ProviderAccountID {
					left-- // in these tests no two passkeys have one account
				}
			}
			switch {
			case err != nil || listErr != nil:
				return nil, errors.Join(err, listErr)
			case left <= 0:
				return nil, adapter.ErrLastCredential
			}
			return b.DeleteAuthenticator(ctx, userID, credentialID, false)
		},
	}}
}
