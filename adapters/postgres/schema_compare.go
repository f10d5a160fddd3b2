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
	ids     idKind
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
		if change.kind != validation {
			what = append(what, change.why)
		}
	}
	if len(what) == 0 {
		return nil
	}
	if len(c.refused) > 0 {
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
	c := comparison{ids: idKinds["text"]}
	if encoding := all[0].Encoding; encoding != "UTF8" && encoding != "SQL_ASCII" { // SQL_ASCII stores every byte unchanged
		c.refuse("the database has the encoding %s, which can't hold every text: make one WITH ENCODING 'UTF8'", encoding)
		return c
	}
	if !slices.ContainsFunc(all, func(f found) bool { return f.Exists }) {
		c.empty = true
		c.change(quick, n.users, "", "the tables %s, … are missing", n.users)
		return c
	}
	id := foundColumn{Type: "text", Collation: `"C"`}
	if of := slices.IndexFunc(all[0].Columns, func(f foundColumn) bool { return f.Name == "id" }); of >= 0 {
		id = all[0].Columns[of]
		if kind, ok := idKinds[id.Type]; ok {
			c.ids = kind
		}
	}
	for i, t := range s.tables {
		t := comparedTable{comparison: &c, table: t, found: all[i], names: n, sql: n.table(t.name), id: id}
		if !t.Exists {
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
	return c
}

// comparedTable is a table of the schema with the description of what the
// database has under its name.
type comparedTable struct {
	*comparison
	table
	found
	names names
	sql   string      // its name in SQL form
	id    foundColumn // the column users.id
}

// usable reports whether the name belongs to a table that the role of the
// connection may use. If not, it adds the reason to the comparison.
func (t *comparedTable) usable() bool {
	switch {
	case t.Kind != "r":
		t.refuse("%s is not a plain table: use WithSchema or WithPrefix for another name", t.sql)
	case !t.Rights:
		t.refuse("the role of the connection may not read and write %s: GRANT SELECT, INSERT, UPDATE, DELETE ON %s to it", t.sql, t.sql)
	case t.Hidden:
		t.refuse("row security may hide rows of %s from the role of the connection: ALTER ROLE … BYPASSRLS, or ALTER TABLE %s DISABLE ROW LEVEL SECURITY", t.sql, t.sql)
	default:
		return true
	}
	return false
}

// create adds the statements that make a table that is missing while others
// exist.
func (t *comparedTable) create() {
	var columns []string
	for _, col := range t.columns {
		definition := col.others
		if definition == "" {
			definition = t.newType(col)
			if !col.null {
				definition += " NOT NULL"
			}
		}
		columns = append(columns, quote(col.name)+" "+definition)
	}
	columns = append(columns, fmt.Sprintf("PRIMARY KEY (%s)", quoteAll(t.indexes[0].columns)))
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

func (t *comparedTable) compareColumns() {
	var missing []string
	for _, col := range t.columns {
		name := t.sql + "." + quote(col.name)
		at := slices.IndexFunc(t.Columns, func(f foundColumn) bool { return f.Name == col.name })
		alter := func(format string, args ...any) string {
			return fmt.Sprintf("ALTER TABLE %s "+format, append([]any{t.sql}, args...)...)
		}
		switch {
		case col.others != "":
			continue
		case at < 0 && col.added:
			t.change(quick, t.sql, alter("ADD COLUMN IF NOT EXISTS %s %s", quote(col.name), t.newType(col)), "the column %s is missing", name)
			continue
		case at < 0:
			missing = append(missing, col.name)
			continue
		}
		has := t.Columns[at]
		if !slices.Contains(accepted[col.typ], has.Type) {
			t.refuse("%s is of the type %s, want %s: change it with ALTER TABLE … ALTER COLUMN … TYPE", name, has.Type, strings.Join(accepted[col.typ], " or "))
			continue
		}
		if (col.exact || col.typ == "id") && !has.Exact {
			t.refuse("%s has a collation that treats different texts as equal: give it a deterministic one, such as \"C\"", name)
		}
		if col.typ == "id" && (idKinds[has.Type].cast != t.ids.cast || has.Collation != t.id.Collation) {
			t.refuse("%s has the type %s %s, but %s.id has the type %s %s: make them equal", name, has.Type, has.Collation, t.names.users, t.id.Type, t.id.Collation)
		}
		if col.typ == "text" && has.Type == "character varying" { // the type has a limit; removing it changes only the system catalog
			t.change(quick, t.sql, alter("ALTER COLUMN %s TYPE text", quote(col.name)), "%s is a varchar, whose length is limited", name)
		}
		if col.null && has.NotNull {
			t.change(quick, t.sql, alter("ALTER COLUMN %s DROP NOT NULL", quote(col.name)), "%s must accept null", name)
		}
	}
	if len(missing) > 0 {
		t.refuse("%s lacks the columns %s: if the table has another purpose, use WithSchema or WithPrefix", t.sql, quoteAll(missing))
		return
	}
	for _, has := range t.Columns {
		written := slices.ContainsFunc(t.columns, func(col column) bool {
			assigned := t.name == "users" && col.name == "id" && t.ids.assigned
			return col.name == has.Name && col.others == "" && !assigned
		})
		if !has.Usable {
			t.refuse("the role of the connection may not use the sequence of %s.%s: GRANT USAGE ON SEQUENCE … to it", t.sql, quote(has.Name))
		}
		if has.NotNull && !has.Filled && !written {
			t.refuse("%s.%s does not accept null, and the adapter does not write it: give it a default", t.sql, quote(has.Name))
		}
	}
}

// compareIndexes looks for each index of the schema, under any name. It also
// looks for unique keys that refuse records which the contract allows.
func (t *comparedTable) compareIndexes(want []index) {
	exact := map[string]bool{}
	for _, col := range t.columns {
		exact[col.name] = col.exact
	}
	for _, has := range t.Indexes {
		if has.Unique && has.Expression && slices.ContainsFunc(has.Uses, func(col string) bool { return exact[col] }) {
			t.refuse("the unique index %s of %s is on an expression of %s, so it may treat different texts as equal: drop it",
				quote(has.Name), t.sql, quoteAll(has.Uses))
		}
	}
	for _, ix := range want {
		if slices.ContainsFunc(t.Indexes, ix.servedBy) {
			continue
		}
		name := quote(t.names.prefix + ix.name)
		// An interrupted build leaves an index that has the name and is not
		// valid.
		if slices.ContainsFunc(t.Indexes, func(has foundIndex) bool { return !has.Valid && has.Name == t.names.prefix+ix.name }) {
			t.change(quick, t.sql, "DROP INDEX IF EXISTS "+t.names.table(ix.name), "the index %s of %s is not valid", name, t.sql)
		}
		unique := ""
		if ix.unique {
			unique = "UNIQUE "
		}
		made := t.change(concurrently, t.sql, fmt.Sprintf("CREATE %sINDEX CONCURRENTLY %s ON %s (%s)", unique, name, t.sql, quoteAll(ix.columns)),
			"%s has no %sindex on %s", t.sql, strings.ToLower(unique), quoteAll(ix.columns))
		if ix.unique {
			made.key = ix.columns
		}
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
			t.refuse("the foreign key %s of %s is deferrable or lacks ON DELETE CASCADE: drop it, and EnsureSchema creates the right one", quote(key.Name), t.sql)
		}
	}
	name := quote(t.names.prefix + t.name + "_userId_fkey")
	if len(t.Keys) == 0 {
		t.change(quick, t.sql, fmt.Sprintf(`ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY ("userId") REFERENCES %s (id) ON DELETE CASCADE NOT VALID`,
			t.sql, name, t.names.users), "%s has no foreign key to %s", t.sql, t.names.users)
		t.validate(name)
	}
	for _, key := range t.Keys {
		if !key.Validated {
			t.validate(quote(key.Name))
		}
	}
}

// validate adds a change by which the server checks the rows that are older than
// the key. If the user of a row is absent, the row stays and no lookup finds it;
// the key then applies to new rows only.
func (t *comparedTable) validate(key string) {
	t.change(validation, t.sql, fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", t.sql, key), "the key %s of %s is not validated", key, t.sql)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}
