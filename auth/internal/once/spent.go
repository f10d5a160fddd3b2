package once

import (
	"container/heap"
	"crypto/sha256"
	"time"
)

// maxSpent is the number of spent values of one kind that are remembered, in
// about 6 MB. Anybody can add some by finishing what they began themselves.
const maxSpent = 1 << 16

// keep is how long a value is remembered after it was sealed. Its cookie is not
// valid for longer: see package began.
const keep = 17 * time.Minute

// spentList has the values of one kind that were used. If there are too many, it
// forgets those that were sealed first. From then on it refuses every value that
// was sealed at that time or earlier, because it may be one of them.
type spentList struct {
	seen  map[[16]byte]bool
	order spentHeap
	// forgotten is when the latest of the forgotten values was sealed.
	forgotten time.Time
}

type spentValue struct {
	sum   [16]byte
	began time.Time
}

// spentHeap has the value that was sealed first at the top.
type spentHeap []spentValue

func (h spentHeap) Len() int           { return len(h) }
func (h spentHeap) Less(i, j int) bool { return h[i].began.Before(h[j].began) }
func (h spentHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *spentHeap) Push(x any)        { *h = append(*h, x.(spentValue)) } //nolint:forcetypeassert // nothing else is pushed

// Pop removes the last element.
func (h *spentHeap) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	*h = (*h)[:last]
	return v
}

// add reports whether a value may be used, and remembers it.
func (l *spentList) add(value string, began, now time.Time) bool {
	l.forget(now)
	whole := sha256.Sum256([]byte(value))
	sum := [16]byte(whole[:16])
	if l.seen[sum] || !began.After(l.forgotten) {
		return false
	}
	if len(l.seen) >= maxSpent {
		l.forgotten = l.pop().began
	}
	l.seen[sum] = true
	heap.Push(&l.order, spentValue{sum, began})
	return true
}

// forget drops the values whose cookies have expired.
func (l *spentList) forget(now time.Time) {
	for len(l.order) > 0 && now.After(l.order[0].began.Add(keep)) {
		l.pop()
	}
}

func (l *spentList) pop() spentValue {
	v := heap.Pop(&l.order).(spentValue) //nolint:forcetypeassert // nothing else is in it
	delete(l.seen, v.sum)
	return v
}
