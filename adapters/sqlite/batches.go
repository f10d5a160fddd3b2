package sqlite

import (
	"context"
	"errors"
	"time"
)

// A large deletion consists of batches, and a batch consists of slices. A batch is a
// transaction that holds the write lock. It ends with the first slice that ends after
// lockTime, so it holds the lock for at most lockTime, one slice and the commit,
// however long the deletion of a record takes.
//
// A writer that finds the lock taken tries again after 1, 2, 5, 10 and 15 ms, and so
// on (sqliteDefaultBusyCallback in SQLite's main.c). The pause after a batch is
// longer than the time between two tries of a writer that has waited since the start
// of the batch. So the writer's first try after the end of the batch finds the lock
// free.
const (
	lockTime      = time.Millisecond
	sliceSize     = 20 // records
	shortestPause = 3 * time.Millisecond
)

// checkpointAfter is the number of deleted records after which the deletion copies
// the write-ahead log into the database. The deletion of a record writes about four
// pages, and the writer whose commit makes the log longer than 1,000 pages must copy
// all of it. Copying earlier spares other writers that work.
const checkpointAfter = 200

// inBatches repeats a statement, whose last parameter limits how many records it
// deletes, until no record is left. It returns the number of deleted records, even
// with an error. On the caller's connection or transaction it runs one statement for
// each slice, without batches and pauses.
func (a *Adapter) inBatches(ctx context.Context, query string, args ...any) (total int64, err error) {
	args = append(args[:len(args):len(args)], int64(sliceSize))
	copied := total
	for {
		var deleted int64
		var held time.Duration
		var refused error // what the site keeps undoes nothing of the batch
		more := true
		slice := func(ctx context.Context, on *Adapter) error {
			n, err := on.exec(ctx, query, args...)
			if errors.Is(err, errNotDone) {
				refused, err = err, nil
			}
			deleted += n
			more = n > 0 // fewer than a slice: a trigger may have kept some, which the next one tells
			return err
		}
		if a.pool == nil {
			if err := slice(ctx, a); err != nil || !more {
				return total + deleted, errors.Join(err, refused)
			}
			total += deleted
			continue
		}
		var locked time.Time
		if err := a.atomically(ctx, func(ctx context.Context, tx *Adapter) error {
			deleted, more, refused, locked = 0, true, nil, time.Now()
			return whileShort(time.Now, func() (bool, error) { err := slice(ctx, tx); return more, err })
		}); err != nil {
			return total, err
		}
		held = time.Since(locked)
		if total += deleted; !more {
			return total, refused
		}
		if total-copied >= checkpointAfter {
			if err := a.checkpoint(ctx); err != nil {
				return total, err
			}
			copied = total
		}
		if err := sleep(ctx, max(shortestPause, 3*held)); err != nil {
			return total, err
		}
	}
}

// whileShort calls slice until slice reports that there are no more records, or
// lockTime has passed.
func whileShort(now func() time.Time, slice func() (more bool, err error)) error {
	for began := now(); ; {
		more, err := slice()
		if err != nil || !more || now().Sub(began) >= lockTime {
			return err
		}
	}
}

// checkpoint copies the write-ahead log into the database, if the database has one
// and the application has not turned automatic checkpoints off. It does not take the
// write lock.
func (a *Adapter) checkpoint(ctx context.Context) error {
	conn, err := a.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns conn to the pool
	var pages int
	if err := conn.QueryRowContext(ctx, "PRAGMA wal_autocheckpoint").Scan(&pages); err != nil || pages <= 0 {
		return err
	}
	_, err = conn.ExecContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)")
	return err
}

// sleep waits for d. It returns the error of ctx if ctx ends first.
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
