package mutants

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// call is a method of the contract with one argument.
type call[A, T any] = func(context.Context, A) (T, error)

// method is a method of the contract with one argument: as a base has it, and where with has the replacement.
type method[A, T any] struct {
	of    func(base, context.Context, A) (T, error)
	field func(*with) *call[A, T]
}

func methodOf[A, T any](of func(base, context.Context, A) (T, error), field func(*with) *call[A, T]) method[A, T] {
	return method[A, T]{of, field}
}

var (
	createUser        = methodOf(base.CreateUser, func(w *with) *call[adapter.User, *adapter.User] { return &w.createUser })
	getUser           = methodOf(base.GetUser, func(w *with) *call[string, *adapter.User] { return &w.getUser })
	getUserByEmail    = methodOf(base.GetUserByEmail, func(w *with) *call[string, *adapter.User] { return &w.getUserByEmail })
	getUserByAccount  = methodOf(base.GetUserByAccount, func(w *with) *call[adapter.AccountKey, *adapter.User] { return &w.getUserByAccount })
	updateUser        = methodOf(base.UpdateUser, func(w *with) *call[adapter.UserUpdate, *adapter.User] { return &w.updateUser })
	deleteUser        = methodOf(base.DeleteUser, func(w *with) *call[string, *adapter.User] { return &w.deleteUser })
	linkAccount       = methodOf(base.LinkAccount, func(w *with) *call[adapter.Account, *adapter.Account] { return &w.linkAccount })
	unlinkAccount     = methodOf(base.UnlinkAccount, func(w *with) *call[adapter.AccountKey, *adapter.Account] { return &w.unlinkAccount })
	listAccounts      = methodOf(base.ListAccountsByUserID, func(w *with) *call[string, []adapter.Account] { return &w.listAccountsByUserID })
	updateAccount     = methodOf(base.UpdateAccount, func(w *with) *call[adapter.AccountUpdate, *adapter.Account] { return &w.updateAccount })
	createSession     = methodOf(base.CreateSession, func(w *with) *call[adapter.Session, *adapter.Session] { return &w.createSession })
	getSessionAndUser = methodOf(base.GetSessionAndUser, func(w *with) *call[string, *adapter.SessionAndUser] { return &w.getSessionAndUser })
	updateSession     = methodOf(base.UpdateSession, func(w *with) *call[adapter.SessionUpdate, *adapter.Session] { return &w.updateSession })
	deleteSession     = methodOf(base.DeleteSession, func(w *with) *call[string, *adapter.Session] { return &w.deleteSession })
	listSessions      = methodOf(base.ListSessionsByUserID, func(w *with) *call[string, []adapter.Session] { return &w.listSessionsByUserID })
	createToken       = methodOf(base.CreateVerificationToken, func(w *with) *call[adapter.VerificationToken, *adapter.VerificationToken] {
		return &w.createVerificationToken
	})
	useToken = methodOf(base.UseVerificationToken, func(w *with) *call[adapter.VerificationTokenKey, *adapter.VerificationToken] {
		return &w.useVerificationToken
	})
	deleteTokens        = methodOf(base.DeleteVerificationTokens, func(w *with) *call[string, int64] { return &w.deleteVerificationTokens })
	createAuthenticator = methodOf(base.CreateAuthenticator, func(w *with) *call[adapter.Authenticator, *adapter.Authenticator] { return &w.createAuthenticator })
	getAuthenticator    = methodOf(base.GetAuthenticator, func(w *with) *call[string, *adapter.Authenticator] { return &w.getAuthenticator })
	listAuthenticators  = methodOf(base.ListAuthenticatorsByUserID, func(w *with) *call[string, []adapter.Authenticator] { return &w.listAuthenticatorsByUserID })
	deleteExpired       = methodOf(base.DeleteExpired, func(w *with) *call[time.Time, adapter.Swept] { return &w.deleteExpired })
)

// on replaces a method.
func on[B base, A, T any](x method[A, T], replacement func(context.Context, B, A) (T, error)) func(B, *with) {
	return func(b B, w *with) {
		*x.field(w) = func(ctx context.Context, a A) (T, error) { return replacement(ctx, b, a) }
	}
}

// given changes the argument of a method.
func given[B base, A, T any](x method[A, T], change func(*A)) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (T, error) {
		return altered(func(ctx context.Context, a A) (T, error) { return x.of(b, ctx, a) }, change)(ctx, a)
	})
}

// altered is a call whose argument is changed before.
func altered[A, T any](method call[A, T], change func(*A)) call[A, T] {
	return func(ctx context.Context, a A) (T, error) {
		change(&a)
		return method(ctx, a)
	}
}

// changed changes the record that a method returns.
func changed[B base, A, T any](x method[A, *T], change func(A, *T)) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (*T, error) {
		return then(func(ctx context.Context, a A) (*T, error) { return x.of(b, ctx, a) }, change)(ctx, a)
	})
}

// preparing runs a function under the lock before a method. It may change the argument.
func preparing[A, T any](x method[A, T], prepare func(*mem, *A)) func(_ *mem, w *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (T, error) {
		call := func(ctx context.Context, a A) (T, error) { return x.of(m, ctx, a) }
		return prepared(m, call, func(a *A) { prepare(m, a) })(ctx, a)
	})
}

// prepared is altered under the lock.
func prepared[A, T any](m *mem, method call[A, T], prepare func(*A)) call[A, T] {
	return altered(method, func(a *A) {
		defer held(&m.mu)()
		prepare(a)
	})
}

// noting calls note under the lock with each record that a method returns.
func noting[A, T any](x method[A, *T], note func(*mem, A, *T)) func(_ *mem, w *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (*T, error) {
		call := func(ctx context.Context, a A) (*T, error) { return x.of(m, ctx, a) }
		return noted(m, call, func(a A, result *T) { note(m, a, result) })(ctx, a)
	})
}

// failing returns another error, or none, where a method fails with a certain one.
func failing[B base, A, T any](x method[A, *T], with, instead error) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (*T, error) {
		result, err := x.of(b, ctx, a)
		if errors.Is(err, with) {
			return nil, instead
		}
		return result, err
	})
}

// erring puts another error in place of one of a kind, or of any error if the kind is nil.
func erring[B base, A, T any](x method[A, T], kind error, instead func(a A, err error) error) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (T, error) {
		result, err := x.of(b, ctx, a)
		if err != nil && (kind == nil || errors.Is(err, kind)) {
			err = instead(a, err)
		}
		return result, err
	})
}

// answering gives the answer where a method fails with an error of a kind.
func answering[B base, A, T any](x method[A, T], kind error, answer func(context.Context, B, A) (T, error)) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (T, error) {
		result, err := x.of(b, ctx, a)
		if errors.Is(err, kind) {
			return answer(ctx, b, a)
		}
		return result, err
	})
}

// spoiling calls spoil under the lock where a method fails with an error of a kind.
func spoiling[A, T any](x method[A, T], kind error, spoil func(*mem, A)) func(*mem, *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (T, error) {
		result, err := x.of(m, ctx, a)
		if errors.Is(err, kind) {
			defer held(&m.mu)()
			spoil(m, a)
		}
		return result, err
	})
}

// refusing fails with an error for some arguments.
func refusing[B base, A, T any](x method[A, T], problem error, refused func(B, A) bool) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (result T, err error) {
		if refused(b, a) {
			return result, problem
		}
		return x.of(b, ctx, a)
	})
}

// refusingRows fails with an error if a query finds a row for the argument.
func refusingRows[A, T any](x method[A, T], problem error, query string, of func(A) []any) func(*lite, *with) {
	return on(x, func(ctx context.Context, l *lite, a A) (result T, err error) {
		found, err := l.exists(ctx, query, of(a)...)
		if err == nil && found {
			err = problem
		}
		if err != nil {
			return result, err
		}
		return x.of(l, ctx, a)
	})
}

// blank returns an empty record where a method returns neither a record nor an error.
func blank[A, T any](x method[A, *T]) func(*mem, *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (*T, error) {
		result, err := x.of(m, ctx, a)
		if result == nil && err == nil {
			result = new(T)
		}
		return result, err
	})
}

// following calls next with each record that a method returns, and returns its error.
func following[A, T any](x method[A, *T], next func(context.Context, *lite, *T) error) func(*lite, *with) {
	return on(x, func(ctx context.Context, l *lite, a A) (*T, error) {
		result, err := x.of(l, ctx, a)
		if result != nil && err == nil {
			err = next(ctx, l, result)
		}
		if err != nil {
			return nil, err
		}
		return result, nil
	})
}

// together has several faults.
func together[B base](faults ...func(B, *with)) func(B, *with) {
	return func(b B, w *with) {
		for _, fault := range faults {
			fault(b, w)
		}
	}
}

// missing returns an error where a method returns neither a record nor an error.
func missing[B base, A, T any](x method[A, *T], err error) func(B, *with) {
	return on(x, func(ctx context.Context, b B, a A) (*T, error) {
		result, problem := x.of(b, ctx, a)
		if result == nil && problem == nil {
			return nil, err
		}
		return result, problem
	})
}

// writing and reading replace a method by a function that runs under the lock.
func writing[A, T any](x method[A, T], replacement func(*mem, A) (T, error)) func(_ *mem, w *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (T, error) {
		return write(ctx, m, func() (T, error) { return replacement(m, a) })
	})
}

func reading[A, T any](x method[A, T], replacement func(*mem, A) (T, error)) func(_ *mem, w *with) {
	return on(x, func(ctx context.Context, m *mem, a A) (T, error) {
		return read(ctx, m, func() (T, error) { return replacement(m, a) })
	})
}

// then calls next with each record that a call returns.
func then[A, T any](method call[A, *T], next func(A, *T)) call[A, *T] {
	return func(ctx context.Context, a A) (*T, error) {
		result, err := method(ctx, a)
		if result != nil && err == nil {
			next(a, result)
		}
		return result, err
	}
}

// noted is then under the lock.
func noted[A, T any](m *mem, method call[A, *T], note func(A, *T)) call[A, *T] {
	return then(method, func(a A, result *T) {
		defer held(&m.mu)()
		note(a, result)
	})
}

// locked and rlocked run a function under the lock.
func locked[A, T any](m *mem, f func(A) (T, error)) call[A, T] {
	return func(ctx context.Context, a A) (T, error) { return write(ctx, m, func() (T, error) { return f(a) }) }
}

func rlocked[A, T any](m *mem, f func(A) (T, error)) call[A, T] {
	return func(ctx context.Context, a A) (T, error) { return read(ctx, m, func() (T, error) { return f(a) }) }
}

// again looks a second time for what is absent, under another key.
func again[A, T any](method call[A, *T], other func(A) A) call[A, *T] {
	return func(ctx context.Context, a A) (*T, error) {
		if result, err := method(ctx, a); result != nil || err != nil {
			return result, err
		}
		return method(ctx, other(a))
	}
}

// held takes a lock and returns what gives it back.
func held(l sync.Locker) func() {
	l.Lock()
	return l.Unlock
}

// The methods with several arguments.

func onGetAccount[B base](f func(ctx context.Context, b B, id, provider string) (*adapter.Account, error)) func(B, *with) {
	return func(b B, w *with) {
		w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
			return f(ctx, b, id, provider)
		}
	}
}

func onUpdateCounter[B base](f func(context.Context, B, string, int64) (*adapter.Authenticator, error)) func(B, *with) {
	return func(b B, w *with) {
		w.updateAuthenticatorCounter = func(ctx context.Context, id string, n int64) (*adapter.Authenticator, error) { return f(ctx, b, id, n) }
	}
}

func onDeleteSessions[B base](f func(ctx context.Context, b B, userID, except string) (int64, error)) func(B, *with) {
	return func(b B, w *with) {
		w.deleteSessionsByUserID = func(ctx context.Context, userID, except string) (int64, error) { return f(ctx, b, userID, except) }
	}
}

func onDeleteAuthenticator[B base](f func(ctx context.Context, b B, userID, id string, keepOne bool) (*adapter.Authenticator, error)) func(B, *with) {
	return func(b B, w *with) {
		w.deleteAuthenticator = func(ctx context.Context, userID, id string, keepOne bool) (*adapter.Authenticator, error) {
			return f(ctx, b, userID, id, keepOne)
		}
	}
}

func onRename[B base](f func(ctx context.Context, b B, userID, id, name string) (*adapter.Authenticator, error)) func(B, *with) {
	return func(b B, w *with) {
		w.renameAuthenticator = func(ctx context.Context, userID, id, name string) (*adapter.Authenticator, error) {
			return f(ctx, b, userID, id, name)
		}
	}
}

func onTouch[B base](f func(ctx context.Context, b B, id string, from, to int64, used time.Time) (*adapter.Authenticator, error)) func(B, *with) {
	return func(b B, w *with) {
		w.touchAuthenticator = func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
			return f(ctx, b, id, from, to, used)
		}
	}
}

func onBackup[B base](f func(ctx context.Context, b B, id string, backedUp bool, device string) (*adapter.Authenticator, error)) func(B, *with) {
	return func(b B, w *with) {
		w.updateAuthenticatorBackup = func(ctx context.Context, id string, backedUp bool, device string) (*adapter.Authenticator, error) {
			return f(ctx, b, id, backedUp, device)
		}
	}
}

func onSignUp[B base](f func(context.Context, B, adapter.User, adapter.Account, *adapter.Authenticator) (*adapter.User, error)) func(B, *with) {
	return func(b B, w *with) {
		w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
			return f(ctx, b, u, a, w)
		}
	}
}

type (
	signUpFunc        = func(context.Context, adapter.User, adapter.Account, *adapter.Authenticator) (*adapter.User, error)
	updateSessionFunc = call[adapter.SessionUpdate, *adapter.Session]
)
