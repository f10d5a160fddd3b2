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
// number of records of a batch. It returns the number of deleted records, even with an
// error.
func (a *Adapter) inBatches(ctx context.Context, op, table, condition string, args ...any) (total int64, err error) {
	args = append(args[:len(args):len(args)], int64(batchSize))
	for {
		var deleted int64
		began := time.Now()
		err := a.write(ctx, op, func(o on) error {
			deleted, err = o.batch(ctx, table, condition, args)
			return err
		})
		if err != nil {
			return total, err
		}
		if total += deleted; deleted < batchSize {
			return total, nil
		}
		if a.pool == nil {
			continue
		}
		if err := sleep(ctx, max(shortestPause, 3*time.Since(began))); err != nil {
			return total, failed(ctx, op, err)
		}
	}
}

// batch deletes the records that a condition finds, as inBatches has it.
func (o on) batch(ctx context.Context, table, condition string, args []any) (int64, error) {
	alias, columns := aliases[table], []string{"seq"}
	if o.shape != nil {
		columns = tableOf(table).siteKeys()[0]
	}
	var found []any
	err := o.query(ctx, "SELECT "+alias+"."+strings.Join(columns,
		", "+alias+".")+" FROM `"+table+"` "+alias+" WHERE "+condition,
		func(rows *sql.Rows) error {
			key, into := make([]any, len(columns)), make([]any, len(columns))
			for i := range key {
				into[i] = &key[i]
			}
			err := rows.Scan(into...)
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
		return 0, err
	}
	if o.shape == nil {
		return o.exec(ctx, "DELETE FROM `"+table+"` WHERE seq IN ("+strings.Repeat("?, ", len(found)-1)+"?)", found...)
	}
	is := "(" + alias + "." + strings.Join(columns, " = ? AND "+alias+".") + " = ?)"
	return o.exec(ctx, "DELETE "+alias+" FROM `"+table+"` "+alias+" WHERE "+is+strings.Repeat(" OR "+is,
		len(found)/len(columns)-1), found...)
}

// DeleteExpired removes the sessions and verification tokens whose Expires is at or before
// now, in batches. It does not wait for rows that others have locked, and leaves those to
// the next call. If it fails half-way, the finished batches stay deleted, and the result
// counts them. [EXP-01] [EXP-05] [EXP-06] [EXP-07]
func (a *Adapter) DeleteExpired(ctx context.Context, now time.Time) (swept adapter.Swept, err error) {
	const op, due = "delete expired", "$.expires <= ? ORDER BY $.expires LIMIT ? FOR UPDATE SKIP LOCKED"
	if swept.Sessions, err = a.inBatches(ctx, op, "session", strings.ReplaceAll(due, "$", "s"),
		latestAt(now)); err != nil {
		return swept, err
	}
	swept.VerificationTokens, err = a.inBatches(ctx, op, "verificationToken", strings.ReplaceAll(due, "$", "v"),
		latestAt(now))
	return swept, err
}
