package mutants

import (
	"context"
	"errors"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	getPassword = methodOf(base.GetPassword, func(w *with) *call[string, *adapter.Password] { return &w.getPassword })
	setPassword = methodOf(base.SetPassword, func(w *with) *call[adapter.Password, *adapter.Password] { return &w.setPassword })
)

func passMutants() []Mutant {
	return []Mutant{
		{Name: "empty state keeps the one before", Fails: []string{"PASS-01"},
			Fault: "SetPassword without a state stores the hash and leaves the state of the password before.",
			mem: on(setPassword, func(ctx context.Context, m *mem, p adapter.Password) (*adapter.Password, error) {
				if before, _ := m.GetPassword(ctx, p.UserID); before != nil && p.State == "" {
					p.State = before.State
				}
				return m.SetPassword(ctx, p)
			})},
		{Name: "second password is not stored", Fails: []string{"PASS-01"},
			Fault: "SetPassword inserts the record and ignores that the user has one. It returns its argument.",
			lite: on(setPassword, func(ctx context.Context, l *lite, p adapter.Password) (*adapter.Password, error) {
				if before, err := l.GetPassword(ctx, p.UserID); before != nil || err != nil {
					return &p, err
				}
				return l.SetPassword(ctx, p)
			})},
		{Name: "no password is an error", Fails: []string{"PASS-02"}, Fault: "GetPassword fails with ErrNotFound if the user has no password.",
			mem: missing[*mem](getPassword, notFound("password"))},
		{Name: "password is found without regard to case", Fails: []string{"PASS-02"},
			Fault: "The column with the user's ID has a collation that ignores case.",
			db:    replaced(`FROM "passwords" WHERE userId = ?`, `FROM "passwords" WHERE userId = ? COLLATE NOCASE`)},
		{Name: "password waits for its user", Fails: []string{"PASS-03"},
			Fault: "SetPassword stores the password before it looks for the user, and leaves it there.",
			mem: writing(setPassword, func(m *mem, p adapter.Password) (*adapter.Password, error) {
				if err := p.Check(); err != nil {
					return nil, err
				}
				m.passwords[p.UserID] = p
				if m.user(p.UserID) == nil {
					return nil, notFound("user")
				}
				return &p, nil
			})},
		{Name: "password of nobody is set", OnLite: "password of nobody is set by no row", Fails: []string{"PASS-03"},
			Fault: "SetPassword of an absent user stores nothing and succeeds.",
			both:  failing[base](setPassword, adapter.ErrNotFound, nil)},
		{Name: "swap compares without case", Fails: []string{"PASS-04"}, Fault: "SwapPassword compares the hash in a column whose collation ignores case.",
			db: replaced(`userId = ? AND hash = ?`, `userId = ? AND hash = ? COLLATE NOCASE`)},
		{Name: "swap compares hashes only", OnLite: "swap by the hash alone", Fails: []string{"PASS-04", "PASS-05"},
			Fault: "SwapPassword does not compare the state, so a count of wrong passwords that was written meanwhile is lost.",
			both: onSwap(func(ctx context.Context, b base, from, to adapter.Password) (*adapter.Password, error) {
				if now, err := b.GetPassword(ctx, from.UserID); err != nil {
					return nil, err
				} else if now != nil {
					from.State = now.State
				}
				return b.SwapPassword(ctx, from, to)
			})},
		{Name: "swap trims blanks", Fails: []string{"PASS-04"}, Fault: "SwapPassword compares the states without blanks at the ends.",
			mem: onSwap(func(ctx context.Context, m *mem, from, to adapter.Password) (*adapter.Password, error) {
				now, _ := m.GetPassword(ctx, from.UserID)
				if now != nil && strings.TrimSpace(now.State) == strings.TrimSpace(from.State) {
					from.State = now.State
				}
				return m.SwapPassword(ctx, from, to)
			})},
		{Name: "swap reads and then writes", OnLite: "swap in two statements", Fails: []string{"PASS-05"}, Races: true,
			Fault: "SwapPassword reads the password, compares it, and writes the new one in a second step.",
			both: onSwap(func(ctx context.Context, b base, from, to adapter.Password) (*adapter.Password, error) {
				if now, err := b.GetPassword(ctx, from.UserID); now == nil || *now != from || err != nil {
					return nil, errors.Join(err, to.Check())
				}
				gap()
				to.UserID = from.UserID
				set, err := b.SetPassword(ctx, to)
				if errors.Is(err, adapter.ErrNotFound) {
					return nil, nil
				}
				return set, err
			})},
		{Name: "deleted password is not returned", Fails: []string{"PASS-06"}, Fault: "DeletePassword deletes the password and returns nothing.",
			mem: onDeletePassword(func(ctx context.Context, m *mem, userID string, keepOne bool) (*adapter.Password, error) {
				_, err := m.DeletePassword(ctx, userID, keepOne)
				return nil, err
			})},
		{Name: "sessions end with the password", Fails: []string{"PASS-06"}, Fault: "DeletePassword deletes the sessions of the user too.",
			lite: onDeletePassword(func(ctx context.Context, l *lite, userID string, keepOne bool) (*adapter.Password, error) {
				deleted, err := l.DeletePassword(ctx, userID, keepOne)
				if deleted == nil || err != nil {
					return nil, err
				}
				return deleted, l.exec(ctx, `DELETE FROM "session" WHERE userId = ?`, userID)
			})},
		{Name: "password is no way in", Fails: []string{"PASS-07"},
			Fault: "DeleteAuthenticator with keepOne does not count the password.",
			db:    replaced(`SELECT true FROM "passwords" WHERE userId = ?`, `SELECT true FROM "passwords" WHERE userId = ? AND false`)},
		{Name: "last password is deleted", OnLite: "last password is deleted from the table", Fails: []string{"PASS-07"},
			Fault: "DeletePassword does not look at keepOne.",
			both: onDeletePassword(func(ctx context.Context, b base, userID string, _ bool) (*adapter.Password, error) {
				return b.DeletePassword(ctx, userID, false)
			})},
		{Name: "last ways in are counted and then removed", OnLite: "last ways in are counted in another transaction", Fails: []string{"PASS-07"},
			Fault: "DeletePassword with keepOne looks for authenticators and accounts, and deletes the password in a second step.", Races: true,
			both: onDeletePassword(func(ctx context.Context, b base, userID string, keepOne bool) (*adapter.Password, error) {
				authenticators, err1 := b.ListAuthenticatorsByUserID(ctx, userID)
				accounts, err2 := b.ListAccountsByUserID(ctx, userID)
				if err := errors.Join(err1, err2); err != nil {
					return nil, err
				}
				gap()
				return b.DeletePassword(ctx, userID, keepOne && len(authenticators)+len(accounts) == 0)
			})},
		{Name: "user is left without the password", OnLite: "user is inserted before the password is checked", Fails: []string{"PASS-08"},
			Fault: "CreateUserWithPassword stores the user and then the password. If the password is refused, the user stays.",
			both: onEnter(func(ctx context.Context, b base, u adapter.User, p adapter.Password) (*adapter.User, error) {
				return enterInSteps(ctx, b, u, p, func(*adapter.User) {})
			})},
		{Name: "holder of the address gets the password", Fails: []string{"PASS-08"},
			Fault: "CreateUserWithPassword with a taken address stores the password for the user who has the address, and fails.",
			mem: onEnter(func(ctx context.Context, m *mem, u adapter.User, p adapter.Password) (*adapter.User, error) {
				created, err := m.CreateUserWithPassword(ctx, u, p)
				if holder, _ := m.GetUserByEmail(ctx, u.Email); holder != nil && errors.Is(err, adapter.ErrConflict) {
					p.UserID = holder.ID
					_, _ = m.SetPassword(ctx, p)
				}
				return created, err
			})},
		{Name: "user is seen before the password", OnLite: "user is seen before the row of the password", Fails: []string{"PASS-09"}, Races: true,
			Fault: "CreateUserWithPassword stores the user, and the password a moment later.",
			both: onEnter(func(ctx context.Context, b base, u adapter.User, p adapter.Password) (*adapter.User, error) {
				if err := p.Check(); err != nil {
					return nil, err
				}
				return enterInSteps(ctx, b, u, p, func(u *adapter.User) { _, _ = b.DeleteUser(context.WithoutCancel(ctx), u.ID) })
			})},
		{Name: "password outlives its user", Fails: []string{"PASS-10"}, Fault: "DeleteUser leaves the password.",
			mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
				left, _ := m.GetPassword(ctx, id)
				deleted, err := m.DeleteUser(ctx, id)
				if left != nil && deleted != nil {
					defer held(&m.mu)()
					m.passwords[id] = *left
				}
				return deleted, err
			})},
		{Name: "password is set beside the deletion", Fails: []string{"PASS-10"}, Races: true,
			Fault: "SetPassword looks for the user and stores the password in a second step. If the user is deleted in between, the password stays.",
			mem: on(setPassword, func(ctx context.Context, m *mem, p adapter.Password) (*adapter.Password, error) {
				if owner, err := m.GetUser(ctx, p.UserID); owner == nil || err != nil {
					return nil, errors.Join(err, notFound("user"))
				}
				gap()
				return write(ctx, m, func() (*adapter.Password, error) {
					if err := p.Check(); err != nil {
						return nil, err
					}
					m.passwords[p.UserID] = p
					return &p, nil
				})
			})},
		{Name: "long hash is cut", Fails: []string{"PASS-11"}, Fault: "The column of the hash has 255 places, and the store cuts what is longer.",
			db: boundTo(`INTO "passwords"`, func(args []any) {
				for i := 1; i < len(args); i += 2 { // the new record, and the update of one that is there
					args[i] = cut(args[i], 255)
				}
			})},
		{Name: "hash above the limit is cut", OnLite: "hash above the limit is cut in SQL", Fails: []string{"PASS-11"},
			Fault: "SetPassword stores the first 2,000 bytes of a longer hash and succeeds.",
			both:  given[base](setPassword, func(p *adapter.Password) { p.Hash = p.Hash[:min(len(p.Hash), 2_000)] })},
		{Name: "state has no blanks at its ends", Fails: []string{"PASS-11"}, Fault: "SetPassword and SwapPassword store the state without blanks at its ends.",
			mem: func(m *mem, w *with) {
				trim := func(p *adapter.Password) { p.State = strings.TrimSpace(p.State) }
				given[*mem](setPassword, trim)(m, w)
				onSwap(func(ctx context.Context, m *mem, from, to adapter.Password) (*adapter.Password, error) {
					trim(&to)
					return m.SwapPassword(ctx, from, to)
				})(m, w)
			}},
	}
}

func onSwap[B base](f func(ctx context.Context, b B, from, to adapter.Password) (*adapter.Password, error)) func(B, *with) {
	return func(b B, w *with) {
		w.swapPassword = func(ctx context.Context, from, to adapter.Password) (*adapter.Password, error) {
			return f(ctx, b, from, to)
		}
	}
}

func onDeletePassword[B base](f func(ctx context.Context, b B, userID string, keepOne bool) (*adapter.Password, error)) func(B, *with) {
	return func(b B, w *with) {
		w.deletePassword = func(ctx context.Context, userID string, keepOne bool) (*adapter.Password, error) {
			return f(ctx, b, userID, keepOne)
		}
	}
}

func onEnter[B base](f func(ctx context.Context, b B, u adapter.User, p adapter.Password) (*adapter.User, error)) func(B, *with) {
	return func(b B, w *with) {
		w.createUserWithPassword = func(ctx context.Context, u adapter.User, p adapter.Password) (*adapter.User, error) {
			return f(ctx, b, u, p)
		}
	}
}

// enterInSteps signs up by two methods; failed is called if the second fails.
func enterInSteps(ctx context.Context, b base, u adapter.User, p adapter.Password, failed func(*adapter.User)) (*adapter.User, error) {
	created, err := b.CreateUser(ctx, u)
	if err != nil {
		return nil, err
	}
	gap()
	p.UserID = created.ID
	if _, err := b.SetPassword(ctx, p); err != nil {
		failed(created)
		return nil, err
	}
	return created, nil
}
