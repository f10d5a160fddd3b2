package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comparison is the difference between the tables and the schema.
type comparison struct {
	any     bool     // one of the tables exists
	missing []string // what is lacking, for CheckSchema
	changes []string // the statements that add it
	refused []string // what EnsureSchema can't change
	shape   *shape   // of the tables of a site
	galera  bool     // the server is a node of a Galera cluster
}

// err returns the error that says what is wrong, or nil.
func (c *comparison) err() error {
	switch {
	case len(c.refused) > 0:
		return errors.New(strings.Join(c.refused, "; "))
	case len(c.missing) > 0:
		return fmt.Errorf("missing: %s; EnsureSchema adds it", strings.Join(c.missing, ", "))
	}
	return nil
}

// foundColumn is a column of the database.
type foundColumn struct {
	kind, collation, expression string
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
	foreign []string // the names of foreign keys to the user that delete with it
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
	c := &comparison{galera: s.galera}
	for _, t := range tables {
		name := a.prefix + t.name
		f, ok := found[name]
		if !ok {
			c.missing = append(c.missing, "table "+name)
			c.changes = append(c.changes, a.names.Replace(t.create(s.collation)))
			continue
		}
		c.any = c.any || t.name != "passwords" // of which an application may have its own
		a.compareTable(c, t, name, f)
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
	if len(c.changes) > 0 {
		for _, statement := range []string{createVersion, setVersion(schemaVersion)} {
			c.changes = append(c.changes, a.names.Replace(statement))
		}
	}
	return c, nil
}

func (a *Adapter) compareTable(c *comparison, t table, name string, f *foundTable) {
	refuse := func(format string, args ...any) { c.refused = append(c.refused, fmt.Sprintf(format, args...)) }
	if !strings.EqualFold(f.engine, "InnoDB") {
		refuse("table %s has the engine %s, which has no transactions: ALTER TABLE `%s` ENGINE=InnoDB", name, f.engine,
			name)
	}
	for _, col := range t.columns {
		has, ok := f.columns[strings.ToLower(col.name)]
		if !ok {
			refuse("table %s has no column %s: another product may have made it", name, col.name)
			continue
		}
		if problem := col.differs(has); problem != "" {
			refuse("column %s.%s %s", name, col.name, problem)
		}
	}
	for col, has := range f.columns {
		if col != "seq" && !slices.ContainsFunc(t.columns, named(col)) && !has.null && !has.filled {
			refuse("column %s.%s accepts no null and has no default, and the adapter does not write it", name, col)
		}
	}
	for _, k := range t.keys {
		if f.has(k, a.prefix+k.name) {
			continue
		}
		c.missing = append(c.missing, "key "+a.prefix+k.name)
		c.changes = append(c.changes, a.names.Replace("ALTER TABLE `"+t.name+"` ADD "+k.definition()+", ALGORITHM=INPLACE, LOCK=NONE"))
	}
	if fk := t.foreignKey(); fk != "" && !slices.Contains(f.foreign, a.prefix+fk) {
		refuse("table %s has no foreign key %s: ALTER TABLE `%s` ADD CONSTRAINT `%s` FOREIGN KEY (userId) REFERENCES `%s` (id) ON DELETE CASCADE",
			name, a.prefix+fk, name, a.prefix+fk, a.prefix+"user")
	}
	slices.Sort(c.refused)
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
	case f.kind != c.kind && (c.kind != "mediumtext" || f.kind != "longtext"):
		return fmt.Sprintf("is %s, want %s", f.kind, c.definition())
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
		COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(DATETIME_PRECISION, 0), IS_NULLABLE = 'YES', COLUMN_DEFAULT IS NOT NULL OR EXTRA <> '', EXTRA LIKE '%on update%'
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME`+in+everything, func(rows *sql.Rows) error {
		var f foundColumn
		err := rows.Scan(&name, &column, &f.kind, &f.collation, &f.expression, &f.length, &f.fraction, &f.null, &f.filled,
			&f.touched)
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
	var owner, rule string
	rules := map[string]string{} // of foreign keys; MariaDB 10 shows none to an account that only writes
	err4 := o.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, DELETE_RULE
		FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = DATABASE() AND TABLE_NAME`+in+everything, func(rows *sql.Rows) error {
		err := rows.Scan(&name, &kind, &rule)
		rules[name+"."+kind] = rule
		return err
	}, names...)
	unknown := map[string][]string{}
	err5 := o.query(ctx, `SELECT TABLE_NAME, CONSTRAINT_NAME, REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE
		WHERE TABLE_SCHEMA = DATABASE() AND REFERENCED_TABLE_NAME IS NOT NULL AND TABLE_NAME`+in+everything, func(rows *sql.Rows) error {
		err := rows.Scan(&name, &kind, &owner)
		rule, known := rules[name+"."+kind]
		switch {
		case !strings.EqualFold(owner, a.table("user")):
		case !known:
			unknown[name] = append(unknown[name], kind)
		case rule == "CASCADE":
			t := table(name)
			t.foreign = append(t.foreign, kind)
		}
		return err
	}, names...)
	for name, keys := range unknown {
		cascading, err := o.cascading(ctx, name, keys)
		if err != nil {
			return nil, err
		}
		table(name).foreign = append(table(name).foreign, cascading...)
	}
	return found, errors.Join(err1, err2, err3, err4, err5)
}

// cascading returns those of the foreign keys of a table that delete with their owner, from
// the statement that makes the table.
func (o on) cascading(ctx context.Context, table string, keys []string) (cascading []string, err error) {
	err = o.query(ctx, "SHOW CREATE TABLE `"+table+"`", func(rows *sql.Rows) error {
		var name, statement string
		err := rows.Scan(&name, &statement)
		for line := range strings.Lines(statement) {
			for _, key := range keys {
				if strings.Contains(line, key) && strings.Contains(line, "FOREIGN KEY") && strings.Contains(line,
					"ON DELETE CASCADE") {
					cascading = append(cascading, key)
				}
			}
		}
		return err
	})
	return cascading, err
}

// besideKeys are a column of each table of an authentication library, by its name without
// case, underscores and plural.
var besideKeys = map[string]string{"user": "email", "account": "provider", "session": "token",
	"verificationtoken": "token",
	"verification":      "identifier"}

// beside returns an error that names the tables of another library, if the database has
// some that look like it and none of this adapter's.
func (a *Adapter) beside(ctx context.Context) error {
	like := map[string]string{}               // by the kind of table: its name
	columns := map[string]map[string]string{} // by the kind of table: the types of its columns
	err := on{a, a.db, a.inTx, nil}.query(ctx,
		"SELECT TABLE_NAME, LOWER(COLUMN_NAME), LOWER(DATA_TYPE) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"+everything,
		func(rows *sql.Rows) error {
			var name, column, kind string
			err := rows.Scan(&name, &column, &kind)
			plain, ok := strings.CutPrefix(name, a.prefix)
			table := strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(plain, "_", "")), "s")
			key, known := besideKeys[table]
			if !ok || !known {
				return err
			}
			if strings.Contains(column, key) {
				like[table] = name
			}
			if columns[table] == nil {
				columns[table] = map[string]string{}
			}
			columns[table][column] = kind
			return err
		})
	if err != nil || like["user"] == "" || len(like) < 2 {
		return err
	}
	return fmt.Errorf("the database has tables that look like those of another library (%s), and none of this adapter: "+
		"their users would not be found. %s; WithNewTables makes new tables beside them",
		strings.Join(slices.Sorted(maps.Values(like)), ", "), productOf(like["user"], columns))
}

// productOf says which product has made tables, and what serves them.
func productOf(users string, columns map[string]map[string]string) string {
	switch has := columns["session"]; {
	case has["token"] != "" && (has["expiresat"] != "" || has["expires_at"] != ""):
		return "They are better-auth's, which have other columns, and can't be served: copy their people into the tables that Schema returns"
	case has["expires"] == "varchar":
		return "They are TypeORM's, which stores instants as texts, and can't be served: convert them to the tables that Schema returns"
	case has["updatedat"] != "" && columns["user"]["updatedat"] != "" && users == "User":
		return "WithLayout(mysql.Prisma()) serves the tables of Prisma as they are"
	case users == "User" && has["id"] != "" && has["expires"] == "timestamp":
		return "They are Kysely's, whose key of tokens has no identifier, and can't be served: convert them to the tables that Schema returns"
	}
	return "WithLayout serves the tables of a site as they are"
}

// named reports whether a column has the name, in any case.
func named(name string) func(column) bool {
	return func(c column) bool { return strings.EqualFold(c.name, name) }
}
