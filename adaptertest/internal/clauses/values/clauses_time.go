package values

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var timeClauses = []kit.Check{
	{ID: "TIME-01", Words: "zones-do-not-matter", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		zones := []*time.Location{
			time.UTC, time.Local, time.FixedZone("", 5*3600+45*60), time.FixedZone("", -12*3600), time.FixedZone("", 14*3600),
			zone("Asia/Kathmandu"), zone("America/St_Johns"), zone("Europe/Berlin"),
		}
		base := c.Instant(36 * time.Hour).Truncate(c.Harness().Precision())
		for _, p := range workingInstantFields(c) {
			for _, z := range zones {
				p.round(c, owner, base.In(z), mustKeep)
			}
			for _, z := range []*time.Location{zone("America/New_York"), zone("America/St_Johns"), zone("Europe/Berlin")} {
				for _, t := range clockChanges(c.Now(), z) {
					p.round(c, owner, t, mustKeep)
				}
			}
		}
	}},
	{ID: "TIME-02", Words: "within-a-second-and-never-later", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		for _, t := range fractions(c, 0, 1e6, 499e6, 500e6, 999e6, 1, 999, 1e3, 499_999, 500_000, 999_999_999, 999_500_000, 123_456_789) {
			given := t
			p.judge(c, owner, given, func(what string, got time.Time) {
				d := got.Sub(given)
				if d <= -time.Second || d >= time.Second {
					c.Errorf("%s: got %s, %v from %s: want less than a second", what, diff.Show(got), d, diff.Show(given))
				} else if d > c.Harness().Precision() {
					c.Errorf("%s: got %s, %v after %s: want no later by more than the precision of %v", what, diff.Show(got), d, diff.Show(given), c.Harness().Precision())
				}
			})
		}
	})},
	{ID: "TIME-03", Words: "exact-to-the-millisecond", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		for _, t := range fractions(c, 0, 1e6, 499e6, 500e6, 999e6, 107e6, 290e6) {
			given := t
			p.judge(c, owner, given, func(what string, got time.Time) {
				if !got.Truncate(time.Millisecond).Equal(given) {
					c.Errorf("%s: got %s, want %s", what, diff.Show(got), diff.Show(given))
				}
			})
		}
	})},
	{ID: "TIME-04", Words: "observed-precision", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		observed := map[time.Duration][]string{}
		for _, p := range workingInstantFields(c) {
			given := fractions(c, 123_456_789)[0]
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
		for _, unit := range kit.SortedKeys(observed) {
			if len(observed) == 1 {
				c.Notef("instants are kept to %v", unit)
			} else {
				c.Notef("kept to %v: %s", unit, strings.Join(observed[unit], "; "))
			}
		}
	}},
	{ID: "TIME-05", Words: "after-2038", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		for _, t := range []time.Time{
			time.Date(2038, 1, 19, 3, 14, 7, 0, time.UTC), time.Date(2038, 1, 19, 3, 14, 8, 0, time.UTC), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2106, 2, 7, 6, 28, 16, 0, time.UTC),
		} {
			p.round(c, owner, t, mayRefuse)
		}
	})},
	{ID: "TIME-06", Words: "year-9999", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		p.round(c, owner, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), mustKeep)
	})},
	{ID: "TIME-07", Words: "the-past-is-kept", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		for _, t := range []time.Time{
			c.Instant(-time.Hour).Truncate(c.Harness().Precision()), c.Instant(-40 * 24 * time.Hour).Truncate(c.Harness().Precision()), time.Unix(1, 0).UTC(),
		} {
			p.round(c, owner, t, mustKeep)
		}
	})},
	{ID: "TIME-08", Words: "zones-of-process-and-connection", Needs: []kit.Ability{kit.AbilitySubprocess}, Test: otherZones},
	{ID: "TIME-09", Words: "monotonic-reading-has-no-effect", Test: func(c *kit.Context) {
		owner := kit.Owner(c)
		wall := time.Now()
		with := wall.Add(c.Now().Sub(wall) + time.Hour) // Add keeps the monotonic reading
		for _, p := range workingInstantFields(c) {
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
	{ID: "TIME-10", Words: "epoch-is-a-date", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		if !p.expires {
			p.round(c, owner, time.Unix(0, 0).UTC(), mustKeep)
		}
	})},
	{ID: "TIME-11", Words: "far-instants-are-kept-or-refused", Test: atInstants(func(c *kit.Context, p instantField, owner string) {
		for _, t := range []time.Time{
			time.Date(1901, 12, 13, 20, 45, 51, 0, time.UTC), time.Date(1901, 12, 13, 20, 45, 52, 0, time.UTC), time.Date(1900, 2, 28, 23, 59, 59, 0, time.UTC),
			time.Date(1969, 7, 20, 20, 17, 40, 250e6, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1969, 12, 31, 23, 59, 59, 750e6, time.UTC),
			time.Date(2038, 1, 19, 3, 14, 8, 500e6, time.UTC), time.Date(2106, 2, 7, 6, 28, 16, 500e6, time.UTC),
			time.Date(2262, 4, 11, 23, 47, 16, 854e6, time.UTC), time.Date(2262, 4, 11, 23, 47, 17, 0, time.UTC), time.Date(2263, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(2486, 7, 2, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
		} {
			p.round(c, owner, t.Truncate(c.Harness().Precision()), mayRefuse)
		}
	})},
	{ID: "TIME-12", Words: "instants-come-back-in-utc", Alone: true, Test: instantsComeBackInUTC},
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
			t = t.Add(30 * time.Minute)
			if _, now := t.Zone(); now != offset {
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
func fractions(c *kit.Context, ns ...int) []time.Time {
	var all []time.Time
	for i, n := range ns {
		all = append(all, c.Instant(time.Hour+time.Duration(i)*time.Second).Truncate(time.Second).Add(time.Duration(n)))
	}
	return all
}

// instantField is a field of a record that holds an instant.
type instantField struct {
	name string
	// expires: a record whose instant is past may be absent [SESS-20] [VTOK-12].
	expires bool
	// mayBeNil: the write may return nothing [SESS-09] [VTOK-15].
	mayBeNil bool
	methods  []string
	// calls returns the call that stores the instant and, unless the record is a user, the call that reads it.
	calls func(c *kit.Context, owner string, t time.Time) (write, read kit.Call)
}

var instantFields = []instantField{
	{"emailVerified by CreateUser", false, false, []string{"CreateUser", "GetUser"},
		func(c *kit.Context, _ string, t time.Time) (write, read kit.Call) {
			u := c.NewUser()
			u.EmailVerified = &t
			return kit.CreateUser(u), read
		}},
	{"emailVerified by UpdateUser", false, false, []string{"CreateUser", "UpdateUser", "GetUser"},
		func(_ *kit.Context, owner string, t time.Time) (write, read kit.Call) {
			return kit.UpdateUser(adapter.UserUpdate{ID: owner, EmailVerified: adapter.To(&t)}), read
		}},
	{"expires by CreateSession", true, false, []string{"CreateUser", "CreateSession", "GetSessionAndUser"},
		func(c *kit.Context, owner string, t time.Time) (write, read kit.Call) {
			token := c.Secret("session")
			return kit.CreateSession(adapter.Session{SessionToken: token, UserID: owner, Expires: t}), kit.GetSessionAndUser(token)
		}},
	{"expires by UpdateSession", true, true, []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"},
		func(c *kit.Context, owner string, t time.Time) (write, read kit.Call) {
			token := c.Session(owner).SessionToken
			return kit.ExtendSession(token, t), kit.GetSessionAndUser(token)
		}},
	{"expires by CreateVerificationToken", true, true, []string{"CreateVerificationToken", "UseVerificationToken"},
		func(c *kit.Context, _ string, t time.Time) (write, read kit.Call) {
			x := c.NewToken()
			x.Expires = t
			return kit.CreateVerificationToken(x), kit.UseVerificationToken(x.Key())
		}},
}

// put stores the instant. It returns the instant that the write returned, and a function that reads it back, which
// returns nil for an absent record.
func (p instantField) put(c *kit.Context, owner string, t time.Time) (returned *time.Time, read func() (*time.Time, error), err error) {
	write, lookup := p.calls(c, owner, t)
	got, err := write.Do(c.Ctx, c.Adapter)
	if err != nil || kit.IsNilRecord(got) && !p.mayBeNil {
		return nil, nil, err
	}
	return instantOf(got), func() (*time.Time, error) {
		if u, ok := got.(*adapter.User); ok {
			return readVerified(c, u)
		}
		record, err := lookup.Do(c.Ctx, c.Adapter)
		return instantOf(record), err
	}, nil
}

// instantOf returns the instant of a record, or nil for none.
func instantOf(record any) *time.Time {
	if kit.IsNilRecord(record) {
		return nil
	}
	switch r := record.(type) {
	case *adapter.Session:
		return &r.Expires
	case *adapter.SessionAndUser:
		return &r.Session.Expires
	case *adapter.VerificationToken:
		return &r.Expires
	}
	return record.(*adapter.User).EmailVerified
}

// readVerified reads emailVerified by every lookup. If a result differs from
// that of GetUser, it returns the different one.
func readVerified(c *kit.Context, u *adapter.User) (*time.Time, error) {
	got, err := c.Adapter.GetUser(c.Ctx, u.ID)
	if err != nil || got == nil {
		return nil, err
	}
	paths := map[string]*adapter.User{}
	if c.Works("GetUserByEmail") {
		paths["GetUserByEmail"] = c.GetUserByEmail(u.Email)
	}
	if c.Stores(kit.SessionRecord) {
		if s := c.GetSession(c.Session(u.ID).SessionToken); s != nil {
			paths["GetSessionAndUser"] = &s.User
		}
	}
	if c.Works("GetUserByAccount") {
		paths["GetUserByAccount"] = c.GetUserByAccount(c.Account(u.ID).Key())
	}
	for _, method := range kit.SortedKeys(paths) {
		c.Same(method+", against GetUser", paths[method], got)
	}
	return got.EmailVerified, nil
}

// workingInstantFields returns the text fields whose methods the adapter has; the clause
// does not apply if there is none.
func workingInstantFields(c *kit.Context) []instantField {
	works := func(p instantField) bool { return !slices.ContainsFunc(p.methods, c.Lacks) }
	return kit.Applicable(c, instantFields, works, "the adapter keeps no instants")
}

// atInstants is a clause that tries each field that holds an instant.
func atInstants(try func(c *kit.Context, p instantField, owner string)) func(c *kit.Context) {
	return func(c *kit.Context) {
		owner := kit.Owner(c)
		for _, p := range workingInstantFields(c) {
			try(c, p, owner)
		}
	}
}

// judge stores an instant that must be accepted, and lets want judge the results of the write and of the read.
func (p instantField) judge(c *kit.Context, owner string, t time.Time, want func(what string, got time.Time)) {
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
	switch past := p.expires && !t.After(c.Now()); {
	case err != nil:
		c.Errorf("%s = %s, read back: %v", p.name, diff.Show(t), err)
	case got != nil:
		want(p.name+", read back", *got)
	case !past:
		c.Errorf("%s = %s, read back: absent", p.name, diff.Show(t))
	}
}

// round stores an instant on a whole unit of the precision, which must come back unchanged.
func (p instantField) round(c *kit.Context, owner string, t time.Time, refusable bool) {
	if refusable {
		if _, _, err := p.put(c, owner, t); err != nil { // the write may fail
			return
		}
	}
	p.judge(c, owner, t, func(what string, got time.Time) {
		if !got.Truncate(c.Harness().Precision()).Equal(t) {
			c.Errorf("%s: got %s, want %s", what, diff.Show(got), diff.Show(t))
		}
	})
}

// instantsComeBackInUTC is TIME-12. It calls every method that returns instants,
// with arguments in another zone, and judges what all clauses before it saw too.
func instantsComeBackInUTC(c *kit.Context) {
	there := zone("Asia/Kathmandu")
	for _, p := range workingInstantFields(c) {
		if _, read, err := p.put(c, kit.Owner(c), c.Instant(time.Hour).In(there)); err == nil && read != nil {
			_, _ = read()
		}
	}
	if c.Works("CreateUser") {
		k := kit.NewFixture(c, c.Adapter)
		for _, t := range []**time.Time{
			&k.New.Authenticator.Created, &k.New.Authenticator.LastUsed, &k.SignUp.User.EmailVerified, &k.SignUp.Authenticator.Created,
			&k.SignUp.Authenticator.LastUsed,
		} {
			*t = new(c.Instant(-time.Hour).In(there))
		}
		k.New.Touched = k.New.Touched.In(there)
		rename := kit.RenameAuthenticator(k.User.ID, k.Authenticator.CredentialID, c.Unique("name"))
		for _, m := range c.Working(slices.Concat(k.Reads(), []kit.Call{rename}, k.Writes())) {
			_, _ = m.Do(c.Ctx, c.Adapter)
			if m.Method == "CreateUserWithAccount" { // all records are there
				_, _ = kit.Snapshot(c.Ctx, c, c.Adapter, k.Keys())
			}
		}
	}
	elsewhere := c.Run.NotInUTC()
	for _, method := range kit.SortedKeys(elsewhere) {
		c.Errorf("%s returned %s, want UTC", method, elsewhere[method])
	}
}
