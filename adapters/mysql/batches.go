package mysql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A large deletion consists of batches, each a transaction. The pause after a batch is
// three times as long as the batch was, so that other writers get their turn.
const (
	batchSize     = 200 // records
	shortestPause = time.Millisecond
)

// inBatches deletes the records that a condition finds, whose last question mark is the
// number of records of a batch. The condition of a batch is made from the last expiry of the
// batch before, which is empty at first. It returns the number of deleted records, even with
// an error.
func (a *Adapter) inBatches(ctx context.Context, op, table string,
	find func(last instant) (condition string, args []any)) (total int64, err error) {
	var last instant
	for {
		var deleted int64
		var theirs bool // a pause in the caller's transaction would let nobody write
		began := time.Now()
		condition, args := find(last)
		err := a.write(ctx, op, func(o on) error {
			theirs = o.theirs
			deleted, last, err = o.batch(ctx, table, condition, append(args[:len(args):len(args)], int64(batchSize)))
			return err
		})
		if err != nil {
			return total, err
		}
		if total += deleted; deleted < batchSize {
			return total, nil
		}
		if theirs {
			continue
		}
		if err := sleep(ctx, max(shortestPause, 3*time.Since(began))); err != nil {
			return total, failed(ctx, op, err)
		}
	}
}

// batch deletes the records that a condition finds, and returns the expiry of the last one.
func (o on) batch(ctx context.Context, table, condition string, args []any) (deleted int64, last instant, err error) {
	alias, columns := aliases[table], []string{"seq"}
	if o.shape != nil {
		columns = tableOf(table).siteKeys()[0]
	}
	var found []any
	err = o.query(ctx, "SELECT "+alias+"."+strings.Join(columns,
		", "+alias+".")+", CAST("+alias+".expires AS CHAR) FROM `"+table+"` "+alias+" WHERE "+condition,
		func(rows *sql.Rows) error {
			var expires sql.RawBytes
			key, into := make([]any, len(columns)), make([]any, len(columns)+1)
			for i := range key {
				into[i] = &key[i]
			}
			into[len(columns)] = &expires
			err := rows.Scan(into...)
			if at, invalid := fromInstant(expires); invalid == nil { // others may have written 0000-00-00
				last = instant(at.Format(instantForm))
			}
			for _, value := range key {
				switch v := value.(type) {
				case []byte:
					value = string(v)
				case uint64:
					value = int64(v) //nolint:gosec // a number of AUTO_INCREMENT
				}
				found = append(found, value)
			}
			return err
		}, args...)
	if err != nil || len(found) == 0 {
		return 0, last, err
	}
	if o.shape == nil {
		deleted, err = o.exec(ctx, "DELETE FROM `"+table+"` WHERE seq IN ("+strings.Repeat("?, ", len(found)-1)+"?)", found...)
		return deleted, last, err
	}
	is := "(" + alias + "." + strings.Join(columns, " = ? AND "+alias+".") + " = ?)"
	deleted, err = o.exec(ctx, "DELETE "+alias+" FROM `"+table+"` "+alias+" WHERE "+is+strings.Repeat(" OR "+is,
		len(found)/len(columns)-1), found...)
	return deleted, last, err
}

// DeleteExpired removes the sessions and verification tokens whose Expires is at or before
// now, in batches. It does not wait for rows that others have locked, and leaves those to
// the next call. If it fails half-way, the finished batches stay deleted, and the result
// counts them. [EXP-01] [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	if swept.Sessions, err = a.sweep(ctx, "session", now); err != nil {
		return swept, err
	}
	swept.VerificationTokens, err = a.sweep(ctx, "verificationToken", now)
	return swept, err
}

// sweep deletes what has expired. A batch begins where the one before ended: the index keeps
// what was deleted for as long as an old transaction may read it, and a batch that began at
// the start would pass over all of it.
func (a *Adapter) sweep(ctx context.Context, table string, now time.Time) (int64, error) {
	return a.inBatches(ctx, "delete expired", table, func(last instant) (string, []any) {
		const due = "$.expires <= ? ORDER BY $.expires LIMIT ? FOR UPDATE SKIP LOCKED"
		condition, args := due, []any{latestAt(now)}
		if last != "" {
			condition, args = "$.expires >= ? AND "+due, []any{last, latestAt(now)}
		}
		return strings.ReplaceAll(condition, "$", aliases[table]), args
	})
}
