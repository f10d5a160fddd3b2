package mutants

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func lifeMutants() []Mutant {
	return []Mutant{
		{Name: "Close counts twice", Fails: []string{"LIFE-01"},
			Fault: "Handles share a counted connection. The second Close of one handle counts down again, and closes the connection of another.",
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					m := a.(*with).base.(*mem)
					m.closed.Store(true)
					kept(m.records, "handles", func() *handles { return new(handles) }).release()
					return nil
				}
			},
			mem: func(m *mem, w *with) {
				kept(m.records, "handles", func() *handles { return new(handles) }).add(func() { m.closed.Store(true) })

			}},
		{Name: "Close of a file counts twice", Fails: []string{"LIFE-01"}, Fault: "As before, for the handles on one file.",
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					l := a.(*with).base.(*lite)
					handlesOn(l.path).release()
					return l.db.Close()
				}
			},
			lite: func(l *lite, w *with) {
				handlesOn(l.path).add(func() { _ = l.db.Close() })

			}},
		{Name: "second close fails", Fails: []string{"LIFE-01"}, Fault: "closing a closed handle is an error",
			harness: func(h *adaptertest.Harness) {
				h.Close = func(a adapter.Adapter) error {
					if a.(*with).base.(*mem).closed.Swap(true) {
						return errClosed
					}
					return nil
				}
			},
			mem: func(_ *mem, w *with) {}},
		{Name: "closed adapter reports absence", Fails: []string{"LIFE-02", "ERR-01"},
			Fault: "after Close, GetUser and GetSessionAndUser report absence in place of an error", mem: func(m *mem, w *with) {
				w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
					if m.closed.Load() {
						return nil, nil
					}
					return m.GetUser(ctx, id)
				}
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					if m.closed.Load() {
						return nil, nil
					}
					return m.GetSessionAndUser(ctx, token)
				}
			}},
		{Name: "borrowed handle closed", Fails: []string{"LIFE-03"},
			Fault: "a conflict in CreateUser closes the database that the caller opened",
			lite: on(createUser, func(ctx context.Context, l *lite, u adapter.User) (*adapter.User, error) {
				created, err := l.CreateUser(ctx, u)
				if errors.Is(err, adapter.ErrConflict) {
					err = errors.Join(err, l.db.Close())
				}
				return created, err
			})},
		{Name: "goroutine outlives close", Fails: []string{"LIFE-04"},
			Fault: "CreateSession starts a goroutine that waits for the session's expiry",
			mem:   given[*mem](createSession, func(s *adapter.Session) { go func() { <-time.After(10 * time.Second) }() })},
		{Name: "failed calls keep connections", Fails: []string{"LIFE-05"},
			Fault: "CreateSession takes a connection of its own and does not release it when it fails",
			lite: func(l *lite, w *with) {
				l.db.SetMaxOpenConns(0)
				w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
					conn, err := l.db.Conn(ctx)
					if err != nil {
						return nil, err
					}
					created, err := l.CreateSession(ctx, s)
					if err == nil {
						err = conn.Close()
					}
					return created, err
				}
			}},
		{Name: "close during calls panics", Fails: []string{"LIFE-06", "LIFE-02"},
			Fault: "GetAuthenticator uses a field that Close sets to nil",
			mem: on(getAuthenticator, func(ctx context.Context, m *mem, id string) (*adapter.Authenticator, error) {
				if m.closed.Load() {
					panic("invalid memory address or nil pointer dereference")
				}
				return m.GetAuthenticator(ctx, id)
			})},
		{Name: "clean-up goes on after close", Fails: []string{"LIFE-07"},
			Fault: "clean-up runs every 20 ms until long after Close",
			lite: on(createSession, func(ctx context.Context, l *lite, s adapter.Session) (*adapter.Session, error) {
				l.late.Go(func() {
					for range 50 {
						<-time.After(20 * time.Millisecond)
						if conn, err := l.faults.Connect(context.Background()); err == nil {
							_ = conn.Close()
						}
					}
				})
				return l.CreateSession(ctx, s)
			})},
		{Name: "miss leaves a transaction open", Fails: []string{"LIFE-08"}, AuthJS: true,
			Fault: "UseVerificationToken begins a transaction and does not end it when the token is unknown",
			lite: on(useToken, func(ctx context.Context, l *lite, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := l.peek(ctx, key)
				if t == nil && err == nil {
					tx, err := l.db.BeginTx(context.WithoutCancel(ctx), nil)
					if err == nil {
						_, err = tx.ExecContext(ctx, `DELETE FROM "verificationToken" WHERE identifier = ? AND token = ?`, key.Identifier, key.Token)
					}
					return nil, err
				}
				return l.UseVerificationToken(ctx, key)
			})},
		{Name: "miss keeps its connection", Fails: []string{"LIFE-08"},
			Fault: "GetUser takes a connection and releases it only if it finds a user",
			lite: on(getUser, func(ctx context.Context, l *lite, id string) (*adapter.User, error) {
				u, err := l.GetUser(ctx, id)
				if u == nil && err == nil {
					_, err = l.db.Conn(ctx)
				}
				return u, err
			})},
		{Name: "empty list keeps its rows", Fails: []string{"LIFE-08"},
			Fault: "ListAuthenticatorsByUserID does not close the result when it is empty",
			lite: on(listAuthenticators, func(ctx context.Context, l *lite, userID string) ([]adapter.Authenticator, error) {
				list, err := l.ListAuthenticatorsByUserID(ctx, userID)
				if err == nil && len(list) == 0 {
					var rows *sql.Rows
					if rows, err = l.db.QueryContext(context.WithoutCancel(ctx), `SELECT id FROM "user" UNION ALL SELECT 'x'`); err == nil { //nolint:rowserrcheck,sqlclosecheck // the seeded fault
						rows.Next()
					}
				}
				return list, err
			})},
		{Name: "miss keeps the lock", Fails: []string{"LIFE-08"},
			Fault: "DeleteSession of an unknown token returns without unlocking", mem: func(m *mem, w *with) {
				held := make(chan struct{}, 1)
				w.deleteSession = func(ctx context.Context, token string) (*adapter.Session, error) {
					s, err := m.DeleteSession(ctx, token)
					if s == nil && err == nil {
						select {
						case held <- struct{}{}:
							m.mu.Lock()
							kept(m.records, "locked", func() *bool { return new(true) })
							m.mu.Unlock()
						default:
						}
					}
					return s, err
				}
				w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
					m.mu.Lock()
					_, locked := m.extra["locked"]
					m.mu.Unlock()
					if locked {
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return m.UpdateUser(ctx, u)
				}
			}},
		{Name: "each call watches its context", Fails: []string{"LIFE-09"},
			Fault: "Each lookup of a session starts a goroutine that ends with the context of the call, not with the call.",
			lite: on(getSessionAndUser, func(ctx context.Context, l *lite, token string) (*adapter.SessionAndUser, error) {
				go func() { <-ctx.Done() }()
				return l.GetSessionAndUser(ctx, token)
			})},
		{Name: "each new session is counted by a goroutine", Fails: []string{"LIFE-09"},
			Fault: "CreateSession hands the session to a goroutine over a channel that nobody closes.", mem: func(m *mem, w *with) {
				counter := make(chan struct{}, 1)
				w.createSession = then(m.CreateSession, func(_ adapter.Session, _ *adapter.Session) { go func() { counter <- struct{}{} }() })
			}},
	}
}

// handles counts the open handles on one store, and closes all when none is left.
type handles struct {
	mu   sync.Mutex
	open int
	all  []func()
}

func (h *handles) add(closeIt func()) {
	defer held(&h.mu)()
	h.open++
	h.all = append(h.all, closeIt)
}

func (h *handles) release() {
	defer held(&h.mu)()
	if h.open = max(0, h.open-1); h.open > 0 {
		return
	}
	for _, closeIt := range h.all {
		closeIt()
	}
	h.all = nil
}

var handlesByPath sync.Map

func handlesOn(path string) *handles {
	h, _ := handlesByPath.LoadOrStore(path, new(handles))
	return h.(*handles)
}
