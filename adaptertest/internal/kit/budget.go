package kit

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Budget is how much a clause may try in its run: repetitions, time and cases. One round, on a
// fast store, is the full form.
type Budget struct {
	Scale    float64       // the rounds that the run was asked for
	Stride   int           // the distance between the numbered cases that the run tries: one, or more in a run of less than one round
	Hurried  bool          // the whole suite runs, several clauses at once: they wait for a slow store
	Brief    bool          // the run is hurried, and has less than one round
	Haste    time.Duration // divides the limits of time: 2 in a hurried run, and else 1
	Most     int           // the largest number of calls at once
	Rand     *rand.Rand
	enoughAt time.Time // when a clause of a hurried run has made enough cases, if it is set
	leftOut  int       // the number of cases that were left out
}

func newBudget(rounds float64, hurried bool, r *rand.Rand) Budget {
	b := Budget{Scale: rounds, Stride: max(1, int(1/rounds)), Hurried: hurried, Brief: hurried && rounds < 1, Haste: 1, Most: math.MaxInt, Rand: r}
	if b.Hurried {
		b.Haste = 2
	}
	if b.Brief {
		b.Most = fewAtOnce
	}
	return b
}

// Rounds scales a number of repetitions.
func (b *Budget) Rounds(n int) int { return max(1, int(float64(n)*b.Scale)) }

// Span scales the time for repetitions.
func (b *Budget) Span(d time.Duration) time.Duration { return time.Duration(float64(d) * b.Scale) }

// Enough reports whether a clause of a hurried run has spent caseTime since it first asked.
func (b *Budget) Enough() bool {
	if !b.Hurried {
		return false
	}
	if b.enoughAt.IsZero() {
		b.enoughAt = time.Now().Add(b.Span(caseTime))
	}
	return time.Now().After(b.enoughAt)
}

// Each calls try with the cases, in an order that the seed of the run decides, until the clause fails. try reports
// false if there was no such case. When there is enough, Each leaves out all but the first case and those of a group
// that it has not met yet, and in a brief run those too.
func Each[T any](c *Context, cases []T, groups func(T) []string, try func(T) bool) {
	met := map[string]bool{}
	tried := 0
	for _, i := range c.Rand.Perm(len(cases)) {
		these := groups(cases[i])
		wanted := tried == 0 || !c.Brief && slices.ContainsFunc(these, func(group string) bool { return !met[group] })
		if c.Enough() && !wanted {
			c.leftOut++
			continue
		}
		for _, group := range these {
			met[group] = true
		}
		if try(cases[i]) {
			tried++
		}
		if c.Failed() {
			return
		}
	}
}

// Some yields the values. In a brief run they come in random order, and only one of them when there is enough.
func Some[T any](b *Budget, values []T) iter.Seq[T] {
	if !b.Brief {
		return slices.Values(values)
	}
	return func(yield func(T) bool) {
		for n, i := range b.Rand.Perm(len(values)) {
			if b.Enough() && n > 0 {
				b.leftOut += len(values) - n
				return
			}
			if !yield(values[i]) {
				return
			}
		}
	}
}

// Every returns every so many of the values, from the one with the number turn: another share of them each turn.
func Every[T any](stride int, values []T, turn int) []T {
	var chosen []T
	stride = max(1, min(stride, len(values)))
	for i := turn % stride; i < len(values); i += stride {
		chosen = append(chosen, values[i])
	}
	return chosen
}

// InTurn calls try with the steps of one call, from the first, until try reports that
// the call did not come to the step, or the clause fails. When there is enough, it tries one
// step: one of the first four at random, or the last one before it that the call comes to.
func InTurn(c *Context, most int, try func(step int) (came bool)) {
	if most > 0 && c.Enough() {
		for step := 1 + c.Rand.IntN(min(most, 4)); step > 0 && !try(step) && !c.Failed(); step-- {
		}
		return
	}
	for step := 1; step <= most && try(step) && !c.Failed(); step++ {
	}
}

// caseTime limits the enumerations of cases of a clause in a hurried run, for each of its rounds.
const caseTime = 500 * time.Millisecond

// fewAtOnce is the largest number of calls at once in a brief run: each needs a connection of its own,
// which costs a server more than many calls.
const fewAtOnce = 6

// The largest numbers of steps of one call at which something happens.
const (
	MaxSteps   = 12 // at which a call fails, in each of its steps in turn
	FaultSteps = 40 // at which a fault is injected
	TripLooks  = 12 // checks of its context at which it is cancelled
	SweepSteps = 4  // of a clean-up or a read, at which an answer is held
)

// The limits of a race at the barrier, for each round of the run: at least RaceMinimum repetitions, RaceOverlaps of
// them with two calls that overlap, and RaceTime; at most RaceLimit, or half of it in a hurried run, unless that is
// less than RaceFewest repetitions.
const (
	RaceMinimum  = 200
	RaceOverlaps = 500
	RaceFewest   = 4
	RaceTime     = 100 * time.Millisecond
	RaceLimit    = 300 * time.Millisecond
	// OverlapsOfPair is the number of overlapping calls for each pair of fields.
	OverlapsOfPair = 60
	// Racers is the number of calls that start at once.
	Racers = 16
)

// The limits of a race with held answers.
const (
	HeldSteps = 12
	// HeldPause is how long the race waits for a call while the answer of
	// another call is held: the first may be waiting for a lock of the other.
	HeldPause = 25 * time.Millisecond
	// LookPause is the same while a call is stopped at its context.
	LookPause = 5 * time.Millisecond
)

const (
	// MachineTime limits the search for a difference in a run of one round.
	MachineTime = 2 * time.Second
	// ShrinkTime limits the search for a shorter sequence.
	ShrinkTime = 2 * time.Second
	// FewestSequences is the number of sequences that are tried even on a slow machine.
	FewestSequences = 5
	// FewestShrinks is the number of shorter sequences that are tried even on a slow machine; in the quick form a tenth.
	FewestShrinks = 500
)

// The limits of the pairs of calls, for each round of the run: the time at the barrier and the time step by step,
// twice as long while some pairs have not been made, and the fewest pairs of each. Step by step, a run that is not
// hurried makes all related pairs, whatever the time.
const (
	OrdersTime   = time.Second
	HurriedTime  = 200 * time.Millisecond
	FewestOrders = 10
)

// In a run of one round all writes are made in turn for TurnsTime, and at least FewestTurns times.
const (
	TurnsTime   = 2 * time.Second
	FewestTurns = 4
)

// The size of a history, and the time for the histories of one kind.
const (
	HistoryCalls   = 24
	HistoryClients = 4
	HistoryMinimum = 30
	HistoryTime    = 150 * time.Millisecond
	HistoryLimit   = 350 * time.Millisecond
)

const (
	// ListedRecords is the number of records, every other one of which comes and goes.
	ListedRecords = 160
	// ListedTogether is the number of records that are removed before they are stored again.
	ListedTogether = 16
	// ListsBeside is the number of lists that are read beside changes: two changes or more since the list before.
	ListsBeside = 60
	// FewestBeside is that number in the quick form or on a busy machine.
	FewestBeside = 12
)

// GatherTime limits the creation of the sessions of a long call.
const GatherTime = 700 * time.Millisecond

// The populations at which VOL-04 measures, in users with one record of each kind.
const (
	SmallPopulation = 100
	LargePopulation = 4000
	// PopulateTime limits the creation of the records of a population.
	PopulateTime = 2500 * time.Millisecond
)

// A measurement takes GrowthTime, but not more than GrowthRounds, and as much longer
// as FewestRounds take (half of them in a brief run), up to SlowTime; then FewestSlow are enough.
const (
	GrowthRounds = 101
	GrowthTime   = 400 * time.Millisecond
	FewestRounds = 31
	SlowTime     = 2 * time.Second
	FewestSlow   = 9
)

// ManyRecords is more than the page sizes of stores and drivers.
const ManyRecords = 1050

// volumeWorkers is the number of goroutines that populate a store if that is faster.
const volumeWorkers = 8

// Several is the number of calls that are made at once, so that a pool opens several connections.
const Several = 8

// OverConnections is how often the calls over several connections at once are repeated.
const OverConnections = 20

// Deadline limits calls that must not hang.
const Deadline = 15 * time.Second
