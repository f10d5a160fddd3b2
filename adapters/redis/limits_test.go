package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/limit"
)

var secret = rand.Text() + rand.Text()

// limiter is a process that keeps its counts in Redis.
func limiter(t *testing.T, client goredis.UniversalClient, prefix string, rules limit.Rules, failed func(error)) func(context.Context, auth.Attempt) error {
	t.Helper()
	return limit.New(limit.Options{
		Store: &redis.Limits{Client: client, Prefix: prefix}, Secret: secret, Rules: map[limit.Kind]limit.Rules{limit.Password: rules},
		StoreFailed: func(_ context.Context, err error) { failed(err) },
	})
}

// waitOf returns how long an attempt has to wait, or 0 if it was made.
func waitOf(t *testing.T, l func(context.Context, auth.Attempt) error, a auth.Attempt) time.Duration {
	t.Helper()
	err := l(t.Context(), a)
	if err == nil {
		return 0
	}
	refused, ok := errors.AsType[*auth.TooManyAttempts](err)
	require.Truef(t, ok && refused.RetryAfter > 0, "got %v, want an error that says how long to wait", err)
	return refused.RetryAfter
}

func typed(client, account string) auth.Attempt {
	return auth.Attempt{Type: auth.TypeCredentials, Client: client, Identifier: account}
}

// TestLimitsHaveTheRulesOfTheProcess makes the same attempts at the same times in
// Redis and in a process. In Redis time passes because the instants in the keys are
// moved.
func TestLimitsHaveTheRulesOfTheProcess(t *testing.T) {
	rules := limit.Rules{
		Client:  limit.Rule{Free: 8, Wait: 10 * time.Minute, MaxWait: time.Hour, Forget: 30 * time.Minute},
		Account: limit.Rule{Free: 4, Wait: 20 * time.Minute, MaxWait: 100 * time.Minute, Forget: time.Hour},
		Both:    limit.Rule{Free: 2, Wait: 10 * time.Minute, MaxWait: 4 * time.Hour, Forget: 2 * time.Hour},
	}
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.env(t)
			now := time.Now()
			shared := limiter(t, e.Admin, e.Prefix, rules, func(err error) { t.Errorf("the store failed: %v", err) })
			alone := limit.New(limit.Options{Rules: map[limit.Kind]limit.Rules{limit.Password: rules}, Clock: func() time.Time { return now }})
			random := mathrand.New(mathrand.NewPCG(1, 2)) //nolint:gosec // the same attempts in each run
			made, refused := 0, 0
			for step := range 400 {
				if random.IntN(4) == 0 {
					by := time.Duration(1+random.IntN(30)) * 10 * time.Minute
					now = now.Add(by)
					older(t, e.Admin, e.Prefix, by)
				}
				a := typed(fmt.Sprintf("192.0.2.%d", random.IntN(3)), fmt.Sprint("user", random.IntN(3)))
				got, want := waitOf(t, shared, a), waitOf(t, alone, a)
				require.Truef(t, (got == 0) == (want == 0) && got <= want && want-got <= 5*time.Minute,
					"step %d: %+v waits %v, want %v", step, a.Client+" "+a.Identifier, got, want)
				if made++; want > 0 {
					refused++
				}
			}
			assert.Truef(t, refused >= 50 && made-refused >= 50,
				"%d of %d attempts were refused: the rules are not tried", refused, made)
		})
	}
}

// older moves the instants in all keys of limits into the past.
func older(t *testing.T, client goredis.UniversalClient, prefix string, by time.Duration) {
	t.Helper()
	for _, key := range keysOf(t, client, "{"+prefix+":limit}:*") {
		for _, field := range []string{"s", "u"} {
			require.NoError(t, client.HIncrBy(t.Context(), key, field, -by.Milliseconds()).Err())
		}
	}
}

// TestLimitsTakeOneRoundTrip: an attempt is one round trip, allowed or refused, and is
// counted once, also of many at one instant.
func TestLimitsTakeOneRoundTrip(t *testing.T) {
	rules := limit.Rules{Client: limit.Rule{Free: 1000, Wait: time.Hour, MaxWait: time.Hour, Forget: time.Hour}, Account: hourly(20), Both: hourly(10)}
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.env(t)
			h := e.Handle(t, e.Prefix, 4)
			l := limiter(t, h.Client, e.Prefix, rules, func(err error) { t.Errorf("the store failed: %v", err) })
			wait := waitOf(t, l, typed("2001:db8:1:1::/64", "first")) // connects, and loads the script
			require.Zero(t, wait, "the first attempt is refused")
			for i := range 15 {
				before := h.Proxy.Steps()
				allowed := waitOf(t, l, typed("2001:db8:1:1::/64", "ada")) == 0
				trips := h.Proxy.Steps() - before
				assert.Truef(t, trips == 1 && allowed == (i < 10), "attempt %d took %d round trips, allowed %v", i, trips, allowed)
			}
			var group sync.WaitGroup
			var allowed atomic.Int32
			for i := range 60 {
				group.Go(func() {
					if l(t.Context(), typed(fmt.Sprintf("192.0.2.%d", i), "eve")) == nil {
						allowed.Add(1)
					}
				})
			}
			group.Wait()
			assert.Truef(t, allowed.Load() == 20, "%d of 60 attempts at one instant were allowed, want 20", allowed.Load())
		})
	}
}

func hourly(free int) limit.Rule {
	return limit.Rule{Free: free, Wait: time.Hour, MaxWait: time.Hour, Forget: time.Hour}
}

// TestLimitsWhileRedisIsDown: while Redis is down, the process counts on from what it
// let through, and asks Redis only now and then. Afterwards Redis counts.
func TestLimitsWhileRedisIsDown(t *testing.T) {
	for _, kind := range []fault.Kind{fault.Down, fault.Stall} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			e := standalone.env(t)
			h := e.Handle(t, e.Prefix, 4)
			var failures []error
			l := limiter(t, h.Client, e.Prefix, limit.Rules{Both: hourly(5)}, func(err error) { failures = append(failures, err) })
			for range 2 {
				require.True(t, waitOf(t, l, typed("192.0.2.1", "ada")) == 0, "an attempt is refused")
			}
			must(h.Proxy.Inject(kind, 1))(t)
			made := 2
			for range 40 {
				if waitOf(t, l, typed("192.0.2.1", "ada")) == 0 {
					made++
				}
			}
			assert.Truef(t, made == 5 && len(failures) != 0,
				"%d attempts were made, want 5; the failures are %v", made, failures)
			asked := h.Proxy.Steps()
			h.Proxy.Heal()
			other := limiter(t, h.Client, e.Prefix, limit.Rules{Both: hourly(5)}, func(err error) { t.Errorf("after the outage: %v", err) })
			made = 0
			for range 10 {
				if waitOf(t, other, typed("192.0.2.1", "ada")) == 0 {
					made++
				}
			}
			assert.LessOrEqual(t, made, 3, "attempts") // Redis knows of the two before, and perhaps of one during the outage
			assert.NotEqual(t, asked, h.Proxy.Steps(), "steps after the outage")
		})
	}
}

// TestLimitsHoldHashes: nobody who reads the keys learns an address or a name, and
// each key expires.
func TestLimitsHoldHashes(t *testing.T) {
	t.Parallel()
	e := standalone.env(t)
	l := limiter(t, e.Admin, e.Prefix, limit.Defaults(limit.Password), func(err error) { t.Error(err) })
	for range 3 {
		_ = waitOf(t, l, typed("2001:db8:1:1::/64", "ada@example.com"))
	}
	keys := keysOf(t, e.Admin, "*"+e.Prefix+"*")
	require.Lenf(t, keys, 4, "the keys are %q, want one each for the two networks, the account and both", keys)
	for _, key := range keys {
		ttl, err := e.Admin.PTTL(t.Context(), key).Result()
		fields, err2 := e.Admin.HGetAll(t.Context(), key).Result()
		assert.NoError(t, errors.Join(err, err2))
		assert.Truef(t, ttl > 0 && ttl <= 24*time.Hour && len(fields) == 3, "%s expires in %v and has %v", key, ttl, fields)
		for _, plain := range []string{"2001", "db8", "ada", "example"} {
			assert.NotContainsf(t, strings.TrimPrefix(key, "{"+e.Prefix), plain, "%s names %s", key, plain)
		}
	}
}

// TestGuessingAtTwoProcesses guesses over HTTP at two processes in turn, one of which
// starts again between the guesses. Together they check no more passwords than one.
func TestGuessingAtTwoProcesses(t *testing.T) {
	t.Parallel()
	e := standalone.env(t)
	var checked atomic.Int32
	start := func() string { return process(t, e, &checked) }
	stays := start()
	refused := 0
	for i := range 30 {
		restarted := stays
		if i%2 == 1 {
			restarted = start()
		}
		if guess(t, restarted, "ada") == http.StatusTooManyRequests {
			refused++
		}
	}
	assert.Truef(t, checked.Load() == 5 && refused == 25,
		"%d passwords were checked and %d guesses refused, want 5 and 25", checked.Load(), refused)
}

// process starts a process of the site, and returns its URL.
func process(t *testing.T, e *redistest.Env, checked *atomic.Int32) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	h := must(auth.New(auth.Config{
		URL: "http://" + server.Listener.Addr().String(), Secret: []string{secret},
		Providers: []auth.Provider{&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
			checked.Add(1)
			return nil, nil
		}}},
		Limit: limiter(t, e.Admin, e.Prefix, limit.Rules{Client: hourly(100), Account: hourly(10), Both: hourly(5)}, func(err error) { t.Error(err) }),
	}))(t)
	server.Config.Handler = h
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// guess posts a wrong password, and returns the status.
func guess(t *testing.T, site, name string) int {
	t.Helper()
	form := url.Values{"username": {name}, "password": {"wrong"}}.Encode()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/auth/callback/credentials", strings.NewReader(form)))(t)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	require.NoError(t, err)
	_ = res.Body.Close()
	return res.StatusCode
}
