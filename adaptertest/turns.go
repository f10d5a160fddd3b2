package adaptertest

import (
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// writesInTurn makes all writes on the same few records, one after the other in random
// order, and all lookups after each of them. What a call has left in a cache, an index or
// a counter must not change what a later one does, or what the lookups find.
func (c *clauseContext) writesInTurn() {
	if !c.works("CreateUser") {
		return
	}
	moves := c.sessionsMove()
	n, start := 0, time.Now()
	for ; n < max(1, c.rounds(fewestTurns)) || time.Since(start) < c.span(turnsTime)/c.haste; n++ {
		k := c.newContended(moves)
		c.inTurn(k, c.shuffledWrites(k))
	}
	c.Notef("all writes in turn, %d times", n)
}

// shuffledWrites returns the writes of both callers, and more for the other user, in random
// order. It leaves out most removals in some cases and none in others, because few calls do
// anything to what has been removed.
func (c *clauseContext) shuffledWrites(k *contended) []call {
	change := c.newUser()
	writes := slices.Concat(k.writesOf(c, 0), k.writesOf(c, 1), c.working([]call{
		updateUser(adapter.UserUpdate{ID: k.other.ID, Name: adapter.To(change.Name)}),
		updateUser(adapter.UserUpdate{ID: k.other.ID, EmailVerified: adapter.To(change.EmailVerified)}),
		deleteSessions(k.other.ID, ""),
	}))
	c.mu.Lock()
	defer c.mu.Unlock()
	leftOut := c.rand.Float64()
	writes = slices.DeleteFunc(writes, func(m call) bool { return removes(m) && c.rand.Float64() < leftOut })
	c.rand.Shuffle(len(writes), func(i, j int) { writes[i], writes[j] = writes[j], writes[i] })
	return writes
}

// inTurn makes the calls one after the other and compares each, and all lookups after it,
// with the model.
func (c *clauseContext) inTurn(k *contended, calls []call) {
	state, look := k.model(c), k.keys()
	alone := operation{call: deleteUser("")} // nothing runs beside the calls
	var made []madeCall
	for _, m := range calls {
		if a, ok := m.args[0].(adapter.Account); ok && state.Accounts[a.Key()].UserID == a.UserID {
			continue // linking again to the same user may fail or not [ACCT-07]
		}
		h := c.perform(m, c.raw, 0, 1, time.Now())
		made = append(made, madeCall{method: h.method, args: h.args, result: h.result, err: h.err})
		h.call = asAssigned(h)
		look.users = append(look.users, createdIDs(h.call)...)
		got, err := c.snapshot(c.ctx, c.raw, look)
		must(c, "a lookup after "+h.method, &look, err)
		why := "its outcome is not possible"
		var next *model.Model
		for _, s := range c.outcomes(state, h, alone, true) {
			if why = strings.Join(c.differences(got, c.snapshotOfModel(s, look)), "; "); why == "" {
				next = s
				break
			}
		}
		if next == nil {
			c.Fatalf("%s, after other writes of the same records: %s\n  %s", h.method, why, oneEachLine(made))
		}
		state = next
	}
}
