package mysql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// siteComparison compares the tables of a site with what the adapter needs, and collects what
// would be better.
type siteComparison struct {
	*comparison
	a      *Adapter
	server *server
	found  map[string]*foundTable

	altered, made []string // statements for what would be better, between those of unbound and bound
	keyed         bool     // the ID of the user can't stay as it is
	zone          bool     // a TIMESTAMP becomes a DATETIME
	far           bool     // the zone of the server is not UTC
}

// compareSite compares the tables that a layout names. Nothing is missing that EnsureSchema
// could add: what does not fit is refused with the statement, and changes has what would be
// better.
func (a *Adapter) compareSite(ctx context.Context, s *server, found map[string]*foundTable) (*comparison, error) {
	c := &siteComparison{comparison: &comparison{}, a: a, server: s, found: found}
	c.shape = &shape{server: s, columns: map[string]*storage{}, extras: map[string][]extra{},
		keys:  map[string][]string{},
		owned: map[string]bool{}, absent: map[string]error{}}
	if a.layout.product == "drizzle" {
		const query = "SELECT MIN(CONVERT_TZ(t, @@GLOBAL.time_zone, '+00:00') <=> t) FROM (SELECT TIMESTAMP '2031-01-01 12:00:00' t UNION " +
			"SELECT TIMESTAMP '2031-07-01 12:00:00') x"
		utc, err := one(ctx, on{a, a.db, a.inTx, nil}, query, readNumber)
		if err != nil {
			return nil, err
		}
		c.far = *utc == 0
	}
	for i := range tables {
		if t := &tables[i]; t.name == "passwords" {
			c.passwords(t)
		} else {
			c.table(t)
		}
	}
	c.changes = slices.Concat(c.unbound, c.altered, c.bound, c.made)
	if c.zone {
		c.changes = slices.Insert(c.changes, 0, inZoneOfSite)
	}
	if !c.keyed {
		c.unbound, c.bound = nil, nil
	} else {
		for _, statement := range c.altered {
			statement, _, _ = strings.Cut(statement, " /*")
			c.refused = append(c.refused, statement)
		}
	}
	if len(c.refused) > 0 {
		return c.comparison, nil
	}
	var needed, spare []table
	for _, t := range tables {
		switch {
		case c.shape.absent[t.name] != nil:
		case t.name == "passwords":
			spare = append(spare, t)
		default:
			needed = append(needed, t)
		}
	}
	o := on{a, a.db, a.inTx, nil}
	if len(spare) > 0 {
		grants, err := o.lacking(ctx, spare)
		if err != nil {
			return nil, err
		}
		if len(grants) > 0 {
			c.shape.absent["passwords"] = errNoTable("passwords", " with rights: "+strings.Join(grants, "; "))
		}
	}
	grants, err := o.lacking(ctx, needed)
	if err != nil {
		return nil, err
	}
	if len(grants) > 0 {
		c.refuse("the account lacks rights: %s", strings.Join(grants, "; "))
	}
	return c.comparison, nil
}

func (c *siteComparison) refuse(format string, args ...any) {
	c.refused = append(c.refused, fmt.Sprintf(format, args...))
}

func (c *siteComparison) table(t *table) {
	name, alias := c.a.table(t.name), aliases[t.name]
	f, ok := c.found[name]
	if !ok && t.name == "authenticator" {
		c.shape.absent[t.name] = errNoTable("authenticators", "")
	} else if !ok {
		c.refuse("there is no table %s: WithLayout must name the tables of the site", name)
	}
	if !ok {
		c.none(t)
		return
	}
	if problem := f.isNoTable(name); problem != "" {
		c.refuse("%s", problem)
	}
	known := map[string]bool{}
	better := &alteration{table: name, product: c.a.layout.product}
	for _, column := range t.columns {
		if column.digest != "" {
			continue
		}
		site := c.a.layout.column(t.name, column.name)
		known[strings.ToLower(site)] = true
		kept := c.kept(column) // other tables refer to it
		part := ""
		if !kept {
			part = better.column(column, site, f, c.server.collation)
		}
		c.column(t, column, site, f, part)
	}
	c.alter(t, f, better)
	for _, other := range slices.Sorted(maps.Keys(f.columns)) {
		if has := f.columns[other]; !known[other] {
			c.other(name, alias, other, has)
		}
	}
	c.constraints(t, name, f)
}

// passwords compares the table of passwords. Until the site has it, the adapter does without
// it. The name may be that of a table of the application.
func (c *siteComparison) passwords(t *table) {
	if c.found[c.a.table(t.name)] == nil {
		c.none(t)
		c.made = append(c.made, c.create(t))
		c.shape.absent[t.name] = errNoTable("passwords", ": SchemaChanges returns the statement that makes it")
		return
	}
	refused, altered, unbound, bound := len(c.refused), len(c.altered), len(c.unbound), len(c.bound)
	c.table(t)
	if len(c.refused) == refused {
		return
	}
	c.shape.absent[t.name] = errNoTable("passwords", ": "+strings.Join(c.refused[refused:], "; "))
	c.shape.owned[t.name] = false
	c.refused, c.altered, c.unbound, c.bound = c.refused[:refused], c.altered[:altered], c.unbound[:unbound], c.bound[:bound]
}

// none notes that a table has no columns.
func (c *siteComparison) none(t *table) {
	for _, column := range t.columns {
		c.shape.columns[aliases[t.name]+"."+column.name] = &storage{field: t.name + "." + column.name}
	}
}

// kept reports whether a column must stay as it is: tables of the site's own refer to the ID of
// the user, and the columns on both sides of a foreign key are of one type.
func (c *siteComparison) kept(column column) bool {
	f := c.found[c.a.table("user")]
	return f != nil && (column.name == "id" || column.name == "userId") && slices.ContainsFunc(f.foreign, func(k foreignKey) bool { return !c.a.isOwn(k.table) })
}

// mends returns the statement for a column that is refused, after its cost.
func (c *siteComparison) mends(table string, column column, has foundColumn, better string) string {
	cost := copies
	if has.kind == "" { // the column is added
		cost = ": "
	}
	switch {
	case better == "" || has.isBytes():
		return ""
	case column.name == "id" || column.name == "userId": // with all that refer to it
		c.keyed = true
		return cost + "run the statements that follow"
	case has.length > int64(column.length) && column.length > 0:
		return cost + fmt.Sprintf("SET sql_mode = 'STRICT_ALL_TABLES'; ALTER TABLE `%s` %s", table, better)
	}
	return cost + fmt.Sprintf("ALTER TABLE `%s` %s", table, better)
}

// column compares one column.
func (c *siteComparison) column(t *table, column column, site string, f *foundTable, better string) {
	name, alias := c.a.table(t.name), aliases[t.name]
	field := name + "." + site
	of := &storage{field: field, name: site, exact: true}
	c.shape.columns[alias+"."+column.name] = of
	has, ok := f.columns[strings.ToLower(site)]
	if !ok {
		of.name = ""
		if !optional[alias+"."+column.name] {
			c.refuse("table %s has no column %s%s", name, site, c.mends(name, column, has, better))
		}
		return
	}
	of.kind, of.length, of.required = has.kind, has.length, !has.null
	if column.null && !has.null && column.name != "email" {
		c.refuse("column %s accepts no null: %s", field, has.orNull(name, site))
	}
	if has.expression != "" {
		c.refuse("column %s is generated by the server, and the adapter writes it: name another column in Layout.Columns", field)
	}
	if has.touched {
		c.shape.extras[alias] = append(c.shape.extras[alias], extra{name: site, value: "`" + site + "`", kept: true})
	}
	if problem := c.kind(column, has, of); problem == zoneUnknown {
		mend := fmt.Sprintf("ALTER TABLE `%s` MODIFY `%s` TIMESTAMP(3) NULL", name, site)
		if !has.null {
			mend = strings.TrimSuffix(mend, " NULL") + " NOT NULL DEFAULT CURRENT_TIMESTAMP(3)"
		}
		c.refuse("column %s is %s: %s: SET time_zone = '+00:00'; %s", field, has.kind, problem, mend)
	} else if problem == serversZone {
		c.refuse("column %s is %s: %s: %s; ALTER TABLE `%s` %s", field, has.kind, problem, inZoneOfSite, name, better)
	} else if problem != "" {
		c.refuse("column %s is %s: %s%s", field, has.kind, problem, c.mends(name, column, has, better))
	}
}

// zoneUnknown is the problem of a DATETIME.
const zoneUnknown = "the type does not say which time zone its values have: set Layout.UTC if the site writes UTC, " +
	"or run these statements, with the zone in which the site writes in place of +00:00"

// serversZone is the problem of a TIMESTAMP of Drizzle, which takes what it reads for UTC.
const serversZone = "the server's time zone is not UTC, and Drizzle takes the values for UTC: run these statements, or copy the fields " +
	"of mysql.Drizzle() into a Layout if the site's connections have the zone +00:00"

// bits of the integers.
var bits = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}

// kind fills in how a column stores its values, and says what is wrong with its type.
func (c *siteComparison) kind(column column, has foundColumn, of *storage) string {
	switch column.kind {
	case "varchar", "mediumtext":
		if has.kind != "varchar" && has.kind != "char" && !strings.HasSuffix(has.kind, "text") {
			return "want a type for texts, such as VARCHAR"
		}
		if !strings.HasPrefix(has.collation, "utf8mb4_") {
			return "its character set is not utf8mb4, so it changes some texts"
		}
		of.exact = slices.Contains(collations, has.collation)
		if has.kind == "char" {
			return "it loses spaces at the end: want VARCHAR"
		}
	case "bigint":
		of.unsigned = has.isUnsigned()
		if of.bits = bits[has.kind]; of.bits < 32 {
			return "want INT or BIGINT"
		}
	case "tinyint":
		if of.bits = bits[has.kind]; of.bits == 0 {
			return "want TINYINT(1)"
		}
	case "datetime":
		if has.kind != "datetime" && has.kind != "timestamp" {
			return "want DATETIME(3) or TIMESTAMP(3): TypeORM stores instants as texts, in some zone, and its tables can't be served"
		}
		if has.kind == "datetime" && !c.a.layout.UTC {
			return zoneUnknown
		}
		if has.kind == "timestamp" && c.far {
			return serversZone
		}
		of.step = time.Second
		for range min(has.fraction, 3) {
			of.step /= 10
		}
	}
	return ""
}

// other finds what the adapter writes into a column that is not its own: a random ID, or the
// present into updatedAt.
func (c *siteComparison) other(table, alias, column string, has foundColumn) {
	plain := strings.ReplaceAll(column, "_", "")
	switch {
	case plain == "updatedat" && (has.kind == "datetime" || has.kind == "timestamp"):
		c.shape.extras[alias] = append(c.shape.extras[alias], extra{name: column, value: fmt.Sprintf("UTC_TIMESTAMP(%d)",
			has.fraction), updated: true})
	case has.null || has.filled:
	case plain == "id" && has.kind == "varchar" && has.length >= 36:
		c.shape.extras[alias] = append(c.shape.extras[alias], extra{name: column, value: "UUID()"})
	default:
		c.refuse("column %s.%s %s", table, column, has.unwritten(table, column))
	}
}

// constraints compares keys and foreign keys.
func (c *siteComparison) constraints(t *table, name string, f *foundTable) {
	for key := range f.keys {
		if f.unique[key] {
			c.shape.keys[t.name] = append(c.shape.keys[t.name], key)
		}
	}
	for _, columns := range t.siteKeys() {
		var site []string
		for _, column := range columns {
			site = append(site, c.a.layout.column(t.name, column))
		}
		if f.isUnique(site) {
			continue
		}
		whose := ""
		if t.name == "verificationToken" && f.isUnique(site[1:]) {
			whose = " (Kysely's tables have one of the token alone)"
		}
		c.refuse("table %s has no unique key of %s%s: %s", name, strings.Join(site, ", "), whose, f.addUnique(name, site, c.server.collation))
	}
	c.shape.owned[t.name] = t.foreignKey() != "" // their foreign keys may come and go
}
