package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ctxMutants() []Mutant {
	return []Mutant{
		{Name: "context ignored", Listed: "M11", Fails: []string{"CTX-01", "CTX-02"},
			Fault: "every statement runs with context.Background", db: func(db sqlite.DB) sqlite.DB {
				return alteredDB{DB: db, ctx: func(context.Context) context.Context { return context.Background() }}
			}},
		{Name: "deadline is a timeout of the connection", Fails: []string{"CTX-01", "CTX-02"},
			Fault: "a deadline that has passed comes back as os.ErrDeadlineExceeded, as the deadline of a connection does",
			lite:  failing[*lite](createSession, context.DeadlineExceeded, fmt.Errorf("lite: create session: %w", os.ErrDeadlineExceeded))},
		{Name: "deadline is a cancellation", Fails: []string{"CTX-01"},
			Fault: "UseVerificationToken looks at the channel of the context, and says that it was cancelled",
			mem: on(useToken, func(ctx context.Context, m *mem, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				select {
				case <-ctx.Done():
					return nil, context.Canceled
				default:
					return m.UseVerificationToken(ctx, k)
				}
			})},
		{Name: "cancelled write reports success", Fails: []string{"CTX-01", "CTX-03"},
			Fault: "CreateAuthenticator and CreateSession return their argument when the context ends",
			lite: together(
				answering(createSession, context.Canceled,
					func(_ context.Context, _ *lite, s adapter.Session) (*adapter.Session, error) {
						return &s, nil
					}),
				answering(createAuthenticator, context.Canceled,
					func(_ context.Context, _ *lite, a adapter.Authenticator) (*adapter.Authenticator, error) {
						return new(copyAuthenticator(a)), nil
					}))},
		{Name: "cause in place of the context's error", Fails: []string{"CTX-01"},
			Fault: "A call whose context has ended returns the cause that the caller gave, which does not match context.Canceled.",
			mem: func(m *mem, w *with) {
				w.getUser = causeReturned(m.GetUser)
				w.createSession = causeReturned(m.CreateSession)
			}},
		{Name: "cause in place of the error of a lookup", Fails: []string{"CTX-01"}, Fault: "As before, for one lookup.",
			lite: func(l *lite, w *with) { w.getSessionAndUser = causeReturned(l.GetSessionAndUser) }},
		{Name: "writers queue without their contexts", Fails: []string{"CTX-02"},
			Fault: "Updates of users and sessions wait for one mutex per handle, because the store has one writer. While the store stalls, they wait beyond their deadlines.",
			lite: func(l *lite, w *with) {
				var writer sync.Mutex
				w.updateUser = queued(&writer, l.UpdateUser)
				w.updateSession = queued(&writer, l.UpdateSession)
			}},
		{Name: "lookups of users wait for one another", Fails: []string{"CTX-02"},
			Fault: "GetUser allows one query of a user at a time, with a mutex, so that a cache is filled once. Those who wait do not look at their contexts.",
			lite: func(l *lite, w *with) {
				var queues sync.Map
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					queue, _ := queues.LoadOrStore(id, new(sync.Mutex))
					return queued(queue.(*sync.Mutex), l.GetUser)(ctx, id)
				}
			}},
		{Name: "deadline is another error", Fails: []string{"CTX-02"},
			Fault: "the error of a call whose deadline passes does not match context.DeadlineExceeded",
			lite:  failing[*lite](getUser, context.DeadlineExceeded, errors.New("lite: query timeout"))},
		{Name: "second read of a session is not checked", Fails: []string{"CTX-03"},
			Fault: "GetSessionAndUser reads the session and then the user, and ignores the error of the second read: a call that is cancelled in between finds nothing.",
			mem: on(getSessionAndUser, func(ctx context.Context, m *mem, token string) (*adapter.SessionAndUser, error) {
				return joinedSession(ctx, m, token, func(u *adapter.User, _ error) (*adapter.User, error) { return u, nil })
			})},
		{Name: "second statement of a lookup is not checked", Fails: []string{"CTX-03", "ERR-01"},
			Fault: "GetUserByAccount reads the account and then the user, in two statements, and ignores the error of the second one.",
			lite: on(getUserByAccount, func(ctx context.Context, l *lite, key adapter.AccountKey) (*adapter.User, error) {
				a, err := l.GetAccount(ctx, key.ProviderAccountID, key.Provider)
				if a == nil || err != nil {
					return nil, err
				}
				u, _ := l.GetUser(ctx, a.UserID)
				return u, nil
			})},
		{Name: "abandoned calls keep connections", Fails: []string{"CTX-04"},
			Fault: "GetUser takes a connection of its own and does not release it when its context ends",
			lite: on(getUser, func(ctx context.Context, l *lite, id string) (*adapter.User, error) {
				conn, err := l.db.Conn(ctx)
				if err != nil {
					return nil, err
				}
				_, err = conn.ExecContext(ctx, `SELECT 1`)
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				if err = errors.Join(err, conn.Close()); err != nil {
					return nil, err
				}
				return l.GetUser(ctx, id)
			})},
		{Name: "cancelled waiter opens the semaphore", Fails: []string{"CTX-06"}, Races: true,
			Fault: "UpdateUser holds a semaphore while it reads, changes and writes the user. A call that is cancelled while it waits releases the semaphore of another.",
			mem: func(m *mem, w *with) {
				w.updateUser = underSemaphore(m, func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
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
				})
			}},
		{Name: "cancelled waiter opens the semaphore of accounts", Fails: []string{"CTX-06"}, Races: true,
			Fault: "UpdateAccount holds a semaphore while it reads, changes and writes the account. A call that is cancelled while it waits releases the semaphore of another.",
			mem: func(m *mem, w *with) {
				w.updateAccount = underSemaphore(m, func(ctx context.Context, u adapter.AccountUpdate) (*adapter.Account, error) {
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
				})
			}},
		{Name: "calls for one key share a context", Fails: []string{"CTX-06"},
			Fault: "GetSessionAndUser joins a running call for the same token, and fails if the context of that call ends",
			lite: func(l *lite, w *with) {
				w.getSessionAndUser = inOneFlight(l.GetSessionAndUser, copyPointer)
			}},
		{Name: "callers share one lookup", Fails: []string{"CTX-06"},
			Fault: "Callers of GetSessionAndUser wait for one query, also if it began before a write or its caller gave up.",
			lite: func(l *lite, w *with) {
				flights := flightsOf(func(token string) string { return token }, l.GetSessionAndUser)
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					f := flights(ctx, token)
					select {
					case <-f.landed:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					if f.result == nil {
						return nil, f.err
					}
					return &adapter.SessionAndUser{Session: f.result.Session, User: copyUser(f.result.User)}, f.err
				}
			}},
		{Name: "first call cancelled, all calls cancelled", Fails: []string{"CTX-06"},
			Fault: "The adapter connects once, with the context of the first call, and keeps the error.",
			lite: func(l *lite, w *with) {
				var once sync.Once
				var problem error
				connect := func(ctx context.Context) error {
					once.Do(func() { problem = l.db.PingContext(ctx) })
					return problem
				}
				w.getUser = after(connect, l.GetUser)
				w.createUser = after(connect, l.CreateUser)
				w.getSessionAndUser = after(connect, l.GetSessionAndUser)
			}},
		{Name: "first call cancelled, no session ever", Fails: []string{"CTX-06"},
			Fault: "As before, for the lookup of users and the creation of sessions.", mem: func(m *mem, w *with) {
				var once sync.Once
				var problem error
				prepare := func(ctx context.Context) error {
					once.Do(func() { problem = ctx.Err() })
					return problem
				}
				w.getUser = after(prepare, m.GetUser)
				w.createSession = after(prepare, m.CreateSession)
			}},
		{Name: "write comes after the call", Fails: []string{"CTX-07"},
			Fault: "CreateSession writes in a goroutine, and returns before the write when its context ends",
			lite: on(createSession, func(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				type result struct {
					s   *adapter.Session
					err error
				}
				done := make(chan result, 1)
				background, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				go func() {
					defer cancel()
					created, err := l.CreateSession(background, s)
					done <- result{created, err}
				}()
				select {
				case r := <-done:
					return r.s, r.err
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			})},
		{Name: "deadline in whole seconds", Fails: []string{"CTX-08"},
			Fault: "The time that is left is cut to whole seconds: with less than a second a call fails at once.",
			mem: func(m *mem, w *with) {
				w.updateSession = inSeconds(m.UpdateSession)
				w.createVerificationToken = inSeconds(m.CreateVerificationToken)
			}},
		{Name: "deadline of a lookup in whole seconds", Fails: []string{"CTX-08"}, Fault: "As before, for one lookup.",
			lite: func(l *lite, w *with) { w.getUserByEmail = inSeconds(l.GetUserByEmail) }},
	}
}

// queued makes one call at a time.
func queued[A, T any](queue *sync.Mutex, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, argument A) (T, error) {
		defer held(queue)()
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

// after makes a call after another function has returned no error.
func after[A, T any](prepare func(context.Context) error, call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (result T, err error) {
		if err := prepare(ctx); err != nil {
			return result, err
		}
		return call(ctx, a)
	}
}

// causeReturned puts the cause of the context in place of its error.
func causeReturned[A, T any](call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		result, err := call(ctx, a)
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return result, err
	}
}

// inSeconds gives a call the whole seconds that are left to it.
func inSeconds[A, T any](call func(context.Context, A) (T, error)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, a A) (T, error) {
		if end, ok := ctx.Deadline(); ok {
			limited, cancel := context.WithTimeout(ctx, time.Until(end).Truncate(time.Second))
			defer cancel()
			ctx = limited
		}
		return call(ctx, a)
	}
}
