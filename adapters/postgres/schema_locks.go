package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// lockWait is how long a change waits for its lock. Every later call on the table
// waits behind it. A foreign key locks two tables one after the other.
const lockWait = 20 * time.Millisecond

// shortLock runs statements that need a lock on the table in one transaction. The
// transaction fails if it does not get the lock within lockWait, and is tried
// again until ctx ends. It is one message, so the server ends it even if this
// process has stopped.
func (a *Adapter) shortLock(ctx context.Context, table, sql string) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := a.exclusively(ctx, func(db link) error {
			script := fmt.Sprintf("SET LOCAL lock_timeout = %d; %s", lockWait.Milliseconds(), sql)
			_, err := db.exec(ctx, script)
			return err
		})
		if isCode(err, lockNotAvailable, deadlockDetected) {
			err = sleep(ctx, wait)
			if err == nil {
				continue
			}
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w while changing %s; %s", ctx.Err(), table, a.inTheWay(ctx, holdersOfLocks, table))
		}
		return err
	}
}

// concurrently builds an index while others read and write. The server waits for
// all transactions that began before, even for idle ones.
func (a *Adapter) concurrently(ctx context.Context, c change) error {
	return a.exclusively(ctx, func(db link) error {
		running, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		done := make(chan error, 1)
		go func() {
			_, err := db.exec(running, c.sql)
			done <- err
		}()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
		}
		// If only the connection ended, the server would continue to build, so
		// the build is canceled by a request.
		who := a.inTheWay(ctx, oldestTransactions, c.table)
		soon, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer stop()
		on, pgx := db.(pgxLink)
		var failed error
		if pgx {
			failed = on.conn.PgConn().CancelRequest(soon)
		} else {
			end() // the driver makes the request
		}
		var built error // an error: the request cancels the build
		select {
		case built = <-done:
		case <-soon.Done():
			if pgx {
				failed = errors.Join(failed, on.conn.Close(context.WithoutCancel(soon)))
			}
			built = <-done
		}
		if built == nil {
			return nil // the build was complete before the request arrived
		}
		return errors.Join(fmt.Errorf("%w while building an index of %s; %s", ctx.Err(), c.table, who), failed)
	})
}

// holdersOfLocks and oldestTransactions describe the processes that a change of
// the table $1 waits for.
const (
	processes = `SELECT format('process %s (%s%s, %s since %s s)', s.pid, s.usename,
			CASE WHEN s.application_name <> '' THEN ', ' || s.application_name ELSE '' END,
			s.state, extract(epoch FROM clock_timestamp() - s.xact_start)::int)
		FROM pg_stat_activity AS s WHERE s.pid <> pg_backend_pid() AND s.xact_start IS NOT NULL `
	holdersOfLocks = processes + `AND s.pid IN (SELECT l.pid FROM pg_locks AS l WHERE l.granted AND l.relation = to_regclass($1::text))
		ORDER BY s.xact_start LIMIT 3`
	oldestTransactions = processes + `AND (s.backend_xmin IS NOT NULL OR s.backend_xid IS NOT NULL)
		AND s.query NOT LIKE 'CREATE %INDEX CONCURRENTLY%' AND to_regclass($1::text) IS NOT NULL
		ORDER BY s.xact_start LIMIT 3`
)

// inTheWay returns a text that names the processes for which a change waited when
// ctx ended.
func (a *Adapter) inTheWay(ctx context.Context, query, table string) string {
	soon, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	var who []string
	ask := func(db link) error {
		rows, err := db.query(soon, query, table)
		who, err = collect(rows, err, scanOne[string])
		return err
	}
	if a.turn != nil && query == oldestTransactions {
		return "the connection is busy, so the blocking processes can't be listed"
	}
	if err := a.once(soon, ask); err != nil {
		return "the blocking processes can't be listed: " + err.Error()
	}
	if len(who) == 0 {
		return "no process blocks it any more: try again"
	}
	return "blocked by " + strings.Join(who, ", ")
}

// isOverlap reports whether the change failed because another process has just
// made it, or has removed the object that it changes.
func isOverlap(err error) bool {
	return isCode(err, duplicateTable, duplicateColumn, duplicateObject, duplicateSchema, undefinedObject) ||
		isCode(err, uniqueViolation) && strings.Contains(err.Error(), "pg_") // two processes wrote to the system catalog at once
}
