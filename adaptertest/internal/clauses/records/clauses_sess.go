package records

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var (
	sessionMethods       = []string{"CreateUser", "CreateSession"}
	sessionDeleteMethods = []string{"CreateUser", "CreateSession", "DeleteSession"}
	sessionUpdateMethods = []string{"CreateUser", "CreateSession", "UpdateSession"}
)

var sessClauses = []kit.Check{
	{ID: "SESS-01", Words: "create-returns-the-session", Requires: sessionMethods, Test: func(c *kit.Context) {
		for range 2 {
			s := c.NewSession(c.User().ID)
			c.Same("CreateSession", c.CreateSession(s), &s)
		}
	}},
	{ID: "SESS-02", Words: "get-yields-session-and-owner", Requires: sessionMethods, Test: func(c *kit.Context) {
		users := kit.SomeUsers(c, 3)
		var sessions []adapter.Session
		for range 2 {
			for _, u := range users {
				sessions = append(sessions, c.Session(u.ID))
			}
		}
		for i, s := range sessions {
			resolves(c, "GetSessionAndUser", s, users[i%len(users)])
		}
	}},
	{ID: "SESS-03", Words: "unknown-token-is-absent", Requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		u := c.User()
		c.Session(u.ID)
		for _, token := range []string{c.Secret("session-ø"), u.ID, u.Email} {
			kit.FindsNothing(c, "GetSessionAndUser of an unknown token", kit.GetSessionAndUser(token))
		}
	}},
	{ID: "SESS-04", Words: "tokens-are-compared-byte-for-byte", Requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		for _, key := range missedKeys(func() string { return nearMissKey(c, "session") }) {
			a, b := c.User(), c.User()
			s := c.NewSession(a.ID)
			s.SessionToken = key.Value
			c.CreateSession(s)
			misses := key.Near(key.Value)
			for _, m := range misses {
				missedBy(c, kit.GetSessionAndUser(m.Value), m)
				for _, call := range c.Working([]kit.Call{
					kit.ExtendSession(m.Value, c.Instant(9*time.Hour)),
					kit.DeleteSession(m.Value),
				}) {
					missedBy(c, call, m)
				}
				resolves(c, "the session after calls with a token that has "+m.Name, s, a)
			}
			for _, x := range withKeys(c, kit.SessionRecord, b, misses).Sessions {
				resolves(c, fmt.Sprintf("another session, whose token is %q", x.SessionToken), x, b)
			}
			resolves(c, "the session beside those with near misses", s, a)
		}
	}},
	{ID: "SESS-05", Words: "token-in-use-stays-with-its-user", Requires: sessionMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		s := c.Session(a.ID)
		owners := map[string]*adapter.User{"another user": b, "the same user": a}
		for _, what := range kit.SortedKeys(owners) {
			u := owners[what]
			x := c.NewSession(u.ID)
			x.SessionToken, x.Expires = s.SessionToken, c.Instant(5*time.Hour)
			kit.IsRefused(c, "CreateSession with a token in use, for "+what, kit.CreateSession(x))
			resolves(c, "the session whose token was offered for "+what, s, a)
		}
		if c.Works("DeleteUser") {
			c.DeleteUser(b.ID)
			resolves(c, "the session, after the deletion of the user who was refused", s, a)
		}
	}},
	{ID: "SESS-06", Words: "sessions-live-their-own-lives", Requires: sessionMethods, Test: func(c *kit.Context) {
		u := c.User()
		sessions := kit.Times(5, func() adapter.Session { return c.Session(u.ID) })
		deletes := c.Works("DeleteSession")
		if deletes {
			c.DeleteSession(sessions[1].SessionToken)
		}
		if c.Works("UpdateSession") {
			kit.Extend(c, &sessions[2], c.Instant(48*time.Hour))
			kit.Extend(c, &sessions[3], c.Instant(10*time.Minute))
		}
		for i, s := range sessions {
			if i == 1 && deletes {
				c.Absent("the deleted session", c.GetSession(s.SessionToken), nil)
				continue
			}
			resolves(c, fmt.Sprintf("session %d of five (1 deleted, 2 extended, 3 shortened)", i), s, u)
		}
	}},
	{ID: "SESS-07", Words: "create-for-an-unknown-user-fails", Requires: []string{"CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		for _, owner := range unknownOwners(c) {
			s := c.NewSession(owner.ID)
			kit.IsRefused(c, "CreateSession for "+owner.what, kit.CreateSession(s))
			c.Absent("GetSessionAndUser after a creation for "+owner.what, c.GetSession(s.SessionToken), nil)
			if owner.mayCome {
				c.CreateUser(kit.UserNamed(c, owner.ID))
				c.Absent("GetSessionAndUser once there is a user with the id", c.GetSession(s.SessionToken), nil)
			}
		}
	}},
	{ID: "SESS-08", Words: "update-changes-what-is-supplied", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		s, other, others := c.Session(a.ID), c.Session(a.ID), c.Session(b.ID)
		expires := c.Instant(3 * time.Hour)
		for range 2 { // the second update changes nothing, and must still find the session
			if got := kit.Extend(c, &s, expires); got != nil {
				c.Same("UpdateSession of expires", got, &s)
			}
			resolves(c, "the session after an update of expires", s, a)
		}
		resolves(c, "another session of the user", other, a)
		resolves(c, "a session of another user", others, b)
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(b.ID)}
		if _, err := c.Adapter.UpdateSession(c.Ctx, update); err == nil { // MAY: SESS-23
			s.UserID = b.ID
			resolves(c, "the session after an update of userId", s, b)
		} else {
			resolves(c, "the session after a refused update of userId", s, a)
		}
		both := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(a.ID), Expires: adapter.To(c.Instant(5 * time.Hour))}
		if _, err := c.Adapter.UpdateSession(c.Ctx, both); err == nil {
			both.Apply(&s)
			resolves(c, "the session after one update of userId and expires", s, a)
		}
		if kit.SessionsMove(c) {
			throughManyUsers(c)
		}
	}},
	{ID: "SESS-09", Words: "update-returns-the-stored-session", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		s := c.Session(c.User().ID)
		later := c.Instant(4 * time.Hour)
		updates := []adapter.SessionUpdate{
			{SessionToken: s.SessionToken, Expires: adapter.To(later)},
			{SessionToken: s.SessionToken, Expires: adapter.To(later)},
			{SessionToken: s.SessionToken, Expires: adapter.To(c.Instant(2 * time.Hour)), UserID: adapter.To(s.UserID)},
			{SessionToken: s.SessionToken},
		}
		var returned int
		for _, u := range updates {
			got := c.UpdateSession(u)
			stored := c.GetSession(s.SessionToken)
			switch {
			case stored == nil:
				c.Errorf("GetSessionAndUser after UpdateSession(%s): absent", diff.Show(u))
			case got != nil:
				returned++
				c.Same("what UpdateSession returned, against GetSessionAndUser", got, &stored.Session)
			}
		}
		switch returned {
		case 0:
			c.Notef("UpdateSession returns nothing")
		case len(updates):
		default:
			c.Errorf("of %d updates of a session that exists, %d returned no session", len(updates), len(updates)-returned)
		}
	}},
	{ID: "SESS-10", Words: "update-of-unknown-is-absent", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		s := c.Session(u.ID)
		updates := map[string]adapter.SessionUpdate{
			"every field": {UserID: adapter.To(u.ID), Expires: adapter.To(c.Instant(time.Hour))},
			"expires":     {Expires: adapter.To(c.Instant(time.Hour))},
			"nothing":     {},
		}
		for _, what := range kit.SortedKeys(updates) {
			update := updates[what]
			update.SessionToken = c.Secret("session-ø")
			kit.FindsNothing(c, "UpdateSession of an unknown token with "+what, kit.UpdateSession(update))
			kit.Sees(c, "GetSessionAndUser afterwards", kit.GetSessionAndUser(update.SessionToken), nil)
		}
		resolves(c, "the user's session", s, u)
	}},
	{ID: "SESS-11", Words: "update-does-not-revive", Requires: []string{"CreateUser", "CreateSession", "UpdateSession", "DeleteSession"}, Test: func(c *kit.Context) {
		u := c.User()
		updates := map[string]adapter.SessionUpdate{
			"every field": {UserID: adapter.To(u.ID), Expires: adapter.To(c.Instant(2 * time.Hour))},
			"expires":     {Expires: adapter.To(c.Instant(2 * time.Hour))},
		}
		for _, what := range kit.SortedKeys(updates) {
			update, s := updates[what], c.Session(u.ID)
			resolves(c, "the session before its deletion", s, u)
			c.DeleteSession(s.SessionToken)
			update.SessionToken = s.SessionToken
			if got, err := c.Adapter.UpdateSession(c.Ctx, update); err == nil {
				c.Absent("UpdateSession of a deleted session with "+what, got, nil)
			}
			c.Absent("GetSessionAndUser of a deleted session after an update of "+what, c.GetSession(s.SessionToken), nil)
		}
	}},
	{ID: "SESS-12", Words: "shortening-takes-effect", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		for _, d := range []time.Duration{time.Hour, -time.Hour} {
			s := kit.SessionUntil(c, u.ID, c.Instant(3*time.Hour))
			kit.Extend(c, &s, c.Instant(d))
			if got := c.GetSession(s.SessionToken); got != nil {
				c.Same(fmt.Sprintf("the session after its expires was moved to %v from now", d), got, &adapter.SessionAndUser{Session: s, User: *u})
			}
		}
		movesInSteps(c, u, -1)
	}},
	{ID: "SESS-13", Words: "extending-takes-effect", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		movesInSteps(c, u, 1)
		for d := time.Second; ; d *= 4 {
			old := c.Now().Add(d)
			s := kit.SessionUntil(c, u.ID, old.UTC().Truncate(time.Millisecond))
			kit.Extend(c, &s, c.Instant(2*time.Hour))
			if left := old.Sub(c.Now()); left > c.Harness().Precision() {
				kit.Wait(c, left+100*time.Millisecond)
			} else if d < 16*time.Second {
				continue // the machine was too slow: the session may have expired
			}
			resolves(c, "the session past the expires that it had before", s, u)
			return
		}
	}},
	{ID: "SESS-14", Words: "empty-update-changes-nothing", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		u := c.User()
		s := c.Session(u.ID)
		if got := c.UpdateSession(adapter.SessionUpdate{SessionToken: s.SessionToken}); got != nil {
			c.Same("UpdateSession with nothing but the token", got, &s)
		}
		resolves(c, "the session after an update with nothing but the token", s, u)
	}},
	{ID: "SESS-15", Words: "deleted-session-is-absent-at-once", Requires: sessionDeleteMethods, Test: func(c *kit.Context) {
		u := c.User()
		s := c.Session(u.ID)
		resolves(c, "the session before its deletion", s, u)
		c.DeleteSession(s.SessionToken)
		for i := range 50 {
			if !c.Absent(fmt.Sprintf("read %d after the deletion", i+1), c.GetSession(s.SessionToken), nil) {
				return
			}
		}
	}},
	{ID: "SESS-16", Words: "delete-removes-that-session-only", Requires: sessionDeleteMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		var ofA, ofB []adapter.Session
		for range 2 {
			ofA, ofB = append(ofA, c.Session(a.ID)), append(ofB, c.Session(b.ID))
		}
		ofA = append(ofA, c.Session(a.ID))
		rest := userWith(c, 1, 2, 1)
		c.DeleteSession(ofA[1].SessionToken)
		c.DeleteSession(rest.Sessions[0].SessionToken)
		rest.Sessions = rest.Sessions[1:]
		unchanged(c, "of the user whose session was deleted", c.Adapter, rest)
		c.Absent("the deleted session", c.GetSession(ofA[1].SessionToken), nil)
		resolves(c, "the user's first session", ofA[0], a)
		resolves(c, "the user's last session", ofA[2], a)
		for _, s := range ofB {
			resolves(c, "a session of another user", s, b)
		}
		c.Same("the user", c.GetUser(a.ID), a)
	}},
	{ID: "SESS-17", Words: "delete-returns-the-deleted-session", Requires: sessionDeleteMethods, Test: func(c *kit.Context) {
		u := c.User()
		sessions := []adapter.Session{c.Session(u.ID), c.Session(u.ID), c.Session(u.ID)}
		if c.Works("UpdateSession") && c.Works("GetSessionAndUser") {
			c.GetSession(sessions[2].SessionToken) // an adapter may remember what it reads
			kit.Extend(c, &sessions[2], c.Instant(5*time.Hour))
		}
		returns := "nothing"
		for _, s := range sessions[1:] {
			if got := c.DeleteSession(s.SessionToken); got != nil {
				c.Same("DeleteSession", got, &s)
				returns = "the deleted session"
			}
		}
		c.Notef("DeleteSession returns %s", returns)
	}},
	{ID: "SESS-18", Words: "delete-of-unknown-is-no-error", Requires: sessionDeleteMethods, Test: func(c *kit.Context) {
		s := c.Session(c.User().ID)
		kit.FindsNothing(c, "DeleteSession of an unknown token", kit.DeleteSession(c.Secret("session-ø")))
		c.DeleteSession(s.SessionToken)
		kit.FindsNothing(c, "DeleteSession for the second time", kit.DeleteSession(s.SessionToken))
	}},
	{ID: "SESS-19", Words: "reading-never-changes-expires", Requires: sessionMethods, Test: func(c *kit.Context) {
		u := c.User()
		s := c.Session(u.ID)
		for i := range 20 {
			resolves(c, fmt.Sprintf("read %d", i+1), s, u)
			if c.Has(kit.AbilityClock) {
				kit.Wait(c, 2*time.Minute)
			}
		}
	}},
	{ID: "SESS-20", Words: "expired-session-is-absent-or-truthful", Requires: sessionMethods, Test: func(c *kit.Context) {
		u := c.User()
		truthful := func(what string, s adapter.Session) {
			got := c.GetSession(s.SessionToken)
			if got == nil {
				return
			}
			c.Same(what, got, &adapter.SessionAndUser{Session: s, User: *u})
			if got.Session.Expires.After(s.Expires.Add(c.Harness().Precision())) || got.Session.Expires.After(c.Now()) {
				c.Errorf("%s: expires is %v, given was %v, now is %v", what, got.Session.Expires, s.Expires, c.Now())
			}
		}
		past := c.NewSession(u.ID)
		past.Expires = c.Instant(-time.Hour)
		if _, err := c.Adapter.CreateSession(c.Ctx, past); err != nil {
			c.Notef("a session that has expired is refused: %v", err) // EXP-03 judges that
		} else {
			truthful("a session created expired", past)
			truthful("a session created expired, read again", past)
		}
		short := kit.SessionUntil(c, u.ID, c.Now().Add(time.Second).UTC().Truncate(time.Millisecond))
		kit.Wait(c, short.Expires.Sub(c.Now())+50*time.Millisecond+c.Harness().Precision())
		truthful("a session that has expired", short)
		truthful("a session that has expired, read again", short)
	}},
	{ID: "SESS-21", Words: "user-in-a-session-is-current", Requires: []string{"CreateUser", "UpdateUser", "CreateSession"}, Test: func(c *kit.Context) {
		u := c.CreateUser(adapter.User{Email: kit.Address(c, "zoë")}) // without a proof, which is USER-17's
		first := c.Session(u.ID)
		resolves(c, "the session before the update", first, u)
		second := c.Session(u.ID)
		for _, field := range kit.UserFields {
			update := kit.UserUpdate(c, u.ID, []string{field})
			update.Apply(u)
			c.UpdateUser(update)
			resolves(c, "the session after an update of the user's "+field, first, u)
			resolves(c, "another session after an update of the user's "+field, second, u)
		}
	}},
	{ID: "SESS-22", Words: "session-of-a-vanished-user-is-absent", Requires: []string{"CreateUser", "DeleteUser", "CreateSession"}, Test: func(c *kit.Context) {
		u := c.User()
		s, t := c.Session(u.ID), c.Session(u.ID)
		resolves(c, "the session before the user's deletion", s, u)
		c.DeleteUser(u.ID)
		for _, token := range []string{s.SessionToken, t.SessionToken} {
			kit.FindsNothing(c, "GetSessionAndUser of a deleted user", kit.GetSessionAndUser(token))
		}
	}},
	{ID: "SESS-23", Words: "session-may-move-to-another-user", Requires: sessionUpdateMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		s := c.Session(a.ID)
		got, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(b.ID)})
		if err != nil {
			c.Notef("UpdateSession refuses another user: %v", err)
			resolves(c, "the session after a refused move", s, a)
			return
		}
		c.Notef("UpdateSession moves a session to another user")
		s.UserID = b.ID
		if got != nil {
			c.Same("UpdateSession with another user", got, &s)
		}
		resolves(c, "the moved session", s, b)
		if c.Works("DeleteUser") {
			c.DeleteUser(a.ID)
			resolves(c, "the moved session after the deletion of its first user", s, b)
			c.DeleteUser(b.ID)
			c.Absent("the moved session after the deletion of its second user", c.GetSession(s.SessionToken), nil)
		}
	}},
	{ID: "SESS-24", Words: "token-created-again-carries-nothing-over", Requires: sessionDeleteMethods, Test: func(c *kit.Context) {
		a, b := c.User(), c.User()
		s := c.Session(a.ID)
		if c.Works("UpdateSession") {
			kit.Extend(c, &s, c.Instant(72*time.Hour))
		}
		c.DeleteSession(s.SessionToken)
		again := c.NewSession(b.ID)
		again.SessionToken, again.Expires = s.SessionToken, c.Instant(30*time.Minute)
		c.Same("CreateSession with a token that was deleted", c.CreateSession(again), &again)
		resolves(c, "the session with a token that was deleted", again, b)
		if c.Works("DeleteUser") {
			c.DeleteUser(a.ID)
			resolves(c, "the session, after the deletion of the token's first user", again, b)
		}
	}},
}

// movesInSteps moves the expires of a session by less and less, in one direction.
func movesInSteps(c *kit.Context, u *adapter.User, sign time.Duration) {
	s := c.Session(u.ID)
	for _, d := range []time.Duration{20 * time.Minute, 4 * time.Minute, 50 * time.Second, 5 * time.Second, time.Second} {
		kit.Extend(c, &s, s.Expires.Add(sign*d))
		resolves(c, fmt.Sprintf("the session after its expires was moved by %v", sign*d), s, u)
	}
}

// throughManyUsers moves a session from user to user. An adapter that locks two users by
// locks of which there are fewer than users meets two that share one.
func throughManyUsers(c *kit.Context) {
	many := 200
	if c.Hurried {
		many = 50
	}
	users := kit.SomeUsers(c, max(10, c.Rounds(many)))
	s := c.Session(users[0].ID)
	for i := range users {
		next := users[(i+1)%len(users)].ID
		if _, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(next)}); err != nil {
			c.Fatalf("UpdateSession moves a session from user to user, but not to user %d: %v", i+1, err)
		}
	}
}
