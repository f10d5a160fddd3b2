package adaptertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Two calls at the same time have the effect of the same calls one after the other,
// in one of the two orders. The calls are drawn from all methods that work on the
// records of a fixture.

// contended is a fixture, and what two calls compete for.
type contended struct {
	*fixture
	other adapter.User          // a second user
	twin  adapter.Authenticator // a second authenticator of the user, connected to the same account
	email string                // an address that no user has
	moves bool                  // sessions can go to another user

	finished []lookup // the results of the calls that end the case
}

func (c *clauseContext) newContended(moves bool) *contended {
	k := &contended{fixture: c.newFixture(c.raw), other: *c.rawUser(), email: c.newUser().Email, moves: moves}
	k.newToken.Identifier = k.token.Identifier
	k.twin = c.newAuthenticator(k.user.ID)
	k.twin.ProviderAccountID = k.authenticator.ProviderAccountID
	if c.connects() {
		_, err := c.raw.CreateAuthenticator(c.ctx, k.twin)
		must(c, "CreateAuthenticator", &k.twin, err)
	}
	return k
}

// model returns a model that holds the records.
func (k *contended) model(c *clauseContext) *model.Model {
	m := k.fixture.model(c)
	m.Users[k.other.ID] = k.other
	if c.connects() {
		m.Authenticators[k.twin.CredentialID] = k.twin
	}
	return m
}

// keys returns the keys of all records, except verification tokens.
func (k *contended) keys() keys {
	look := k.fixture.keys()
	look.users = append(look.users, k.other.ID)
	look.emails = append(look.emails, k.other.Email, k.email)
	look.credentials = append(look.credentials, k.twin.CredentialID)
	return look
}

// writesOf returns the writes of one of two callers. Both compete for the same free
// keys: the first for the user of the fixture, the second for the other user.
func (k *contended) writesOf(c *clauseContext, caller int) []call {
	owner := []string{k.user.ID, k.other.ID}[caller]
	step := int64(caller + 1)
	change := c.newUser()
	user, account, session, token, authenticator, up := k.newUser, k.newAccount, k.newSession, k.newToken, k.newAuthenticator, k.signUp
	user.ID, user.Email = c.id(), k.email
	account.UserID, session.UserID, authenticator.UserID = owner, owner, owner
	token.Expires = token.Expires.Add(time.Duration(step) * time.Minute)
	up.user.ID, up.user.Email = c.id(), k.email
	up.account.Provider, up.account.ProviderAccountID = account.Provider, account.ProviderAccountID
	up.authenticator.CredentialID, up.authenticator.ProviderAccountID = authenticator.CredentialID, account.ProviderAccountID
	successor := k.newUser
	successor.ID, successor.Email = c.id(), k.user.Email
	tokens := c.newAccount("")
	calls := []call{
		createUser(user),
		createUser(successor),
		updateUser(adapter.UserUpdate{ID: k.user.ID, Name: adapter.To(change.Name)}),
		updateUser(adapter.UserUpdate{ID: k.user.ID, Image: adapter.To(change.Image)}),
		updateUser(adapter.UserUpdate{ID: k.user.ID, EmailVerified: adapter.To(change.EmailVerified)}),
		updateUser(adapter.UserUpdate{ID: owner, Email: adapter.To(k.email)}),
		deleteUser(owner),
		linkAccount(account),
		unlinkAccount(k.account.Key()),
		createSession(session),
		updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, Expires: adapter.To(session.Expires.Add(time.Duration(step) * time.Hour))}),
		deleteSession(k.session.SessionToken),
		createToken(token),
		useToken(k.token.Key()),
		createAuthenticator(authenticator),
		updateCounter(k.authenticator.CredentialID, k.authenticator.Counter+step),
		up.call(),
		up.withoutPasskey(),
		updateAccount(adapter.AccountUpdate{Provider: k.account.Provider, ProviderAccountID: k.account.ProviderAccountID, AccessToken: adapter.To(tokens.AccessToken)}),
		updateAccount(adapter.AccountUpdate{Provider: k.account.Provider, ProviderAccountID: k.account.ProviderAccountID, RefreshToken: adapter.To(tokens.RefreshToken)}),
		deleteSessions(k.user.ID, ""),
		deleteTokens(k.token.Identifier),
		renameAuthenticator(k.user.ID, k.authenticator.CredentialID, c.unique("name")),
		touchAuthenticator(k.authenticator.CredentialID, k.authenticator.Counter, k.authenticator.Counter+step, k.touched),
		deleteAuthenticator(k.user.ID, k.authenticator.CredentialID, false),
	}
	if c.connects() {
		calls = append(calls, deleteAuthenticator(k.user.ID, k.twin.CredentialID, false))
	}
	if k.moves {
		calls = append(calls, updateSession(adapter.SessionUpdate{SessionToken: k.session.SessionToken, UserID: adapter.To(k.other.ID)}))
	}
	return c.working(calls)
}

// lookups returns calls that read what the writes change.
func (k *contended) lookups(c *clauseContext) []call {
	return c.working(append(k.reads(), getUserByEmail(k.email), getUserByAccount(k.newAccount.Key()), getSession(k.newSession.SessionToken)))
}

// writesAtOnce makes pairs of writes at the same time. They have an order.
func (c *clauseContext) writesAtOnce() {
	c.pairsOfCalls(func(k *contended) []call { return k.writesOf(c, 1) },
		func(k *contended, h []operation) error { return c.haveAnOrder(k, h, false) })
}

// updateMethods are the methods that return the record which they have changed.
var updateMethods = []string{"UpdateUser", "UpdateAccount", "UpdateSession", "UpdateAuthenticatorCounter", "RenameAuthenticator", "TouchAuthenticator"}

// lookupsBesideWrites makes a write, and a lookup or an update, at the same time. They have
// an order, which also explains the record that the update returns.
func (c *clauseContext) lookupsBesideWrites() {
	if c.harness().Declarations.EventualReads > 0 {
		c.Notef("no lookups beside writes: reads are eventual")
		return
	}
	c.pairsOfCalls(func(k *contended) []call {
		updates := slices.DeleteFunc(k.writesOf(c, 1), func(m call) bool { return !slices.Contains(updateMethods, m.method) })
		return append(k.lookups(c), updates...)
	}, func(k *contended, h []operation) error { return c.haveAnOrder(k, h, true) })
}

// callsDoNotFail makes a write and any other call at the same time. Neither fails, unless it
// is refused.
func (c *clauseContext) callsDoNotFail() {
	all := func(k *contended) []call { return append(k.writesOf(c, 1), k.lookups(c)...) }
	c.pairsOfCalls(all, func(k *contended, h []operation) error {
		for i, m := range h {
			beside, s := h[1-i], k.model(c)
			_, _ = beside.do(c.ctx, s)
			if ambiguous(m) && !errors.Is(m.err, adapter.ErrUnsupported) && !c.mayRefuse(s, m, beside) {
				return fmt.Errorf("%s failed beside %s: %w", m.method, beside.method, m.err)
			}
		}
		return nil
	})
}

// pairsOfCalls makes each write of the first caller at the same time as each call of the
// second, in random order and for a limited time: at the barrier, then with the first call
// stopped after each of its steps.
func (c *clauseContext) pairsOfCalls(second func(*contended) []call, verify func(*contended, []operation) error) {
	moves, handles := c.sessionsMove(), c.handles()
	sample := c.newContended(moves)
	pairs, related := c.pairsOf(sample.writesOf(c, 0), second(sample))
	if len(pairs) == 0 {
		c.Notef("the adapter has no two calls to make at the same time")
		return
	}
	arrange := func(n int) raceCase {
		k, p := c.newContended(moves), pairs[n%len(pairs)]
		calls := []call{k.writesOf(c, 0)[p[0]], second(k)[p[1]]}
		return raceCase{calls: calls, verify: func(h []operation) error { return verify(k, h) }}
	}
	runner, stop := pair.New()
	defer stop()
	n, calling := 0, time.Duration(0)
	for start := time.Now(); n < c.rounds(fewestOrders) || c.more(n < len(pairs), start); n++ {
		which := n
		if n%3 > 0 && related > 0 { // the related pairs more often
			which = n % related
		}
		k := arrange(which)
		history := c.twoTogether(runner, handles, k.calls)
		calling += max(history[0].to, history[1].to)
		c.judge(k, history, fmt.Sprintf("pair %d, at the barrier", n+1))
	}
	c.Notef("%d pairs of calls at the barrier", n)
	// The second call has several times as long as it usually takes: one that waits for a
	// lock of the first would wait for ever.
	pause := min(heldPause, max(time.Millisecond, 5*calling/time.Duration(n)))
	least := c.rounds(fewestOrders)
	if !c.hurried {
		least = c.rounds(max(fewestOrders, related))
	}
	n = 0
	for start := time.Now(); n < min(least, len(pairs)) || n < len(pairs) && c.more(true, start); n++ {
		c.stepByStepWith(handles[0], c.oneOf(handles), 0, pause, func() raceCase { return arrange(n) })
	}
	c.Notef("%d of %d pairs of calls step by step", n, len(pairs))
}

// pairsOf returns the positions of all pairs of a call of the first and one of the second
// caller, in random order: at first one of each two methods of the same kind of record,
// then the other pairs of these methods, and last those that are not related. It returns
// the number of related pairs.
func (c *clauseContext) pairsOf(first, second []call) (pairs [][2]int, related int) {
	for i := range first {
		for j := range second {
			pairs = append(pairs, [2]int{i, j})
		}
	}
	c.mu.Lock()
	c.rand.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	c.mu.Unlock()
	rank, met := map[[2]int]int{}, map[[2]string]bool{}
	for _, p := range pairs {
		one, _ := methodNamed(first[p[0]].method)
		other, _ := methodNamed(second[p[1]].method)
		names := [2]string{one.name, other.name}
		if one.kind != other.kind && !slices.Contains(names[:], "DeleteUser") {
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

// more reports whether there is time for another pair of calls: twice as much if some
// have not been made yet.
func (c *clauseContext) more(unmade bool, start time.Time) bool {
	limit := c.span(ordersTime)
	if c.hurried {
		limit = c.span(hurriedTime)
	}
	if unmade {
		limit *= 2
	}
	return time.Since(start) < limit
}

// haveAnOrder returns an error if neither order of the two calls explains what happened,
// with exact also the record that an update returned.
func (c *clauseContext) haveAnOrder(k *contended, h []operation, exact bool) error {
	h, look := slices.Clone(h), k.keys()
	for i := range h {
		look.users = append(look.users, createdIDs(h[i].call)...)
		h[i].call = asAssigned(h[i])
		look.users = append(look.users, createdIDs(h[i].call)...)
	}
	after, err := c.snapshot(c.ctx, c.raw, look)
	if err != nil {
		return err
	}
	if k.finished == nil {
		if k.finished, err = c.finish(c.raw, k, look); err != nil {
			return err
		}
	}
	var neither []string
	for _, order := range [][]operation{{h[0], h[1]}, {h[1], h[0]}} {
		why := c.unexplained(k, order, look, append(after, k.finished...), exact)
		if why == "" {
			return nil
		}
		neither = append(neither, fmt.Sprintf("with %s as the first: %s", order[0].method, why))
	}
	return fmt.Errorf("no order of the two calls explains what happened\n  %s", strings.Join(neither, "\n  "))
}

// unexplained says why the calls in this order do not explain their outcomes and the
// lookups afterwards. It returns nothing if they do.
func (c *clauseContext) unexplained(k *contended, order []operation, look keys, after []lookup, exact bool) string {
	states := []*model.Model{k.model(c)}
	for i, m := range order {
		var next []*model.Model
		for _, s := range states {
			next = append(next, c.outcomes(s, m, order[1-i], exact && i == 1)...)
		}
		if states = next; len(states) == 0 {
			return fmt.Sprintf("the outcome of %s is not possible", m.method)
		}
	}
	why := ""
	for _, s := range states {
		want := c.snapshotOfModel(s, look)
		finished, err := c.finish(s, k, look)
		if err != nil {
			c.Fatalf("the model fails: %v", err)
		}
		why = strings.Join(c.differences(after, append(want, finished...)), "; ")
		if why == "" {
			break
		}
	}
	return why
}

// outcomes returns the states that the call may leave if its outcome is possible in the
// state, or none. If exact is set, the content of a record that an update returns is
// judged. That of the first call is not, because the adapter may read it after the
// second one.
func (c *clauseContext) outcomes(s *model.Model, m, beside operation, exact bool) []*model.Model {
	done := s.Clone()
	if created, ok := m.result.(*adapter.VerificationToken); ok && m.method == "CreateVerificationToken" && m.err == nil && created != nil {
		delete(done.Tokens, created.Key()) // replacing the token is allowed [VTOK-10]
	}
	want, refused := m.do(c.ctx, done)
	switch {
	case ambiguous(m) && refused != nil:
		return []*model.Model{s}
	case ambiguous(m):
		return []*model.Model{s, done} // CONC-15 judges whether it may fail
	case m.err != nil && (sameKind(s, m, refused) || c.mayRefuse(s, m, beside)):
		return []*model.Model{s}
	case m.err != nil || refused != nil || !c.possible(m, want, beside):
		return nil
	case exact && slices.Contains(updateMethods, m.method) && !isNilRecord(m.result) && c.unlike(m.result, want) != "":
		return nil
	}
	return []*model.Model{done}
}

// sameKind reports whether a call was refused with the sentinel error that the model has for
// it. If its user is absent too, there may be two reasons to refuse it. [ERR-11]
func sameKind(s *model.Model, m operation, refused error) bool {
	user := ""
	switch x := m.args[0].(type) {
	case adapter.Account:
		user = x.UserID
	case adapter.Session:
		user = x.UserID
	case adapter.Authenticator:
		user = x.UserID
	case adapter.UserUpdate:
		user = x.ID
	}
	if _, there := s.Users[user]; user != "" && !there {
		return refused != nil
	}
	return errors.Is(m.err, adapter.ErrConflict) && errors.Is(refused, adapter.ErrConflict) ||
		errors.Is(m.err, adapter.ErrNotFound) && errors.Is(refused, adapter.ErrNotFound)
}

// mayRefuse reports whether a write may be refused although it would succeed alone.
func (c *clauseContext) mayRefuse(s *model.Model, m, beside operation) bool {
	switch m.method {
	case "CreateUser", "CreateUserWithAccount", "UpdateUser", "LinkAccount", "CreateSession", "CreateAuthenticator", "CreateVerificationToken":
		return errors.Is(m.err, adapter.ErrConflict) && !removes(beside.call) // two writes for one key may refuse each other
	case "UpdateSession":
		return m.args[0].(adapter.SessionUpdate).UserID.IsSet() // [SESS-23]
	case "UpdateAuthenticatorCounter":
		return m.args[1].(int64) < s.Authenticators[m.args[0].(string)].Counter // [AUTHN-14]
	}
	return false
}

// removes reports whether a call removes records, and so takes no key.
func removes(m call) bool {
	return strings.HasPrefix(m.method, "Delete") || m.method == "UnlinkAccount" || m.method == "UseVerificationToken"
}

// possible reports whether a call may return this, if alone it would return what is wanted.
func (c *clauseContext) possible(m operation, want any, beside operation) bool {
	deletesMany := func(m operation) bool {
		return m.method == "DeleteUser" || m.method == "DeleteSessionsByUserID" || m.method == "DeleteVerificationTokens"
	}
	switch m.method {
	case "CreateUser", "CreateUserWithAccount", "UpdateUser", "CreateSession", "CreateAuthenticator", "UpdateAccount",
		"UpdateAuthenticatorCounter", "RenameAuthenticator", "TouchAuthenticator", "UseVerificationToken":
		return isNilRecord(m.result) == isNilRecord(want)
	case "LinkAccount", "CreateVerificationToken", "UpdateSession":
		return isNilRecord(m.result) || !isNilRecord(want) // it need not return the record
	case "DeleteUser", "UnlinkAccount", "DeleteSession", "DeleteAuthenticator":
		return true // nor do these, and both calls may have found it
	case "DeleteSessionsByUserID", "DeleteVerificationTokens":
		return deletesMany(beside) || m.result == want
	case "ListAccountsByUserID", "ListSessionsByUserID", "ListAuthenticatorsByUserID":
		return deletesMany(beside) || c.unlike(m.result, want) == ""
	}
	return c.unlike(m.result, want) == ""
}

// finish deletes the verification tokens of the fixture and tries to use each twice, deletes
// the two users, and makes all lookups again: what one call has left in an index alone shows
// then.
func (c *clauseContext) finish(a adapter.Adapter, k *contended, look keys) ([]lookup, error) {
	pending := []adapter.VerificationTokenKey{k.token.Key(), k.newToken.Key(), k.token.Key(), k.newToken.Key()}
	calls := []call{deleteTokens(k.token.Identifier)}
	for _, key := range pending {
		calls = append(calls, useToken(key))
	}
	var results []lookup
	for _, m := range c.working(calls) {
		result, err := m.do(c.ctx, a)
		if err != nil {
			return nil, fmt.Errorf("%s(%s): %w", m.method, diff.Show(m.args...), err)
		}
		results = append(results, lookup{m.method, m.args, " afterwards", result})
	}
	if !c.works("DeleteUser") {
		return results, nil
	}
	for _, id := range []string{k.user.ID, k.other.ID} {
		if _, err := a.DeleteUser(c.ctx, id); err != nil {
			return nil, fmt.Errorf("DeleteUser(%s): %w", id, err)
		}
	}
	rest, err := c.snapshot(c.ctx, a, look)
	for i := range rest {
		rest[i].when += " after the deletion of the users"
	}
	return append(results, rest...), err
}

// asAssigned returns the call with the ID that the adapter gave to the user that the call
// created.
func asAssigned(m operation) call {
	u, _ := m.result.(*adapter.User)
	if m.err != nil || u == nil {
		return m.call
	}
	switch m.method {
	case "CreateUser":
		user := m.args[0].(adapter.User)
		user.ID = u.ID
		return createUser(user)
	case "CreateUserWithAccount":
		s := signUp{user: m.args[0].(adapter.User), account: m.args[1].(adapter.Account)}
		s.user.ID = u.ID
		if len(m.args) == 2 {
			return s.withoutPasskey()
		}
		s.authenticator = m.args[2].(adapter.Authenticator)
		return s.call()
	}
	return m.call
}

// createdIDs returns the ID of the user that the call creates, if it creates one.
func createdIDs(k call) []string {
	if k.method == "CreateUser" || k.method == "CreateUserWithAccount" {
		return []string{k.args[0].(adapter.User).ID}
	}
	return nil
}
