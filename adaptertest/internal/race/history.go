package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/history"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
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
	start func(c *kit.Context) (state any, calls func(r *rand.Rand) kit.Call)
	// next returns the states that the call may leave if its outcome is possible
	// in the state, or none. States are comparable.
	next func(c *kit.Context, state any, m Operation) []any
}

// CheckHistories makes histories of each kind, and judges them.
func CheckHistories(c *kit.Context) {
	handles := kit.Handles(c)
	if c.Harness().Declarations.EventualReads > 0 {
		handles = handles[:1]
	}
	p, stop := pair.New()
	defer stop()
	judged := 0
	for _, r := range sequentialSpecs {
		if slices.ContainsFunc(r.methods, func(m string) bool { return !c.Works(m) }) {
			c.Notef("no histories of the %s: the adapter lacks a method", r.name)
			continue
		}
		judged++
		start := time.Now()
		n := 0
		for ; n < c.Rounds(kit.HistoryMinimum) || time.Since(start) < c.Span(kit.HistoryTime)/c.Haste; n++ {
			if n >= 5 && time.Since(start) >= c.Span(kit.HistoryLimit)/c.Haste {
				break
			}
			oneHistory(c, p, r, handles, n)
		}
		c.Notef("%d histories of the %s", n, r.name)
	}
	if judged == 0 {
		c.NotApplicable("the adapter has no methods whose histories could be judged")
	}
}

// oneHistory makes and judges the n-th history of a kind. In turn, two
// clients make their calls as simultaneously as possible, or several clients
// make theirs.
func oneHistory(c *kit.Context, p *pair.Runner, r sequentialSpec, handles []adapter.Adapter, n int) {
	clients := kit.HistoryClients
	if n%2 == 1 {
		clients = 2
	}
	state, draw := r.start(c)
	c.Mu.Lock()
	source := rand.New(rand.NewPCG(c.Rand.Uint64(), c.Rand.Uint64()))
	c.Mu.Unlock()
	plans := make([][]kit.Call, clients)
	for i := range plans {
		for range kit.HistoryCalls / clients {
			plans[i] = append(plans[i], draw(source))
		}
	}
	histories := make([][]Operation, clients)
	start := time.Now()
	client := func(i int) {
		handle := i % len(handles)
		for _, k := range plans[i] {
			histories[i] = append(histories[i], perform(c, k, handles[handle], i, handle+1, start))
		}
	}
	if clients == 2 {
		p.Together(func() { client(0) }, func() { client(1) })
	} else {
		c.Parallel(clients, client)
	}
	made := slices.Concat(histories...)
	switch judgeHistory(c, r, state, made) {
	case history.Impossible:
		c.Fatalf("no sequence of these calls on one %s, which began as %v, explains their results\n%s", r.name, state,
			HistoryText(made))
	case history.Unknown:
		c.Notef("a history of the %s was too long to judge", r.name)
	}
}

// judgeHistory looks for a sequence that explains the history.
func judgeHistory(c *kit.Context, r sequentialSpec, state any, made []Operation) history.Verdict {
	calls := make([]history.Call[Operation], len(made))
	for i, m := range made {
		calls[i] = history.Call[Operation]{Client: m.client, From: m.From, To: m.To, Ambiguous: ambiguous(m), What: m}
	}
	return history.Judge(state, calls, func(state any, m Operation) []any { return r.next(c, state, m) })
}

// ambiguous reports whether a call failed with an error that leaves open
// whether the call took effect.
func ambiguous(m Operation) bool {
	return m.Err != nil && !errors.Is(m.Err, adapter.ErrConflict) && !errors.Is(m.Err, adapter.ErrNotFound)
}

var sequentialSpecs = []sequentialSpec{tokenSpec, sessionSpec, counterSpec, emailSpec}

const nothing = int64(-1)

// InstantOf turns an instant into a state, at the precision of the adapter.
func InstantOf(c *kit.Context, t time.Time) int64 {
	return t.Truncate(c.Harness().Precision()).UnixNano()
}

// tokenSpec is one verification token, which is created and used repeatedly.
// The state is the expires of the pending token.
var tokenSpec = sequentialSpec{
	name:    "verification token",
	methods: []string{"CreateVerificationToken", "UseVerificationToken"},
	start: func(c *kit.Context) (any, func(*rand.Rand) kit.Call) {
		t := c.NewToken()
		return nothing, func(r *rand.Rand) kit.Call {
			if r.IntN(3) > 0 {
				return kit.UseVerificationToken(t.Key())
			}
			t.Expires = t.Expires.Add(time.Minute)
			return kit.CreateVerificationToken(t)
		}
	},
	next: func(c *kit.Context, state any, m Operation) []any {
		pending := state.(int64)
		if m.Method == "CreateVerificationToken" {
			created := InstantOf(c, m.Args[0].(adapter.VerificationToken).Expires)
			switch {
			case m.Err == nil || ambiguous(m):
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
		if t, _ := m.Result.(*adapter.VerificationToken); t != nil {
			got = InstantOf(c, t.Expires)
		}
		if m.Err != nil || got != pending {
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

func sessionStateOf(c *kit.Context, s adapter.Session) sessionState {
	return sessionState{InstantOf(c, s.Expires), s.UserID}
}

// sessionSpec is one session, which moves between two users. It is never absent
// while it moves.
var sessionSpec = sequentialSpec{
	name:    "session",
	methods: []string{"CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession"},
	start: func(c *kit.Context) (any, func(*rand.Rand) kit.Call) {
		owners := []string{kit.RawUser(c).ID, kit.RawUser(c).ID}
		s := c.NewSession(owners[0])
		return noSession, func(r *rand.Rand) kit.Call {
			s.Expires = s.Expires.Add(time.Minute)
			update := adapter.SessionUpdate{SessionToken: s.SessionToken}
			switch r.IntN(8) {
			case 0, 1:
				return kit.CreateSession(s)
			case 2, 3:
				update.Expires = adapter.To(s.Expires)
				return kit.UpdateSession(update)
			case 4:
				update.UserID = adapter.To(owners[r.IntN(2)])
				return kit.UpdateSession(update)
			case 5:
				return kit.DeleteSession(s.SessionToken)
			default:
				return kit.GetSessionAndUser(s.SessionToken)
			}
		}
	},
	next: func(c *kit.Context, state any, m Operation) []any {
		stored := state.(sessionState)
		switch m.Method {
		case "CreateSession":
			switch {
			case stored == noSession && (m.Err == nil || ambiguous(m)):
				return []any{sessionStateOf(c, m.Args[0].(adapter.Session))}
			case m.Err != nil && stored != noSession:
				return []any{stored}
			default:
				return nil
			}
		case "UpdateSession":
			got, _ := m.Result.(*adapter.Session)
			if stored == noSession {
				if got == nil {
					return []any{noSession}
				}
				return nil
			}
			update, updated := m.Args[0].(adapter.SessionUpdate), stored
			if expires, ok := update.Expires.Get(); ok {
				updated.expires = InstantOf(c, expires)
			}
			update.UserID.Apply(&updated.owner)
			if m.Err != nil && update.UserID.IsSet() && !ambiguous(m) {
				return []any{stored} // an adapter may refuse to move a session [SESS-23]
			}
			if m.Err != nil && !ambiguous(m) || got != nil && sessionStateOf(c, *got) != updated {
				return nil
			}
			return []any{updated} // SESS-09 judges whether the session is returned
		case "DeleteSession":
			if got, _ := m.Result.(*adapter.Session); got != nil && sessionStateOf(c, *got) != stored {
				return nil
			}
			return []any{noSession}
		default:
			got := noSession
			if s, _ := m.Result.(*adapter.SessionAndUser); s != nil {
				if s.User.ID != s.Session.UserID {
					return nil
				}
				got = sessionStateOf(c, s.Session)
			}
			if m.Err == nil && got != stored {
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
	start: func(c *kit.Context) (any, func(*rand.Rand) kit.Call) {
		w := c.NewAuthenticator(kit.RawUser(c).ID)
		_, err := c.Raw.CreateAuthenticator(c.Ctx, w)
		kit.Must(c, "CreateAuthenticator", &w, err)
		next := w.Counter
		return w.Counter, func(r *rand.Rand) kit.Call {
			switch r.IntN(4) {
			case 0:
				return kit.GetAuthenticator(w.CredentialID)
			case 1:
				return kit.NewCall("ListAuthenticatorsByUserID", func(ctx context.Context, a adapter.Adapter) (*adapter.Authenticator, error) {
					list, err := a.ListAuthenticatorsByUserID(ctx, w.UserID)
					if err != nil || len(list) != 1 {
						return nil, err
					}
					return &list[0], nil
				}, w.UserID)
			default:
				next++
				return kit.UpdateAuthenticatorCounter(w.CredentialID, next)
			}
		}
	},
	next: func(_ *kit.Context, state any, m Operation) []any {
		stored := state.(int64)
		got, _ := m.Result.(*adapter.Authenticator)
		if m.Method != "UpdateAuthenticatorCounter" {
			if m.Err == nil && (got == nil || got.Counter != stored) {
				return nil
			}
			return []any{stored}
		}
		written := m.Args[1].(int64)
		switch {
		case ambiguous(m):
			return []any{written} // or refused [AUTHN-14]: the caller adds the state as it was
		case m.Err != nil || got == nil || got.Counter != written:
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
	start: func(c *kit.Context) (any, func(*rand.Rand) kit.Call) {
		var users, own, addresses []string
		for range emailUsers {
			u := kit.RawUser(c)
			users, own = append(users, u.ID), append(own, u.Email)
		}
		for range emailAddresses {
			addresses = append(addresses, c.NewUser().Email)
		}
		lookup := func(u *adapter.User, err error) (*emailLookup, error) {
			if err != nil || u == nil {
				return nil, err
			}
			return &emailLookup{slices.Index(users, u.ID), slices.Index(addresses, u.Email) + 1}, nil
		}
		return emailState{}, func(r *rand.Rand) kit.Call {
			e := emailCall{user: r.IntN(emailUsers), address: r.IntN(emailAddresses + 1)}
			switch r.IntN(4) {
			case 0:
				e.address = 1 + r.IntN(emailAddresses)
				return kit.NewCall("GetUserByEmail", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.GetUserByEmail(ctx, addresses[e.address-1]))
				}, e)
			case 1:
				return kit.NewCall("GetUser", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.GetUser(ctx, users[e.user]))
				}, e)
			default:
				email := own[e.user]
				if e.address > 0 {
					email = addresses[e.address-1]
				}
				return kit.NewCall("UpdateUser", func(ctx context.Context, a adapter.Adapter) (*emailLookup, error) {
					return lookup(a.UpdateUser(ctx, adapter.UserUpdate{ID: users[e.user], Email: adapter.To(email)}))
				}, e)
			}
		}
	},
	next: func(_ *kit.Context, state any, m Operation) []any {
		s := state.(emailState)
		e := m.Args[0].(emailCall)
		got, _ := m.Result.(*emailLookup)
		switch m.Method {
		case "GetUserByEmail":
			holder := s.holder(e.address)
			if m.Err == nil && (got == nil) != (holder < 0) || got != nil && *got != (emailLookup{holder, e.address}) {
				return nil
			}
			return []any{s}
		case "GetUser":
			if m.Err == nil && (got == nil || *got != (emailLookup{e.user, s[e.user]})) {
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
			case ambiguous(m) && taken, m.Err != nil && !ambiguous(m) && taken:
				return []any{s}
			case ambiguous(m):
				return []any{changed}
			case m.Err != nil || taken || got == nil || *got != emailLookup(e):
				return nil
			default:
				return []any{changed}
			}
		}
	},
}
