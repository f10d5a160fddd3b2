package mutants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func contextMutants() []Mutant {
	return []Mutant{
		{Name: "context ignored", Listed: "M11", Fails: []string{"CTX-01", "CTX-02"},
			Fault: "every statement runs with context.Background",
			db: func(db sqlite.DB) sqlite.DB {
				return altered{DB: db, ctx: func(context.Context) context.Context { return context.Background() }}
			}},
		{Name: "deadline is another error", Fails: []string{"CTX-02"},
			Fault: "the error of a call whose deadline passes does not match context.DeadlineExceeded",
			lite: func(l *lite) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
					u, err := l.GetUser(ctx, id)
					if errors.Is(err, context.DeadlineExceeded) {
						err = errors.New("lite: query timeout")
					}
					return u, err
				}}
			}},
		{Name: "deadline is a timeout of the connection", Fails: []string{"CTX-01", "CTX-02"},
			Fault: "a deadline that has passed comes back as os.ErrDeadlineExceeded, as the deadline of a connection does",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					created, err := l.CreateSession(ctx, s)
					if errors.Is(err, context.DeadlineExceeded) {
						err = fmt.Errorf("lite: create session: %w", os.ErrDeadlineExceeded)
					}
					return created, err
				}}
			}},
		{Name: "deadline is a cancellation", Fails: []string{"CTX-01"},
			Fault: "UseVerificationToken looks at the channel of the context, and says that it was cancelled",
			mem: func(m *mem) with {
				return with{useToken: func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					select {
					case <-ctx.Done():
						return nil, context.Canceled
					default:
						return m.UseVerificationToken(ctx, k)
					}
				}}
			}},
		{Name: "cancelled write reports success", Fails: []string{"CTX-01", "CTX-03"},
			Fault: "CreateAuthenticator and CreateSession return their argument when the context ends",
			lite: func(l *lite) with {
				return with{
					createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
						created, err := l.CreateSession(ctx, s)
						if errors.Is(err, context.Canceled) {
							return &s, nil
						}
						return created, err
					},
					createAuthenticator: func(ctx context.Context, a adapter.Authenticator) (*adapter.Authenticator, error) {
						created, err := l.CreateAuthenticator(ctx, a)
						if errors.Is(err, context.Canceled) {
							return new(copyAuthenticator(a)), nil
						}
						return created, err
					},
				}
			}},
		{Name: "abandoned calls keep connections", Fails: []string{"CTX-04"},
			Fault: "GetUser takes a connection of its own and does not release it when its context ends",
			lite: func(l *lite) with {
				return with{getUser: func(ctx context.Context, id string) (*adapter.User, error) {
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
				}}
			}},
		{Name: "calls for one key share a context", Fails: []string{"CTX-06"},
			Fault: "GetSessionAndUser joins a running call for the same token, and fails if the context of that call ends",
			lite: func(l *lite) with {
				type flight struct {
					done  chan struct{}
					found *adapter.SessionAndUser
					err   error
				}
				var mu sync.Mutex
				flights := map[string]*flight{}
				return with{getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					mu.Lock()
					f, joined := flights[token]
					if !joined {
						f = &flight{done: make(chan struct{})}
						flights[token] = f
					}
					mu.Unlock()
					if joined {
						<-f.done
						if f.found == nil {
							return nil, f.err
						}
						return new(*f.found), f.err
					}
					f.found, f.err = l.GetSessionAndUser(ctx, token)
					mu.Lock()
					delete(flights, token)
					mu.Unlock()
					close(f.done)
					return f.found, f.err
				}}
			}},
		{Name: "write comes after the call", Fails: []string{"CTX-07"},
			Fault: "CreateSession writes in a goroutine, and returns before the write when its context ends",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
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
				}}
			}},
	}
}
