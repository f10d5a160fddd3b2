package mysql

import (
	"fmt"
	"slices"
	"strings"
)

// alteration is what would be better about a table of a site.
type alteration struct {
	table, product string
	parts          []string // of ALTER TABLE
	lines          []string // for the schema file of the product
	keys           bool     // the ID of a user is changed, which foreign keys refer to
	zone           bool     // a TIMESTAMP becomes a DATETIME
}

// inZoneOfSite lets a statement convert a TIMESTAMP as the server shows it to the site, whose
// connections have the zone of the server. Drizzle takes what it reads for UTC.
const inZoneOfSite = "SET time_zone = @@GLOBAL.time_zone"

// siteLengths are the lengths of keys at a site, where some are a key together: it has
// 3,072 bytes.
var siteLengths = map[string]int{"identifier": 255, "credentialID": 512}

// column adds what would be better about a column, and returns that part of ALTER TABLE.
func (b *alteration) column(column column, site string, f *foundTable, collation string) string {
	has, there := f.columns[strings.ToLower(site)]
	if !there && column.name == "credentialID" {
		return ""
	}
	kind, exact := strings.ToUpper(column.kind), slices.Contains(collations, has.collation)
	switch column.kind {
	case "varchar":
		length := max(siteLengths[column.name], int(has.length))
		if siteLengths[column.name] == 0 {
			length = max(column.length, length)
		}
		kind = fmt.Sprintf("VARCHAR(%d) CHARACTER SET utf8mb4 COLLATE %s", length, collation)
		if there && exact && has.kind == "varchar" && int64(length) == has.length && (has.null || !column.null) {
			return ""
		}
		b.keys = b.keys || column.name == "userId" || column.name == "id"
	case "mediumtext":
		if there && (has.kind == "mediumtext" || has.kind == "longtext") {
			return ""
		}
	case "bigint":
		if has.kind == "bigint" && !has.isUnsigned() {
			return ""
		}
	case "datetime":
		ends := has.kind == "timestamp" && b.product == "drizzle" // in 2038, and Drizzle reads a DATETIME as UTC too
		if there && has.fraction >= 3 && !ends {
			return ""
		}
		kind = "DATETIME(3)"
		if there && !ends {
			kind = strings.ToUpper(has.kind) + "(3)"
		}
		b.zone = b.zone || ends
	default:
		return ""
	}
	verb := "ADD COLUMN"
	if there {
		verb = "MODIFY"
	}
	b.line(column, site, kind)
	switch {
	case column.null:
		kind += " NULL"
	case strings.HasPrefix(kind, "TIMESTAMP"): // without a default older servers change it by every update
		kind += " NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"
	default:
		kind += " NOT NULL"
	}
	part := fmt.Sprintf("%s `%s` %s", verb, site, kind)
	b.parts = append(b.parts, part)
	return part
}

// line adds the line of a column for the schema file of the product.
func (b *alteration) line(column column, site, kind string) {
	kind, _, _ = strings.Cut(kind, " ")
	name, length, _ := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
	switch b.product {
	case "prisma":
		types := map[string]string{"VARCHAR": "String", "MEDIUMTEXT": "String", "BIGINT": "BigInt",
			"DATETIME": "DateTime", "TIMESTAMP": "DateTime"}
		native := map[string]string{"VARCHAR": " @db.VarChar(" + length + ")", "MEDIUMTEXT": " @db.MediumText",
			"TIMESTAMP": " @db.Timestamp(3)"}
		null := ""
		if column.null {
			null = "?"
		}
		b.lines = append(b.lines, site+" "+types[name]+null+native[name])
	case "drizzle":
		arguments := map[string]string{"VARCHAR": ", { length: " + length + " }", "BIGINT": `, { mode: "number" }`,
			"DATETIME": `, { mode: "date", fsp: 3 }`, "TIMESTAMP": `, { mode: "date", fsp: 3 }`}
		b.lines = append(b.lines, fmt.Sprintf("%s: %s(%q%s)", site, strings.ToLower(name), site, arguments[name]))
	}
}

// alter adds the statements for a table: with the indexes that it lacks, and without its
// foreign keys to the user for as long as the columns change.
func (c *siteComparison) alter(t *table, f *foundTable, b *alteration) {
	for _, k := range t.keys {
		site := key{name: k.name}
		for _, column := range k.columns {
			site.columns = append(site.columns, c.a.layout.column(t.name, column))
		}
		if !k.unique && !f.has(site, "") {
			b.parts = append(b.parts, fmt.Sprintf("ADD INDEX `%s` (`%s`)", c.a.prefix+k.name, strings.Join(site.columns,
				"`, `")))
		}
	}
	if len(b.parts) == 0 {
		return
	}
	comment := ""
	if len(b.lines) > 0 {
		file := map[string]string{"prisma": "schema.prisma", "drizzle": "the schema of Drizzle"}[b.product]
		comment = " /* " + file + ", " + b.table + ": " + strings.Join(b.lines, "; ") + " */"
	}
	c.zone = c.zone || b.zone
	c.altered = append(c.altered, "ALTER TABLE `"+b.table+"` "+strings.Join(b.parts, ", ")+comment)
	if t.foreignKey() == "" || !b.keys {
		return
	}
	for _, k := range f.foreign {
		c.unbind(k, c.a.table("user"), c.a.layout.column("user", "id"))
	}
}

// create is the statement that makes the table of passwords, after the changes of the table
// of users. It has a foreign key if other tables of the site have one.
func (c *siteComparison) create(t *table) string {
	name, users := c.a.table(t.name), c.a.table("user")
	column := func(name string) string { return c.a.layout.column(t.name, name) }
	length, of, id := idLength, "", c.a.layout.column("user", "id")
	if f := c.found[users]; f != nil {
		has := f.columns[strings.ToLower(id)]
		length = max(length, int(has.length))
		if slices.Contains(collations, has.collation) || c.kept(*tableOf("user").column("id")) {
			of = " COLLATE " + has.collation
		}
	}
	key := ""
	if f := c.found[c.a.table("account")]; f != nil && len(f.foreign) > 0 {
		key = fmt.Sprintf(", CONSTRAINT `%s` FOREIGN KEY (`%s`) REFERENCES `%s` (`%s`) ON DELETE CASCADE ON UPDATE CASCADE", c.a.prefix+t.foreignKey(), column("userId"), users, id)
	}
	return fmt.Sprintf("CREATE TABLE `%s` (`%s` VARCHAR(%d)%s NOT NULL PRIMARY KEY, `%s` VARCHAR(2000) NOT NULL, `%s` MEDIUMTEXT NOT NULL%s) "+
		"ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=%s%s",
		name, column("userId"), length, of, column("hash"), column("state"), key, c.server.collation, c.newModel(name, length, column))
}

// newModel is the comment with the lines of the table of passwords in the schema file of the
// product.
func (c *siteComparison) newModel(name string, length int, column func(string) string) string {
	var lines string
	switch c.a.layout.product {
	case "prisma":
		lines = " /* schema.prisma, model {users}: {table} {table}?; model {table} { {userId} String @id @db.VarChar({length}); {hash} String @db.VarChar(2000); " +
			"{state} String @db.MediumText; user {users} @relation(fields: [{userId}], references: [{id}], onDelete: Cascade) } */"
	case "drizzle":
		lines = ` /* the schema of Drizzle: mysqlTable("{table}", { userId: varchar("{userId}", { length: {length} }).primaryKey().references(() => users.id, { onDelete: "cascade" }), ` +
			`hash: varchar("{hash}", { length: 2000 }).notNull(), state: mediumtext("{state}").notNull() }) */`
	}
	return strings.NewReplacer("{table}", name, "{users}", c.a.table("user"), "{length}", fmt.Sprint(length), "{id}", c.a.layout.column("user", "id"),
		"{userId}", column("userId"), "{hash}", column("hash"), "{state}", column("state")).Replace(lines)
}
