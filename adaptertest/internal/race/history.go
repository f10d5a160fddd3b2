package race

import (
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/history"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/pair"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A sequence of calls that the contract allows must explain the calls of
// several clients with one key: see package history.

// kindOfHistory is a kind of history: calls with one key.
type kindOfHistory struct {
	name    string
	methods []string
	// start makes the key of a new history. It returns a model that holds the records of
	// the key and nothing else, and a function that draws random calls.
	start func(c *kit.Context, m *model.Model) (calls func(r *rand.Rand) kit.Call)
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
	for _, r := range historyKinds {
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

// oneHistory makes and judges the n-th history of a kind. In turn, two clients make their calls as simultaneously as
// possible, or several clients make theirs.
func oneHistory(c *kit.Context, p *pair.Runner, r kindOfHistory, handles []adapter.Adapter, n int) {
	clients := kit.HistoryClients
	if n%2 == 1 {
		clients = 2
	}
	state := model.New()
	draw := r.start(c, state)
	c.Mu.Lock()
	source := rand.New(rand.NewPCG(c.Rand.Uint64(), c.Rand.Uint64()))
	c.Mu.Unlock()
	plans := kit.Times(clients, func() []kit.Call {
		return kit.Times(kit.HistoryCalls/clients, func() kit.Call { return draw(source) })
	})
	histories := make([][]Operation, clients)
	start := time.Now()
	client := func(i int) {
		handle := i % len(handles)
		for _, k := range plans[i] {
			histories[i] = append(histories[i], perform(c.Ctx, c, k, handles[handle], i, handle+1, start))
		}
	}
	if clients == 2 {
		p.Together(func() { client(0) }, func() { client(1) })
	} else {
		c.Parallel(clients, client)
	}
	made := slices.Concat(histories...)
	switch judgeHistory(c, state, made) {
	case history.Impossible:
		c.Fatalf("no sequence of these calls on one %s, which began as %v, explains their results\n%s", r.name, state,
			HistoryText(made))
	case history.Unknown:
		c.Notef("a history of the %s was too long to judge", r.name)
	}
}

// judgeHistory looks for a sequence that explains the history from the state of the model. The
// states are numbered, because package history compares them.
func judgeHistory(c *kit.Context, start *model.Model, made []Operation) history.Verdict {
	states, numbers := []*model.Model{start}, map[string]int{start.String(): 0}
	type step struct{ state, call int }
	known := map[step][]any{}
	calls := make([]history.Call[int], len(made))
	for i, m := range made {
		calls[i] = history.Call[int]{Client: m.client, From: m.From, To: m.To, Ambiguous: ambiguous(m), What: i}
	}
	return history.Judge(0, calls, func(state any, call int) []any {
		at := step{state.(int), call}
		next, done := known[at]
		if !done {
			for _, s := range statesAfter(c, states[at.state], made[call]) {
				n, met := numbers[s.String()]
				if !met {
					n = len(states)
					numbers[s.String()], states = n, append(states, s)
				}
				next = append(next, n)
			}
			known[at] = next
		}
		return slices.Clone(next)
	})
}

// nothingBeside is a call that changes what no other call needs.
var nothingBeside = Operation{Call: kit.UnlinkAccount(adapter.AccountKey{})}

// statesAfter returns the states that a call of a history may leave if its outcome is possible in the state, or none.
// What it returns is judged as if it were alone: the calls before it are in the state.
func statesAfter(c *kit.Context, s *model.Model, m Operation) []*model.Model {
	if m.Err != nil && kit.IsLookup(m.Method) {
		return []*model.Model{s}
	}
	if m.Err == nil && removes(m.Call) && (m.Won() || m.Method == "UseVerificationToken") {
		if want, _ := m.Do(c.Ctx, s.Clone()); c.Unlike(m.Result, want) != "" {
			return nil
		}
	}
	return outcomes(c, s, m, nothingBeside, true)
}

// ambiguous reports whether a call failed with an error that leaves open whether the call took effect.
func ambiguous(m Operation) bool {
	return m.Err != nil && !errors.Is(m.Err, adapter.ErrConflict) && !errors.Is(m.Err, adapter.ErrNotFound)
}

// InstantOf turns an instant into a number, at the precision of the adapter.
func InstantOf(c *kit.Context, t time.Time) int64 {
	return t.Truncate(c.Harness().Precision()).UnixNano()
}

var historyKinds = []kindOfHistory{
	// One verification token, which is created and used repeatedly.
	{"verification token", []string{"CreateVerificationToken", "UseVerificationToken"},
		func(c *kit.Context, _ *model.Model) func(*rand.Rand) kit.Call {
			t := c.NewToken()
			return func(r *rand.Rand) kit.Call {
				if r.IntN(3) > 0 {
					return kit.UseVerificationToken(t.Key())
				}
				t.Expires = t.Expires.Add(time.Minute)
				return kit.CreateVerificationToken(t)
			}
		}},
	// One session, which moves between two users. It is never absent while it moves.
	{"session", []string{"CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession"},
		func(c *kit.Context, m *model.Model) func(*rand.Rand) kit.Call {
			owners := usersIn(c, m, 2)
			s := c.NewSession(owners[0].ID)
			return func(r *rand.Rand) kit.Call {
				s.Expires = s.Expires.Add(time.Minute)
				switch r.IntN(8) {
				case 0, 1:
					return kit.CreateSession(s)
				case 2, 3:
					return kit.ExtendSession(s.SessionToken, s.Expires)
				case 4:
					return kit.MoveSession(s.SessionToken, owners[r.IntN(2)].ID)
				case 5:
					return kit.DeleteSession(s.SessionToken)
				default:
					return kit.GetSessionAndUser(s.SessionToken)
				}
			}
		}},
	// The counter of one authenticator.
	{"authenticator counter", []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"},
		func(c *kit.Context, m *model.Model) func(*rand.Rand) kit.Call {
			w := kit.StoreRaw(c, kit.CreateAuthenticator, c.NewAuthenticator(usersIn(c, m, 1)[0].ID))
			m.Authenticators[w.CredentialID] = w
			next := w.Counter
			return func(r *rand.Rand) kit.Call {
				switch r.IntN(4) {
				case 0:
					return kit.GetAuthenticator(w.CredentialID)
				case 1:
					return kit.ListAuthenticatorsByUserID(w.UserID)
				default:
					next++
					return kit.UpdateAuthenticatorCounter(w.CredentialID, next)
				}
			}
		}},
	// Three users and two addresses.
	{"e-mail address", []string{"CreateUser", "UpdateUser", "GetUser", "GetUserByEmail"},
		func(c *kit.Context, m *model.Model) func(*rand.Rand) kit.Call {
			users, addresses := usersIn(c, m, 3), []string{c.NewUser().Email, c.NewUser().Email}
			return func(r *rand.Rand) kit.Call {
				u, address, known := users[r.IntN(3)], r.IntN(3), r.IntN(6)
				ifEmail := ""
				if known < 3 {
					ifEmail = append(addresses, u.Email)[known]
				}
				switch r.IntN(4) {
				case 0:
					return kit.GetUserByEmail(addresses[r.IntN(2)])
				case 1:
					return kit.GetUser(u.ID)
				default:
					return kit.UpdateUser(adapter.UserUpdate{ID: u.ID, IfEmail: ifEmail, Email: adapter.To(append(addresses, u.Email)[address])})
				}
			}
		}},
}

// usersIn creates users, also in the model.
func usersIn(c *kit.Context, m *model.Model, n int) []*adapter.User {
	users := make([]*adapter.User, n)
	for i := range users {
		users[i] = kit.RawUser(c)
		m.Users[users[i].ID] = *users[i]
	}
	return users
}
