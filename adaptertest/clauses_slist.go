package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var sessionListMethods = []string{"CreateUser", "CreateSession", "ListSessionsByUserID", "DeleteSessionsByUserID"}

var slistClauses = []check{
	{id: "SLIST-01", words: "all-sessions-are-listed-once", requires: sessionListMethods, run: func(c *clauseContext) {
		a, b := c.user().ID, c.user().ID
		c.surround(a, SessionRecord, c.unique("connection"))
		mine, theirs := c.mixedSessions(a), c.mixedSessions(b)
		c.sameSessions("ListSessionsByUserID", a, mine)
		c.sameSessions("ListSessionsByUserID of another user", b, theirs)
		if c.works("UpdateSession") {
			mine[0].Expires = c.instant(700 * time.Hour)
			c.updateSession(adapter.SessionUpdate{SessionToken: mine[0].SessionToken, Expires: adapter.To(mine[0].Expires)})
			c.sameSessions("ListSessionsByUserID after one was extended", a, mine)
			c.giveOwner(mine...)
			c.sameSessions("ListSessionsByUserID after updates that name the user whom the sessions have", a, mine)
			moved := adapter.SessionUpdate{SessionToken: mine[1].SessionToken, UserID: adapter.To(b)}
			_, _ = c.a.UpdateSession(c.ctx, moved) // the update may be refused, and may return nil
			if got := c.getSession(mine[1].SessionToken); got != nil && got.Session.UserID == b {
				mine[1].UserID = b
				theirs, mine = append(theirs, mine[1]), slices.Delete(slices.Clone(mine), 1, 2)
				c.sameSessions("ListSessionsByUserID after one changed hands", a, mine)
				c.sameSessions("ListSessionsByUserID of the user who got one", b, theirs)
			}
		}
		back := c.userWith(0, 3, 0)
		c.cameBack(back)
		c.sameSessions("ListSessionsByUserID after sessions had gone and come back", back.user.ID, back.sessions)
		alike := c.user().ID
		c.sameSessions("ListSessionsByUserID of sessions that expire at one instant", alike, c.sessionsOfOneInstant(alike))
		joined := c.user().ID
		c.sameSessions("ListSessionsByUserID of tokens with separators", joined, c.joinedSessions(joined))
		lasting := c.user().ID
		c.sameSessions("ListSessionsByUserID after the session that was written last has expired", lasting, c.outliving(lasting))
		for _, b := range c.outgrown() {
			c.sameSessions("ListSessionsByUserID of sessions that were extended, after their first lifetimes", b.user.ID, b.sessions)
		}
		if c.works("DeleteSession") {
			c.deleteSession(mine[0].SessionToken)
			mine = mine[1:]
			c.sameSessions("ListSessionsByUserID after one was deleted", a, mine)
			again := mine[0] // the token of another is used again after deletion
			c.deleteSession(again.SessionToken)
			again.UserID = b
			c.createSession(again)
			mine, theirs = mine[1:], append(theirs, again)
			c.sameSessions("ListSessionsByUserID after a token changed hands", a, mine)
			c.sameSessions("ListSessionsByUserID of the new owner of a token", b, theirs)
		}
		listWhileOthersChange(c, "ListSessionsByUserID", c.listedSessions())
	}},
	{id: "SLIST-02", words: "unknown-user-has-an-empty-list", requires: sessionListMethods, run: func(c *clauseContext) {
		c.session(c.user().ID)
		for _, id := range c.unknownUsers() {
			list, err := optional[adapter.SessionLists](c.a).ListSessionsByUserID(c.ctx, id)
			if err != nil || list == nil || len(list) > 0 {
				c.Errorf("ListSessionsByUserID(%q): got %s (nil: %v), error %v, want an empty list", id, diff.Show(list), list == nil, err)
			}
			if n, err := optional[adapter.SessionLists](c.a).DeleteSessionsByUserID(c.ctx, id, ""); n != 0 || err != nil {
				c.Errorf("DeleteSessionsByUserID(%q): got %d, error %v, want 0", id, n, err)
			}
		}
	}},
	{id: "SLIST-03", words: "failure-is-no-shorter-list", needs: needsFaults, requires: sessionListMethods, run: func(c *clauseContext) {
		u := c.user().ID
		var want []adapter.Session
		for range 7 {
			want = append(want, c.session(u))
		}
		c.listFails(listSessions(u), want)
	}},
	{id: "SLIST-04", words: "all-but-one-session-end", requires: sessionListMethods, run: func(c *clauseContext) {
		other := c.residents(1)
		u := c.user().ID
		for _, kept := range []int{5, 0, 3, -1} {
			c.endsSessions(u, c.mixedSessions(u), kept)
			c.deletes(u, "")
		}
		c.endsSessions(u, c.joinedSessions(u), 2)
		c.deletes(u, "")
		rest := c.userWith(2, 3, 2)
		c.deletes(rest.user.ID, "")
		rest.sessions = nil
		c.unchanged("of the user whose sessions were ended", c.a, rest)
		back := c.userWith(0, 3, 0)
		c.cameBack(back)
		c.endsSessions(back.user.ID, back.sessions, -1)
		c.endsSessions(u, c.outliving(u), -1)
		for _, b := range c.outgrown() {
			c.endsSessions(b.user.ID, b.sessions, -1)
		}
		c.endsWhatIsOver(u)
		many := make([]adapter.Session, c.many())
		long := c.newSession(u)
		end := strings.Repeat("x", 1200) // together more than a page of a mebibyte
		long.SessionToken += end
		if _, err := c.raw.CreateSession(c.ctx, long); err != nil {
			end = "" // so much room is not promised
		} else {
			c.deletes(u, "")
		}
		var expires [5]time.Time // many sessions expire at one instant
		for i := range expires {
			expires[i] = c.instant(time.Duration(1+i) * time.Hour)
		}
		c.populate(len(many), func(i int) {
			many[i] = c.newSession(u)
			many[i].SessionToken += end
			many[i].Expires = expires[i%len(expires)]
			if i == 0 { // the first in every order, so that it is in the first batch
				many[i].SessionToken, many[i].Expires = "0"+many[i].SessionToken, c.instant(50*time.Minute)
			}
			c.createSession(many[i])
		})
		c.sameSessions(fmt.Sprintf("ListSessionsByUserID of %d", len(many)), u, many)
		c.endsSessions(u, many, 0)
		c.endsSessions(u, many[:1], -1)
		c.intact(other)
	}},
	{id: "SLIST-05", words: "exception-is-a-session-of-the-user", requires: sessionListMethods, run: func(c *clauseContext) {
		a, b := c.user().ID, c.user().ID
		theirs := c.session(b)
		for _, except := range []string{"", theirs.SessionToken, c.unique("session"), "%", "*", a} {
			mine := c.mixedSessions(a)
			n := of[int64](c, deleteSessions(a, except))
			c.counted(fmt.Sprintf("DeleteSessionsByUserID(except %q)", except), n, mine)
			for _, s := range mine {
				c.absent(fmt.Sprintf("a session after DeleteSessionsByUserID with the exception %q", except), c.getSession(s.SessionToken), nil)
			}
			c.sameSessions("ListSessionsByUserID of the other user", b, []adapter.Session{theirs})
			c.same("the other user's session", &c.getSession(theirs.SessionToken).Session, &theirs)
		}
		for _, key := range missedKeys(func() string { return c.nearMissKey("session") }) {
			kept := c.newSession(a)
			kept.SessionToken, kept.Expires = key.value, c.instant(time.Hour)
			for m := range some(&c.budget, key.near(key.value)) {
				c.createSession(kept)
				s := c.session(a)
				if _, err := deleteSessions(a, m.value).do(c.ctx, c.a); err != nil && strings.Contains(m.value, "\x00") {
					c.deletes(a, "")
					continue // a NUL may be an error [INPUT-10]
				} else if err != nil {
					c.Errorf("DeleteSessionsByUserID with an exception that resembles a token of the user by %s: %v", m.name, err)
				}
				c.absent("a session beside the one whose token resembles the exception", c.getSession(s.SessionToken), nil)
				c.absent("a session whose token resembles the exception by "+m.name, c.getSession(kept.SessionToken), nil)
			}
		}
	}},
	{id: "SLIST-06", words: "no-session-that-was-there-is-left", races: true, requires: append(sessionListMethods, "UpdateSession", "GetSessionAndUser"), run: func(c *clauseContext) {
		user := c.user()
		c.race(4, func(n, _ int) raceCase {
			var before []adapter.Session
			for range 3 {
				s := c.newSession(user.ID)
				_, err := c.raw.CreateSession(c.ctx, s)
				must(c, "CreateSession", &s, err)
				before = append(before, s)
			}
			kept := before[0].SessionToken
			k := raceCase{calls: []call{deleteSessions(user.ID, kept)}}
			for i := 1; i < n; i++ {
				s := before[1+(i-1)%2]
				k.calls = append(k.calls, updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires.Add(time.Duration(i) * time.Hour))}))
			}
			k.verify = func(h []operation) error {
				if h[0].err != nil {
					return nil
				}
				for _, s := range before[1:] {
					if found, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken); err != nil || found != nil {
						return fmt.Errorf("a session that was ended: got %s, error %w", diff.Show(found), err)
					}
				}
				found, err := c.raw.GetSessionAndUser(c.ctx, kept)
				if err != nil || found == nil {
					return fmt.Errorf("the session that was kept: got %s, error %w", diff.Show(found), err)
				}
				list, err := optional[adapter.SessionLists](c.raw).ListSessionsByUserID(c.ctx, user.ID)
				if err != nil || len(list) != 1 || list[0].SessionToken != kept {
					return fmt.Errorf("the list after all but one were ended: got %s, error %w", diff.Show(list), err)
				}
				n, err := optional[adapter.SessionLists](c.raw).DeleteSessionsByUserID(c.ctx, user.ID, "")
				return problems(err, unless(n == 1, "%d sessions were deleted, and one was there", n))
			}
			return k
		})
		c.race(4, func(n, round int) raceCase { return c.arrangeSignOut(n, round, user.ID) })
		other := c.user()
		c.race(4, func(n, _ int) raceCase { return c.arrangeMoves(n, user.ID, other.ID) })
		if c.sessionsMove() {
			var moved, ended int
			n := c.longCalls(func(callFirst bool) {
				m, e := c.signOutWhileManyMove(callFirst)
				moved, ended = moved+m, ended+e
			})
			c.Notef("%d sessions changed hands while %d were deleted, in %d calls", moved, ended, n)
		}
	}},
	{id: "SLIST-07", words: "reported-deletion-has-deleted", needs: needsFaults, requires: sessionListMethods, run: func(c *clauseContext) {
		control := c.control()
		defer control.Heal()
		u := c.user().ID
		hits := 0
		for _, kind := range c.kindsFor(0, 1, control, breakingFaults) {
			for step := 1; step <= faultSteps; step++ {
				var all []adapter.Session
				for range 5 {
					all = append(all, c.session(u))
				}
				i := c.inject(control, kind, step)
				ctx, cancel := context.WithTimeout(c.ctx, limitWith(kind))
				n, err := optional[adapter.SessionLists](c.a).DeleteSessionsByUserID(ctx, u, all[2].SessionToken)
				cancel()
				hit := isHit(i) || err != nil && willBeHit(i)
				i.Release()
				c.mend(control)
				if err == nil && n > int64(len(all)-1) {
					c.Errorf("DeleteSessionsByUserID with %s at step %d: reports %d deleted sessions, but %d existed", kindName(kind), step, n, len(all)-1)
				}
				for j, s := range all {
					got := c.getSession(s.SessionToken)
					switch {
					case j == 2 && got == nil:
						c.Errorf("DeleteSessionsByUserID with %s at step %d: the session to keep is absent", kindName(kind), step)
					case j != 2 && got != nil && err == nil:
						c.Errorf("DeleteSessionsByUserID with %s at step %d: it succeeded, but a session still exists", kindName(kind), step)
					}
					if j != 2 && err == nil {
						c.reallyGone(fmt.Sprintf("DeleteSessionsByUserID with %s at step %d", kindName(kind), step), Record{Kind: SessionRecord, Key: s.SessionToken})
					}
				}
				c.deletes(u, "")
				if list := of[[]adapter.Session](c, listSessions(u)); len(list) > 0 {
					c.Errorf("after %s at step %d and another try: %s is left", kindName(kind), step, diff.Show(list))
				}
				if !hit || c.failed() {
					break
				}
				hits++
			}
		}
		if hits == 0 && !c.failed() {
			c.notVerified("no call caused any traffic under the control of Faults")
		}
	}},
}

// mixedSessions creates sessions of a user that expire soon, late and in
// between, in an order that is neither rising nor falling.
func (c *clauseContext) mixedSessions(userID string) []adapter.Session {
	var all []adapter.Session
	for _, life := range []time.Duration{time.Hour, 24 * time.Hour, 5 * time.Minute, 400 * 24 * time.Hour, 2 * time.Minute, 3 * time.Hour} {
		s := c.newSession(userID)
		s.Expires = c.instant(life)
		c.createSession(s)
		all = append(all, s)
	}
	return all
}

// sessionsOfOneInstant creates more sessions of a user than a page has, which
// all expire at one instant.
func (c *clauseContext) sessionsOfOneInstant(userID string) []adapter.Session {
	all := make([]adapter.Session, 110)
	expires := c.instant(time.Hour)
	c.populate(len(all), func(i int) {
		all[i] = c.newSession(userID)
		all[i].Expires = expires
		c.createSession(all[i])
	})
	return all
}

// outliving creates sessions of a user. The one that is written last and the one
// that is extended last expire soon and are then deleted. It returns the others,
// which are still valid.
func (c *clauseContext) outliving(userID string) []adapter.Session {
	const soon = 1200 * time.Millisecond
	live := []adapter.Session{c.session(userID)}
	if c.works("UpdateSession") {
		s := c.session(userID)
		s.Expires = c.instant(400 * 24 * time.Hour)
		c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
		live = append(live, s)
	}
	if !c.works("DeleteSession") {
		return live // only a sweep is certain to remove an expired session
	}
	short := c.newSession(userID)
	short.Expires = c.now().Add(soon).UTC().Truncate(time.Millisecond)
	c.createSession(short)
	c.wait(soon + 50*time.Millisecond + c.harness().precision())
	_, _ = c.a.DeleteSession(c.ctx, short.SessionToken)
	return live
}

func (c *clauseContext) sameSessions(what, userID string, want []adapter.Session) {
	c.settle()
	c.same(what, of[[]adapter.Session](c, listSessions(userID)), want)
}

func (c *clauseContext) deletes(userID, except string) int64 {
	return of[int64](c, deleteSessions(userID, except))
}

// counted compares the number that a deletion returns with the number of
// sessions. Expired sessions may be included or not.
func (c *clauseContext) counted(what string, n int64, gone []adapter.Session) {
	if n != int64(len(gone)) {
		c.Errorf("%s: reports %d deleted, want %d", what, n, len(gone))
	}
}

// endsSessions deletes all sessions of a user except the one at index kept.
func (c *clauseContext) endsSessions(userID string, all []adapter.Session, kept int) {
	except, gone := "", slices.Clone(all)
	if kept >= 0 {
		except = all[kept].SessionToken
		gone = slices.Delete(gone, kept, kept+1)
	}
	what := fmt.Sprintf("DeleteSessionsByUserID of %d", len(all))
	c.counted(what, c.deletes(userID, except), gone)
	for i, s := range all {
		switch got := c.getSession(s.SessionToken); {
		case i != kept:
			c.absent(what+": a session that it ended", got, nil)
			c.reallyGone(what, Record{Kind: SessionRecord, Key: s.SessionToken})
		case got == nil:
			c.Errorf("%s: the session to keep is absent", what)
		default:
			c.same(what+": the session to keep", &got.Session, &s)
		}
		if c.failed() {
			return
		}
	}
	var want []adapter.Session
	if kept >= 0 {
		want = all[kept : kept+1]
	}
	c.sameSessions("ListSessionsByUserID after "+what, userID, want)
	if n := c.deletes(userID, except); n != 0 {
		c.Errorf("%s once more: reports %d deleted, want 0", what, n)
	}
}

// endsWhatIsOver deletes expired sessions that are still stored: none may be left
// that becomes valid by an update.
func (c *clauseContext) endsWhatIsOver(userID string) {
	over := c.newSession(userID)
	over.Expires = c.instant(-time.Hour)
	c.createSession(over)
	there := c.getSession(over.SessionToken) != nil
	c.deletes(userID, "")
	if !there {
		return // the adapter does not return expired sessions
	}
	c.absent("a session that was over, after DeleteSessionsByUserID", c.getSession(over.SessionToken), nil)
	c.reallyGone("DeleteSessionsByUserID", Record{Kind: SessionRecord, Key: over.SessionToken})
}

// arrangeSignOut lets two sign-outs everywhere, from two sessions, race with new
// sessions. Each session is counted once.
func (c *clauseContext) arrangeSignOut(n, _ int, userID string) raceCase {
	var before []adapter.Session
	for range 6 {
		s := c.newSession(userID)
		_, err := c.raw.CreateSession(c.ctx, s)
		must(c, "CreateSession", &s, err)
		before = append(before, s)
	}
	var k raceCase
	for range n {
		k.calls = append(k.calls, deleteSessions(userID, ""))
	}
	k.verify = func(h []operation) error {
		var total int64
		for _, m := range h {
			if m.err != nil {
				return nil //nolint:nilerr // nothing was promised
			}
			total += m.result.(int64)
		}
		if total != int64(len(before)) {
			return fmt.Errorf("%d sessions were there, and the calls say that they deleted %d together", len(before), total)
		}
		list, err := optional[adapter.SessionLists](c.raw).ListSessionsByUserID(c.ctx, userID)
		return problems(err, unless(len(list) == 0, "after all were ended the list is %s", diff.Show(list)))
	}
	return k
}

// signOutWhileManyMove ends all of many sessions of a user while others give them to another
// user. A session that has moved stays, no other one is left, and each counts once.
func (c *clauseContext) signOutWhileManyMove(callFirst bool) (moves, ends int) {
	from, to := c.user().ID, c.user().ID
	sessions := c.gather(func(int) adapter.Session { return c.newSession(from) })
	lists := optional[adapter.SessionLists](c.raw)
	var mu sync.Mutex
	moved := map[string]bool{}
	var ended int64
	const movers = 4
	c.duringLongCall(callFirst, func() {
		var err error
		if ended, err = lists.DeleteSessionsByUserID(c.ctx, from, ""); err != nil {
			c.Fatalf("DeleteSessionsByUserID while sessions change hands: %v", err)
		}
	}, movers, func(mover int, over func() bool) {
		for i := mover; i < len(sessions); i += movers {
			if over() && i > 20 {
				return
			}
			s := fromBothEnds(sessions, i)
			got, err := c.raw.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(to)})
			if err != nil {
				c.Errorf("UpdateSession while the sessions of the user end: %v", err)
				return
			}
			if got != nil {
				mu.Lock()
				moved[s.SessionToken] = true
				mu.Unlock()
			}
		}
	})
	for _, s := range sessions {
		got, err := c.raw.GetSessionAndUser(c.ctx, s.SessionToken)
		switch {
		case err != nil:
			c.Fatalf("GetSessionAndUser: %v", err)
		case got == nil && moved[s.SessionToken]:
			c.Fatalf("a session was given to another user and is absent after DeleteSessionsByUserID of the first user")
		case got != nil && got.Session.UserID == from:
			c.Fatalf("a session that the user had before DeleteSessionsByUserID is left: %s", diff.Show(got.Session))
		}
	}
	rest, err := lists.DeleteSessionsByUserID(c.ctx, to, "")
	if err != nil {
		c.Fatalf("DeleteSessionsByUserID of the user who got sessions: %v", err)
	}
	if ended+rest != int64(len(sessions)) {
		c.Errorf("%d sessions were there: DeleteSessionsByUserID reports %d while sessions changed hands, and %d of the user who got the others", len(sessions), ended, rest)
	}
	return len(moved), int(ended)
}

// arrangeMoves lets the deletion of a user's sessions race with updates that give
// sessions to another user: one that is the other's has stayed, and each has either
// moved or been deleted.
func (c *clauseContext) arrangeMoves(n int, userID, otherID string) raceCase {
	k, before := c.movesBeside(deleteSessions(userID, ""), n, userID, otherID)
	staysWithOther := k.verify
	k.verify = func(h []operation) error {
		if err := staysWithOther(h); err != nil {
			return err
		}
		list, err := optional[adapter.SessionLists](c.raw).ListSessionsByUserID(c.ctx, userID)
		if err != nil || len(list) > 0 && h[0].err == nil {
			return fmt.Errorf("the list after all were ended: got %s, error %w", diff.Show(list), err)
		}
		moved, err := optional[adapter.SessionLists](c.raw).DeleteSessionsByUserID(c.ctx, otherID, "")
		if err != nil || slices.ContainsFunc(h, func(m operation) bool { return m.err != nil }) {
			return err // how many there were is not known
		}
		deleted := h[0].result.(int64)
		return unless(deleted+moved == int64(before), "%d sessions were there: %d were deleted and %d have moved", before, deleted, moved)
	}
	return k
}
