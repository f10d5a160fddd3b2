package sqlite

import (
	"context"
	"time"
)

// A batch should hold the write lock for batchTime: a writer that waits in SQLite
// looks again after 1, 2, 5, 10 ms and more, and comes in during the pause after
// the batch.
const (
	batchTime     = 2 * time.Millisecond
	firstBatch    = 25 // records
	smallestBatch = 5
	largestBatch  = 500
)

// inBatches repeats a statement that deletes some of the records, as many as its
// last argument says, until none is left. With a pool each batch is a transaction
// of its own, followed by a pause twice as long. It returns how many it deleted,
// also with an error.
func (a *Adapter) inBatches(ctx context.Context, query string, args ...any) (total int64, err error) {
	for size := int64(firstBatch); ; {
		began := time.Now()
		deleted, err := a.exec(ctx, query, append(args[:len(args):len(args)], size)...)
		total += deleted
		if err != nil || deleted < size {
			return total, err
		}
		if a.pool == nil {
			continue
		}
		took := max(time.Since(began), time.Microsecond)
		size = min(max(int64(float64(size)*float64(batchTime)/float64(took)), smallestBatch), largestBatch, 2*size)
		if err := sleep(ctx, max(2*took, time.Millisecond)); err != nil {
			return total, err
		}
	}
}

// sleep waits, and returns the error of ctx if that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
