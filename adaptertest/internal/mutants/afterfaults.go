package mutants

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// faultMutants are wrong after the store has failed, or after the context of a call has
// ended: they try again, clean up, remember or guess where they should return the error.
func faultMutants() []Mutant {
	return []Mutant{
		{Name: "unlinking tried again finds nothing", Fails: []string{"FAULT-07"},
			Fault: "UnlinkAccount tries again when the store fails. If only the reply was lost, the second try finds nothing, and the call says that there was no account.",
			lite: func(l *lite) with {
				return with{unlinkAccount: func(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
					return triedAgain(ctx, k, l.UnlinkAccount)
				}}
			}},
		{Name: "counter that is written again is stale", Fails: []string{"FAULT-07"},
			Fault: "TouchAuthenticator tries again when the store fails. If only the reply was lost, the second try finds its own counter, and says that the counter was not the expected one.",
			lite: func(l *lite) with {
				return with{optional: optional{touch: func(ctx context.Context, credentialID string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
					return triedAgain(ctx, credentialID, func(ctx context.Context, credentialID string) (*adapter.Authenticator, error) {
						return l.TouchAuthenticator(ctx, credentialID, from, to, used)
					})
				}}}
			}},
		{Name: "writers queue without their contexts", Fails: []string{"CTX-02"},
			Fault: "Updates of users and sessions wait for one mutex per handle, because the store has one writer. While the store stalls, they wait beyond their deadlines.",
			lite: func(l *lite) with {
				var writer sync.Mutex
				return with{updateUser: queued(&writer, l.UpdateUser), updateSession: queued(&writer, l.UpdateSession)}
			}},
		{Name: "lookups of users wait for one another", Fails: []string{"CTX-02"},
			Fault: "GetUser allows one query of a user at a time, with a mutex, so that a cache is filled once. Those who wait do not look at their contexts.",
			lite: func(l *lite) with {
				var queues sync.Map
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					queue, _ := queues.LoadOrStore(id, new(sync.Mutex))
					return queued(queue.(*sync.Mutex), l.GetUser)(ctx, id)
				}}
			}},
		{Name: "failed sign-up is cleaned up by address", Fails: []string{"FAULT-05"},
			Fault: "CreateUserWithAccount undoes a failure of the store by deleting whoever has the address, also if the address was taken before.",
			lite: func(l *lite) with {
				return with{optional: optional{signUp: func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
					got, err := l.CreateUserWithAccount(ctx, u, a, w)
					if storeFailed(ctx, err) && u.Email != "" {
						if holder, _ := l.GetUserByEmail(ctx, u.Email); holder != nil {
							_, _ = l.DeleteUser(ctx, holder.ID)
						}
					}
					return got, err
				}}}
			}},
		{Name: "taken account counts as linked", Fails: []string{"FAULT-05"},
			Fault: "LinkAccount tries again when the store fails, and takes a conflict then for its own first try. The account may be another user's.",
			lite: func(l *lite) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					return takenAsOwn(ctx, a, l.LinkAccount, func() (*adapter.Account, error) { return &a, nil })
				}}
			}},
		{Name: "taken address counts as the own one", Fails: []string{"FAULT-05"},
			Fault: "CreateUser tries again when the store fails. If the address is taken then, it returns the user who has it, as the one that its first try has created.",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					return takenAsOwn(ctx, u, l.CreateUser, func() (*adapter.User, error) { return l.GetUserByEmail(ctx, u.Email) })
				}}
			}},
		{Name: "failed link is unlinked", Fails: []string{"FAULT-05"},
			Fault: "LinkAccount undoes a failure of the store by unlinking the account, also if another user had it before.",
			lite: func(l *lite) with {
				return with{linkAccount: func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
					got, err := l.LinkAccount(ctx, a)
					if storeFailed(ctx, err) {
						_, _ = l.UnlinkAccount(ctx, a.Key())
					}
					return got, err
				}}
			}},
		{Name: "last known session is served", Fails: []string{"FAULT-09"},
			Fault: "GetSessionAndUser returns its last good answer when the store fails, also if another process has ended the session since.",
			lite: func(l *lite) with {
				var known sync.Map
				return with{
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						found, err := l.GetSessionAndUser(ctx, token)
						if storeFailed(ctx, err) {
							if last, ok := known.Load(token); ok {
								s := last.(adapter.SessionAndUser)
								return &adapter.SessionAndUser{Session: copySession(s.Session), User: copyUser(s.User)}, nil
							}
						}
						if found != nil {
							known.Store(strings.Clone(token), adapter.SessionAndUser{Session: copySession(found.Session), User: copyUser(found.User)})
						}
						return found, err
					},
					updateSession: cleared(&known, l.UpdateSession),
					deleteSession: cleared(&known, l.DeleteSession),
					updateUser:    cleared(&known, l.UpdateUser),
					deleteUser:    cleared(&known, l.DeleteUser),
				}
			}},
		{Name: "last known user is served", Fails: []string{"FAULT-09"},
			Fault: "GetUser returns its last good answer when the store fails, also if another process has changed or deleted the user since.",
			lite: func(l *lite) with {
				var known sync.Map
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						found, err := l.GetUser(ctx, id)
						if storeFailed(ctx, err) {
							if last, ok := known.Load(id); ok {
								return new(copyUser(last.(adapter.User))), nil
							}
						}
						if found != nil {
							known.Store(strings.Clone(id), copyUser(*found))
						}
						return found, err
					},
					updateUser: cleared(&known, l.UpdateUser),
					deleteUser: cleared(&known, l.DeleteUser),
				}
			}},
		{Name: "outage is the last credential", Fails: []string{"ERR-11"},
			Fault: "DeleteAuthenticator that keeps one counts the user's authenticators and ignores the error: when the store fails the count is zero, and the error is ErrLastCredential.",
			lite: func(l *lite) with {
				return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
					if keepOne {
						if _, err := l.ListAuthenticatorsByUserID(ctx, userID); storeFailed(ctx, err) {
							return nil, fmt.Errorf("lite: delete authenticator: %w", adapter.ErrLastCredential)
						}
					}
					return l.DeleteAuthenticator(ctx, userID, id, keepOne)
				}}}
			}},
		{Name: "accounts that can't be counted are none", Fails: []string{"ERR-11"},
			Fault: "DeleteAuthenticator that keeps one looks for the user's accounts if there is one authenticator, and ignores the error: the error is ErrLastCredential.",
			lite: func(l *lite) with {
				return with{optional: optional{deleteAuthenticator: func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
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
				}}}
			}},
		{Name: "cancelled waiter opens the semaphore", Races: true, Fails: []string{"CTX-06"},
			Fault: "UpdateUser holds a semaphore while it reads, changes and writes the user. A call that is cancelled while it waits releases the semaphore of another.",
			mem: func(m *mem) with {
				return with{updateUser: underSemaphore(m, func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					old, err := m.GetUser(ctx, u.ID)
					if err != nil {
						return nil, err
					}
					if old == nil {
						return nil, notFound("user")
					}
					roundTrip()
					return write(ctx, m, func() (*adapter.User, error) {
						if _, ok := m.users[u.ID]; !ok {
							return nil, notFound("user")
						}
						u.Apply(old)
						if holder, taken := m.emails[old.Email]; taken && holder != old.ID {
							return nil, conflict("the e-mail")
						}
						m.putUser(*old)
						return new(copyUser(*old)), nil
					})
				})}
			}},
		{Name: "cancelled waiter opens the semaphore of accounts", Races: true, Fails: []string{"CTX-06"},
			Fault: "UpdateAccount holds a semaphore while it reads, changes and writes the account. A call that is cancelled while it waits releases the semaphore of another.",
			mem: func(m *mem) with {
				return with{optional: optional{updateAccount: underSemaphore(m, func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
					old, err := m.GetAccount(ctx, u.ProviderAccountID, u.Provider)
					if err != nil {
						return nil, err
					}
					if old == nil {
						return nil, notFound("account")
					}
					roundTrip()
					return write(ctx, m, func() (*adapter.Account, error) {
						if _, ok := m.accounts[old.Key()]; !ok {
							return nil, notFound("account")
						}
						u.Apply(old)
						m.accounts[old.Key()] = copyAccount(*old)
						return old, nil
					})
				})}}
			}},
		{Name: "new connections do not check owners", Fails: []string{"FAULT-06"},
			Fault: "Foreign keys are enforced on the first connection only: after it broke, CreateSession for an absent user succeeds.",
			lite: func(l *lite) with {
				var broke atomic.Bool
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						u, err := l.GetUser(ctx, id)
						if storeFailed(ctx, err) {
							broke.Store(true)
						}
						return u, err
					},
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						if broke.Load() {
							return ownerUnchecked(ctx, l, s)
						}
						return l.CreateSession(ctx, s)
					},
				}
			}},
		{Name: "second connection does not check owners", Races: true, Fails: []string{"ERR-13"},
			Fault: "Foreign keys are enforced on the first connection of the pool only. CreateSession for an absent user succeeds over another one, which the pool opens while the first is in use.",
			lite: func(l *lite) with {
				first := make(chan struct{}, 1)
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					select {
					case first <- struct{}{}:
						defer func() { <-first }()
						return l.CreateSession(ctx, s)
					default:
						return ownerUnchecked(ctx, l, s)
					}
				}}
			}},
		{Name: "use tried again finds no token", Fails: []string{"FAULT-01", "FAULT-07"},
			Fault: "UseVerificationToken tries again when the store fails. If only the reply was lost, the call says that there was no token.",
			lite: func(l *lite) with {
				return with{useToken: func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					return triedAgain(ctx, k, l.UseVerificationToken)
				}}
			}},
	}
}

// storeFailed reports whether an error is one of the store, not one of the contract, of
// the context, of the arguments, of the stored data or of Close.
func storeFailed(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil {
		return false
	}
	for _, known := range []error{adapter.ErrConflict, adapter.ErrNotFound, adapter.ErrLastCredential, adapter.ErrUnsupported, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return false
		}
	}
	for _, text := range []string{"is empty", "stored ", "outside the years", "not JSON", "is closed"} {
		if strings.Contains(err.Error(), text) {
			return false
		}
	}
	return true
}

// triedAgain makes a call, and makes it again if the store fails.
func triedAgain[K, T any](ctx context.Context, key K, call func(context.Context, K) (T, error)) (T, error) {
	result, err := call(ctx, key)
	if storeFailed(ctx, err) {
		return call(ctx, key)
	}
	return result, err
}

// takenAsOwn makes a call again when the store fails, and takes a conflict then for the
// record of its own first try.
func takenAsOwn[A, T any](ctx context.Context, argument A, call func(context.Context, A) (*T, error), own func() (*T, error)) (*T, error) {
	got, err := call(ctx, argument)
	if !storeFailed(ctx, err) {
		return got, err
	}
	if got, err = call(ctx, argument); errors.Is(err, adapter.ErrConflict) {
		return own()
	}
	return got, err
}

// queued makes one call at a time.
func queued[A, T any](queue *sync.Mutex, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, argument A) (T, error) {
		queue.Lock()
		defer queue.Unlock()
		return call(ctx, argument)
	}
}

// cleared makes a call and clears a cache afterwards.
func cleared[A, T any](cache *sync.Map, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, argument A) (T, error) {
		defer cache.Clear()
		return call(ctx, argument)
	}
}

// roundTrip lets other calls run, like a round trip to a store.
func roundTrip() {
	for range 20 {
		runtime.Gosched()
	}
}

// underSemaphore makes a call under a semaphore that all handles share. A call that does
// not get it releases it all the same.
func underSemaphore[A, T any](m *mem, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	semaphore := kept(m.records, "semaphore", func() chan struct{} { return make(chan struct{}, 1) })
	return func(ctx context.Context, argument A) (result T, err error) {
		defer func() {
			select {
			case <-semaphore:
			default:
			}
		}()
		select {
		case semaphore <- struct{}{}:
			return call(ctx, argument)
		case <-ctx.Done():
			return result, ctx.Err()
		}
	}
}

// ownerUnchecked creates a session over a connection that does not enforce foreign keys.
func ownerUnchecked(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
	created, err := l.CreateSession(ctx, s)
	if !errors.Is(err, adapter.ErrNotFound) {
		return created, err
	}
	conn, err := l.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, `PRAGMA foreign_keys = 0`); err != nil {
		return nil, err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), `PRAGMA foreign_keys = 1`) //nolint:errcheck // as at the beginning
	_, err = conn.ExecContext(ctx, `INSERT INTO "session" (sessionToken, userId, expires) VALUES (?, ?, ?)`, s.SessionToken, s.UserID, s.Expires.UnixMilli())
	if err != nil {
		return nil, err
	}
	s.Expires = s.Expires.UTC().Truncate(time.Millisecond)
	return &s, nil
}
