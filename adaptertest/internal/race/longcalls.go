package race

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Gather stores many sessions, which session makes: up to 4,000, and as many as a slow store can take in some time.
func Gather(c *kit.Context, session func(i int) adapter.Session) (all []adapter.Session) {
	const most = 4000
	enough, limit := 400, c.Span(kit.GatherTime)
	if c.Brief {
		enough = 100
	}
	if c.Hurried {
		limit /= 4
	}
	var mu sync.Mutex
	end := time.Now().Add(limit)
	kit.Populate(c, most, func(i int) {
		if i > enough && time.Now().After(end) {
			return
		}
		s := kit.StoreRaw(c, kit.CreateSession, session(i))
		mu.Lock()
		defer mu.Unlock()
		all = append(all, s)
	})
	return all
}

// LongCalls calls try a few times, and more often on a fast store, where a long call takes
// a moment and few others meet it.
func LongCalls(c *kit.Context, try func(callFirst bool)) (n int) {
	times := max(2, c.Rounds(3))
	if c.Hurried {
		times = max(1, c.Rounds(2))
	}
	for end := time.Now().Add(c.Span(kit.GatherTime) / c.Haste); (n < times || time.Now().Before(end)) && !c.Failed(); n++ {
		try(n%2 == 0)
	}
	return n
}

// DuringLongCall makes a long call and, at the same time, others: other(0) to other(n-1).
// over tells them that the call has ended. With callFirst the others begin when the call
// does: on a busy machine they would often end before it begins.
func DuringLongCall(c *kit.Context, callFirst bool, call func(), n int, other func(i int, over func() bool)) {
	var over atomic.Bool
	begins := make(chan struct{})
	if !callFirst {
		close(begins)
	}
	c.Parallel(1+n, func(i int) {
		if i > 0 {
			<-begins
			other(i-1, over.Load)
			return
		}
		if callFirst {
			close(begins)
		}
		call()
		over.Store(true)
	})
	kit.Wrote(c)
	c.Settle()
}

// FromBothEnds returns the element of the list that comes at place i if the elements are
// taken from both ends in turn.
func FromBothEnds[T any](list []T, i int) T {
	if i%2 == 0 {
		return list[i/2]
	}
	return list[len(list)-1-i/2]
}
