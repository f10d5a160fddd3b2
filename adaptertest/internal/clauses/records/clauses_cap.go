package records

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var capClauses = []kit.Check{
	{ID: "CAP-01", Words: "missing-methods-say-so", Test: func(c *kit.Context) {
		if len(c.Missing) == 0 {
			c.NotApplicable("the adapter has every method")
		}
		calls := calls(c, c.Raw)
		for _, method := range c.Missing {
			call, ok := calls[method]
			if !ok {
				c.Errorf("the adapter declares that it lacks %q, which is not a method of the contract", method)
				continue
			}
			record, err := withoutPanic(c, method, call)
			switch {
			case err == nil:
				c.Errorf("%s, which is missing: succeeded with %s, want an error that matches ErrUnsupported", method, diff.Show(record))
			case !errors.Is(err, adapter.ErrUnsupported):
				c.Errorf("%s, which is missing: error %v does not match ErrUnsupported", method, err)
			case record != nil:
				c.Errorf("%s, which is missing: returned %s with its error", method, diff.Show(record))
			}
		}
	}},
	{ID: "CAP-02", Words: "methods-come-in-whole-groups", Test: func(c *kit.Context) {
		for _, g := range methodGroups {
			has := slices.DeleteFunc(slices.Clone(g.methods), c.Lacks)
			lacks := kit.Keep(g.methods, c.Lacks)
			if len(lacks) > 0 && slices.ContainsFunc(has, func(m string) bool { return m != g.shared }) {
				c.Errorf("of the methods for %s the adapter has %s, and lacks %s", g.name, strings.Join(has, ", "), strings.Join(lacks, ", "))
			}
		}
		if !c.Lacks("DeleteUser") && c.Lacks("CreateUser") {
			c.Errorf("the adapter has DeleteUser, and lacks CreateUser")
		}
	}},
	{ID: "CAP-03", Words: "preparing-again-changes-nothing", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		all := everything(c)
		open := func() adapter.Adapter { return kit.Second(c) }
		if !c.Has(kit.AbilitySecond) {
			c.Need(kit.AbilityReopen)
			open = func() adapter.Adapter {
				kit.Reopen(c)
				return c.Adapter
			}
		}
		for _, what := range []string{"after the second opening", "after the third opening"} {
			unchanged(c, what, open(), all)
			unchanged(c, what+", through the first adapter", c.Adapter, all)
		}
		for _, t := range all.Tokens {
			c.Same("the verification token", c.UseToken(t.Key()), &t)
		}
	}},
	{ID: "CAP-04", Words: "first-calls-at-once-all-work", Test: func(c *kit.Context) {
		goroutines := min(16, c.Most)
		for range max(2, c.Rounds(4)) {
			fresh := c.Harness().New(c.TB)
			calls := calls(c, fresh)
			methods := kit.Applicable(c, []string{
				"CreateUser", "GetUser", "CreateVerificationToken", "GetSessionAndUser", "GetAccount", "ListAuthenticatorsByUserID",
			}, func(m string) bool { return !c.Lacks(m) }, "the adapter has no method that works on its own")
			c.Parallel(goroutines, func(i int) {
				method := methods[i%len(methods)]
				if _, err := withoutPanic(c, method, calls[method]); err != nil {
					c.Errorf("%s as one of the first %d calls: %v", method, goroutines, err)
				}
			})
		}
	}},
}

// methodGroups has the methods that belong together. DeleteUser may be missing in each group.
var methodGroups = []struct {
	name    string
	methods []string
	shared  string // a method that another group needs too
}{
	{"users and accounts", []string{
		"CreateUser", "GetUser", "GetUserByEmail", "GetUserByAccount", "UpdateUser", "LinkAccount", "UnlinkAccount", "GetAccount",
	}, "GetAccount"},
	{"sessions", []string{"CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession"}, ""},
	{"verification tokens", []string{"CreateVerificationToken", "UseVerificationToken"}, ""},
	{"WebAuthn", []string{
		"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter", "GetAccount",
	}, "GetAccount"},
}

// calls returns one call of each of the 19 methods, with arguments that match no record.
// Lookups find nothing; the returned value is nil then.
func calls(c *kit.Context, a adapter.Adapter) map[string]func() (any, error) {
	id, all := c.ID(), map[string]func() (any, error){}
	add := func(method string, call func() kit.Call) {
		all[method] = func() (any, error) {
			got, err := call().Do(c.Ctx, a)
			if list, ok := got.([]adapter.Authenticator); ok && list == nil || kit.IsNilRecord(got) {
				return nil, err
			}
			return got, err
		}
	}
	for _, kind := range kit.RecordKinds {
		add(kind.Create, func() kit.Call { return kit.NewDraft(c, kind.Kind, id).Create() })
	}
	for _, m := range kit.KeyedMethods() {
		if !m.Optional() {
			add(m.Name, func() kit.Call { return m.With(c, m.UnknownKey(c)) })
		}
	}
	return all
}

// withoutPanic makes a call that must not panic.
func withoutPanic(c *kit.Context, method string, call func() (any, error)) (record any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
			c.Errorf("%s panicked: %v", method, v)
		}
	}()
	return call()
}
