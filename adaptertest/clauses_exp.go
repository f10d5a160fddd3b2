package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var expClauses = []check{
	{id: "EXP-01", words: "nothing-disappears-early", run: func(c *clauseContext) {
		lives := []time.Duration{2 * time.Second, time.Hour, 31 * day, 70 * 365 * day}
		first, second := c.expiring(lives...), c.expiring(lives...)
		first.there(c, "at once")
		c.wait(1200 * time.Millisecond)
		second.there(c, "1.2 s later")
		if c.has(abilityClock) {
			c.uninvolvedGone = true
			for _, advance := range []time.Duration{time.Hour - 10*time.Second, 30 * day, 69 * 365 * day} {
				late := c.expiring(advance + 2*time.Second)
				c.wait(advance)
				late.there(c, fmt.Sprintf("just before they expire, %v later", advance))
			}
		}
	}},
	{id: "EXP-02", words: "what-has-no-expiry-stays", requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		if !c.has(abilitySweep) && !c.has(abilityClock) {
			c.notVerified("the harness has neither %s nor %s", abilitySweep, abilityClock)
		}
		residents := c.residents(2)
		plain := c.newUser()
		plain.EmailVerified = nil
		old := c.newUser()
		old.EmailVerified = new(time.Unix(1, 0).UTC())
		bare := adapter.User{Email: c.newUser().Email} // not verified, and without an account or passkey
		users := []*adapter.User{c.createUser(plain), c.createUser(old), c.createUser(bare)}
		expired := c.newAccount(users[0].ID) // the account does not expire with its access token
		expired.ExpiresAt = new(c.instant(-time.Hour).Unix())
		if c.stores(AccountRecord) {
			c.linkAccount(expired)
		}
		judge := func(when string) {
			for _, b := range residents {
				b.lasting(c, when)
			}
			for _, u := range users {
				c.same("a user "+when, c.getUser(u.ID), u)
			}
			if c.stores(AccountRecord) {
				c.same("an account whose access token has expired "+when, c.getAccount(expired.Key()), &expired)
			}
		}
		if c.has(abilitySweep) {
			c.sweep(c.now())
			judge("after clean-up")
		}
		if c.has(abilityClock) {
			c.uninvolvedGone = true
			c.wait(10 * 365 * day)
			judge("ten years later")
		}
	}},
	{id: "EXP-03", words: "tiny-and-past-expiries", run: func(c *clauseContext) {
		expired := c.expiring(300*time.Millisecond, 0, -time.Second, -31*day)
		if c.works("UpdateSession") {
			owner := c.user().ID
			for _, d := range []time.Duration{300 * time.Millisecond, 0, -time.Second} {
				s := c.session(owner)
				s.Expires = c.now().Add(d).UTC()
				if _, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)}); err != nil {
					c.Errorf("UpdateSession to an expiry in %v: %v", d, err)
				}
				expired.sessions = append(expired.sessions, s)
			}
		}
		c.wait(450 * time.Millisecond)
		expired.truthful(c)
	}},
	{id: "EXP-04", words: "long-expiries-are-not-misread", run: func(c *clauseContext) {
		lives := []time.Duration{25 * day, 31 * day, 50 * day, 366 * day, 69 * 365 * day, 70 * 365 * day, 140 * 365 * day}
		long := c.expiring(lives...)
		if c.works("UpdateSession") {
			owner := c.user().ID
			for _, d := range lives {
				s := c.session(owner)
				s.Expires = c.instant(d)
				c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
				long.sessions = append(long.sessions, s)
			}
		}
		long.there(c, "at once")
		if c.has(abilityClock) {
			c.uninvolvedGone = true
			long = c.expiring(lives[1:]...)
			c.wait(30 * day)
			long.there(c, "after 30 days")
		}
	}},
	{id: "EXP-05", words: "clean-up-removes-expired-only", needs: []ability{abilitySweep}, run: func(c *clauseContext) {
		residents := c.residents(2)
		live := c.expiring(time.Minute, time.Hour, 31*day, 70*365*day)
		c.expiring(-time.Second, -time.Hour, -day, 50*time.Millisecond)
		if len(live.sessions) > 0 && c.works("UpdateSession") {
			owner := live.sessions[0].UserID
			for _, from := range []time.Duration{150 * time.Millisecond, time.Hour} {
				s := c.newSession(owner)
				s.Expires = c.now().Add(from).UTC()
				c.createSession(s)
				s.Expires = c.instant(2 * time.Hour)
				c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
				live.sessions = append(live.sessions, s)
			}
		}
		hashes := c.tokensOfOneHash(day, -time.Hour, time.Hour, -time.Second, 50*time.Millisecond)
		mixed := []expiring{c.expiring(time.Hour, -time.Hour, day, -time.Second), c.expiring(-time.Hour, day)}
		ofOne := c.tokensOfOneIdentifier([]time.Duration{day, -time.Hour}, []time.Duration{-time.Second, time.Hour, day, 50 * time.Millisecond})
		c.wait(200 * time.Millisecond)
		c.sweep(c.now())
		for i, e := range mixed {
			c.stillTheUsers(e.sessions, i == 0)
		}
		for _, tokens := range ofOne {
			c.stillTheIdentifiers(tokens)
		}
		for _, t := range hashes {
			if t.Expires.After(c.now()) {
				c.used("a token after the clean-up of tokens of the same value", t)
			}
		}
		live.there(c, "after clean-up")
		for _, b := range residents {
			b.lasting(c, "after clean-up")
		}
		c.intact(residents)
	}},
	{id: "EXP-06", words: "clean-up-removes-all-that-expired", needs: []ability{abilitySweep}, run: cleanUpRemovesAll},
	{id: "EXP-07", words: "extension-survives-clean-up-and-reads", races: true, requires: []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"}, run: extensionSurvives},
	{id: "EXP-08", words: "clean-up-counts-what-it-removed", alone: true, needs: []ability{abilitySweep}, run: cleanUpCounts},
	{id: "EXP-09", words: "clean-up-goes-by-the-instant-given", alone: true, needs: []ability{abilitySweep}, requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		cleanUpGoesByTheInstantGiven(c)
		c.cleansUpInSteps()
	}},
}

// stillTheUsers checks, after a clean-up, that the sessions of one user that have not
// expired are still listed, and end when the user is deleted or, with bySignOut, all sessions of the
// user are ended.
func (c *clauseContext) stillTheUsers(sessions []adapter.Session, bySignOut bool) {
	over := func(s adapter.Session) bool { return !s.Expires.After(c.now()) }
	live := slices.DeleteFunc(slices.Clone(sessions), over)
	if len(live) == 0 {
		return // the adapter keeps no sessions
	}
	owner := live[0].UserID
	if c.works("ListSessionsByUserID") {
		c.settle()
		listed := slices.DeleteFunc(of[[]adapter.Session](c, listSessions(owner)), over)
		c.same("ListSessionsByUserID after the clean-up of other sessions of the user", listed, live)
	}
	how := "DeleteUser"
	switch {
	case bySignOut && c.works("DeleteSessionsByUserID"):
		how = "DeleteSessionsByUserID"
		of[int64](c, deleteSessions(owner, ""))
	case c.works("DeleteUser"):
		c.deleteUser(owner)
	default:
		return
	}
	var look keys
	for _, s := range live {
		look.sessions = append(look.sessions, s.SessionToken)
		c.absent("a session after the clean-up of others and "+how, c.getSession(s.SessionToken), nil)
		c.reallyGone(how+" after the clean-up of other sessions of the user", Record{Kind: SessionRecord, Key: s.SessionToken})
	}
	if how == "DeleteUser" {
		if err := c.inherited(owner, look); err != nil {
			c.Errorf("after the clean-up of other sessions of the user and DeleteUser: %v", err)
		}
	}
}

// tokensOfOneIdentifier creates tokens with these lifetimes: those of each list
// for one identifier, in this order.
func (c *clauseContext) tokensOfOneIdentifier(lists ...[]time.Duration) (all [][]adapter.VerificationToken) {
	if !c.stores(VerificationTokenRecord) {
		return nil
	}
	for _, lives := range lists {
		identifier := c.newToken().Identifier
		var tokens []adapter.VerificationToken
		for _, life := range lives {
			t := c.newToken()
			t.Identifier, t.Expires = identifier, c.now().Add(life).UTC().Truncate(time.Millisecond)
			c.createToken(t)
			tokens = append(tokens, t)
		}
		all = append(all, tokens)
	}
	return all
}

// tokensOfOneHash creates tokens with these lifetimes and one value, each for another
// identifier.
func (c *clauseContext) tokensOfOneHash(lives ...time.Duration) (tokens []adapter.VerificationToken) {
	if !c.stores(VerificationTokenRecord) {
		return nil
	}
	value := c.newToken().Token
	for _, life := range lives {
		t := c.newToken()
		t.Token, t.Expires = value, c.now().Add(life).UTC().Truncate(time.Millisecond)
		c.createToken(t)
		tokens = append(tokens, t)
	}
	return tokens
}

// stillTheIdentifiers checks, after a clean-up, that DeleteVerificationTokens deletes the
// tokens of one identifier that have not expired. Without this method it uses them.
func (c *clauseContext) stillTheIdentifiers(tokens []adapter.VerificationToken) {
	live := slices.DeleteFunc(slices.Clone(tokens), func(t adapter.VerificationToken) bool { return !t.Expires.After(c.now()) })
	if !c.works("DeleteVerificationTokens") {
		for _, t := range live {
			c.used("a token after the clean-up of other tokens of the identifier", t)
		}
		return
	}
	const how = "DeleteVerificationTokens after the clean-up of other tokens of the identifier"
	most := len(live) // DeleteExpired has removed the others
	if c.harness().Sweep != nil {
		most = len(tokens)
	}
	if n := of[int64](c, deleteTokens(tokens[0].Identifier)); n < int64(len(live)) || n > int64(most) {
		c.Errorf("%s reports %d deleted, of %d that have not expired", how, n, len(live))
	}
	for _, t := range live {
		c.absent("a token after "+how, c.useToken(t.Key()), nil)
		c.reallyGone(how, Record{Kind: VerificationTokenRecord, Token: t.Key()})
	}
}

// lasting compares the uninvolved user's records that never expire.
func (b *uninvolvedUser) lasting(c *clauseContext, when string) {
	lasting := *b
	lasting.sessionToken, lasting.session, lasting.token = "", nil, nil
	after := lasting
	after.user, after.byEmail, after.account, after.byAccount, after.authenticator, after.list = nil, nil, nil, nil, nil, nil
	after.read(c, c.raw)
	if b.user != nil && after.user == nil {
		c.Errorf("a user is absent %s", when)
	}
	c.same("a user "+when, after.user, b.user)
	c.same("a user by e-mail "+when, after.byEmail, b.byEmail)
	c.same("an account "+when, after.account, b.account)
	c.same("a user by account "+when, after.byAccount, b.byAccount)
	c.same("an authenticator "+when, after.authenticator, b.authenticator)
	c.sameAuthenticators("the list of authenticators "+when, after.list, b.list)
}

// cleanUpRemovesAll is EXP-06. It cleans up many expired records of both kinds, then
// many of one kind and one of the other.
func cleanUpRemovesAll(c *clauseContext) {
	n := c.many()
	c.removesAll(c.manyExpired(n), c.now())
	for _, kind := range []Kind{SessionRecord, VerificationTokenRecord} {
		if c.stores(kind) {
			c.removesAll(c.manyOfOneKind(n, kind), c.now())
		}
	}
	if c.stores(SessionRecord) && c.works("UpdateSession") { // due only because it was shortened
		s := c.session(c.user().ID)
		c.sweep(c.now())
		if _, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(-time.Minute))}); err == nil {
			c.removesAll(expiring{sessions: []adapter.Session{s}}, c.now())
		}
	}
}

// manyOfOneKind creates one expired record of each kind, and n more of this kind.
func (c *clauseContext) manyOfOneKind(n int, kind Kind) expiring {
	all := c.expiring(-time.Hour)
	owner := ""
	if len(all.sessions) > 0 {
		owner = all.sessions[0].UserID
	}
	var mu sync.Mutex
	c.populate(n, func(i int) {
		expires := c.instant(-time.Duration(i+1) * time.Minute)
		if kind == SessionRecord {
			s := c.newSession(owner)
			s.Expires = expires
			c.createSession(s)
			mu.Lock()
			defer mu.Unlock()
			all.sessions = append(all.sessions, s)
			return
		}
		t := c.newToken()
		t.Expires = expires
		c.createToken(t)
		mu.Lock()
		defer mu.Unlock()
		all.tokens = append(all.tokens, t)
	})
	return all
}

// manyExpired creates n expired sessions and verification tokens. Some of the sessions
// were live, until they were shortened, and some expired before 1970.
func (c *clauseContext) manyExpired(n int) expiring {
	var mu sync.Mutex
	var all expiring
	c.populate(n, func(i int) {
		e := c.expiring(-time.Duration(i+1) * time.Minute)
		if len(e.sessions) > 0 && i%10 == 0 && c.works("UpdateSession") { // live, until it was shortened
			s := c.newSession(e.sessions[0].UserID)
			s.Expires = c.instant(time.Duration(i+1) * time.Hour)
			c.createSession(s)
			s.Expires = e.sessions[0].Expires
			if _, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)}); err != nil {
				c.Errorf("UpdateSession to an expiry in the past: %v", err)
			}
			e.sessions = append(e.sessions, s)
		}
		if len(e.sessions) > 0 && i%50 == 0 { // before 1970, which a store may refuse
			s := c.newSession(e.sessions[0].UserID)
			s.Expires = time.Date(1969-i%7, 12, 31, 23, 59, 58, 0, time.UTC)
			if _, err := c.a.CreateSession(c.ctx, s); err == nil {
				e.sessions = append(e.sessions, s)
			}
		}
		mu.Lock()
		defer mu.Unlock()
		all.sessions = append(all.sessions, e.sessions...)
		all.tokens = append(all.tokens, e.tokens...)
	})
	return all
}

// removesAll cleans up and looks for what is left of the records, which have all expired
// by the instant.
func (c *clauseContext) removesAll(all expiring, by time.Time) {
	left := func(enough int) (records int, seen bool) {
		for _, s := range all.sessions {
			if records == enough {
				return records, true
			}
			if inspect := c.harness().Inspect; inspect != nil {
				there, err := inspect(c.ctx, c.raw, Record{Kind: SessionRecord, Key: s.SessionToken})
				must(c, "Inspect", there, err)
				seen = true
				if there {
					records++
				}
			} else if c.getSession(s.SessionToken) != nil {
				seen = true
				records++
			}
		}
		for _, t := range all.tokens {
			if inspect := c.harness().Inspect; inspect != nil {
				there, err := inspect(c.ctx, c.raw, Record{Kind: VerificationTokenRecord, Token: t.Key()})
				must(c, "Inspect", there, err)
				seen = true
				if there {
					records++
				}
			}
		}
		return records, seen
	}
	if _, seen := left(1); !seen && len(all.sessions) > 0 {
		c.notVerified("expired sessions read as absent, and the harness has no %s", abilityInspect)
	}
	sweeps := 5 // a clean-up may work in batches of more than one record
	if c.harness().Sweep == nil {
		sweeps = 1 // DeleteExpired removes all
	}
	rest := 0
	for range sweeps {
		c.sweep(by)
		if rest, _ = left(-1); rest == 0 {
			break
		}
	}
	if rest > 0 {
		c.Errorf("after %d clean-ups %d of %d expired records still exist", sweeps, rest, len(all.sessions)+len(all.tokens))
	}
	if c.harness().Inspect == nil {
		for _, t := range all.tokens {
			if c.useToken(t.Key()) != nil {
				c.Errorf("after %d clean-ups a verification token that expired %s still exists", sweeps, diff.Show(t.Expires))
			}
		}
	}
}

// extensionSurvives is EXP-07. Sessions are extended during a clean-up whose
// instant is after their expiry, and while they are read just after their expiry.
// An accepted extension must persist.
func extensionSurvives(c *clauseContext) {
	if c.has(abilitySweep) && c.works("DeleteSession") {
		var extended, deleted, gathered int
		n := c.longCalls(func(callFirst bool) {
			e, d, g := c.sweepOfMany(callFirst)
			extended, deleted, gathered = extended+e, deleted+d, gathered+g
		})
		if c.failed() {
			return
		}
		c.Notef("%d sessions were extended and %d deleted while %d were gathered, in %d clean-ups", extended, deleted, gathered, n)
		c.sweepOfReplaced()
	}
	owner := c.user().ID
	contenders := map[string]func(s adapter.Session){
		"a read of the expired session": func(s adapter.Session) {
			if _, err := c.a.GetSessionAndUser(c.ctx, s.SessionToken); err != nil {
				c.Errorf("GetSessionAndUser of an expired session: %v", err)
			}
		},
	}
	if c.has(abilitySweep) {
		contenders["clean-up"] = func(s adapter.Session) { c.sweep(s.Expires.Add(50 * time.Millisecond)) }
	}
	for _, name := range sortedKeys(contenders) {
		contend := contenders[name]
		life := -10 * time.Millisecond
		if name == "clean-up" {
			life = 150 * time.Millisecond // still valid by the clock, but expired at the instant of the clean-up
		}
		made := 0
		create := func() adapter.Session {
			expires := c.now().Add(life)
			if made++; name != "clean-up" && made%2 == 0 {
				expires = c.now().Add(-time.Hour) // expired also by a clock of the store that is late
			}
			s := adapter.Session{SessionToken: c.secret("session"), UserID: owner, Expires: expires.UTC()}
			c.createSession(s)
			return s
		}
		judge := func(s adapter.Session, extended *adapter.Session, until time.Time) {
			if extended == nil {
				return // it was deleted before, or the adapter does not report it
			}
			got := c.getSession(s.SessionToken)
			if got == nil {
				c.Errorf("a session was extended until %s and is absent after %s", diff.Show(until), name)
				return
			}
			c.same("the expires of a session that was extended during "+name, got.Session.Expires, until)
		}
		for range c.rounds(32) {
			const batch = 4
			var sessions [batch]adapter.Session
			var extended [batch]*adapter.Session
			until := c.instant(time.Hour)
			for i := range sessions {
				sessions[i] = create()
			}
			c.parallel(2*batch, func(i int) {
				if i%2 == 0 {
					extended[i/2] = c.updateSession(adapter.SessionUpdate{SessionToken: sessions[i/2].SessionToken, Expires: adapter.To(until)})
				} else if name != "clean-up" || i == 1 {
					contend(sessions[i/2])
				}
			})
			for i := range sessions {
				judge(sessions[i], extended[i], until)
			}
			if c.failed() {
				return
			}
		}
		if c.has(abilityFaults) {
			c.extendWhileHeld(create, contend, judge)
		}
	}
}

// sweepOfMany extends and deletes sessions during a long clean-up of many
// sessions. Extended sessions must stay, with the new expiry, and deleted
// sessions must stay deleted.
func (c *clauseContext) sweepOfMany(callFirst bool) (extensions, deletions, gathered int) {
	owner := c.user().ID
	past := c.now().Add(-time.Second).UTC().Truncate(time.Millisecond)
	var expired, live []adapter.Session
	for _, s := range c.gather(func(i int) adapter.Session {
		s := c.newSession(owner)
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
	until := c.instant(3 * time.Hour)
	var mu sync.Mutex
	extended := map[string]bool{}
	var deleted []string
	// Several extend what expired, each a part of it: a store with one writer at a
	// time lets the clean-up have most turns.
	const extenders = 4
	c.duringLongCall(callFirst, func() { c.sweep(c.now()) }, extenders+2, func(client int, over func() bool) {
		if client <= extenders {
			all, first, stride := expired, client, extenders
			if client == extenders {
				all, first, stride = live, 0, 1
			}
			for i := first; i < len(all); i += stride {
				if over() && i > 20 {
					return
				}
				s := fromBothEnds(all, i)
				got, err := c.raw.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(until)})
				if err != nil {
					c.Errorf("UpdateSession during clean-up: %v", err)
					return
				}
				if got != nil {
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
			if _, err := c.raw.DeleteSession(c.ctx, token); err != nil {
				c.Errorf("DeleteSession during clean-up: %v", err)
				return
			}
			mu.Lock()
			deleted = append(deleted, token)
			mu.Unlock()
		}
	})
	gone := map[string]bool{}
	for _, token := range deleted {
		gone[token] = true
		if got, err := c.raw.GetSessionAndUser(c.ctx, token); err != nil || got != nil {
			c.Fatalf("a session that was deleted during clean-up: got %s, error %v, want absent", diff.Show(got), err)
		}
	}
	for token := range extended {
		if gone[token] {
			continue
		}
		got, err := c.raw.GetSessionAndUser(c.ctx, token)
		if err != nil || got == nil {
			c.Fatalf("a session that was extended during clean-up: got %s, error %v", diff.Show(got), err)
		}
		if !c.same("the expires of a session that was extended during clean-up", got.Session.Expires, until) {
			return
		}
	}
	for _, s := range live {
		if extended[s.SessionToken] || gone[s.SessionToken] {
			continue
		}
		if got, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken); err != nil || got == nil {
			c.Fatalf("a live session that nobody touched during clean-up: got %s, error %v", diff.Show(got), err)
		}
	}
	if c.works("DeleteUser") {
		_, _ = c.raw.DeleteUser(c.ctx, owner)
	}
	return len(extended), len(deleted), len(expired) + len(live)
}

// sweepOfReplaced stores live sessions and tokens under the keys of expired ones
// while one clean-up follows another. What is live must stay.
func (c *clauseContext) sweepOfReplaced() {
	const writers, batch = 4, 8
	owner := c.user().ID
	replaced := 0
	// replace creates a record whose key may be taken by the expired one. An
	// adapter to which an expired record is absent may not free its key.
	replace := func(create, free func() error) bool {
		err := create()
		if errors.Is(err, adapter.ErrConflict) {
			if err = free(); err == nil {
				err = create()
			}
		}
		if err != nil && !errors.Is(err, adapter.ErrConflict) {
			c.Fatalf("replacing an expired record during clean-up: %v", err)
		}
		return err == nil
	}
	// session and token create an expired record. What they return puts a live one
	// in its place, and returns a check that it stays.
	session := func() func() (stays func()) {
		s := c.newSession(owner)
		live := s
		s.Expires = c.instant(-time.Second)
		c.createSession(s)
		return func() func() {
			if !replace(func() error { _, err := c.raw.CreateSession(c.ctx, live); return err },
				func() error { _, err := c.raw.DeleteSession(c.ctx, s.SessionToken); return err }) {
				return nil
			}
			return func() {
				if got := c.getSession(s.SessionToken); got == nil || c.unlike(got.Session, live) != "" {
					c.Fatalf("a session that was created during clean-up under the token of an expired one: got %s, want %s", diff.Show(got), diff.Show(live))
				}
				if _, err := c.raw.DeleteSession(c.ctx, s.SessionToken); err != nil {
					c.Fatalf("DeleteSession during clean-up: %v", err)
				}
			}
		}
	}
	token := func() func() (stays func()) {
		t := c.newToken()
		live := t
		t.Expires = c.instant(-time.Second)
		c.createToken(t)
		return func() func() {
			if !replace(func() error { _, err := c.raw.CreateVerificationToken(c.ctx, live); return err },
				func() error { _, err := c.raw.UseVerificationToken(c.ctx, t.Key()); return err }) {
				return nil
			}
			return func() {
				if got := c.useToken(t.Key()); got == nil || c.unlike(got, &live) != "" {
					c.Fatalf("a verification token that was created during clean-up under the key of an expired one: got %s, want %s", diff.Show(got), diff.Show(live))
				}
			}
		}
	}
	kinds := []func() func() (stays func()){session, token}
	if !c.stores(VerificationTokenRecord) {
		kinds = kinds[:1]
	}
	if c.has(abilityFaults) {
		for _, expired := range kinds {
			for step, held := 1, true; held && step <= sweepSteps; step++ {
				live := expired()
				var stays func()
				if held = c.whileHeld(step, func() { c.sweep(c.now()) }, func() { stays = live() }); stays != nil {
					stays()
				}
			}
		}
	}
	for again, end := true, time.Now().Add(c.span(time.Second)/c.haste); again; again = time.Now().Before(end) {
		var checks [writers][]func()
		var writing atomic.Int32
		writing.Store(writers)
		until := time.Now().Add(c.span(50 * time.Millisecond))
		c.parallel(writers+1, func(client int) {
			if client == writers {
				for writing.Load() > 0 && !c.failed() {
					start := time.Now()
					c.sweep(c.now())
					if took := time.Since(start); took > time.Millisecond {
						c.pause(took) // a store with one writer at a time lets the others in
					}
				}
				return
			}
			defer writing.Add(-1)
			for again := true; again; again = time.Now().Before(until) {
				var old [batch]func() func()
				for i := range old {
					old[i] = kinds[client%len(kinds)]()
				}
				for _, live := range old {
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
	if c.works("DeleteUser") {
		_, _ = c.raw.DeleteUser(c.ctx, owner)
	}
	c.Notef("%d records were replaced during clean-up", replaced)
}

// extendWhileHeld extends a session while the store's answer to the contender
// is held back, at each of the contender's steps in turn.
func (c *clauseContext) extendWhileHeld(create func() adapter.Session, contend func(adapter.Session), judge func(adapter.Session, *adapter.Session, time.Time)) {
	for step := 1; step <= sweepSteps; step++ {
		s := create()
		until := c.instant(time.Hour)
		var extended *adapter.Session
		var err error
		held := c.whileHeld(step, func() { contend(s) }, func() {
			extended, err = c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(until)})
		})
		if !held {
			return
		}
		if err != nil {
			c.Errorf("UpdateSession while the reply to another caller is delayed: %v", err)
		}
		judge(s, extended, until)
	}
}

// whileHeld calls act while the store's answer to the contender is held back at a
// step. It reports whether the contender came to that step.
func (c *clauseContext) whileHeld(step int, contend, act func()) (held bool) {
	const blocked = 300 * time.Millisecond
	in, err := c.faults().Inject(fault.HoldReply, step)
	if err != nil {
		c.heal()
		return false
	}
	contended := make(chan struct{})
	go func() {
		defer close(contended)
		contend()
	}()
	select {
	case <-in.Hit():
		held = true
		acted := make(chan struct{})
		go func() {
			defer close(acted)
			act()
		}()
		select {
		case <-acted:
		case <-time.After(blocked): // it waits for the contender's lock
		}
		in.Release()
		<-acted
	case <-contended:
	case <-c.ctx.Done():
	}
	in.Release()
	<-contended
	c.heal()
	return held
}

// cleanUpCounts is EXP-08. A store may remove records that have expired by the
// clock at any time. So the clean-up gets an instant in the future, and the
// records that it counts are valid by the clock until the clause has judged them;
// a slow machine gets more time. Another clean-up may run in a shared store, so a
// difference is a breach only if it appears three times.
func cleanUpCounts(c *clauseContext) {
	if _, ok := c.raw.(adapter.Sweeper); !ok {
		c.notApplicable("the adapter has no DeleteExpired")
	}
	sweep := func(at time.Time) adapter.Swept { return c.swept(c.raw, at) }
	if c.scale >= 1 {
		c.manyAreCounted(sweep)
	}
	spare := time.Second
	const tries = 3
	var wrong []string
	for len(wrong) < tries {
		problem := c.miscounted(&spare, 5+len(wrong), sweep) // a different number each time
		if problem == "" {
			c.countedOnce(&spare, tries)
			return
		}
		wrong = append(wrong, problem)
	}
	c.Errorf("DeleteExpired, %d times in a row: %s", tries, wrong)
}

// swept calls DeleteExpired.
func (c *clauseContext) swept(a adapter.Adapter, at time.Time) adapter.Swept {
	swept, err := a.(adapter.Sweeper).DeleteExpired(c.ctx, at)
	if err != nil {
		c.Errorf("DeleteExpired: %v", err)
	}
	return swept
}

// countedOnce is the part of EXP-08 with several clean-ups at one moment: together they
// report what is gone.
func (c *clauseContext) countedOnce(spare *time.Duration, tries int) {
	const together, records = 4, 12
	handles := slices.DeleteFunc(c.handles(), func(a adapter.Adapter) bool {
		_, sweeps := a.(adapter.Sweeper)
		return !sweeps
	})
	var wrong []string
	attempt := func(clean func(at time.Time) adapter.Swept) (right bool) {
		problem := c.miscounted(spare, records, clean)
		if problem != "" {
			wrong = append(wrong, problem)
		}
		return problem == ""
	}
	end := time.Now().Add(c.span(600*time.Millisecond) / c.haste)
	for i := 0; len(wrong) < tries && (i < tries || time.Now().Before(end)); i++ {
		attempt(func(at time.Time) (sum adapter.Swept) {
			var all [together]adapter.Swept
			c.parallel(together, func(i int) { all[i] = c.swept(handles[i%len(handles)], at) })
			for _, one := range all {
				sum.Sessions += one.Sessions
				sum.VerificationTokens += one.VerificationTokens
			}
			return sum
		})
	}
	if c.has(abilityFaults) {
		for step, held := 1, true; held && step <= sweepSteps; step++ {
			for right := false; !right && len(wrong) < tries; {
				right = attempt(func(at time.Time) adapter.Swept {
					var one, other adapter.Swept
					held = c.whileHeld(step, func() { one = c.swept(c.raw, at) }, func() { other = c.swept(handles[len(handles)-1], at) })
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
func (c *clauseContext) miscounted(spare *time.Duration, n int, clean func(at time.Time) adapter.Swept) (problem string) {
	inspect := c.harness().Inspect
	there := func(r Record) bool {
		if inspect == nil {
			return false
		}
		found, err := inspect(c.ctx, c.raw, r)
		return must(c, "Inspect", found, err)
	}
	for ; ; *spare *= 4 {
		life := *spare + c.harness().precision()
		begin := c.now()
		at := begin.Add(*spare + life)
		c.swept(c.raw, at)
		live := c.expiring(time.Hour, 31*day)
		e := c.expiring(slices.Repeat([]time.Duration{life}, n)...)
		records := func() (sessions, tokens int64) {
			for _, s := range e.sessions {
				if there(Record{Kind: SessionRecord, Key: s.SessionToken}) || inspect == nil && c.getSession(s.SessionToken) != nil {
					sessions++
				}
			}
			for _, t := range e.tokens {
				if there(Record{Kind: VerificationTokenRecord, Token: t.Key()}) {
					tokens++
				}
			}
			return sessions, tokens
		}
		sessions, tokens := records()
		swept := clean(at)
		sessionsLeft, tokensLeft := records()
		if c.now().Sub(begin) > *spare { // the first of them may have expired
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
		check("sessions", swept.Sessions, sessions, sessionsLeft, int64(len(e.sessions)))
		check("verification tokens", swept.VerificationTokens, tokens, tokensLeft, int64(len(e.tokens)))
		live.there(c, "after clean-up")
		return problem
	}
}

// manyAreCounted is the part of EXP-08 with more records than any batch. They have
// expired by the clock, so others may remove some of them: a number is wrong only
// if it is wrong each time.
func (c *clauseContext) manyAreCounted(sweep func(at time.Time) adapter.Swept) {
	if !c.works("CreateSession") || !c.works("GetSessionAndUser") {
		return
	}
	const tries = 3
	var wrong []string
	for len(wrong) < tries {
		owner := c.user().ID
		sessions := make([]adapter.Session, manyRecords)
		c.populate(manyRecords, func(i int) {
			sessions[i] = c.newSession(owner)
			sessions[i].Expires = c.instant(-time.Hour)
			c.createSession(sessions[i])
		})
		records := func() (n int64) {
			for _, s := range sessions {
				if c.getSession(s.SessionToken) != nil {
					n++
				}
			}
			return n
		}
		before := records()
		swept := sweep(c.now())
		gone := before - records()
		if swept.Sessions >= gone {
			return
		}
		wrong = append(wrong, fmt.Sprintf("it says that it removed %d sessions, and %d are gone; ", swept.Sessions, gone))
	}
	c.Errorf("DeleteExpired of %d expired sessions, %d times in a row: %s", manyRecords, tries, wrong)
}

// cleanUpGoesByTheInstantGiven is the first part of EXP-09. All its sessions have expired by the
// clock, so that its clean-up removes no valid record of others in a shared store.
// Another clean-up may remove these sessions, so a missing one is a breach only if
// it is missing each time.
func cleanUpGoesByTheInstantGiven(c *clauseContext) {
	owner := c.user().ID
	there := func(s adapter.Session) bool {
		if inspect := c.harness().Inspect; inspect != nil {
			found, err := inspect(c.ctx, c.raw, Record{Kind: SessionRecord, Key: s.SessionToken})
			return must(c, "Inspect", found, err)
		}
		return c.getSession(s.SessionToken) != nil
	}
	session := func(expires time.Time) adapter.Session {
		s := c.newSession(owner)
		s.Expires = expires
		c.createSession(s)
		return s
	}
	// The instants have fractions of a second, and what expires a step after one
	// stays. They come in several zones.
	step := c.harness().precision()
	zones := []*time.Location{time.UTC, time.FixedZone("east", 5*3600+1800), time.FixedZone("west", -8*3600)}
	const tries = 3
	taken := map[time.Duration]int{} // in how many tries
	for range tries {
		early := map[time.Duration]bool{}
		for i, fraction := range []time.Duration{0, step, 499 * time.Millisecond, 500 * time.Millisecond, 501 * time.Millisecond, 999 * time.Millisecond} {
			at := c.now().Add(-48 * time.Hour).UTC().Truncate(max(time.Second, step)).Add(fraction.Truncate(step))
			due := []adapter.Session{session(at.Add(-time.Hour)), session(at)}
			later := map[time.Duration]adapter.Session{step: session(at.Add(step)), 24 * time.Hour: session(at.Add(24 * time.Hour))}
			was := map[time.Duration]bool{}
			for after, s := range later {
				was[after] = there(s)
			}
			c.sweep(at.In(zones[i%len(zones)]))
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
func (c *clauseContext) cleansUpInSteps() {
	const steps = 8
	owner, identifier, start := c.user().ID, c.newToken().Identifier, c.instant(-48*time.Hour)
	var due [steps]expiring
	what := append(c.rand.Perm(steps-2), steps-2, steps-1) // the last ones: only a token, then only a session
	for _, i := range c.rand.Perm(steps) {                 // not in the order in which they expire
		expires := start.Add(time.Duration(i) * time.Hour)
		if x := what[i]; x < 3 || x == steps-1 {
			s := c.newSession(owner)
			s.Expires = expires
			c.createSession(s)
			due[i].sessions = []adapter.Session{s}
		}
		if x := what[i]; (x == 0 || x == 3 || x == steps-2) && c.stores(VerificationTokenRecord) {
			t := c.newToken()
			t.Identifier, t.Expires = identifier, expires
			c.createToken(t)
			due[i].tokens = []adapter.VerificationToken{t}
		}
	}
	for i, all := range due {
		c.removesAll(all, start.Add(time.Duration(i)*time.Hour))
	}
}
