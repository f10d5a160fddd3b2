package wirings_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// without is an adapter without one of the 19 methods.
type without struct {
	*memory.Adapter
	method string
}

func (w without) Missing() []string { return []string{w.method} }

// withoutInterface returns the adapter without one optional interface. The key
// is the name of the interface.
var withoutInterface = map[string]func(a *memory.Adapter) adapter.Adapter{
	"SignUps": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.AccountLists
			adapter.SessionLists
			adapter.AuthenticatorEdits
			adapter.TokenEdits
			adapter.AuthenticatorBackups
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"AccountLists": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.SessionLists
			adapter.AuthenticatorEdits
			adapter.TokenEdits
			adapter.AuthenticatorBackups
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"SessionLists": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.AccountLists
			adapter.AuthenticatorEdits
			adapter.TokenEdits
			adapter.AuthenticatorBackups
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"AuthenticatorEdits": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.AccountLists
			adapter.SessionLists
			adapter.TokenEdits
			adapter.AuthenticatorBackups
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"TokenEdits": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.AccountLists
			adapter.SessionLists
			adapter.AuthenticatorEdits
			adapter.AuthenticatorBackups
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"AuthenticatorBackups": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.AccountLists
			adapter.SessionLists
			adapter.AuthenticatorEdits
			adapter.TokenEdits
			adapter.Passwords
		}{a, a, a, a, a, a, a}
	},
	"Passwords": func(a *memory.Adapter) adapter.Adapter {
		return struct {
			adapter.Adapter
			adapter.SignUps
			adapter.AccountLists
			adapter.SessionLists
			adapter.AuthenticatorEdits
			adapter.TokenEdits
			adapter.AuthenticatorBackups
		}{a, a, a, a, a, a, a}
	},
}

// methodsOf has the methods of each interface in withoutInterface.
var methodsOf = map[string][]string{
	"SignUps":              {"CreateUserWithAccount"},
	"AccountLists":         {"ListAccountsByUserID", "UpdateAccount"},
	"SessionLists":         {"ListSessionsByUserID", "DeleteSessionsByUserID"},
	"AuthenticatorEdits":   {"DeleteAuthenticator", "RenameAuthenticator", "TouchAuthenticator"},
	"AuthenticatorBackups": {"UpdateAuthenticatorBackup"},
	"TokenEdits":           {"DeleteVerificationTokens"},
	"Passwords":            {"CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"},
}

// TestMissingMethods runs the suite on the memory adapter without each single
// method, and without each optional interface. A clause that the full adapter passes
// stays verified, unless it requires the missing method. Only the clause that forbids
// a group of methods with a gap may fail. Without -whole it hides interfaces, and few methods.
func TestMissingMethods(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs the suite not so often")
	}
	opens := map[string]func() adapter.Adapter{}
	hidden := []string{
		"CreateUser", "GetUser", "GetUserByEmail", "GetUserByAccount", "UpdateUser", "DeleteUser", "LinkAccount", "UnlinkAccount", "GetAccount",
		"CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession", "CreateVerificationToken", "UseVerificationToken",
		"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter",
	}
	if !*whole {
		hidden = []string{"GetUserByEmail", "UpdateSession", "GetAuthenticator"}
	}
	for _, method := range hidden {
		opens[method] = func() adapter.Adapter {
			a, err := adapter.Partial(without{memory.New(), method})
			if err != nil {
				panic(err)
			}
			return a
		}
	}
	for name, hide := range withoutInterface {
		opens[name] = func() adapter.Adapter { return hide(memory.New()) }
	}
	whole := outcomes(t, func() adapter.Adapter { return memory.New() })
	requires := map[string][]string{}
	for _, c := range adaptertest.Clauses() {
		requires[c.ID] = c.Requires
	}
	for name, open := range opens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			methods := []string{name}
			if of, ok := methodsOf[name]; ok {
				methods = of
			}
			for id, r := range outcomes(t, open) {
				required := slices.ContainsFunc(requires[id], func(m string) bool { return slices.Contains(methods, m) })
				before := whole[id].Outcome
				switch {
				case r.Outcome == adaptertest.Fail && id != "CAP-02":
					t.Errorf("%s fails: %s", id, strings.Join(r.Evidence, "\n"))
				case before != adaptertest.Pass && before != adaptertest.Recorded:
				case r.Outcome == adaptertest.NotApplicable && !required:
					t.Errorf("%s does not apply (%s), although it requires none of %v", id, r.Reason, methods)
				case r.Outcome != adaptertest.NotApplicable && required:
					t.Errorf("%s requires one of %v, and is %s without it", id, methods, r.Outcome)
				}
			}
		})
	}
}

// outcomes runs the suite with few rounds and returns the result of each
// clause.
func outcomes(t *testing.T, open func() adapter.Adapter) map[string]adaptertest.Result {
	t.Helper()
	report := must(adaptertest.Check(t.Context(), adaptertest.Harness{
		New:          func(testing.TB) adapter.Adapter { return open() },
		Second:       handle,
		Close:        func(adapter.Adapter) error { return nil }, // there is nothing to close
		Declarations: adaptertest.Declarations{Volatile: "the records are in the memory of the process", Precision: time.Nanosecond, Timeless: true},
	}, adaptertest.Options{Rounds: 0.01, Parallel: 4}))(t)
	results := map[string]adaptertest.Result{}
	for _, r := range report.Results {
		results[r.Clause.ID] = r
	}
	return results
}

// shared is another handle on the data of an adapter.
type shared struct{ adapter.Adapter }

// Unwrap returns the value that has the optional interfaces.
func (s shared) Unwrap() any {
	if p, ok := s.Adapter.(interface{ Unwrap() any }); ok {
		return p.Unwrap()
	}
	return s.Adapter
}

// Missing lists the methods that the adapter does not have.
func (s shared) Missing() []string { return adapter.Missing(s.Adapter) }

func handle(_ testing.TB, a adapter.Adapter) adapter.Adapter { return shared{a} }
