package limit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/limit"
	"github.com/gatehouse-go/gatehouse/auth/limit/counts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type allow = func(context.Context, auth.Attempt) error

func password(client, account string) auth.Attempt {
	return auth.Attempt{Provider: "credentials", Type: auth.TypeCredentials, Client: client, Identifier: account}
}

// wait returns how long an attempt has to wait, or 0 if it may be made.
func wait(t *testing.T, l allow, a auth.Attempt) time.Duration {
	t.Helper()
	err := l(t.Context(), a)
	if err == nil {
		return 0
	}
	refused, ok := errors.AsType[*auth.TooManyAttempts](err)
	require.Truef(t, ok && refused.RetryAfter > 0, "got %v, want an error that says how long to wait", err)
	return refused.RetryAfter
}

// TestWaitsGrow: some attempts are free, and each one after them waits twice as
// long, up to a bound. An attempt that comes too early is not counted.
func TestWaitsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule := limit.Rule{Free: 3, Wait: time.Second, MaxWait: 10 * time.Second, Forget: time.Hour}
		l := limit.New(limit.Options{Rules: map[limit.Kind]limit.Rules{limit.Password: {Account: rule}}})
		for i := range 3 {
			require.Zerof(t, wait(t, l, password("192.0.2.1", "ada")), "attempt %d waits", i)
		}
		for _, want := range []time.Duration{1, 2, 4, 8, 10, 10} {
			for range 3 {
				require.Equal(t, want*time.Second, wait(t, l, password("192.0.2.2", "ada")), "the wait")
			}
			time.Sleep(want * time.Second)
			require.Zerof(t, wait(t, l, password("192.0.2.2", "ada")), "after %v: it waits more", want*time.Second)
		}
		time.Sleep(9 * time.Hour) // the wait is at its bound, so no more attempts are remembered than that takes
		for i := range 3 {
			require.Zerof(t, wait(t, l, password("192.0.2.1", "ada")), "much later: attempt %d waits", i)
		}
	})
}

// TestCountedTogether: what one attempt uses up of another one.
func TestCountedTogether(t *testing.T) {
	mail := func(a auth.Attempt) auth.Attempt { a.Type = auth.TypeEmail; return a }
	code := func(a auth.Attempt) auth.Attempt { a.Type, a.Code = auth.TypeEmail, true; return a }
	known := func(a auth.Attempt) auth.Attempt { a.Browser = "b1"; return a }
	passkey := func(a auth.Attempt, action string) auth.Attempt {
		a.Type, a.Identifier = auth.TypeWebAuthn, ""
		a.Form = auth.Form{"action": action, "email": "ada"}
		return a
	}
	ada := password("192.0.2.1", "ada")
	few := limit.Rule{Free: 3, Wait: time.Second, MaxWait: time.Minute, Forget: time.Hour}
	many := limit.Rule{Free: 500, Wait: time.Second, MaxWait: time.Minute, Forget: time.Hour}
	rules := map[limit.Kind]limit.Rules{}
	for _, k := range []limit.Kind{limit.Password, limit.Mail, limit.Code, limit.Passkey, limit.OAuth, limit.SignUp} {
		rules[k] = limit.Rules{Client: many, Account: few, Both: few, Known: few}
	}
	for name, c := range map[string]struct {
		spent, other auth.Attempt
		together     bool
	}{
		"the same":                        {ada, ada, true},
		"another case of the name":        {ada, password("192.0.2.1", "ADA"), true},
		"another client":                  {ada, password("192.0.2.2", "ada"), true},
		"another account":                 {ada, password("192.0.2.1", "bob"), false},
		"both are others":                 {ada, password("192.0.2.2", "bob"), false},
		"another provider":                {ada, auth.Attempt{Provider: "ldap", Type: auth.TypeCredentials, Client: "192.0.2.3", Identifier: "ada"}, true},
		"a mail":                          {ada, mail(ada), false},
		"a mail, then a code":             {mail(ada), code(ada), false},
		"mails":                           {mail(ada), mail(password("192.0.2.9", "ada")), true},
		"a browser that is known":         {ada, known(ada), false},
		"what a known browser spends":     {known(ada), ada, false},
		"a known browser":                 {known(ada), known(password("192.0.2.7", "ada")), true},
		"a known browser, another name":   {known(ada), known(password("192.0.2.7", "ada@example.com")), true},
		"accents, width and space":        {ada, password("192.0.2.7", "\uff21d\u00e1 \u200b"), true},
		"no client, another account":      {password("", "ada"), password("", "bob"), false},
		"passkeys":                        {passkey(ada, "authenticate"), passkey(ada, "authenticate"), true},
		"a passkey and a registration":    {passkey(ada, "authenticate"), passkey(ada, "register"), false},
		"registrations":                   {passkey(ada, "register"), passkey(password("192.0.2.9", ""), "register"), true},
		"beginnings of OAuth":             {auth.Attempt{Type: auth.TypeOAuth, Client: "192.0.2.1"}, auth.Attempt{Type: auth.TypeOIDC, Client: "192.0.2.1"}, true},
		"a network of IPv6":               {password("2001:db8:1:1::/64", "ada"), password("2001:db8:1:1::/64", "bob"), false},
		"nothing to count by":             {password("", ""), password("", ""), false},
		"a client that is no address":     {password("x:y", "ada"), password("x:y", "bob"), false},
		"two clients that look like pair": {password("192.0.2.1", "1 ada"), password("192.0.2.11", "ada"), false},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			l := limit.New(limit.Options{Rules: rules, Clock: func() time.Time { return now }})
			for i := 0; wait(t, l, c.spent) == 0; i++ {
				if i == 1000 {
					if name == "nothing to count by" {
						return
					}
					t.Fatal("there is no limit")
				}
			}
			assert.Equal(t, c.together, wait(t, l, c.other) > 0, "the other attempt is refused")
		})
	}
}

// TestNetworksOf48Bits: somebody who has many networks of 64 bits has not as many
// attempts.
func TestNetworksOf48Bits(t *testing.T) {
	now := time.Now()
	l := limit.New(limit.Options{Clock: func() time.Time { return now }})
	allowed := 0
	for i := range 5000 {
		if wait(t, l, password(fmt.Sprintf("2001:db8:1:%x::/64", i), fmt.Sprint("user", i))) == 0 {
			allowed++
		}
	}
	assert.Equal(t, 8*limit.Defaults(limit.Password).Client.Free, allowed, "attempts that were made")
	assert.True(t, wait(t, l, password("2001:db8:2:1::/64", "somebody")) == 0, "another network is refused")
}

const secret = "0123456789abcdef0123456789abcdef"

type failing struct {
	asked int
	err   error
}

func (f *failing) Take(context.Context, []counts.Bucket) (time.Duration, error) {
	f.asked++
	return 0, f.err
}

// TestStoreThatFails: while the store fails, the process counts, and does not ask
// the store again with each attempt.
func TestStoreThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &failing{err: errors.New("down")}
		told := 0
		l := limit.New(limit.Options{Store: store, Secret: secret, StoreFailed: func(context.Context, error) { told++ }})
		made := 0
		for range 20 {
			if wait(t, l, password("192.0.2.1", "ada")) == 0 {
				made++
			}
		}
		if want := limit.Defaults(limit.Password).Both.Free; made != want || store.asked != 1 || told != 1 {
			t.Errorf("%d attempts were made, want %d; the store was asked %d times, and its failure told %d times", made, want, store.asked, told)
		}
		time.Sleep(6 * time.Second)
		store.err = nil
		for range 20 {
			_ = wait(t, l, password("192.0.2.1", "ada"))
		}
		assert.Equal(t, 21, store.asked, "how often the store was asked")
	})
}

// TestRulesThatCannotBe: rules without sense are refused at the start.
func TestRulesThatCannotBe(t *testing.T) {
	for _, r := range []limit.Rule{
		{Free: 1}, {Free: 0, Wait: 1, MaxWait: 1, Forget: time.Second}, {Free: 1, Wait: 2, MaxWait: 1, Forget: time.Second}, {Free: 1, Wait: -1, MaxWait: 1, Forget: time.Second},
		{Free: 1, Wait: 1, MaxWait: 1}, {Free: 1, Wait: 1, MaxWait: 1, Forget: 1 << 62}, {Free: -1, Wait: 1, MaxWait: 1, Forget: time.Second},
		{Free: 1, Wait: 1, MaxWait: 1<<63 - 1, Forget: time.Second}, {Free: 1 << 40, Wait: 1, MaxWait: 1, Forget: time.Hour},
	} {
		o := limit.Options{Rules: map[limit.Kind]limit.Rules{limit.Mail: {Both: r}}}
		assert.Panicsf(t, func() { limit.New(o) }, "%+v is taken", r)
	}
	for name, o := range map[string]limit.Options{
		"a kind that does not exist": {Rules: map[limit.Kind]limit.Rules{"pasword": {}}},
		"a store without a secret":   {Store: &failing{}},
		"a short secret":             {Store: &failing{}, Secret: secret[1:]},
	} {
		assert.Panicsf(t, func() { limit.New(o) }, "%s is taken", name)
	}
}

// TestOptionsShowNoSecret: nothing prints the secret.
func TestOptionsShowNoSecret(t *testing.T) {
	o := limit.Options{Secret: secret}
	text, err := json.Marshal(o)
	require.NoError(t, err)
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s", o, o, &o, []limit.Options{o}), string(text), slog.AnyValue(o).Resolve().String()} {
		assert.Truef(t, !strings.Contains(shown, secret) && shown != "", "the options are printed as %q", shown)
	}
}

func BenchmarkAllow(b *testing.B) {
	l := limit.New(limit.Options{Rules: map[limit.Kind]limit.Rules{limit.Password: {
		Client:  limit.Rule{Free: 1 << 30, Wait: 1, MaxWait: 1, Forget: time.Second},
		Account: limit.Rule{Free: 1 << 30, Wait: 1, MaxWait: 1, Forget: time.Second},
		Both:    limit.Rule{Free: 1 << 30, Wait: 1, MaxWait: 1, Forget: time.Second},
	}}})
	a := password("2001:db8:1:2::/64", "ada@example.com")
	a.Request = &http.Request{}
	b.ReportAllocs()
	for b.Loop() {
		if err := l(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}
