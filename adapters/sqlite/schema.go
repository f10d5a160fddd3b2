package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// EnsureSchema makes the tables in a new database. In a database that an earlier
// version or Auth.js's Drizzle adapter made, it adds the missing columns, unique
// keys, indexes and trigger. It changes no row. It is one transaction: any number
// of processes may call it at once, and a process that dies leaves nothing half
// done. Readers are not blocked; writers wait while indexes of large tables are
// built, about a second for each million rows. [CAP-03]
//
// If duplicates prevent a unique key, the error names them and matches
// [adapter.ErrConflict]. If EnsureSchema cannot bring the tables to the schema, it
// changes nothing and the error says what to do. It refuses tables of Drizzle in which
// nothing tells how instants are stored, see [Layout].
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	const op = "ensure schema"
	if err := a.patiently(ctx, func() error { return a.oneMemory(ctx) }); err != nil {
		return failed(ctx, op, err)
	}
	done, err := a.isCurrent(ctx)
	if err != nil {
		return failed(ctx, op, err)
	}
	if done {
		return nil
	}
	if a.foreign {
		return a.CheckSchema(ctx)
	}
	err = a.atomically(ctx, func(ctx context.Context, tx *Adapter) error {
		compared, err := tx.compare(ctx) // again: another process may have changed the tables
		if err != nil {
			return err
		}
		if len(compared.refused) > 0 {
			return compared.err()
		}
		if err := tx.duplicates(ctx, compared); err != nil {
			return err
		}
		for _, change := range append(compared.changes, tx.setVersion()) {
			for _, statement := range split(change) {
				if _, err := tx.db.ExecContext(ctx, statement); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if code, _ := resultCode(err); code&0xff == codeReadOnly {
		err = fmt.Errorf("the file is read-only and lacks tables: open it for writing once: %w", err)
	}
	if err != nil {
		return failed(ctx, op, err)
	}
	return a.CheckSchema(ctx)
}

// split returns the statements of a script: not every driver runs more than one. Each ends
// at the end of a line.
func split(script string) (statements []string) {
	part := ""
	for piece := range strings.SplitAfterSeq(script, ";\n") {
		part += piece
		inTrigger := strings.Contains(part, "CREATE TRIGGER") && !strings.HasSuffix(strings.TrimRight(part, ";\n "), "END")
		if !inTrigger && strings.TrimSpace(part) != "" {
			statements, part = append(statements, part), ""
		}
	}
	return statements
}

// CheckSchema compares the tables with the schema that this version of the package
// needs, and changes nothing. The error says what is missing, and what to do about
// it.
func (a *Adapter) CheckSchema(ctx context.Context) error {
	if err := a.patiently(ctx, func() error { return a.check(ctx) }); err != nil {
		return failed(ctx, "check schema", err)
	}
	return nil
}

// SchemaChanges returns the statements that EnsureSchema would run now, in order,
// for an application that runs them with a migration tool. Statements that are one
// string belong into one transaction.
func (a *Adapter) SchemaChanges(ctx context.Context) ([]string, error) {
	const op = "schema changes"
	done, err := a.isCurrent(ctx)
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	if done && !a.foreign {
		return nil, nil
	}
	compared, err := a.compare(ctx)
	if err == nil && len(compared.refused) > 0 {
		err = compared.err()
	}
	if err != nil {
		return nil, failed(ctx, op, err)
	}
	if a.foreign {
		return compared.changes, nil
	}
	return append(compared.changes, a.setVersion()), nil
}

// check returns an error that names what is missing in the tables, or nil if they
// are complete.
func (a *Adapter) check(ctx context.Context) error {
	compared, err := a.compare(ctx)
	if err == nil {
		err = compared.err()
	}
	if err == nil {
		a.accept(compared)
	}
	return err
}

// accept notes that the tables are complete, and their shape.
func (a *Adapter) accept(c comparison) {
	a.shape.Store(c.shape)
	a.checked.Store(true)
}

// isCurrent reports whether the tables are complete and the version is recorded.
// The error names what EnsureSchema cannot change.
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
		if a.foreign {
			a.accept(compared)
			done = true
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
		if err == nil {
			a.accept(compared)
		}
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
