package mysql

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"
)

// lease is the right, recorded in the row of the version table, to change the tables. One
// process has it at a time. A lock of the server, as GET_LOCK takes it, holds on one node of
// a Galera cluster only.
type lease struct {
	name   string // names this process and call
	length time.Duration
}

// leaseLength is how long one process may change the tables without renewing the lease.
const leaseLength = 10 * time.Second

// errLeaseLost means that another process has taken the lease.
var errLeaseLost = errors.New("another process has taken over")

func newLease(length time.Duration) *lease {
	host, _ := os.Hostname()
	return &lease{fmt.Sprintf("%.100s/%d/%s", host, os.Getpid(), rand.Text()), length}
}

// addLease adds the columns of the lease, and createLeased makes the version table with them.
// They are not in the files that Schema returns: who runs those needs no lease.
const (
	addLease     = "ALTER TABLE `" + versionTable + "` ADD COLUMN migrating VARCHAR(255), ADD COLUMN `until` DATETIME(3)" + online
	createLeased = "CREATE TABLE IF NOT EXISTS `" + versionTable +
		"` (single TINYINT NOT NULL PRIMARY KEY, version INT NOT NULL, migrating VARCHAR(255), `until` DATETIME(3)) ENGINE=InnoDB"
)

// makeVersionTable makes the version table, its row, and the columns of the lease.
func makeVersionTable(ctx context.Context, o on) error {
	err := o.lasting(ctx, createLeased)
	if err == nil {
		err = o.lasting(ctx, setVersion(0))
	}
	if err != nil {
		return notOurs(o, err)
	}
	_, err = one(ctx, o, "SELECT COUNT(migrating) + COUNT(`until`) FROM `"+versionTable+"`", readNumber)
	switch {
	case !isNumber(err, noSuchColumn):
		return err
	case o.a.galera.Load():
		return inTotalOrder(o.a.names.Replace(addLease))
	}
	return o.a.alter(ctx, o, addLease)
}

// notOurs adds advice to an error that means that another table has the name.
func notOurs(o on, err error) error {
	if isNumber(err, noSuchColumn, columnCount) {
		return fmt.Errorf("%s is not the table that this package makes, and EnsureSchema makes the right one after this: RENAME TABLE `%[1]s` TO `%[1]s_of_site`; %w",
			o.a.prefix+versionTable, err)
	}
	return err
}

// take takes or renews the lease. It reports whether this process may change the tables now.
func (l *lease) take(ctx context.Context, o on) (bool, error) {
	err := o.lasting(ctx, "UPDATE `"+versionTable+"` SET `until` = UTC_TIMESTAMP(3) + INTERVAL ? MICROSECOND, migrating = ? WHERE single = 1 "+
		"AND (migrating IS NULL OR migrating = ?? OR `until` IS NULL OR `until` < UTC_TIMESTAMP(3))", l.length.Microseconds(), l.name)
	if isNumber(err, deadlock, lockWaitTimeout, checkedRead) { // another process takes it now
		return false, nil
	}
	if err != nil {
		return false, err
	}
	held, err := one(ctx, o, "SELECT COALESCE(MAX(migrating = ?), 0) FROM `"+versionTable+"`", readNumber, l.name)
	return err == nil && *held == 1, err
}

// await returns when this process has the lease.
func (l *lease) await(ctx context.Context, o on) error {
	for waits := false; ; waits = true {
		held, err := l.take(ctx, o)
		if held || err != nil && (!waits || ctx.Err() == nil) {
			return err
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("another process is changing the tables: %w", err)
		}
	}
}

// giveBack ends the lease. If that fails, the lease ends by itself.
func (l *lease) giveBack(ctx context.Context, o on) {
	const query = "UPDATE `" + versionTable + "` SET migrating = NULL, `until` = NULL WHERE single = 1 AND migrating = ?"
	_ = o.lasting(ctx, query, l.name)
}

// renewing renews the lease over the pool until stop is called, or ends the context when
// another process has taken the lease. Without another connection in the pool the lease is
// renewed only before each statement. That is safe: every change works even if another process makes it too.
func (l *lease) renewing(ctx context.Context, o on, spare bool) (holding context.Context, stop func()) {
	holding, lose := context.WithCancelCause(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for spare && sleep(holding, l.length/4) == nil {
			if held, err := l.take(holding, o); err == nil && !held {
				lose(errLeaseLost)
			}
		}
	}()
	return holding, func() {
		lose(nil)
		<-stopped
	}
}
