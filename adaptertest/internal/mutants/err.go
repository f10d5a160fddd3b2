package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func errMutants() []Mutant {
	return []Mutant{
		{Name: "outage is absence", Listed: "M38", Fails: []string{"ERR-01", "AUTHN-21", "LIFE-02"},
			Fault: "every lookup reports absence when it fails, and the list is empty", lite: func(l *lite, w *with) {
				w.getUser = nothing(l.GetUser)
				w.getUserByEmail = nothing(l.GetUserByEmail)
				w.getUserByAccount = nothing(l.GetUserByAccount)
				w.getSessionAndUser = nothing(l.GetSessionAndUser)
				w.getAuthenticator = nothing(l.GetAuthenticator)
				w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
					a, err := l.GetAccount(ctx, id, provider)
					if err != nil {
						return nil, nil //nolint:nilerr // the fault
					}
					return a, nil
				}
				w.listAuthenticatorsByUserID = func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
					list, err := l.ListAuthenticatorsByUserID(ctx, id)
					if err != nil {
						return []adapter.Authenticator{}, nil //nolint:nilerr // the fault
					}
					return list, nil
				}
			}},
		{Name: "failed link swallowed", Listed: "M10", Fails: []string{"ERR-02", "ACCT-06", "ACCT-16"},
			Fault: "LinkAccount returns its argument when the pair is taken or the user is unknown",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				linked, err := m.LinkAccount(ctx, a)
				if errors.Is(err, adapter.ErrConflict) || errors.Is(err, adapter.ErrNotFound) {
					return new(copyAccount(a)), nil
				}
				return linked, err
			})},
		{Name: "failed write reports success", Fails: []string{"ERR-02"},
			Fault: "CreateSession logs the error of the store and returns its argument",
			lite: on(createSession, func(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
				created, err := l.CreateSession(ctx, s)
				if err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) {
					return &s, nil
				}
				return created, err
			})},
		{Name: "absent is an empty record", Listed: "M25", Fails: []string{"ERR-03", "USER-10", "SESS-03"}, AuthJS: true,
			Fault: "GetUserByEmail and GetSessionAndUser return empty records on a miss",
			mem:   together(blank(getUserByEmail), blank(getSessionAndUser))},
		{Name: "unlinking nothing returns an empty record", Fails: []string{"ERR-03"},
			Fault: "UnlinkAccount of an unknown pair returns an empty account",
			mem:   blank(unlinkAccount)},
		{Name: "causes are hidden", Fails: []string{"ERR-04"}, Fault: "CreateUser replaces every error by 'user not created'",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				created, err := l.CreateUser(ctx, u)
				if err != nil && !errors.Is(err, adapter.ErrConflict) {
					err = errors.New("lite: user not created")
				}
				return created, err
			})},
		{Name: "conflict matches nothing", Fails: []string{"ERR-05"},
			Fault: "CreateAuthenticator of a credential in use fails with an error that does not match ErrConflict",
			mem:   failing[*mem](createAuthenticator, adapter.ErrConflict, errors.New("mem: duplicate credential"))},
		{Name: "miss of an update matches nothing", Fails: []string{"ERR-06"},
			Fault: "UpdateAuthenticatorCounter of an unknown credential fails with an error that does not match ErrNotFound",
			mem: onUpdateCounter(func(ctx context.Context, m *mem, id string, counter int64) (*adapter.Authenticator, error) {
				a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
				if errors.Is(err, adapter.ErrNotFound) {
					err = errors.New("mem: no rows")
				}
				return a, err
			})},
		{Name: "record comes with the error", Fails: []string{"ERR-07"},
			Fault: "LinkAccount returns its argument together with a conflict",
			mem: on(linkAccount, func(ctx context.Context, m *mem, a adapter.Account) (*adapter.Account, error) {
				linked, err := m.LinkAccount(ctx, a)
				if err != nil {
					linked = new(copyAccount(a))
				}
				return linked, err
			})},
		{Name: "error quotes the session token", Fails: []string{"ERR-08"},
			Fault: "the error of CreateSession contains the session token that is taken",
			mem: erring[*mem](createSession, nil, func(s adapter.Session, err error) error {
				return fmt.Errorf("mem: key (token)=(%s) already exists: %w", s.SessionToken, err)
			})},
		{Name: "every error is a conflict", Fails: []string{"ERR-09"}, Fault: "LinkAccount reports every error as a conflict",
			lite: erring[*lite](linkAccount, nil, func(_ adapter.Account, err error) error {
				return fmt.Errorf("%w: %w", adapter.ErrConflict, err)
			})},
		{Name: "undecodable is absent", Fails: []string{"ERR-10"},
			Fault: "GetSessionAndUser reports a session that it can't decode as absent",
			lite: on(getSessionAndUser, func(ctx context.Context, l *lite, token string) (*adapter.SessionAndUser, error) {
				s, err := l.GetSessionAndUser(ctx, token)
				if err != nil && strings.Contains(err.Error(), "stored expires") {
					return nil, nil
				}
				return s, err
			})},
		{Name: "undecodable is deleted", Fails: []string{"ERR-10"},
			Fault: "GetUser deletes a user whom it can't decode, and fails",
			lite: on(getUser, func(ctx context.Context, l *lite, id string) (*adapter.User, error) {
				u, err := l.GetUser(ctx, id)
				if err != nil && strings.Contains(err.Error(), "stored emailVerified") {
					err = errors.Join(err, l.exec(ctx, `DELETE FROM "user" WHERE id = ?`, id))
				}
				return u, err
			})},
		{Name: "outage is the last credential", Fails: []string{"ERR-11"},
			Fault: "DeleteAuthenticator that keeps one counts the user's authenticators and ignores the error: when the store fails the count is zero, and the error is ErrLastCredential.",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				if keepOne {
					if _, err := l.ListAuthenticatorsByUserID(ctx, userID); storeFailed(ctx, err) {
						return nil, fmt.Errorf("lite: delete authenticator: %w", adapter.ErrLastCredential)
					}
				}
				return l.DeleteAuthenticator(ctx, userID, id, keepOne)
			})},
		{Name: "accounts that can't be counted are none", Fails: []string{"ERR-11"},
			Fault: "DeleteAuthenticator that keeps one looks for the user's accounts if there is one authenticator, and ignores the error: the error is ErrLastCredential.",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				if keepOne {
					list, err := l.ListAuthenticatorsByUserID(ctx, userID)
					if err != nil {
						return nil, err
					}
					if len(list) == 1 {
						if _, err := l.ListAccountsByUserID(ctx, userID); storeFailed(ctx, err) {
							return nil, fmt.Errorf("lite: delete authenticator: %w", adapter.ErrLastCredential)
						}
					}
				}
				return l.DeleteAuthenticator(ctx, userID, id, keepOne)
			})},
		{Name: "absent owner is a conflict", Fails: []string{"ERR-11"},
			Fault: "the error of LinkAccount for an unknown user matches ErrConflict",
			mem:   failing[*mem](linkAccount, adapter.ErrNotFound, conflict("the account"))},
		{Name: "every constraint is a conflict", Fails: []string{"ERR-11"},
			Fault: "CreateSession reports a violated foreign key as a taken token",
			lite:  failing[*lite](createSession, adapter.ErrNotFound, conflict("the session token"))},
		{Name: "error for an absent owner matches nothing", Fails: []string{"ERR-11"},
			Fault: "the error of UpdateSession for an unknown new owner matches nothing",
			mem:   failing[*mem](updateSession, adapter.ErrNotFound, errors.New("mem: foreign key"))},
		{Name: "taken credential is not found", Fails: []string{"ERR-11"},
			Fault: "the error of CreateAuthenticator for a taken ID matches ErrNotFound too",
			mem: erring[*mem](createAuthenticator, adapter.ErrConflict, func(_ adapter.Authenticator, err error) error {
				return fmt.Errorf("%w: %w", err, adapter.ErrNotFound)
			})},
		{Name: "busy store is a conflict", Fails: []string{"ERR-11"}, Fault: "every error of CreateUser matches ErrConflict",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				created, err := l.CreateUser(ctx, u)
				if err != nil && !errors.Is(err, adapter.ErrConflict) && ctx.Err() == nil {
					err = fmt.Errorf("%w: %w", adapter.ErrConflict, err)
				}
				return created, err
			})},
		{Name: "unavailable store reports not found", Fails: []string{"ERR-11"},
			Fault: "every error of UpdateUser matches ErrNotFound, unless it is a conflict",
			lite: on(updateUser, func(ctx context.Context, l *lite, u adapter.UserUpdate) (*adapter.User, error) {
				updated, err := l.UpdateUser(ctx, u)
				if err != nil && !errors.Is(err, adapter.ErrConflict) && ctx.Err() == nil {
					err = fmt.Errorf("%w: %w", adapter.ErrNotFound, err)
				}
				return updated, err
			})},
		{Name: "retry conflicts with its own write", Fails: []string{"ERR-11"},
			Fault: "LinkAccount tries again after a lost reply and reports the account that it has just written as a conflict",
			lite: on(linkAccount, func(ctx context.Context, l *lite, a adapter.Account) (*adapter.Account, error) {
				linked, err := l.LinkAccount(ctx, a)
				if err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) && ctx.Err() == nil {
					return l.LinkAccount(ctx, a)
				}
				return linked, err
			})},
		{Name: "retried update finds nothing", Fails: []string{"ERR-11"},
			Fault: "UpdateAuthenticatorCounter tries again with the counter that it has read as condition, and reports not found when the counter has changed",
			lite: onUpdateCounter(func(ctx context.Context, l *lite, id string, counter int64) (*adapter.Authenticator, error) {
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
			})},
		{Name: "text that is no UTF-8 is a conflict", Fails: []string{"ERR-11"},
			Fault: "CreateUser and UpdateUser refuse a name that is not UTF-8, with ErrConflict.", mem: together(
				refusing(createUser, conflict("the name"), func(_ *mem, u adapter.User) bool {
					return !utf8.ValidString(text(u.Name))
				}),
				refusing(updateUser, conflict("the name"), func(_ *mem, u adapter.UserUpdate) bool {
					name, _ := u.Name.Get()
					return !utf8.ValidString(text(name))
				}))},
		{Name: "text that is too long is a conflict in SQL", Fails: []string{"ERR-11"},
			Fault: "LinkAccount reports every error of the classes 22 and 23 as ErrConflict, also a token that is too long for its column.",
			lite: refusing(linkAccount, conflict("the account"), func(_ *lite, a adapter.Account) bool {
				return len(text(a.AccessToken)) > 1<<16
			})},
		{Name: "failed update keeps the address reserved", Fails: []string{"ERR-12"},
			Fault: "UpdateUser of an absent user fails after it has reserved the address.",
			mem: spoiling(updateUser, adapter.ErrNotFound, func(m *mem, u adapter.UserUpdate) {
				email, _ := u.Email.Get()
				if _, ok := m.users[u.ID]; !ok && email != "" && m.emails[email] == "" {
					m.emails[email] = u.ID
				}
			})},
		{Name: "failed link keeps the key reserved", Fails: []string{"ERR-12"},
			Fault: "LinkAccount for an absent owner fails after it has reserved the key.", lite: func(l *lite, w *with) {
				var reserved sync.Map
				w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					if _, taken := reserved.Load(a.Key()); taken {
						return nil, fmt.Errorf("lite: the key is reserved: %w", adapter.ErrConflict)
					}
					linked, err := l.LinkAccount(ctx, a)
					if errors.Is(err, adapter.ErrNotFound) {
						reserved.Store(a.Key(), true)
					}
					return linked, err
				}
			}},
		{Name: "second connection does not check owners", Fails: []string{"ERR-13"}, Races: true,
			Fault: "Foreign keys are enforced on the first connection of the pool only. CreateSession for an absent user succeeds over another one, which the pool opens while the first is in use.",
			lite: func(l *lite, w *with) {
				first := make(chan struct{}, 1)
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					select {
					case first <- struct{}{}:
						defer func() { <-first }()
						return l.CreateSession(ctx, s)
					default:
						return ownerUnchecked(ctx, l, s)
					}
				}
			}},
		{Name: "circuit breaker counts conflicts", Fails: []string{"ERR-13"},
			Fault: "Five errors in a row, refusals included, make CreateUser fail for a second.",
			lite:  func(l *lite, w *with) { w.createUser = breakerOf(new(breaker), l.CreateUser) }},
		{Name: "circuit breaker counts what is absent", Fails: []string{"ERR-13"},
			Fault: "Five errors in a row of the creation of sessions, ErrNotFound included, make it fail for a second.",
			mem:   func(m *mem, w *with) { w.createSession = breakerOf(new(breaker), m.CreateSession) }},
		{Name: "the last credential keeps a connection", Fails: []string{"ERR-13"},
			Fault: "DeleteAuthenticator doesn't give its connection back when it fails with ErrLastCredential.",
			lite: onDeleteAuthenticator(func(ctx context.Context, l *lite, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
				a, err := l.DeleteAuthenticator(ctx, userID, id, keepOne)
				if errors.Is(err, adapter.ErrLastCredential) {
					if _, err := l.db.Conn(ctx); err != nil { // never closed
						return nil, err
					}
				}
				return a, err
			})},
	}
}

// nothing makes a lookup report absence in place of an error.
func nothing[A, T any](lookup func(context.Context, A) (*T, error)) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, key A) (*T, error) {
		record, err := lookup(ctx, key)
		if err != nil {
			return nil, nil //nolint:nilerr // the fault
		}
		return record, nil
	}
}

// breaker is a circuit breaker that counts every error.
type breaker struct {
	mu    sync.Mutex
	count int
	until time.Time
}

func breakerOf[A, T any](b *breaker, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (result T, err error) {
		b.mu.Lock()
		open := time.Now().Before(b.until)
		b.mu.Unlock()
		if open {
			return result, errors.New("the circuit breaker is open")
		}
		result, err = call(ctx, a)
		defer held(&b.mu)()
		if b.count++; err == nil {
			b.count = 0
		}
		if b.count == 5 {
			b.count, b.until = 0, time.Now().Add(time.Second)
		}
		return result, err
	}
}
