package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// EnsureSchema makes the tables in a new database. In a database that an earlier
// version or Auth.js made, it adds the missing columns, unique keys, indexes and
// foreign keys. It changes no row. If nothing is missing, it only reads the
// system catalog and needs no right to create objects.
//
// The application may keep running during the call: no read or write waits
// longer than 100 ms. Indexes are built concurrently. A change that must lock a
// table for an instant waits for the lock for at most 20 ms, and tries again
// until ctx ends; the error then names the process that holds the lock. Any
// number of processes may call EnsureSchema at once: one of them makes the
// changes while the others wait. If that process is killed, another one
// continues 10 s later. EnsureSchema can't run in a transaction.
//
// Before it changes anything, EnsureSchema looks for duplicates that prevent a
// unique key. The error names them and matches [adapter.ErrConflict]; it names
// sessions by their id column, not by their tokens. If EnsureSchema can't bring
// the tables to the schema, the error says what to do: examples are columns of
// other types, addresses that are compared without regard to case, and a missing
// right. [CAP-03] [CAP-04]
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	const op = "ensure schema"
	if a.inTx {
		return fmt.Errorf("postgres: %s can't run in a transaction: call it on an adapter of a pool or a connection", op)
	}
	lease := newLease(a)
	for {
		compared, err := a.compareSchema(ctx)
		switch {
		case err != nil:
			return wrap(ctx, op, err)
		case len(compared.refused) > 0 || compared.foreign && compared.err() != nil:
			return wrap(ctx, op, compared.err())
		case compared.foreign && a.names.versionSchema == "":
			return nil
		case len(compared.denied) > 0:
			return wrap(ctx, op, fmt.Errorf("%w; %s", compared.err(), strings.Join(compared.denied, "; ")))
		}
		if done, err := a.isCurrent(ctx, compared); err != nil || done {
			return wrap(ctx, op, err)
		}
		held, err := lease.take(ctx)
		if err != nil {
			return wrap(ctx, op, hint(ctx, err))
		}
		if !held {
			if err := sleep(ctx, 100*time.Millisecond); err != nil {
				return wrap(ctx, op, fmt.Errorf("another process is changing the tables: %w", err))
			}
			continue
		}
		err = lease.hold(ctx, a.migrate)
		if !errors.Is(err, errLeaseLost) {
			return wrap(ctx, op, hint(ctx, err))
		}
	}
}

// hint adds advice to the error of a server that refuses a change.
func hint(ctx context.Context, err error) error {
	switch {
	case isCode(err, uniqueViolation): // a duplicate that was stored meanwhile
		return fmt.Errorf("%w: %w", adapter.ErrConflict, err)
	case isCode(err, insufficientPrivilege):
		return fmt.Errorf("the role may not change the tables; run the statements that SchemaChanges returns as one that may: %w", err)
	case isCode(err, readOnlyTransaction):
		return fmt.Errorf("the connection is read-only, as on a standby: call EnsureSchema on the primary: %w", err)
	case isCode(err, queryCanceled) && ctx.Err() == nil:
		return fmt.Errorf("a statement_timeout of the role or the connection may be too short: call EnsureSchema on a connection without one: %w", err)
	}
	return err
}

// CheckSchema compares the tables with the schema that this version of the
// package needs, and changes nothing. The error says what is missing, and what
// to do about it.
func (a *Adapter) CheckSchema(ctx context.Context) error {
	const op = "check schema"
	compared, err := a.compareSchema(ctx)
	if err == nil {
		err = compared.err()
	}
	return wrap(ctx, op, err)
}

// SchemaChanges returns the statements that EnsureSchema would run now, in order,
// for an application that runs them with a migration tool. CREATE INDEX
// CONCURRENTLY can't be in a transaction. Every other statement should be in its
// own transaction, with a short lock_timeout.
func (a *Adapter) SchemaChanges(ctx context.Context) ([]string, error) {
	const op = "schema changes"
	compared, err := a.compareSchema(ctx)
	if err == nil && len(compared.refused) > 0 {
		err = compared.err()
	}
	if err != nil {
		return nil, wrap(ctx, op, err)
	}
	if compared.empty {
		script, err := a.schema.newDatabase(a.names)
		return []string{script}, wrap(ctx, op, err)
	}
	done, err := a.isCurrent(ctx, compared)
	if err != nil || done && !compared.foreign {
		return nil, wrap(ctx, op, err)
	}
	var statements []string
	for _, change := range compared.changes {
		statements = append(statements, change.statement())
	}
	if compared.foreign && a.names.versionSchema == "" {
		return statements, nil
	}
	return append(statements, a.names.createVersion(), a.names.setVersion(a.schema.version)), nil
}

// compareSchema compares the tables with the schema. If nothing is missing, it
// stores the statements that fit the tables.
func (a *Adapter) compareSchema(ctx context.Context) (compared comparison, err error) {
	err = a.exclusively(ctx, func(db link) (err error) {
		compared, err = a.compare(ctx, db)
		return err
	})
	if err == nil && compared.err() == nil {
		a.serve(compared)
	}
	return compared, err
}

// compare compares the tables of the database with the schema.
func (a *Adapter) compare(ctx context.Context, db link) (compared comparison, err error) {
	tables, err := a.look(ctx, db)
	if isCode(err, undefinedObject) && !a.inTx { // somebody has just dropped a publication
		tables, err = a.look(ctx, db)
	}
	if err != nil {
		return compared, err
	}
	compared = a.schema.compare(a.names, tables)
	if len(compared.beside) == 0 || len(compared.refused) > 0 {
		return compared, nil
	}
	rows, err := db.query(ctx, a.names.emptyBesideFull(compared.beside))
	empty, err := first(rows, err, scanOne[bool])
	if err == nil && *empty {
		compared.refuseBeside(a.names)
	}
	return compared, err
}

// isCurrent reports whether EnsureSchema has nothing to do: the tables are
// complete and the version is recorded. It ignores foreign keys that could not
// be validated.
func (a *Adapter) isCurrent(ctx context.Context, compared comparison) (bool, error) {
	if lacking := compared.err(); lacking != nil {
		return false, nil //nolint:nilerr // EnsureSchema makes the missing version table
	}
	var version int
	err := a.exclusively(ctx, func(db link) (err error) {
		version, err = a.names.version(ctx, db)
		return err
	})
	return version >= a.schema.version, a.names.notOurs(err)
}

// migrate makes the changes one by one. After each change it compares the tables
// again, because other processes may have made some of the changes.
func (a *Adapter) migrate(ctx context.Context) error {
	tried := map[string]int{}
	blocked := "" // the table of a change that the connection's lock_timeout has ended
	for checked := false; ; {
		compared, err := a.compareSchema(ctx)
		if err != nil && ctx.Err() != nil && blocked != "" {
			return fmt.Errorf("%w while changing %s; %s", ctx.Err(), blocked, a.inTheWay(ctx, oldestTransactions, blocked))
		}
		if err != nil {
			return err
		}
		if len(compared.refused) > 0 {
			return compared.err()
		}
		if compared.empty {
			if err := a.makeTables(ctx); err != nil {
				return err
			}
			continue
		}
		if !checked {
			if err := a.findDuplicates(ctx, compared.changes); err != nil {
				return err
			}
			checked = true
		}
		next := nextChange(compared.changes, tried)
		if next == nil {
			return a.exclusively(ctx, func(db link) error {
				_, err := db.exec(ctx, a.names.setVersion(a.schema.version))
				return err
			})
		}
		err = a.make(ctx, *next)
		if isCode(err, lockNotAvailable) {
			blocked = next.table
			_ = sleep(ctx, 100*time.Millisecond) // if ctx ends, the next comparison fails
			continue
		}
		tried[next.sql]++
		// The server unlocks the table of an index before it commits the build, so a change may
		// meet a row of the catalog that is not committed yet: internalError.
		if err != nil && (tried[next.sql] > 3 || !isOverlap(err) && !isCode(err, internalError)) {
			return fmt.Errorf("%s: %w", next.why, err)
		}
	}
}

// nextChange returns the first change that is still to be made, or nil. It
// returns the validation of a key only once, because the validation fails if
// there are rows whose user is absent.
func nextChange(changes []change, tried map[string]int) *change {
	for i, c := range changes {
		if !c.better && (c.kind != validation || tried[c.sql] == 0) {
			return &changes[i]
		}
	}
	return nil
}

// makeTables runs the schema files in a new database.
func (a *Adapter) makeTables(ctx context.Context) error {
	script, err := a.schema.newDatabase(a.names)
	if err != nil {
		return err
	}
	err = a.shortLock(ctx, a.names.table("users"), script)
	if isOverlap(err) {
		return nil
	}
	return err
}

// make makes one change, in a way that blocks no reader or writer for long.
func (a *Adapter) make(ctx context.Context, c change) error {
	switch c.kind {
	case concurrently:
		return a.concurrently(ctx, c)
	case validation:
		err := a.exclusively(ctx, func(db link) error {
			_, err := db.exec(ctx, c.sql)
			return err
		})
		if isCode(err, foreignKeyViolation) {
			return nil // rows whose user is absent stay
		}
		return err
	default:
		return a.shortLock(ctx, c.table, c.sql)
	}
}

// findDuplicates returns an error that names up to ten duplicates of each unique
// key that is to be made.
func (a *Adapter) findDuplicates(ctx context.Context, changes []change) error {
	var duplicates []string
	for _, c := range changes {
		if c.key == nil {
			continue
		}
		err := a.exclusively(ctx, func(db link) error {
			rows, err := db.query(ctx, duplicatesOf(c))
			some, err := collect(rows, err, scanOne[string])
			duplicates = append(duplicates, some...)
			return err
		})
		if isCode(err, undefinedTable, undefinedColumn) {
			continue // the table or the column is still to be made
		}
		if err != nil {
			return err
		}
	}
	if len(duplicates) > 0 {
		return fmt.Errorf("%w; resolve these duplicates first: %s", adapter.ErrConflict, strings.Join(duplicates, ", "))
	}
	return nil
}

// duplicatesOf returns the query for the duplicates of a key. The query does not
// return tokens, which are secret.
func duplicatesOf(c change) string {
	key := quoteAll(c.key)
	what := map[string]string{
		`"id"`:                            `format('users with the id %L', id)`,
		`"email"`:                         `format('users with the e-mail address %L', email)`,
		`"provider", "providerAccountId"`: `format('accounts of provider %L with the id %L', provider, "providerAccountId")`,
		`"sessionToken"`:                  `format('sessions with one token: id %s', string_agg(to_jsonb(t) ->> 'id', ', ' ORDER BY to_jsonb(t) ->> 'id'))`,
		`"identifier", "token"`:           `format('verification tokens of %L', identifier)`,
		`"userId"`:                        `format('passwords of the user %L', "userId")`,
		`"credentialID"`:                  `format('authenticators with the id %L', "credentialID")`,
	}[key]
	return fmt.Sprintf(`SELECT %s FROM %s AS t WHERE %s IS NOT NULL GROUP BY %s HAVING count(*) > 1 ORDER BY 1 LIMIT 10`,
		what, c.table, quote(c.key[0]), key)
}
