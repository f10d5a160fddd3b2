package adaptertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the time zones for the clauses, on every machine

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var timeClauses = []check{
	{id: "TIME-01", words: "zones-do-not-matter", run: func(c *clauseContext) {
		owner := c.owner()
		zones := []*time.Location{
			time.UTC, time.Local, time.FixedZone("", 5*3600+45*60), time.FixedZone("", -12*3600), time.FixedZone("", 14*3600),
			zone("Asia/Kathmandu"), zone("America/St_Johns"), zone("Europe/Berlin"),
		}
		base := c.instant(36 * time.Hour).Truncate(c.harness().precision())
		for _, p := range c.instantFields() {
			for _, z := range zones {
				p.round(c, owner, base.In(z), mustKeep)
			}
			for _, z := range []*time.Location{zone("America/New_York"), zone("America/St_Johns"), zone("Europe/Berlin")} {
				for _, t := range clockChanges(c.now(), z) {
					p.round(c, owner, t, mustKeep)
				}
			}
		}
	}},
	{id: "TIME-02", words: "within-a-second-and-never-later", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			for _, t := range c.fractions(0, 1e6, 499e6, 500e6, 999e6, 1, 999, 1e3, 499_999, 500_000, 999_999_999, 999_500_000, 123_456_789) {
				given := t
				p.judge(c, owner, given, func(what string, got time.Time) {
					d := got.Sub(given)
					if d <= -time.Second || d >= time.Second {
						c.Errorf("%s: got %s, %v from %s: want less than a second", what, diff.Show(got), d, diff.Show(given))
					} else if d > c.harness().precision() {
						c.Errorf("%s: got %s, %v after %s: want no later by more than the precision of %v", what, diff.Show(got), d, diff.Show(given), c.harness().precision())
					}
				})
			}
		}
	}},
	{id: "TIME-03", words: "exact-to-the-millisecond", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			for _, t := range c.fractions(0, 1e6, 499e6, 500e6, 999e6, 107e6, 290e6) {
				given := t
				p.judge(c, owner, given, func(what string, got time.Time) {
					if !got.Truncate(time.Millisecond).Equal(given) {
						c.Errorf("%s: got %s, want %s", what, diff.Show(got), diff.Show(given))
					}
				})
			}
		}
	}},
	{id: "TIME-04", words: "observed-precision", run: func(c *clauseContext) {
		owner := c.owner()
		observed := map[time.Duration][]string{}
		for _, p := range c.instantFields() {
			given := c.fractions(123_456_789)[0]
			p.judge(c, owner, given, func(what string, got time.Time) {
				for _, unit := range []time.Duration{1, 100, time.Microsecond, time.Millisecond, time.Second} {
					if got.Truncate(unit).Equal(given.Truncate(unit)) || got.Equal(given.Round(unit)) {
						observed[unit] = append(observed[unit], what)
						return
					}
				}
				c.Notef("%s: got %s for %s", what, diff.Show(got), diff.Show(given))
			})
		}
		for _, unit := range sortedKeys(observed) {
			if len(observed) == 1 {
				c.Notef("instants are kept to %v", unit)
			} else {
				c.Notef("kept to %v: %s", unit, strings.Join(observed[unit], "; "))
			}
		}
	}},
	{id: "TIME-05", words: "after-2038", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			for _, t := range []time.Time{
				time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Date(2106, 2, 7, 6, 28, 16, 0, time.UTC),
			} {
				p.round(c, owner, t, mayRefuse)
			}
		}
	}},
	{id: "TIME-06", words: "year-9999", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			p.round(c, owner, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), mustKeep)
		}
	}},
	{id: "TIME-07", words: "the-past-is-kept", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			for _, t := range []time.Time{
				c.instant(-time.Hour).Truncate(c.harness().precision()), c.instant(-40 * 24 * time.Hour).Truncate(c.harness().precision()), time.Unix(1, 0).UTC(),
			} {
				p.round(c, owner, t, mustKeep)
			}
		}
	}},
	{id: "TIME-08", words: "zones-of-process-and-connection", needs: []ability{abilitySubprocess}, run: otherZones},
	{id: "TIME-09", words: "monotonic-reading-has-no-effect", run: func(c *clauseContext) {
		owner := c.owner()
		wall := time.Now()
		with := wall.Add(c.now().Sub(wall) + time.Hour) // Add keeps the monotonic reading
		for _, p := range c.instantFields() {
			var results []time.Time
			for _, t := range []time.Time{with, with.Round(0)} {
				p.judge(c, owner, t, func(_ string, got time.Time) { results = append(results, got.Round(0)) })
			}
			if n := len(results) / 2; len(results)%2 == 0 {
				for i := range n {
					if !results[i].Equal(results[n+i]) {
						c.Errorf("%s: got %s with a monotonic reading, and %s without", p.name, diff.Show(results[i]), diff.Show(results[n+i]))
					}
				}
			} else {
				c.Errorf("%s: not every instant came back: %v", p.name, results)
			}
		}
	}},
	{id: "TIME-10", words: "epoch-is-a-date", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			if !p.expires {
				p.round(c, owner, time.Unix(0, 0).UTC(), mustKeep)
			}
		}
	}},
	{id: "TIME-11", words: "far-instants-are-kept-or-refused", run: func(c *clauseContext) {
		owner := c.owner()
		for _, p := range c.instantFields() {
			for _, t := range []time.Time{
				time.Date(1901, 12, 13, 20, 45, 51, 0, time.UTC), time.Date(1901, 12, 13, 20, 45, 52, 0, time.UTC), time.Date(1900, 2, 28, 23, 59, 59, 0, time.UTC),
				time.Date(1969, 7, 20, 20, 17, 40, 250e6, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 750e6, time.UTC),
				time.Date(2038, 1, 19, 3, 14, 8, 500e6, time.UTC), time.Date(2106, 2, 7, 6, 28, 16, 500e6, time.UTC),
				time.Date(2262, 4, 11, 23, 47, 16, 854e6, time.UTC), time.Date(2262, 4, 11, 23, 47, 17, 0, time.UTC), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC),
				time.Date(2486, 7, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
			} {
				p.round(c, owner, t.Truncate(c.harness().precision()), mayRefuse)
			}
		}
	}},
	{id: "TIME-12", words: "instants-come-back-in-utc", alone: true, run: instantsComeBackInUTC},
}

// zone is a location of the database that is compiled in.
func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		panic(fmt.Sprintf("adaptertest: %v", err))
	}
	return z
}

// clockChanges returns instants around the next two changes of the clock of a
// zone, those of the repeated hour among them, on whole seconds.
func clockChanges(now time.Time, z *time.Location) []time.Time {
	var found []time.Time
	t := now.Add(48 * time.Hour).Truncate(time.Hour).In(z)
	for range 2 {
		for _, offset := t.Zone(); ; {
			next := t.Add(30 * time.Minute)
			_, o := next.Zone()
			t = next
			if o != offset {
				break
			}
		}
		for _, d := range []time.Duration{-90 * time.Minute, -30 * time.Minute, 0, 30 * time.Minute, 90 * time.Minute} {
			found = append(found, t.Add(d))
		}
	}
	return found
}

// fractions returns instants in the future, with the nanoseconds given.
func (c *clauseContext) fractions(ns ...int) []time.Time {
	var all []time.Time
	for i, n := range ns {
		all = append(all, c.instant(time.Hour+time.Duration(i)*time.Second).Truncate(time.Second).Add(time.Duration(n)))
	}
	return all
}

// instantField is a field of a record that holds an instant.
type instantField struct {
	name string
	// expires: a record whose instant is past may be absent [SESS-20] [VTOK-12].
	expires bool
	methods []string
	// put stores the instant. It returns the instant that the write returned,
	// and a function that reads it back, which returns nil for an absent record.
	put func(c *clauseContext, owner string, t time.Time) (returned *time.Time, read func() (*time.Time, error), err error)
}

var instantFields = []instantField{
	{"emailVerified by CreateUser", false, []string{"CreateUser", "GetUser"}, func(c *clauseContext, _ string, t time.Time) (*time.Time, func() (*time.Time, error), error) {
		u := c.newUser()
		u.EmailVerified = &t
		got, err := c.a.CreateUser(c.ctx, u)
		if err != nil || got == nil {
			return nil, nil, err
		}
		return got.EmailVerified, readVerified(c, *got), nil
	}},
	{"emailVerified by UpdateUser", false, []string{"CreateUser", "UpdateUser", "GetUser"}, func(c *clauseContext, owner string, t time.Time) (*time.Time, func() (*time.Time, error), error) {
		got, err := c.a.UpdateUser(c.ctx, adapter.UserUpdate{ID: owner, EmailVerified: adapter.To(&t)})
		if err != nil || got == nil {
			return nil, nil, err
		}
		return got.EmailVerified, readVerified(c, *got), nil
	}},
	{"expires by CreateSession", true, []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, func(c *clauseContext, owner string, t time.Time) (*time.Time, func() (*time.Time, error), error) {
		s := adapter.Session{SessionToken: c.secret("session"), UserID: owner, Expires: t}
		got, err := c.a.CreateSession(c.ctx, s)
		if err != nil || got == nil {
			return nil, nil, err
		}
		return &got.Expires, readExpires(c, s.SessionToken), nil
	}},
	{"expires by UpdateSession", true, []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"}, func(c *clauseContext, owner string, t time.Time) (*time.Time, func() (*time.Time, error), error) {
		s := c.session(owner)
		got, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(t)})
		if err != nil {
			return nil, nil, err
		}
		if got == nil { // the update may return nil [SESS-09]
			return nil, readExpires(c, s.SessionToken), nil
		}
		return &got.Expires, readExpires(c, s.SessionToken), nil
	}},
	{"expires by CreateVerificationToken", true, []string{"CreateVerificationToken", "UseVerificationToken"}, func(c *clauseContext, _ string, t time.Time) (*time.Time, func() (*time.Time, error), error) {
		x := c.newToken()
		x.Expires = t
		got, err := c.a.CreateVerificationToken(c.ctx, x)
		if err != nil {
			return nil, nil, err
		}
		read := func() (*time.Time, error) {
			r, err := c.a.UseVerificationToken(c.ctx, x.Key())
			if r == nil {
				return nil, err
			}
			return &r.Expires, err
		}
		if got == nil {
			return nil, read, nil
		}
		return &got.Expires, read, nil
	}},
}

// readVerified reads emailVerified by every lookup. If a result differs from
// that of GetUser, it returns the different one.
func readVerified(c *clauseContext, u adapter.User) func() (*time.Time, error) {
	return func() (*time.Time, error) {
		got, err := c.a.GetUser(c.ctx, u.ID)
		if err != nil || got == nil {
			return nil, err
		}
		paths := map[string]*adapter.User{}
		if c.works("GetUserByEmail") {
			paths["GetUserByEmail"] = c.getUserByEmail(u.Email)
		}
		if c.stores(SessionRecord) {
			if s := c.getSession(c.session(u.ID).SessionToken); s != nil {
				paths["GetSessionAndUser"] = &s.User
			}
		}
		if c.works("GetUserByAccount") {
			paths["GetUserByAccount"] = c.getUserByAccount(c.account(u.ID).Key())
		}
		for _, method := range sortedKeys(paths) {
			c.same(method+", against GetUser", paths[method], got)
		}
		return got.EmailVerified, nil
	}
}

func readExpires(c *clauseContext, token string) func() (*time.Time, error) {
	return func() (*time.Time, error) {
		r, err := c.a.GetSessionAndUser(c.ctx, token)
		if r == nil {
			return nil, err
		}
		return &r.Session.Expires, err
	}
}

// instantFields returns the text fields whose methods the adapter has; the clause
// does not apply if there is none.
func (c *clauseContext) instantFields() []instantField {
	var have []instantField
	for _, p := range instantFields {
		if !slices.ContainsFunc(p.methods, c.lacks) {
			have = append(have, p)
		}
	}
	if len(have) == 0 {
		c.notApplicable("the adapter keeps no instants")
	}
	return have
}

// judge stores an instant that must be accepted, and lets want judge the results
// of the write and of the read.
func (p instantField) judge(c *clauseContext, owner string, t time.Time, want func(what string, got time.Time)) {
	returned, read, err := p.put(c, owner, t)
	if err != nil || read == nil {
		c.Errorf("%s = %s: the write failed: %v", p.name, diff.Show(t), err)
		return
	}
	if returned != nil {
		want(p.name+", returned", *returned)
	} else if !p.expires {
		c.Errorf("%s = %s: returned null", p.name, diff.Show(t))
	}
	got, err := read()
	switch past := p.expires && !t.After(c.now()); {
	case err != nil:
		c.Errorf("%s = %s, read back: %v", p.name, diff.Show(t), err)
	case got != nil:
		want(p.name+", read back", *got)
	case !past:
		c.Errorf("%s = %s, read back: absent", p.name, diff.Show(t))
	}
}

// round stores an instant on a whole unit of the precision, which must come back
// unchanged.
func (p instantField) round(c *clauseContext, owner string, t time.Time, refusable bool) {
	if refusable {
		if _, _, err := p.put(c, owner, t); err != nil { // the write may fail
			return
		}
	}
	p.judge(c, owner, t, func(what string, got time.Time) {
		if !got.Truncate(c.harness().precision()).Equal(t) {
			c.Errorf("%s: got %s, want %s", what, diff.Show(got), diff.Show(t))
		}
	})
}

// instantsComeBackInUTC is TIME-12. It calls every method that returns instants,
// with arguments in another zone, and judges what all clauses before it saw too.
func instantsComeBackInUTC(c *clauseContext) {
	there := zone("Asia/Kathmandu")
	for _, p := range c.instantFields() {
		if _, read, err := p.put(c, c.owner(), c.instant(time.Hour).In(there)); err == nil && read != nil {
			_, _ = read()
		}
	}
	if c.works("CreateUser") {
		k := c.newFixture(c.a)
		for _, t := range []**time.Time{
			&k.newAuthenticator.Created, &k.newAuthenticator.LastUsed, &k.signUp.user.EmailVerified, &k.signUp.authenticator.Created,
			&k.signUp.authenticator.LastUsed,
		} {
			*t = new(c.instant(-time.Hour).In(there))
		}
		k.touched = k.touched.In(there)
		rename := renameAuthenticator(k.user.ID, k.authenticator.CredentialID, c.unique("name"))
		for _, m := range c.working(slices.Concat(k.reads(), []call{rename}, k.writes())) {
			_, _ = m.do(c.ctx, c.a)
			if m.method == "CreateUserWithAccount" { // all records are there
				_, _ = c.snapshot(c.ctx, c.a, k.keys())
			}
		}
	}
	c.run.mu.Lock()
	elsewhere := maps.Clone(c.run.elsewhere)
	c.run.mu.Unlock()
	for _, method := range sortedKeys(elsewhere) {
		c.Errorf("%s returned %s, want UTC", method, elsewhere[method])
	}
}
