package kit

import (
	"time"
)

// Populate calls f(0) to f(n-1), from one goroutine or from several, after
// measuring which is faster with the store.
func Populate(c *Context, n int, f func(i int)) {
	const sample = 24
	run := func(from, to, workers int) time.Duration {
		start := time.Now()
		c.Parallel(workers, func(worker int) {
			for i := from + worker; i < to && !c.Failed(); i += workers {
				f(i)
			}
		})
		return time.Since(start)
	}
	first, second := min(sample, n), min(2*sample, n)
	alone, together := run(0, first, 1), run(first, second, volumeWorkers)
	workers := volumeWorkers
	if alone < together {
		workers = 1
	}
	run(second, n, workers)
}

// Many is ManyRecords, or fewer in a run of less than one round.
func Many(c *Context) int { return ManyRecords / min(7, c.Stride) }
