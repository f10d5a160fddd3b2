package mutants

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Correct is a correct adapter that differs from the two bases in a way that the
// contract allows. The suite must not fail it.
type Correct struct {
	Name string
	// Except are clauses that it may fail.
	Except string

	mem     func(m *mem, w *with)
	harness func(h *adaptertest.Harness)
	only    []string // the groups to run; nil means all except the slow ones
}

// Harness returns the harness that the suite runs on.
func (k Correct) Harness() adaptertest.Harness {
	h := memHarness(k.mem)
	h.Name = k.Name
	if k.harness != nil {
		k.harness(&h)
	}
	return h
}

// quickGroups are the groups that take little time.
var quickGroups = []string{"CAP", "USER", "ACCT", "SESS", "VTOK", "AUTHN", "CASC", "TIME", "DATA", "INPUT", "EXP", "ISO", "ALIAS", "LIFE", "ERR", "SIGNUP", "ALIST", "SLIST", "AEDIT", "PASS", "TEDIT"}

// Quick returns the groups that the package's test runs on it.
func (k Correct) Quick() []string {
	if k.only != nil {
		return k.only
	}
	return quickGroups
}

// Soak runs the quick form once, with the clauses whose ID matches. It returns the
// results of the clauses that the adapter fails although it must not.
func (k Correct) Soak(ctx context.Context, match *regexp.Regexp, seed uint64) ([]adaptertest.Result, error) {
	var ids []string
	for _, c := range adaptertest.Clauses() {
		if match.MatchString(c.ID) && (k.only == nil || slices.Contains(k.only, c.Group())) {
			ids = append(ids, c.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	report, err := adaptertest.Check(ctx, k.Harness(), adaptertest.Options{Only: ids, Rounds: adaptertest.QuickRounds, Seed: seed})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(report.With(adaptertest.Fail), func(x adaptertest.Result) bool { return strings.Contains(k.Except, x.Clause.ID) }), nil
}

// CorrectBases returns the two bases.
func CorrectBases() []Correct {
	return []Correct{{Name: "mem"}, {Name: "lite", harness: func(h *adaptertest.Harness) {
		*h = liteHarness(nil, nil)
		h.Name = "lite"
	}}}
}

// AllCorrect returns the correct adapters besides the two bases.
func AllCorrect() []Correct {
	return []Correct{

		{Name: "assigns its own ids", mem: given[*mem](createUser, func(u *adapter.User) { u.ID = "" }),
			harness: func(h *adaptertest.Harness) { h.Declarations.AssignsIDs = true }},
		{Name: "keeps addresses in lower case", mem: func(m *mem, w *with) {
			storing[*mem](func(record any) {
				switch r := record.(type) {
				case *adapter.User:
					r.Email = lowerASCII(r.Email)
				case *adapter.UserUpdate:
					if email, set := r.Email.Get(); set {
						r.Email = adapter.To(lowerASCII(email))
					}
					r.IfEmail = lowerASCII(r.IfEmail)
				case *adapter.VerificationToken:
					r.Identifier = lowerASCII(r.Identifier)
				}
			})(m, w)
			w.getUserByEmail = rekeyed(m.GetUserByEmail, lowerASCII)
			w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, passkey *adapter.Authenticator) (*adapter.User, error) {
				u.Email = lowerASCII(u.Email)
				return m.CreateUserWithAccount(ctx, u, a, passkey)
			}
			w.useVerificationToken = altered(m.UseVerificationToken, func(k *adapter.VerificationTokenKey) { k.Identifier = lowerASCII(k.Identifier) })

		},
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }},
		{Name: "keeps whole seconds", mem: storing[*mem](instants(func(t time.Time) time.Time {
			return t.Truncate(time.Second)
		})),
			harness: func(h *adaptertest.Harness) { h.Declarations.Precision = time.Second },
			Except:  "TIME-03"},
		{Name: "keeps whole milliseconds", mem: storing[*mem](instants(func(t time.Time) time.Time {
			return t.Truncate(time.Millisecond)
		}))},
		{Name: "returns no record where it is optional", mem: func(m *mem, w *with) {
			w.linkAccount = silent(m.LinkAccount)
			w.unlinkAccount = silent(m.UnlinkAccount)
			w.deleteUser = silent(m.DeleteUser)
			w.updateSession = silent(m.UpdateSession)
			w.deleteSession = silent(m.DeleteSession)
			w.createVerificationToken = silent(m.CreateVerificationToken)
		}},
		{Name: "hides expired records", mem: func(m *mem, w *with) {
			alive := func(token string) bool {
				defer held(m.mu.RLocker())()
				s, ok := m.sessions[token]
				return ok && s.Expires.After(m.clock.Now())
			}
			w.getSessionAndUser = func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
				if !alive(token) {
					return nil, m.begin(ctx)
				}
				return m.GetSessionAndUser(ctx, token)
			}
			w.updateSession = func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
				if !alive(update.SessionToken) {
					return nil, m.begin(ctx)
				}
				return m.UpdateSession(ctx, update)
			}
			w.useVerificationToken = func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				t, err := m.UseVerificationToken(ctx, key)
				if t != nil && !t.Expires.After(m.clock.Now()) {
					return nil, nil
				}
				return t, err
			}
		}},
		{Name: "replaces a pair, refuses lower counters and other owners", mem: func(m *mem, w *with) {
			replacingToken(m, w)
			w.updateSession = func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
				if id, set := update.UserID.Get(); set {
					if s, _ := m.GetSessionAndUser(ctx, update.SessionToken); s != nil && s.Session.UserID != id {
						return nil, errors.New("mem: a session keeps its user")
					}
				}
				return m.UpdateSession(ctx, update)
			}
		}},
		{Name: "refuses values that it can't store", mem: together(refusing(linkAccount, errOdd, odd[adapter.Account]),
			refusing(createSession, errOdd, odd[adapter.Session]), refusing(createToken, errOdd, odd[adapter.VerificationToken]),
			refusing(createAuthenticator, errOdd, odd[adapter.Authenticator]))},
		{Name: "has sessions only", mem: func(_ *mem, w *with) {
			w.missing = []string{
				"GetUserByEmail", "GetUserByAccount", "UpdateUser", "DeleteUser", "LinkAccount", "UnlinkAccount", "GetAccount",
				"CreateVerificationToken", "UseVerificationToken",
				"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter",
			}
		}, Except: "CAP-01 CAP-02", // it implements the methods that it declares as missing
			only: []string{"CAP", "SESS", "CTX", "CONC", "ERR"}},
		{Name: "deletes no users", mem: func(_ *mem, w *with) {
			w.missing = []string{"DeleteUser"}
			w.deleteUser = func(context.Context, string) (*adapter.User, error) {
				return nil, adapter.ErrUnsupported
			}
		}, only: []string{"CAP", "USER", "CONC", "VOL", "LIFE"}},
		{Name: "ids are numbers that the store assigns", mem: func(m *mem, w *with) {
			w.createUser = altered(m.CreateUser, func(u *adapter.User) { u.ID = m.number() })
			w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				u.ID = m.number()
				return m.CreateUserWithAccount(ctx, u, a, w)
			}
		}, harness: func(h *adaptertest.Harness) { h.Declarations.AssignsIDs = true }},
		{Name: "ids are upper-case UUIDs where none is given", mem: given[*mem](createUser, func(u *adapter.User) {
			if u.ID == "" {
				x := rand.Text() + rand.Text()
				u.ID = x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:32]
			}
		})},
		{Name: "keeps whole microseconds", mem: storing[*mem](instants(func(t time.Time) time.Time {
			return t.Truncate(time.Microsecond)
		}))},
		{Name: "is slow", mem: around[*mem](func(ctx context.Context, call func() error) error {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
			return call()
		}), only: []string{"CAP", "USER", "SESS", "VTOK", "CTX", "TIME", "LIFE", "ERR", "TEDIT", "SIGNUP"}},
		{Name: "makes one call at a time", mem: func(m *mem, w *with) {
			turn := make(chan struct{}, 1)
			around[*mem](func(ctx context.Context, call func() error) error {
				select {
				case turn <- struct{}{}:
				case <-ctx.Done():
					return ctx.Err()
				}
				defer func() { <-turn }()
				return call()
			})(m, w)
		}},
		{Name: "tries again when the store is busy", mem: around[*mem](func(ctx context.Context, call func() error) error {
			for range 3 {
				if mathrand.IntN(3) > 0 {
					break
				}
				runtime.Gosched() // the store was busy before it did anything
			}
			return call()
		})},
		{Name: "wraps errors twice", mem: around[*mem](func(_ context.Context, call func() error) error {
			if err := call(); err != nil {
				return fmt.Errorf("store: %w", fmt.Errorf("call: %w", err))
			}
			return nil
		})},
		{Name: "one goroutine makes all calls", mem: func(m *mem, w *with) {
			queue := make(chan func())
			go func() {
				for call := range queue {
					call()
				}
			}()
			runtime.AddCleanup(m, func(q chan func()) { close(q) }, queue)
			around[*mem](func(ctx context.Context, call func() error) error {
				done := make(chan error, 1)
				select {
				case queue <- func() { done <- call() }:
					return <-done
				case <-ctx.Done():
					return ctx.Err()
				}
			})(m, w)
		}, Except: "LIFE-04"}, // the goroutine ends when the garbage collector removes the adapter
		{Name: "copies all records for each write", mem: func(m *mem, w *with) {
			around[*mem](func(_ context.Context, call func() error) error {
				err := call()
				if mathrand.IntN(20) == 0 {
					defer held(&m.mu)()
					m.users, m.emails, m.accounts = maps.Clone(m.users), maps.Clone(m.emails), maps.Clone(m.accounts)
					m.sessions, m.tokens, m.authenticators = maps.Clone(m.sessions), maps.Clone(m.tokens), maps.Clone(m.authenticators)
				}
				return err
			})(m, w)
		}},
		{Name: "lists in any order", mem: func(m *mem, w *with) {
			w.listAuthenticatorsByUserID = shuffled(m.ListAuthenticatorsByUserID)
			w.listAccountsByUserID = shuffled(m.ListAccountsByUserID)
			w.listSessionsByUserID = shuffled(m.ListSessionsByUserID)
		}},
		{Name: "stores no names of authenticators", mem: func(m *mem, w *with) {
			w.createAuthenticator = altered(m.CreateAuthenticator, func(a *adapter.Authenticator) { a.Name, a.Created, a.LastUsed = nil, nil, nil })
			w.createUserWithAccount = func(ctx context.Context, u adapter.User, a adapter.Account, w *adapter.Authenticator) (*adapter.User, error) {
				if w != nil {
					w = new(*w)
					w.Name, w.Created, w.LastUsed = nil, nil, nil
				}
				return m.CreateUserWithAccount(ctx, u, a, w)
			}
			w.renameAuthenticator = func(ctx context.Context, _, _, _ string) (*adapter.Authenticator, error) {
				if err := m.begin(ctx); err != nil {
					return nil, err
				}
				return nil, adapter.ErrUnsupported
			}
			w.touchAuthenticator = func(ctx context.Context, id string, from, to int64, used time.Time) (*adapter.Authenticator, error) {
				return reworked(ctx, m, id, func(a *adapter.Authenticator) bool {
					same := a.Counter == from
					a.Counter = to
					return same
				})
			}
		}},
		{Name: "deletes expired records when it reads them", mem: on(getSessionAndUser, func(ctx context.Context, m *mem, token string) (*adapter.SessionAndUser, error) {
			x, err := m.GetSessionAndUser(ctx, token)
			if x == nil || err != nil || x.Session.Expires.After(m.clock.Now()) {
				return x, err
			}
			return write(ctx, m, func() (*adapter.SessionAndUser, error) {
				if s, ok := m.sessions[token]; ok && s.Expires.After(m.clock.Now()) { // it was extended meanwhile
					return &adapter.SessionAndUser{Session: s, User: *m.user(s.UserID)}, nil
				}
				delete(m.sessions, token)
				return nil, nil
			})
		})},
		{Name: "keeps verification tokens in a separate store", mem: func(m *mem, w *with) {
			tokens := kept(m.records, "tokens", func() *mem { return &mem{records: newRecords(m.clock, nil)} })
			w.createVerificationToken = func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
				if err := m.begin(ctx); err != nil {
					return nil, err
				}
				return tokens.CreateVerificationToken(ctx, t)
			}
			w.useVerificationToken = func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
				if err := m.begin(ctx); err != nil {
					return nil, err
				}
				return tokens.UseVerificationToken(ctx, key)
			}
			w.deleteExpired = func(ctx context.Context, now time.Time) (adapter.Swept, error) {
				one, err := m.DeleteExpired(ctx, now)
				if err != nil {
					return one, err
				}
				other, err := tokens.DeleteExpired(ctx, now)
				one.VerificationTokens += other.VerificationTokens
				return one, err
			}
			w.deleteVerificationTokens = func(ctx context.Context, identifier string) (int64, error) {
				if err := m.begin(ctx); err != nil {
					return 0, err
				}
				return tokens.DeleteVerificationTokens(ctx, identifier)
			}
		}, harness: func(h *adaptertest.Harness) { h.Inspect = nil }},
		{Name: "deletes the tokens of a deleted user's address", only: []string{"VTOK", "CASC", "TEDIT"}, mem: on(deleteUser, func(ctx context.Context, m *mem, id string) (*adapter.User, error) {
			u, err := m.DeleteUser(ctx, id)
			if u != nil && u.Email != "" {
				_, err = m.DeleteVerificationTokens(ctx, u.Email)
			}
			return u, err
		})},
		{Name: "reads users through a cache that each write empties", mem: cachedUsers,
			harness: func(h *adaptertest.Harness) { h.Second, h.Reopen, h.Close, h.Namespace = nil, nil, nil, nil }},
		{Name: "has no optional interface", harness: func(h *adaptertest.Harness) {
			open := h.New
			*h = adaptertest.Harness{Name: h.Name, New: func(t testing.TB) adapter.Adapter { return struct{ adapter.Adapter }{open(t)} }}
		}},
		{Name: "has no authenticators", harness: func(h *adaptertest.Harness) {
			open := h.New
			*h = adaptertest.Harness{Name: h.Name, New: func(t testing.TB) adapter.Adapter {
				a := open(t)
				p, err := adapter.Partial(struct {
					adapter.Users
					adapter.Accounts
					adapter.Sessions
					adapter.VerificationTokens
				}{a, a, a, a})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}}
		}},
	}
}

// silent returns no record from a call.
func silent[A, T any](method func(context.Context, A) (*T, error)) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, arg A) (*T, error) {
		_, err := method(ctx, arg)
		return nil, err
	}
}

var errOdd = errors.New("mem: the value can't be stored")

// odd reports whether a store may be unable to store a record.
func odd[A any](_ *mem, record A) (is bool) {
	texts(func(s string) string {
		is = is || strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl) || !utf8.ValidString(s) || len(s) > 70_000
		return s
	})(&record)
	return is
}

// around wraps every method.
func around[B base](f func(ctx context.Context, call func() error) error) func(B, *with) {
	return func(b B, w *with) {
		w.createUser = within(b.CreateUser, f)
		w.getUser = within(b.GetUser, f)
		w.getUserByEmail = within(b.GetUserByEmail, f)
		w.getUserByAccount = within(b.GetUserByAccount, f)
		w.updateUser = within(b.UpdateUser, f)
		w.deleteUser = within(b.DeleteUser, f)
		w.linkAccount = within(b.LinkAccount, f)
		w.unlinkAccount = within(b.UnlinkAccount, f)
		w.getAccount = func(ctx context.Context, id, provider string) (*adapter.Account, error) {
			return within(func(ctx context.Context, id string) (*adapter.Account, error) { return b.GetAccount(ctx, id, provider) }, f)(ctx, id)
		}
		w.createSession = within(b.CreateSession, f)
		w.getSessionAndUser = within(b.GetSessionAndUser, f)
		w.updateSession = within(b.UpdateSession, f)
		w.deleteSession = within(b.DeleteSession, f)
		w.createVerificationToken = within(b.CreateVerificationToken, f)
		w.useVerificationToken = within(b.UseVerificationToken, f)
		w.createAuthenticator = within(b.CreateAuthenticator, f)
		w.getAuthenticator = within(b.GetAuthenticator, f)
		w.listAuthenticatorsByUserID = within(b.ListAuthenticatorsByUserID, f)
		w.updateAuthenticatorCounter = func(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
			return within(func(ctx context.Context, id string) (*adapter.Authenticator, error) {
				return b.UpdateAuthenticatorCounter(ctx, id, counter)
			}, f)(ctx, id)
		}
		w.deleteExpired = within(b.DeleteExpired, f)
		w.listAccountsByUserID = within(b.ListAccountsByUserID, f)
		w.updateAccount = within(b.UpdateAccount, f)
		w.listSessionsByUserID = within(b.ListSessionsByUserID, f)
		w.deleteVerificationTokens = within(b.DeleteVerificationTokens, f)
	}
}

func within[A, T any](method func(context.Context, A) (T, error), f func(context.Context, func() error) error) func(context.Context, A) (T, error) {
	return func(ctx context.Context, arg A) (result T, err error) {
		err = f(ctx, func() error {
			var err error
			result, err = method(ctx, arg)
			return err
		})
		return result, err
	}
}

// shuffled changes the order of a list.
func shuffled[T any](list func(context.Context, string) ([]T, error)) func(context.Context, string) ([]T, error) {
	return func(ctx context.Context, id string) ([]T, error) {
		all, err := list(ctx, id)
		mathrand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all, err
	}
}

// number returns the next number of the store's counter.
func (r *records) number() string {
	defer held(&r.mu)()
	last := kept(r, "number", func() *int { return new(int) })
	*last++
	return strconv.Itoa(*last)
}

// cachedUsers reads users through a cache. Each write empties the cache before it
// begins and after it ends. A read that began before a write does not fill it.
func cachedUsers(m *mem, w *with) {
	var mu sync.Mutex
	users := map[string]adapter.User{}
	writes := 0
	empty := func() {
		defer held(&mu)()
		writes++
		clear(users)
	}
	w.getUser = func(ctx context.Context, id string) (*adapter.User, error) {
		if err := m.begin(ctx); err != nil {
			return nil, err
		}
		mu.Lock()
		u, ok := users[id]
		seen := writes
		mu.Unlock()
		if ok {
			return new(copyUser(u)), nil
		}
		got, err := m.GetUser(ctx, id)
		defer held(&mu)()
		if got != nil && writes == seen {
			users[got.ID] = copyUser(*got)
		}
		return got, err
	}
	w.updateUser = func(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
		empty()
		defer empty()
		return m.UpdateUser(ctx, u)
	}
	w.deleteUser = func(ctx context.Context, id string) (*adapter.User, error) {
		empty()
		defer empty()
		return m.DeleteUser(ctx, id)
	}

}
