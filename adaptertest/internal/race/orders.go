package race

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Two calls at the same time have the effect of the same calls one after the other, in one of the two orders. The
// calls are drawn from all methods that work on the records of a fixture.

// contest is two calls that compete for records of two users. The first user has a second
// authenticator, which is connected to the same account.
type contest struct {
	*kit.Records
	other adapter.User // the second user
	email string       // an address that no user has
	moves bool         // sessions can go to another user

	finished []kit.Lookup // the results of the calls that end the case
}

func newContest(c *kit.Context, moves bool) *contest {
	k := &contest{Records: kit.NewFixture(c, c.Raw), other: *kit.RawUser(c), email: c.NewUser().Email, moves: moves}
	k.New.Token.Identifier = k.Token.Identifier
	twin := c.NewAuthenticator(k.User.ID)
	twin.ProviderAccountID = k.Authenticator.ProviderAccountID
	if kit.Connects(c) {
		kit.StoreRaw(c, kit.CreateAuthenticator, twin)
		k.Authenticators = append(k.Authenticators, twin)
	}
	return k
}

// model returns a model that holds the records.
func (k *contest) model(c *kit.Context) *model.Model {
	m := faulted.ModelOf(k.Records, c)
	m.Users[k.other.ID] = k.other
	for _, twin := range k.Authenticators {
		m.Authenticators[twin.CredentialID] = twin
	}
	return m
}

// keys returns the keys of all records, except verification tokens.
func (k *contest) keys() kit.Keys {
	look := k.Keys()
	look.Users = append(look.Users, k.other.ID)
	look.Emails = append(look.Emails, k.other.Email, k.email)
	for _, twin := range k.Authenticators {
		look.Credentials = append(look.Credentials, twin.CredentialID)
	}
	return look
}

// writesOf returns the writes of one of two callers. Both compete for the same free
// keys: the first for the user of the fixture, the second for the other user.
func (k *contest) writesOf(c *kit.Context, caller int) []kit.Call {
	owner := []string{k.User.ID, k.other.ID}[caller]
	step := int64(caller + 1)
	change := c.NewUser()
	user, account, session, token, authenticator, up := k.New.User, k.New.Account, k.New.Session, k.New.Token, k.New.Authenticator, k.SignUp
	user.ID, user.Email = c.ID(), k.email
	account.UserID, session.UserID, authenticator.UserID = owner, owner, owner
	token.Expires = token.Expires.Add(time.Duration(step) * time.Minute)
	up.User.ID, up.User.Email = c.ID(), k.email
	up.Account.Provider, up.Account.ProviderAccountID = account.Provider, account.ProviderAccountID
	up.Authenticator.CredentialID, up.Authenticator.ProviderAccountID = authenticator.CredentialID, account.ProviderAccountID
	successor := k.New.User
	successor.ID, successor.Email = c.ID(), k.User.Email
	tokens := c.NewAccount("")
	calls := []kit.Call{
		kit.CreateUser(user),
		kit.CreateUser(successor),
		kit.UpdateUser(adapter.UserUpdate{ID: k.User.ID, Name: adapter.To(change.Name)}),
		kit.UpdateUser(adapter.UserUpdate{ID: k.User.ID, Image: adapter.To(change.Image)}),
		kit.UpdateUser(adapter.UserUpdate{ID: k.User.ID, IfEmail: k.User.Email, EmailVerified: adapter.To(change.EmailVerified)}),
		kit.UpdateUser(adapter.UserUpdate{ID: owner, Email: adapter.To(k.email)}),
		kit.DeleteUser(owner),
		kit.LinkAccount(account),
		kit.UnlinkAccount(k.Account.Key()),
		kit.CreateSession(session),
		kit.ExtendSession(k.Session.SessionToken, session.Expires.Add(time.Duration(step)*time.Hour)),
		kit.DeleteSession(k.Session.SessionToken),
		kit.CreateVerificationToken(token),
		kit.UseVerificationToken(k.Token.Key()),
		kit.CreateAuthenticator(authenticator),
		kit.UpdateAuthenticatorCounter(k.Authenticator.CredentialID, k.Authenticator.Counter+step),
		up.Call(),
		up.WithoutPasskey(),
		kit.UpdateAccount(adapter.AccountUpdate{Provider: k.Account.Provider, ProviderAccountID: k.Account.ProviderAccountID, AccessToken: adapter.To(tokens.AccessToken)}),
		kit.UpdateAccount(adapter.AccountUpdate{Provider: k.Account.Provider, ProviderAccountID: k.Account.ProviderAccountID, RefreshToken: adapter.To(tokens.RefreshToken)}),
		kit.DeleteSessionsByUserID(k.User.ID, ""),
		kit.DeleteVerificationTokens(k.Token.Identifier),
		kit.RenameAuthenticator(k.User.ID, k.Authenticator.CredentialID, c.Unique("name")),
		kit.TouchAuthenticator(k.Authenticator.CredentialID, k.Authenticator.Counter, k.Authenticator.Counter+step, k.New.Touched),
		kit.DeleteAuthenticator(k.User.ID, k.Authenticator.CredentialID, false),
		kit.CreateUserWithPassword(user, kit.NewPassword(c, "")),
		kit.SetPassword(kit.NewPassword(c, owner)),
		kit.SwapPassword(k.Password, kit.NewPassword(c, k.User.ID)),
		kit.DeletePassword(k.User.ID, false),
	}
	for _, twin := range k.Authenticators {
		calls = append(calls, kit.DeleteAuthenticator(k.User.ID, twin.CredentialID, false))
	}
	if k.moves {
		calls = append(calls, kit.MoveSession(k.Session.SessionToken, k.other.ID))
	}
	return c.Working(calls)
}

// lookups returns calls that read what the writes change.
func (k *contest) lookups(c *kit.Context) []kit.Call {
	return c.Working(append(k.Reads(),
		kit.GetUserByEmail(k.email), kit.GetUserByAccount(k.New.Account.Key()), kit.GetSessionAndUser(k.New.Session.SessionToken)))
}

// WritesAtOnce makes pairs of writes at the same time. They have an order.
func WritesAtOnce(c *kit.Context) {
	pairsOfCalls(c, func(k *contest) []kit.Call { return k.writesOf(c, 1) },
		func(k *contest, h []Operation) error { return haveAnOrder(c, k, h, false) })
}

// updateMethods are the methods that return the record which they have changed.
var updateMethods = []string{"UpdateUser", "UpdateAccount", "UpdateSession", "UpdateAuthenticatorCounter", "RenameAuthenticator", "TouchAuthenticator",
	"SetPassword", "SwapPassword"}

// LookupsBesideWrites makes a write, and a lookup or an update, at the same time. They have
// an order, which also explains the record that the update returns.
func LookupsBesideWrites(c *kit.Context) {
	if c.Harness().Declarations.EventualReads > 0 {
		c.Notef("no lookups beside writes: reads are eventual")
		return
	}
	pairsOfCalls(c, func(k *contest) []kit.Call {
		updates := slices.DeleteFunc(k.writesOf(c, 1), func(m kit.Call) bool { return !slices.Contains(updateMethods, m.Method) })
		return append(k.lookups(c), updates...)
	}, func(k *contest, h []Operation) error { return haveAnOrder(c, k, h, true) })
}

// CallsDoNotFail makes a write and any other call at the same time. Neither fails, unless it is refused.
func CallsDoNotFail(c *kit.Context) {
	all := func(k *contest) []kit.Call { return append(k.writesOf(c, 1), k.lookups(c)...) }
	pairsOfCalls(c, all, func(k *contest, h []Operation) error {
		for i, m := range h {
			beside, s := h[1-i], k.model(c)
			_, _ = beside.Do(c.Ctx, s)
			if ambiguous(m) && !errors.Is(m.Err, adapter.ErrUnsupported) && !mayRefuse(s, m, beside) {
				return fmt.Errorf("%s failed beside %s: %w", m.Method, beside.Method, m.Err)
			}
		}
		return nil
	})
}

// pairsOfCalls makes each write of the first caller at the same time as each call of the second, in random order and
// for a limited time: at the barrier, then with the first call stopped after each of its steps.
func pairsOfCalls(c *kit.Context, second func(*contest) []kit.Call, verify func(*contest, []Operation) error) {
	moves, handles := kit.SessionsMove(c), kit.Handles(c)
	sample := newContest(c, moves)
	pairs, related := pairsOf(c, sample.writesOf(c, 0), second(sample))
	if len(pairs) == 0 {
		c.Notef("the adapter has no two calls to make at the same time")
		return
	}
	arrange := func(n int) Case {
		k, p := newContest(c, moves), pairs[n%len(pairs)]
		calls := []kit.Call{k.writesOf(c, 0)[p[0]], second(k)[p[1]]}
		return Case{Calls: calls, Verify: func(h []Operation) error { return verify(k, h) }}
	}
	runner, stop := pair.New()
	defer stop()
	n, calling := 0, time.Duration(0)
	for start := time.Now(); n < c.Rounds(kit.FewestOrders) || more(c, n < len(pairs), start); n++ {
		which := n
		if n%3 > 0 && related > 0 { // the related pairs more often
			which = n % related
		}
		k := arrange(which)
		history := TwoTogether(c, runner, handles, k.Calls)
		calling += max(history[0].To, history[1].To)
		judge(c, k, history, fmt.Sprintf("pair %d, at the barrier", n+1))
	}
	c.Notef("%d pairs of calls at the barrier", n)
	// The second call has several times as long as it usually takes: one that waits for a
	// lock of the first would wait for ever.
	pause := min(kit.HeldPause, max(time.Millisecond, 5*calling/time.Duration(n)))
	least := c.Rounds(kit.FewestOrders)
	if !c.Hurried {
		least = c.Rounds(max(kit.FewestOrders, related))
	}
	n = 0
	for start := time.Now(); n < min(least, len(pairs)) || n < len(pairs) && more(c, true, start); n++ {
		stepByStepWith(c, handles[0], oneOf(c, handles), 0, pause, func() Case { return arrange(n) })
	}
	c.Notef("%d of %d pairs of calls step by step", n, len(pairs))
}

// pairsOf returns the positions of all pairs of a call of the first and one of the second caller, in random order: at
// first one of each two methods of the same kind of record, then the other pairs of these methods, and last those
// that are not related. It returns the number of related pairs.
func pairsOf(c *kit.Context, first, second []kit.Call) (pairs [][2]int, related int) {
	for i := range first {
		for j := range second {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	c.Mu.Lock()
	c.Rand.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	c.Mu.Unlock()
	rank, met := map[[2]int]int{}, map[[2]string]bool{}
	for _, p := range pairs {
		one, _ := kit.MethodNamed(first[p[0]].Method)
		other, _ := kit.MethodNamed(second[p[1]].Method)
		names := [2]string{one.Name, other.Name}
		if one.Kind != other.Kind && !slices.Contains(names[:], "DeleteUser") {
			rank[p] = 2
			continue
		}
		if related++; met[names] {
			rank[p] = 1
		}
		met[names] = true
	}
	slices.SortStableFunc(pairs, func(a, b [2]int) int { return rank[a] - rank[b] })
	return pairs, related
}

// more reports whether there is time for another pair of calls: twice as much if some have not been made yet.
func more(c *kit.Context, unmade bool, start time.Time) bool {
	limit := c.Span(kit.OrdersTime)
	if c.Hurried {
		limit = c.Span(kit.HurriedTime)
	}
	if unmade {
		limit *= 2
	}
	return time.Since(start) < limit
}

// haveAnOrder returns an error if neither order of the two calls explains what happened,
// with exact also the record that an update returned.
func haveAnOrder(c *kit.Context, k *contest, h []Operation, exact bool) error {
	h, look := slices.Clone(h), k.keys()
	for i := range h {
		look.Users = append(look.Users, createdIDs(h[i].Call)...)
		h[i].Call = asAssigned(h[i])
		look.Users = append(look.Users, createdIDs(h[i].Call)...)
	}
	after, err := kit.Snapshot(c.Ctx, c, c.Raw, look)
	if err != nil {
		return err
	}
	if k.finished == nil {
		if k.finished, err = finish(c, c.Raw, k, look); err != nil {
			return err
		}
	}
	var neither []string
	for _, order := range [][]Operation{{h[0], h[1]}, {h[1], h[0]}} {
		why := unexplained(c, k, order, look, append(after, k.finished...), exact)
		if why == "" {
			return nil
		}
		neither = append(neither, fmt.Sprintf("with %s as the first: %s", order[0].Method, why))
	}
	return fmt.Errorf("no order of the two calls explains what happened\n  %s", strings.Join(neither, "\n  "))
}

// unexplained says why the calls in this order do not explain their outcomes and the
// lookups afterwards. It returns nothing if they do.
func unexplained(c *kit.Context, k *contest, order []Operation, look kit.Keys, after []kit.Lookup, exact bool) string {
	states := []*model.Model{k.model(c)}
	for i, m := range order {
		var next []*model.Model
		for _, s := range states {
			next = append(next, outcomes(c, s, m, order[1-i], exact && i == 1)...)
		}
		if states = next; len(states) == 0 {
			return fmt.Sprintf("the outcome of %s is not possible", m.Method)
		}
	}
	why := ""
	for _, s := range states {
		want := faulted.SnapshotOfModel(c, s, look)
		finished, err := finish(c, s, k, look)
		if err != nil {
			c.Fatalf("the model fails: %v", err)
		}
		if why = strings.Join(kit.Differences(c, after, append(want, finished...)), "; "); why == "" {
			break
		}
	}
	return why
}

// outcomes returns the states that the call may leave if its outcome is possible in the state, or none. If exact is
// set, the content of a record that an update returns is judged. That of the first call is not, because the adapter
// may read it after the second one.
func outcomes(c *kit.Context, s *model.Model, m, beside Operation, exact bool) []*model.Model {
	done := s.Clone()
	if t, ok := m.Args[0].(adapter.VerificationToken); ok && (m.Err == nil || ambiguous(m)) {
		delete(done.Tokens, t.Key()) // replacing the token is allowed [VTOK-10]
	}
	want, refused := m.Do(c.Ctx, done)
	switch {
	case ambiguous(m) && refused != nil:
		return []*model.Model{s}
	case ambiguous(m):
		return []*model.Model{s, done} // CONC-15 judges whether it may fail
	case m.Err != nil && (sameKind(s, m, refused) || mayRefuse(s, m, beside)):
		return []*model.Model{s}
	case m.Err != nil || refused != nil || !possible(c, m, want, beside):
		return nil
	case exact && slices.Contains(updateMethods, m.Method) && !kit.IsNilRecord(m.Result) && c.Unlike(m.Result, want) != "":
		return nil
	}
	return []*model.Model{done}
}

// sameKind reports whether a call was refused with the sentinel error that the model has for
// it. If its user is absent too, there may be two reasons to refuse it. [ERR-11]
func sameKind(s *model.Model, m Operation, refused error) bool {
	user := ""
	switch x := m.Args[0].(type) {
	case adapter.Account:
		user = x.UserID
	case adapter.Session:
		user = x.UserID
	case adapter.Authenticator:
		user = x.UserID
	case adapter.Password:
		user = x.UserID
	case adapter.UserUpdate:
		user = x.ID
	}
	if _, there := s.Users[user]; user != "" && !there {
		return refused != nil
	}
	return errors.Is(m.Err, adapter.ErrConflict) && errors.Is(refused, adapter.ErrConflict) ||
		errors.Is(m.Err, adapter.ErrNotFound) && errors.Is(refused, adapter.ErrNotFound)
}

// mayRefuse reports whether a write may be refused although it would succeed alone.
func mayRefuse(s *model.Model, m, beside Operation) bool {
	switch m.Method {
	case "CreateUser", "CreateUserWithAccount", "CreateUserWithPassword", "UpdateUser", "LinkAccount", "CreateSession", "CreateAuthenticator",
		"CreateVerificationToken":
		return errors.Is(m.Err, adapter.ErrConflict) && !removes(beside.Call) // two writes for one key may refuse each other
	case "UpdateSession":
		return m.Args[0].(adapter.SessionUpdate).UserID.IsSet() // [SESS-23]
	case "UpdateAuthenticatorCounter":
		return m.Args[1].(int64) < s.Authenticators[m.Args[0].(string)].Counter // [AUTHN-14]
	}
	return false
}

// removes reports whether a call removes records, and so takes no key.
func removes(m kit.Call) bool {
	return strings.HasPrefix(m.Method, "Delete") || m.Method == "UnlinkAccount" || m.Method == "UseVerificationToken"
}

// possible reports whether a call may return this, if alone it would return what is wanted.
func possible(c *kit.Context, m Operation, want any, beside Operation) bool {
	deletesMany := func(m Operation) bool {
		return m.Method == "DeleteUser" || m.Method == "DeleteSessionsByUserID" || m.Method == "DeleteVerificationTokens"
	}
	switch m.Method {
	case "CreateUser", "CreateUserWithAccount", "CreateUserWithPassword", "UpdateUser", "CreateSession", "CreateAuthenticator", "UpdateAccount",
		"UpdateAuthenticatorCounter", "RenameAuthenticator", "TouchAuthenticator", "SetPassword", "SwapPassword", "UseVerificationToken":
		return kit.IsNilRecord(m.Result) == kit.IsNilRecord(want)
	case "LinkAccount", "CreateVerificationToken", "UpdateSession":
		return kit.IsNilRecord(m.Result) || !kit.IsNilRecord(want) // it need not return the record
	case "DeleteUser", "UnlinkAccount", "DeleteSession", "DeleteAuthenticator", "DeletePassword":
		return true // nor do these, and both calls may have found it
	case "DeleteSessionsByUserID", "DeleteVerificationTokens":
		return deletesMany(beside) || m.Result == want
	case "ListAccountsByUserID", "ListSessionsByUserID", "ListAuthenticatorsByUserID":
		return deletesMany(beside) || c.Unlike(m.Result, want) == ""
	}
	return c.Unlike(m.Result, want) == ""
}

// finish deletes the verification tokens of the fixture and tries to use each twice, deletes the two users, and makes
// all lookups again: what one call has left in an index alone shows then.
func finish(c *kit.Context, a adapter.Adapter, k *contest, look kit.Keys) ([]kit.Lookup, error) {
	use, useNew := kit.UseVerificationToken(k.Token.Key()), kit.UseVerificationToken(k.New.Token.Key())
	calls := []kit.Call{kit.DeleteVerificationTokens(k.Token.Identifier), use, useNew, use, useNew}
	var results []kit.Lookup
	for _, m := range c.Working(calls) {
		result, err := m.Do(c.Ctx, a)
		if err != nil {
			return nil, fmt.Errorf("%s(%s): %w", m.Method, diff.Show(m.Args...), err)
		}
		results = append(results, kit.Lookup{Method: m.Method, Args: m.Args, When: " afterwards", Record: result})
	}
	if !c.Works("DeleteUser") {
		return results, nil
	}
	for _, id := range []string{k.User.ID, k.other.ID} {
		if _, err := a.DeleteUser(c.Ctx, id); err != nil {
			return nil, fmt.Errorf("DeleteUser(%s): %w", id, err)
		}
	}
	rest, err := kit.Snapshot(c.Ctx, c, a, look)
	for i := range rest {
		rest[i].When += " after the deletion of the users"
	}
	return append(results, rest...), err
}

// asAssigned returns the call with the ID that the adapter gave to the user that the call created.
func asAssigned(m Operation) kit.Call {
	created, _ := m.Result.(*adapter.User)
	user, creates := m.Args[0].(adapter.User)
	if m.Err != nil || created == nil || !creates {
		return m.Call
	}
	user.ID = created.ID
	switch m.Method {
	case "CreateUserWithAccount":
		return kit.CreateUserWithAccount(user, m.Args[1].(adapter.Account), m.Args[2].(*adapter.Authenticator))
	case "CreateUserWithPassword":
		return kit.CreateUserWithPassword(user, m.Args[1].(adapter.Password))
	default:
		return kit.CreateUser(user)
	}
}

// createdIDs returns the ID of the user that the call creates, if it creates one.
func createdIDs(k kit.Call) []string {
	if u, ok := k.Args[0].(adapter.User); ok {
		return []string{u.ID}
	}
	return nil
}

// WritesInTurn makes all writes on the same few records, one after the other in random
// order, and all lookups after each of them. What a call has left in a cache, an index or
// a counter must not change what a later one does, or what the lookups find.
func WritesInTurn(c *kit.Context) {
	if !c.Works("CreateUser") {
		return
	}
	moves := kit.SessionsMove(c)
	n, start := 0, time.Now()
	for ; n < max(1, c.Rounds(kit.FewestTurns)) || time.Since(start) < c.Span(kit.TurnsTime)/c.Haste; n++ {
		k := newContest(c, moves)
		inTurn(c, k, shuffledWrites(c, k))
	}
	c.Notef("all writes in turn, %d times", n)
}

// shuffledWrites returns the writes of both callers, and more for the other user, in random order. It leaves out most
// removals in some cases and none in others, because few calls do anything to what has been removed.
func shuffledWrites(c *kit.Context, k *contest) []kit.Call {
	change := c.NewUser()
	writes := slices.Concat(k.writesOf(c, 0), k.writesOf(c, 1), c.Working([]kit.Call{
		kit.UpdateUser(adapter.UserUpdate{ID: k.other.ID, Name: adapter.To(change.Name)}),
		kit.UpdateUser(adapter.UserUpdate{ID: k.other.ID, EmailVerified: adapter.To(change.EmailVerified)}),
		kit.DeleteSessionsByUserID(k.other.ID, ""),
	}))
	c.Mu.Lock()
	defer c.Mu.Unlock()
	leftOut := c.Rand.Float64()
	writes = slices.DeleteFunc(writes, func(m kit.Call) bool { return removes(m) && c.Rand.Float64() < leftOut })
	c.Rand.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	return writes
}

// inTurn makes the calls one after the other and compares each, and all lookups after it, with the model.
func inTurn(c *kit.Context, k *contest, calls []kit.Call) {
	state, look := k.model(c), k.keys()
	alone := Operation{Call: kit.DeleteUser("")} // nothing runs beside the calls
	var made []kit.MadeCall
	for _, m := range calls {
		if a, ok := m.Args[0].(adapter.Account); ok && state.Accounts[a.Key()].UserID == a.UserID {
			continue // linking again to the same user may fail or not [ACCT-07]
		}
		h := perform(c.Ctx, c, m, c.Raw, 0, 1, time.Now())
		made = append(made, kit.MadeCall{Method: h.Method, Args: h.Args, Result: h.Result, Err: h.Err})
		h.Call = asAssigned(h)
		look.Users = append(look.Users, createdIDs(h.Call)...)
		got, err := kit.Snapshot(c.Ctx, c, c.Raw, look)
		kit.Must(c, "a lookup after "+h.Method, &look, err)
		why := "its outcome is not possible"
		var next *model.Model
		for _, s := range outcomes(c, state, h, alone, true) {
			if why = strings.Join(kit.Differences(c, got, faulted.SnapshotOfModel(c, s, look)), "; "); why == "" {
				next = s
				break
			}
		}
		if next == nil {
			c.Fatalf("%s, after other writes of the same records: %s\n  %s", h.Method, why, kit.OneEachLine(made))
		}
		state = next
	}
}
