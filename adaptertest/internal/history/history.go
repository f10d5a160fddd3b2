// Package history judges a history: the calls of several clients with one key,
// and their times. A history is linearizable if each call can be put at an
// instant between its start and its end so that the resulting sequence is one
// that a specification allows. A call that failed with an unclear outcome may
// have taken effect at any time after its start, or never.
package history

import (
	"math"
	"time"

	"github.com/anishathalye/porcupine"
)

// Call is a call of a history.
type Call[T any] struct {
	// Client is the number of the client that made it. A client makes its
	// calls one after the other.
	Client int
	// From and To are the call's start and end, measured from the start of the
	// history.
	From, To time.Duration
	// Ambiguous says that the call failed and that it is not known whether it
	// took effect.
	Ambiguous bool
	// What describes the call and its outcome.
	What T
}

// Next returns the states that a call may leave if its outcome is possible in
// the state, or none. States are comparable. For an ambiguous call it returns
// the states after the call took effect; Judge also allows that it did not.
type Next[T any] func(state any, call T) []any

// Verdict is the result of Judge.
type Verdict int

// The verdicts.
const (
	// Explained: a sequence explains the history.
	Explained Verdict = iota
	// Impossible: no sequence explains the history.
	Impossible
	// Unknown: the search took too long.
	Unknown
)

// limit is the longest time for the search. Histories are so short that it
// usually takes a millisecond.
const limit = 5 * time.Second

// Judge looks for a sequence that explains the history. state is the state of
// the key at its start.
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
