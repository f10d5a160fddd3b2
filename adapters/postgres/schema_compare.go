package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// comparison has the differences between the tables of a database and the
// schema.
type comparison struct {
	empty   bool // no table of the schema exists
	foreign bool // the layout is of others
	ids     idKind
	shape   *shape
	there   []bool           // which tables of the schema exist, without that of passwords
	absent  map[string]error // why the site lacks a table that it may lack
	beside  []foundOther     // tables that look like those of another library
	changes []change
	refused []string // what EnsureSchema can't change, and what to do
	denied  []string // changes that the role of the connection may not make
}

// change is a statement that brings the tables closer to the schema.
type change struct {
	why   string // what the tables lack
	table string // its name in SQL form
	sql   string
	kind  changeKind
	key   []string // the columns of a unique key, which duplicates prevent
	// better: the adapter works without it on the tables of others
	better bool
	lines  string // the same in the schema file of the product that made the tables
}

type changeKind int

const (
	quick        changeKind = iota // takes a lock that blocks others, for an instant
	concurrently                   // builds an index while others read and write, outside a transaction
	validation                     // reads the table while others write; may find rows whose user is absent
)

// err returns an error that names all differences, for callers that do not
// change the tables. Without differences it returns nil.
func (c comparison) err() error {
	what := slices.Clone(c.refused)
	for _, change := range c.changes {
		if change.kind == validation || change.better {
			continue
		}
		why := change.why
		if c.foreign {
			why += ": run " + change.sql
		}
		what = append(what, why)
	}
	if len(what) == 0 {
		return nil
	}
	if len(c.refused) > 0 || c.foreign {
		return errors.New(strings.Join(what, "; "))
	}
	return fmt.Errorf("%s: call EnsureSchema, or run the statements that SchemaChanges returns", strings.Join(what, "; "))
}

func (c *comparison) refuse(format string, args ...any) {
	c.refused = append(c.refused, fmt.Sprintf(format, args...))
}

func (c *comparison) change(kind changeKind, table, sql, why string, args ...any) *change {
	c.changes = append(c.changes, change{why: fmt.Sprintf(why, args...), table: table, sql: sql, kind: kind})
	return &c.changes[len(c.changes)-1]
}

// compare compares the found tables, which are in the order of the schema's
// tables, with the schema.
func (s *schema) compare(n names, all []found) comparison {
	c := comparison{ids: idKinds["text"], foreign: n.foreign, absent: map[string]error{}}
	if encoding := all[0].Encoding; encoding != "UTF8" && encoding != "SQL_ASCII" { // SQL_ASCII stores every byte unchanged
		c.refuse("the database has the encoding %s, which can't hold every text: make one WITH ENCODING 'UTF8'", encoding)
		return c
	}
	if all[0].Replica {
		c.refuse("session_replication_role is replica, so the server does not enforce foreign keys: ALTER ROLE %s SET session_replication_role = origin, or change what sets it", quote(all[0].Role))
		return c
	}
	if all[0].Hiding != "" {
		c.refuse("the role may not use the schema %[1]s, which has the tables: GRANT USAGE ON SCHEMA %[1]s TO %[2]s", all[0].Hiding, quote(all[0].Role))
		return c
	}
	for i, f := range all {
		if s.tables[i].name != "passwords" { // an earlier version did not make it
			c.there = append(c.there, f.Exists)
		}
	}
	c.beside = n.beside(all)
	some := slices.ContainsFunc(all, func(f found) bool { return f.Exists })
	if len(c.beside) > 0 && slices.Contains(c.there, false) {
		c.refuseBeside(n)
		return c
	}
	if !some && !n.foreign {
		c.empty = true
		c.change(quick, n.table("users"), "", "the tables %s, … are missing", n.table("users"))
		return c
	}
	id := foundColumn{Type: "text", Collation: `"C"`}
	if of := slices.IndexFunc(all[0].Columns, func(f foundColumn) bool { return f.Name == n.column("users", "id") }); of >= 0 {
		id = all[0].Columns[of]
		if kind, ok := idKinds[id.Type]; ok {
			c.ids = kind
		}
	}
	for i, t := range s.tables {
		t := comparedTable{comparison: &c, table: t, found: all[i], names: n, sql: n.table(t.name), id: id,
			lines: schemaLines{product: n.layout.product, table: n.bare(t.name)}}
		switch {
		case n.foreign && (!t.Exists || t.name == "passwords") && t.spare:
			t.compareSpare()
			continue
		case !t.Exists && n.foreign:
			c.refuse("the table %s of the layout is missing", t.sql)
			continue
		case !t.Exists:
			t.create()
			t.compareIndexes(t.indexes[1:])
			t.compareOwner()
			continue
		}
		if !t.usable() {
			continue
		}
		before := len(c.changes)
		t.compareColumns()
		t.compareIndexes(t.indexes)
		t.compareOwner()
		if len(c.changes) > before && !t.Owned {
			c.denied = append(c.denied, fmt.Sprintf("%s belongs to %s: run the statements that SchemaChanges returns as that role", t.sql, t.Owner))
		}
	}
	c.shape = s.shapeOf(n, all, c)
	return c
}

// comparedTable is a table of the schema with the description of what the
// database has under its name.
type comparedTable struct {
	*comparison
	table
	found
	names names
	lines schemaLines
	sql   string      // its name in SQL form
	id    foundColumn // the column users.id
}

// compareSpare compares a table that a site of others may lack. Until the table is there and
// fits, the adapter does without it. The name may be that of a table of the application.
func (t *comparedTable) compareSpare() {
	site := t.comparison
	of := comparison{ids: t.ids, foreign: true}
	t.comparison = &of
	switch {
	case !t.Exists:
		t.create(t.ownerKey(t.names.index(t.name, t.name+"_userId_fkey")))
		t.changes[0].lines = t.lines.newTable(t)
		t.compareIndexes(t.indexes[1:])
	case t.usable():
		t.compareColumns()
		t.compareIndexes(t.indexes)
		t.compareOwner()
	}
	if err := of.err(); err != nil {
		site.absent[t.name] = err
	}
	for _, change := range of.changes {
		if len(of.refused) > 0 {
			return
		}
		change.better = true
		site.changes = append(site.changes, change)
	}
}

// usable reports whether the name belongs to a table that the role of the
// connection may use. If not, it adds the reason to the comparison.
func (t *comparedTable) usable() bool {
	switch {
	case t.Kind != "r":
		t.refuse("%s is not a plain table: use WithSchema or WithPrefix for another name", t.sql)
	case t.Lacking != "":
		t.refuse("the role of the connection may not read and write %[1]s: GRANT %[2]s ON %[1]s TO %[3]s", t.sql, t.Lacking, quote(t.Role))
	case t.Hidden:
		t.refuse("row security may hide rows of %[1]s from the role of the connection: ALTER ROLE %[2]s BYPASSRLS, or ALTER TABLE %[1]s DISABLE ROW LEVEL SECURITY", t.sql, quote(t.Role))
	case !t.Identity:
		t.refuse("%s is in a publication and has no replica identity, so the server refuses to change and delete its rows: %s", t.sql, t.replicaIdentity())
	default:
		return true
	}
	return false
}

// create adds the statements that make a table that is missing while others
// exist, with further constraints.
func (t *comparedTable) create(constraints ...string) {
	var columns []string
	for _, col := range t.columns {
		definition := col.others
		if definition == "" {
			definition = t.newType(col)
			if !col.null {
				definition += " NOT NULL"
			}
		}
		columns = append(columns, quote(t.names.column(t.name, col.name))+" "+definition)
	}
	columns = append(columns, fmt.Sprintf("PRIMARY KEY (%s)", quoteAll(t.keyColumns(t.indexes[0]))))
	columns = append(columns, constraints...)
	t.change(quick, t.sql, fmt.Sprintf("CREATE TABLE %s (%s)", t.sql, strings.Join(columns, ", ")), "the table %s is missing", t.sql)
}

// newType returns the type of a new column.
func (t *comparedTable) newType(col column) string {
	switch {
	case col.typ == "id" && t.id.Collation != "":
		return t.id.Type + " COLLATE " + t.id.Collation
	case col.typ == "id":
		return t.id.Type
	case col.exact:
		return accepted[col.typ][0] + ` COLLATE "C"`
	default:
		return accepted[col.typ][0]
	}
}

// replicaIdentity returns the statement that gives the rows an identity: an index
// whose columns all refuse null.
func (t *comparedTable) replicaIdentity() string {
	for _, has := range t.Indexes {
		usable := has.Unique && has.Valid && !has.Deferred && !has.Partial && !has.Expression
		for _, col := range t.Columns {
			usable = usable && (col.NotNull || !slices.Contains(has.Columns, col.Name))
		}
		if usable {
			return fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY USING INDEX %s", t.sql, quote(has.Name))
		}
	}
	return fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY FULL", t.sql)
}

func (t *comparedTable) compareColumns() {
	var missing []string
	for _, col := range t.columns {
		own := t.names.column(t.name, col.name)
		name := t.sql + "." + quote(own)
		at := slices.IndexFunc(t.Columns, func(f foundColumn) bool { return f.Name == own })
		alter := func(format string, args ...any) string {
			return fmt.Sprintf("ALTER TABLE %s "+format, append([]any{t.sql}, args...)...)
		}
		switch {
		case col.others != "":
			continue
		case at < 0 && col.added:
			made := t.change(quick, t.sql, alter("ADD COLUMN IF NOT EXISTS %s %s", quote(own), t.newType(col)), "the column %s is missing", name)
			made.better, made.lines = t.foreign, t.lines.column(col, own)
			continue
		case at < 0:
			missing = append(missing, own)
			continue
		}
		has := t.Columns[at]
		if has.Generated != "" {
			advice := ""
			if has.Generated == "s" {
				advice = ": run " + alter("ALTER COLUMN %s DROP EXPRESSION", quote(own))
			}
			t.refuse("%s is generated by the server, and the adapter writes it%s", name, advice)
		}
		if !slices.Contains(accepted[col.typ], has.Type) && (has.Type != naive || col.typ != "timestamptz" || !t.names.layout.UTC) {
			t.refuseType(col, has, name)
			continue
		}
		if (col.exact || col.typ == "id") && !has.Exact {
			t.refuse("%s has a collation that treats different texts as equal: %s", name, alter(`ALTER COLUMN %s TYPE %s COLLATE "C"`, quote(own), has.Type))
		}
		if col.typ == "id" && (idKinds[has.Type].cast != t.ids.cast || has.Collation != t.id.Collation) {
			t.refuse("%s has the type %s %s, but %s.id has the type %s %s: run %s",
				name, has.Type, has.Collation, t.names.table("users"), t.id.Type, t.id.Collation, t.convert(col, has, "%s::"+t.id.Type))
		}
		if col.typ == "text" && has.Type == "character varying" { // the type has a limit; removing it changes only the system catalog
			made := t.change(quick, t.sql, alter("ALTER COLUMN %s TYPE text", quote(own)), "%s is a varchar, whose length is limited", name)
			made.better, made.lines = t.foreign, t.lines.column(col, own)
		}
		if t.foreign && col.typ == "bigint" && has.Type == "integer" {
			made := t.change(quick, t.sql, alter("ALTER COLUMN %s TYPE bigint", quote(own)), "%s is an integer of 32 bits", name)
			made.better, made.lines = true, t.lines.column(col, own)
		}
		if col.null && has.NotNull {
			made := t.change(quick, t.sql, alter("ALTER COLUMN %s DROP NOT NULL", quote(own)), "%s must accept null", name)
			made.better, made.lines = t.foreign && t.name == "users" && col.name == "email", t.lines.column(col, own)
		}
	}
	if len(missing) > 0 {
		t.refuse("%s lacks the columns %s: %sif the table has another purpose, use WithSchema or WithPrefix", t.sql, quoteAll(missing), t.otherNames(missing))
		return
	}
	for _, has := range t.Columns {
		written := slices.ContainsFunc(t.columns, func(col column) bool {
			assigned := t.name == "users" && col.name == "id" && t.ids.assigned
			return t.names.column(t.name, col.name) == has.Name && col.others == "" && !assigned
		})
		if has.Sequence != "" {
			t.refuse("the role of the connection may not use the sequence of %s.%s: GRANT USAGE ON SEQUENCE %s TO %s", t.sql, quote(has.Name), has.Sequence, quote(t.Role))
		}
		if has.NotNull && !has.Filled && !written && has.extra().name == "" {
			t.refuse("%[1]s.%[2]s does not accept null, and the adapter does not write it: give it a default, or run ALTER TABLE %[1]s ALTER COLUMN %[2]s DROP NOT NULL", t.sql, quote(has.Name))
		}
	}
}

// refuseType adds the reason and, if there is one that is right for every value, the
// statement that changes the type of a column.
func (t *comparedTable) refuseType(col column, has foundColumn, name string) {
	want := strings.Join(accepted[col.typ], " or ")
	if has.Type == naive && col.typ == "timestamptz" {
		t.refuse("%s is of the type %s, which does not say the time zone of its values, want %s: if they are UTC, as Prisma and Drizzle write them, "+
			"use WithLayout with UTC, or run %s", name, has.Type, want, t.convert(col, has, "%s AT TIME ZONE 'UTC'"))
		return
	}
	using := conversions[col.typ][has.Type]
	if col.typ == "text" {
		using = "%s::text"
	}
	if using == "" {
		t.refuse("%s is of the type %s, want %s: the adapter can't know how to convert the values; add a column of that type, fill it and rename it", name, has.Type, want)
		return
	}
	t.refuse("%s is of the type %s, want %s: run %s", name, has.Type, want, t.convert(col, has, using))
}

// conversions has the expressions that convert values, by the wanted type and the type that
// was found. A number is an instant in seconds or in milliseconds since 1970: seconds have
// eleven digits at most until the year 5138, and milliseconds twelve since 1973.
var conversions = map[string]map[string]string{
	"timestamptz": {"bigint": instantOfNumber, "integer": instantOfNumber, "numeric": instantOfNumber, "double precision": instantOfNumber},
	"boolean":     {"smallint": "%s <> 0", "integer": "%s <> 0", "bigint": "%s <> 0", "text": "%s::boolean", "character varying": "%s::boolean"},
	"bigint":      {"text": "%s::bigint", "character varying": "%s::bigint"},
}

const instantOfNumber = "to_timestamp(CASE WHEN abs(%[1]s) < 1e11 THEN %[1]s ELSE %[1]s / 1000.0 END)"

// convert returns the statement that changes the type of a column, and its values by an
// expression.
func (t *comparedTable) convert(col column, has foundColumn, using string) string {
	return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN %s TYPE %s USING %s", t.sql, quote(has.Name), t.newType(col), fmt.Sprintf(using, quote(has.Name)))
}

// naive is the type of an instant without its time zone.
const naive = "timestamp without time zone"

// keyColumns returns the columns of an index by the names of the table.
func (t *comparedTable) keyColumns(ix index) []string {
	columns := make([]string, len(ix.columns))
	for i, name := range ix.columns {
		columns[i] = t.names.column(t.name, name)
	}
	return columns
}

// compareIndexes looks for each index of the schema, under any name. It also
// looks for unique keys that refuse records which the contract allows.
func (t *comparedTable) compareIndexes(want []index) {
	exact := map[string]bool{}
	for _, col := range t.columns {
		exact[t.names.column(t.name, col.name)] = col.exact
	}
	for _, has := range t.Indexes {
		if has.Unique && has.Expression && slices.ContainsFunc(has.Uses, func(col string) bool { return exact[col] }) {
			t.refuse("the unique index %s of %s is on an expression of %s, so it may treat different texts as equal: DROP INDEX %s",
				quote(has.Name), t.sql, quoteAll(has.Uses), t.names.qualified(has.Name))
		}
	}
	for _, ix := range want {
		name := t.names.index(t.name, ix.name)
		ix.columns = t.keyColumns(ix)
		if slices.ContainsFunc(t.Indexes, ix.servedBy) {
			continue
		}
		// An interrupted build leaves an index that has the name and is not
		// valid.
		if slices.ContainsFunc(t.Indexes, func(has foundIndex) bool { return !has.Valid && has.Name == name }) {
			t.change(quick, t.sql, "DROP INDEX IF EXISTS "+t.names.qualified(name), "the index %s of %s is not valid", quote(name), t.sql)
		}
		unique := ""
		if ix.unique {
			unique = "UNIQUE "
		}
		made := t.change(concurrently, t.sql, fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s (%s)", unique, quote(name), t.sql, quoteAll(ix.columns)),
			"%s has no %sindex on %s", t.sql, strings.ToLower(unique), quoteAll(ix.columns))
		made.lines = t.lines.index(ix, name)
		if ix.unique {
			made.key = ix.columns
		}
		made.better = t.foreign && !ix.unique
	}
}

// servedBy reports whether the existing index does everything that ix is
// needed for.
func (ix index) servedBy(has foundIndex) bool {
	if !has.Valid || has.Partial || has.Expression {
		return false
	}
	if !ix.unique {
		return len(has.Columns) >= len(ix.columns) && slices.Equal(has.Columns[:len(ix.columns)], ix.columns)
	}
	sorted := func(s []string) []string { return slices.Sorted(slices.Values(s)) }
	return has.Unique && !has.Deferred && slices.Equal(sorted(has.Columns), sorted(ix.columns))
}

// compareOwner looks for the foreign key to users.
func (t *comparedTable) compareOwner() {
	if !t.owned {
		return
	}
	for _, key := range t.Keys {
		if key.Deferred || !key.Cascade {
			drop := fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", t.sql, quote(key.Name))
			if t.foreign {
				drop += ", ADD " + t.ownerKey(key.Name)
			}
			t.refuse("the foreign key %s of %s is deferrable or lacks ON DELETE CASCADE: %s", quote(key.Name), t.sql, drop)
		}
	}
	name := t.names.index(t.name, t.name+"_userId_fkey")
	if len(t.Keys) == 0 {
		t.change(quick, t.sql, fmt.Sprintf(`ALTER TABLE %s ADD %s NOT VALID`, t.sql, t.ownerKey(name)),
			"%s has no foreign key to %s", t.sql, t.names.table("users")).lines = t.lines.owner(t)
		t.validate(quote(name))
	}
	for _, key := range t.Keys {
		if !key.Validated {
			t.validate(quote(key.Name))
		}
	}
}

// ownerKey returns the definition of the foreign key to users.
func (t *comparedTable) ownerKey(name string) string {
	return fmt.Sprintf("CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s) ON DELETE CASCADE", quote(name),
		quote(t.names.column(t.name, "userId")), t.names.table("users"), quote(t.names.column("users", "id")))
}

// validate adds a change by which the server checks the rows that are older than
// the key. If the user of a row is absent, the row stays and no lookup finds it;
// the key then applies to new rows only.
func (t *comparedTable) validate(key string) {
	t.change(validation, t.sql, fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", t.sql, key), "the key %s of %s is not validated", key, t.sql).better = t.foreign
}

// otherNames is the advice for columns whose names differ in case or underscores alone.
func (t *comparedTable) otherNames(missing []string) string {
	var named []string
	for _, name := range missing {
		for _, has := range t.Columns {
			if plain(has.Name) == plain(name) && slices.ContainsFunc(t.columns, func(c column) bool { return c.name == name }) {
				named = append(named, fmt.Sprintf("%q: %q", t.name+"."+name, has.Name))
			}
		}
	}
	if len(named) == 0 {
		return ""
	}
	return "WithLayout takes other names, Columns: {" + strings.Join(named, ", ") + "}; "
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}
