// Package history judges what some clients did with one key, and when. A history
// is linearizable if the calls, each put at some instant between its start and
// its end, are a sequence that a specification allows. A call that failed
// without a verdict may have taken effect at any time after its start, or never.
package history

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// Call is a call of a history.
type Call[T any] struct {
	// Client is the number of the client that made it. A client makes one call
	// after the other.
	Client int
	// From and To are its start and its end, since the start of the history.
	From, To time.Duration
	// Ambiguous says that it failed in a way that does not tell whether it took
	// effect.
	Ambiguous bool
	// What is what was called, and the outcome.
	What T
}

// Next returns the states that a call may leave if its outcome is possible in
// the state, or none. States are comparable. For an ambiguous call it returns
// the states after it took effect: that it did not is always allowed.
type Next[T any] func(state any, call T) []any

// Verdict is what Judge found.
type Verdict int

// The verdicts.
const (
	// Explained: a sequence explains the history.
	Explained Verdict = iota
	// Impossible: no sequence does.
	Impossible
	// Unknown: the search took too long.
	Unknown
)

// limit bounds the search for a sequence. Histories are so short that it ends in
// a millisecond.
const limit = 5 * time.Second

// Judge looks for a sequence that explains the history of a key which began in
// the state.
func Judge[T any](state any, calls []Call[T], next Next[T]) Verdict {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state} },
		Step: func(state, _, output any) []any {
			call := output.(Call[T])
			states := next(state, call.What)
			if call.Ambiguous {
				states = append(states, state)
			}
			return states
		},
	}
	operations := make([]porcupine.Operation, len(calls))
	for i, call := range calls {
		operations[i] = porcupine.Operation{ClientId: call.Client, Call: int64(call.From), Return: int64(call.To), Output: call}
		if call.Ambiguous {
			operations[i].Return = math.MaxInt64
		}
	}
	switch porcupine.CheckOperationsTimeout(m.ToModel(), operations, limit) {
	case porcupine.Ok:
		return Explained
	case porcupine.Illegal:
		return Impossible
	default:
		return Unknown
	}
}
