package postgres

import (
	"context"
	"encoding/json"
	"fmt"
)

// found describes what the database has under the name of a table.
type found struct {
	Exists   bool
	Schema   string
	Name     string
	Kind     string // "r" is a plain table
	Owner    string
	Owned    bool   // the role of the connection may change the table
	Role     string // the role of the connection
	Lacking  string // the rights on the rows that the role lacks, such as DELETE
	Hidden   bool   // row security may hide rows from the role
	Kept     bool   // a trigger of the site may keep rows from a deletion, without an error
	Encoding string // the encoding of the database
	Replica  bool   // the server does not enforce foreign keys on the connection
	Columns  []foundColumn
	Indexes  []foundIndex
	Keys     []foundKey
	Foreign  []string // the names of all foreign keys
	Identity bool     // a publication can tell its rows apart, or none has the table
	Others   []foundOther
	Hiding   string // a schema in the search path that has the tables, and that the role may not use
}

// foundOther is a table in the schema whose name is like that of a table of the layout.
type foundOther struct {
	Name            string
	View            bool   // or anything else that is no table
	SQL             string // its name in SQL form
	Columns         []string
	Readable, Pages bool   // the role may read the rows; the table has pages
	kind            string // the table of the default layout that it is like
}

type foundColumn struct {
	Name, Type string
	NotNull    bool
	Modifier   int    // atttypmod: the length of a text, the digits of an instant
	Filled     bool   // the database fills it, by a default, an identity or an expression
	Generated  string // "s" if the database stores the value of an expression, "v" if it computes it
	Sequence   string // the sequence of the default, if the role may not use it
	Exact      bool   // its collation distinguishes all texts
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
// catalog: one JSON object for each table, in order. $2 is the table of users, $3
// the columns with the ID of the owner, $4 the schema of WithSchema or nothing, $5
// the name of the table of users without quotes.
const catalogue = `SELECT json_agg(json_build_object(
	'Exists', c.oid IS NOT NULL,
	'Schema', n.nspname,
	'Name', c.relname,
	'Kind', c.relkind,
	'Owner', pg_get_userbyid(c.relowner),
	'Owned', pg_has_role(c.relowner, 'USAGE'),
	'Role', current_user,
	'Lacking', (SELECT string_agg(p.name, ', ') FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (name)
		WHERE NOT has_table_privilege(c.oid, p.name)),
	'Hidden', c.relrowsecurity AND row_security_active(c.oid),
	'Kept', EXISTS (SELECT FROM pg_trigger AS g WHERE g.tgrelid = c.oid AND g.tgenabled <> 'D' AND g.tgtype & 11 = 11), -- before the deletion of each row
	'Encoding', getdatabaseencoding(),
	'Replica', current_setting('session_replication_role') = 'replica',
	'Columns', (SELECT json_agg(json_build_object(
			'Name', a.attname,
			'Type', replace(format_type(CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END, NULL), '"', ''), -- quote_all_identifiers
			'Modifier', CASE WHEN y.typtype = 'd' THEN y.typtypmod ELSE a.atttypmod END,
			'NotNull', a.attnotnull,
			'Filled', a.atthasdef OR a.attidentity <> '',
			'Generated', a.attgenerated,
			'Sequence', CASE WHEN a.attidentity = '' AND NOT has_sequence_privilege(pg_get_serial_sequence(t.name, a.attname), 'USAGE')
				THEN pg_get_serial_sequence(t.name, a.attname) END,
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
		AND f.conkey = ARRAY(SELECT a.attnum FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = t.owner)),
	'Foreign', (SELECT json_agg(f.conname) FROM pg_constraint AS f WHERE f.contype = 'f' AND f.conrelid = c.oid),
	'Identity', CASE WHEN c.relreplident = 'f' OR EXISTS (SELECT FROM pg_index AS i
			WHERE i.indrelid = c.oid AND (c.relreplident = 'd' AND i.indisprimary OR c.relreplident = 'i' AND i.indisreplident)) THEN true
		ELSE NOT EXISTS (SELECT FROM pg_publication_tables AS g JOIN pg_publication AS p ON p.pubname = g.pubname
			WHERE g.schemaname = n.nspname AND g.tablename = c.relname AND (p.pubupdate OR p.pubdelete)) END,
	'Others', CASE WHEN t.n = 1 THEN (SELECT json_agg(json_build_object(
			'Name', o.relname,
			'View', o.relkind NOT IN ('r', 'p'),
			'SQL', quote_ident(m.nspname) || '.' || quote_ident(o.relname),
			'Readable', has_table_privilege(o.oid, 'SELECT'),
			'Pages', pg_relation_size(o.oid) > 0,
			'Columns', (SELECT json_agg(a.attname) FROM pg_attribute AS a WHERE a.attrelid = o.oid AND a.attnum > 0 AND NOT a.attisdropped)) ORDER BY o.relname)
		FROM pg_class AS o JOIN pg_namespace AS m ON m.oid = o.relnamespace
		WHERE o.relkind IN ('r', 'p', 'v', 'm', 'f') AND (m.nspname = $4::text OR $4::text = '' AND m.nspname = ANY (current_schemas(false)))
		AND lower(replace(o.relname, '_', '')) ~ '(user|account|session|verification|verificationtoken|authenticator|passkey|gatehouseschema)s?$') END,
	'Hiding', CASE WHEN t.n = 1 AND c.oid IS NULL AND $4::text = '' THEN (SELECT quote_ident(m.nspname)
		FROM pg_class AS o JOIN pg_namespace AS m ON m.oid = o.relnamespace
		WHERE quote_ident(o.relname) = quote_ident($5::text) AND NOT has_schema_privilege(m.oid, 'USAGE')
		AND m.nspname = ANY (regexp_split_to_array(replace(replace(current_setting('search_path'), '"', ''), '$user', current_user), '[[:space:]]*,[[:space:]]*')) LIMIT 1) END
	) ORDER BY t.n)::text
FROM unnest($1::text[], $3::text[]) WITH ORDINALITY AS t (name, owner, n) LEFT JOIN pg_class AS c ON c.oid = to_regclass(t.name)
	LEFT JOIN pg_namespace AS n ON n.oid = c.relnamespace`

// look returns the description of the tables in the database, in the order of
// the schema's tables.
func (a *Adapter) look(ctx context.Context, db link) ([]found, error) {
	tables := make([]string, len(a.schema.tables))
	owners := make([]string, len(tables))
	for i, t := range a.schema.tables {
		tables[i], owners[i] = a.names.table(t.name), a.names.column(t.name, "userId")
	}
	rows, err := db.query(ctx, catalogue, tables, a.names.table("users"), owners, a.names.schema, a.names.bare("users"))
	text, err := first(rows, err, scanOne[string])
	if isCode(err, insufficientPrivilege) {
		return nil, fmt.Errorf("the role of the connection may not use the schema %[1]s: GRANT USAGE ON SCHEMA %[1]s to it: %[2]w", quote(a.names.schema), withoutValues(err))
	}
	if err != nil {
		return nil, err
	}
	var all []found
	return all, json.Unmarshal([]byte(*text), &all)
}
