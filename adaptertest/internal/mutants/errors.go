package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func errorMutants() []Mutant {
	return []Mutant{
		{Name: "outage is absence", Listed: "M38", Fails: []string{"ERR-01", "AUTHN-21", "LIFE-02"},
			Fault: "every lookup reports absence when it fails, and the list is empty",
			lite: func(l *lite) with {
				return with{
					getUser: nothing(l.GetUser), getUserByEmail: nothing(l.GetUserByEmail), getUserByAccount: nothing(l.GetUserByAccount),
					getSessionAndUser: nothing(l.GetSessionAndUser), getAuthenticator: nothing(l.GetAuthenticator),
					getAccount: func(ctx context.Context, id, provider string) (*adapter.Account, error) {
						a, err := l.GetAccount(ctx, id, provider)
						if err != nil {
							return nil, nil //nolint:nilerr // the fault
						}
						return a, nil
					},
					listAuthenticators: func(ctx context.Context, id string) ([]adapter.Authenticator, error) {
						list, err := l.ListAuthenticatorsByUserID(ctx, id)
						if err != nil {
							return []adapter.Authenticator{}, nil //nolint:nilerr // the fault
						}
						return list, nil
					},
				}
			}},
		{Name: "failed write reports success", Fails: []string{"ERR-02"},
			Fault: "CreateSession logs the error of the store and returns its argument",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := l.CreateSession(ctx, s)
					if err != nil && !errors.Is(err, adapter.ErrConflict) && !errors.Is(err, adapter.ErrNotFound) {
						return &s, nil
					}
					return created, err
				}}
			}},
		{Name: "absent is an empty record", Listed: "M25", Fails: []string{"ERR-03", "USER-10", "SESS-03"}, AuthJS: true,
			Fault: "GetUserByEmail and GetSessionAndUser return empty records on a miss",
			mem: func(m *mem) with {
				return with{
					getUserByEmail: func(ctx context.Context, email string) (*adapter.User, error) {
						u, err := m.GetUserByEmail(ctx, email)
						if u == nil && err == nil {
							u = &adapter.User{}
						}
						return u, err
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						s, err := m.GetSessionAndUser(ctx, token)
						if s == nil && err == nil {
							s = &adapter.SessionAndUser{}
						}
						return s, err
					},
				}
			}},
		{Name: "unlinking nothing returns an empty record", Fails: []string{"ERR-03"},
			Fault: "UnlinkAccount of an unknown pair returns an empty account",
			mem: func(m *mem) with {
				return with{unlinkAccount: func(ctx context.Context, key adapter.AccountKey) (*adapter.Account, error) {
					a, err := m.UnlinkAccount(ctx, key)
					if a == nil && err == nil {
						a = &adapter.Account{}
					}
					return a, err
				}}
			}},
		{Name: "causes are hidden", Fails: []string{"ERR-04"},
			Fault: "CreateUser replaces every error by 'user not created'",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					created, err := l.CreateUser(ctx, u)
					if err != nil && !errors.Is(err, adapter.ErrConflict) {
						err = errors.New("lite: user not created")
					}
					return created, err
				}}
			}},
		{Name: "conflict matches nothing", Fails: []string{"ERR-05"},
			Fault: "CreateAuthenticator of a credential in use fails with an error that does not match ErrConflict",
			mem: func(m *mem) with {
				return with{createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
					created, err := m.CreateAuthenticator(ctx, a)
					if errors.Is(err, adapter.ErrConflict) {
						err = errors.New("mem: duplicate credential")
					}
					return created, err
				}}
			}},
		{Name: "miss of an update matches nothing", Fails: []string{"ERR-06"},
			Fault: "UpdateAuthenticatorCounter of an unknown credential fails with an error that does not match ErrNotFound",
			mem: func(m *mem) with {
				return with{updateCounter: func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
					a, err := m.UpdateAuthenticatorCounter(ctx, id, counter)
					if errors.Is(err, adapter.ErrNotFound) {
						err = errors.New("mem: no rows")
					}
					return a, err
				}}
			}},
		{Name: "record comes with the error", Fails: []string{"ERR-07"},
			Fault: "LinkAccount returns its argument together with a conflict",
			mem: func(m *mem) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := m.LinkAccount(ctx, a)
					if err != nil {
						linked = new(copyAccount(a))
					}
					return linked, err
				}}
			}},
		{Name: "error quotes the session token", Fails: []string{"ERR-08"},
			Fault: "the error of CreateSession contains the session token that is taken",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := m.CreateSession(ctx, s)
					if err != nil {
						err = fmt.Errorf("mem: key (token)=(%s) already exists: %w", s.SessionToken, err)
					}
					return created, err
				}}
			}},
		{Name: "every error is a conflict", Fails: []string{"ERR-09"},
			Fault: "LinkAccount reports every error as a conflict",
			lite: func(l *lite) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					linked, err := l.LinkAccount(ctx, a)
					if err != nil {
						err = fmt.Errorf("%w: %w", adapter.ErrConflict, err)
					}
					return linked, err
				}}
			}},
		{Name: "undecodable is absent", Fails: []string{"ERR-10"},
			Fault: "GetSessionAndUser reports a session that it can't decode as absent",
			lite: func(l *lite) with {
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					s, err := l.GetSessionAndUser(ctx, token)
					if err != nil && strings.Contains(err.Error(), "stored expires") {
						return nil, nil
					}
					return s, err
				}}
			}},
		{Name: "undecodable is deleted", Fails: []string{"ERR-10"},
			Fault: "GetUser deletes a user whom it can't decode, and fails",
			lite: func(l *lite) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := l.GetUser(ctx, id)
					if err != nil && strings.Contains(err.Error(), "stored emailVerified") {
						err = errors.Join(err, l.exec(ctx, `DELETE FROM "user" WHERE id = ?`, id))
					}
					return u, err
				}}
			}},
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
