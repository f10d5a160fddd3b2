package records

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// A list that is read while other records of the same owner come and go: a list in pages
// by position loses a record that stays, or has one twice, and a list that follows an
// index meets entries whose records are gone.

// listedKind is a kind of record that is listed by its owner.
type listedKind[T any] struct {
	list   func() []T
	key    func(T) string
	create func() T     // a new record of the owner
	again  func(T)      // stores a record once more after its removal
	remove func(T) bool // removes a record; it returns false if no method does
}

// listWhileOthersChange reads lists while every other record of the owner is removed
// and stored again, or, if no method removes one, while new records are stored. A record
// that stays must be in each list, once.
func listWhileOthersChange[T any](c *kit.Context, what string, k listedKind[T]) {
	all := make([]T, kit.ListedRecords)
	kit.Populate(c, len(all), func(i int) { all[i] = k.create() })
	c.Settle()
	times := map[string]int{} // how often a record that stays is in the list
	var others []T
	for i, r := range all {
		if i%2 == 0 {
			times[k.key(r)] = 0
		} else {
			others = append(others, r)
		}
	}
	var changes atomic.Int64
	var over atomic.Bool
	change := func(n int) {
		var removed []T
		for i := range kit.ListedTogether {
			if r := others[(n*kit.ListedTogether+i)%len(others)]; k.remove(r) {
				removed = append(removed, r)
			} else {
				k.create()
			}
			changes.Add(1)
		}
		for _, r := range removed {
			k.again(r)
			changes.Add(1)
		}
	}
	lists := func() {
		defer over.Store(true)
		start := time.Now()
		goesOn := func(n int) bool {
			elapsed := time.Since(start)
			return n < kit.FewestBeside && elapsed < 10*kit.RaceLimit || n < c.Rounds(kit.ListsBeside) && elapsed < c.Span(kit.RaceLimit)/c.Haste
		}
		for n, last := 0, int64(0); goesOn(n); {
			list := k.list()
			if now := changes.Load(); now >= last+2 {
				n, last = n+1, now
			} else {
				runtime.Gosched()
			}
			for _, r := range list {
				if _, stays := times[k.key(r)]; stays {
					times[k.key(r)]++
				}
			}
			for key, n := range times {
				if n != 1 {
					c.Errorf("%s, while other records of the owner come and go: %q stays, and is there %d times", what, key, n)
					return
				}
				times[key] = 0
			}
			if over.Load() {
				return // the changes have ended the clause
			}
		}
	}
	c.Parallel(2, func(i int) {
		if i == 0 {
			lists()
			return
		}
		defer over.Store(true)
		for n := 0; !over.Load(); n++ {
			change(n)
		}
	})
}
