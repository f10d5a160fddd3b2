package adaptertest

import (
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// volumeWorkers is how many goroutines populate a store that likes it.
const volumeWorkers = 8

var volClauses = []check{
	{id: "VOL-01", words: "150-authenticators-are-listed", run: func(c *clauseContext) {
		c.requires("CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID")
		const n = 150
		owner, other := c.user().ID, c.user().ID
		want := make([]adapter.Authenticator, n)
		for i := range want {
			want[i] = c.newAuthenticator(owner)
			want[i].Counter = int64(i)
		}
		c.populate(n, func(i int) {
			c.createAuthenticator(want[i])
			if i%10 == 0 {
				c.authenticator(other)
			}
		})
		c.sameAuthenticators("the list of 150 authenticators", c.listAuthenticators(owner), want)
	}},
	{id: "VOL-02", words: "1000-users-are-found", run: func(c *clauseContext) {
		const n = 1000
		users := make([]*adapter.User, n)
		accounts := make([]adapter.Account, n)
		linked := !c.lacks("LinkAccount") && !c.lacks("GetUserByAccount")
		c.populate(n, func(i int) {
			users[i] = c.user()
			if linked {
				accounts[i] = c.account(users[i].ID)
			}
		})
		c.lookUp(n, func(i int) {
			u := users[i]
			if !c.lacks("GetUser") {
				c.same("GetUser among 1,000", c.getUser(u.ID), u)
			}
			if !c.lacks("GetUserByEmail") {
				c.same("GetUserByEmail among 1,000", c.getUserByEmail(u.Email), u)
			}
			if linked {
				c.same("GetUserByAccount among 1,000", c.getUserByAccount(accounts[i].Key()), u)
				if !c.lacks("GetAccount") {
					c.same("GetAccount among 1,000", c.getAccount(accounts[i].Key()), &accounts[i])
				}
			}
		})
	}},
	{id: "VOL-03", words: "300-sessions-are-independent", run: func(c *clauseContext) {
		c.requires("CreateUser", "CreateSession", "GetSessionAndUser", "DeleteSession")
		const n = 300
		u := c.user()
		sessions := make([]adapter.Session, n)
		c.populate(n, func(i int) {
			sessions[i] = c.newSession(u.ID)
			sessions[i].Expires = c.instant(time.Duration(i+1) * time.Hour)
			c.createSession(sessions[i])
		})
		judge := func(gone func(i int) bool) {
			c.lookUp(n, func(i int) {
				got := c.getSession(sessions[i].SessionToken)
				if gone(i) {
					c.absent("GetSessionAndUser of a deleted session among 300", got, nil)
				} else {
					c.same("GetSessionAndUser among 300", got, &adapter.SessionAndUser{Session: sessions[i], User: *u})
				}
			})
		}
		judge(func(int) bool { return false })
		for i := 0; i < n; i += 3 {
			c.deleteSession(sessions[i].SessionToken)
		}
		judge(func(i int) bool { return i%3 == 0 })
	}},
	{id: "VOL-04", words: "lookups-do-not-slow-down", alone: true, run: lookupsDoNotSlowDown},
}

// populate calls f(0) to f(n-1), from one goroutine or from a few, whichever
// the store turns out to take faster.
func (c *clauseContext) populate(n int, f func(i int)) {
	const sample = 24
	run := func(from, to, workers int) time.Duration {
		start := time.Now()
		c.parallel(workers, func(worker int) {
			for i := from + worker; i < to && !c.failed(); i += workers {
				f(i)
			}
		})
		return time.Since(start)
	}
	first, second := min(sample, n), min(2*sample, n)
	alone, together := run(0, first, 1), run(first, second, volumeWorkers)
	workers := volumeWorkers
	if alone < together {
		workers = 1
	}
	run(second, n, workers)
}

// lookUp calls f for each of n records, or for a part of them where the store
// scans. The part is spread over all.
func (c *clauseContext) lookUp(n int, f func(i int)) {
	stride := 1
	if why := c.harness().Declarations.Scans; why != "" {
		stride = 8 // no multiple of the third that VOL-03 deletes
		c.Notef("one record in %d is looked up: %s", stride, why)
	}
	c.populate((n+stride-1)/stride, func(i int) { f(i * stride) })
}

// lookupsDoNotSlowDown is VOL-04. It measures each lookup among 50 records and
// among 5,000, a quarter of them of each kind, and is satisfied with any
// measurement that shows no growth in proportion: a busy machine can make a
// lookup slow, and nothing can make it fast.
func lookupsDoNotSlowDown(c *clauseContext) {
	const (
		small, large = 50, 5000
		samples      = 41
		attempts     = 4
		// The population grows a hundredfold. A tenth of that, if it is more
		// than noise, is growth in proportion.
		limit = 10.0
		noise = 30 * time.Microsecond
	)
	lookups := slices.DeleteFunc(c.lookups(), func(k keyed) bool { return k.method == "UseVerificationToken" })
	b := c.residents(1)[0]
	grow := func(from, to int) {
		c.populate(to-from, func(int) { c.newcomer() })
	}
	median := func(k keyed, key []string) time.Duration {
		var took []time.Duration
		for range samples {
			start := time.Now()
			got, err := k.call(c, c.raw, key)
			took = append(took, time.Since(start))
			if err != nil || got == nil {
				c.Fatalf("%s(%s): got %s, %v", k.method, showKey(key), diff.Show(got), err)
			}
		}
		slices.Sort(took)
		return took[len(took)/2]
	}
	grow(0, small/4)
	before := map[string]time.Duration{}
	keys := map[string][]string{}
	for _, k := range lookups {
		if key, ok := b.key(k); ok {
			keys[k.method] = key
			before[k.method] = median(k, key)
		}
	}
	grow(small/4, large/4)
	for _, k := range lookups {
		key, ok := keys[k.method]
		if !ok {
			continue
		}
		best := time.Duration(0)
		for attempt := range attempts {
			if m := median(k, key); attempt == 0 || m < best {
				best = m
			}
			if best <= time.Duration(limit*float64(before[k.method])) || best-before[k.method] <= noise {
				break
			}
		}
		ratio := float64(best) / float64(max(before[k.method], 1))
		c.Notef("%s: %v among %d records, %v among %d, %.1f times", k.method, before[k.method], small, best, large, ratio)
		if ratio > limit && best-before[k.method] > noise {
			c.Errorf("%s takes %v among %d records and %v among %d: %.0f times as long", k.method, before[k.method], small, best, large, ratio)
		}
	}
}

// newcomer creates a user with one of each kind of record, past the observer.
func (c *clauseContext) newcomer() {
	u, err := c.raw.CreateUser(c.ctx, c.newUser())
	if err != nil || u == nil {
		c.Fatalf("CreateUser: %v", err)
	}
	fail := func(method string, err error) {
		if err != nil {
			c.Fatalf("%s: %v", method, err)
		}
	}
	if !c.lacks("LinkAccount") {
		_, err := c.raw.LinkAccount(c.ctx, c.newAccount(u.ID))
		fail("LinkAccount", err)
	}
	if !c.lacks("CreateSession") {
		_, err := c.raw.CreateSession(c.ctx, c.newSession(u.ID))
		fail("CreateSession", err)
	}
	if !c.lacks("CreateAuthenticator") {
		_, err := c.raw.CreateAuthenticator(c.ctx, c.newAuthenticator(u.ID))
		fail("CreateAuthenticator", err)
	}
}
