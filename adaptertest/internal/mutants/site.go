package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The errors with which the maps refuse calls.
var (
	errReadOnly = errors.New("mem: the connection is read-only")
	errNoRight  = errors.New("mem: the role lacks the right WRITE")
	errOfSite   = errors.New("mem: a trigger of the site refused the record")
)

func siteMutants() []Mutant {
	return []Mutant{
		{Name: "prepares an empty set beside that of others", Fails: []string{"SITE-01"},
			Fault: "in a store that another product filled, the adapter makes maps of its own, and says nothing", mem: func(m *mem, _ *with) {
				if m.foreign {
					m.records = newMem().records
				}
			}},
		{Name: "seconds of others are read as milliseconds", Fails: []string{"SITE-02"},
			Fault: "the seconds in which another product stores the end of a session are taken for milliseconds", mem: func(m *mem, w *with) {
				if !m.foreign {
					return
				}
				w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
					got, err := m.GetSessionAndUser(ctx, token)
					if got != nil {
						got.Session.Expires = time.UnixMilli(got.Session.Expires.Unix()).UTC()
					}
					return got, err
				}
			}},
		{Name: "read-only connections are kept", Fails: []string{"SITE-03"},
			Fault: "the adapter stays on connections that refuse writes", mem: func(m *mem, _ *with) { m.stays = true }},
		{Name: "refusals are quoted on", Fails: []string{"SITE-04"},
			Fault: "the error of CreateSession has the command that the store refused",
			mem: erring[*mem](createSession, errOfSite, func(s adapter.Session, err error) error {
				return fmt.Errorf("mem: unknown command, with args beginning with %q: %w", s.SessionToken, err)
			})},
		{Name: "sign-up without the right to link", Fails: []string{"SITE-05"},
			Fault: "if the role lacks a right, CreateUserWithAccount has stored the user when it notices",
			mem: onSignUp(func(ctx context.Context, m *mem, u adapter.User, a adapter.Account, passkey *adapter.Authenticator) (*adapter.User, error) {
				created, err := m.CreateUserWithAccount(ctx, u, a, passkey)
				if errors.Is(err, errNoRight) {
					defer held(&m.mu)()
					m.putUser(u)
				}
				return created, err
			})},
		{Name: "lookups without the right to write", Fails: []string{"SITE-05"},
			Fault: "lookups work with a role that lacks a right, so the first write fails long after the start",
			mem:   failing[*mem](getUserByEmail, errNoRight, nil)},
		{Name: "refusal of the site is a conflict", Fails: []string{"SITE-06"},
			Fault: "CreateUser takes the refusal of a trigger for a conflict",
			mem: erring[*mem](createUser, errOfSite, func(_ adapter.User, err error) error {
				return fmt.Errorf("%w: %w", adapter.ErrConflict, err)
			})},
	}
}

// memSite sets the fields about sites that exist.
func memSite(h *adaptertest.Harness, open func(*records) adapter.Adapter) {
	refusing := func(r *records, refuse func(m *mem, write bool) error) adapter.Adapter {
		a := open(r)
		m := a.(*with).base.(*mem)
		m.refuse = func(write bool) error { return refuse(m, write) }
		return a
	}
	h.Foreign = func(t testing.TB) []adaptertest.Foreign {
		m := newMem()
		m.foreign = true
		u := adapter.User{ID: newID(), Email: newID() + "@example.com"}
		key := adapter.AccountKey{Provider: "p", ProviderAccountID: newID()}
		s := adapter.Session{SessionToken: newID(), UserID: u.ID, Expires: time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond)}
		_, err1 := m.CreateUser(t.Context(), u)
		_, err2 := m.LinkAccount(t.Context(), adapter.Account{UserID: u.ID, Provider: key.Provider, ProviderAccountID: key.ProviderAccountID})
		_, err3 := m.CreateSession(t.Context(), s)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		return []adaptertest.Foreign{{Name: "maps", User: u, Account: key, Session: s,
			Open: func(testing.TB) (adapter.Adapter, error) { return open(m.records), nil }}}
	}
	h.Settings = func(_ testing.TB, a adapter.Adapter) []adapter.Adapter {
		return []adapter.Adapter{open(a.(*with).base.(*mem).records)}
	}
	h.ReadOnly = func(testing.TB) (adapter.Adapter, func()) {
		var demoted atomic.Bool
		a := refusing(newMem().records, func(m *mem, write bool) error {
			if !write || !demoted.Load() {
				return nil
			}
			demoted.Store(m.stays)
			return errReadOnly
		})
		return a, func() { demoted.Store(true) }
	}
	later := func(testing.TB) (adapter.Adapter, func()) {
		var refuses atomic.Bool
		a := refusing(newMem().records, func(_ *mem, write bool) error {
			if write && refuses.Load() {
				return errOfSite
			}
			return nil
		})
		return a, func() { refuses.Store(true) }
	}
	h.Quoting, h.Refusing = later, later
	h.Reduced = func(testing.TB) []adaptertest.Reduced {
		r := newMem().records
		return []adaptertest.Reduced{{Right: "WRITE",
			Open:    func(testing.TB) adapter.Adapter { return refusing(r, func(*mem, bool) error { return errNoRight }) },
			Witness: func(testing.TB) adapter.Adapter { return open(r) }}}
	}
}
