package sqlite

import (
	"fmt"
	"strings"
)

// lines returns a comment with the change for the schema file of the product that made
// the table, so that its migration tool knows the change too.
func (t comparedTable) lines(change string) string {
	a := t.of
	switch a.layout.product {
	case "prisma":
		return "-- schema.prisma, model " + a.bare(t.name) + ": " + change + "\n"
	case "drizzle":
		return "-- Drizzle, table " + a.bare(t.name) + ": " + change + "\n"
	}
	return ""
}

// declared returns the type of a new column in SQL, which is the one that the product's
// migration tool gives it.
func (t comparedTable) declared(col column) string {
	a := t.of
	prisma, instant := a.layout.product == "prisma", instants[t.name+"."+col.name]
	switch {
	case prisma && instant:
		return "DATETIME"
	case prisma && col.name == "credentialBackedUp":
		return "BOOLEAN"
	case prisma && col.kind == "INTEGER":
		return "BIGINT"
	case instant && a.layout.Instants == Text:
		return "TEXT"
	}
	return col.kind
}

// field returns the line of a column in the product's schema file.
func (t comparedTable) field(col column) string {
	a := t.of
	name, kind := a.layout.column(t.name, col.name), t.declared(col)
	unique := t.name == "user" && col.name == "email"
	switch a.layout.product {
	case "prisma":
		line := name + " " + map[string]string{"TEXT": "String", "DATETIME": "DateTime", "BOOLEAN": "Boolean", "BIGINT": "BigInt"}[kind]
		if col.null {
			line += "?"
		}
		if unique {
			line += " @unique"
		}
		return line
	case "drizzle":
		mode := ""
		switch {
		case instants[t.name+"."+col.name]:
			mode = map[Encoding]string{Milliseconds: `, { mode: "timestamp_ms" }`, Seconds: `, { mode: "timestamp" }`}[a.layout.Instants]
		case col.name == "credentialBackedUp":
			mode = `, { mode: "boolean" }`
		}
		line := fmt.Sprintf("%s: %s(%q%s)", name, strings.ToLower(kind), name, mode)
		if unique {
			line += ".unique()"
		}
		if !col.null {
			line += ".notNull()"
		}
		return line
	}
	return ""
}

// newTable returns a comment with the lines of a table that the site lacks.
func (t comparedTable) newTable() string {
	a := t.of
	name, users, key := a.bare(t.name), a.bare("user"), t.indexes[0].columns[0]
	var lines []string
	switch a.layout.product {
	case "prisma":
		many := "[]"
		if key == "userId" {
			many = "?"
		}
		lines = []string{"schema.prisma, model " + users + ": " + name + " " + name + many, "schema.prisma, a new model:", "model " + name + " {"}
		for _, col := range t.columns {
			line := "  " + t.field(col)
			if col.name == key {
				line += " @id"
			}
			lines = append(lines, line)
		}
		lines = append(lines, fmt.Sprintf("  user %s @relation(fields: [%s], references: [%s], onDelete: Cascade, onUpdate: NoAction)",
			users, a.layout.column(t.name, "userId"), a.layout.column("user", "id")), "}")
	case "drizzle":
		lines = []string{"Drizzle, a new table:", fmt.Sprintf("export const %s = sqliteTable(%q, {", t.name, name)}
		for _, col := range t.columns {
			line := "  " + t.field(col)
			if col.name == key {
				line += ".primaryKey()"
			}
			if col.name == "userId" {
				line += `.references(() => users.id, { onDelete: "cascade" })`
			}
			lines = append(lines, line+",")
		}
		lines = append(lines, "})")
	default:
		return ""
	}
	return "-- " + strings.Join(lines, "\n-- ") + "\n"
}
