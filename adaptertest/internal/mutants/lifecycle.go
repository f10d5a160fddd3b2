package mutants

import (
	"context"
	"errors"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func lifecycleMutants() []Mutant {
	return []Mutant{
		{Name: "second close fails", Fails: []string{"LIFE-01"},
			Fault: "closing a closed handle is an error",
			mem:   func(*mem) with { return with{} },
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					if a.(*with).base.(*mem).closed.Swap(true) {
						return errClosed
					}
					return nil
				}
			}},
		{Name: "closed adapter reports absence", Fails: []string{"LIFE-02", "ERR-01"},
			Fault: "after Close, GetUser and GetSessionAndUser report absence in place of an error",
			mem: func(m *mem) with {
				return with{
					getUser: func(ctx context.Context, id string) (*adapter.User, error) {
						if m.closed.Load() {
							return nil, nil
						}
						return m.GetUser(ctx, id)
					},
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						if m.closed.Load() {
							return nil, nil
						}
						return m.GetSessionAndUser(ctx, token)
					},
				}
			}},
		{Name: "borrowed handle closed", Fails: []string{"LIFE-03"},
			Fault: "a conflict in CreateUser closes the database that the caller opened",
			lite: func(l *lite) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					created, err := l.CreateUser(ctx, u)
					if errors.Is(err, adapter.ErrConflict) {
						err = errors.Join(err, l.db.Close())
					}
					return created, err
				}}
			}},
		{Name: "goroutine outlives close", Fails: []string{"LIFE-04"},
			Fault: "CreateSession starts a goroutine that waits for the session's expiry",
			mem: func(m *mem) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					go func() { <-time.After(10 * time.Second) }()
					return m.CreateSession(ctx, s)
				}}
			}},
		{Name: "failed calls keep connections", Fails: []string{"LIFE-05"},
			Fault: "CreateSession takes a connection of its own and does not release it when it fails",
			lite: func(l *lite) with {
				l.db.SetMaxOpenConns(0)
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					conn, err := l.db.Conn(ctx)
					if err != nil {
						return nil, err
					}
					created, err := l.CreateSession(ctx, s)
					if err == nil {
						err = conn.Close()
					}
					return created, err
				}}
			}},
		{Name: "close during calls panics", Fails: []string{"LIFE-06", "LIFE-02"},
			Fault: "GetAuthenticator uses a field that Close sets to nil",
			mem: func(m *mem) with {
				return with{getAuthenticator: func(ctx context.Context, id string) (*adapter.Authenticator, error) {
					if m.closed.Load() {
						panic("invalid memory address or nil pointer dereference")
					}
					return m.GetAuthenticator(ctx, id)
				}}
			}},
		{Name: "clean-up goes on after close", Fails: []string{"LIFE-07"},
			Fault: "clean-up runs every 20 ms until long after Close",
			lite: func(l *lite) with {
				return with{createSession: func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					go func() {
						for range 50 {
							<-time.After(20 * time.Millisecond)
							if conn, err := l.faults.Connect(context.Background()); err == nil {
								_ = conn.Close()
							}
						}
					}()
					return l.CreateSession(ctx, s)
				}}
			}},
	}
}
