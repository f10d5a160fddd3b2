package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// EnsureSchema makes the tables in a new database, and adds what is lacking in
// one that an earlier version or Auth.js's Drizzle adapter made: columns, unique
// keys, indexes, the trigger. It changes no row. It is one transaction: any number
// of processes may start at once, and one that dies leaves nothing half done.
// Readers go on meanwhile; writers wait while indexes of large tables are built,
// about a second for each million rows. [CAP-03]
//
// Duplicates in the way of a unique key are an error that names them and matches
// [adapter.ErrConflict]. What the tables can't be brought to is an error that says
// what to do, before anything is changed.
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	const op = "ensure schema"
	done, err := a.isCurrent(ctx)
	if err != nil {
		return failed(ctx, op, err)
	}
	if done {
		return nil
	}
	err = a.atomically(ctx, func(ctx context.Context, tx *Adapter) error {
		compared, err := tx.compare(ctx) // again: another process may have been here
		if err != nil {
			return err
		}
		if len(compared.refused) > 0 {
			return compared.err()
		}
		if err := tx.duplicates(ctx, compared); err != nil {
			return err
		}
		for _, statement := range append(compared.changes, tx.setVersion()) {
			if _, err := tx.db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if code, _ := resultCode(err); code&0xff == codeReadOnly {
		err = fmt.Errorf("the file may only be read, and its tables are not complete: open it for writing once: %w", err)
	}
	if err != nil {
		return failed(ctx, op, err)
	}
	a.checked.Store(true)
	return nil
}

// CheckSchema compares the tables with what this version of the package needs
// and changes nothing. The error says what is lacking, and what to do about it.
func (a *Adapter) CheckSchema(ctx context.Context) error {
	if err := a.patiently(ctx, func() error { return a.check(ctx) }); err != nil {
		return failed(ctx, "check schema", err)
	}
	return nil
}

// SchemaChanges returns the statements that EnsureSchema would run now, in order,
// for those who run them by a tool.
func (a *Adapter) SchemaChanges(ctx context.Context) ([]string, error) {
	const op = "schema changes"
	done, err := a.isCurrent(ctx)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	if done {
		return nil, nil
	}
	compared, err := a.compare(ctx)
	if err == nil && len(compared.refused) > 0 {
		err = compared.err()
	}
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	return append(compared.changes, a.setVersion()), nil
}

// check returns an error that says what is lacking, if anything is.
func (a *Adapter) check(ctx context.Context) error {
	compared, err := a.compare(ctx)
	if err == nil {
		err = compared.err()
	}
	a.checked.Store(err == nil)
	return err
}

// isCurrent reports whether nothing is lacking and the version is recorded. An
// error says what EnsureSchema can't change.
func (a *Adapter) isCurrent(ctx context.Context) (done bool, err error) {
	err = a.patiently(ctx, func() error {
		compared, err := a.compare(ctx)
		if err != nil {
			return err
		}
		if len(compared.refused) > 0 {
			return compared.err()
		}
		if len(compared.changes) > 0 {
			return nil
		}
		there, err := a.look(ctx, "gatehouse_schema")
		if err != nil || there.kind == "" {
			return err
		}
		version := 0
		rows, err := a.db.QueryContext(ctx, a.named(`SELECT version FROM "gatehouse_schema"`))
		err = drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&version) })
		done = version >= a.schema.version
		a.checked.Store(err == nil)
		return err
	})
	return done, err
}

// setVersion returns the statements that record the version.
func (a *Adapter) setVersion() string {
	return a.named(strings.ReplaceAll(fmt.Sprintf(`CREATE TABLE IF NOT EXISTS "gatehouse_schema" (
	single  INTEGER NOT NULL PRIMARY KEY CHECK (single = 1),
	version INTEGER NOT NULL
) STRICT;
INSERT INTO "gatehouse_schema" VALUES (1, %d) ON CONFLICT (single) DO UPDATE SET version = max(version, excluded.version)`,
		a.schema.version), "\t", "  "))
}
