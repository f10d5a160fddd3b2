package mutants

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestCorrectAdaptersOfOtherKinds runs the suite on adapters that make other
// choices than the two bases, where the contract leaves one. It must not fail
// any of them, but for the clauses named.
func TestCorrectAdaptersOfOtherKinds(t *testing.T) {
	for _, k := range []struct {
		name    string
		mem     func(m *mem) with
		harness func(h *adaptertest.Harness)
		except  string   // clauses
		only    []string // groups, if not all but those that take long
	}{
		{name: "assigns its own ids",
			mem: func(m *mem) with {
				return with{createUser: func(ctx context.Context, u adapter.User) (*adapter.User, error) {
					u.ID = ""
					return m.CreateUser(ctx, u)
				}}
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.AssignsIDs = true }},
		{name: "keeps addresses in lower case",
			mem: func(m *mem) with {
				w := storing(m, func(record any) {
					switch r := record.(type) {
					case *adapter.User:
						r.Email = lowerASCII(r.Email)
					case *adapter.UserUpdate:
						if email, set := r.Email.Get(); set {
							r.Email = adapter.To(lowerASCII(email))
						}
					case *adapter.VerificationToken:
						r.Identifier = lowerASCII(r.Identifier)
					}
				})
				w.getUserByEmail = rekeyed(m.GetUserByEmail, lowerASCII)
				w.useToken = func(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
					k.Identifier = lowerASCII(k.Identifier)
					return m.UseVerificationToken(ctx, k)
				}
				return w
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.EmailFoldsCase = true }},
		{name: "keeps whole seconds",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time { return t.Truncate(time.Second) }))
			},
			harness: func(h *adaptertest.Harness) { h.Declarations.Precision = time.Second },
			except:  "TIME-03"},
		{name: "keeps whole milliseconds",
			mem: func(m *mem) with {
				return storing(m, instants(func(t time.Time) time.Time { return t.Truncate(time.Millisecond) }))
			}},
		{name: "returns nothing where it may",
			mem: func(m *mem) with {
				return with{
					linkAccount: silent(m.LinkAccount), unlinkAccount: silent(m.UnlinkAccount), deleteUser: silent(m.DeleteUser),
					updateSession: silent(m.UpdateSession), deleteSession: silent(m.DeleteSession), createToken: silent(m.CreateVerificationToken),
				}
			}},
		{name: "hides what has expired",
			mem: func(m *mem) with {
				alive := func(token string) bool {
					m.mu.RLock()
					defer m.mu.RUnlock()
					s, ok := m.sessions[token]
					return ok && s.Expires.After(m.clock.Now())
				}
				return with{
					getSessionAndUser: func(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
						if !alive(token) {
							return nil, m.begin(ctx)
						}
						return m.GetSessionAndUser(ctx, token)
					},
					updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
						if !alive(update.SessionToken) {
							return nil, m.begin(ctx)
						}
						return m.UpdateSession(ctx, update)
					},
					useToken: func(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
						t, err := m.UseVerificationToken(ctx, key)
						if t != nil && !t.Expires.After(m.clock.Now()) {
							return nil, nil
						}
						return t, err
					},
				}
			}},
		{name: "replaces a pair, refuses lower counters and other owners",
			mem: func(m *mem) with {
				return with{
					createToken: func(ctx context.Context, t adapter.VerificationToken) (*adapter.VerificationToken, error) {
						if t.Identifier == "" || t.Token == "" {
							return nil, errEmpty
						}
						return write(ctx, m, func() (*adapter.VerificationToken, error) {
							t = copyToken(t)
							m.tokens[t.Key()] = t
							return &t, nil
						})
					},
					updateSession: func(ctx context.Context, update adapter.SessionUpdate) (*adapter.Session, error) {
						if id, set := update.UserID.Get(); set {
							if s, _ := m.GetSessionAndUser(ctx, update.SessionToken); s != nil && s.Session.UserID != id {
								return nil, errors.New("mem: a session keeps its user")
							}
						}
						return m.UpdateSession(ctx, update)
					},
				}
			}},
		{name: "refuses what it can't keep",
			mem: func(m *mem) with {
				refuse := func(record any) error {
					var odd bool
					texts(func(s string) string {
						odd = odd || strings.TrimSpace(s) != s || strings.ContainsFunc(s, unicode.IsControl) || strings.ToValidUTF8(s, "") != s || len(s) > 70_000
						return s
					})(record)
					if odd {
						return errors.New("mem: the value can't be stored")
					}
					return nil
				}
				return with{
					linkAccount:   checked(m.LinkAccount, refuse),
					createSession: checked(m.CreateSession, refuse), createToken: checked(m.CreateVerificationToken, refuse),
					createAuthenticator: checked(m.CreateAuthenticator, refuse),
				}
			}},
		{name: "has sessions only", mem: func(*mem) with {
			return with{missing: []string{
				"GetUserByEmail", "GetUserByAccount", "UpdateUser", "DeleteUser", "LinkAccount", "UnlinkAccount", "GetAccount",
				"CreateVerificationToken", "UseVerificationToken",
				"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter",
			}}
		}, except: "CAP-01 CAP-02", // it has the methods that it says it lacks
			only: []string{"CAP", "SESS", "CTX", "CONC", "ERR"}},
		{name: "deletes no users", mem: func(*mem) with {
			return with{missing: []string{"DeleteUser"}, deleteUser: func(context.Context, string) (*adapter.User, error) {
				return nil, adapter.ErrUnsupported
			}}
		}, only: []string{"CAP", "USER", "CONC", "VOL", "LIFE"}},
	} {
		t.Run(strings.ReplaceAll(k.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			h := memHarness(k.mem)
			if k.harness != nil {
				k.harness(&h)
			}
			var o adaptertest.Options
			if o.Only = k.only; k.only == nil {
				o.Only = []string{"CAP", "USER", "ACCT", "SESS", "VTOK", "AUTHN", "CASC", "TIME", "DATA", "INPUT", "EXP", "ISO", "ALIAS", "LIFE", "ERR"}
			}
			report, err := adaptertest.Check(t.Context(), h, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range report.With(adaptertest.Fail) {
				if !strings.Contains(k.except, x.Clause.ID) {
					t.Errorf("%s %s: %s\n%s", x.Clause.Level, x.Clause.ID, x.Clause.Rule, strings.Join(x.Evidence, "\n"))
				}
			}
		})
	}
}

// silent keeps the record of a call to itself.
func silent[A, T any](method func(context.Context, A) (*T, error)) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, arg A) (*T, error) {
		_, err := method(ctx, arg)
		return nil, err
	}
}

// checked refuses some arguments of a call.
func checked[A, T any](method func(context.Context, A) (*T, error), refuse func(record any) error) func(context.Context, A) (*T, error) {
	return func(ctx context.Context, arg A) (*T, error) {
		given := arg
		if err := refuse(&given); err != nil {
			return nil, err
		}
		return method(ctx, arg)
	}
}
