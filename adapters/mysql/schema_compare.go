package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// comparison is the difference between the tables and the schema.
type comparison struct {
	missing []string // what is lacking, for CheckSchema
	changes []string // the statements that add it
	refused []string // what EnsureSchema can't change
	shape   *shape   // of the tables of a site
	galera  bool     // the server is a node of a Galera cluster

	// unbound and bound are statements that drop the foreign keys to the user before refused is
	// mended, and add them after it.
	unbound, bound []string
}

// err returns the error that says what is wrong, or nil. Its statements are for one session, in
// their order.
func (c *comparison) err() error {
	switch {
	case len(c.refused) > 0:
		return errors.New(strings.Join(slices.Concat(c.unbound, c.refused, c.bound), "; "))
	case len(c.missing) > 0:
		return fmt.Errorf("missing: %s; EnsureSchema adds it", strings.Join(c.missing, ", "))
	}
	return nil
}

// foundColumn is a column of the database.
type foundColumn struct {
	kind, collation, expression string
	full                        string // the type with its arguments
	length, fraction            int64
	null, filled                bool // filled: it has a default, or makes its own values
	touched                     bool // ON UPDATE CURRENT_TIMESTAMP
}

// foundTable is a table of the database.
type foundTable struct {
	engine  string
	columns map[string]foundColumn
	keys    map[string][]string // the columns of each key, by its name
	unique  map[string]bool
	foreign []foreignKey // to the user
}

// foreignKey is a foreign key to the user.
type foreignKey struct{ table, name, column, rule string }

// cascades reports whether the key deletes with the user.
func (k foreignKey) cascades() bool { return strings.HasPrefix(k.rule, "ON DELETE CASCADE") }

// drop and add are the statements for the key.
func (k foreignKey) drop() string {
	return fmt.Sprintf("ALTER TABLE `%s` DROP FOREIGN KEY `%s`", k.table, k.name)
}

func (k foreignKey) add(users, id string) string {
	return fmt.Sprintf("ALTER TABLE `%s` ADD CONSTRAINT `%s` FOREIGN KEY (`%s`) REFERENCES `%s` (`%s`) %s", k.table, k.name, k.column, users, id, k.rule)
}

// compare compares the tables with the schema, and looks at the settings.
func (a *Adapter) compare(ctx context.Context) (*comparison, error) {
	s, err := a.look(ctx)
	if err != nil {
		return nil, err
	}
	found, err := a.tables(ctx, s.foldsCase)
	if err != nil {
		return nil, err
	}
	if a.layout != nil {
		return a.compareSite(ctx, s, found)
	}
	c := &comparison{galera: a.galera.Load()}
	for _, t := range tables {
		name := a.prefix + t.name
		f, ok := found[name]
		if !ok {
			c.missing = append(c.missing, "table "+name)
			c.changes = append(c.changes, a.names.Replace(t.create(s.collation)))
			continue
		}
		a.compareTable(c, t, name, f, s)
	}
	if len(c.missing) == 0 && len(c.refused) == 0 {
		grants, err := on{a, a.db, a.inTx, nil}.lacking(ctx, tables)
		if err != nil {
			return nil, err
		}
		if len(grants) > 0 {
			c.refused = append(c.refused, "the account lacks rights: "+strings.Join(grants, "; "))
		}
	}
	if err := a.beside(ctx, c, found[a.table("user")] == nil, s.foldsCase); err != nil {
		return nil, err
	}
	if len(c.changes) > 0 {
		for _, statement := range []string{createVersion, setVersion(schemaVersion)} {
			c.changes = append(c.changes, a.names.Replace(statement))
		}
	}
	return c, nil
}

func (a *Adapter) compareTable(c *comparison, t table, name string, f *foundTable, s *server) {
	var refused []string
	refuse := func(format string, args ...any) { refused = append(refused, fmt.Sprintf(format, args...)) }
	if problem := f.isNoTable(name); problem != "" {
		refuse("%s", problem)
	}
	keyed := false // the ID of the user is changed
	for _, col := range t.columns {
		has, ok := f.columns[strings.ToLower(col.name)]
		switch problem := col.differs(has); {
		case !ok && (col.null || col.digest != ""):
			refuse("table %s has no column %s: ALTER TABLE `%[1]s` ADD COLUMN %[3]s", name, col.name, col.exactly(s.collation))
		case !ok:
			refuse("table %s has no column %s: another product may have made it", name, col.name)
		case problem != "":
			keyed = keyed || col.name == "userId" || col.name == "id"
			refuse("column %s.%s %s%s", name, col.name, problem, col.mend(name, has, s.collation))
		}
	}
	for col, has := range f.columns {
		if col != "seq" && !slices.ContainsFunc(t.columns, named(col)) && !has.null && !has.filled {
			refuse("column %s.%s %s", name, col, has.unwritten(name, col))
		}
	}
	for _, k := range t.keys {
		if f.has(k, a.prefix+k.name) {
			continue
		}
		c.missing = append(c.missing, "key "+a.prefix+k.name)
		c.changes = append(c.changes, a.names.Replace("ALTER TABLE `"+t.name+"` ADD "+k.definition()+online))
	}
	slices.Sort(refused)
	refused = append(refused, c.compareForeign(a, t, name, f, keyed)...)
	c.refused = append(c.refused, refused...)
}

// isOwn reports whether the table is one of the adapter's.
func (a *Adapter) isOwn(name string) bool {
	return slices.ContainsFunc(tables, func(t table) bool { return a.table(t.name) == name })
}

// has reports whether the table has the key: a unique one under its own name, which errors
// name, and an index under any name.
func (f *foundTable) has(k key, name string) bool {
	same := func(columns []string) bool {
		return len(columns) >= len(k.columns) && slices.EqualFunc(columns[:len(k.columns)], k.columns, strings.EqualFold)
	}
	if k.unique {
		return f.unique[name] && len(f.keys[name]) == len(k.columns) && same(f.keys[name])
	}
	for _, columns := range f.keys {
		if same(columns) {
			return true
		}
	}
	return false
}

// differs says what is wrong with a column, or nothing.
func (c column) differs(f foundColumn) string {
	switch {
	case c.digest == "" && f.expression != "":
		return "is generated by the server, and the adapter writes it"
	case f.kind != c.kind && (c.kind != "mediumtext" || f.kind != "longtext"):
		return fmt.Sprintf("is %s, want %s", f.kind, c.definition())
	case c.kind == "bigint" && f.isUnsigned():
		return fmt.Sprintf("is %s, which takes no negative number, want %s", f.full, c.definition())
	case c.length > 0 && f.length < int64(c.length):
		return fmt.Sprintf("has room for %d characters, want %s", f.length, c.definition())
	case c.kind == "datetime" && f.fraction < 3:
		return "has no milliseconds, want " + c.definition()
	case (c.kind == "varchar" || c.kind == "mediumtext") && !slices.Contains(collations, f.collation):
		return fmt.Sprintf("has the collation %s, which takes different texts for one: want %s", f.collation,
			strings.Join(collations, " or "))
	case c.null && !f.null:
		return "accepts no null"
	case c.digest != "" && !strings.Contains(strings.ToLower(f.expression), "sha2("):
		return "is not generated: want " + c.definition()
	}
	return ""
}

// tables reads the tables of this adapter.
func (a *Adapter) tables(ctx context.Context, foldsCase bool) (map[string]*foundTable, error) {
	o := on{a, a.db, a.inTx, nil}
	found := map[string]*foundTable{}
	var names []any
	for _, t := range tables {
		names = append(names, a.table(t.name))
	}
	names = append(names, a.prefix+versionTable)
	in := " IN (" + strings.Repeat("?, ", len(names)-1) + "?)"
	own := map[string]string{} // by the name as the server may have it
	for _, n := range names {
		name := n.(string) //nolint:forcetypeassert // they are names
		own[name] = name
		if foldsCase {
			own[strings.ToLower(name)] = name
		}
	}
	table := func(name string) *foundTable {
		exact := own[name]
		if exact == "" { // differs in case, and so is another table
			return &foundTable{columns: map[string]foundColumn{}, keys: map[string][]string{}, unique: map[string]bool{}}
		}
		if found[exact] == nil {
			found[exact] = &foundTable{columns: map[string]foundColumn{}, keys: map[string][]string{},
				unique: map[string]bool{}}
		}
		return found[exact]
	}
	var name, column, kind string
	err1 := o.query(ctx, "SELECT TABLE_NAME, COALESCE(ENGINE, TABLE_TYPE) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME"+in+everything, func(rows *sql.Rows) error {
		err := rows.Scan(&name, &kind)
		table(name).engine = kind
		return err
	}, names...)
	err2 := o.query(ctx, `SELECT TABLE_NAME, COLUMN_NAME, LOWER(DATA_TYPE), COALESCE(COLLATION_NAME, ''), COALESCE(GENERATION_EXPRESSION, ''),
		COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(DATETIME_PRECISION, 0), IS_NULLABLE = 'YES', COLUMN_DEFAULT IS NOT NULL OR EXTRA <> '',
		EXTRA LIKE '%on update%', COLUMN_TYPE
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME`+in+everything, func(rows *sql.Rows) error {
		var f foundColumn
		err := rows.Scan(&name, &column, &f.kind, &f.collation, &f.expression, &f.length, &f.fraction, &f.null, &f.filled,
			&f.touched, &f.full)
		table(name).columns[strings.ToLower(column)] = f
		return err
	}, names...)
	err3 := o.query(ctx, `SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE = 0, COALESCE(COLUMN_NAME, ''), SUB_PART IS NOT NULL
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME`+in+" ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX"+everything, func(rows *sql.Rows) error {
		var unique, part bool
		err := rows.Scan(&name, &kind, &unique, &column, &part)
		if part {
			column += " (part)"
		}
		t := table(name)
		t.keys[kind], t.unique[kind] = append(t.keys[kind], column), unique
		return err
	}, names...)
	var rule string
	users := a.table("user")
	rules := map[string]string{} // of foreign keys; MariaDB 10 shows none to an account that only writes
	err4 := o.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, CONCAT('ON DELETE ', DELETE_RULE, ' ON UPDATE ', UPDATE_RULE)
		FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = ?`+everything, func(rows *sql.Rows) error {
		err := rows.Scan(&name, &kind, &rule)
		rules[name+"."+kind] = rule
		return err
	}, users)
	var keys []foreignKey
	err5 := o.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, COLUMN_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME = ?`+everything, func(rows *sql.Rows) error {
		err := rows.Scan(&name, &kind, &column)
		keys = append(keys, foreignKey{name, kind, column, rules[name+"."+kind]})
		return err
	}, users)
	for _, k := range keys {
		exact := own[k.table]
		if exact != "" && k.rule == "" {
			if k.rule, err5 = o.rule(ctx, k); err5 != nil {
				return nil, err5
			}
		}
		if exact != "" && found[exact] != nil {
			k.table = exact
			found[exact].foreign = append(found[exact].foreign, k)
		}
		if found[users] != nil {
			found[users].foreign = append(found[users].foreign, k)
		}
	}
	return found, errors.Join(err1, err2, err3, err4, err5)
}

// rule returns the rule of a foreign key, from the statement that makes the table.
func (o on) rule(ctx context.Context, k foreignKey) (rule string, err error) {
	err = o.query(ctx, "SHOW CREATE TABLE `"+k.table+"`", func(rows *sql.Rows) error {
		var name, statement string
		err := rows.Scan(&name, &statement)
		for line := range strings.Lines(statement) {
			if _, after, found := strings.Cut(line, "ON DELETE"); found && strings.Contains(line, "`"+k.name+"` FOREIGN KEY") {
				rule = "ON DELETE" + strings.TrimRight(after, ",\n ")
			}
		}
		return err
	})
	return rule, err
}

// named reports whether a column has the name, in any case.
func named(name string) func(column) bool {
	return func(c column) bool { return strings.EqualFold(c.name, name) }
}
