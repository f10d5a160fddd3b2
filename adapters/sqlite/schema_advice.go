package sqlite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// replaceColumn returns the statements that put a column with another definition in the
// place of one, and make the indexes with it again. It returns nothing if the definition
// of the table has the column in a key: then SQLite can't drop it.
func (t comparedTable) replaceColumn(column, definition, value string) string {
	a, has := t.of, t.has
	if inKey(column).MatchString(has.sql) {
		return ""
	}
	name, other := a.quoted(t.name), inSQL(column+"_new")
	statements := []string{fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s %s", name, other, definition), fmt.Sprintf("UPDATE %s SET %s = %s", name, other, value)}
	var again []string
	for _, ix := range has.indexes {
		with := slices.ContainsFunc(ix.columns, func(s string) bool { return strings.EqualFold(s, column) })
		switch {
		case with && ix.sql == "":
			return ""
		case with || ix.expression:
			statements, again = append(statements, "DROP INDEX "+quotedIn(ix.name)), append(again, ix.sql)
		}
	}
	statements = append(statements, fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", name, inSQL(column)),
		fmt.Sprintf("ALTER TABLE %s RENAME COLUMN %s TO %s", name, other, inSQL(column)))
	return strings.Join(append(statements, again...), ";\n")
}

// inKey finds a column in a key of the definition of a table.
func inKey(column string) *regexp.Regexp {
	name := "[\"'`\\[]?" + regexp.QuoteMeta(column) + "[\"'`\\]]?"
	return regexp.MustCompile(`(?is)(?:PRIMARY KEY|UNIQUE|FOREIGN KEY|CHECK)\s*\([^()]*\b` + name + `|[(,]\s*` + name + `\s[^,]*\b(?:PRIMARY KEY|UNIQUE|REFERENCES)\b`)
}

// converted is the value of a column as another kind.
func converted(t table, col column, name string) string {
	if instants[t.name+"."+col.name] {
		return fmt.Sprintf("CASE WHEN julianday(%[1]s) IS NULL THEN CAST(%[1]s AS INTEGER) ELSE %s END", name, Text.millis(name))
	}
	return "CAST(" + name + " AS " + col.kind + ")"
}

// emptyValue is a default for a column of a kind.
func emptyValue(kind string) string {
	if kind == "TEXT" {
		return "''"
	}
	return "0"
}

// quotedIn quotes a name.
func quotedIn(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }
