package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"
)

// found describes what the database has under the name of a table.
type found struct {
	Exists   bool
	Kind     string // "r" is a plain table
	Owner    string
	Owned    bool   // the role of the connection may change the table
	Rights   bool   // the role may read and write its rows
	Hidden   bool   // row security may hide rows from the role
	Encoding string // the encoding of the database
	Columns  []foundColumn
	Indexes  []foundIndex
	Keys     []foundKey
}

type foundColumn struct {
	Name, Type string
	NotNull    bool
	Filled     bool // the database fills it, by a default, an identity or an expression
	Usable     bool // the role may use the sequence of the default
	Exact      bool // its collation distinguishes all texts
	Collation  string
}

type foundIndex struct {
	Name       string
	Unique     bool
	Valid      bool
	Deferred   bool
	Partial    bool
	Expression bool
	Columns    []string // the columns of the key, in order
	Uses       []string // all columns of the index, including those in expressions and conditions
}

// foundKey is a foreign key that references users from the column userId alone.
type foundKey struct {
	Name      string
	Cascade   bool
	Deferred  bool
	Validated bool
}

// catalogue reads the description of the tables $1 from the server's system
// catalog: one JSON object for each table, in order. $2 is the table of users.
const catalogue = `SELECT json_agg(json_build_object(
	'Exists', c.oid IS NOT NULL,
	'Kind', c.relkind,
	'Owner', pg_get_userbyid(c.relowner),
	'Owned', pg_has_role(c.relowner, 'USAGE'),
	'Rights', has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT')
		AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE'),
	'Hidden', c.relrowsecurity AND row_security_active(c.oid),
	'Encoding', getdatabaseencoding(),
	'Columns', (SELECT json_agg(json_build_object(
			'Name', a.attname,
			'Type', format_type(CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END, NULL),
			'NotNull', a.attnotnull,
			'Filled', a.atthasdef OR a.attidentity <> '',
			'Usable', a.attidentity <> '' OR COALESCE(has_sequence_privilege(pg_get_serial_sequence(t.name, a.attname), 'USAGE'), true),
			'Exact', COALESCE(l.collisdeterministic, true),
			'Collation', CASE WHEN a.attcollation <> 0 THEN a.attcollation::regcollation::text ELSE '' END) ORDER BY a.attnum)
		FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid LEFT JOIN pg_collation AS l ON l.oid = a.attcollation
		WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	'Indexes', (SELECT json_agg(json_build_object(
			'Name', x.relname,
			'Unique', i.indisunique,
			'Valid', i.indisvalid,
			'Deferred', NOT i.indimmediate,
			'Partial', i.indpred IS NOT NULL,
			'Expression', i.indexprs IS NOT NULL,
			'Columns', ARRAY(SELECT a.attname FROM unnest(i.indkey) WITH ORDINALITY AS k (attnum, n)
				JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
				WHERE k.n <= i.indnkeyatts ORDER BY k.n),
			'Uses', ARRAY(SELECT DISTINCT a.attname FROM pg_depend AS d
				JOIN pg_attribute AS a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
				WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
				AND d.refclassid = 'pg_class'::regclass AND d.refobjid = i.indrelid)))
		FROM pg_index AS i JOIN pg_class AS x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid),
	'Keys', (SELECT json_agg(json_build_object(
			'Name', f.conname, 'Cascade', f.confdeltype = 'c', 'Deferred', f.condeferrable, 'Validated', f.convalidated))
		FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = c.oid AND f.confrelid = to_regclass($2::text)
		AND f.conkey = ARRAY(SELECT a.attnum FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'userId'))
	) ORDER BY t.n)::text
FROM unnest($1::text[]) WITH ORDINALITY AS t (name, n) LEFT JOIN pg_class AS c ON c.oid = to_regclass(t.name)`

// look returns the description of the tables in the database, in the order of
// the schema's tables.
func (a *Adapter) look(ctx context.Context, db DB) ([]found, error) {
	tables := make([]string, len(a.schema.tables))
	for i, t := range a.schema.tables {
		tables[i] = a.names.table(t.name)
	}
	rows, err := db.Query(ctx, catalogue, tables, a.names.users)
	text, err := first(rows, err, func(rows pgx.Rows) (s string, err error) { return s, rows.Scan(&s) })
	if err != nil {
		return nil, err
	}
	var all []found
	return all, json.Unmarshal([]byte(*text), &all)
}
