package adaptertest

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var volClauses = []check{
	{id: "VOL-01", words: "150-authenticators-are-listed", requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
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
	{id: "VOL-02", words: "1000-users-are-found", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		const n = 1000
		users := make([]*adapter.User, n)
		accounts := make([]adapter.Account, n)
		linked := c.works("GetUserByAccount")
		c.populate(n, func(i int) {
			users[i] = c.user()
			if linked {
				accounts[i] = c.account(users[i].ID)
			}
		})
		c.lookUp(n, func(i int) {
			u := users[i]
			if c.works("GetUser") {
				c.same("GetUser among 1,000", c.getUser(u.ID), u)
			}
			if c.works("GetUserByEmail") {
				c.same("GetUserByEmail among 1,000", c.getUserByEmail(u.Email), u)
			}
			if linked {
				c.same("GetUserByAccount among 1,000", c.getUserByAccount(accounts[i].Key()), u)
				if c.works("GetAccount") {
					c.same("GetAccount among 1,000", c.getAccount(accounts[i].Key()), &accounts[i])
				}
			}
		})
	}},
	{id: "VOL-03", words: "300-sessions-are-independent", requires: []string{"CreateUser", "CreateSession"}, run: func(c *clauseContext) {
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
		if !c.works("DeleteSession") {
			return
		}
		for i := 0; i < n; i += 3 {
			c.deleteSession(sessions[i].SessionToken)
		}
		judge(func(i int) bool { return i%3 == 0 })
	}},
	{id: "VOL-04", words: "lookups-do-not-slow-down", alone: true, run: lookupsDoNotSlowDown},
}

// lookUp calls f for each of n records. If the store scans, it calls f for a part
// of them, which is spread over all records.
func (c *clauseContext) lookUp(n int, f func(i int)) {
	stride := 1
	if why := c.harness().Declarations.Scans; why != "" {
		stride = 8 // VOL-03 deletes every third record, and this is no multiple of three
		c.Notef("one record in %d is looked up: %s", stride, why)
	}
	c.populate((n+stride-1)/stride, func(i int) { f(i * stride) })
}

// The populations at which VOL-04 measures, in users with one record of each
// kind, and the limits for growth.
const (
	smallPopulation = 100
	largePopulation = 4000
	// populateTime limits the creation of the last population.
	populateTime = 5 * time.Second
	growthCalls  = 41
	growthTries  = 5
	// growthDoubts is how often a lookup that seems to grow is measured again.
	// growthPause is the time between the measurements.
	growthDoubts = 20
	growthPause  = 25 * time.Millisecond
	// A lookup grows with the population if, among a million users, it would take
	// longer by growthLimit, and growthFactor times as long as among few users.
	growthLimit  = 3 * time.Millisecond
	growthFactor = 10
	// leastGrowth is the smallest growth that differs from noise. leastShare is
	// the smallest share of a call's time that growth must have.
	leastGrowth = 5 * time.Microsecond
	leastShare  = 0.25
)

// probe is a lookup whose time is measured at each population.
type probe struct {
	name string
	call func() error
	took []time.Duration // at each population
}

// lookupsDoNotSlowDown is VOL-04. Each lookup is measured for the newest record,
// for one in the middle and for none, at three populations. Growth is projected
// to a million users. The lookup that grows least shows how much slower the
// machine has become during the clause. A busy machine can make a lookup slow,
// but not fast, so the clause takes the best of several tries.
func lookupsDoNotSlowDown(c *clauseContext) {
	var people []*uninvolvedUser
	var mu sync.Mutex
	grow := func(to int, limit time.Duration) {
		end := time.Now().Add(limit)
		c.populate(to-len(people), func(i int) {
			if limit > 0 && i > 300 && time.Now().After(end) {
				return
			}
			b := c.newcomer()
			mu.Lock()
			people = append(people, b)
			mu.Unlock()
		})
	}
	var sizes []int
	var probes []*probe
	large := largePopulation
	if c.run.options.Rounds < 1 {
		large /= 4
	}
	for step, target := range []int{smallPopulation, large / 2, large} {
		limit := populateTime / 2
		if step == 0 {
			limit = 0
		}
		grow(target, limit)
		middle, newest := people[len(people)/2], c.newcomer()
		people = append(people, newest)
		sizes = append(sizes, len(people))
		for i, p := range c.growthProbes(c.raw, middle, newest) {
			best := c.quarter(p)
			for try := 1; try < growthTries && step > 0 && best > 2*probes[i].took[0]; try++ {
				best = min(best, c.quarter(p))
			}
			if step == 0 {
				probes = append(probes, p)
			}
			probes[i].call = p.call
			probes[i].took = append(probes[i].took, best)
		}
		if c.failed() {
			return
		}
		if step < 2 {
			continue
		}
		// A lookup that seems to grow is measured several times, because noise does
		// not last. Then it is measured through another handle, whose statements
		// are planned for the present size of the store: a plan from when the store
		// was small may read all of it.
		suspects := c.growing(probes, sizes, nil)
		for try := 0; try < growthDoubts && len(suspects) > 0; try++ {
			c.pause(growthPause)
			for i := range suspects {
				probes[i].took[2] = min(probes[i].took[2], c.quarter(probes[i]))
			}
			suspects = c.growing(probes, sizes, nil)
		}
		if len(suspects) > 0 && c.has(abilitySecond) {
			anew := c.growthProbes(c.handles()[1], middle, newest)
			for i := range suspects {
				first := probes[i].took[2]
				for range growthTries {
					probes[i].took[2] = min(probes[i].took[2], c.quarter(anew[i]))
				}
				c.Notef("%s: %v, and %v through another handle", probes[i].name, first, probes[i].took[2])
			}
		}
	}
	for _, p := range probes {
		c.Notef("%s: %v, %v and %v among %d, %d and %d users", p.name, p.took[0], p.took[1], p.took[2], sizes[0], sizes[1], sizes[2])
	}
	c.growing(probes, sizes, func(p *probe, million time.Duration) {
		c.Errorf("%s takes %v, %v and %v among %d, %d and %d users: it grows with the population, and would take about %v among a million",
			p.name, p.took[0], p.took[1], p.took[2], sizes[0], sizes[1], sizes[2], (p.took[0] + million).Round(time.Millisecond))
	})
}

// growing returns the indices of the lookups that grow, and calls tell for each.
func (c *clauseContext) growing(probes []*probe, sizes []int, tell func(p *probe, million time.Duration)) map[int]bool {
	found := map[int]bool{}
	slower := math.Inf(1) // how much slower the machine is, by the lookup that has changed least
	for _, p := range probes {
		slower = min(slower, float64(p.took[2])/float64(max(p.took[0], 1)))
	}
	slower = max(slower, 1)
	for i, p := range probes {
		growth := func(k int, slower float64) time.Duration { return p.took[k] - time.Duration(float64(p.took[0])*slower) }
		adjusted, half := growth(2, slower), growth(1, slower)
		if all := growth(2, 1); all > 4*p.took[0] && all > 3*leastGrowth {
			adjusted, half = all, growth(1, 1) // other work on the machine does not make a call five times as slow
		}
		million := time.Duration(float64(adjusted) / float64(sizes[2]-sizes[0]) * 1e6)
		if million > growthLimit && million > growthFactor*p.took[0] && adjusted > leastGrowth &&
			float64(adjusted) > leastShare*float64(p.took[2]) && float64(half) > float64(adjusted)/5 {
			found[i] = true
			if tell != nil {
				tell(p, million)
			}
		}
	}
	return found
}

// growthProbes returns the lookups of a user in the middle, of the newest user,
// and of an absent user.
func (c *clauseContext) growthProbes(a adapter.Adapter, middle, newest *uninvolvedUser) []*probe {
	var probes []*probe
	for _, k := range c.lookups() {
		uses := k.method == "UseVerificationToken"
		for _, who := range []struct {
			name string
			b    *uninvolvedUser
		}{{"the newest record", newest}, {"a record in the middle", middle}} {
			key, ok := who.b.key(k)
			if !ok || uses {
				continue
			}
			probes = append(probes, &probe{name: k.method + " of " + who.name, call: func() error {
				got, err := k.call(c, a, key)
				if err == nil && got == nil {
					err = fmt.Errorf("%s(%s): absent", k.method, showKey(key))
				}
				return err
			}})
		}
		probes = append(probes, &probe{name: k.method + " of nobody", call: func() error {
			key := make([]string, len(k.parts))
			for i, part := range k.parts {
				switch part {
				case "user id":
					key[i] = c.id()
				case "e-mail", "identifier":
					key[i] = c.address("nobody")
				default:
					key[i] = c.unique("nobody")
				}
			}
			_, err := k.call(c, a, key)
			return err
		}})
	}
	return probes
}

// quarter returns a time that a quarter of the calls do not exceed.
func (c *clauseContext) quarter(p *probe) time.Duration {
	took := make([]time.Duration, growthCalls)
	for i := range took {
		start := time.Now()
		if err := p.call(); err != nil {
			c.Fatalf("%s: %v", p.name, err)
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[len(took)/4]
}

// newcomer creates a user with one record of each kind, without the observer.
func (c *clauseContext) newcomer() *uninvolvedUser {
	b := &uninvolvedUser{}
	for _, kind := range recordKinds {
		if !c.works(kind.create) {
			continue
		}
		r := kind.fresh(c, b.id)
		r.store(c, c.raw)
		switch x := r.value.(type) {
		case *adapter.User:
			b.id, b.user = x.ID, x
		case *adapter.Account:
			b.account, b.accountKey = x, x.Key()
		case *adapter.Session:
			b.sessionToken, b.session = x.SessionToken, &adapter.SessionAndUser{Session: *x, User: *b.user}
		case *adapter.VerificationToken:
			b.token = x
		case *adapter.Authenticator:
			b.authenticator, b.credentialID = x, x.CredentialID
		}
	}
	return b
}
