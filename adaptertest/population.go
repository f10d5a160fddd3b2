package adaptertest

import "time"

// volumeWorkers is how many goroutines populate a store that likes it.
const volumeWorkers = 8

// populate calls f(0) to f(n-1), from one goroutine or from a few, whichever
// the store turns out to take faster.
func (c *clauseContext) populate(n int, f func(i int)) {
	const sample = 24
	run := func(from, to, workers int) time.Duration {
		start := time.Now()
		c.parallel(workers, func(worker int) {
			for i := from + worker; i < to && !c.failed(); i += workers {
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

// manyRecords is more than the pages that stores and drivers answer in.
const manyRecords = 1050
