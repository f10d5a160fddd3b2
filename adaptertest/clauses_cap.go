package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var capClauses = []check{
	{id: "CAP-01", words: "missing-methods-say-so", run: func(c *clauseContext) {
		if len(c.missing) == 0 {
			c.notApplicable("the adapter has every method")
		}
		calls := c.calls(c.raw)
		for _, method := range c.missing {
			call, ok := calls[method]
			if !ok {
				c.Errorf("the adapter declares that it lacks %q, which is not a method of the contract", method)
				continue
			}
			record, err := c.withoutPanic(method, call)
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
	{id: "CAP-02", words: "methods-come-in-whole-groups", run: func(c *clauseContext) {
		for _, g := range methodGroups {
			var has, lacks []string
			for _, m := range g.methods {
				if c.lacks(m) {
					lacks = append(lacks, m)
				} else {
					has = append(has, m)
				}
			}
			if len(lacks) > 0 && slices.ContainsFunc(has, func(m string) bool { return m != g.shared }) {
				c.Errorf("of the methods for %s the adapter has %s, and lacks %s", g.name, strings.Join(has, ", "), strings.Join(lacks, ", "))
			}
		}
		if !c.lacks("DeleteUser") && c.lacks("CreateUser") {
			c.Errorf("the adapter has DeleteUser, and lacks CreateUser")
		}
	}},
	{id: "CAP-03", words: "preparing-again-changes-nothing", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		all := c.everything()
		open := func() adapter.Adapter { return c.second() }
		if !c.has(abilitySecond) {
			c.need(abilityReopen)
			open = func() adapter.Adapter {
				if err := c.harness().Close(c.raw); err != nil {
					c.Errorf("Close: %v", err)
				}
				c.raw = c.harness().Reopen(c.tb, c.raw)
				c.a = c.observe(c.raw)
				return c.a
			}
		}
		for _, what := range []string{"after the second opening", "after the third opening"} {
			c.unchanged(what, open(), all)
			c.unchanged(what+", through the first adapter", c.a, all)
		}
		if all.token != nil {
			c.same("the verification token", c.useToken(all.token.Key()), all.token)
		}
	}},
	{id: "CAP-04", words: "first-calls-at-once-all-work", run: func(c *clauseContext) {
		goroutines := min(16, c.most)
		for range max(2, c.rounds(4)) {
			fresh := c.harness().New(c.tb)
			calls := c.calls(fresh)
			var methods []string
			for _, m := range []string{"CreateUser", "GetUser", "CreateVerificationToken", "GetSessionAndUser", "GetAccount", "ListAuthenticatorsByUserID"} {
				if !c.lacks(m) {
					methods = append(methods, m)
				}
			}
			if len(methods) == 0 {
				c.notApplicable("the adapter has no method that works on its own")
			}
			c.parallel(goroutines, func(i int) {
				method := methods[i%len(methods)]
				if _, err := c.withoutPanic(method, calls[method]); err != nil {
					c.Errorf("%s as one of the first %d calls: %v", method, goroutines, err)
				}
			})
		}
	}},
}

// methodGroups has the methods that belong together. DeleteUser may be
// missing in each group.
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

// calls returns one call of each method, with arguments that match no record.
// Lookups find nothing; the returned value is nil then.
func (c *clauseContext) calls(a adapter.Adapter) map[string]func() (any, error) {
	ctx := c.ctx
	id := c.id()
	return map[string]func() (any, error){
		"CreateUser":       recordOf(func() (*adapter.User, error) { return a.CreateUser(ctx, c.newUser()) }),
		"GetUser":          recordOf(func() (*adapter.User, error) { return a.GetUser(ctx, id) }),
		"GetUserByEmail":   recordOf(func() (*adapter.User, error) { return a.GetUserByEmail(ctx, c.newUser().Email) }),
		"GetUserByAccount": recordOf(func() (*adapter.User, error) { return a.GetUserByAccount(ctx, c.newAccount(id).Key()) }),
		"UpdateUser": recordOf(func() (*adapter.User, error) {
			return a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Name: adapter.To(new("x"))})
		}),
		"DeleteUser":    recordOf(func() (*adapter.User, error) { return a.DeleteUser(ctx, id) }),
		"LinkAccount":   recordOf(func() (*adapter.Account, error) { return a.LinkAccount(ctx, c.newAccount(id)) }),
		"UnlinkAccount": recordOf(func() (*adapter.Account, error) { return a.UnlinkAccount(ctx, c.newAccount(id).Key()) }),
		"GetAccount":    recordOf(func() (*adapter.Account, error) { return a.GetAccount(ctx, c.unique("subject"), c.unique("provider")) }),
		"CreateSession": recordOf(func() (*adapter.Session, error) { return a.CreateSession(ctx, c.newSession(id)) }),
		"GetSessionAndUser": recordOf(func() (*adapter.SessionAndUser, error) {
			return a.GetSessionAndUser(ctx, c.unique("session"))
		}),
		"UpdateSession": recordOf(func() (*adapter.Session, error) {
			return a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: c.unique("session"), Expires: adapter.To(c.instant(time.Hour))})
		}),
		"DeleteSession": recordOf(func() (*adapter.Session, error) { return a.DeleteSession(ctx, c.unique("session")) }),
		"CreateVerificationToken": recordOf(func() (*adapter.VerificationToken, error) {
			return a.CreateVerificationToken(ctx, c.newToken())
		}),
		"UseVerificationToken": recordOf(func() (*adapter.VerificationToken, error) {
			return a.UseVerificationToken(ctx, c.newToken().Key())
		}),
		"CreateAuthenticator": recordOf(func() (*adapter.Authenticator, error) {
			return a.CreateAuthenticator(ctx, c.newAuthenticator(id))
		}),
		"GetAuthenticator": recordOf(func() (*adapter.Authenticator, error) { return a.GetAuthenticator(ctx, c.unique("credential")) }),
		"ListAuthenticatorsByUserID": func() (any, error) {
			list, err := a.ListAuthenticatorsByUserID(ctx, id)
			if list == nil {
				return nil, err
			}
			return list, err
		},
		"UpdateAuthenticatorCounter": recordOf(func() (*adapter.Authenticator, error) {
			return a.UpdateAuthenticatorCounter(ctx, c.unique("credential"), 9)
		}),
	}
}

// recordOf returns a nil any for a typed nil.
func recordOf[T any](call func() (*T, error)) func() (any, error) {
	return func() (any, error) {
		record, err := call()
		if record == nil {
			return nil, err
		}
		return record, err
	}
}

// withoutPanic makes a call that must not panic.
func (c *clauseContext) withoutPanic(method string, call func() (any, error)) (record any, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
			c.Errorf("%s panicked: %v", method, v)
		}
	}()
	return call()
}
