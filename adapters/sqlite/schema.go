package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// Schema returns the SQL files that EnsureSchema runs, to be run in the order
// of their names by a migration tool. Their statements change nothing that is
// there already. Every name in double quotes is a table, index or trigger; with
// WithPrefix it takes the prefix.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// EnsureSchema creates what is not there of the tables, indexes and the
// trigger, and changes no data [CAP-03]. Every statement can be repeated, so
// it is safe when several processes start at once, and when one of them dies
// half-way the next call completes the work.
//
// It fails, before it touches a table that was there, if one lacks a column:
// then the name belongs to something else, see WithPrefix. It also fails
// if the database stores text as UTF-16, which does not keep every string.
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		a.checkEncoding,
		func(ctx context.Context) error { return a.runFile(ctx, "schema/0001_tables.sql") },
		a.checkColumns,
		func(ctx context.Context) error { return a.runFile(ctx, "schema/0002_indexes.sql") },
	} {
		if err := a.patiently(ctx, func() error { return step(ctx) }); err != nil {
			return failed(ctx, "ensure schema", err)
		}
	}
	return nil
}

func (a *Adapter) runFile(ctx context.Context, name string) error {
	text, err := schemaFiles.ReadFile(name)
	if err != nil {
		return err
	}
	if _, err := a.db.ExecContext(ctx, a.named(string(text))); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (a *Adapter) checkEncoding(ctx context.Context) error {
	var encoding string
	rows, err := a.db.QueryContext(ctx, `PRAGMA encoding`)
	err = drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&encoding) })
	if err == nil && encoding != "UTF-8" {
		err = fmt.Errorf("the database stores text as %s: want UTF-8", encoding)
	}
	return err
}

func (a *Adapter) checkColumns(ctx context.Context) error {
	for table, columns := range map[string]string{
		`"user"`:              userColumns,
		`"account"`:           accountColumns,
		`"session"`:           sessionColumns,
		`"verificationToken"`: tokenColumns,
		`"authenticator"`:     authenticatorColumns,
	} {
		table = a.named(table)
		rows, err := a.db.QueryContext(ctx, `SELECT `+columns+` FROM `+table+` LIMIT 0`)
		if err := drain(rows, err, func(*sql.Rows) error { return nil }); err != nil {
			return fmt.Errorf("table %s is not one of this package: %w", table, err)
		}
	}
	return nil
}
