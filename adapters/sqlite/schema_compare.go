package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// comparison has the differences between the tables of a database and the
// schema.
type comparison struct {
	of      *Adapter
	empty   bool // no table of the schema exists
	foreign bool // the layout is of others
	ours    bool // the tables have a version, so this package has made the STRICT ones
	shape   *shape
	lacking []string // what the database does not have, and the adapter needs
	changes []string // the statements that add what is lacking
	refused []string // what EnsureSchema can't change, and what to do
}

func (c *comparison) refuse(format string, args ...any) {
	c.refused = append(c.refused, fmt.Sprintf(format, args...))
}

// better adds a statement without which the adapter works too.
func (c *comparison) better(statement string) { c.changes = append(c.changes, statement) }

func (c *comparison) change(statement, lacking string, args ...any) {
	if c.foreign {
		lacking += ": run " + strings.ReplaceAll(statement, "%", "%%")
	}
	c.changes = append(c.changes, statement)
	c.lacking = append(c.lacking, fmt.Sprintf(lacking, args...))
}

// err returns an error that names all differences, for callers that do not
// change the tables. Without differences it returns nil.
func (c *comparison) err() error {
	what := strings.Join(slices.Concat(c.refused, c.lacking), "; ")
	switch {
	case what == "":
		return nil
	case len(c.refused) > 0 || c.foreign:
		return errors.New(what)
	}
	return fmt.Errorf("%s: call EnsureSchema, or run the statements that SchemaChanges returns", what)
}

// found describes the table or view that the database has under the name of a
// table.
type found struct {
	kind, sql string // kind is "table" or "view", empty if there is nothing
	triggers  []string
	columns   []foundColumn
	indexes   []foundIndex
}

// strict reports whether the table is STRICT.
func (f found) strict() bool { return strictTable.MatchString(f.sql) }

var strictTable = regexp.MustCompile(`(?i)\)[^)]*\bSTRICT\b[^)]*$`)

type foundColumn struct {
	name, kind, value string // value is the default
	notNull, filled   bool
	hidden, key       bool // generated; in the primary key
}

type foundIndex struct {
	name, sql                   string
	unique, partial, expression bool
	columns                     []string
}

// look returns the table or view that has the name.
func (a *Adapter) look(ctx context.Context, name string) (f found, err error) {
	name = a.bare(name)
	rows, err := a.db.QueryContext(ctx, `
		SELECT type, COALESCE(sql, '') FROM sqlite_schema
		WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE OR type = 'trigger' AND tbl_name = ? COLLATE NOCASE`, name, name)
	err = drain(rows, err, func(rows *sql.Rows) error {
		var kind, text string
		err := rows.Scan(&kind, &text)
		if kind == "trigger" {
			f.triggers = append(f.triggers, text)
		} else {
			f.kind, f.sql = kind, text
		}
		return err
	})
	if err != nil || f.kind == "" {
		return f, err
	}
	rows, err = a.db.QueryContext(ctx, `
		SELECT name, type, "notnull", dflt_value IS NOT NULL AND dflt_value <> 'NULL', COALESCE(dflt_value, ''), hidden > 0, pk > 0
		FROM pragma_table_xinfo(?)`, name)
	err = drain(rows, err, func(rows *sql.Rows) error {
		var c foundColumn
		err := rows.Scan(&c.name, &c.kind, &c.notNull, &c.filled, &c.value, &c.hidden, &c.key)
		f.columns = append(f.columns, c)
		return err
	})
	if err != nil {
		return f, err
	}
	rows, err = a.db.QueryContext(ctx, `
		SELECT l.name, COALESCE(s.sql, ''), l."unique", l.partial, COALESCE(x.name, ''), x.cid = -2
		FROM pragma_index_list(?) AS l JOIN pragma_index_xinfo(l.name) AS x LEFT JOIN sqlite_schema AS s ON s.type = 'index' AND s.name = l.name
		WHERE x.key ORDER BY l.seq, x.seqno`, name)
	return f, drain(rows, err, func(rows *sql.Rows) error {
		var ix foundIndex
		var column string
		err := rows.Scan(&ix.name, &ix.sql, &ix.unique, &ix.partial, &column, &ix.expression)
		if n := len(f.indexes); n == 0 || f.indexes[n-1].name != ix.name {
			f.indexes = append(f.indexes, ix)
		}
		last := &f.indexes[len(f.indexes)-1]
		last.expression = last.expression || ix.expression
		last.columns = append(last.columns, column)
		return err
	})
}

// compare compares the tables of the database with the schema.
func (a *Adapter) compare(ctx context.Context) (c comparison, err error) {
	if err := a.file.note(ctx, a.db); err != nil {
		return c, err
	}
	var encoding string
	rows, err := a.db.QueryContext(ctx, `PRAGMA encoding`)
	if err := drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&encoding) }); err != nil {
		return c, err
	}
	if encoding != "UTF-8" {
		c.refuse("the database stores text as %s, which can not store every text, want UTF-8: %s", encoding, a.file.inUTF8())
	}
	all := make([]found, len(a.schema.tables))
	c.of, c.empty, c.foreign = a, true, a.foreign
	for i, t := range a.schema.tables {
		if all[i], err = a.look(ctx, t.name); err != nil {
			return c, err
		}
		c.empty = c.empty && all[i].kind == ""
	}
	if err := c.compareOthers(ctx, all); err != nil || len(c.refused) > 0 {
		return c, err
	}
	if c.empty && !a.foreign {
		script, err := a.schema.newDatabase()
		c.change(a.named(script), "the tables %suser, … are missing", a.prefix)
		return c, err
	}
	for i, t := range a.schema.tables {
		c.compareTable(comparedTable{a, t, all[i]})
	}
	if len(c.refused) == 0 {
		version, err := a.look(ctx, "gatehouse_schema")
		if c.ours = version.kind != "" && !a.foreign; err == nil {
			err = c.compareValues(ctx, all)
		}
		if err == nil {
			err = c.compareInstants(ctx, all)
		}
		if err != nil {
			return c, err
		}
	}
	c.shape = a.shapeOf(all)
	if a.foreign { // DeleteUser does what the trigger does
		return c, nil
	}
	return c, c.compareTrigger(ctx)
}

// lacks reports whether a site lacks a table that it may lack: it is not there, or a
// table of the application has the name.
func (a *Adapter) lacks(t table, has found) bool {
	if !a.foreign || !t.beside || has.kind == "" {
		return has.kind == ""
	}
	return t.name == "passwords" && slices.ContainsFunc(t.columns, func(col column) bool {
		own := a.layout.column(t.name, col.name)
		return !slices.ContainsFunc(has.columns, func(f foundColumn) bool { return strings.EqualFold(f.name, own) })
	})
}

// foldsCase finds columns that compare different texts as equal.
var foldsCase = regexp.MustCompile(`(?i)\bcollate\s+["'\x60\[]?(nocase|rtrim)\b`)

// comparedTable is a table of the schema, beside what the database has under its name.
type comparedTable struct {
	of *Adapter
	table
	has found
}

func (c *comparison) compareTable(t comparedTable) {
	a, has := c.of, t.has
	name := a.quoted(t.name)
	switch {
	case has.kind != "" && a.lacks(t.table, has): // another table has the name
		return
	case has.kind == "" && a.foreign && t.beside:
		made := comparison{of: a}
		made.create(t, name)
		made.changes[0] = t.newTable() + made.changes[0]
		c.changes = append(c.changes, made.changes...)
		return
	case has.kind == "" && a.foreign:
		c.refuse("the table %s of the layout is missing", name)
		return
	case has.kind == "":
		c.create(t, name)
		return
	case has.kind == "view":
		c.refuse("%s is a view: use WithPrefix for tables of other names", name)
		return
	case foldsCase.MatchString(has.sql):
		c.refuse("a column of %s has the collation %s, which treats different texts as equal: %s",
			name, foldsCase.FindStringSubmatch(has.sql)[1], t.rebuild("", unfolded, ""))
	}
	if missing := c.compareColumns(t, name); len(missing) > 0 {
		c.refuse("the table %s lacks the columns %s: if it has another purpose, use WithPrefix", name, strings.Join(missing, ", "))
		return
	}
	for _, ix := range has.indexes {
		for _, col := range t.columns {
			if ix.unique && ix.expression && regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(a.layout.column(t.name, col.name))+`\b`).MatchString(ix.sql) {
				c.refuse("the unique index %s of %s is on an expression of %s, so it may treat different texts as equal: run DROP INDEX %s", ix.name, name, col.name, quotedIn(ix.name))
			}
		}
	}
	for _, ix := range t.indexes {
		c.compareIndex(t, has.indexes, ix)
	}
}

// compareColumns returns the missing columns that no version or product lacks.
// If there are any, the table serves another purpose.
func (c *comparison) compareColumns(t comparedTable, name string) (missing []string) {
	a, has := c.of, t.has
	for _, col := range t.columns {
		own := a.layout.column(t.name, col.name)
		at := slices.IndexFunc(has.columns, func(f foundColumn) bool { return strings.EqualFold(f.name, own) })
		switch {
		case at < 0 && col.added && a.foreign:
			c.better(t.lines(t.field(col)) + fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", name, inSQL(own), t.declared(col)))
		case at < 0 && col.added:
			c.change(fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", name, col.name, col.kind), "%s has no column %s", name, col.name)
		case at < 0:
			missing = append(missing, own)
		case has.columns[at].hidden:
			c.refuse("%s.%s is generated by SQLite, and the adapter writes it: %s", name, own,
				t.rebuild(own, computesNot, inSQL(own)))
		case !a.holds(t.table, col, has.columns[at]):
			advice := t.rebuild(own, has.columns[at].retyped(col.kind), converted(t.table, col, inSQL(own)))
			switch {
			case affinity(has.columns[at].kind) == "BLOB":
				advice = "the adapter serves texts, and no statement makes a text of every blob"
			case !a.foreign:
				advice = "if Prisma has made the table, use WithLayout(sqlite.Prisma()), and else " + advice
			case a.isInstant(t.table, own):
				advice = "if the site writes texts, use WithLayout with Instants: sqlite.Text, and else " + advice
			}
			c.refuse("%s.%s is of the type %s, want %s: %s", name, own, has.columns[at].kind, col.kind, advice)
		case col.null && has.columns[at].notNull && col.name == "email": // the column then refuses users without an address
			if statements := t.replaceColumn(own, "TEXT", own); a.foreign && statements != "" {
				c.better(t.lines(t.field(col)) + statements)
			}
		case col.null && has.columns[at].notNull:
			c.refuse("%s.%s must accept null: %s", name, own, t.rebuild(own, acceptsNull, inSQL(own)))
		case col.name == "userId" && !has.columns[at].notNull: // the column must refuse the null of an absent owner
			c.refuse("%s.%s must not accept null: DELETE FROM %[1]s WHERE %[3]s IS NULL deletes the records without an owner; then, %[4]s", name, own,
				inSQL(own), t.rebuild(own, refusesNull, inSQL(own)))
		}
	}
	for _, f := range has.columns {
		ours := slices.ContainsFunc(t.columns, func(col column) bool { return strings.EqualFold(f.name, a.layout.column(t.name, col.name)) })
		if f.notNull && !f.filled && !f.hidden && !ours && len(missing) == 0 && f.extra(a.layout.Instants).name == "" {
			advice := "only the site knows its value, because it is in the primary key: give it a default"
			switch {
			case f.key:
			case inKey(f.name).MatchString(has.sql): // two rows can't have one value, or it refers to something
				advice = "let it accept null: " + t.rebuild(f.name, acceptsNull, inSQL(f.name))
			default:
				withDefault := func(part string) string { return part + " DEFAULT " + emptyValue(affinity(f.kind)) }
				advice = "give it a default: " + t.rebuild(f.name, withDefault, inSQL(f.name))
			}
			c.refuse("%s.%s does not accept null, and the adapter does not write it: %s", name, f.name, advice)
		}
	}
	return missing
}

// holds reports whether the column of a table can have the values of col. In a table of
// others a number may have any numeric affinity.
func (a *Adapter) holds(t table, col column, has foundColumn) bool {
	kind := affinity(has.kind)
	switch {
	case kind == col.kind:
		return true
	case !a.foreign || col.kind != "INTEGER":
		return false
	case kind == "TEXT":
		return instants[t.name+"."+col.name] && a.layout.Instants == Text
	}
	return numeric.MatchString(kind)
}

// numeric finds declared types with numeric affinity.
var numeric = regexp.MustCompile(`^(DATE|TIME|BOOL|NUM|DEC)`)

// inSQL quotes a column name, unless it needs none.
func inSQL(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "`" + name + "`"
}

var plainName = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// affinity returns the type affinity of a column's declared type.
// https://sqlite.org/datatype3.html section 3.1
func affinity(kind string) string {
	kind = strings.ToUpper(kind)
	switch {
	case strings.Contains(kind, "INT"):
		return "INTEGER"
	case strings.Contains(kind, "CHAR"), strings.Contains(kind, "CLOB"), strings.Contains(kind, "TEXT"):
		return "TEXT"
	}
	return kind
}

func (c *comparison) compareIndex(t comparedTable, have []foundIndex, want index) {
	a := c.of
	name := want.name
	columns := make([]string, len(want.columns))
	for i, column := range want.columns {
		columns[i] = a.layout.column(t.name, column)
	}
	want.columns = columns
	serves := func(has foundIndex) bool {
		if has.partial || has.expression || len(has.columns) < len(want.columns) {
			return false
		}
		if !want.unique {
			return slices.Equal(has.columns[:len(want.columns)], want.columns)
		}
		sorted := func(s []string) []string { return slices.Sorted(slices.Values(s)) }
		return has.unique && slices.Equal(sorted(has.columns), sorted(want.columns))
	}
	if slices.ContainsFunc(have, serves) {
		return
	}
	unique := ""
	if want.unique {
		unique = "UNIQUE "
	}
	quoted := make([]string, len(columns))
	for i, column := range columns {
		quoted[i] = inSQL(column)
	}
	list := strings.Join(quoted, ", ")
	statement := fmt.Sprintf(`CREATE %sINDEX "%s" ON %s (%s)`, unique, a.bare(t.name)+strings.TrimPrefix(name, t.name), a.quoted(t.name), list)
	if a.foreign && !want.unique {
		line := map[string]string{"prisma": "@@index([" + strings.Join(columns, ", ") + "])", "drizzle": "index().on(t." + strings.Join(columns, ", t.") + ")"}
		c.better(t.lines(line[a.layout.product]) + statement)
		return
	}
	c.change(statement, "%s has no %sindex on %s", a.quoted(t.name), strings.ToLower(unique), list)
}

// create adds the statements that make a table that is missing while others
// exist.
func (c *comparison) create(t comparedTable, name string) {
	a := c.of
	var columns []string
	for _, col := range t.columns {
		definition := inSQL(a.layout.column(t.name, col.name)) + " " + t.declared(col)
		if !col.null {
			definition += " NOT NULL"
		}
		if (a.foreign || t.name == "passwords") && col.name == "userId" { // others delete users too
			definition += fmt.Sprintf(" REFERENCES %s (%s) ON DELETE CASCADE", a.quoted("user"), inSQL(a.layout.column("user", "id")))
		}
		columns = append(columns, definition)
	}
	keys := make([]string, len(t.indexes[0].columns))
	for i, column := range t.indexes[0].columns {
		keys[i] = inSQL(a.layout.column(t.name, column))
	}
	key := strings.Join(keys, ", ")
	strict := " STRICT"
	if a.layout.product == "prisma" { // its types are none of those of STRICT tables
		strict = ""
	}
	c.change(fmt.Sprintf("CREATE TABLE %s (%s, PRIMARY KEY (%s))%s", name, strings.Join(columns, ", "), key, strict), "the table %s is missing", name)
	for _, ix := range t.indexes[1:] {
		c.compareIndex(t, nil, ix)
	}
}

// compareTrigger looks for the trigger that deletes what belongs to a user.
func (c *comparison) compareTrigger(ctx context.Context) error {
	a := c.of
	made := ""
	rows, err := a.db.QueryContext(ctx, `SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?`, a.prefix+"user_delete_trg")
	err = drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&made) })
	creation := a.named(`CREATE TRIGGER "user_delete_trg" BEFORE DELETE ON "user" BEGIN` + a.schema.trigger + ` END`)
	switch {
	case err != nil:
	case made == "":
		c.change(creation, "the trigger %suser_delete_trg is missing", a.prefix)
	case !strings.Contains(made, a.quoted("passwords")): // an earlier version has made it
		c.change(a.named(`DROP TRIGGER "user_delete_trg"`)+";\n"+creation, "the trigger %suser_delete_trg does not delete passwords", a.prefix)
	}
	return err
}

// duplicates returns an error that names up to ten duplicates of each unique
// key that EnsureSchema is to make. It does not quote tokens, which are
// secret.
func (a *Adapter) duplicates(ctx context.Context, c comparison) error {
	var duplicates []string
	for _, change := range c.changes {
		of := uniqueIndex.FindStringSubmatch(change)
		if of == nil || slices.ContainsFunc(c.changes, func(s string) bool { return strings.HasPrefix(s, "CREATE TABLE "+of[1]) }) {
			continue
		}
		what := strings.Join(strings.Split(of[2], ", "), ` || ' and ' || `)
		if strings.Contains(strings.ToLower(of[2]), "token") {
			what = `'a token, ' || count(*) || ' times'`
		}
		rows, err := a.db.QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM %s WHERE (%s) IS NOT NULL GROUP BY %s HAVING count(*) > 1 ORDER BY 1 LIMIT 10`,
			what, of[1], strings.Split(of[2], ", ")[0], of[2]))
		if err := drain(rows, err, func(rows *sql.Rows) error {
			var one string
			err := rows.Scan(&one)
			duplicates = append(duplicates, fmt.Sprintf("%s with the %s %q", of[1], of[2], one))
			return err
		}); err != nil {
			return err
		}
	}
	if len(duplicates) > 0 {
		return fmt.Errorf("%w; resolve these duplicates first: %s", adapter.ErrConflict, strings.Join(duplicates, ", "))
	}
	return nil
}

var uniqueIndex = regexp.MustCompile(`^CREATE UNIQUE INDEX "\w+" ON ("\w+") \((.*)\)$`)
