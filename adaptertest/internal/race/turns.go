package race

import (
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/faulted"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

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

// shuffledWrites returns the writes of both callers, and more for the other user, in random
// order. It leaves out most removals in some cases and none in others, because few calls do
// anything to what has been removed.
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

// inTurn makes the calls one after the other and compares each, and all lookups after it,
// with the model.
func inTurn(c *kit.Context, k *contest, calls []kit.Call) {
	state, look := k.model(c), k.keys()
	alone := Operation{Call: kit.DeleteUser("")} // nothing runs beside the calls
	var made []kit.MadeCall
	for _, m := range calls {
		if a, ok := m.Args[0].(adapter.Account); ok && state.Accounts[a.Key()].UserID == a.UserID {
			continue // linking again to the same user may fail or not [ACCT-07]
		}
		h := perform(c, m, c.Raw, 0, 1, time.Now())
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
