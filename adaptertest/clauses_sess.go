package adaptertest

import (
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What the clauses of the group require.
var (
	sessionMethods       = []string{"CreateUser", "CreateSession"}
	sessionDeleteMethods = []string{"CreateUser", "CreateSession", "DeleteSession"}
	sessionUpdateMethods = []string{"CreateUser", "CreateSession", "UpdateSession"}
)

var sessClauses = []check{
	{id: "SESS-01", words: "create-returns-the-session", requires: sessionMethods, run: func(c *clauseContext) {
		for range 2 {
			s := c.newSession(c.user().ID)
			c.same("CreateSession", c.createSession(s), &s)
		}
	}},
	{id: "SESS-02", words: "get-yields-session-and-owner", requires: sessionMethods, run: func(c *clauseContext) {
		var users []*adapter.User
		for range 3 {
			users = append(users, c.user())
		}
		var sessions []adapter.Session
		for range 2 {
			for _, u := range users {
				sessions = append(sessions, c.session(u.ID))
			}
		}
		for i, s := range sessions {
			c.resolves("GetSessionAndUser", s, users[i%len(users)])
		}
	}},
	{id: "SESS-03", words: "unknown-token-is-absent", requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		u := c.user()
		c.session(u.ID)
		for _, token := range []string{c.secret("session-ø"), u.ID, u.Email} {
			got, err := c.a.GetSessionAndUser(c.ctx, token)
			c.absent("GetSessionAndUser of an unknown token", got, err)
		}
	}},
	{id: "SESS-04", words: "tokens-are-compared-byte-for-byte", requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		for _, key := range missedKeys(func() string { return c.nearMissKey("session") }) {
			a, b := c.user(), c.user()
			s := c.newSession(a.ID)
			s.SessionToken = key.value
			c.createSession(s)
			misses := key.near(key.value)
			for _, m := range misses {
				got, err := c.a.GetSessionAndUser(c.ctx, m.value)
				c.missed("GetSessionAndUser", m, got, err)
				if c.works("UpdateSession") {
					got, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: m.value, Expires: adapter.To(c.instant(9 * time.Hour))})
					c.missed("UpdateSession", m, got, err)
				}
				if c.works("DeleteSession") {
					got, err := c.a.DeleteSession(c.ctx, m.value)
					c.missed("DeleteSession", m, got, err)
				}
				c.resolves("the session after calls with a token that has "+m.name, s, a)
			}
			other := map[string]adapter.Session{}
			for _, m := range misses {
				x := c.newSession(b.ID)
				x.SessionToken = m.value
				if _, err := c.a.CreateSession(c.ctx, x); c.stored("CreateSession", m, err) {
					other[m.name] = x
				}
			}
			for _, m := range misses {
				if x, ok := other[m.name]; ok {
					c.resolves("another session whose token has "+m.name, x, b)
				}
			}
			c.resolves("the session beside those with near misses", s, a)
		}
	}},
	{id: "SESS-05", words: "token-in-use-stays-with-its-user", requires: sessionMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		s := c.session(a.ID)
		owners := map[string]*adapter.User{"another user": b, "the same user": a}
		for _, what := range sortedKeys(owners) {
			u := owners[what]
			x := c.newSession(u.ID)
			x.SessionToken, x.Expires = s.SessionToken, c.instant(5*time.Hour)
			got, err := c.a.CreateSession(c.ctx, x)
			c.fails("CreateSession with a token in use, for "+what, got, err)
			c.resolves("the session whose token was offered for "+what, s, a)
		}
		if c.works("DeleteUser") {
			c.deleteUser(b.ID)
			c.resolves("the session, after the deletion of the user who was refused", s, a)
		}
	}},
	{id: "SESS-06", words: "sessions-live-their-own-lives", requires: sessionMethods, run: func(c *clauseContext) {
		u := c.user()
		var sessions []adapter.Session
		for range 5 {
			sessions = append(sessions, c.session(u.ID))
		}
		deletes := c.works("DeleteSession")
		if deletes {
			c.deleteSession(sessions[1].SessionToken)
		}
		if c.works("UpdateSession") {
			sessions[2].Expires = c.instant(48 * time.Hour)
			sessions[3].Expires = c.instant(10 * time.Minute)
			for _, s := range sessions[2:4] {
				c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
			}
		}
		for i, s := range sessions {
			if i == 1 && deletes {
				c.absent("the deleted session", c.getSession(s.SessionToken), nil)
				continue
			}
			c.resolves(fmt.Sprintf("session %d of five (1 deleted, 2 extended, 3 shortened)", i), s, u)
		}
	}},
	{id: "SESS-07", words: "create-for-an-unknown-user-fails", requires: []string{"CreateSession", "GetSessionAndUser"}, run: func(c *clauseContext) {
		for _, owner := range c.unknownOwners() {
			s := c.newSession(owner.id)
			got, err := c.a.CreateSession(c.ctx, s)
			c.fails("CreateSession for "+owner.what, got, err)
			c.absent("GetSessionAndUser after a creation for "+owner.what, c.getSession(s.SessionToken), nil)
			if owner.mayCome {
				c.createUserWithID(owner.id)
				c.absent("GetSessionAndUser once there is a user with the id", c.getSession(s.SessionToken), nil)
			}
		}
	}},
	{id: "SESS-08", words: "update-changes-what-is-supplied", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		s, other, others := c.session(a.ID), c.session(a.ID), c.session(b.ID)
		s.Expires = c.instant(3 * time.Hour)
		for range 2 { // the second update changes nothing, and must still find the session
			update := adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)}
			if got := c.updateSession(update); got != nil {
				c.same("UpdateSession of expires", got, &s)
			}
			c.resolves("the session after an update of expires", s, a)
		}
		c.resolves("another session of the user", other, a)
		c.resolves("a session of another user", others, b)
		update := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(b.ID)}
		if _, err := c.a.UpdateSession(c.ctx, update); err == nil { // MAY: SESS-23
			s.UserID = b.ID
			c.resolves("the session after an update of userId", s, b)
		} else {
			c.resolves("the session after a refused update of userId", s, a)
		}
		both := adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(a.ID), Expires: adapter.To(c.instant(5 * time.Hour))}
		if _, err := c.a.UpdateSession(c.ctx, both); err == nil {
			both.Apply(&s)
			c.resolves("the session after one update of userId and expires", s, a)
		}
		if c.sessionsMove() {
			c.throughManyUsers()
		}
	}},
	{id: "SESS-09", words: "update-returns-the-stored-session", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		s := c.session(c.user().ID)
		later := c.instant(4 * time.Hour)
		updates := []adapter.SessionUpdate{
			{SessionToken: s.SessionToken, Expires: adapter.To(later)},
			{SessionToken: s.SessionToken, Expires: adapter.To(later)},
			{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(2 * time.Hour)), UserID: adapter.To(s.UserID)},
			{SessionToken: s.SessionToken},
		}
		var returned int
		for _, u := range updates {
			got := c.updateSession(u)
			stored := c.getSession(s.SessionToken)
			switch {
			case stored == nil:
				c.Errorf("GetSessionAndUser after UpdateSession(%s): absent", diff.Show(u))
			case got != nil:
				returned++
				c.same("what UpdateSession returned, against GetSessionAndUser", got, &stored.Session)
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
	{id: "SESS-10", words: "update-of-unknown-is-absent", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		s := c.session(u.ID)
		updates := map[string]adapter.SessionUpdate{
			"every field": {UserID: adapter.To(u.ID), Expires: adapter.To(c.instant(time.Hour))},
			"expires":     {Expires: adapter.To(c.instant(time.Hour))},
			"nothing":     {},
		}
		for _, what := range sortedKeys(updates) {
			update := updates[what]
			update.SessionToken = c.secret("session-ø")
			got, err := c.a.UpdateSession(c.ctx, update)
			c.absent("UpdateSession of an unknown token with "+what, got, err)
			if c.works("GetSessionAndUser") {
				c.absent("GetSessionAndUser afterwards", c.getSession(update.SessionToken), nil)
			}
		}
		c.resolves("the user's session", s, u)
	}},
	{id: "SESS-11", words: "update-does-not-revive", requires: []string{"CreateUser", "CreateSession", "UpdateSession", "DeleteSession"}, run: func(c *clauseContext) {
		u := c.user()
		updates := map[string]adapter.SessionUpdate{
			"every field": {UserID: adapter.To(u.ID), Expires: adapter.To(c.instant(2 * time.Hour))},
			"expires":     {Expires: adapter.To(c.instant(2 * time.Hour))},
		}
		for _, what := range sortedKeys(updates) {
			update := updates[what]
			s := c.session(u.ID)
			c.resolves("the session before its deletion", s, u)
			c.deleteSession(s.SessionToken)
			update.SessionToken = s.SessionToken
			if got, err := c.a.UpdateSession(c.ctx, update); err == nil {
				c.absent("UpdateSession of a deleted session with "+what, got, nil)
			}
			c.absent("GetSessionAndUser of a deleted session after an update of "+what, c.getSession(s.SessionToken), nil)
		}
	}},
	{id: "SESS-12", words: "shortening-takes-effect", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		for _, d := range []time.Duration{time.Hour, -time.Hour} {
			s := c.newSession(u.ID)
			s.Expires = c.instant(3 * time.Hour)
			c.createSession(s)
			s.Expires = c.instant(d)
			c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
			if got := c.getSession(s.SessionToken); got != nil {
				c.same(fmt.Sprintf("the session after its expires was moved to %v from now", d), got, &adapter.SessionAndUser{Session: s, User: *u})
			}
		}
		c.movesInSteps(u, -1)
	}},
	{id: "SESS-13", words: "extending-takes-effect", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		c.movesInSteps(u, 1)
		for d := time.Second; ; d *= 4 {
			s := c.newSession(u.ID)
			old := c.now().Add(d)
			s.Expires = old.UTC().Truncate(time.Millisecond)
			c.createSession(s)
			s.Expires = c.instant(2 * time.Hour)
			c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
			if left := old.Sub(c.now()); left > c.harness().precision() {
				c.wait(left + 100*time.Millisecond)
			} else if d < 16*time.Second {
				continue // the machine was too slow: the session may have expired
			}
			c.resolves("the session past the expires that it had before", s, u)
			return
		}
	}},
	{id: "SESS-14", words: "empty-update-changes-nothing", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		u := c.user()
		s := c.session(u.ID)
		if got := c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken}); got != nil {
			c.same("UpdateSession with nothing but the token", got, &s)
		}
		c.resolves("the session after an update with nothing but the token", s, u)
	}},
	{id: "SESS-15", words: "deleted-session-is-absent-at-once", requires: sessionDeleteMethods, run: func(c *clauseContext) {
		u := c.user()
		s := c.session(u.ID)
		c.resolves("the session before its deletion", s, u)
		c.deleteSession(s.SessionToken)
		for i := range 50 {
			if !c.absent(fmt.Sprintf("read %d after the deletion", i+1), c.getSession(s.SessionToken), nil) {
				return
			}
		}
	}},
	{id: "SESS-16", words: "delete-removes-that-session-only", requires: sessionDeleteMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		var ofA, ofB []adapter.Session
		for range 2 {
			ofA, ofB = append(ofA, c.session(a.ID)), append(ofB, c.session(b.ID))
		}
		ofA = append(ofA, c.session(a.ID))
		rest := c.userWith(1, 2, 1)
		c.deleteSession(ofA[1].SessionToken)
		c.deleteSession(rest.sessions[0].SessionToken)
		rest.sessions = rest.sessions[1:]
		c.unchanged("of the user whose session was deleted", c.a, rest)
		c.absent("the deleted session", c.getSession(ofA[1].SessionToken), nil)
		c.resolves("the user's first session", ofA[0], a)
		c.resolves("the user's last session", ofA[2], a)
		for _, s := range ofB {
			c.resolves("a session of another user", s, b)
		}
		c.same("the user", c.getUser(a.ID), a)
	}},
	{id: "SESS-17", words: "delete-returns-the-deleted-session", requires: sessionDeleteMethods, run: func(c *clauseContext) {
		u := c.user()
		sessions := []adapter.Session{c.session(u.ID), c.session(u.ID), c.session(u.ID)}
		if c.works("UpdateSession") && c.works("GetSessionAndUser") {
			c.getSession(sessions[2].SessionToken) // an adapter may remember what it reads
			sessions[2].Expires = c.instant(5 * time.Hour)
			c.updateSession(adapter.SessionUpdate{SessionToken: sessions[2].SessionToken, Expires: adapter.To(sessions[2].Expires)})
		}
		returns := "nothing"
		for _, s := range sessions[1:] {
			if got := c.deleteSession(s.SessionToken); got != nil {
				c.same("DeleteSession", got, &s)
				returns = "the deleted session"
			}
		}
		c.Notef("DeleteSession returns %s", returns)
	}},
	{id: "SESS-18", words: "delete-of-unknown-is-no-error", requires: sessionDeleteMethods, run: func(c *clauseContext) {
		s := c.session(c.user().ID)
		got, err := c.a.DeleteSession(c.ctx, c.secret("session-ø"))
		c.absent("DeleteSession of an unknown token", got, err)
		c.deleteSession(s.SessionToken)
		got, err = c.a.DeleteSession(c.ctx, s.SessionToken)
		c.absent("DeleteSession for the second time", got, err)
	}},
	{id: "SESS-19", words: "reading-never-changes-expires", requires: sessionMethods, run: func(c *clauseContext) {
		u := c.user()
		s := c.session(u.ID)
		for i := range 20 {
			c.resolves(fmt.Sprintf("read %d", i+1), s, u)
			if c.has(abilityClock) {
				c.wait(2 * time.Minute)
			}
		}
	}},
	{id: "SESS-20", words: "expired-session-is-absent-or-truthful", requires: sessionMethods, run: func(c *clauseContext) {
		u := c.user()
		truthful := func(what string, s adapter.Session) {
			got := c.getSession(s.SessionToken)
			if got == nil {
				return
			}
			c.same(what, got, &adapter.SessionAndUser{Session: s, User: *u})
			if got.Session.Expires.After(s.Expires.Add(c.harness().precision())) || got.Session.Expires.After(c.now()) {
				c.Errorf("%s: expires is %v, given was %v, now is %v", what, got.Session.Expires, s.Expires, c.now())
			}
		}
		past := c.newSession(u.ID)
		past.Expires = c.instant(-time.Hour)
		if _, err := c.a.CreateSession(c.ctx, past); err != nil {
			c.Notef("a session that has expired is refused: %v", err) // EXP-03 judges that
		} else {
			truthful("a session created expired", past)
			truthful("a session created expired, read again", past)
		}
		short := c.newSession(u.ID)
		short.Expires = c.now().Add(time.Second).UTC().Truncate(time.Millisecond)
		c.createSession(short)
		c.wait(short.Expires.Sub(c.now()) + 50*time.Millisecond + c.harness().precision())
		truthful("a session that has expired", short)
		truthful("a session that has expired, read again", short)
	}},
	{id: "SESS-21", words: "user-in-a-session-is-current", requires: []string{"CreateUser", "UpdateUser", "CreateSession"}, run: func(c *clauseContext) {
		u := c.user()
		first := c.session(u.ID)
		c.resolves("the session before the update", first, u)
		second := c.session(u.ID)
		for _, field := range userFields {
			update := c.userUpdate(u.ID, []string{field})
			update.Apply(u)
			c.updateUser(update)
			c.resolves("the session after an update of the user's "+field, first, u)
			c.resolves("another session after an update of the user's "+field, second, u)
		}
	}},
	{id: "SESS-22", words: "session-of-a-vanished-user-is-absent", requires: []string{"CreateUser", "DeleteUser", "CreateSession"}, run: func(c *clauseContext) {
		u := c.user()
		s, t := c.session(u.ID), c.session(u.ID)
		c.resolves("the session before the user's deletion", s, u)
		c.deleteUser(u.ID)
		for _, token := range []string{s.SessionToken, t.SessionToken} {
			got, err := c.a.GetSessionAndUser(c.ctx, token)
			c.absent("GetSessionAndUser of a deleted user", got, err)
		}
	}},
	{id: "SESS-23", words: "session-may-move-to-another-user", requires: sessionUpdateMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		s := c.session(a.ID)
		got, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(b.ID)})
		if err != nil {
			c.Notef("UpdateSession refuses another user: %v", err)
			c.resolves("the session after a refused move", s, a)
			return
		}
		c.Notef("UpdateSession moves a session to another user")
		s.UserID = b.ID
		if got != nil {
			c.same("UpdateSession with another user", got, &s)
		}
		c.resolves("the moved session", s, b)
		if c.works("DeleteUser") {
			c.deleteUser(a.ID)
			c.resolves("the moved session after the deletion of its first user", s, b)
			c.deleteUser(b.ID)
			c.absent("the moved session after the deletion of its second user", c.getSession(s.SessionToken), nil)
		}
	}},
	{id: "SESS-24", words: "token-created-again-carries-nothing-over", requires: sessionDeleteMethods, run: func(c *clauseContext) {
		a, b := c.user(), c.user()
		s := c.session(a.ID)
		if c.works("UpdateSession") {
			c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(c.instant(72 * time.Hour))})
		}
		c.deleteSession(s.SessionToken)
		again := c.newSession(b.ID)
		again.SessionToken, again.Expires = s.SessionToken, c.instant(30*time.Minute)
		c.same("CreateSession with a token that was deleted", c.createSession(again), &again)
		c.resolves("the session with a token that was deleted", again, b)
		if c.works("DeleteUser") {
			c.deleteUser(a.ID)
			c.resolves("the session, after the deletion of the token's first user", again, b)
		}
	}},
}

// movesInSteps moves the expires of a session by less and less, in one direction.
func (c *clauseContext) movesInSteps(u *adapter.User, sign time.Duration) {
	s := c.session(u.ID)
	for _, d := range []time.Duration{20 * time.Minute, 4 * time.Minute, 50 * time.Second, 5 * time.Second, time.Second} {
		s.Expires = s.Expires.Add(sign * d)
		c.updateSession(adapter.SessionUpdate{SessionToken: s.SessionToken, Expires: adapter.To(s.Expires)})
		c.resolves(fmt.Sprintf("the session after its expires was moved by %v", sign*d), s, u)
	}
}

// resolves compares a session and its user.
func (c *clauseContext) resolves(what string, s adapter.Session, u *adapter.User) {
	c.same(what, c.getSession(s.SessionToken), &adapter.SessionAndUser{Session: s, User: *u})
}

// throughManyUsers moves a session from user to user. An adapter that locks two users by
// locks of which there are fewer than users meets two that share one.
func (c *clauseContext) throughManyUsers() {
	many := 200
	if c.hurried {
		many = 50
	}
	users := c.someUsers(max(10, c.rounds(many)))
	s := c.session(users[0].ID)
	for i := range users {
		next := users[(i+1)%len(users)].ID
		if _, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(next)}); err != nil {
			c.Fatalf("UpdateSession moves a session from user to user, but not to user %d: %v", i+1, err)
		}
	}
}
