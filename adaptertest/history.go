package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/history"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A sequence of calls that the contract allows must explain the calls of
// several clients with one key: see package history.

// sequentialSpec specifies a kind of history: the calls, and the outcomes that the
// contract allows for each in a given state.
type sequentialSpec struct {
	name    string
	methods []string
	// start makes the key of a new history. It returns the key's state, and a
	// function that draws random calls.
	start func(c *clauseContext) (state any, calls func(r *rand.Rand) call)
	// next returns the states that the call may leave if its outcome is possible
	// in the state, or none. States are comparable.
	next func(c *clauseContext, state any, m operation) []any
}

func (c *clauseContext) checkHistories() {
	handles := c.handles()
	if c.harness().Declarations.EventualReads > 0 {
		handles = handles[:1]
	}
	p, stop := pair.New()
	defer stop()
	judged := 0
	for _, r := range sequentialSpecs {
		if slices.ContainsFunc(r.methods, func(m string) bool { return !c.works(m) }) {
			c.Notef("no histories of the %s: the adapter lacks a method", r.name)
			continue
		}
		judged++
		start := time.Now()
		n := 0
		for ; n < c.rounds(historyMinimum) || time.Since(start) < c.span(historyTime)/c.haste; n++ {
			if n >= 5 && time.Since(start) >= c.span(historyLimit)/c.haste {
				break
			}
			c.oneHistory(p, r, handles, n)
		}
		c.Notef("%d histories of the %s", n, r.name)
	}
	if judged == 0 {
		c.notApplicable("the adapter has no methods whose histories could be judged")
	}
}

// oneHistory makes and judges the n-th history of a kind. In turn, two
// clients make their calls as simultaneously as possible, or several clients
// make theirs.
func (c *clauseContext) oneHistory(p *pair.Runner, r sequentialSpec, handles []adapter.Adapter, n int) {
	clients := historyClients
	if n%2 == 1 {
		clients = 2
	}
	state, draw := r.start(c)
	c.mu.Lock()
	source := rand.New(rand.NewPCG(c.rand.Uint64(), c.rand.Uint64()))
	c.mu.Unlock()
	plans := make([][]call, clients)
	for i := range plans {
		for range historyCalls / clients {
			plans[i] = append(plans[i], draw(source))
		}
	}
	histories := make([][]operation, clients)
	start := time.Now()
	client := func(i int) {
		handle := i % len(handles)
		for _, k := range plans[i] {
			histories[i] = append(histories[i], c.perform(k, handles[handle], i, handle+1, start))
		}
	}
	if clients == 2 {
		p.Together(func() { client(0) }, func() { client(1) })
	} else {
		c.parallel(clients, client)
	}
	made := slices.Concat(histories...)
	switch c.judgeHistory(r, state, made) {
	case history.Impossible:
		c.Fatalf("no sequence of these calls on one %s, which began as %v, explains their results\n%s", r.name, state, historyText(made))
	case history.Unknown:
		c.Notef("a history of the %s was too long to judge", r.name)
	}
}

// judgeHistory looks for a sequence that explains the history.
func (c *clauseContext) judgeHistory(r sequentialSpec, state any, made []operation) history.Verdict {
	calls := make([]history.Call[operation], len(made))
	for i, m := range made {
		calls[i] = history.Call[operation]{Client: m.client, From: m.from, To: m.to, Ambiguous: ambiguous(m), What: m}
	}
	return history.Judge(state, calls, func(state any, m operation) []any { return r.next(c, state, m) })
}

// ambiguous reports whether a call failed with an error that leaves open
// whether the call took effect.
func ambiguous(m operation) bool {
	return m.err != nil && !errors.Is(m.err, adapter.ErrConflict) && !errors.Is(m.err, adapter.ErrNotFound)
}

var sequentialSpecs = []sequentialSpec{tokenSpec, sessionSpec, counterSpec, emailSpec}

const nothing = int64(-1)

// instantOf turns an instant into a state, at the precision of the adapter.
func (c *clauseContext) instantOf(t time.Time) int64 {
	return t.Truncate(c.harness().precision()).UnixNano()
}

// tokenSpec is one verification token, which is created and used repeatedly.
// The state is the expires of the pending token.
var tokenSpec = sequentialSpec{
	name:    "verification token",
	methods: []string{"CreateVerificationToken", "UseVerificationToken"},
	start: func(c *clauseContext) (any, func(*rand.Rand) call) {
		t := c.newToken()
		return nothing, func(r *rand.Rand) call {
			if r.IntN(3) > 0 {
				return useToken(t.Key())
			}
			t.Expires = t.Expires.Add(time.Minute)
			return createToken(t)
		}
	},
	next: func(c *clauseContext, state any, m operation) []any {
		pending := state.(int64)
		if m.method == "CreateVerificationToken" {
			created := c.instantOf(m.args[0].(adapter.VerificationToken).Expires)
			switch {
			case m.err == nil || ambiguous(m):
				return []any{created}
			case pending != nothing:
				return []any{pending}
			default:
				return nil // a conflict without a stored token
			}
		}
		if ambiguous(m) {
			return []any{nothing}
		}
		got := nothing
		if t, _ := m.result.(*adapter.VerificationToken); t != nil {
			got = c.instantOf(t.Expires)
		}
		if m.err != nil || got != pending {
			return nil
		}
		return []any{nothing}
	},
}

// sessionState is the state of the session spec: the session's expires, or
// nothing, and the ID of its owner.
type sessionState struct {
	expires int64
	owner   string
}

var noSession = sessionState{expires: nothing}

func (c *clauseContext) sessionStateOf(s adapter.Session) sessionState {
	return sessionState{c.instantOf(s.Expires), s.UserID}
}

// sessionSpec is one session, which moves between two users. It is never absent
// while it moves.
var sessionSpec = sequentialSpec{
	name:    "session",
	methods: []string{"CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession"},
	start: func(c *clauseContext) (any, func(*rand.Rand) call) {
		owners := []string{c.rawUser().ID, c.rawUser().ID}
		s := c.newSession(owners[0])
		return noSession, func(r *rand.Rand) call {
			s.Expires = s.Expires.Add(time.Minute)
			update := adapter.SessionUpdate{SessionToken: s.SessionToken}
			switch r.IntN(8) {
			case 0, 1:
				return createSession(s)
			case 2, 3:
				update.Expires = adapter.To(s.Expires)
				return updateSession(update)
			case 4:
				update.UserID = adapter.To(owners[r.IntN(2)])
				return updateSession(update)
			case 5:
				return deleteSession(s.SessionToken)
			default:
				return getSession(s.SessionToken)
			}
		}
	},
	next: func(c *clauseContext, state any, m operation) []any {
		stored := state.(sessionState)
		switch m.method {
		case "CreateSession":
			switch {
			case stored == noSession && (m.err == nil || ambiguous(m)):
				return []any{c.sessionStateOf(m.args[0].(adapter.Session))}
			case m.err != nil && stored != noSession:
				return []any{stored}
			default:
				return nil
			}
		case "UpdateSession":
			got, _ := m.result.(*adapter.Session)
			if stored == noSession {
				if got == nil {
					return []any{noSession}
				}
				return nil
			}
			update, updated := m.args[0].(adapter.SessionUpdate), stored
			if expires, ok := update.Expires.Get(); ok {
				updated.expires = c.instantOf(expires)
			}
			update.UserID.Apply(&updated.owner)
			if m.err != nil && update.UserID.IsSet() && !ambiguous(m) {
				return []any{stored} // an adapter may refuse to move a session [SESS-23]
			}
			if m.err != nil && !ambiguous(m) || got != nil && c.sessionStateOf(*got) != updated {
				return nil
			}
			return []any{updated} // SESS-09 judges whether the session is returned
		case "DeleteSession":
			if got, _ := m.result.(*adapter.Session); got != nil && c.sessionStateOf(*got) != stored {
				return nil
			}
			return []any{noSession}
		default:
			got := noSession
			if s, _ := m.result.(*adapter.SessionAndUser); s != nil {
				if s.User.ID != s.Session.UserID {
					return nil
				}
				got = c.sessionStateOf(s.Session)
			}
			if m.err == nil && got != stored {
				return nil
			}
			return []any{stored}
		}
	},
}

// counterSpec is the counter of one authenticator.
var counterSpec = sequentialSpec{
	name:    "authenticator counter",
	methods: []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"},
	start: func(c *clauseContext) (any, func(*rand.Rand) call) {
		w := c.newAuthenticator(c.rawUser().ID)
		_, err := c.raw.CreateAuthenticator(c.ctx, w)
		must(c, "CreateAuthenticator", &w, err)
		next := w.Counter
		return w.Counter, func(r *rand.Rand) call {
			switch r.IntN(4) {
			case 0:
				return getAuthenticator(w.CredentialID)
			case 1:
				return newCall("ListAuthenticatorsByUserID", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
					list, err := a.ListAuthenticatorsByUserID(ctx, w.UserID)
					if err != nil || len(list) != 1 {
						return nil, err
					}
					return &list[0], nil
				}, w.UserID)
			default:
				next++
				return updateCounter(w.CredentialID, next)
			}
		}
	},
	next: func(_ *clauseContext, state any, m operation) []any {
		stored := state.(int64)
		got, _ := m.result.(*adapter.Authenticator)
		if m.method != "UpdateAuthenticatorCounter" {
			if m.err == nil && (got == nil || got.Counter != stored) {
				return nil
			}
			return []any{stored}
		}
		written := m.args[1].(int64)
		switch {
		case ambiguous(m):
			return []any{written} // or refused [AUTHN-14]: the caller adds the state as it was
		case m.err != nil || got == nil || got.Counter != written:
			return nil
		default:
			return []any{written}
		}
	},
}

// The e-mail spec has three users and two addresses. The state has the
// number of the address that each user holds, or 0 for neither.
const emailUsers, emailAddresses = 3, 2

type emailState [emailUsers]int

func (s emailState) holder(address int) int { return slices.Index(s[:], address) }

// emailCall has the user and the address of a call of the e-mail spec. It is
// the call's first argument.
type emailCall struct{ user, address int }

func (e emailCall) String() string { return fmt.Sprintf("user %d, address %d", e.user, e.address) }

// emailLookup is the result of a lookup of the e-mail spec: the numbers of
// the user and of the address.
type emailLookup struct{ user, address int }

var emailSpec = sequentialSpec{
	name:    "e-mail address",
	methods: []string{"CreateUser", "UpdateUser", "GetUser", "GetUserByEmail"},
	start: func(c *clauseContext) (any, func(*rand.Rand) call) {
		var users, own, addresses []string
		for range emailUsers {
			u := c.rawUser()
			users, own = append(users, u.ID), append(own, u.Email)
		}
		for range emailAddresses {
			addresses = append(addresses, c.newUser().Email)
		}
		lookup := func(u *adapter.User, err error) (*emailLookup, error) {
			if err != nil || u == nil {
				return nil, err
			}
			return &emailLookup{slices.Index(users, u.ID), slices.Index(addresses, u.Email) + 1}, nil
		}
		return emailState{}, func(r *rand.Rand) call {
			e := emailCall{user: r.IntN(emailUsers), address: r.IntN(emailAddresses + 1)}
			switch r.IntN(4) {
			case 0:
				e.address = 1 + r.IntN(emailAddresses)
				return newCall("GetUserByEmail", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.GetUserByEmail(ctx, addresses[e.address-1]))
				}, e)
			case 1:
				return newCall("GetUser", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.GetUser(ctx, users[e.user]))
				}, e)
			default:
				email := own[e.user]
				if e.address > 0 {
					email = addresses[e.address-1]
				}
				return newCall("UpdateUser", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.UpdateUser(ctx, adapter.UserUpdate{ID: users[e.user], Email: adapter.To(email)}))
				}, e)
			}
		}
	},
	next: func(_ *clauseContext, state any, m operation) []any {
		s := state.(emailState)
		e := m.args[0].(emailCall)
		got, _ := m.result.(*emailLookup)
		switch m.method {
		case "GetUserByEmail":
			holder := s.holder(e.address)
			if m.err == nil && (got == nil) != (holder < 0) || got != nil && *got != (emailLookup{holder, e.address}) {
				return nil
			}
			return []any{s}
		case "GetUser":
			if m.err == nil && (got == nil || *got != (emailLookup{e.user, s[e.user]})) {
				return nil
			}
			return []any{s}
		default:
			holder := -1
			if e.address > 0 {
				holder = s.holder(e.address)
			}
			taken := holder >= 0 && holder != e.user
			changed := s
			changed[e.user] = e.address
			switch {
			case ambiguous(m) && taken, m.err != nil && !ambiguous(m) && taken:
				return []any{s}
			case ambiguous(m):
				return []any{changed}
			case m.err != nil || taken || got == nil || *got != emailLookup(e):
				return nil
			default:
				return []any{changed}
			}
		}
	},
}
