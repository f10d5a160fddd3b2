package postgres

import (
	"fmt"
	"strings"
)

// schemaLines writes a change as the line of the schema file of the product that
// made the tables, so that its migration tool knows the change too.
type schemaLines struct {
	product string // "prisma", "drizzle" or ""
	table   string
}

// columnTypes has, for each type of the schema, the type in schema.prisma and the
// function of Drizzle, with its further arguments.
var columnTypes = map[string]struct{ prisma, drizzle, arguments string }{
	"text":        {"String%s", "text", ""},
	"id":          {"String%s", "text", ""},
	"bigint":      {"BigInt%s", "bigint", `, { mode: "number" }`},
	"boolean":     {"Boolean%s", "boolean", ""},
	"json":        {"Json%s @db.Json", "json", ""},
	"timestamptz": {"DateTime%s @db.Timestamptz(6)", "timestamp", `, { mode: "date", withTimezone: true }`},
}

// column returns the line of a column as the adapter wants it.
func (l schemaLines) column(col column, name string) string {
	switch l.product {
	case "prisma":
		return "schema.prisma, model " + l.table + ": " + prismaField(col, name)
	case "drizzle":
		return "Drizzle, table " + l.table + ": " + drizzleField(col, name)
	}
	return ""
}

func prismaField(col column, name string) string {
	optional, unique := "", ""
	if col.null {
		optional = "?"
	}
	if col.name == "email" {
		unique = " @unique"
	}
	return name + " " + fmt.Sprintf(columnTypes[col.typ].prisma, optional) + unique
}

func drizzleField(col column, name string) string {
	field := fmt.Sprintf("%s: %s(%q%s)", name, columnTypes[col.typ].drizzle, name, columnTypes[col.typ].arguments)
	if col.name == "email" {
		field += ".unique()"
	}
	if !col.null {
		field += ".notNull()"
	}
	return field
}

// newTable returns the lines of a table that the site lacks.
func (l schemaLines) newTable(t *comparedTable) string {
	key, users := t.indexes[0].columns[0], t.names.bare("users")
	var lines []string
	switch l.product {
	case "prisma":
		many := "[]"
		if key == "userId" {
			many = "?"
		}
		lines = []string{"schema.prisma, model " + users + ": " + l.table + " " + l.table + many, "schema.prisma, a new model:", "model " + l.table + " {"}
		for _, col := range t.columns {
			field := "  " + prismaField(col, t.names.column(t.name, col.name))
			if col.name == key {
				field += " @id"
			}
			lines = append(lines, field)
		}
		lines = append(lines, "  "+t.prismaOwner(), "}")
	case "drizzle":
		lines = []string{"Drizzle, a new table:", fmt.Sprintf("export const %s = pgTable(%q, {", t.name, l.table)}
		for _, col := range t.columns {
			field := drizzleField(col, t.names.column(t.name, col.name))
			if col.name == key {
				field = strings.Replace(field, ".notNull()", ".primaryKey()", 1)
			}
			if col.name == "userId" {
				field += drizzleOwner
			}
			lines = append(lines, "  "+field+",")
		}
		lines = append(lines, "})")
	}
	return strings.Join(lines, "\n-- ")
}

// owner returns the line of the foreign key to users.
func (l schemaLines) owner(t *comparedTable) string {
	switch l.product {
	case "prisma":
		return "schema.prisma, model " + t.names.bare("users") + ": " + l.table + " " + l.table + "[]\n-- schema.prisma, model " + l.table + ": " + t.prismaOwner()
	case "drizzle":
		return "Drizzle, table " + l.table + ": " + drizzleField(column{name: "userId", typ: "id"}, t.names.column(t.name, "userId")) + drizzleOwner
	}
	return ""
}

// prismaOwner is the field of the user, and drizzleOwner what follows the column of the ID.
func (t *comparedTable) prismaOwner() string {
	return fmt.Sprintf("user %s @relation(fields: [%s], references: [%s], onDelete: Cascade, onUpdate: NoAction)",
		t.names.bare("users"), t.names.column(t.name, "userId"), t.names.column("users", "id"))
}

const drizzleOwner = `.references(() => users.id, { onDelete: "cascade" })`

// index returns the line of an index.
func (l schemaLines) index(ix index, name string) string {
	switch l.product {
	case "prisma":
		kind := "@@index"
		if ix.unique {
			kind = "@@unique"
		}
		return fmt.Sprintf("schema.prisma, model %s: %s([%s], map: %q)", l.table, kind, strings.Join(ix.columns, ", "), name)
	case "drizzle":
		kind := "index"
		if ix.unique {
			kind = "uniqueIndex"
		}
		return fmt.Sprintf("Drizzle, table %s: %s(%q).on(t.%s)", l.table, kind, name, strings.Join(ix.columns, ", t."))
	}
	return ""
}

// statement returns the change with its line as a comment.
func (c change) statement() string {
	if c.lines == "" {
		return c.sql
	}
	return "-- " + c.lines + "\n" + c.sql
}
