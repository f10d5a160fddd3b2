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
	typ, optional, unique := columnTypes[col.typ], "", col.name == "email"
	switch l.product {
	case "prisma":
		if col.null {
			optional = "?"
		}
		line := name + " " + fmt.Sprintf(typ.prisma, optional)
		if unique {
			line += " @unique"
		}
		return "schema.prisma, model " + l.table + ": " + line
	case "drizzle":
		line := fmt.Sprintf("%s: %s(%q%s)", name, typ.drizzle, name, typ.arguments)
		if unique {
			line += ".unique()"
		}
		if !col.null {
			line += ".notNull()"
		}
		return "Drizzle, table " + l.table + ": " + line
	}
	return ""
}

// newTable returns the lines of the table of passwords, which no product makes.
func (l schemaLines) newTable(t *comparedTable) string {
	if t.name != "passwords" {
		return ""
	}
	name := func(column string) string { return t.names.column(t.name, column) }
	var lines string
	switch l.product {
	case "prisma":
		lines = `schema.prisma, model {users}: {passwords} {passwords}?
schema.prisma, a new model:
model {passwords} {
  {userId} String @id
  {hash} String
  {state} String
  user {users} @relation(fields: [{userId}], references: [{id}], onDelete: Cascade, onUpdate: NoAction)
}`
	case "drizzle":
		lines = `Drizzle, a new table:
export const passwords = pgTable("{passwords}", {
  userId: text("{userId}").primaryKey().references(() => users.id, { onDelete: "cascade" }),
  hash: text("{hash}").notNull(),
  state: text("{state}").notNull(),
})`
	}
	lines = strings.NewReplacer("{passwords}", l.table, "{users}", t.names.bare("users"), "{id}", t.names.column("users", "id"),
		"{userId}", name("userId"), "{hash}", name("hash"), "{state}", name("state")).Replace(lines)
	return strings.ReplaceAll(lines, "\n", "\n-- ")
}

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
