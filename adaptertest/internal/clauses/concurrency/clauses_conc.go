package concurrency

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var concClauses = []kit.Check{
	{ID: "CONC-01", Words: "one-use-of-a-token-wins", Races: true, Requires: []string{"CreateVerificationToken", "UseVerificationToken"}, Test: func(c *kit.Context) {
		raceForToken(c, func(t adapter.VerificationToken, h []race.Operation) error {
			winners, failed := 0, 0
			for _, m := range h {
				if d := c.Unlike(m.Result, &t); m.Won() && d != "" {
					return fmt.Errorf("the winner got another token: %s", d)
				}
				if m.Won() {
					winners++
				} else if m.Err != nil {
					failed++
				}
			}
			rest, err := c.Raw.UseVerificationToken(c.Ctx, t.Key())
			if err == nil && rest != nil {
				winners++
			}
			return race.Unless(winners == 1 || winners == 0 && err != nil,
				"%d uses, the last one after the race, got the token (%d failed), want 1", winners, failed)
		})
		race.Run(c, 4, func(n int, x1 int) race.Case { return arrangeSamePair(c, n, x1) })
	}},
	{ID: "CONC-02", Words: "losers-get-absent", Races: true, Requires: []string{"CreateVerificationToken", "UseVerificationToken"}, Test: func(c *kit.Context) {
		raceForToken(c, func(_ adapter.VerificationToken, h []race.Operation) error {
			return race.NoneFails(h, "of a token that another use has got, want absent")
		})
	}},
	{ID: "CONC-03", Words: "one-creation-of-an-email-wins", Races: true, Requires: []string{"CreateUser", "GetUser", "GetUserByEmail"}, Test: func(c *kit.Context) {
		race.Run(c, kit.Racers, func(n, _ int) race.Case {
			email := c.NewUser().Email
			calls := kit.Times(n, func() kit.Call {
				u := c.NewUser()
				u.ID, u.Email = c.ID(), email
				return kit.CreateUser(u)
			})
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
				holder, err := c.Raw.GetUserByEmail(c.Ctx, email)
				if err != nil {
					return err
				}
				winners := 0
				for _, m := range h {
					if !m.Won() {
						id := m.Args[0].(adapter.User).ID
						if !c.Harness().Declarations.AssignsIDs && (holder == nil || holder.ID != id) {
							u, err := c.Raw.GetUser(c.Ctx, id)
							if err != nil || u != nil {
								return fmt.Errorf("the user whose creation failed exists: %s, error %w", diff.Show(u), err)
							}
						}
						continue
					}
					winners++
					u := m.Result.(*adapter.User)
					stored, err := c.Raw.GetUser(c.Ctx, u.ID)
					if err != nil {
						return err
					}
					if d := c.Unlike(stored, u); d != "" {
						return fmt.Errorf("GetUser of the winner: %s", d)
					}
					if d := c.Unlike(holder, u); d != "" {
						return fmt.Errorf("GetUserByEmail after the race, against the winner: %s", d)
					}
				}
				return race.Unless(winners <= 1, "%d creations with one address succeeded", winners)
			}}
		})
	}},
	{ID: "CONC-04", Words: "one-link-of-a-pair-wins", Races: true, Requires: []string{"CreateUser", "LinkAccount", "GetUserByAccount"}, Test: func(c *kit.Context) {
		oneCreationWins(c, kit.AccountRecord, "GetUserByAccount", func(x *kit.Draft, _ []*adapter.User) (string, error) {
			owner, err := ownerOfPair(c, x.Account.Key())
			return race.UserID(owner), err
		})
	}},
	{ID: "CONC-05", Words: "one-creation-of-a-session-wins", Races: true, Requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		oneCreationWins(c, kit.SessionRecord, "GetSessionAndUser", func(x *kit.Draft, _ []*adapter.User) (string, error) {
			found, err := c.Raw.GetSessionAndUser(c.Ctx, x.Session.SessionToken)
			if err != nil || found == nil {
				return "", err
			}
			owner := found.Session.UserID
			return owner, race.Unless(found.User.ID == owner, "the session of user %q came with user %q", owner, found.User.ID)
		})
	}},
	{ID: "CONC-06", Words: "one-creation-of-a-credential-wins", Races: true, Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator"}, Test: func(c *kit.Context) {
		oneCreationWins(c, kit.AuthenticatorRecord, "GetAuthenticator", func(x *kit.Draft, users []*adapter.User) (string, error) {
			found, err := c.Raw.GetAuthenticator(c.Ctx, x.Authenticator.CredentialID)
			if err != nil {
				return "", err
			}
			owner := ""
			if found != nil {
				owner = found.UserID
			}
			if !c.Works("ListAuthenticatorsByUserID") {
				return owner, nil
			}
			for _, u := range users {
				list, err := c.Raw.ListAuthenticatorsByUserID(c.Ctx, u.ID)
				if err != nil {
					return "", err
				}
				is := func(a adapter.Authenticator) bool { return a.CredentialID == x.Authenticator.CredentialID }
				if listed := slices.ContainsFunc(list, is); listed != (u.ID == owner) {
					return owner, fmt.Errorf("the credential is owned by %q; listed for %q: %v", owner, u.ID, listed)
				}
			}
			return owner, nil
		})
	}},
	{ID: "CONC-07", Words: "update-does-not-undo-deletion", Races: true, Requires: []string{"CreateUser", "CreateSession", "UpdateSession", "DeleteSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		user := c.User()
		race.Run(c, 4, func(n, _ int) race.Case {
			s := kit.StoreRaw(c, kit.CreateSession, c.NewSession(user.ID))
			calls := alternating(n, func(int) kit.Call { return kit.DeleteSession(s.SessionToken) }, func(i int) kit.Call {
				return kit.ExtendSession(s.SessionToken, s.Expires.Add(time.Duration(i)*time.Hour))
			})
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
				for i, m := range h {
					if i%2 == 0 && m.Err != nil {
						return nil // nothing was promised
					}
				}
				found, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken)
				return race.Problems(err, race.Unless(found == nil, "the session was deleted and is there: %s", diff.Show(found)))
			}}
		})
		updatesBesideDeletion(c)
	}},
	{ID: "CONC-08", Words: "updates-of-different-fields-survive", Races: true, Requires: []string{"CreateUser", "UpdateUser", "GetUser"}, Test: func(c *kit.Context) {
		user := c.User()
		race.FieldsSurvive(c, []string{"name", "image", "emailVerified", "email"}, 2, *user, kit.GetUser(user.ID), func(field string) (kit.Call, func(*adapter.User)) {
			update := kit.UserUpdate(c, user.ID, []string{field})
			return kit.UpdateUser(update), update.Apply
		})
	}},
	{ID: "CONC-09", Words: "counter-is-one-of-those-written", Races: true, Requires: []string{"CreateUser", "CreateAuthenticator", "UpdateAuthenticatorCounter", "GetAuthenticator"}, Test: func(c *kit.Context) {
		a := c.Authenticator(c.User().ID)
		written := map[int64]bool{a.Counter: true}
		next := a.Counter
		race.Run(c, kit.Racers, func(n, _ int) race.Case {
			update := func() kit.Call { next++; return kit.UpdateAuthenticatorCounter(a.CredentialID, next) }
			return race.Case{Calls: kit.Times(n, update), Verify: func(h []race.Operation) error {
				possible := map[int64]bool{}
				for _, m := range h {
					if m.Err == nil && !m.Won() {
						return errors.New("UpdateAuthenticatorCounter returned nothing, and the authenticator is there")
					}
					if m.Err == nil {
						possible[m.Args[1].(int64)] = true
					}
				}
				if len(possible) == 0 {
					possible = written
				}
				var last int64
				for i := range 20 {
					got, err := race.Found[adapter.Authenticator](c, kit.GetAuthenticator(a.CredentialID))
					if err != nil {
						return err
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
					if d := c.Unlike(got, &want); d != "" {
						return errors.New(d)
					}
				}
				written = map[int64]bool{last: true}
				return nil
			}}
		})
	}},
	{ID: "CONC-10", Words: "one-holder-of-an-email", Races: true, Requires: []string{"CreateUser", "UpdateUser", "GetUser", "GetUserByEmail"}, Test: func(c *kit.Context) {
		users := kit.SomeUsers(c, kit.Racers/2)
		race.Run(c, kit.Racers, func(n, _ int) race.Case {
			email := c.NewUser().Email
			calls := alternating(n, func(i int) kit.Call {
				return kit.UpdateUser(adapter.UserUpdate{ID: users[i/2].ID, Email: adapter.To(email)})
			}, func(int) kit.Call { return kit.CreateUser(kit.UserAt(c, email)) })
			return race.Case{Calls: calls, Verify: func(h []race.Operation) error { return oneHolder(c, email, users, h) }}
		})
	}},
	{ID: "CONC-11", Words: "nothing-survives-its-deleted-user", Races: true, Requires: []string{"CreateUser", "DeleteUser"}, Test: func(c *kit.Context) {
		kinds := creations(c)
		if kit.SessionsMove(c) {
			kinds = append(kinds, movesTo(c))
		}
		handles := kit.Handles(c)
		round := race.AtBarrier(c, handles, kit.Racers, func(n, round int) race.Case { return arrangeDeletion(c, n, round, kinds) })
		if c.Brief && len(kinds) > 0 {
			kinds = kinds[round%len(kinds):][:1]
		}
		for i := range kinds {
			race.WithHeldAnswers(c, handles, round, func(n, round int) race.Case { return arrangeDeletion(c, n, round, kinds[i:i+1]) })
		}
		if c.Works("GetSessionAndUser") && kit.SessionsMove(c) {
			other := kit.RawUser(c).ID
			race.Run(c, 4, func(n, _ int) race.Case {
				id := kit.RawUser(c).ID
				k, _ := race.MovesBeside(c, kit.DeleteUser(id), n, id, other)
				return k
			})
		}
	}},
	{ID: "CONC-12", Words: "all-new-credentials-are-listed", Races: true, Requires: []string{"CreateUser", "CreateAuthenticator", "ListAuthenticatorsByUserID"}, Test: func(c *kit.Context) {
		race.Run(c, kit.Racers, func(n, _ int) race.Case {
			user := kit.RawUser(c)
			create := func() kit.Call { return kit.CreateAuthenticator(c.NewAuthenticator(user.ID)) }
			return race.Case{Calls: kit.Times(n, create), Verify: func(h []race.Operation) error {
				want := kit.Map(h, func(m race.Operation) adapter.Authenticator { return m.Args[0].(adapter.Authenticator) })
				if err := race.NoneFails(h, "of a credential of its own"); err != nil {
					return err
				}
				list, err := c.Raw.ListAuthenticatorsByUserID(c.Ctx, user.ID)
				return race.Problems(err,
					race.Unless(c.Unlike(list, want) == "", "%d were created; listed are %s", len(want), diff.Show(list)))
			}}
		})
	}},
	{ID: "CONC-13", Words: "safe-for-concurrent-use", Races: true, Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		race.MixedLoad(c, kit.Handles(c), 8, c.Span(200*time.Millisecond)/c.Haste, false)
	}},
	{ID: "CONC-14", Words: "histories-are-linearizable", Races: true, Test: func(c *kit.Context) {
		race.CheckHistories(c)
		if c.Works("CreateUser") && !c.Failed() {
			race.LookupsBesideWrites(c)
		}
	}},
	{ID: "CONC-15", Words: "contention-is-no-error", Races: true, Requires: []string{"CreateUser"}, Test: func(c *kit.Context) {
		handles := kit.Handles(c)
		race.MixedLoad(c, handles, 50, c.Span(300*time.Millisecond)/c.Haste, true)
		pairsOfWrites(c, handles)
		lookupsBesideDeletion(c, handles)
		sameWritesAtOnce(c, handles)
		race.CallsDoNotFail(c)
		withoutHanging(c, "an exchange of sessions between two users", func(context.Context) error { return exchangeSessions(c) })
	}},
	{ID: "CONC-16", Words: "no-deadlock-on-one-connection", Needs: []kit.Ability{kit.AbilitySingle}, Test: func(c *kit.Context) {
		single := c.Observe(c.Harness().Single(c.TB))
		withoutHanging(c, "each method alone", func(ctx context.Context) error {
			k := kit.NewFixture(c, single)
			for _, k := range c.Working(append(k.Reads(), k.Writes()...)) {
				if _, err := k.Do(ctx, single); err != nil {
					return fmt.Errorf("%s: %w", k.Method, err)
				}
			}
			return nil
		})
		withoutHanging(c, "a mixed load", func(context.Context) error {
			race.MixedLoad(c, []adapter.Adapter{single}, 16, c.Span(150*time.Millisecond), true)
			return nil
		})
	}},
	{ID: "CONC-17", Words: "unlink-and-link-agree", Races: true, Requires: []string{"CreateUser", "LinkAccount", "UnlinkAccount", "GetUserByAccount", "GetAccount"}, Test: func(c *kit.Context) {
		users := kit.SomeUsers(c, 2)
		race.Run(c, 4, func(n, round int) race.Case {
			account := kit.StoreRaw(c, kit.LinkAccount, c.NewAccount(users[0].ID))
			calls := alternating(n, func(int) kit.Call { return kit.UnlinkAccount(account.Key()) }, func(i int) kit.Call {
				a := account
				a.UserID = users[(round/2+i/2)%2].ID
				return kit.LinkAccount(a)
			})
			return race.Case{Calls: calls, Verify: func([]race.Operation) error {
				if _, err := ownerOfPair(c, account.Key()); err != nil {
					return err
				}
				if _, err := c.Raw.UnlinkAccount(c.Ctx, account.Key()); err != nil {
					return err
				}
				owner, err := ownerOfPair(c, account.Key())
				return race.Problems(race.Unless(owner == nil, "after one more unlink the pair still finds %s", diff.Show(owner)), err)
			}}
		})
	}},
	{ID: "CONC-18", Words: "all-sessions-live-and-die-with-the-user", Races: true, Requires: []string{"CreateUser", "CreateSession", "GetSessionAndUser"}, Test: func(c *kit.Context) {
		race.Run(c, 2*kit.Racers, func(n, _ int) race.Case {
			user := kit.RawUser(c)
			k := race.Case{Calls: kit.Times(n, func() kit.Call { return kit.CreateSession(c.NewSession(user.ID)) })}
			deleted := false
			k.Verify = func(h []race.Operation) error {
				for _, m := range h {
					if m.Err != nil {
						return fmt.Errorf("creating a session of its own failed: %w", m.Err)
					}
					s := m.Args[0].(adapter.Session)
					found, err := c.Raw.GetSessionAndUser(c.Ctx, s.SessionToken)
					switch {
					case err != nil:
						return err
					case deleted && found != nil:
						return fmt.Errorf("a session outlives its user: %s", diff.Show(found))
					case !deleted && found == nil:
						return fmt.Errorf("the session %q is absent", s.SessionToken)
					case !deleted:
						if d := c.Unlike(found, &adapter.SessionAndUser{Session: s, User: *user}); d != "" {
							return errors.New(d)
						}
					}
				}
				if deleted || !c.Works("DeleteUser") {
					return nil
				}
				deleted = true
				if _, err := c.Raw.DeleteUser(c.Ctx, user.ID); err != nil {
					return fmt.Errorf("DeleteUser: %w", err)
				}
				return k.Verify(h)
			}
			return k
		})
	}},
	{ID: "CONC-19", Words: "owner-and-expiry-of-a-session-survive", Races: true,
		Requires: []string{"CreateUser", "CreateSession", "UpdateSession", "GetSessionAndUser"}, Test: racedSession},
	{ID: "CONC-20", Words: "name-and-counter-of-an-authenticator-survive", Races: true,
		Requires: []string{"CreateUser", "CreateAuthenticator", "GetAuthenticator", "UpdateAuthenticatorCounter", "RenameAuthenticator"}, Test: racedAuthenticator},
	{ID: "CONC-21", Words: "two-writes-have-an-order", Races: true, Requires: []string{"CreateUser"}, Test: race.WritesAtOnce},
	{ID: "CONC-22", Words: "a-proof-belongs-to-the-address", Races: true, Requires: []string{"CreateUser", "UpdateUser", "GetUser"}, Test: racedProof},
}

// racedProof is CONC-22. Some calls change the address that a user has, and others prove the
// address that they know: the one before, or a new one.
func racedProof(c *kit.Context) {
	race.Run(c, kit.Racers, func(n, round int) race.Case {
		user := kit.RawUser(c)
		var calls []kit.Call
		for i := range n {
			address := c.NewUser().Email
			update := adapter.UserUpdate{ID: user.ID, IfEmail: user.Email, Email: adapter.To(address)}
			if i%2 == 1 {
				update = adapter.UserUpdate{ID: user.ID, IfEmail: user.Email, EmailVerified: adapter.To(c.NewUser().EmailVerified)}
				if (round/2+i/2)%2 == 0 {
					update.IfEmail, _ = calls[i-1].Args[0].(adapter.UserUpdate).Email.Get()
				}
			}
			calls = append(calls, kit.UpdateUser(update))
		}
		return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
			got, err := c.Raw.GetUser(c.Ctx, user.ID)
			if err != nil || got == nil {
				return race.Problems(err, race.Unless(got != nil, "the user is absent"))
			}
			return proofFits(c, *user, *got, h)
		}}
	})
}

// proofFits returns an error if the calls of racedProof don't explain the user: one change of
// the address succeeds, and the user has no proof but one of the new address.
func proofFits(c *kit.Context, before, got adapter.User, h []race.Operation) error {
	want, changes := before, 0
	var proofs []adapter.UserUpdate
	for _, m := range h {
		update := m.Args[0].(adapter.UserUpdate)
		switch {
		case m.Err != nil && !errors.Is(m.Err, adapter.ErrNotFound):
			return fmt.Errorf("an update failed: %w", m.Err)
		case m.Err != nil:
		case update.Email.IsSet():
			changes++
			update.Apply(&want)
			if d := c.Unlike(m.Result, &want); d != "" {
				return fmt.Errorf("what the change of the address returned: %s", d)
			}
		default:
			proofs = append(proofs, update)
		}
	}
	for _, update := range proofs {
		switch update.IfEmail {
		case want.Email:
			update.Apply(&want)
		case before.Email:
		default:
			return fmt.Errorf("an address that the user never had was proven: %q", update.IfEmail)
		}
	}
	return race.Problems(race.Unless(changes == 1, "%d changes of one address succeeded, want 1", changes),
		race.Unless(c.Unlike(&got, &want) == "", "the user after the race: %s", c.Unlike(&got, &want)))
}

// racedAuthenticator is CONC-20.
func racedAuthenticator(c *kit.Context) {
	w := c.Authenticator(c.User().ID)
	if _, err := kit.RenameAuthenticator(w.UserID, w.CredentialID, "first").Do(c.Ctx, c.Adapter); errors.Is(err, adapter.ErrUnsupported) {
		c.NotApplicable("the store has no place for names")
	}
	race.AtBarrier(c, kit.Handles(c), kit.Racers, func(n, _ int) race.Case {
		rename := func() kit.Call { return kit.RenameAuthenticator(w.UserID, w.CredentialID, c.Unique("name")) }
		return race.Case{Calls: kit.Times(n, rename), Verify: func(h []race.Operation) error {
			got, err := race.Found[adapter.Authenticator](c, kit.GetAuthenticator(w.CredentialID))
			if err != nil {
				return err
			}
			is := func(m race.Operation) bool { return got.Name != nil && *got.Name == m.Args[2] }
			one, err := oneStays(h, "authenticator", false, is)
			return race.Problems(err, race.Unless(one || err != nil,
				"the name is %s, which is none of the new names", diff.Show(got.Name)))
		}}
	})
	counter := w.Counter
	race.Pairs(c, 2, func(first, _ int) race.Case {
		counter++
		name := c.Unique("name")
		calls := []kit.Call{kit.RenameAuthenticator(w.UserID, w.CredentialID, name), kit.UpdateAuthenticatorCounter(w.CredentialID, counter)}
		if counter%2 == 0 && c.Works("TouchAuthenticator") {
			calls[1] = kit.TouchAuthenticator(w.CredentialID, counter-1, counter, c.Instant(0))
		}
		if first == 1 {
			calls[0], calls[1] = calls[1], calls[0]
		}
		want := counter
		return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
			if err := race.NoneFails(h, "beside one another"); err != nil {
				return err
			}
			got, err := race.Found[adapter.Authenticator](c, kit.GetAuthenticator(w.CredentialID))
			if err != nil {
				return err
			}
			return race.Problems(race.Unless(got.Counter == want, "the counter is %d, and %d was stored", got.Counter, want),
				race.Unless(got.Name != nil && *got.Name == name, "the name is %s, and %q was stored", diff.Show(got.Name), name))
		}}
	})
}

// pairsOfWrites makes two writes of different records at one moment, over and over: of two users, or two new ones of
// one user. They have nothing to do with each other, so neither fails.
func pairsOfWrites(c *kit.Context, handles []adapter.Adapter) {
	k := [2]*kit.Records{kit.NewFixture(c, c.Raw), kit.NewFixture(c, c.Raw)}
	writes := func(of *kit.Records, round int) []kit.Call {
		return c.Working([]kit.Call{
			kit.UpdateUser(kit.UserUpdate(c, of.User.ID, kit.UserFields)),
			kit.ExtendSession(of.Session.SessionToken, c.Instant(time.Hour)),
			kit.UpdateAuthenticatorCounter(of.Authenticator.CredentialID, of.Authenticator.Counter+int64(round)+1),
			// New records of one user.
			kit.LinkAccount(c.NewAccount(k[0].User.ID)),
			kit.CreateSession(c.NewSession(k[0].User.ID)),
			kit.CreateAuthenticator(c.NewAuthenticator(k[0].User.ID)),
		})
	}
	met, overlaps := make([]int, len(writes(k[0], 0))), 0 // how often two calls of the method overlapped, and of all
	if len(met) == 0 {
		return
	}
	p, stop := pair.New()
	defer stop()
	start := time.Now()
	most, least := 400, 5 // overlaps: of all methods together, and of each
	if c.Brief {
		most, least = 60, 1
	}
	for round := 0; ; round++ {
		elapsed := time.Since(start)
		if enough := overlaps >= c.Rounds(most) || elapsed > c.Span(kit.RaceLimit)/c.Haste; enough && round >= most/5 && (slices.Min(met) >= least || elapsed > 10*kit.RaceLimit) {
			return
		}
		i := (round / 2) % len(met)
		h := race.TwoTogether(c, p, handles, []kit.Call{writes(k[0], round)[i], writes(k[1], round)[i]})
		if race.Overlap(h) {
			met[i]++
			overlaps++
		}
		if err := race.NoneFails(h, "while another record is written"); err != nil {
			c.Fatalf("%v", err)
		}
	}
}

// exchangeSessions gives the sessions of two users to one another at one moment, over and over, where a session may
// change hands. Both updates take something of both users, in opposite order.
func exchangeSessions(c *kit.Context) error {
	if !kit.SessionsMove(c) {
		return nil
	}
	users := kit.SomeUsers(c, 2)
	sessions := []adapter.Session{c.Session(users[0].ID), c.Session(users[1].ID)}
	move := func(session, to int) kit.Call { return kit.MoveSession(sessions[session].SessionToken, users[to].ID) }
	p, stop := pair.New()
	defer stop()
	least, most := 50, 400
	if c.Brief {
		least = 10
	}
	start := time.Now()
	for round := 0; round < least || round < c.Rounds(most) && time.Since(start) < c.Span(kit.RaceTime); round++ {
		to := round % 2
		h := race.TwoTogether(c, p, []adapter.Adapter{c.Adapter}, []kit.Call{move(0, 1-to), move(1, to)})
		if err := race.NoneFails(h, "beside the move of the other session"); err != nil {
			return err
		}
	}
	return nil
}

// racedSession is CONC-19.
func racedSession(c *kit.Context) {
	users := kit.SomeUsers(c, 2)
	first := c.Session(users[0].ID)
	extendedByMany(c, first.SessionToken)
	if !kit.SessionsMove(c) {
		c.Notef("a session keeps its user")
		return
	}
	current, owner := c.GetSession(first.SessionToken).Session, 0
	hours := 1
	race.Pairs(c, 2, func(a, _ int) race.Case {
		owner = 1 - owner
		hours = hours%300 + 1
		expires := c.Instant(time.Duration(hours) * time.Hour)
		calls := []kit.Call{kit.MoveSession(first.SessionToken, users[owner].ID), kit.ExtendSession(first.SessionToken, expires)}
		if a == 1 {
			calls[0], calls[1] = calls[1], calls[0]
		}
		return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
			want, failed := current, false
			for _, m := range h {
				if m.Err == nil {
					m.Args[0].(adapter.SessionUpdate).Apply(&want)
				}
				failed = failed || m.Err != nil
			}
			got, err := race.Found[adapter.SessionAndUser](c, kit.GetSessionAndUser(first.SessionToken))
			if err != nil {
				return err
			}
			if got.User.ID != got.Session.UserID {
				return fmt.Errorf("the session of user %q came with user %q", got.Session.UserID, got.User.ID)
			}
			if d := c.Unlike(&got.Session, &want); d != "" && !failed {
				return fmt.Errorf("after successful updates of the owner and of the expiry: %s", d)
			}
			current = got.Session
			return nil
		}}
	})
	race.Run(c, 2, func(_, _ int) race.Case {
		owner = 1 - owner
		move := kit.MoveSession(first.SessionToken, users[owner].ID)
		return race.Case{Calls: []kit.Call{kit.GetSessionAndUser(first.SessionToken), move}, Verify: func(h []race.Operation) error {
			read := h[slices.IndexFunc(h, func(m race.Operation) bool { return m.Method == "GetSessionAndUser" })]
			got, _ := read.Result.(*adapter.SessionAndUser)
			if read.Err != nil || got == nil {
				return fmt.Errorf("GetSessionAndUser while the session moves: got %s, error %w", diff.Show(read.Result), read.Err)
			}
			return race.Unless(got.User.ID == got.Session.UserID,
				"the session of user %q came with user %q", got.Session.UserID, got.User.ID)
		}}
	})
}

// extendedByMany lets calls extend one session at one moment. None finds it absent, and one of the new expiries stays.
func extendedByMany(c *kit.Context, token string) {
	minutes := 0
	extend := func() kit.Call {
		minutes = minutes%5000 + 1
		return kit.ExtendSession(token, c.Instant(time.Duration(minutes)*time.Minute))
	}
	alone := kit.Of[*adapter.Session](c, extend())
	race.AtBarrier(c, kit.Handles(c), kit.Racers, func(n, _ int) race.Case {
		return race.Case{Calls: kit.Times(n, extend), Verify: func(h []race.Operation) error {
			got, err := race.Found[adapter.SessionAndUser](c, kit.GetSessionAndUser(token))
			if err != nil {
				return err
			}
			one, err := oneStays(h, "session", alone == nil, func(m race.Operation) bool {
				want := got.Session
				m.Args[0].(adapter.SessionUpdate).Apply(&want)
				return c.Unlike(&got.Session, &want) == ""
			})
			return race.Problems(err, race.Unless(one || err != nil,
				"the session expires %s, which is none of the new expiries", diff.Show(got.Session.Expires)))
		}}
	})
}

// oneStays reports whether one of the updates of a record stays, or one has failed. Each
// returns the record, unless they return nothing.
func oneStays(h []race.Operation, record string, nothing bool, stays func(m race.Operation) bool) (one bool, err error) {
	for _, m := range h {
		if m.Err == nil && !m.Won() && !nothing {
			return false, fmt.Errorf("%s returned nothing, and the %s is there", m.Method, record)
		}
		one = one || m.Err != nil || stays(m)
	}
	return one, nil
}

// updatesBesideDeletion updates a user or an authenticator at the moment when it is
// deleted. It must stay deleted, whatever the update reports.
func updatesBesideDeletion(c *kit.Context) {
	var races []func(n int) race.Case
	meet := func(arrange func() (update, deletion kit.Call, look kit.Keys)) {
		races = append(races, func(n int) race.Case {
			update, deletion, look := arrange()
			return race.Case{Calls: oneAmong(deletion, update, n), Verify: func(h []race.Operation) error {
				if h[1].Err != nil {
					return nil //nolint:nilerr // nothing was promised
				}
				if err := kit.NothingOf(c, look); err != nil {
					return fmt.Errorf("%s beside %s: %w", update.Method, deletion.Method, err)
				}
				return nil
			}}
		})
	}
	if c.Works("UpdateUser") && c.Works("DeleteUser") {
		meet(func() (update, deletion kit.Call, look kit.Keys) {
			u := kit.RawUser(c)
			return kit.UpdateUser(kit.UserUpdate(c, u.ID, []string{"name"})), kit.DeleteUser(u.ID),
				kit.Keys{Users: []string{u.ID}, Emails: []string{u.Email}}
		})
	}
	owner := kit.RawUser(c).ID
	updates := func(w adapter.Authenticator) []kit.Call {
		return []kit.Call{
			kit.UpdateAuthenticatorCounter(w.CredentialID, w.Counter+1),
			kit.RenameAuthenticator(owner, w.CredentialID, c.Unique("name")),
			kit.TouchAuthenticator(w.CredentialID, w.Counter, w.Counter+1, c.Instant(0)),
		}
	}
	for i, update := range updates(adapter.Authenticator{}) {
		if !c.Works("DeleteAuthenticator") || !c.Works(update.Method) {
			continue
		}
		meet(func() (kit.Call, kit.Call, kit.Keys) {
			r := kit.NewDraft(c, kit.AuthenticatorRecord, owner)
			r.Store(c, c.Raw)
			return updates(r.Authenticator)[i], r.Remove(), kit.Keys{Credentials: []string{r.Authenticator.CredentialID}}
		})
	}
	if len(races) > 0 {
		race.Each(c, kit.Handles(c), 4, races)
	}
}

// sameWritesAtOnce creates one record of each kind from two callers at one moment, and removes it in the same way.
// The creation that comes second may be a conflict; a removal that comes second finds nothing, which is no error.
func sameWritesAtOnce(c *kit.Context, handles []adapter.Adapter) {
	owner := kit.RawUser(c).ID
	var all []func(n int) race.Case
	for _, kind := range kit.RecordKinds {
		for _, removes := range []bool{false, true} {
			if !c.Works(kind.Create) || removes && !c.Works(kit.NewDraft(c, kind.Kind, owner).Remove().Method) {
				continue
			}
			all = append(all, func(n int) race.Case {
				r := kit.NewDraft(c, kind.Kind, owner)
				write := r.Create()
				if removes {
					r.Store(c, c.Raw)
					write = r.Remove()
				}
				return race.Case{Calls: slices.Repeat([]kit.Call{write}, n), Verify: func(h []race.Operation) error {
					for _, m := range h {
						if m.Err != nil && (removes || !errors.Is(m.Err, adapter.ErrConflict)) {
							return fmt.Errorf("%s, beside the same call: %w", m.Method, m.Err)
						}
					}
					return nil
				}}
			})
		}
	}
	race.Each(c, handles, 4, all)
}

// lookupsBesideDeletion makes lookups at the moment when their user is deleted. Each finds what was there, or
// nothing: it does not fail because one of the records that it reads has gone before another.
func lookupsBesideDeletion(c *kit.Context, handles []adapter.Adapter) {
	if !c.Works("DeleteUser") {
		return
	}
	var races []func(n int) race.Case
	for _, lookup := range lookupsOfStored(c, "GetUserByEmail", "GetUserByAccount", "GetSessionAndUser", "ListAccountsByUserID",
		"ListSessionsByUserID", "ListAuthenticatorsByUserID") {
		races = append(races, func(n int) race.Case {
			r, read := storedFor(c, lookup)
			user := &r.User
			return race.Case{Calls: oneAmong(kit.DeleteUser(user.ID), read, n), Verify: func(h []race.Operation) error {
				for _, m := range h {
					found, _ := m.Result.(*adapter.User)
					if s, ok := m.Result.(*adapter.SessionAndUser); ok && s != nil {
						found = &s.User
					}
					if found != nil && c.Unlike(found, user) != "" {
						return fmt.Errorf("%s, beside a deletion of the user: got %s, want %s or nothing",
							m.Method, diff.Show(found), diff.Show(user))
					}
				}
				return race.NoneFails(h, "beside a deletion of the user")
			}}
		})
	}
	if len(races) > 0 {
		race.Each(c, handles, len(races), races)
	}
}

// The calls of races.

// raceForToken lets several uses of one token race.
func raceForToken(c *kit.Context, judge func(t adapter.VerificationToken, h []race.Operation) error) {
	race.Run(c, kit.Racers, func(n, _ int) race.Case {
		t := kit.StoreRaw(c, kit.CreateVerificationToken, c.NewToken())
		uses := slices.Repeat([]kit.Call{kit.UseVerificationToken(t.Key())}, n)
		return race.Case{Calls: uses, Exact: true, Verify: func(h []race.Operation) error { return judge(t, h) }}
	})
}

// arrangeSamePair lets several calls create one verification token. Whether the later
// ones are refused or replace it, it can be used once.
func arrangeSamePair(c *kit.Context, n, _ int) race.Case {
	t := c.NewToken()
	calls := slices.Repeat([]kit.Call{kit.CreateVerificationToken(t)}, n)
	return race.Case{Exact: true, Calls: calls, Verify: func(h []race.Operation) error {
		created := slices.ContainsFunc(h, func(m race.Operation) bool { return m.Err == nil })
		uses := 0
		for range 3 {
			got, err := c.Raw.UseVerificationToken(c.Ctx, t.Key())
			if err != nil {
				return err
			}
			if got != nil {
				uses++
			}
		}
		return race.Unless(uses == 1 || uses == 0 && !created,
			"a pair that was created by several calls at once could be used %d times", uses)
	}}
}

// oneCreationWins lets users create a record with one key, each with contents of its own. ownerOf
// returns the owner that the lookup finds.
func oneCreationWins(c *kit.Context, kind kit.Kind, lookup string, ownerOf func(x *kit.Draft, users []*adapter.User) (string, error)) {
	users := kit.SomeUsers(c, kit.Racers)
	race.Run(c, kit.Racers, func(n, _ int) race.Case {
		x := kit.NewDraft(c, kind, "")
		var calls []kit.Call
		for i := range n {
			d := *x
			d.Give(users[i].ID)
			d.Session.Expires = d.Session.Expires.Add(time.Duration(i) * time.Minute)
			d.Authenticator.Counter = int64(i + 1)
			calls = append(calls, d.Create())
		}
		return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
			owner, err := ownerOf(x, users[:n])
			return race.Problems(err, oneWinner(h, users, owner, lookup))
		}}
	})
}

// oneWinner judges a race in which user i made call i for a record that only one of them may own.
func oneWinner(h []race.Operation, users []*adapter.User, owner, lookup string) error {
	winner := ""
	for i, m := range h {
		if m.Err != nil {
			continue
		}
		if winner != "" {
			return fmt.Errorf("users %q and %q both succeeded", winner, users[i].ID)
		}
		winner = users[i].ID
	}
	return race.Unless(winner == "" || winner == owner,
		"user %q succeeded, %s says the owner is %q", winner, lookup, owner)
}

// ownerOfPair returns the owner of a pair, and an error if its two lookups differ.
func ownerOfPair(c *kit.Context, key adapter.AccountKey) (*adapter.User, error) {
	owner, err := c.Raw.GetUserByAccount(c.Ctx, key)
	if err != nil || !c.Works("GetAccount") {
		return owner, err
	}
	a, err := c.Raw.GetAccount(c.Ctx, key.ProviderAccountID, key.Provider)
	stored := ""
	if a != nil {
		stored = a.UserID
	}
	return owner, race.Problems(err, race.Unless(err != nil || stored == race.UserID(owner),
		"GetAccount says %q owns the pair, GetUserByAccount %q", stored, race.UserID(owner)))
}

// oneHolder judges a race for an address among users and new users.
func oneHolder(c *kit.Context, email string, users []*adapter.User, h []race.Operation) error {
	ids := map[string]bool{}
	for _, u := range users {
		ids[u.ID] = true
	}
	winners := 0
	for _, m := range h {
		if m.Won() {
			winners++
			ids[m.Result.(*adapter.User).ID] = true
		}
	}
	if winners > 1 {
		return fmt.Errorf("%d calls for one address succeeded", winners)
	}
	found, err := c.Raw.GetUserByEmail(c.Ctx, email)
	if err != nil {
		return err
	}
	if found != nil {
		ids[found.ID] = true
	}
	holder := ""
	for _, id := range kit.SortedKeys(ids) {
		u, err := c.Raw.GetUser(c.Ctx, id)
		if err != nil || u == nil {
			return fmt.Errorf("GetUser(%q): got %s, error %w", id, diff.Show(u), err)
		}
		if u.Email == email {
			if holder != "" {
				return fmt.Errorf("users %q and %q both hold %q", holder, id, email)
			}
			holder = id
		}
		byEmail, err := c.Raw.GetUserByEmail(c.Ctx, u.Email)
		if err != nil {
			return err
		}
		if d := c.Unlike(byEmail, u); d != "" {
			return fmt.Errorf("GetUserByEmail of the address of user %q: %s", id, d)
		}
	}
	return race.Problems(
		race.Unless(race.UserID(found) == holder, "the record of %q holds the address, GetUserByEmail finds %q", holder, race.UserID(found)),
		race.Unless(winners == 0 || holder != "", "a call succeeded and nobody holds the address"))
}

// arrangeDeletion lets calls that give a user a record race with the user's deletion.
func arrangeDeletion(c *kit.Context, n, round int, kinds []func(id string, look *kit.Keys) kit.Call) race.Case {
	user := kit.UserWithID(c)
	stored, err := c.Raw.CreateUser(c.Ctx, user)
	id := kit.MustRecord(c, "CreateUser", stored, err).ID
	look := kit.Keys{Users: []string{id}, Emails: []string{user.Email}}
	if len(kinds) == 0 {
		c.NotApplicable("the adapter creates nothing for a user")
	}
	calls := make([]kit.Call, n)
	for i := range calls {
		if calls[i] = kit.DeleteUser(id); i != n/2 {
			calls[i] = kinds[(round/2+i)%len(kinds)](id, &look)
		}
	}
	return race.Case{Calls: calls, Verify: func(h []race.Operation) error {
		if deletion := h[n/2]; deletion.Err != nil {
			return nil //nolint:nilerr // nothing was promised
		}
		for _, m := range h {
			if errors.Is(m.Err, adapter.ErrConflict) {
				return fmt.Errorf("%s of a record with a free key, beside %s of its owner, is refused as a conflict: %w", m.Method, h[n/2].Method, m.Err)
			}
			if u, ok := m.Args[0].(adapter.SessionUpdate); ok && m.Err != nil { // its session stays with the other user
				look.Sessions = slices.DeleteFunc(look.Sessions, func(token string) bool { return token == u.SessionToken })
			}
		}
		if err := kit.NothingOf(c, look); err != nil {
			return err
		}
		return kit.Inherited(c, id, look)
	}}
}

// movesTo returns a call that gives a session of another user to a user. It adds the session to look.
func movesTo(c *kit.Context) func(id string, look *kit.Keys) kit.Call {
	from := kit.RawUser(c).ID
	return func(id string, look *kit.Keys) kit.Call {
		s := kit.StoreRaw(c, kit.CreateSession, c.NewSession(from))
		look.Add(kit.Record{Kind: kit.SessionRecord, Key: s.SessionToken})
		return kit.MoveSession(s.SessionToken, id)
	}
}

// creations returns the calls that create a record of a user. Each adds the record's key to look.
func creations(c *kit.Context) []func(id string, look *kit.Keys) kit.Call {
	var all []func(id string, look *kit.Keys) kit.Call
	for _, kind := range kit.RecordKinds {
		if kind.Kind == kit.UserRecord || kind.Kind == kit.VerificationTokenRecord || !c.Works(kind.Create) {
			continue
		}
		all = append(all, func(id string, look *kit.Keys) kit.Call {
			r := kit.NewDraft(c, kind.Kind, id)
			look.Add(r.Name())
			return r.Create()
		})
	}
	return all
}

// withoutHanging runs f and reports a breach if f fails, or if no observed call returns for so long that the calls
// must be waiting for each other. A slow machine does not look like a deadlock.
func withoutHanging(c *kit.Context, what string, f func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(c.Ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		defer func() { done <- err }() // also when f ends the clause
		err = f(ctx)
	}()
	watchdog := time.NewTicker(kit.Deadline)
	defer watchdog.Stop()
	idle := c.Trace.Idle()
	for {
		select {
		case err := <-done:
			if err != nil {
				c.Errorf("%s: %v", what, err)
			}
			if !kit.GoesOn(c) {
				runtime.Goexit()
			}
			return
		case <-watchdog.C:
			if idle() {
				c.Fatalf("%s hangs: no call has returned for %v", what, kit.Deadline)
			}
		}
	}
}
