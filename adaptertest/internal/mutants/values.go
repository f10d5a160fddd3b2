package mutants

import (
	"context"
	"reflect"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// storing alters every record and update before it is stored.
func storing[B base](alter func(record any)) func(B, *with) {
	return func(b B, w *with) {
		w.createUser = before(b.CreateUser, alter)
		w.updateUser = before(b.UpdateUser, alter)
		w.linkAccount = before(b.LinkAccount, alter)
		w.createSession = before(b.CreateSession, alter)
		w.updateSession = before(b.UpdateSession, alter)
		w.createVerificationToken = before(b.CreateVerificationToken, alter)
		w.createAuthenticator = before(b.CreateAuthenticator, alter)
	}
}

// before calls alter with a pointer to a copy of the argument, then method.
func before[A, T any](method func(context.Context, A) (T, error), alter func(any)) func(context.Context, A) (T, error) {
	return func(ctx context.Context, arg A) (T, error) {
		alter(&arg)
		return method(ctx, arg)
	}
}

// keyed alters the keys in the arguments of all methods that look up, use, unlink
// or delete a record.
func keyed[B base](alter func(key string) string) func(B, *with) {
	return func(b B, w *with) {
		w.getUser = rekeyed(b.GetUser, alter)
		w.getUserByEmail = rekeyed(b.GetUserByEmail, alter)
		w.deleteUser = rekeyed(b.DeleteUser, alter)
		w.getSessionAndUser = rekeyed(b.GetSessionAndUser, alter)
		w.deleteSession = rekeyed(b.DeleteSession, alter)
		w.getAuthenticator = rekeyed(b.GetAuthenticator, alter)
		w.listAuthenticatorsByUserID = rekeyed(b.ListAuthenticatorsByUserID, alter)
		pair := func(k *adapter.AccountKey) {
			k.Provider, k.ProviderAccountID = alter(k.Provider), alter(k.ProviderAccountID)
		}
		w.getUserByAccount = altered(b.GetUserByAccount, pair)
		w.unlinkAccount = altered(b.UnlinkAccount, pair)
		w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
			return b.GetAccount(ctx, alter(id), alter(provider))
		}
		w.useVerificationToken = altered(b.UseVerificationToken, func(k *adapter.VerificationTokenKey) {
			k.Identifier, k.Token = alter(k.Identifier), alter(k.Token)
		})
	}
}

func rekeyed[T any](method func(context.Context, string) (T, error), alter func(string) string) func(context.Context, string) (T, error) {
	return func(ctx context.Context, key string) (T, error) { return method(ctx, alter(key)) }
}

// texts alters all texts of a record or update except the names of users.
func texts(alter func(string) string) func(record any) {
	return func(record any) {
		each(reflect.ValueOf(record).Elem(), func(v any) {
			if s, ok := v.(*string); ok {
				*s = alter(*s)
			}
		})
	}
}

// instants alters all instants of a record or update.
func instants(alter func(time.Time) time.Time) func(record any) {
	return func(record any) {
		each(reflect.ValueOf(record).Elem(), func(v any) {
			if t, ok := v.(*time.Time); ok {
				*t = alter(*t)
			}
		})
	}
}

// each calls visit with pointers to the texts and instants of a record or
// update. It copies the values that the record points to first, because they
// belong to the caller.
func each(record reflect.Value, visit func(any)) {
	for i := range record.NumField() {
		switch f := record.Field(i).Addr().Interface().(type) {
		case *string:
			visit(f)
		case *time.Time:
			visit(f)
		case **string:
			if *f != nil {
				*f = new(**f)
				visit(*f)
			}
		case **time.Time:
			if *f != nil {
				*f = new(**f)
				visit(*f)
			}
		case *adapter.Change[string]:
			visitChange(f, visit)
		case *adapter.Change[time.Time]:
			visitChange(f, visit)
		case *adapter.Change[*string]:
			visitPointer(f, visit)
		case *adapter.Change[*time.Time]:
			visitPointer(f, visit)
		}
	}
}

func visitChange[T any](c *adapter.Change[T], visit func(any)) {
	if v, set := c.Get(); set {
		visit(&v)
		*c = adapter.To(v)
	}
}

func visitPointer[T any](c *adapter.Change[*T], visit func(any)) {
	if v, set := c.Get(); set && v != nil {
		v = new(*v)
		visit(v)
		*c = adapter.To(v)
	}
}

// keyedAccounts stores the accounts under the text that key returns for a pair.
func keyedAccounts(key func(adapter.AccountKey) adapter.AccountKey) func(*mem, *with) {
	return func(m *mem, w *with) {
		find := func(k adapter.AccountKey) (adapter.Account, bool) {
			for _, a := range m.accounts {
				if key(a.Key()) == key(k) {
					return a, true
				}
			}
			return adapter.Account{}, false
		}
		w.linkAccount = func(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
			m.mu.RLock()
			_, taken := find(a.Key())
			m.mu.RUnlock()
			if taken {
				return nil, conflict("the account")
			}
			return m.LinkAccount(ctx, a)
		}
		w.unlinkAccount = altered(m.UnlinkAccount, func(k *adapter.AccountKey) {
			m.mu.RLock()
			a, ok := find(*k)
			m.mu.RUnlock()
			if ok {
				*k = a.Key()
			}
		})
		w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
			return read(ctx, m, func() (*adapter.Account, error) {
				if a, ok := find(adapter.AccountKey{Provider: provider, ProviderAccountID: id}); ok {
					return new(copyAccount(a)), nil
				}
				return nil, nil
			})
		}
		w.getUserByAccount = rlocked(m, func(k adapter.AccountKey) (*adapter.User, error) {
			if a, ok := find(k); ok {
				return m.user(a.UserID), nil
			}
			return nil, nil
		})
	}
}

const day = 24 * time.Hour

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// keyedSessions stores the sessions under the text that key returns for a token.
func keyedSessions(key func(string) string) func(*mem, *with) {
	return func(m *mem, w *with) {
		find := func(token string) string {
			for t := range m.sessions {
				if key(t) == key(token) {
					return t
				}
			}
			return token
		}
		locked := func(token string) string {
			defer held(m.mu.RLocker())()
			return find(token)
		}
		w.createSession = func(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
			if locked(s.SessionToken) != s.SessionToken {
				return nil, conflict("the session token")
			}
			return m.CreateSession(ctx, s)
		}
		w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
			return m.GetSessionAndUser(ctx, locked(token))
		}
		w.updateSession = altered(m.UpdateSession, func(update *adapter.SessionUpdate) { update.SessionToken = locked(update.SessionToken) })
		w.deleteSession = func(ctx context.Context, token string) (*adapter.Session, error) {
			return m.DeleteSession(ctx, locked(token))
		}
	}
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
