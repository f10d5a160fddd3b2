package adaptertest

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// budget is how much a clause may try in its run: repetitions, time and cases. One round, on a
// fast store, is the full form.
type budget struct {
	scale    float64       // the rounds that the run was asked for
	stride   int           // the distance between the numbered cases that the run tries: one, or more in a run of less than one round
	hurried  bool          // the whole suite runs, several clauses at once: they wait for a slow store
	brief    bool          // the run is hurried, and has less than one round
	haste    time.Duration // divides the limits of time: 2 in a hurried run, and else 1
	most     int           // the largest number of calls at once
	rand     *rand.Rand
	enoughAt time.Time // when a clause of a hurried run has made enough cases, if it is set
	leftOut  int       // the number of cases that were left out
}

func newBudget(rounds float64, hurried bool, r *rand.Rand) budget {
	b := budget{scale: rounds, stride: max(1, int(1/rounds)), hurried: hurried, brief: hurried && rounds < 1, haste: 1, most: math.MaxInt, rand: r}
	if b.hurried {
		b.haste = 2
	}
	if b.brief {
		b.most = fewAtOnce
	}
	return b
}

// rounds scales a number of repetitions.
func (b *budget) rounds(n int) int { return max(1, int(float64(n)*b.scale)) }

// span scales the time for repetitions.
func (b *budget) span(d time.Duration) time.Duration { return time.Duration(float64(d) * b.scale) }

// enough reports whether a clause of a hurried run has spent caseTime since it first asked.
func (b *budget) enough() bool {
	if !b.hurried {
		return false
	}
	if b.enoughAt.IsZero() {
		b.enoughAt = time.Now().Add(b.span(caseTime))
	}
	return time.Now().After(b.enoughAt)
}

// each calls try with the cases, in an order that the seed of the run decides,
// until the clause fails. try reports false if there was no such case. When there is
// enough, each leaves out all but the first case and those of a group that it has not
// met yet, and in a brief run those too.
func each[T any](c *clauseContext, cases []T, groups func(T) []string, try func(T) bool) {
	met := map[string]bool{}
	tried := 0
	for _, i := range c.rand.Perm(len(cases)) {
		these := groups(cases[i])
		wanted := tried == 0 || !c.brief && slices.ContainsFunc(these, func(group string) bool { return !met[group] })
		if c.enough() && !wanted {
			c.leftOut++
			continue
		}
		for _, group := range these {
			met[group] = true
		}
		if try(cases[i]) {
			tried++
		}
		if c.failed() {
			return
		}
	}
}

// some yields the values. In a brief run they come in random order, and only one
// of them when there is enough.
func some[T any](b *budget, values []T) iter.Seq[T] {
	if !b.brief {
		return slices.Values(values)
	}
	return func(yield func(T) bool) {
		for n, i := range b.rand.Perm(len(values)) {
			if b.enough() && n > 0 {
				b.leftOut += len(values) - n
				return
			}
			if !yield(values[i]) {
				return
			}
		}
	}
}

// every returns every so many of the values, from the one with the number turn: another
// share of them each turn.
func every[T any](stride int, values []T, turn int) []T {
	var chosen []T
	stride = max(1, min(stride, len(values)))
	for i := turn % stride; i < len(values); i += stride {
		chosen = append(chosen, values[i])
	}
	return chosen
}

// inTurn calls try with the steps of one call, from the first, until try reports that
// the call did not come to the step, or the clause fails. When there is enough, it tries one
// step: one of the first four at random, or the last one before it that the call comes to.
func inTurn(c *clauseContext, most int, try func(step int) (came bool)) {
	if most > 0 && c.enough() {
		for step := 1 + c.rand.IntN(min(most, 4)); step > 0 && !try(step) && !c.failed(); step-- {
		}
		return
	}
	for step := 1; step <= most && try(step) && !c.failed(); step++ {
	}
}

// caseTime limits the enumerations of cases of a clause in a hurried run, for each of its
// rounds.
const caseTime = 500 * time.Millisecond

// fewAtOnce is the largest number of calls at once in a brief run: each needs a connection of its own,
// which costs a server more than many calls.
const fewAtOnce = 6

// The largest numbers of steps of one call at which something happens.
const (
	maxSteps   = 12 // at which a call fails, in each of its steps in turn
	faultSteps = 40 // at which a fault is injected
	tripLooks  = 12 // checks of its context at which it is cancelled
	sweepSteps = 4  // of a clean-up or a read, at which an answer is held
)

// The limits of a race at the barrier, for each round of the run: at least
// raceMinimum repetitions, raceOverlaps of them with two calls that overlap, and
// raceTime; at most raceLimit, or half of it in a hurried run, unless that is less than
// raceFewest repetitions.
const (
	raceMinimum  = 200
	raceOverlaps = 500
	raceFewest   = 4
	raceTime     = 100 * time.Millisecond
	raceLimit    = 400 * time.Millisecond
	// overlapsOfPair is the number of overlapping calls for each pair of fields.
	overlapsOfPair = 60
	// racers is the number of calls that start at once.
	racers = 16
)

// The limits of a race with held answers.
const (
	heldSteps = 12
	// heldPause is how long the race waits for a call while the answer of
	// another call is held: the first may be waiting for a lock of the other.
	heldPause = 25 * time.Millisecond
	// lookPause is the same while a call is stopped at its context.
	lookPause = 5 * time.Millisecond
)

const (
	// machineTime limits the search for a difference in a run of one round.
	// shrinkTime limits the search for a shorter sequence.
	machineTime = 3 * time.Second
	shrinkTime  = 2 * time.Second
	// fewestSequences is the number of sequences that are tried even on a slow
	// machine, and fewestShrinks is the number of shorter ones.
	fewestSequences = 5
	fewestShrinks   = 500
)

// The limits of the pairs of calls, for each round of the run: the time at the barrier and
// the time step by step, twice as long while some pairs have not been made, and the fewest
// pairs of each. Step by step, a run that is not hurried makes all related pairs, whatever
// the time.
const (
	ordersTime   = time.Second
	hurriedTime  = 200 * time.Millisecond
	fewestOrders = 10
)

// In a run of one round all writes are made in turn for turnsTime, and at least fewestTurns
// times.
const (
	turnsTime   = 4 * time.Second
	fewestTurns = 4
)

// The size of a history, and the time for the histories of one kind.
const (
	historyCalls   = 24
	historyClients = 4
	historyMinimum = 30
	historyTime    = 150 * time.Millisecond
	historyLimit   = 350 * time.Millisecond
)

const (
	// listedRecords is the number of records, every other one of which comes and goes.
	listedRecords = 160
	// listedTogether is the number of records that are removed before they are stored
	// again.
	listedTogether = 16
	// listsBeside is the number of lists that are read beside changes: two changes or more
	// since the list before. In the quick form or on a busy machine it is at least
	// fewestBeside.
	listsBeside  = 60
	fewestBeside = 12
)

// gatherTime limits the creation of the sessions of a long call.
const gatherTime = time.Second

// The populations at which VOL-04 measures, in users with one record of each kind.
const (
	smallPopulation = 100
	largePopulation = 4000
	// populateTime limits the creation of the records of a population.
	populateTime = 2500 * time.Millisecond
)

// A measurement takes growthTime, but not more than growthRounds, and as much longer
// as fewestRounds take (half of them in a brief run), up to slowTime; then fewestSlow are enough.
const (
	growthRounds = 101
	growthTime   = 400 * time.Millisecond
	fewestRounds = 31
	slowTime     = 2 * time.Second
	fewestSlow   = 9
)

// manyRecords is more than the page sizes of stores and drivers.
const manyRecords = 1050

// volumeWorkers is the number of goroutines that populate a store if that is
// faster.
const volumeWorkers = 8

// several is the number of calls that are made at once, so that a pool opens several
// connections.
const several = 8

// overConnections is how often the calls over several connections at once are repeated.
const overConnections = 20
