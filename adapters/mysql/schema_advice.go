package mysql

import (
	"fmt"
	"slices"
	"strings"
)

// online ends a statement that changes a table while the site writes. The server refuses the
// statement if it can't do that.
const online = ", ALGORITHM=INPLACE, LOCK=NONE"

// copies is the cost of a statement that changes the type of a column, before it.
const copies = ": the server copies the table, and its writes wait meanwhile: "

// exactly is the definition with the collation of keys.
func (c column) exactly(collation string) string {
	if c.kind != "varchar" && c.kind != "mediumtext" {
		return c.definition()
	}
	kind, null, _ := strings.Cut(c.definition(), " NOT NULL")
	if !c.null {
		null = " NOT NULL"
	}
	return kind + " COLLATE " + collation + null
}

// mend returns the statements that give a column the definition of this package, after their
// cost, or nothing if the values may change.
func (c column) mend(table string, f foundColumn, collation string) string {
	if c.digest != "" {
		return copies + fmt.Sprintf("ALTER TABLE `%s` DROP COLUMN %s, ADD COLUMN %s", table, c.name, c.definition())
	}
	before := ""
	switch _, whole := bits[f.kind]; {
	case f.isBytes() || f.expression != "":
		return ""
	case c.kind == "datetime" && f.kind == "timestamp":
		before = "SET time_zone = '+00:00'; "
	case c.kind == "datetime" && f.kind != "datetime", (c.kind == "bigint" || c.kind == "tinyint") && !whole:
		return ""
	case c.length > 0 && f.length > int64(c.length), f.isUnsigned():
		before = "SET sql_mode = 'STRICT_ALL_TABLES'; "
	}
	return copies + fmt.Sprintf("%sALTER TABLE `%s` MODIFY %s", before, table, c.exactly(collation))
}

// isBytes reports whether the column has bytes, which are perhaps no texts.
func (f foundColumn) isBytes() bool {
	return strings.HasSuffix(f.kind, "binary") || strings.HasSuffix(f.kind, "blob")
}

// isUnsigned reports whether the column takes no negative numbers.
func (f foundColumn) isUnsigned() bool { return strings.Contains(f.full, "unsigned") }

// isNoTable says what is wrong with a table that can't hold the records, or nothing.
func (f *foundTable) isNoTable(name string) string {
	switch {
	case strings.EqualFold(f.engine, "InnoDB"):
		return ""
	case strings.HasSuffix(f.engine, "VIEW"):
		return name + " is a view, not a table: WithLayout names the table, and WithPrefix makes other ones"
	}
	return fmt.Sprintf("table %s has the engine %s, which has no transactions: ALTER TABLE `%[1]s` ENGINE=InnoDB", name, f.engine)
}

// orNull is the statement that lets a column accept null, and changes nothing else.
func (f foundColumn) orNull(table, column string) string {
	kind := f.full
	if f.collation != "" {
		kind += " COLLATE " + f.collation
	}
	return fmt.Sprintf("ALTER TABLE `%s` MODIFY `%s` %s NULL", table, column, kind)
}

// unwritten says what is wrong with a column of the site's own that must have a value.
func (f foundColumn) unwritten(table, column string) string {
	return "accepts no null and has no default, and the adapter does not write it: " + f.orNull(table, column)
}

// addUnique is the statement that adds a unique key. A text without a length can't be in one.
func (f *foundTable) addUnique(table string, columns []string, collation string) string {
	var before, parts []string
	for _, name := range columns {
		if has := f.columns[strings.ToLower(name)]; strings.HasSuffix(has.kind, "text") {
			before = []string{"SET sql_mode = 'STRICT_ALL_TABLES'"}
			parts = append(parts, fmt.Sprintf("MODIFY `%s` VARCHAR(255) COLLATE %s NOT NULL", name, collation))
		}
	}
	parts = append(parts, fmt.Sprintf("ADD UNIQUE KEY (`%s`)", strings.Join(columns, "`, `")))
	return strings.Join(append(before, fmt.Sprintf("ALTER TABLE `%s` %s", table, strings.Join(parts, ", "))), "; ")
}

// compareForeign compares the foreign keys of a table, or those to the users. If the ID of the user is
// to be changed, they must go before it.
func (c *comparison) compareForeign(a *Adapter, t table, name string, f *foundTable, keyed bool) (refused []string) {
	refuse := func(format string, args ...any) { refused = append(refused, fmt.Sprintf(format, args...)) }
	users := a.table("user")
	for _, k := range f.foreign {
		if keyed && !a.isOwn(k.table) {
			refuse("the foreign key %s of table %s refers to %s.id: the two columns can only be changed together", k.name, k.table, name)
		} else if keyed {
			c.unbind(k, users, "id")
		}
	}
	if t.foreignKey() == "" {
		return refused
	}
	own := foreignKey{name, a.prefix + t.foreignKey(), "userId", "ON DELETE CASCADE"}
	for _, k := range f.foreign {
		if !k.cascades() && !slices.Contains(c.unbound, k.drop()) {
			refuse("the foreign key %s of table %s prevents that a user is deleted: %s", k.name, name, k.drop())
		}
	}
	if !slices.ContainsFunc(f.foreign, func(k foreignKey) bool { return k.name == own.name && k.cascades() }) {
		refuse("table %s has no foreign key %s that deletes with the user: %s", name, own.name, own.add(users, "id"))
	}
	return refused
}

// unbind notes that the foreign key must go before a column is changed, and come back.
func (c *comparison) unbind(k foreignKey, users, id string) {
	if drop := k.drop(); !slices.Contains(c.unbound, drop) {
		c.unbound, c.bound = append(c.unbound, drop), append(c.bound, k.add(users, id))
	}
}
