package sqlite

import (
	"fmt"
	"regexp"
	"strings"
)

// SQLite can't change a column. rebuild returns the statements that make a table again with
// another definition of one: https://sqlite.org/lang_altertable.html#otheralter. Edit
// returns the new definition, and is called for the definitions of all columns and
// constraints if column is empty. The value is what the rows get.
func (t comparedTable) rebuild(column string, edit func(string) string, value string) string {
	a, has := t.of, t.has
	parts, tail := definitions(has.sql)
	for i, part := range parts {
		if column == "" || ofColumn(column).MatchString(part) {
			parts[i] = edit(part)
		}
	}
	var columns, values []string
	for _, f := range has.columns {
		edited := strings.EqualFold(f.name, column)
		if f.hidden && !edited {
			continue
		}
		columns, values = append(columns, quotedIn(f.name)), append(values, quotedIn(f.name))
		if edited {
			values[len(values)-1] = value
		}
	}
	name, other := a.quoted(t.name), quotedIn(a.bare(t.name)+"_new")
	statements := []string{
		"PRAGMA foreign_keys = OFF", "PRAGMA legacy_alter_table = ON", "BEGIN IMMEDIATE",
		fmt.Sprintf("CREATE TABLE %s (%s)%s", other, strings.Join(parts, ", "), tail),
		fmt.Sprintf("INSERT INTO %s (%s) SELECT %s FROM %s", other, strings.Join(columns, ", "), strings.Join(values, ", "), name),
		"DROP TABLE " + name, fmt.Sprintf("ALTER TABLE %s RENAME TO %s", other, name),
	}
	for _, ix := range has.indexes {
		if ix.sql != "" { // SQLite makes the others
			statements = append(statements, ix.sql)
		}
	}
	statements = append(statements, has.triggers...)
	statements = append(statements, "COMMIT", "PRAGMA legacy_alter_table = OFF", "PRAGMA foreign_keys = ON")
	return "with a tool that stops at the first error (sqlite3 -bail), run " + strings.Join(statements, ";\n")
}

// definitions returns the definitions of the columns and constraints of a table, and
// what stands after them.
func definitions(creation string) (parts []string, tail string) {
	depth, part := 0, ""
	for _, token := range sqlToken.FindAllString(creation, -1) {
		switch {
		case strings.HasPrefix(token, "--"), strings.HasPrefix(token, "/*"):
			token = " " // it would hide what is put behind it
		case token == ")":
			depth--
		}
		if depth == 1 && token == "," || depth == 0 && token == ")" {
			parts, part = append(parts, strings.TrimSpace(part)), ""
		} else if depth > 0 || len(parts) > 0 {
			part += token
		}
		if token == "(" {
			depth++
		}
	}
	return parts, strings.TrimRight(part, "; \n")
}

// sqlToken finds comments, quoted names, texts and single characters.
var sqlToken = regexp.MustCompile("(?s)--[^\n]*|/\\*.*?\\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\\[[^\\]]*\\]|.")

// ofColumn finds the definition of a column.
func ofColumn(name string) *regexp.Regexp {
	return regexp.MustCompile("(?is)^[\"'`\\[]?" + regexp.QuoteMeta(name) + "[\"'`\\]]?(?:\\s|$)")
}

var (
	notNull   = regexp.MustCompile(`(?i)\s+NOT\s+NULL\b(?:\s+ON\s+CONFLICT\s+\w+)?`)
	collation = regexp.MustCompile("(?i)\\s+COLLATE\\s+[\"'`\\[]?(?:nocase|rtrim)\\b[\"'`\\]]?")
	counting  = regexp.MustCompile(`(?i)\s+AUTOINCREMENT\b`)
	generated = regexp.MustCompile(`(?is)\s+(?:GENERATED\s+ALWAYS\s+)?AS\s*\(.*\)(?:\s+(?:STORED|VIRTUAL))?`)
)

// The edits of a definition.

func acceptsNull(part string) string { return notNull.ReplaceAllString(part, "") }
func refusesNull(part string) string { return acceptsNull(part) + " NOT NULL" }
func unfolded(part string) string    { return collation.ReplaceAllString(part, "") }
func computesNot(part string) string { return generated.ReplaceAllString(part, "") }

// retyped returns the edit that gives a column another type.
func (f foundColumn) retyped(kind string) func(string) string {
	declared := regexp.MustCompile(`(?is)^\s*` + strings.ReplaceAll(regexp.QuoteMeta(f.kind), " ", `\s+`))
	return func(part string) string {
		name := ofColumn(f.name).FindString(part)
		rest := declared.ReplaceAllString(counting.ReplaceAllString(part[len(name):], ""), "")
		return strings.TrimSpace(name) + " " + kind + " " + strings.TrimSpace(rest)
	}
}
