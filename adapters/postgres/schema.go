package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// Schema returns the SQL files that EnsureSchema runs, in the order of their
// numbers, for applications that have a migration tool. They hold the default
// names, which the search path places in a schema. Each may be run any number
// of times, on an empty database, on one that it has seen before, and on one
// that Auth.js made.
func Schema() fs.FS {
	files, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		panic(err) // the name above is wrong
	}
	return files
}

// schemaLock is the advisory lock that EnsureSchema holds: "gatehous" in ASCII.
const schemaLock = 0x6761746568_6f7573

// EnsureSchema makes the tables, indexes and foreign keys that are missing, in
// one transaction. It may be called by any number of processes at once, which
// wait for each other, and on a database in use: where nothing is missing it
// changes nothing, takes no lock on a table and needs no right to create.
//
// On a database that was made with the schema of Auth.js it adds what that
// lacks, without changing a row. If duplicates stand in the way of a unique key
// it changes nothing at all and returns an error that names them and matches
// [adapter.ErrConflict]; sessions are named by their id column, not by their
// tokens. A table of one of the names that is not such a table is an error too.
// [CAP-03] [CAP-04]
func (a *Adapter) EnsureSchema(ctx context.Context) error {
	const op = "ensure schema"
	err := a.call(ctx, op, func(db DB) error { return pgx.BeginFunc(ctx, db, a.migrate(ctx)) })
	if errors.Is(err, adapter.ErrConflict) {
		found, dupErr := a.duplicates(ctx)
		if dupErr == nil && len(found) > 0 {
			return fmt.Errorf("%w; resolve these duplicates first: %s", err, strings.Join(found, ", "))
		}
		return errors.Join(err, dupErr)
	}
	return err
}

func (a *Adapter) migrate(ctx context.Context) func(pgx.Tx) error {
	return func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1::bigint)`, int64(schemaLock)); err != nil {
			return err
		}
		if a.names.schema != "" {
			if err := createSchema(ctx, tx, pgx.Identifier{a.names.schema}.Sanitize()); err != nil {
				return err
			}
		}
		if err := a.runFile(ctx, tx, "schema/0001_tables.sql"); err != nil {
			return err
		}
		if err := a.checkColumns(ctx, tx); err != nil {
			return err
		}
		if err := a.runFile(ctx, tx, "schema/0002_keys.sql"); err != nil {
			return err
		}
		_, err := a.learn(ctx, tx)
		return err
	}
}

// createSchema asks first: CREATE SCHEMA IF NOT EXISTS needs the right to
// create even if the schema exists.
func createSchema(ctx context.Context, tx pgx.Tx, name string) error {
	rows, err := tx.Query(ctx, `SELECT to_regnamespace($1::text)::text`, name)
	_, err = first(rows, err, noColumns)
	if errors.Is(err, errRefused) {
		_, err = tx.Exec(ctx, `CREATE SCHEMA `+name)
	}
	return err
}

// runFile runs a file of the schema, with the names that the adapter has for
// the tables and indexes in place of the default ones.
func (a *Adapter) runFile(ctx context.Context, tx pgx.Tx, file string) error {
	sql, err := schemaFiles.ReadFile(file)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, a.names.inFile(string(sql)), pgx.QueryExecModeSimpleProtocol)
	return err
}

// inFile renames what the schema files name. They write every name of ours in
// double quotes.
func (n names) inFile(sql string) string {
	var pairs []string
	for _, table := range []string{"users", "accounts", "sessions", "verification_token", "authenticators"} {
		pairs = append(pairs, `"`+table+`"`, n.table(table), `"`+table+`_`, `"`+n.prefix+table+`_`)
	}
	return strings.NewReplacer(pairs...).Replace(sql)
}

// columns are what each table needs, with the type where it matters.
const columns = `SELECT v.tab || '.' || v.col || COALESCE(' ' || v.typ, '')
	FROM unnest($1::text[], $2::text[], $3::text[]) AS v (tab, col, typ)
	WHERE NOT EXISTS (SELECT FROM pg_attribute AS a WHERE a.attrelid = to_regclass(v.tab) AND a.attname = v.col
		AND NOT a.attisdropped AND (v.typ IS NULL OR v.typ = format_type(a.atttypid, NULL)))`

// checkColumns refuses tables that have one of our names and another purpose,
// before anything is changed about them.
func (a *Adapter) checkColumns(ctx context.Context, tx pgx.Tx) error {
	const instant = "timestamp with time zone"
	var tables, cols []string
	var types []*string
	need := func(table, typ string, names ...string) {
		for _, name := range names {
			tables, cols, types = append(tables, table), append(cols, name), append(types, nil)
			if typ != "" {
				types[len(types)-1] = &typ
			}
		}
	}
	need(a.names.users, "", "id", "name", "email", "image")
	need(a.names.users, instant, "emailVerified")
	need(a.names.accounts, "", "userId", "type", "provider", "providerAccountId", "refresh_token",
		"access_token", "expires_at", "id_token", "scope", "session_state", "token_type")
	need(a.names.sessions, "", "id", "userId", "sessionToken")
	need(a.names.sessions, instant, "expires")
	need(a.names.verification, "", "identifier", "token")
	need(a.names.verification, instant, "expires")
	need(a.names.authenticators, "", "credentialID", "userId", "providerAccountId", "credentialPublicKey",
		"counter", "credentialDeviceType", "credentialBackedUp", "transports")
	rows, err := tx.Query(ctx, columns, tables, cols, types)
	if err != nil {
		return err
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("the tables are there but not these columns: %s; "+
			"if the tables serve another purpose, use WithSchema or WithPrefix", strings.Join(missing, ", "))
	}
	return err
}

// duplicates names up to ten duplicates of each key.
func (a *Adapter) duplicates(ctx context.Context) (found []string, err error) {
	queries := []string{
		`SELECT format('users with the e-mail address %L', email) FROM ` + a.names.users +
			` WHERE email IS NOT NULL GROUP BY email HAVING count(*) > 1 ORDER BY email LIMIT 10`,
		`SELECT format('accounts of provider %L with the id %L', provider, "providerAccountId") FROM ` + a.names.accounts +
			` GROUP BY provider, "providerAccountId" HAVING count(*) > 1 ORDER BY provider, "providerAccountId" LIMIT 10`,
		`SELECT format('sessions with one token: id %s', string_agg(id::text, ', ' ORDER BY id)) FROM ` + a.names.sessions +
			` GROUP BY "sessionToken" HAVING count(*) > 1 ORDER BY min(id::text) LIMIT 10`,
		`SELECT format('verification tokens of %L', identifier) FROM ` + a.names.verification +
			` GROUP BY identifier, token HAVING count(*) > 1 ORDER BY identifier LIMIT 10`,
	}
	err = a.call(ctx, "find duplicates", func(db DB) error {
		for _, q := range queries {
			rows, err := db.Query(ctx, q)
			if err != nil {
				return err
			}
			some, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			found = append(found, some...)
		}
		return nil
	})
	return found, err
}
