package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"os"
	"time"
)

// versionTable holds one row: the version of the tables, the process that is
// changing them, and the end of its lease. A process can wait for a row
// through any pooler; it can't wait there for a lock of a session. A process
// that waited for an advisory lock would also hold a snapshot, for which the
// holder's CREATE INDEX CONCURRENTLY would wait.
const versionTable = "gatehouse_schema"

// errLeaseLost means that another process has taken the lease.
var errLeaseLost = errors.New("another process has taken over")

func (n names) createVersion() string {
	return fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %s (
	single    boolean PRIMARY KEY DEFAULT true CHECK (single),
	version   integer NOT NULL,
	migrating text,
	until     timestamptz
)`, n.table(versionTable))
}

func (n names) setVersion(version int) string {
	return fmt.Sprintf(`INSERT INTO %s AS s (version) VALUES (%d) ON CONFLICT (single) DO UPDATE SET version = greatest(s.version, excluded.version)`,
		n.table(versionTable), version)
}

// version returns the recorded version, or 0 if none is recorded.
func (n names) version(ctx context.Context, db link) (int, error) {
	rows, err := db.query(ctx, `SELECT has_table_privilege(c, 'SELECT') FROM to_regclass($1::text) AS c WHERE c IS NOT NULL`, n.table(versionTable))
	readable, err := first(rows, err, scanOne[bool])
	switch {
	case err != nil || readable == nil:
		return 0, err
	case !*readable: // only a role that makes changes needs the version
		return math.MaxInt, nil
	}
	rows, err = db.query(ctx, `SELECT version::integer FROM `+n.table(versionTable))
	version, err := first(rows, err, scanOne[int])
	if err != nil || version == nil {
		return 0, err
	}
	return *version, nil
}

// notOurs adds advice to an error that means that another table has the
// name.
func (n names) notOurs(err error) error {
	if isCode(err, undefinedColumn, undefinedObject, noSuchConflictKey, notNullViolation, datatypeMismatch) {
		return fmt.Errorf("%s is not the table that this package creates: rename it, and EnsureSchema creates the right one: %w", n.table(versionTable), err)
	}
	return err
}

// lease is the right, recorded in the row, to change the tables. One process
// has it at a time.
type lease struct {
	a    *Adapter
	name string // names this process and call
	made bool   // the table exists
}

func newLease(a *Adapter) *lease {
	host, _ := os.Hostname()
	return &lease{a: a, name: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text())}
}

// take takes or renews the lease. It reports whether this process may change
// the tables now.
func (l *lease) take(ctx context.Context) (bool, error) {
	if err := l.makeTable(ctx); err != nil {
		return false, err
	}
	return l.update(ctx, `UPDATE %s SET migrating = $1::text, until = now() + $2::bigint * interval '1 millisecond'
		WHERE migrating IS NULL OR migrating = $1::text OR until IS NULL OR until < now()`, l.name, l.a.schema.lease.Milliseconds())
}

// makeTable makes the version table and its row.
func (l *lease) makeTable(ctx context.Context) error {
	if l.made {
		return nil
	}
	n := l.a.names
	script := n.createVersion() + "; " + n.setVersion(0)
	for _, schema := range []string{n.versionSchema, n.schema} {
		if schema == "" || schema == n.schema && n.foreign {
			continue
		}
		there := false
		err := l.a.exclusively(ctx, func(db link) error {
			rows, err := db.query(ctx, `SELECT 1 WHERE to_regnamespace($1::text) IS NOT NULL`, quote(schema))
			found, err := first(rows, err, ignoreColumns)
			there = found != nil
			return err
		})
		if err != nil {
			return err
		}
		if !there { // CREATE SCHEMA IF NOT EXISTS needs the right to create even if the schema exists
			script = "CREATE SCHEMA IF NOT EXISTS " + quote(schema) + "; " + script
		}
	}
	for {
		err := l.a.shortLock(ctx, n.table(versionTable), script)
		if !isOverlap(err) {
			l.made = err == nil
			return n.notOurs(err)
		}
	}
}

// update changes the row and reports whether a row matched.
func (l *lease) update(ctx context.Context, sql string, args ...any) (changed bool, err error) {
	err = l.a.exclusively(ctx, func(db link) error {
		n, err := db.exec(ctx, fmt.Sprintf(sql, l.a.names.table(versionTable)), args...)
		changed = n > 0
		return err
	})
	return changed, err
}

// hold runs f, renews the lease meanwhile, and then returns the lease. On a
// single connection, which f uses, hold can't renew the lease. That is safe,
// because every change works even if another process makes it too.
func (l *lease) hold(ctx context.Context, f func(ctx context.Context) error) error {
	holding, lose := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for l.a.turn == nil && sleep(holding, l.a.schema.lease/4) == nil {
			if held, err := l.take(holding); err == nil && !held {
				lose(errLeaseLost)
			}
		}
	}()
	err := f(holding)
	if cause := context.Cause(holding); errors.Is(cause, errLeaseLost) && err != nil {
		err = cause
	}
	lose(nil)
	<-stopped
	soon, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer stop()
	_, giveBack := l.update(soon, `UPDATE %s SET migrating = NULL, until = NULL WHERE migrating = $1::text`, l.name)
	if err != nil {
		return err // the lease expires if it is not returned
	}
	return giveBack
}
