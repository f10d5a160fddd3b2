package limit

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// maxCounts is the number of counts that a process keeps apart, in about 8 MB.
	maxCounts = 1 << 17
	// maxShared is the number of counts that all others share.
	maxShared = 1 << 12
	// looked is the number of counts that are looked at, when the table is full, to
	// find some that count no more.
	looked = 32
)

// table has the counts of one process. It knows its keys only by a hash that no
// other process has. A count is never dropped while it matters. If the table is
// full, new keys share counts, so some have to wait for what others do.
type table struct {
	seed  maphash.Seed
	began time.Time

	mu     sync.Mutex
	counts map[uint64]count
	shared [maxShared]count
}

// count is a number of attempts. Instants are times since the table began.
type count struct {
	// since is when the attempts last changed, and until when the next may be made.
	since, until time.Duration
	forget       time.Duration
	attempts     int
}

func newTable(now time.Time) *table {
	return &table{seed: maphash.MakeSeed(), began: now, counts: map[uint64]count{}}
}

// take counts an attempt in the buckets, unless one of them has to wait.
func (t *table) take(buckets []bucket, at time.Time) (wait time.Duration) {
	now := at.Sub(t.began)
	var hashes [maxBuckets]uint64
	var counts [maxBuckets]count
	for i := range buckets {
		hashes[i] = t.hash(&buckets[i])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range buckets {
		if counts[i] = t.get(hashes[i]); counts[i].attempts > 0 {
			wait = max(wait, counts[i].until-now)
		}
	}
	if wait > 0 {
		return wait
	}
	for i := range buckets {
		counts[i].add(buckets[i].effective(), now)
		t.set(hashes[i], counts[i])
	}
	if t.isFull() {
		t.forgetSome(now)
	}
	return 0
}

// isFull reports whether there is no room for the counts of one more attempt.
func (t *table) isFull() bool { return len(t.counts) > maxCounts-maxBuckets }

// get returns the count of a key.
func (t *table) get(hash uint64) count {
	c, ok := t.counts[hash]
	if !ok && t.isFull() {
		return t.shared[hash%maxShared]
	}
	return c
}

// set stores the count that get returned.
func (t *table) set(hash uint64, c count) {
	if t.isFull() {
		if _, own := t.counts[hash]; !own {
			t.shared[hash%maxShared] = c
			return
		}
	}
	t.counts[hash] = c
}

// add counts an attempt.
func (c *count) add(r Rule, now time.Duration) {
	if forgotten := int64((now - c.since) / r.Forget); forgotten >= int64(c.attempts) {
		c.attempts, c.since = 0, now
	} else if forgotten > 0 {
		c.attempts -= int(forgotten)
		c.since += time.Duration(forgotten) * r.Forget
	}
	c.forget = r.Forget
	c.attempts = min(c.attempts+1, r.Most())
	c.until = now + r.WaitAfter(c.attempts)
}

// isOver reports whether the attempts count no more.
func (c *count) isOver(now time.Duration) bool {
	return now >= c.until && now-c.since >= time.Duration(c.attempts)*c.forget
}

// forgetSome drops counts that count no more, of some that it looks at.
func (t *table) forgetSome(now time.Duration) {
	n := 0
	for hash, c := range t.counts { // begins anywhere
		if c.isOver(now) {
			delete(t.counts, hash)
		}
		if n++; n == looked {
			return
		}
	}
}

func (t *table) hash(b *bucket) uint64 {
	var room [160]byte
	return maphash.Bytes(t.seed, b.appendTo(room[:0]))
}
