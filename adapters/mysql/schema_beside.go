package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// besideKeys are a column of each table of an authentication library, by its name without
// case, underscores and plural.
var besideKeys = map[string]string{"user": "email", "account": "provider", "session": "token",
	"verificationtoken": "token", "verification": "identifier"}

// beside refuses a database in which the adapter would begin with nobody, although it has
// tables that look like those of another library: the table of this adapter's users does not
// exist, or it is empty and those are not. The tables of this package without a prefix are
// neighbors of an adapter with one.
func (a *Adapter) beside(ctx context.Context, c *comparison, begins, foldsCase bool) error {
	if a.newTables {
		return nil
	}
	o := on{a, a.db, a.inTx, nil}
	all := map[string]map[string]string{} // by the name of a table: the types of its columns
	err := o.query(ctx,
		"SELECT TABLE_NAME, LOWER(COLUMN_NAME), LOWER(DATA_TYPE) FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE()"+everything,
		func(rows *sql.Rows) error {
			var name, column, kind string
			err := rows.Scan(&name, &column, &kind)
			if all[name] == nil {
				all[name] = map[string]string{}
			}
			all[name][column] = kind
			return err
		})
	if err != nil {
		return err
	}
	isOf := func(prefix, name string) bool { // a name that this package gives a table
		return slices.ContainsFunc(tables, func(t table) bool {
			return prefix+t.name == name || foldsCase && strings.EqualFold(prefix+t.name, name)
		})
	}
	version := all[versionTable]
	neighbors := a.prefix != "" && version["single"] != "" && version["version"] != ""
	like := map[string]string{} // by the kind of table: its name
	for _, name := range slices.Sorted(maps.Keys(all)) {
		kind := strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, a.prefix), "_", "")), "s")
		key, known := besideKeys[kind]
		switch {
		case !known || isOf(a.prefix, name) || neighbors && isOf("", name) && all[name]["seq"] != "":
		case slices.ContainsFunc(slices.Collect(maps.Keys(all[name])), func(c string) bool { return strings.Contains(c, key) }):
			like[kind] = name
		}
	}
	if like["user"] == "" || len(like) < 2 {
		return nil
	}
	if !begins {
		var full []string
		for name := range maps.Values(like) {
			full = append(full, "EXISTS (SELECT 1 FROM "+name+")") // a name of besideKeys is no word of SQL
		}
		refused, err := one(ctx, o, "SELECT NOT EXISTS (SELECT 1 FROM `user`) AND ("+strings.Join(full, " OR ")+")", readNumber)
		if isNumber(err, tableAccessDenied) { // so the tables are of no use to the account
			return nil
		}
		if err != nil || *refused == 0 {
			return err
		}
	}
	c.refused = append(c.refused, fmt.Sprintf("the database has tables that look like those of another library (%s), and nobody in this adapter's: "+
		"their users would not be found. %s; WithNewTables makes new tables beside them",
		strings.Join(slices.Sorted(maps.Values(like)), ", "), productOf(like["user"], all[like["user"]], all[like["session"]])))
	return nil
}

// productOf says which product has made tables, and what serves them.
func productOf(users string, user, session map[string]string) string {
	switch {
	case session["token"] != "" && (session["expiresat"] != "" || session["expires_at"] != ""):
		return "They are better-auth's, which have other columns, and can't be served: copy their people into the tables that Schema returns"
	case session["expires"] == "varchar":
		return "They are TypeORM's, which stores instants as texts, and can't be served: convert them to the tables that Schema returns"
	case session["updatedat"] != "" && user["updatedat"] != "" && users == "User":
		return "WithLayout(mysql.Prisma()) serves the tables of Prisma as they are"
	case users == "User" && session["id"] != "" && session["expires"] == "timestamp":
		return "They are Kysely's, whose key of tokens has no identifier, and can't be served: convert them to the tables that Schema returns"
	}
	return "WithLayout serves the tables of a site as they are"
}
