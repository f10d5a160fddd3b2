package life

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var expClauses = []kit.Check{
	{ID: "EXP-01", Words: "nothing-disappears-early", Test: func(c *kit.Context) {
		lives := []time.Duration{2 * time.Second, time.Hour, 31 * kit.Day, 70 * 365 * kit.Day}
		first, second := newExpiring(c, lives...), newExpiring(c, lives...)
		there(c, first, "at once")
		kit.Wait(c, 1200*time.Millisecond)
		there(c, second, "1.2 s later")
		if c.Has(kit.AbilityClock) {
			c.UninvolvedGone = true
			for _, advance := range []time.Duration{time.Hour - 10*time.Second, 30 * kit.Day, 69 * 365 * kit.Day} {
				late := newExpiring(c, advance+2*time.Second)
				kit.Wait(c, advance)
				there(c, late, fmt.Sprintf("just before they expire, %v later", advance))
			}
		}
	}},
	{ID: "EXP-02", Words: "what-has-no-expiry-stays", Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		if !c.Has(kit.AbilitySweep) && !c.Has(kit.AbilityClock) {
			c.NotVerified("the harness has neither %s nor %s", kit.AbilitySweep, kit.AbilityClock)
		}
		residents := kit.Residents(c, 2)
		plain, old := c.NewUser(), c.NewUser()
		plain.EmailVerified, old.EmailVerified = nil, new(time.Unix(1, 0).UTC())
		bare := adapter.User{Email: c.NewUser().Email} // not verified, and without an account or passkey
		users := []*adapter.User{c.CreateUser(plain), c.CreateUser(old), c.CreateUser(bare)}
		expired := c.NewAccount(users[0].ID) // the account does not expire with its access token
		expired.ExpiresAt = new(c.Instant(-time.Hour).Unix())
		accounts := c.Stores(kit.AccountRecord)
		if accounts {
			c.LinkAccount(expired)
		}
		judge := func(when string) {
			for _, b := range residents {
				b.Lasting(c, when)
			}
			for _, u := range users {
				c.Same("a user "+when, c.GetUser(u.ID), u)
			}
			if accounts {
				c.Same("an account whose access token has expired "+when, c.GetAccount(expired.Key()), &expired)
			}
		}
		if c.Has(kit.AbilitySweep) {
			sweep(c, c.Now())
			judge("after clean-up")
		}
		if c.Has(kit.AbilityClock) {
			c.UninvolvedGone = true
			kit.Wait(c, 10*365*kit.Day)
			judge("ten years later")
		}
	}},
	{ID: "EXP-03", Words: "tiny-and-past-expiries", Test: func(c *kit.Context) {
		expired := newExpiring(c, 300*time.Millisecond, 0, -time.Second, -31*kit.Day)
		if c.Works("UpdateSession") {
			owner := c.User().ID
			for _, d := range []time.Duration{300 * time.Millisecond, 0, -time.Second} {
				s := c.Session(owner)
				if err := move(c, &s, c.Now().Add(d).UTC()); err != nil {
					c.Errorf("UpdateSession to an expiry in %v: %v", d, err)
				}
				expired.Sessions = append(expired.Sessions, s)
			}
		}
		kit.Wait(c, 450*time.Millisecond)
		truthful(c, expired)
	}},
	{ID: "EXP-04", Words: "long-expiries-are-not-misread", Test: func(c *kit.Context) {
		lives := []time.Duration{25 * kit.Day, 31 * kit.Day, 50 * kit.Day, 366 * kit.Day, 69 * 365 * kit.Day, 70 * 365 * kit.Day, 140 * 365 * kit.Day}
		long := newExpiring(c, lives...)
		if c.Works("UpdateSession") {
			owner := c.User().ID
			for _, d := range lives {
				s := c.Session(owner)
				kit.Extend(c, &s, c.Instant(d))
				long.Sessions = append(long.Sessions, s)
			}
		}
		there(c, long, "at once")
		if c.Has(kit.AbilityClock) {
			c.UninvolvedGone = true
			long = newExpiring(c, lives[1:]...)
			kit.Wait(c, 30*kit.Day)
			there(c, long, "after 30 days")
		}
	}},
	{ID: "EXP-05", Words: "clean-up-removes-expired-only", Needs: []kit.Ability{kit.AbilitySweep}, Test: func(c *kit.Context) {
		residents := kit.Residents(c, 2)
		live := newExpiring(c, time.Minute, time.Hour, 31*kit.Day, 70*365*kit.Day)
		newExpiring(c, -time.Second, -time.Hour, -kit.Day, 50*time.Millisecond)
		if len(live.Sessions) > 0 && c.Works("UpdateSession") {
			owner := live.Sessions[0].UserID
			for _, from := range []time.Duration{150 * time.Millisecond, time.Hour} {
				s := kit.SessionUntil(c, owner, c.Now().Add(from).UTC())
				kit.Extend(c, &s, c.Instant(2*time.Hour))
				live.Sessions = append(live.Sessions, s)
			}
		}
		hashes := tokensAlike(c, false, kit.Day, -time.Hour, time.Hour, -time.Second, 50*time.Millisecond)
		mixed := []*kit.Records{newExpiring(c, time.Hour, -time.Hour, kit.Day, -time.Second), newExpiring(c, -time.Hour, kit.Day)}
		two := tokensAlike(c, true, kit.Day, -time.Hour)
		four := tokensAlike(c, true, -time.Second, time.Hour, kit.Day, 50*time.Millisecond)
		kit.Wait(c, 200*time.Millisecond)
		sweep(c, c.Now())
		for i, e := range mixed {
			stillTheUsers(c, e.Sessions, i == 0)
		}
		stillTheIdentifiers(c, two)
		stillTheIdentifiers(c, four)
		for _, t := range hashes {
			if t.Expires.After(c.Now()) {
				kit.Used(c, "a token after the clean-up of tokens of the same value", t)
			}
		}
		there(c, live, "after clean-up")
		for _, b := range residents {
			b.Lasting(c, "after clean-up")
		}
		kit.Intact(c, residents)
	}},
	{ID: "EXP-06", Words: "clean-up-removes-all-that-expired", Alone: true, Needs: []kit.Ability{kit.AbilitySweep}, Test: cleanUpRemovesAll},
	{ID: "EXP-07", Words: "extension-survives-clean-up-and-reads", Races: true, Requires: []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"}, Test: extensionSurvives},
	{ID: "EXP-08", Words: "clean-up-counts-what-it-removed", Alone: true, Needs: []kit.Ability{kit.AbilitySweep}, Test: cleanUpCounts},
	{ID: "EXP-09", Words: "clean-up-goes-by-the-instant-given", Alone: true, Needs: []kit.Ability{kit.AbilitySweep}, Requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		cleanUpGoesByTheInstantGiven(c)
		cleansUpInSteps(c)
	}},
}

// stillTheUsers checks, after a clean-up, that the sessions of one user that have not expired are still listed,
// and end when the user is deleted or, with bySignOut, all sessions of the user are ended.
func stillTheUsers(c *kit.Context, sessions []adapter.Session, bySignOut bool) {
	over := func(s adapter.Session) bool { return !s.Expires.After(c.Now()) }
	live := slices.DeleteFunc(slices.Clone(sessions), over)
	if len(live) == 0 {
		return // the adapter keeps no sessions
	}
	owner := live[0].UserID
	if c.Works("ListSessionsByUserID") {
		c.Settle()
		listed := slices.DeleteFunc(kit.Of[[]adapter.Session](c, kit.ListSessionsByUserID(owner)), over)
		c.Same("ListSessionsByUserID after the clean-up of other sessions of the user", listed, live)
	}
	how := "DeleteUser"
	switch {
	case bySignOut && c.Works("DeleteSessionsByUserID"):
		how = "DeleteSessionsByUserID"
		kit.Of[int64](c, kit.DeleteSessionsByUserID(owner, ""))
	case c.Works("DeleteUser"):
		c.DeleteUser(owner)
	default:
		return
	}
	var look kit.Keys
	for _, s := range live {
		look.Sessions = append(look.Sessions, s.SessionToken)
		c.Absent("a session after the clean-up of others and "+how, c.GetSession(s.SessionToken), nil)
		kit.ReallyGone(c, how+" after the clean-up of other sessions of the user", kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
	}
	if how == "DeleteUser" {
		if err := kit.Inherited(c, owner, look); err != nil {
			c.Errorf("after the clean-up of other sessions of the user and DeleteUser: %v", err)
		}
	}
}

// tokensAlike creates tokens with these lifetimes, in this order: of one identifier or, if not, with one value for
// several identifiers.
func tokensAlike(c *kit.Context, ofOneIdentifier bool, lives ...time.Duration) (tokens []adapter.VerificationToken) {
	if !c.Stores(kit.VerificationTokenRecord) {
		return nil
	}
	first := c.NewToken()
	for _, life := range lives {
		t := c.NewToken()
		if ofOneIdentifier {
			t.Identifier = first.Identifier
		} else {
			t.Token = first.Token
		}
		t.Expires = c.Now().Add(life).UTC().Truncate(time.Millisecond)
		c.CreateToken(t)
		tokens = append(tokens, t)
	}
	return tokens
}

// stillTheIdentifiers checks, after a clean-up, that DeleteVerificationTokens deletes the
// tokens of one identifier that have not expired. Without this method it uses them.
func stillTheIdentifiers(c *kit.Context, tokens []adapter.VerificationToken) {
	live := slices.DeleteFunc(slices.Clone(tokens), func(t adapter.VerificationToken) bool { return !t.Expires.After(c.Now()) })
	if len(tokens) == 0 {
		return // the adapter keeps no tokens
	}
	if !c.Works("DeleteVerificationTokens") {
		for _, t := range live {
			kit.Used(c, "a token after the clean-up of other tokens of the identifier", t)
		}
		return
	}
	const how = "DeleteVerificationTokens after the clean-up of other tokens of the identifier"
	most := len(live) // DeleteExpired has removed the others
	if c.Harness().Sweep != nil {
		most = len(tokens)
	}
	if n := kit.Of[int64](c, kit.DeleteVerificationTokens(tokens[0].Identifier)); n < int64(len(live)) || n > int64(most) {
		c.Errorf("%s reports %d deleted, of %d that have not expired", how, n, len(live))
	}
	for _, t := range live {
		c.Absent("a token after "+how, c.UseToken(t.Key()), nil)
		kit.ReallyGone(c, how, kit.Record{Kind: kit.VerificationTokenRecord, Token: t.Key()})
	}
}

// cleanUpRemovesAll cleans up many expired records of both kinds, then many of one kind and one of the other.
func cleanUpRemovesAll(c *kit.Context) {
	n := kit.Many(c)
	removesAll(c, manyExpired(c, n), c.Now())
	for _, kind := range []kit.Kind{kit.SessionRecord, kit.VerificationTokenRecord} {
		if c.Stores(kind) {
			removesAll(c, manyOfOneKind(c, n, kind), c.Now())
		}
	}
	if c.Stores(kit.SessionRecord) && c.Works("UpdateSession") { // due only because it was shortened
		s := c.Session(c.User().ID)
		sweep(c, c.Now())
		if err := move(c, &s, c.Instant(-time.Minute)); err == nil {
			removesAll(c, &kit.Records{Sessions: []adapter.Session{s}}, c.Now())
		}
	}
}

// manyOfOneKind creates one expired record of each kind, and n more of this kind.
func manyOfOneKind(c *kit.Context, n int, kind kit.Kind) *kit.Records {
	all := newExpiring(c, -time.Hour)
	var mu sync.Mutex
	kit.Populate(c, n, func(i int) {
		x := kit.NewDraft(c, kind, all.User.ID)
		x.Expire(c.Instant(-time.Duration(i+1) * time.Minute))
		x.Store(c, c.Adapter)
		mu.Lock()
		defer mu.Unlock()
		all.Add(x)
	})
	return all
}

// manyExpired creates n expired sessions and verification tokens. Some of the sessions
// were live, until they were shortened, and some expired before 1970.
func manyExpired(c *kit.Context, n int) *kit.Records {
	var mu sync.Mutex
	all := &kit.Records{}
	kit.Populate(c, n, func(i int) {
		e := newExpiring(c, -time.Duration(i+1)*time.Minute)
		if len(e.Sessions) > 0 && i%10 == 0 && c.Works("UpdateSession") { // live, until it was shortened
			s := kit.SessionUntil(c, e.Sessions[0].UserID, c.Instant(time.Duration(i+1)*time.Hour))
			if err := move(c, &s, e.Sessions[0].Expires); err != nil {
				c.Errorf("UpdateSession to an expiry in the past: %v", err)
			}
			e.Sessions = append(e.Sessions, s)
		}
		if len(e.Sessions) > 0 && i%50 == 0 { // before 1970, which a store may refuse
			s := c.NewSession(e.Sessions[0].UserID)
			s.Expires = time.Date(1969-i%7, 12, 31, 23, 59, 58, 0, time.UTC)
			if _, err := c.Adapter.CreateSession(c.Ctx, s); err == nil {
				e.Sessions = append(e.Sessions, s)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.Sessions, all.Tokens = append(all.Sessions, e.Sessions...), append(all.Tokens, e.Tokens...)
	})
	return all
}

// move moves the expiry of the session, which the adapter may refuse.
func move(c *kit.Context, s *adapter.Session, expires time.Time) error {
	s.Expires = expires
	_, err := kit.ExtendSession(s.SessionToken, expires).Do(c.Ctx, c.Adapter)
	return err
}

// removesAll cleans up and looks for what is left of the records, which have all expired by the instant.
func removesAll(c *kit.Context, all *kit.Records, by time.Time) {
	left := func(enough int) (records int, seen bool) {
		for _, x := range all.Drafts() {
			if records == enough && x.Kind == kit.SessionRecord {
				return records, true
			}
			exists, known := kit.InStore(c, x.Name())
			if !known && x.Kind == kit.SessionRecord {
				exists = c.GetSession(x.Session.SessionToken) != nil
			}
			seen = seen || known || exists
			if exists {
				records++
			}
		}
		return records, seen
	}
	if _, seen := left(1); !seen && len(all.Sessions) > 0 {
		c.NotVerified("expired sessions read as absent, and the harness has no %s", kit.AbilityInspect)
	}
	sweeps := 5 // a clean-up may work in batches of more than one record
	if c.Harness().Sweep == nil {
		sweeps = 1 // DeleteExpired removes all
	}
	rest := 0
	for range sweeps {
		sweep(c, by)
		if rest, _ = left(-1); rest == 0 {
			break
		}
	}
	if rest > 0 {
		c.Errorf("after %d clean-ups %d of %d expired records still exist", sweeps, rest, len(all.Sessions)+len(all.Tokens))
	}
	if c.Harness().Inspect == nil {
		for _, t := range all.Tokens {
			if c.UseToken(t.Key()) != nil {
				c.Errorf("after %d clean-ups a verification token that expired %s still exists", sweeps, diff.Show(t.Expires))
			}
		}
	}
}

// extensionSurvives is EXP-07. Sessions are extended during a clean-up whose instant is after their expiry, and
// while they are read just after their expiry. An accepted extension must persist.
func extensionSurvives(c *kit.Context) {
	if c.Has(kit.AbilitySweep) && c.Works("DeleteSession") {
		var extended, deleted, gathered int
		n := race.LongCalls(c, func(callFirst bool) {
			e, d, g := sweepOfMany(c, callFirst)
			extended, deleted, gathered = extended+e, deleted+d, gathered+g
		})
		if c.Failed() {
			return
		}
		c.Notef("%d sessions were extended and %d deleted while %d were gathered, in %d clean-ups", extended, deleted, gathered, n)
		sweepOfReplaced(c)
	}
	owner := c.User().ID
	contenders := map[string]func(s adapter.Session){
		"a read of the expired session": func(s adapter.Session) {
			if _, err := c.Adapter.GetSessionAndUser(c.Ctx, s.SessionToken); err != nil {
				c.Errorf("GetSessionAndUser of an expired session: %v", err)
			}
		},
	}
	if c.Has(kit.AbilitySweep) {
		contenders["clean-up"] = func(s adapter.Session) { sweep(c, s.Expires.Add(50*time.Millisecond)) }
	}
	for _, name := range kit.SortedKeys(contenders) {
		contend := contenders[name]
		life := -10 * time.Millisecond
		if name == "clean-up" {
			life = 150 * time.Millisecond // still valid by the clock, but expired at the instant of the clean-up
		}
		made := 0
		create := func() adapter.Session {
			expires := c.Now().Add(life)
			if made++; name != "clean-up" && made%2 == 0 {
				expires = c.Now().Add(-time.Hour) // expired also by a clock of the store that is late
			}
			return kit.SessionUntil(c, owner, expires.UTC())
		}
		judge := func(s adapter.Session, extended *adapter.Session, until time.Time) {
			if extended == nil {
				return // it was deleted before, or the adapter does not report it
			}
			got := c.GetSession(s.SessionToken)
			if got == nil {
				c.Errorf("a session was extended until %s and is absent after %s", diff.Show(until), name)
				return
			}
			c.Same("the expires of a session that was extended during "+name, got.Session.Expires, until)
		}
		for range c.Rounds(32) {
			const batch = 4
			var extended [batch]*adapter.Session
			until := c.Instant(time.Hour)
			sessions := kit.Times(batch, create)
			c.Parallel(2*batch, func(i int) {
				if i%2 == 0 {
					extended[i/2] = kit.Extend(c, new(sessions[i/2]), until)
				} else if name != "clean-up" || i == 1 {
					contend(sessions[i/2])
				}
			})
			for i := range sessions {
				judge(sessions[i], extended[i], until)
			}
			if c.Failed() {
				return
			}
		}
		if c.Has(kit.AbilityFaults) {
			extendWhileHeld(c, create, contend, judge)
		}
	}
}

// sweepOfMany extends and deletes sessions during a long clean-up of many sessions. Extended sessions must stay,
// with the new expiry, and deleted sessions must stay deleted.
func sweepOfMany(c *kit.Context, callFirst bool) (extensions, deletions, gathered int) {
	owner := c.User().ID
	past := c.Now().Add(-time.Second).UTC().Truncate(time.Millisecond)
	var expired, live []adapter.Session
	for _, s := range race.Gather(c, func(i int) adapter.Session {
		s := c.NewSession(owner)
		if i%2 == 0 {
			s.Expires = past
		}
		return s
	}) {
		if s.Expires.Equal(past) {
			expired = append(expired, s)
		} else {
			live = append(live, s)
		}
	}
	until := c.Instant(3 * time.Hour)
	var mu sync.Mutex
	extended, deleted := map[string]bool{}, map[string]bool{}
	// Several extend what expired, each a part of it: a store with one writer at a time lets the clean-up have most turns.
	const extenders = 4
	race.DuringLongCall(c, callFirst, func() { sweep(c, c.Now()) }, extenders+2, func(client int, over func() bool) {
		if client <= extenders {
			all, first, stride := expired, client, extenders
			if client == extenders {
				all, first, stride = live, 0, 1
			}
			for i := first; i < len(all); i += stride {
				if over() && i > 20 {
					return
				}
				s := race.FromBothEnds(all, i)
				got, err := kit.ExtendSession(s.SessionToken, until).Do(c.Ctx, c.Raw)
				if err != nil {
					c.Errorf("UpdateSession during clean-up: %v", err)
					return
				}
				if !kit.IsNilRecord(got) {
					mu.Lock()
					extended[s.SessionToken] = true
					mu.Unlock()
				}
			}
			return
		}
		for i := range len(live) / 4 { // from the middle
			if over() && i > 20 {
				return
			}
			token := live[len(live)/2+i].SessionToken
			if _, err := c.Raw.DeleteSession(c.Ctx, token); err != nil {
				c.Errorf("DeleteSession during clean-up: %v", err)
				return
			}
			mu.Lock()
			deleted[token] = true
			mu.Unlock()
		}
	})
	for _, s := range slices.Concat(expired, live) {
		if s.Expires.Equal(past) && !extended[s.SessionToken] {
			continue // the clean-up has removed it
		}
		got, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken)
		switch absent := err != nil || got == nil; {
		case deleted[s.SessionToken]:
			if err != nil || got != nil {
				c.Fatalf("a session that was deleted during clean-up: got %s, error %v, want absent", diff.Show(got), err)
			}
		case extended[s.SessionToken] && absent:
			c.Fatalf("a session that was extended during clean-up: got %s, error %v", diff.Show(got), err)
		case extended[s.SessionToken]:
			if !c.Same("the expires of a session that was extended during clean-up", got.Session.Expires, until) {
				return
			}
		case absent:
			c.Fatalf("a live session that nobody touched during clean-up: got %s, error %v", diff.Show(got), err)
		}
	}
	if c.Works("DeleteUser") {
		_, _ = c.Raw.DeleteUser(c.Ctx, owner)
	}
	return len(extended), len(deleted), len(expired) + len(live)
}

// sweepOfReplaced stores live sessions and tokens under the keys of expired ones
// while one clean-up follows another. What is live must stay.
func sweepOfReplaced(c *kit.Context) {
	const writers, batch = 4, 8
	owner := c.User().ID
	replaced := 0
	// replace creates a record whose key may be taken by the expired one. An
	// adapter to which an expired record is absent may not free its key.
	replace := func(live *kit.Draft) bool {
		_, err := live.Create().Do(c.Ctx, c.Raw)
		if errors.Is(err, adapter.ErrConflict) {
			if _, err = live.Remove().Do(c.Ctx, c.Raw); err == nil {
				_, err = live.Create().Do(c.Ctx, c.Raw)
			}
		}
		if err != nil && !errors.Is(err, adapter.ErrConflict) {
			c.Fatalf("replacing an expired record during clean-up: %v", err)
		}
		return err == nil
	}
	// These create an expired record. What they return puts a live one in its place, and returns a check that it stays.
	expired := func(kind kit.Kind, key string) func() func() (stays func()) {
		return func() func() func() {
			live := kit.NewDraft(c, kind, owner)
			old := *live
			old.Expire(c.Instant(-time.Second))
			old.Store(c, c.Adapter)
			return func() func() {
				if !replace(live) {
					return nil
				}
				return func() {
					got, err := live.Look(c, c.Adapter)
					if kit.Must(c, live.Read().Method, got, err) == nil || c.Unlike(got, live.Value()) != "" {
						c.Fatalf("a %s that was created during clean-up under the %s of an expired one: got %s, want %s",
							kind, key, diff.Show(got), diff.Show(live.Value()))
					}
					if kind != kit.SessionRecord {
						return
					}
					if _, err := live.Remove().Do(c.Ctx, c.Raw); err != nil {
						c.Fatalf("DeleteSession during clean-up: %v", err)
					}
				}
			}
		}
	}
	kinds := []func() func() (stays func()){expired(kit.SessionRecord, "token"), expired(kit.VerificationTokenRecord, "key")}
	if !c.Stores(kit.VerificationTokenRecord) {
		kinds = kinds[:1]
	}
	if c.Has(kit.AbilityFaults) {
		for _, expired := range kinds {
			for step, held := 1, true; held && step <= kit.SweepSteps; step++ {
				live := expired()
				var stays func()
				if held = whileHeld(c, step, func() { sweep(c, c.Now()) }, func() { stays = live() }); stays != nil {
					stays()
				}
			}
		}
	}
	for again, end := true, time.Now().Add(c.Span(time.Second)/c.Haste); again; again = time.Now().Before(end) {
		var checks [writers][]func()
		var writing atomic.Int32
		writing.Store(writers)
		until := time.Now().Add(c.Span(50 * time.Millisecond))
		c.Parallel(writers+1, func(client int) {
			if client == writers {
				for writing.Load() > 0 && !c.Failed() {
					start := time.Now()
					sweep(c, c.Now())
					if took := time.Since(start); took > time.Millisecond {
						kit.Pause(c, took) // a store with one writer at a time lets the others in
					}
				}
				return
			}
			defer writing.Add(-1)
			for again := true; again; again = time.Now().Before(until) {
				for _, live := range kit.Times(batch, kinds[client%len(kinds)]) {
					if stays := live(); stays != nil {
						checks[client] = append(checks[client], stays)
					}
				}
			}
		})
		for _, stays := range slices.Concat(checks[:]...) {
			stays()
			replaced++
		}
	}
	if c.Works("DeleteUser") {
		_, _ = c.Raw.DeleteUser(c.Ctx, owner)
	}
	c.Notef("%d records were replaced during clean-up", replaced)
}

// extendWhileHeld extends a session while the store's answer to the contender
// is held back, at each of the contender's steps in turn.
func extendWhileHeld(c *kit.Context, create func() adapter.Session, contend func(adapter.Session), judge func(adapter.Session, *adapter.Session, time.Time)) {
	for step := 1; step <= kit.SweepSteps; step++ {
		s := create()
		until := c.Instant(time.Hour)
		var got any
		var err error
		extend := kit.ExtendSession(s.SessionToken, until)
		if !whileHeld(c, step, func() { contend(s) }, func() { got, err = extend.Do(c.Ctx, c.Adapter) }) {
			return
		}
		if err != nil {
			c.Errorf("UpdateSession while the reply to another caller is delayed: %v", err)
		}
		extended, _ := got.(*adapter.Session)
		judge(s, extended, until)
	}
}

// whileHeld calls act while the store's answer to the contender is held back at a
// step. It reports whether the contender came to that step.
func whileHeld(c *kit.Context, step int, contend, act func()) (held bool) {
	const blocked = 100 * time.Millisecond
	in, err := kit.Faults(c).Inject(fault.HoldReply, step)
	if err != nil {
		faulted.Heal(c)
		return false
	}
	held = faulted.Holding(in, contend, func(<-chan struct{}) {
		acted := make(chan struct{})
		go func() {
			defer close(acted)
			act()
		}()
		faulted.Soon(acted, blocked) // it may wait for the contender's lock
		in.Release()
		<-acted
	})
	faulted.Heal(c)
	return held
}

// cleanUpCounts is EXP-08. A store may remove records that have expired by the clock at any time. So the clean-up
// gets an instant in the future, and the records that it counts are valid by the clock until the clause has
// judged them; a slow machine gets more time. Another clean-up may run in a shared store, so a difference is a
// breach only if it appears three times.
func cleanUpCounts(c *kit.Context) {
	if _, ok := c.Raw.(adapter.Sweeper); !ok {
		c.NotApplicable("the adapter has no DeleteExpired")
	}
	sweep := func(at time.Time) adapter.Swept { return swept(c, c.Raw, at) }
	if c.Scale >= 1 {
		manyAreCounted(c, sweep)
	}
	spare := time.Second
	const tries = 3
	var wrong []string
	for len(wrong) < tries {
		problem := miscounted(c, &spare, 5+len(wrong), sweep) // a different number each time
		if problem == "" {
			countedOnce(c, &spare, tries)
			return
		}
		wrong = append(wrong, problem)
	}
	c.Errorf("DeleteExpired, %d times in a row: %s", tries, wrong)
}

// swept calls DeleteExpired.
func swept(c *kit.Context, a adapter.Adapter, at time.Time) adapter.Swept {
	swept, err := a.(adapter.Sweeper).DeleteExpired(c.Ctx, at)
	if err != nil {
		c.Errorf("DeleteExpired: %v", err)
	}
	return swept
}

// countedOnce is the part of EXP-08 with several clean-ups at one moment: together they report what is gone.
func countedOnce(c *kit.Context, spare *time.Duration, tries int) {
	const together, records = 4, 12
	handles := slices.DeleteFunc(kit.Handles(c), func(a adapter.Adapter) bool {
		_, sweeps := a.(adapter.Sweeper)
		return !sweeps
	})
	var wrong []string
	attempt := func(clean func(at time.Time) adapter.Swept) (right bool) {
		problem := miscounted(c, spare, records, clean)
		if problem != "" {
			wrong = append(wrong, problem)
		}
		return problem == ""
	}
	end := time.Now().Add(c.Span(600*time.Millisecond) / c.Haste)
	for i := 0; len(wrong) < tries && (i < tries || time.Now().Before(end)); i++ {
		attempt(func(at time.Time) (sum adapter.Swept) {
			var all [together]adapter.Swept
			c.Parallel(together, func(i int) { all[i] = swept(c, handles[i%len(handles)], at) })
			for _, one := range all {
				sum.Sessions += one.Sessions
				sum.VerificationTokens += one.VerificationTokens
			}
			return sum
		})
	}
	if c.Has(kit.AbilityFaults) {
		for step, held := 1, true; held && step <= kit.SweepSteps; step++ {
			for right := false; !right && len(wrong) < tries; {
				right = attempt(func(at time.Time) adapter.Swept {
					var one, other adapter.Swept
					held = whileHeld(c, step, func() { one = swept(c, c.Raw, at) }, func() { other = swept(c, handles[len(handles)-1], at) })
					return adapter.Swept{Sessions: one.Sessions + other.Sessions, VerificationTokens: one.VerificationTokens + other.VerificationTokens}
				})
			}
		}
	}
	if len(wrong) == tries {
		c.Errorf("DeleteExpired by several callers at one moment, %d times: %s", tries, wrong)
	}
}

// miscounted cleans up n sessions and n tokens, and compares what the clean-up reports with what is
// gone. A slow machine gets more time to spare.
func miscounted(c *kit.Context, spare *time.Duration, n int, clean func(at time.Time) adapter.Swept) (problem string) {
	for ; ; *spare *= 4 {
		life := *spare + c.Harness().Precision()
		begin := c.Now()
		at := begin.Add(*spare + life)
		swept(c, c.Raw, at)
		live := newExpiring(c, time.Hour, 31*kit.Day)
		e := newExpiring(c, slices.Repeat([]time.Duration{life}, n)...)
		records := func() (sessions, tokens int64) {
			for _, x := range e.Drafts() {
				exists, known := kit.InStore(c, x.Name())
				switch {
				case x.Kind == kit.VerificationTokenRecord && exists:
					tokens++
				case x.Kind == kit.SessionRecord && (exists || !known && c.GetSession(x.Session.SessionToken) != nil):
					sessions++
				}
			}
			return sessions, tokens
		}
		sessions, tokens := records()
		swept := clean(at)
		sessionsLeft, tokensLeft := records()
		if c.Now().Sub(begin) > *spare { // the first of them may have expired
			continue
		}
		check := func(what string, said, before, left, made int64) {
			switch {
			case said < before-left:
				problem += fmt.Sprintf("it says that it removed %d %s, and %d are gone; ", said, what, before-left)
			case said > made-left:
				problem += fmt.Sprintf("it says that it removed %d %s, of %d that were due and %d that are left; ", said, what, made, left)
			}
		}
		check("sessions", swept.Sessions, sessions, sessionsLeft, int64(len(e.Sessions)))
		check("verification tokens", swept.VerificationTokens, tokens, tokensLeft, int64(len(e.Tokens)))
		there(c, live, "after clean-up")
		return problem
	}
}

// manyAreCounted is the part of EXP-08 with more records than any batch. They have expired by the clock, so
// others may remove some of them: a number is wrong only if it is wrong each time.
func manyAreCounted(c *kit.Context, sweep func(at time.Time) adapter.Swept) {
	if !c.Works("CreateSession") || !c.Works("GetSessionAndUser") {
		return
	}
	const tries = 3
	var wrong []string
	for len(wrong) < tries {
		owner := c.User().ID
		sessions := make([]adapter.Session, kit.ManyRecords)
		kit.Populate(c, kit.ManyRecords, func(i int) { sessions[i] = kit.SessionUntil(c, owner, c.Instant(-time.Hour)) })
		records := func() (n int64) {
			for _, s := range sessions {
				if c.GetSession(s.SessionToken) != nil {
					n++
				}
			}
			return n
		}
		before := records()
		swept := sweep(c.Now())
		gone := before - records()
		if swept.Sessions >= gone {
			return
		}
		wrong = append(wrong, fmt.Sprintf("it says that it removed %d sessions, and %d are gone; ", swept.Sessions, gone))
	}
	c.Errorf("DeleteExpired of %d expired sessions, %d times in a row: %s", kit.ManyRecords, tries, wrong)
}

// cleanUpGoesByTheInstantGiven is the first part of EXP-09. All its sessions have expired by the clock, so that
// its clean-up removes no valid record of others in a shared store. Another clean-up may remove these sessions,
// so a missing one is a breach only if it is missing each time.
func cleanUpGoesByTheInstantGiven(c *kit.Context) {
	owner := c.User().ID
	there := func(s adapter.Session) bool {
		exists, known := kit.InStore(c, kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
		return exists || !known && c.GetSession(s.SessionToken) != nil
	}
	session := func(expires time.Time) adapter.Session { return kit.SessionUntil(c, owner, expires) }
	// The instants have fractions of a second, and what expires a step after one stays. They come in several zones.
	step := c.Harness().Precision()
	zones := []*time.Location{time.UTC, time.FixedZone("east", 5*3600+1800), time.FixedZone("west", -8*3600)}
	const tries = 3
	taken := map[time.Duration]int{} // in how many tries
	for range tries {
		early := map[time.Duration]bool{}
		for i, fraction := range []time.Duration{0, step, 499 * time.Millisecond, 500 * time.Millisecond, 501 * time.Millisecond, 999 * time.Millisecond} {
			at := c.Now().Add(-48 * time.Hour).UTC().Truncate(max(time.Second, step)).Add(fraction.Truncate(step))
			due := []adapter.Session{session(at.Add(-time.Hour)), session(at)}
			later := map[time.Duration]adapter.Session{step: session(at.Add(step)), 24 * time.Hour: session(at.Add(24 * time.Hour))}
			was := map[time.Duration]bool{}
			for after, s := range later {
				was[after] = there(s)
			}
			sweep(c, at.In(zones[i%len(zones)]))
			for _, s := range due {
				if there(s) {
					c.Errorf("a session that expired %s exists after the clean-up of sessions that expired at or before %s", diff.Show(s.Expires), diff.Show(at))
				}
			}
			for after, s := range later {
				early[after] = early[after] || was[after] && !there(s)
			}
		}
		for after, was := range early {
			if was {
				taken[after]++
			}
		}
		if len(taken) == 0 {
			return
		}
	}
	for _, after := range []time.Duration{step, 24 * time.Hour} {
		if taken[after] == tries {
			c.Errorf("the clean-up of what expired at or before an instant two days ago removes what expired %v after it: it does not go by the instant given", after)
		}
	}
}

// cleansUpInSteps cleans up at one instant after another. Sessions of one user expire at some
// of them, tokens of one identifier at some, both or nothing at others. A clean-up must not
// spare a record for those beside it, and what it leaves is for a later one.
func cleansUpInSteps(c *kit.Context) {
	const steps = 8
	owner, identifier, start := c.User().ID, c.NewToken().Identifier, c.Instant(-48*time.Hour)
	var due [steps]kit.Records
	what := append(c.Rand.Perm(steps-2), steps-2, steps-1) // the last ones: only a token, then only a session
	for _, i := range c.Rand.Perm(steps) {                 // not in the order in which they expire
		expires := start.Add(time.Duration(i) * time.Hour)
		if x := what[i]; x < 3 || x == steps-1 {
			due[i].Sessions = []adapter.Session{kit.SessionUntil(c, owner, expires)}
		}
		if x := what[i]; (x == 0 || x == 3 || x == steps-2) && c.Stores(kit.VerificationTokenRecord) {
			due[i].Tokens = []adapter.VerificationToken{kit.TokenOf(c, identifier, expires)}
		}
	}
	for i, all := range due {
		removesAll(c, &all, start.Add(time.Duration(i)*time.Hour))
	}
}

// sweep triggers the clean-up of the records that expired at or before now.
func sweep(c *kit.Context, now time.Time) {
	c.Need(kit.AbilitySweep)
	if err := kit.TrySweep(c, c.Raw, now); err != nil {
		c.Errorf("clean-up: %v", err)
	}
}
