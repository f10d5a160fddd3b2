package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var concClauses = []check{
	{id: "CONC-01", words: "one-use-of-a-token-wins", races: true, requires: []string{"CreateVerificationToken", "UseVerificationToken"}, run: func(c *clauseContext) {
		c.raceForToken(func(t adapter.VerificationToken, h []operation) error {
			winners, failed := 0, 0
			for _, m := range h {
				if m.won() {
					winners++
					if d := c.unlike(m.result, &t); d != "" {
						return fmt.Errorf("the winner got another token: %s", d)
					}
				}
				if m.err != nil {
					failed++
				}
			}
			rest, err := c.raw.UseVerificationToken(c.ctx, t.Key())
			if err == nil && rest != nil {
				winners++
			}
			if winners == 1 || winners == 0 && err != nil {
				return nil
			}
			return fmt.Errorf("%d uses, the last one after the race, got the token (%d failed), want 1", winners, failed)
		})
		c.race(4, c.arrangeSamePair)
	}},
	{id: "CONC-02", words: "losers-get-absent", races: true, requires: []string{"CreateVerificationToken", "UseVerificationToken"}, run: func(c *clauseContext) {
		c.raceForToken(func(_ adapter.VerificationToken, h []operation) error {
			for _, m := range h {
				if m.err != nil {
					return fmt.Errorf("a use failed, want absent: %w", m.err)
				}
			}
			return nil
		})
	}},
	{id: "CONC-03", words: "one-creation-of-an-email-wins", races: true, requires: []string{"CreateUser", "GetUser", "GetUserByEmail"}, run: func(c *clauseContext) {
		c.race(racers, func(n, _ int) raceCase {
			email := c.newUser().Email
			var k raceCase
			var ids []string
			for range n {
				u := c.newUser()
				u.ID, u.Email = c.id(), email
				ids = append(ids, u.ID)
				k.calls = append(k.calls, createUser(u))
			}
			k.verify = func(h []operation) error {
				holder, err := c.raw.GetUserByEmail(c.ctx, email)
				if err != nil {
					return err
				}
				winners := 0
				for i, m := range h {
					if !m.won() {
						if !c.harness().Declarations.AssignsIDs && (holder == nil || holder.ID != ids[i]) {
							u, err := c.raw.GetUser(c.ctx, ids[i])
							if err != nil || u != nil {
								return fmt.Errorf("the user whose creation failed exists: %s, error %w", diff.Show(u), err)
							}
						}
						continue
					}
					winners++
					u := m.result.(*adapter.User)
					stored, err := c.raw.GetUser(c.ctx, u.ID)
					if err != nil {
						return err
					}
					if d := c.unlike(stored, u); d != "" {
						return fmt.Errorf("GetUser of the winner: %s", d)
					}
					if d := c.unlike(holder, u); d != "" {
						return fmt.Errorf("GetUserByEmail after the race, against the winner: %s", d)
					}
				}
				return unless(winners <= 1, "%d creations with one address succeeded", winners)
			}
			return k
		})
	}},
	{id: "CONC-04", words: "one-link-of-a-pair-wins", races: true, requires: []string{"CreateUser", "LinkAccount", "GetUserByAccount"}, run: func(c *clauseContext) {
		users := c.someUsers(racers)
		c.race(racers, func(n, _ int) raceCase {
			account := c.newAccount("")
			var k raceCase
			for i := range n {
				a := account
				a.UserID = users[i].ID
				k.calls = append(k.calls, linkAccount(a))
			}
			k.verify = func(h []operation) error {
				owner, err := c.raw.GetUserByAccount(c.ctx, account.Key())
				if err != nil {
					return err
				}
				stored, err := c.accountOwner(account.Key())
				if err != nil {
					return err
				}
				return problems(
					c.oneWinner(h, users, userID(owner), "GetUserByAccount"),
					unless(!c.works("GetAccount") || stored == userID(owner), "GetAccount says %q owns the pair, GetUserByAccount %q", stored, userID(owner)))
			}
			return k
		})
	}},
	{id: "CONC-05", words: "one-creation-of-a-session-wins", races: true, requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		users := c.someUsers(racers)
		c.race(racers, func(n, _ int) raceCase {
			session := c.newSession("")
			var k raceCase
			for i := range n {
				s := session
				s.UserID = users[i].ID
				s.Expires = s.Expires.Add(time.Duration(i) * time.Minute)
				k.calls = append(k.calls, createSession(s))
			}
			k.verify = func(h []operation) error {
				found, err := c.raw.GetSessionAndUser(c.ctx, session.SessionToken)
				if err != nil {
					return err
				}
				owner := ""
				if found != nil {
					owner = found.Session.UserID
					if found.User.ID != owner {
						return fmt.Errorf("the session of user %q came with user %q", owner, found.User.ID)
					}
				}
				return c.oneWinner(h, users, owner, "GetSessionAndUser")
			}
			return k
		})
	}},
	{id: "CONC-06", words: "one-creation-of-a-credential-wins", races: true, requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, run: func(c *clauseContext) {
		users := c.someUsers(racers)
		c.race(racers, func(n, _ int) raceCase {
			authenticator := c.newAuthenticator("")
			var k raceCase
			for i := range n {
				a := authenticator
				a.UserID, a.Counter = users[i].ID, int64(i+1)
				k.calls = append(k.calls, createAuthenticator(a))
			}
			k.verify = func(h []operation) error {
				found, err := c.raw.GetAuthenticator(c.ctx, authenticator.CredentialID)
				if err != nil {
					return err
				}
				owner := ""
				if found != nil {
					owner = found.UserID
				}
				if err := c.oneWinner(h, users, owner, "GetAuthenticator"); err != nil || !c.works("ListAuthenticatorsByUserID") {
					return err
				}
				for _, u := range users[:n] {
					list, err := c.raw.ListAuthenticatorsByUserID(c.ctx, u.ID)
					if err != nil {
						return err
					}
					listed := hasCredential(list, authenticator.CredentialID)
					if listed != (u.ID == owner) {
						return fmt.Errorf("the credential is owned by %q; listed for %q: %v", owner, u.ID, listed)
					}
				}
				return nil
			}
			return k
		})
	}},
	{id: "CONC-07", words: "update-does-not-undo-deletion", races: true, requires: []string{"CreateUser", "CreateSession", "UpdateSession", "DeleteSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		user := c.user()
		c.race(4, func(n, _ int) raceCase {
			s := c.newSession(user.ID)
			_, err := c.raw.CreateSession(c.ctx, s)
			must(c, "CreateSession", &s, err)
			var k raceCase
			for i := range n {
				if i%2 == 0 {
					k.calls = append(k.calls, deleteSession(s.SessionToken))
				} else {
					k.calls = append(k.calls, updateSession(adapter.SessionUpdate{
						SessionToken: s.SessionToken, Expires: adapter.To(s.Expires.Add(time.Duration(i) * time.Hour)),
					}))
				}
			}
			k.verify = func(h []operation) error {
				for i, m := range h {
					if i%2 == 0 && m.err != nil {
						return nil // nothing was promised
					}
				}
				found, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken)
				return problems(err, unless(found == nil, "the session was deleted and is there: %s", diff.Show(found)))
			}
			return k
		})
		c.updatesBesideDeletion()
	}},
	{id: "CONC-08", words: "updates-of-different-fields-survive", races: true, requires: []string{"CreateUser", "UpdateUser", "GetUser"}, run: func(c *clauseContext) {
		fields := []string{"name", "image", "emailVerified", "email"}
		user := c.user()
		current := *user
		arrange := func(chosen ...int) raceCase {
			var k raceCase
			updates := make([]adapter.UserUpdate, len(chosen))
			for i, field := range chosen {
				updates[i] = c.userUpdate(user.ID, []string{fields[field]})
				k.calls = append(k.calls, updateUser(updates[i]))
			}
			k.verify = func(h []operation) error {
				want, failed := current, false
				for i, m := range h {
					if m.err == nil {
						updates[i].Apply(&want)
					}
					failed = failed || m.err != nil
				}
				got, err := c.raw.GetUser(c.ctx, user.ID)
				if err != nil || got == nil {
					return fmt.Errorf("GetUser: got %s, error %w", diff.Show(got), err)
				}
				if d := c.unlike(got, &want); d != "" && !failed {
					return fmt.Errorf("after successful updates of different fields: %s", d)
				}
				current = *got
				return nil
			}
			return k
		}
		c.race(len(fields), func(n, round int) raceCase {
			chosen := make([]int, n)
			for i := range chosen {
				chosen[i] = (round/2 + i) % len(fields)
			}
			return arrange(chosen...)
		})
		c.racePairs(len(fields), func(first, second int) raceCase { return arrange(first, second) })
	}},
	{id: "CONC-09", words: "counter-is-one-of-those-written", races: true, requires: []string{"CreateUser", "CreateAuthenticator", "UpdateAuthenticatorCounter", "GetAuthenticator"}, run: func(c *clauseContext) {
		a := c.authenticator(c.user().ID)
		written := map[int64]bool{a.Counter: true}
		next := a.Counter
		c.race(racers, func(n, _ int) raceCase {
			var k raceCase
			for range n {
				next++
				k.calls = append(k.calls, updateCounter(a.CredentialID, next))
			}
			k.verify = func(h []operation) error {
				lowest := next - int64(n)
				possible := map[int64]bool{}
				for i, m := range h {
					if m.err == nil && !m.won() {
						return errors.New("UpdateAuthenticatorCounter returned nothing, and the authenticator is there")
					}
					if m.err == nil {
						possible[lowest+int64(i)+1] = true
					}
				}
				if len(possible) == 0 {
					possible = written
				}
				var last int64
				for i := range 20 {
					got, err := c.raw.GetAuthenticator(c.ctx, a.CredentialID)
					if err != nil || got == nil {
						return fmt.Errorf("GetAuthenticator: got %s, error %w", diff.Show(got), err)
					}
					if !possible[got.Counter] {
						return fmt.Errorf("the counter is %d, which none of the updates wrote", got.Counter)
					}
					if i > 0 && got.Counter != last {
						return fmt.Errorf("the counter was %d and, with no update since, is %d", last, got.Counter)
					}
					last = got.Counter
					want := a
					want.Counter = got.Counter
					if d := c.unlike(got, &want); d != "" {
						return errors.New(d)
					}
				}
				written = map[int64]bool{last: true}
				return nil
			}
			return k
		})
	}},
	{id: "CONC-10", words: "one-holder-of-an-email", races: true, requires: []string{"CreateUser", "UpdateUser", "GetUser", "GetUserByEmail"}, run: func(c *clauseContext) {
		users := c.someUsers(racers / 2)
		c.race(racers, func(n, _ int) raceCase {
			email := c.newUser().Email
			var k raceCase
			for i := range n {
				if i%2 == 0 {
					k.calls = append(k.calls, updateUser(adapter.UserUpdate{ID: users[i/2].ID, Email: adapter.To(email)}))
				} else {
					u := c.newUser()
					u.Email = email
					k.calls = append(k.calls, createUser(u))
				}
			}
			k.verify = func(h []operation) error { return c.oneHolder(email, users, h) }
			return k
		})
	}},
	{id: "CONC-11", words: "nothing-survives-its-deleted-user", races: true, requires: []string{"CreateUser", "DeleteUser"}, run: func(c *clauseContext) {
		kinds := c.creations()
		if c.sessionsMove() {
			kinds = append(kinds, c.movesTo())
		}
		handles := c.handles()
		round := c.atBarrier(handles, racers, func(n, round int) raceCase { return c.arrangeDeletion(n, round, kinds) })
		if c.brief && len(kinds) > 0 {
			kinds = kinds[round%len(kinds):][:1]
		}
		for i := range kinds {
			c.withHeldAnswers(handles, round, func(n, round int) raceCase { return c.arrangeDeletion(n, round, kinds[i:i+1]) })
		}
		if c.works("GetSessionAndUser") && c.sessionsMove() {
			other := c.rawUser().ID
			c.race(4, func(n, _ int) raceCase {
				id := c.rawUser().ID
				k, _ := c.movesBeside(deleteUser(id), n, id, other)
				return k
			})
		}
	}},
	{id: "CONC-12", words: "all-new-credentials-are-listed", races: true, requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, run: func(c *clauseContext) {
		c.race(racers, func(n, _ int) raceCase {
			user := c.rawUser()
			var k raceCase
			for range n {
				k.calls = append(k.calls, createAuthenticator(c.newAuthenticator(user.ID)))
			}
			k.verify = func(h []operation) error {
				var want []adapter.Authenticator
				for _, m := range h {
					if m.err != nil {
						return fmt.Errorf("creating a credential of its own failed: %w", m.err)
					}
					want = append(want, m.args[0].(adapter.Authenticator))
				}
				list, err := c.raw.ListAuthenticatorsByUserID(c.ctx, user.ID)
				return problems(err, unless(c.equalLists(list, want), "%d were created; listed are %s", len(want), diff.Show(list)))
			}
			return k
		})
	}},
	{id: "CONC-13", words: "safe-for-concurrent-use", races: true, requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		c.mixedLoad(c.handles(), 8, c.span(200*time.Millisecond)/c.haste, false)
	}},
	{id: "CONC-14", words: "histories-are-linearizable", races: true, run: func(c *clauseContext) {
		c.checkHistories()
		if c.works("CreateUser") && !c.failed() {
			c.lookupsBesideWrites()
		}
	}},
	{id: "CONC-15", words: "contention-is-no-error", races: true, requires: []string{"CreateUser"}, run: func(c *clauseContext) {
		handles := c.handles()
		c.mixedLoad(handles, 50, c.span(300*time.Millisecond)/c.haste, true)
		c.pairsOfWrites(handles)
		c.lookupsBesideDeletion(handles)
		c.sameWritesAtOnce(handles)
		c.callsDoNotFail()
		c.withoutHanging("an exchange of sessions between two users", func(context.Context) error { return c.exchangeSessions() })
	}},
	{id: "CONC-16", words: "no-deadlock-on-one-connection", needs: []ability{abilitySingle}, run: func(c *clauseContext) {
		single := c.observe(c.harness().Single(c.tb))
		c.withoutHanging("each method alone", func(ctx context.Context) error {
			k := c.newFixture(single)
			for _, k := range c.working(append(k.reads(), k.writes()...)) {
				if _, err := k.do(ctx, single); err != nil {
					return fmt.Errorf("%s: %w", k.method, err)
				}
			}
			return nil
		})
		c.withoutHanging("a mixed load", func(context.Context) error {
			c.mixedLoad([]adapter.Adapter{single}, 16, c.span(150*time.Millisecond), true)
			return nil
		})
	}},
	{id: "CONC-17", words: "unlink-and-link-agree", races: true, requires: []string{"CreateUser", "LinkAccount", "UnlinkAccount", "GetUserByAccount", "GetAccount"}, run: func(c *clauseContext) {
		users := c.someUsers(2)
		c.race(4, func(n, round int) raceCase {
			account := c.newAccount(users[0].ID)
			_, err := c.raw.LinkAccount(c.ctx, account)
			must(c, "LinkAccount", &account, err)
			var k raceCase
			for i := range n {
				if i%2 == 0 {
					k.calls = append(k.calls, unlinkAccount(account.Key()))
				} else {
					a := account
					a.UserID = users[(round/2+i/2)%2].ID
					k.calls = append(k.calls, linkAccount(a))
				}
			}
			k.verify = func([]operation) error {
				if err := c.pairAgrees(account.Key()); err != nil {
					return err
				}
				if _, err := c.raw.UnlinkAccount(c.ctx, account.Key()); err != nil {
					return err
				}
				owner, err := c.raw.GetUserByAccount(c.ctx, account.Key())
				return problems(err, unless(owner == nil, "after one more unlink the pair still finds %s", diff.Show(owner)), c.pairAgrees(account.Key()))
			}
			return k
		})
	}},
	{id: "CONC-18", words: "all-sessions-live-and-die-with-the-user", races: true, requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		c.race(2*racers, func(n, _ int) raceCase {
			user := c.rawUser()
			var k raceCase
			for range n {
				k.calls = append(k.calls, createSession(c.newSession(user.ID)))
			}
			deleted := false
			k.verify = func(h []operation) error {
				for _, m := range h {
					if m.err != nil {
						return fmt.Errorf("creating a session of its own failed: %w", m.err)
					}
					s := m.args[0].(adapter.Session)
					found, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken)
					switch {
					case err != nil:
						return err
					case deleted && found != nil:
						return fmt.Errorf("a session outlives its user: %s", diff.Show(found))
					case !deleted && found == nil:
						return fmt.Errorf("the session %q is absent", s.SessionToken)
					case !deleted:
						if d := c.unlike(found, &adapter.SessionAndUser{Session: s, User: *user}); d != "" {
							return errors.New(d)
						}
					}
				}
				if deleted || !c.works("DeleteUser") {
					return nil
				}
				deleted = true
				if _, err := c.raw.DeleteUser(c.ctx, user.ID); err != nil {
					return fmt.Errorf("DeleteUser: %w", err)
				}
				return k.verify(h)
			}
			return k
		})
	}},
	{id: "CONC-19", words: "owner-and-expiry-of-a-session-survive", races: true,
		requires: []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"}, run: racedSession},
	{id: "CONC-20", words: "name-and-counter-of-an-authenticator-survive", races: true,
		requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter", "RenameAuthenticator"}, run: racedAuthenticator},
	{id: "CONC-21", words: "two-writes-have-an-order", races: true, requires: []string{"CreateUser"}, run: (*clauseContext).writesAtOnce},
}

// racedAuthenticator is CONC-20.
func racedAuthenticator(c *clauseContext) {
	w := c.authenticator(c.user().ID)
	if _, err := renameAuthenticator(w.UserID, w.CredentialID, "first").do(c.ctx, c.a); errors.Is(err, adapter.ErrUnsupported) {
		c.notApplicable("the store has no place for names")
	}
	c.atBarrier(c.handles(), racers, func(n, _ int) raceCase {
		var k raceCase
		for range n {
			k.calls = append(k.calls, renameAuthenticator(w.UserID, w.CredentialID, c.unique("name")))
		}
		k.verify = func(h []operation) error { return c.oneStays(h, w.CredentialID) }
		return k
	})
	counter := w.Counter
	c.racePairs(2, func(first, _ int) raceCase {
		counter++
		name := c.unique("name")
		calls := []call{renameAuthenticator(w.UserID, w.CredentialID, name), updateCounter(w.CredentialID, counter)}
		if counter%2 == 0 && c.works("TouchAuthenticator") {
			calls[1] = touchAuthenticator(w.CredentialID, counter-1, counter, c.instant(0))
		}
		if first == 1 {
			calls[0], calls[1] = calls[1], calls[0]
		}
		want := counter
		return raceCase{calls: calls, verify: func(h []operation) error {
			for _, m := range h {
				if m.err != nil {
					return fmt.Errorf("%s: %w", m.method, m.err)
				}
			}
			got, err := c.raw.GetAuthenticator(c.ctx, w.CredentialID)
			if err != nil || got == nil {
				return fmt.Errorf("GetAuthenticator: got %s, error %w", diff.Show(got), err)
			}
			return problems(unless(got.Counter == want, "the counter is %d, and %d was stored", got.Counter, want),
				unless(got.Name != nil && *got.Name == name, "the name is %s, and %q was stored", diff.Show(got.Name), name))
		}}
	})
}

// pairsOfWrites makes two writes of different records at one moment, over and
// over: of two users, or two new ones of one user. They have nothing to do with each
// other, so neither fails.
func (c *clauseContext) pairsOfWrites(handles []adapter.Adapter) {
	k := [2]*fixture{c.newFixture(c.raw), c.newFixture(c.raw)}
	writes := func(of *fixture, round int) []call {
		return c.working([]call{
			updateUser(c.userUpdate(of.user.ID, userFields)),
			updateSession(adapter.SessionUpdate{SessionToken: of.session.SessionToken, Expires: adapter.To(c.instant(time.Hour))}),
			updateCounter(of.authenticator.CredentialID, of.authenticator.Counter+int64(round)+1),
			// New records of one user.
			linkAccount(c.newAccount(k[0].user.ID)),
			createSession(c.newSession(k[0].user.ID)),
			createAuthenticator(c.newAuthenticator(k[0].user.ID)),
		})
	}
	met := make([]int, len(writes(k[0], 0))) // how often two calls of the method overlapped
	if len(met) == 0 {
		return
	}
	p, stop := pair.New()
	defer stop()
	start := time.Now()
	most, least := 400, 5 // overlaps: of all methods together, and of each
	if c.brief {
		most, least = 60, 1
	}
	for round := 0; ; round++ {
		elapsed := time.Since(start)
		if enough := sum(met) >= c.rounds(most) || elapsed > c.span(raceLimit)/c.haste; enough && round >= most/5 && (slices.Min(met) >= least || elapsed > 10*raceLimit) {
			return
		}
		i := (round / 2) % len(met)
		h := c.twoTogether(p, handles, []call{writes(k[0], round)[i], writes(k[1], round)[i]})
		if h[0].from < h[1].to && h[1].from < h[0].to {
			met[i]++
		}
		for _, m := range h {
			if m.err != nil {
				c.Fatalf("%s while another record is written: %v", m.method, m.err)
			}
		}
	}
}

func sum(numbers []int) (total int) {
	for _, n := range numbers {
		total += n
	}
	return total
}

// exchangeSessions gives the sessions of two users to one another at one moment,
// over and over, where a session may change hands. Both updates take something of
// both users, in opposite order.
func (c *clauseContext) exchangeSessions() error {
	if !c.sessionsMove() {
		return nil
	}
	users := c.someUsers(2)
	sessions := []adapter.Session{c.session(users[0].ID), c.session(users[1].ID)}
	move := func(session, to int) call {
		return updateSession(adapter.SessionUpdate{SessionToken: sessions[session].SessionToken, UserID: adapter.To(users[to].ID)})
	}
	p, stop := pair.New()
	defer stop()
	least, most := 50, 400
	if c.brief {
		least = 10
	}
	start := time.Now()
	for round := 0; round < least || round < c.rounds(most) && time.Since(start) < c.span(raceTime); round++ {
		to := round % 2
		for _, m := range c.twoTogether(p, []adapter.Adapter{c.a}, []call{move(0, 1-to), move(1, to)}) {
			if m.err != nil {
				return fmt.Errorf("%s: %w", m.method, m.err)
			}
		}
	}
	return nil
}

// racedSession is CONC-19.
func racedSession(c *clauseContext) {
	users := c.someUsers(2)
	first := c.session(users[0].ID)
	c.extendedByMany(first.SessionToken)
	if !c.sessionsMove() {
		c.Notef("a session keeps its user")
		return
	}
	current, owner := c.getSession(first.SessionToken).Session, 0
	hours := 1
	c.racePairs(2, func(a, _ int) raceCase {
		owner = 1 - owner
		hours = hours%300 + 1
		expires := c.instant(time.Duration(hours) * time.Hour)
		calls := []call{
			updateSession(adapter.SessionUpdate{SessionToken: first.SessionToken, UserID: adapter.To(users[owner].ID)}),
			updateSession(adapter.SessionUpdate{SessionToken: first.SessionToken, Expires: adapter.To(expires)}),
		}
		if a == 1 {
			calls[0], calls[1] = calls[1], calls[0]
		}
		return raceCase{calls: calls, verify: func(h []operation) error {
			want, failed := current, false
			for _, m := range h {
				if m.err == nil {
					m.args[0].(adapter.SessionUpdate).Apply(&want)
				}
				failed = failed || m.err != nil
			}
			got, err := c.raw.GetSessionAndUser(c.ctx, first.SessionToken)
			if err != nil || got == nil {
				return fmt.Errorf("GetSessionAndUser: got %s, error %w", diff.Show(got), err)
			}
			if got.User.ID != got.Session.UserID {
				return fmt.Errorf("the session of user %q came with user %q", got.Session.UserID, got.User.ID)
			}
			if d := c.unlike(&got.Session, &want); d != "" && !failed {
				return fmt.Errorf("after successful updates of the owner and of the expiry: %s", d)
			}
			current = got.Session
			return nil
		}}
	})
	c.race(2, func(_, _ int) raceCase {
		owner = 1 - owner
		move := updateSession(adapter.SessionUpdate{SessionToken: first.SessionToken, UserID: adapter.To(users[owner].ID)})
		return raceCase{calls: []call{getSession(first.SessionToken), move}, verify: func(h []operation) error {
			read := h[slices.IndexFunc(h, func(m operation) bool { return m.method == "GetSessionAndUser" })]
			got, _ := read.result.(*adapter.SessionAndUser)
			if read.err != nil || got == nil {
				return fmt.Errorf("GetSessionAndUser while the session moves: got %s, error %w", diff.Show(read.result), read.err)
			}
			return unless(got.User.ID == got.Session.UserID, "the session of user %q came with user %q", got.Session.UserID, got.User.ID)
		}}
	})
}

// extendedByMany lets calls extend one session at one moment. None finds it absent,
// and one of the new expiries stays.
func (c *clauseContext) extendedByMany(token string) {
	minutes := 0
	extend := func() call {
		minutes = minutes%5000 + 1
		return updateSession(adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(c.instant(time.Duration(minutes) * time.Minute))})
	}
	alone := of[*adapter.Session](c, extend())
	c.atBarrier(c.handles(), racers, func(n, _ int) raceCase {
		var k raceCase
		for range n {
			k.calls = append(k.calls, extend())
		}
		k.verify = func(h []operation) error {
			got, err := c.raw.GetSessionAndUser(c.ctx, token)
			if err != nil || got == nil {
				return fmt.Errorf("GetSessionAndUser: got %s, error %w", diff.Show(got), err)
			}
			stays, failed := false, false
			for _, m := range h {
				if m.err == nil && !m.won() && alone != nil {
					return errors.New("UpdateSession returned nothing, and the session is there")
				}
				want := got.Session
				m.args[0].(adapter.SessionUpdate).Apply(&want)
				stays = stays || c.unlike(&got.Session, &want) == ""
				failed = failed || m.err != nil
			}
			return unless(stays || failed, "the session expires %s, which is none of the new expiries", diff.Show(got.Session.Expires))
		}
		return k
	})
}

// oneStays judges a race of new names for one authenticator.
func (c *clauseContext) oneStays(h []operation, credentialID string) error {
	got, err := c.raw.GetAuthenticator(c.ctx, credentialID)
	if err != nil || got == nil {
		return fmt.Errorf("GetAuthenticator: got %s, error %w", diff.Show(got), err)
	}
	stays, failed := false, false
	for _, m := range h {
		if m.err == nil && !m.won() {
			return errors.New("RenameAuthenticator returned nothing, and the authenticator is there")
		}
		stays = stays || got.Name != nil && *got.Name == m.args[2]
		failed = failed || m.err != nil
	}
	return unless(stays || failed, "the name is %s, which is none of the new names", diff.Show(got.Name))
}

// updatesBesideDeletion updates a user or an authenticator at the moment when it is
// deleted. It must stay deleted, whatever the update reports.
func (c *clauseContext) updatesBesideDeletion() {
	var races []func(n int) raceCase
	race := func(arrange func() (update, deletion call, look keys)) {
		races = append(races, func(n int) raceCase {
			update, deletion, look := arrange()
			calls := []call{update, deletion}
			for len(calls) < n {
				calls = append(calls, update)
			}
			return raceCase{calls: calls, verify: func(h []operation) error {
				if h[1].err != nil {
					return nil //nolint:nilerr // nothing was promised
				}
				if err := c.nothingOf(look); err != nil {
					return fmt.Errorf("%s beside %s: %w", update.method, deletion.method, err)
				}
				return nil
			}}
		})
	}
	if c.works("UpdateUser") && c.works("DeleteUser") {
		race(func() (update, deletion call, look keys) {
			u := c.rawUser()
			return updateUser(c.userUpdate(u.ID, []string{"name"})), deleteUser(u.ID), keys{users: []string{u.ID}, emails: []string{u.Email}}
		})
	}
	owner := c.rawUser().ID
	for _, update := range c.working([]call{updateCounter("", 0), renameAuthenticator("", "", ""), touchAuthenticator("", 0, 0, time.Time{})}) {
		if !c.works("CreateAuthenticator") || !c.works("DeleteAuthenticator") {
			break
		}
		race(func() (call, call, keys) {
			r := kindOf(AuthenticatorRecord).fresh(c, owner)
			r.store(c, c.raw)
			passkey := r.value.(*adapter.Authenticator)
			updates := map[string]call{
				"UpdateAuthenticatorCounter": updateCounter(passkey.CredentialID, passkey.Counter+1),
				"RenameAuthenticator":        renameAuthenticator(owner, passkey.CredentialID, c.unique("name")),
				"TouchAuthenticator":         touchAuthenticator(passkey.CredentialID, passkey.Counter, passkey.Counter+1, c.instant(0)),
			}
			return updates[update.method], r.remove, keys{credentials: []string{passkey.CredentialID}}
		})
	}
	if len(races) > 0 {
		c.raceEach(c.handles(), 4, races)
	}
}

// sameWritesAtOnce creates one record of each kind from two callers at one moment,
// and removes it in the same way. The creation that comes second may be a conflict; a removal
// that comes second finds nothing, which is no error.
func (c *clauseContext) sameWritesAtOnce(handles []adapter.Adapter) {
	owner := c.rawUser().ID
	arrange := func(kind recordKind, removes bool, n int) raceCase {
		r := kind.fresh(c, owner)
		write := r.create
		if removes {
			r.store(c, c.raw)
			if write = r.remove; kind.kind == UserRecord {
				write = deleteUser(r.value.(*adapter.User).ID) // the adapter may assign IDs
			}
		}
		return raceCase{calls: slices.Repeat([]call{write}, n), verify: func(h []operation) error {
			for _, m := range h {
				if m.err != nil && (removes || !errors.Is(m.err, adapter.ErrConflict)) {
					return fmt.Errorf("%s, beside the same call: %w", m.method, m.err)
				}
			}
			return nil
		}}
	}
	var all []func(n int) raceCase
	for _, kind := range recordKinds {
		if !c.works(kind.create) {
			continue
		}
		all = append(all, func(n int) raceCase { return arrange(kind, false, n) })
		if c.works(kind.fresh(c, owner).remove.method) {
			all = append(all, func(n int) raceCase { return arrange(kind, true, n) })
		}
	}
	c.raceEach(handles, 4, all)
}

// lookupsBesideDeletion makes lookups at the moment when their user is deleted. Each
// finds what was there, or nothing: it does not fail because one of the records that
// it reads has gone before another.
func (c *clauseContext) lookupsBesideDeletion(handles []adapter.Adapter) {
	type lookup struct {
		method string
		of     Kind
		call   func(u *adapter.User, r Record) call
	}
	var all []lookup
	for _, x := range []lookup{
		{"GetUserByEmail", UserRecord, func(u *adapter.User, _ Record) call { return getUserByEmail(u.Email) }},
		{"GetUserByAccount", AccountRecord, func(_ *adapter.User, r Record) call { return getUserByAccount(r.Account) }},
		{"GetSessionAndUser", SessionRecord, func(_ *adapter.User, r Record) call { return getSession(r.Key) }},
		{"ListAccountsByUserID", AccountRecord, func(u *adapter.User, _ Record) call { return listAccounts(u.ID) }},
		{"ListSessionsByUserID", SessionRecord, func(u *adapter.User, _ Record) call { return listSessions(u.ID) }},
		{"ListAuthenticatorsByUserID", AuthenticatorRecord, func(u *adapter.User, _ Record) call { return listAuthenticators(u.ID) }},
	} {
		if c.works(x.method) && c.works(kindOf(x.of).create) && c.works("DeleteUser") {
			all = append(all, x)
		}
	}
	if len(all) == 0 {
		return
	}
	arrange := func(x lookup, n int) raceCase {
		user := c.rawUser()
		var r freshRecord
		if x.of != UserRecord {
			r = kindOf(x.of).fresh(c, user.ID)
			r.store(c, c.raw)
		}
		k := raceCase{calls: []call{x.call(user, r.Record), deleteUser(user.ID)}}
		for len(k.calls) < n {
			k.calls = append(k.calls, k.calls[0])
		}
		k.verify = func(h []operation) error {
			for _, m := range h {
				if m.err != nil {
					return fmt.Errorf("%s, beside a deletion of the user: %w", m.method, m.err)
				}
				found, _ := m.result.(*adapter.User)
				if s, ok := m.result.(*adapter.SessionAndUser); ok && s != nil {
					found = &s.User
				}
				if found != nil && c.unlike(found, user) != "" {
					return fmt.Errorf("%s, beside a deletion of the user: got %s, want %s or nothing", m.method, diff.Show(found), diff.Show(user))
				}
			}
			return nil
		}
		return k
	}
	var races []func(n int) raceCase
	for _, x := range all {
		races = append(races, func(n int) raceCase { return arrange(x, n) })
	}
	c.raceEach(handles, len(races), races)
}

// The calls of races.

func hasCredential(list []adapter.Authenticator, id string) bool {
	for _, a := range list {
		if a.CredentialID == id {
			return true
		}
	}
	return false
}

// raceForToken lets several uses of one token race.
func (c *clauseContext) raceForToken(judge func(t adapter.VerificationToken, h []operation) error) {
	c.race(racers, func(n, _ int) raceCase {
		t := c.newToken()
		_, err := c.raw.CreateVerificationToken(c.ctx, t)
		must(c, "CreateVerificationToken", &t, err)
		k := raceCase{exact: true, verify: func(h []operation) error { return judge(t, h) }}
		for range n {
			k.calls = append(k.calls, useToken(t.Key()))
		}
		return k
	})
}

// arrangeSamePair lets several calls create one verification token. Whether the later
// ones are refused or replace it, it can be used once.
func (c *clauseContext) arrangeSamePair(n, _ int) raceCase {
	t := c.newToken()
	return raceCase{exact: true, calls: slices.Repeat([]call{createToken(t)}, n), verify: func(h []operation) error {
		created := slices.ContainsFunc(h, func(m operation) bool { return m.err == nil })
		uses := 0
		for range 3 {
			got, err := c.raw.UseVerificationToken(c.ctx, t.Key())
			if err != nil {
				return err
			}
			if got != nil {
				uses++
			}
		}
		return unless(uses == 1 || uses == 0 && !created, "a pair that was created by several calls at once could be used %d times", uses)
	}}
}

// oneWinner judges a race in which user i made call i for a record that only
// one of them may own.
func (c *clauseContext) oneWinner(h []operation, users []*adapter.User, owner, lookup string) error {
	winner := ""
	for i, m := range h {
		if m.err != nil {
			continue
		}
		if winner != "" {
			return fmt.Errorf("users %q and %q both succeeded", winner, users[i].ID)
		}
		winner = users[i].ID
	}
	return unless(winner == "" || winner == owner, "user %q succeeded, %s says the owner is %q", winner, lookup, owner)
}

func (c *clauseContext) accountOwner(key adapter.AccountKey) (string, error) {
	if !c.works("GetAccount") {
		return "", nil
	}
	a, err := c.raw.GetAccount(c.ctx, key.ProviderAccountID, key.Provider)
	if err != nil || a == nil {
		return "", err
	}
	return a.UserID, nil
}

// pairAgrees compares the two lookups of a pair.
func (c *clauseContext) pairAgrees(key adapter.AccountKey) error {
	stored, err := c.accountOwner(key)
	if err != nil {
		return err
	}
	owner, err := c.raw.GetUserByAccount(c.ctx, key)
	return problems(err, unless(err != nil || userID(owner) == stored, "GetAccount says %q owns the pair, GetUserByAccount %q", stored, userID(owner)))
}

// oneHolder judges a race for an address among users and new users.
func (c *clauseContext) oneHolder(email string, users []*adapter.User, h []operation) error {
	ids := map[string]bool{}
	for _, u := range users {
		ids[u.ID] = true
	}
	winners := 0
	for _, m := range h {
		if m.won() {
			winners++
			ids[m.result.(*adapter.User).ID] = true
		}
	}
	if winners > 1 {
		return fmt.Errorf("%d calls for one address succeeded", winners)
	}
	found, err := c.raw.GetUserByEmail(c.ctx, email)
	if err != nil {
		return err
	}
	if found != nil {
		ids[found.ID] = true
	}
	holder := ""
	for _, id := range sortedKeys(ids) {
		u, err := c.raw.GetUser(c.ctx, id)
		if err != nil || u == nil {
			return fmt.Errorf("GetUser(%q): got %s, error %w", id, diff.Show(u), err)
		}
		if u.Email == email {
			if holder != "" {
				return fmt.Errorf("users %q and %q both hold %q", holder, id, email)
			}
			holder = id
		}
		byEmail, err := c.raw.GetUserByEmail(c.ctx, u.Email)
		if err != nil {
			return err
		}
		if d := c.unlike(byEmail, u); d != "" {
			return fmt.Errorf("GetUserByEmail of the address of user %q: %s", id, d)
		}
	}
	return problems(
		unless(userID(found) == holder, "the record of %q holds the address, GetUserByEmail finds %q", holder, userID(found)),
		unless(winners == 0 || holder != "", "a call succeeded and nobody holds the address"))
}

// arrangeDeletion lets calls that give a user a record race with the user's deletion.
func (c *clauseContext) arrangeDeletion(n, round int, kinds []func(id string, look *keys) call) raceCase {
	user := c.newUser()
	user.ID = c.id()
	stored, err := c.raw.CreateUser(c.ctx, user)
	id := mustRecord(c, "CreateUser", stored, err).ID
	look := keys{users: []string{id}, emails: []string{user.Email}}
	var k raceCase
	for i := range n {
		if i == n/2 {
			k.calls = append(k.calls, deleteUser(id))
			continue
		}
		if len(kinds) == 0 {
			c.notApplicable("the adapter creates nothing for a user")
		}
		k.calls = append(k.calls, kinds[(round/2+i)%len(kinds)](id, &look))
	}
	k.verify = func(h []operation) error {
		if deletion := h[n/2]; deletion.err != nil {
			return nil //nolint:nilerr // nothing was promised
		}
		for _, m := range h {
			if errors.Is(m.err, adapter.ErrConflict) {
				return fmt.Errorf("%s of a record with a free key, beside %s of its owner, is refused as a conflict: %w", m.method, h[n/2].method, m.err)
			}
			if u, ok := m.args[0].(adapter.SessionUpdate); ok && m.err != nil { // its session stays with the other user
				look.sessions = slices.DeleteFunc(look.sessions, func(token string) bool { return token == u.SessionToken })
			}
		}
		if err := c.nothingOf(look); err != nil {
			return err
		}
		return c.inherited(id, look)
	}
	return k
}

// movesTo returns a call that gives a session of another user to a user. It adds
// the session to look.
func (c *clauseContext) movesTo() func(id string, look *keys) call {
	from := c.rawUser().ID
	return func(id string, look *keys) call {
		s := c.newSession(from)
		_, err := c.raw.CreateSession(c.ctx, s)
		must(c, "CreateSession", &s, err)
		look.add(Record{Kind: SessionRecord, Key: s.SessionToken})
		return updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(id)})
	}
}

// creations returns the calls that create a record of a user. Each adds the
// record's key to look.
func (c *clauseContext) creations() []func(id string, look *keys) call {
	var all []func(id string, look *keys) call
	for _, kind := range recordKinds {
		if kind.kind == UserRecord || kind.kind == VerificationTokenRecord || !c.works(kind.create) {
			continue
		}
		all = append(all, func(id string, look *keys) call {
			r := kind.fresh(c, id)
			look.add(r.Record)
			return r.create
		})
	}
	return all
}

// withoutHanging runs f and reports a breach if f fails, or if no observed call
// returns for so long that the calls must be waiting for each other. A slow
// machine does not look like a deadlock.
func (c *clauseContext) withoutHanging(what string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }() // also when f ends the clause
		err = f(ctx)
	}()
	watchdog := time.NewTicker(deadline)
	defer watchdog.Stop()
	idle := c.trace.idle()
	for running := true; running; {
		select {
		case err := <-done:
			if err != nil {
				c.Errorf("%s: %v", what, err)
			}
			running = false
		case <-watchdog.C:
			if idle() {
				c.Fatalf("%s hangs: no call has returned for %v", what, deadline)
			}
		}
	}
	if !c.goesOn() {
		runtime.Goexit()
	}
}
