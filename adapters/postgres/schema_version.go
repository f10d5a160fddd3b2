package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
)

// versionTable holds one row: the version of the tables, and who changes them
// until when. A row can be waited for through any pooler, which a lock of a
// session can't; and waiting in an advisory lock holds a snapshot that the
// holder's CREATE INDEX CONCURRENTLY would wait for.
const versionTable = "gatehouse_schema"

// errLeaseLost says that another process has taken over.
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

// version reads the version, 0 if none is recorded.
func (n names) version(ctx context.Context, db DB) (int, error) {
	rows, err := db.Query(ctx, `SELECT 1 WHERE to_regclass($1::text) IS NOT NULL`, n.table(versionTable))
	there, err := first(rows, err, ignoreColumns)
	if err != nil || there == nil {
		return 0, err
	}
	rows, err = db.Query(ctx, `SELECT version::integer FROM `+n.table(versionTable))
	version, err := first(rows, err, func(rows pgx.Rows) (v int, err error) { return v, rows.Scan(&v) })
	if err != nil || version == nil {
		return 0, err
	}
	return *version, nil
}

// notOurs says what to do about another table of the name.
func (n names) notOurs(err error) error {
	if isCode(err, undefinedColumn, undefinedObject, noSuchConflictKey, notNullViolation, datatypeMismatch) {
		return fmt.Errorf("%s is not the table that this package makes: rename it, and EnsureSchema makes another: %w", n.table(versionTable), err)
	}
	return err
}

// lease is the row's promise that one process at a time changes the tables.
type lease struct {
	a    *Adapter
	name string // of this process and call
	made bool   // the table is there
}

func newLease(a *Adapter) *lease {
	host, _ := os.Hostname()
	return &lease{a: a, name: fmt.Sprintf("%s/%d/%s", host, os.Getpid(), rand.Text())}
}

// take reports whether this process may change the tables now.
func (l *lease) take(ctx context.Context) (bool, error) {
	if err := l.makeTable(ctx); err != nil {
		return false, err
	}
	return l.update(ctx, `UPDATE %s SET migrating = $1::text, until = now() + $2::bigint * interval '1 millisecond'
		WHERE migrating IS NULL OR migrating = $1::text OR until IS NULL OR until < now()`, l.name, l.a.schema.lease.Milliseconds())
}

// makeTable makes the table and the row that the lease is in.
func (l *lease) makeTable(ctx context.Context) error {
	if l.made {
		return nil
	}
	n := l.a.names
	script := n.createVersion() + "; " + n.setVersion(0)
	if n.schema != "" {
		there := false
		err := l.a.exclusively(ctx, func(db DB) error {
			rows, err := db.Query(ctx, `SELECT 1 WHERE to_regnamespace($1::text) IS NOT NULL`, quote(n.schema))
			found, err := first(rows, err, ignoreColumns)
			there = found != nil
			return err
		})
		if err != nil {
			return err
		}
		if !there { // CREATE SCHEMA IF NOT EXISTS needs the right even if it exists
			script = "CREATE SCHEMA IF NOT EXISTS " + quote(n.schema) + "; " + script
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

// update changes the row and reports whether it was there to be changed.
func (l *lease) update(ctx context.Context, sql string, args ...any) (changed bool, err error) {
	err = l.a.exclusively(ctx, func(db DB) error {
		n, err := count(ctx, db, fmt.Sprintf(sql, l.a.names.table(versionTable)), args...)
		changed = n > 0
		return err
	})
	return changed, err
}

// hold runs f while the lease is renewed, and gives it back. On a single
// connection, which f is using, nothing can be renewed: every change can bear
// that another process makes it too.
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
		return err // what is not given back ends by itself
	}
	return giveBack
}
