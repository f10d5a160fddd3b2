package records

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var sessionListMethods = []string{"CreateUser", "CreateSession", "ListSessionsByUserID", "DeleteSessionsByUserID"}

var slistClauses = []kit.Check{
	{ID: "SLIST-01", Words: "all-sessions-are-listed-once", Requires: sessionListMethods, Test: func(c *kit.Context) {
		a, b := c.User().ID, c.User().ID
		surround(c, a, kit.SessionRecord, c.Unique("connection"))
		mine, theirs := mixedSessions(c, a), mixedSessions(c, b)
		sameSessions(c, "ListSessionsByUserID", a, mine)
		sameSessions(c, "ListSessionsByUserID of another user", b, theirs)
		if c.Works("UpdateSession") {
			kit.Extend(c, &mine[0], c.Instant(700*time.Hour))
			sameSessions(c, "ListSessionsByUserID after one was extended", a, mine)
			giveOwner(c, mine...)
			sameSessions(c, "ListSessionsByUserID after updates that name the user whom the sessions have", a, mine)
			moved := adapter.SessionUpdate{SessionToken: mine[1].SessionToken, UserID: adapter.To(b)}
			_, _ = c.Adapter.UpdateSession(c.Ctx, moved) // the update may be refused, and may return nil
			if got := c.GetSession(mine[1].SessionToken); got != nil && got.Session.UserID == b {
				mine[1].UserID = b
				theirs, mine = append(theirs, mine[1]), slices.Delete(slices.Clone(mine), 1, 2)
				sameSessions(c, "ListSessionsByUserID after one changed hands", a, mine)
				sameSessions(c, "ListSessionsByUserID of the user who got one", b, theirs)
			}
		}
		back := cameBack(c, userWith(c, 0, 3, 0))
		sameSessions(c, "ListSessionsByUserID after sessions had gone and come back", back.User.ID, back.Sessions)
		alike := c.User().ID
		sameSessions(c, "ListSessionsByUserID of sessions that expire at one instant", alike, sessionsOfOneInstant(c, alike))
		apart := joined(c, kit.SessionRecord, c.User())
		sameSessions(c, "ListSessionsByUserID of tokens with separators", apart.User.ID, apart.Sessions)
		lasting := c.User().ID
		sameSessions(c, "ListSessionsByUserID after the session that was written last has expired", lasting, outliving(c, lasting))
		for _, b := range outgrown(c) {
			sameSessions(c, "ListSessionsByUserID of sessions that were extended, after their first lifetimes", b.User.ID, b.Sessions)
		}
		if c.Works("DeleteSession") {
			c.DeleteSession(mine[0].SessionToken)
			mine = mine[1:]
			sameSessions(c, "ListSessionsByUserID after one was deleted", a, mine)
			again := mine[0] // the token of another is used again after deletion
			c.DeleteSession(again.SessionToken)
			again.UserID = b
			c.CreateSession(again)
			mine, theirs = mine[1:], append(theirs, again)
			sameSessions(c, "ListSessionsByUserID after a token changed hands", a, mine)
			sameSessions(c, "ListSessionsByUserID of the new owner of a token", b, theirs)
		}
		listWhileOthersChange(c, kit.SessionRecord, kit.ListSessionsByUserID)
	}},
	{ID: "SLIST-02", Words: "unknown-user-has-an-empty-list", Requires: sessionListMethods, Test: func(c *kit.Context) {
		c.Session(c.User().ID)
		for _, id := range unknownUsers(c) {
			list, err := kit.Optional[adapter.SessionLists](c.Adapter).ListSessionsByUserID(c.Ctx, id)
			if err != nil || list == nil || len(list) > 0 {
				c.Errorf("ListSessionsByUserID(%q): got %s (nil: %v), error %v, want an empty list", id, diff.Show(list), list == nil, err)
			}
			if n, err := kit.Optional[adapter.SessionLists](c.Adapter).DeleteSessionsByUserID(c.Ctx, id, ""); n != 0 || err != nil {
				c.Errorf("DeleteSessionsByUserID(%q): got %d, error %v, want 0", id, n, err)
			}
		}
	}},
	{ID: "SLIST-03", Words: "failure-is-no-shorter-list", Needs: faulted.NeedsFaults, Requires: sessionListMethods, Test: func(c *kit.Context) {
		u := c.User().ID
		want := kit.Times(7, func() adapter.Session { return c.Session(u) })
		faulted.ListFails(c, kit.ListSessionsByUserID(u), want)
	}},
	{ID: "SLIST-04", Words: "all-but-one-session-end", Requires: sessionListMethods, Test: func(c *kit.Context) {
		other := kit.Residents(c, 1)
		u := c.User().ID
		for _, kept := range []int{5, 0, 3, -1} {
			endsSessions(c, u, mixedSessions(c, u), kept)
			endAll(c, u)
		}
		endsSessions(c, u, joined(c, kit.SessionRecord, &adapter.User{ID: u}).Sessions, 2)
		endAll(c, u)
		rest := userWith(c, 2, 3, 2)
		endAll(c, rest.User.ID)
		rest.Sessions = nil
		unchanged(c, "of the user whose sessions were ended", c.Adapter, rest)
		back := cameBack(c, userWith(c, 0, 3, 0))
		endsSessions(c, back.User.ID, back.Sessions, -1)
		endsSessions(c, u, outliving(c, u), -1)
		for _, b := range outgrown(c) {
			endsSessions(c, b.User.ID, b.Sessions, -1)
		}
		endsWhatIsOver(c, u)
		many := make([]adapter.Session, kit.Many(c))
		long, end := c.NewSession(u), strings.Repeat("x", 1200) // together more than a page of a mebibyte
		long.SessionToken += end
		if _, err := c.Raw.CreateSession(c.Ctx, long); err != nil {
			end = "" // so much room is not promised
		} else {
			endAll(c, u)
		}
		// Many sessions expire at one instant.
		expires := kit.Numbered(5, func(i int) time.Time { return c.Instant(time.Duration(1+i) * time.Hour) })
		kit.Populate(c, len(many), func(i int) {
			many[i] = c.NewSession(u)
			many[i].SessionToken += end
			many[i].Expires = expires[i%len(expires)]
			if i == 0 { // the first in every order, so that it is in the first batch
				many[i].SessionToken, many[i].Expires = "0"+many[i].SessionToken, c.Instant(50*time.Minute)
			}
			c.CreateSession(many[i])
		})
		sameSessions(c, fmt.Sprintf("ListSessionsByUserID of %d", len(many)), u, many)
		endsSessions(c, u, many, 0)
		endsSessions(c, u, many[:1], -1)
		kit.Intact(c, other)
	}},
	{ID: "SLIST-05", Words: "exception-is-a-session-of-the-user", Requires: sessionListMethods, Test: func(c *kit.Context) {
		a, b := c.User().ID, c.User().ID
		theirs := c.Session(b)
		for _, except := range []string{"", theirs.SessionToken, c.Unique("session"), "%", "*", a} {
			mine := mixedSessions(c, a)
			counted(c, fmt.Sprintf("DeleteSessionsByUserID(except %q)", except), kit.DeleteSessionsByUserID(a, except), len(mine))
			for _, s := range mine {
				c.Absent(fmt.Sprintf("a session after DeleteSessionsByUserID with the exception %q", except), c.GetSession(s.SessionToken), nil)
			}
			sameSessions(c, "ListSessionsByUserID of the other user", b, []adapter.Session{theirs})
			c.Same("the other user's session", &c.GetSession(theirs.SessionToken).Session, &theirs)
		}
		for _, key := range missedKeys(func() string { return nearMissKey(c, "session") }) {
			kept := c.NewSession(a)
			kept.SessionToken, kept.Expires = key.Value, c.Instant(time.Hour)
			for m := range kit.Some(&c.Budget, key.Near(key.Value)) {
				c.CreateSession(kept)
				s := c.Session(a)
				if _, err := kit.DeleteSessionsByUserID(a, m.Value).Do(c.Ctx, c.Adapter); err != nil && strings.Contains(m.Value, "\x00") {
					endAll(c, a)
					continue // a NUL may be an error [INPUT-10]
				} else if err != nil {
					c.Errorf("DeleteSessionsByUserID with an exception that resembles a token of the user by %s: %v", m.Name, err)
				}
				c.Absent("a session beside the one whose token resembles the exception", c.GetSession(s.SessionToken), nil)
				c.Absent("a session whose token resembles the exception by "+m.Name, c.GetSession(kept.SessionToken), nil)
			}
		}
	}},
	{ID: "SLIST-06", Words: "no-session-that-was-there-is-left", Races: true, Requires: append(sessionListMethods, "UpdateSession", "GetSessionAndUser"), Test: func(c *kit.Context) {
		user := c.User()
		race.Run(c, 4, func(n, _ int) race.Case {
			before := rawSessions(c, user.ID, 3)
			kept := before[0].SessionToken
			k := race.Case{Calls: []kit.Call{kit.DeleteSessionsByUserID(user.ID, kept)}}
			for i := 1; i < n; i++ {
				s := before[1+(i-1)%2]
				k.Calls = append(k.Calls, kit.ExtendSession(s.SessionToken, s.Expires.Add(time.Duration(i)*time.Hour)))
			}
			k.Verify = func(h []race.Operation) error {
				if h[0].Err != nil {
					return nil
				}
				for _, s := range before[1:] {
					if found, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken); err != nil || found != nil {
						return fmt.Errorf("a session that was ended: got %s, error %w", diff.Show(found), err)
					}
				}
				found, err := c.Raw.GetSessionAndUser(c.Ctx, kept)
				if err != nil || found == nil {
					return fmt.Errorf("the session that was kept: got %s, error %w", diff.Show(found), err)
				}
				list, err := kit.Optional[adapter.SessionLists](c.Raw).ListSessionsByUserID(c.Ctx, user.ID)
				if err != nil || len(list) != 1 || list[0].SessionToken != kept {
					return fmt.Errorf("the list after all but one were ended: got %s, error %w", diff.Show(list), err)
				}
				n, err := kit.Optional[adapter.SessionLists](c.Raw).DeleteSessionsByUserID(c.Ctx, user.ID, "")
				return race.Problems(err, race.Unless(n == 1, "%d sessions were deleted, and one was there", n))
			}
			return k
		})
		race.Run(c, 4, func(n, _ int) race.Case { return arrangeSignOut(c, n, user.ID) })
		other := c.User()
		race.Run(c, 4, func(n, _ int) race.Case { return arrangeMoves(c, n, user.ID, other.ID) })
		if kit.SessionsMove(c) {
			var moved, ended int
			n := race.LongCalls(c, func(callFirst bool) {
				m, e := signOutWhileManyMove(c, callFirst)
				moved, ended = moved+m, ended+e
			})
			c.Notef("%d sessions changed hands while %d were deleted, in %d calls", moved, ended, n)
		}
	}},
	{ID: "SLIST-07", Words: "reported-deletion-has-deleted", Needs: faulted.NeedsFaults, Requires: sessionListMethods, Test: func(c *kit.Context) {
		control := faulted.Control(c)
		defer control.Heal()
		u := c.User().ID
		hits := 0
		for _, kind := range faulted.KindsFor(c, 0, 1, control, faulted.BreakingFaults) {
			for step := 1; step <= kit.FaultSteps; step++ {
				all := kit.Times(5, func() adapter.Session { return c.Session(u) })
				got, hit, err := faulted.Strike(c, control, kind, step, kit.DeleteSessionsByUserID(u, all[2].SessionToken))
				what := fmt.Sprintf("DeleteSessionsByUserID with %s at step %d", faulted.KindName(kind), step)
				if n, _ := got.(int64); err == nil && n > int64(len(all)-1) {
					c.Errorf("%s: reports %d deleted sessions, but %d existed", what, n, len(all)-1)
				}
				for j, s := range all {
					switch got := c.GetSession(s.SessionToken); {
					case j == 2 && got == nil:
						c.Errorf("%s: the session to keep is absent", what)
					case j != 2 && err == nil:
						if got != nil {
							c.Errorf("%s: it succeeded, but a session still exists", what)
						}
						kit.ReallyGone(c, what, kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
					}
				}
				endAll(c, u)
				if list := kit.Of[[]adapter.Session](c, kit.ListSessionsByUserID(u)); len(list) > 0 {
					c.Errorf("%s and another try: %s is left", what, diff.Show(list))
				}
				if !hit || c.Failed() {
					break
				}
				hits++
			}
		}
		faulted.MustHit(c, hits)
	}},
}

// mixedSessions creates sessions of a user that expire soon, late and in
// between, in an order that is neither rising nor falling.
func mixedSessions(c *kit.Context, userID string) []adapter.Session {
	lives := []time.Duration{time.Hour, 24 * time.Hour, 5 * time.Minute, 400 * 24 * time.Hour, 2 * time.Minute, 3 * time.Hour}
	return kit.Map(lives, func(life time.Duration) adapter.Session { return kit.SessionUntil(c, userID, c.Instant(life)) })
}

// sessionsOfOneInstant creates more sessions of a user than a page has, which all expire at one instant.
func sessionsOfOneInstant(c *kit.Context, userID string) []adapter.Session {
	all := make([]adapter.Session, 110)
	expires := c.Instant(time.Hour)
	kit.Populate(c, len(all), func(i int) { all[i] = kit.SessionUntil(c, userID, expires) })
	return all
}

// outliving creates sessions of a user. The one that is written last and the one that is extended last expire
// soon and are then deleted. It returns the others, which are still valid.
func outliving(c *kit.Context, userID string) []adapter.Session {
	const soon = 1200 * time.Millisecond
	live := []adapter.Session{c.Session(userID)}
	if c.Works("UpdateSession") {
		s := c.Session(userID)
		kit.Extend(c, &s, c.Instant(400*24*time.Hour))
		live = append(live, s)
	}
	if !c.Works("DeleteSession") {
		return live // only a sweep is certain to remove an expired session
	}
	short := kit.SessionUntil(c, userID, c.Now().Add(soon).UTC().Truncate(time.Millisecond))
	kit.Wait(c, soon+50*time.Millisecond+c.Harness().Precision())
	_, _ = c.Adapter.DeleteSession(c.Ctx, short.SessionToken)
	return live
}

func sameSessions(c *kit.Context, what, userID string, want []adapter.Session) {
	c.Settle()
	c.Same(what, kit.Of[[]adapter.Session](c, kit.ListSessionsByUserID(userID)), want)
}

func endAll(c *kit.Context, userID string) { kit.Of[int64](c, kit.DeleteSessionsByUserID(userID, "")) }

// endsSessions deletes all sessions of a user except the one at index kept.
func endsSessions(c *kit.Context, userID string, all []adapter.Session, kept int) {
	except, want := "", []adapter.Session(nil)
	if kept >= 0 {
		except, want = all[kept].SessionToken, all[kept:kept+1]
	}
	what, deletion := fmt.Sprintf("DeleteSessionsByUserID of %d", len(all)), kit.DeleteSessionsByUserID(userID, except)
	counted(c, what, deletion, len(all)-len(want))
	for i, s := range all {
		switch got := c.GetSession(s.SessionToken); {
		case i != kept:
			c.Absent(what+": a session that it ended", got, nil)
			kit.ReallyGone(c, what, kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
		case got == nil:
			c.Errorf("%s: the session to keep is absent", what)
		default:
			c.Same(what+": the session to keep", &got.Session, &s)
		}
		if c.Failed() {
			return
		}
	}
	sameSessions(c, "ListSessionsByUserID after "+what, userID, want)
	counted(c, what+" once more", deletion, 0)
}

// endsWhatIsOver deletes expired sessions that are still stored: none may be left that becomes valid by an update.
func endsWhatIsOver(c *kit.Context, userID string) {
	over := kit.SessionUntil(c, userID, c.Instant(-time.Hour))
	there := c.GetSession(over.SessionToken) != nil
	endAll(c, userID)
	if !there {
		return // the adapter does not return expired sessions
	}
	c.Absent("a session that was over, after DeleteSessionsByUserID", c.GetSession(over.SessionToken), nil)
	kit.ReallyGone(c, "DeleteSessionsByUserID", kit.Record{Kind: kit.SessionRecord, Key: over.SessionToken})
}

// arrangeSignOut lets two sign-outs everywhere, from two sessions, race with new
// sessions. Each session is counted once.
func arrangeSignOut(c *kit.Context, n int, userID string) race.Case {
	before := rawSessions(c, userID, 6)
	calls := kit.Numbered(n, func(int) kit.Call { return kit.DeleteSessionsByUserID(userID, "") })
	return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
		var total int64
		for _, m := range h {
			if m.Err != nil {
				return nil //nolint:nilerr // nothing was promised
			}
			total += m.Result.(int64)
		}
		if total != int64(len(before)) {
			return fmt.Errorf("%d sessions were there, and the calls say that they deleted %d together", len(before), total)
		}
		list, err := kit.Optional[adapter.SessionLists](c.Raw).ListSessionsByUserID(c.Ctx, userID)
		return race.Problems(err, race.Unless(len(list) == 0, "after all were ended the list is %s", diff.Show(list)))
	}}
}

// signOutWhileManyMove ends all of many sessions of a user while others give them to another
// user. A session that has moved stays, no other one is left, and each counts once.
func signOutWhileManyMove(c *kit.Context, callFirst bool) (moves, ends int) {
	from, to := c.User().ID, c.User().ID
	sessions := race.Gather(c, func(int) adapter.Session { return c.NewSession(from) })
	lists := kit.Optional[adapter.SessionLists](c.Raw)
	var mu sync.Mutex
	moved := map[string]bool{}
	var ended int64
	const movers = 4
	race.DuringLongCall(c, callFirst, func() {
		var err error
		if ended, err = lists.DeleteSessionsByUserID(c.Ctx, from, ""); err != nil {
			c.Fatalf("DeleteSessionsByUserID while sessions change hands: %v", err)
		}
	}, movers, func(mover int, over func() bool) {
		for i := mover; i < len(sessions); i += movers {
			if over() && i > 20 {
				return
			}
			s := race.FromBothEnds(sessions, i)
			got, err := c.Raw.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(to)})
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
		got, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken)
		switch {
		case err != nil:
			c.Fatalf("GetSessionAndUser: %v", err)
		case got == nil && moved[s.SessionToken]:
			c.Fatalf("a session was given to another user and is absent after DeleteSessionsByUserID of the first user")
		case got != nil && got.Session.UserID == from:
			c.Fatalf("a session that the user had before DeleteSessionsByUserID is left: %s", diff.Show(got.Session))
		}
	}
	rest, err := lists.DeleteSessionsByUserID(c.Ctx, to, "")
	if err != nil {
		c.Fatalf("DeleteSessionsByUserID of the user who got sessions: %v", err)
	}
	if ended+rest != int64(len(sessions)) {
		c.Errorf("%d sessions were there: DeleteSessionsByUserID reports %d while sessions changed hands, and %d of the user who got the others", len(sessions), ended, rest)
	}
	return len(moved), int(ended)
}

// arrangeMoves lets the deletion of a user's sessions race with updates that give sessions to another user: one
// that is the other's has stayed, and each has either moved or been deleted.
func arrangeMoves(c *kit.Context, n int, userID, otherID string) race.Case {
	k, before := race.MovesBeside(c, kit.DeleteSessionsByUserID(userID, ""), n, userID, otherID)
	staysWithOther := k.Verify
	k.Verify = func(h []race.Operation) error {
		if err := staysWithOther(h); err != nil {
			return err
		}
		list, err := kit.Optional[adapter.SessionLists](c.Raw).ListSessionsByUserID(c.Ctx, userID)
		if err != nil || len(list) > 0 && h[0].Err == nil {
			return fmt.Errorf("the list after all were ended: got %s, error %w", diff.Show(list), err)
		}
		moved, err := kit.Optional[adapter.SessionLists](c.Raw).DeleteSessionsByUserID(c.Ctx, otherID, "")
		if err != nil || slices.ContainsFunc(h, func(m race.Operation) bool { return m.Err != nil }) {
			return err // how many there were is not known
		}
		deleted := h[0].Result.(int64)
		return race.Unless(deleted+moved == int64(before), "%d sessions were there: %d were deleted and %d have moved", before, deleted, moved)
	}
	return k
}
