package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// EnsureSchema makes the tables in a new database, and the keys and indexes that an
// existing table lacks. Any number of processes may call it at once: one of them makes the
// changes, and if it dies, another continues 10 s later. It changes no row and no column. Each statement takes effect alone, as the server commits each: on a *sql.Tx
// EnsureSchema is refused, and so it is on a connection that is in a transaction. [CAP-03]
//
// An index is added while the site writes (ALGORITHM=INPLACE, LOCK=NONE), and waits a
// second for its metadata lock, some times. A Galera cluster can't do that: there the error
// has the statement. If EnsureSchema cannot bring the tables to the
// schema, it changes nothing and the error says what to do.
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	const op = "ensure schema"
	if a.layout != nil {
		return a.CheckSchema(ctx)
	}
	compared, err := a.changes(ctx)
	if err == nil && len(compared.changes) == 0 {
		a.ready.Store(true)
		return nil
	}
	if a.inTx && err == nil {
		err = errors.New("the server commits the transaction before it changes a table: call EnsureSchema with a *sql.DB")
	}
	if err == nil {
		if err = compared.totalOrder(); err != nil {
			return failed(ctx, op, err)
		}
	}
	// Another process may be making the tables: its half is no fault of theirs.
	if isNumber(err, accessDeniedDB, tableAccessDenied) || errors.As(err, new(unfit)) || a.inTx || ctx.Err() != nil {
		return failed(ctx, op, err)
	}
	alone := a.alone(ctx)
	// On a Galera cluster a statement that changes a table ends those of other nodes that use it.
	for try := 1; isNumber(alone, deadlock) && try < schemaTries && sleep(ctx, 100*time.Millisecond) == nil; try++ {
		alone = a.alone(ctx)
	}
	if err != nil && isNumber(alone, accessDeniedDB, tableAccessDenied) { // so this process can't be the one that changes them
		alone = err
	}
	if alone != nil {
		return failed(ctx, op, alone)
	}
	a.ready.Store(true)
	return nil
}

// changes compares the tables with the schema. The error names what EnsureSchema can't
// change.
func (a *Adapter) changes(ctx context.Context) (*comparison, error) {
	leave, err := a.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	compared, err := a.compare(ctx)
	if err == nil && len(compared.refused) > 0 {
		err = compared.err()
	}
	return compared, err
}

// schemaTries is how often a statement waits a second for the lock of a table.
const schemaTries = 10

// alone makes the tables on one connection, outside a transaction, while no other process
// does. If another process takes over, it waits for that one and compares again.
func (a *Adapter) alone(ctx context.Context) error {
	conn, leave, err := a.outside(ctx)
	if err != nil {
		return err
	}
	defer leave()
	single := *a
	single.db, single.turn = conn, nil
	o := on{&single, conn, false, nil}
	if err := o.direct(ctx); err != nil {
		return err
	}
	before, err := one(ctx, o, "SELECT @@SESSION.lock_wait_timeout", readNumber)
	if err != nil {
		return err
	}
	if _, err := o.exec(ctx, "SET SESSION lock_wait_timeout = 1"); err != nil {
		return err
	}
	held := newLease(a.lease)
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollBackTime)
		defer cancel()
		held.giveBack(ctx, o)
		if _, err := o.exec(ctx, "SET SESSION lock_wait_timeout = ?", *before); err != nil {
			discard(conn)
		}
	}()
	if err := makeVersionTable(ctx, o); err != nil {
		return err
	}
	for {
		if err := held.await(ctx, o); err != nil {
			return err
		}
		spare := a.pool != nil && a.pool.Stats().MaxOpenConnections != 1 // a connection beside conn
		holding, stop := held.renewing(ctx, on{a, a.db, false, nil}, spare)
		err := single.migrate(holding, o, held)
		lost := errors.Is(context.Cause(holding), errLeaseLost) || errors.Is(err, errLeaseLost)
		stop()
		if err == nil || !lost || ctx.Err() != nil {
			return err
		}
	}
}

// direct refuses a connection on which Vitess makes a table after the statement has returned.
func (o on) direct(ctx context.Context) error {
	if !o.a.vitess.Load() {
		return nil
	}
	strategy, err := one(ctx, o, "SELECT @@ddl_strategy", readText)
	if err == nil && strategy.String != "direct" {
		err = fmt.Errorf("ddl_strategy is %q, with which Vitess changes tables later: EnsureSchema needs ddl_strategy='direct' in the DSN, "+
			"or else run what SchemaChanges returns", strategy.String)
	}
	return err
}

// migrate makes the changes one by one. It renews the lease before each.
func (a *Adapter) migrate(ctx context.Context, o on, held *lease) error {
	compared, err := a.changes(ctx)
	if err != nil {
		return err
	}
	for _, statement := range compared.changes {
		still, err := held.take(ctx, o)
		if err == nil && !still {
			err = errLeaseLost
		}
		if err == nil {
			err = a.alter(ctx, o, statement)
		}
		if err != nil {
			return err
		}
	}
	if compared, err = a.compare(ctx); err == nil {
		err = compared.err()
	}
	return err
}

// totalOrder refuses changes of existing tables on a Galera cluster, which has no online form.
func (c *comparison) totalOrder() error {
	var changes []string
	for _, statement := range c.changes {
		if c.galera && strings.HasPrefix(statement, "ALTER TABLE") {
			changes = append(changes, statement)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	return inTotalOrder(changes...)
}

// inTotalOrder is the error for statements that change a table of a Galera cluster.
func inTotalOrder(statements ...string) error {
	return fmt.Errorf("on a Galera cluster all writes of all nodes wait while a table is changed: run it when nobody writes, "+
		"or with wsrep_OSU_method=RSU on each node in turn: %s", strings.Join(statements, "; "))
}

// outside returns a connection that is in no transaction.
func (a *Adapter) outside(ctx context.Context) (conn *sql.Conn, leave func(), err error) {
	switch db := a.db.(type) {
	case *sql.DB:
		if conn, err = a.connection(ctx); err != nil {
			return nil, nil, err
		}
		return conn, func() { _ = conn.Close() }, nil // returns it to the pool
	case *sql.Conn:
		if leave, err = a.enter(ctx); err != nil {
			return nil, nil, err
		}
		inside, err := a.inside(ctx, db)
		if inside {
			err = errors.New("the connection is in a transaction, which the server would commit before it changes a table")
		}
		if err != nil {
			leave()
			return nil, nil, err
		}
		return db, leave, nil
	}
	return nil, nil, fmt.Errorf("EnsureSchema needs a *sql.DB or a *sql.Conn, not a %T", a.db)
}

// alter runs a statement that makes or changes a table. It waits for the lock of a table
// for a second, some times, so that the site's statements do not queue behind it.
func (a *Adapter) alter(ctx context.Context, o on, statement string) error {
	for try := 1; ; try++ {
		err := o.lasting(ctx, statement)
		switch {
		case err == nil || isNumber(err, duplicateTable, duplicateColumn, duplicateKeyName): // another node may have done it
			return nil
		case isNumber(err, duplicateEntry):
			return fmt.Errorf("rows with one key prevent the unique key: %w; the statement is: %s", err, statement)
		case !isNumber(err, lockWaitTimeout, deadlock) || try == schemaTries || sleep(ctx, 100*time.Millisecond) != nil:
			return fmt.Errorf("%w; the statement is: %s", err, statement)
		}
	}
}

// CheckSchema compares the tables and the settings of the connection with what this
// version of the package needs, and changes nothing. The error says what is wrong, and
// what to do about it.
func (a *Adapter) CheckSchema(ctx context.Context) error {
	leave, err := a.enter(ctx)
	if err == nil {
		defer leave()
		err = a.prepare(ctx)
	}
	if err != nil {
		return failed(ctx, "check schema", err)
	}
	return nil
}

// SchemaChanges returns the statements that EnsureSchema would run now, in order, for an
// application that runs them with a migration tool. They are for one session. With
// WithLayout they are what would be better about the tables of the site.
func (a *Adapter) SchemaChanges(ctx context.Context) ([]string, error) {
	compared, err := a.changes(ctx)
	if err != nil {
		return nil, failed(ctx, "schema changes", err)
	}
	return compared.changes, nil
}

// create is the statement that makes the table.
func (t *table) create(collation string) string {
	lines := []string{"\tseq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY"}
	for _, c := range t.columns {
		lines = append(lines, "\t"+c.definition())
	}
	for _, k := range t.keys {
		lines = append(lines, "\t"+k.definition())
	}
	if name := t.foreignKey(); name != "" {
		lines = append(lines, "\tCONSTRAINT `"+name+"` FOREIGN KEY (userId) REFERENCES `user` (id) ON DELETE CASCADE")
	}
	return "CREATE TABLE `" + t.name + "` (\n" + strings.Join(lines, ",\n") +
		"\n) ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=" + collation
}

// createVersion makes the version table.
const createVersion = "CREATE TABLE IF NOT EXISTS `" + versionTable +
	"` (single TINYINT NOT NULL PRIMARY KEY, version INT NOT NULL) ENGINE=InnoDB"

// setVersion records a version, unless a later one is recorded.
func setVersion(version int) string {
	return fmt.Sprintf("INSERT INTO `%s` (single, version) VALUES (1, %d) ON DUPLICATE KEY UPDATE version = GREATEST(version, %[2]d)",
		versionTable, version)
}

func (c column) definition() string {
	kind := strings.ToUpper(c.kind)
	switch {
	case c.length > 0:
		kind = fmt.Sprintf("%s(%d)", kind, c.length)
	case c.kind == "datetime":
		kind += "(3)"
	case c.kind == "tinyint":
		kind += "(1)"
	case c.digest != "":
		return c.name + " BINARY(32) GENERATED ALWAYS AS (" + c.digest + ") STORED"
	}
	if !c.null {
		kind += " NOT NULL"
	}
	return c.name + " " + kind
}

func (k key) definition() string {
	kind := "KEY"
	if k.unique {
		kind = "UNIQUE KEY"
	}
	return kind + " `" + k.name + "` (" + strings.Join(k.columns, ", ") + ")"
}
