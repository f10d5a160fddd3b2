package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// besideKinds are the tables of an authentication library: the names, without case,
// underscores and plural, and the columns of which a table has at least one set.
var besideKinds = map[string]struct {
	table   string // in the default layout
	columns [][]string
}{
	"user":              {"user", [][]string{{"email", "emailverified"}}},
	"account":           {"account", [][]string{{"provider", "provideraccountid"}, {"providerid", "accountid"}}},
	"session":           {"session", [][]string{{"sessiontoken", "expires"}, {"token", "expiresat"}}},
	"verificationtoken": {"verificationToken", [][]string{{"token", "expires"}}},
	"verification":      {"verificationToken", [][]string{{"identifier", "expiresat"}}},
	"authenticator":     {"authenticator", [][]string{{"credentialid"}}},
	"passkey":           {"authenticator", [][]string{{"credentialid"}}},
}

// plain returns a name without case and underscores.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// compareOthers looks for tables that look like those of another authentication
// library: with the prefix of the layout or without one. The tables that EnsureSchema
// made for another prefix, next to their own version table, are neighbors. It refuses
// if a table of the layout is missing, or if all are empty and others are not.
func (a *Adapter) compareOthers(ctx context.Context, c *comparison, all []found) error {
	if a.newTables || a.foreign {
		return nil
	}
	tables := map[string]map[string]bool{}
	neighbor := false
	rows, err := a.db.QueryContext(ctx, `SELECT t.name, x.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS x WHERE t.type = 'table'`)
	err = drain(rows, err, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		if tables[table] == nil {
			tables[table] = map[string]bool{}
		}
		tables[table][plain(column)] = true
		neighbor = neighbor || a.prefix != "" && table == "gatehouse_schema"
		return err
	})
	if err != nil {
		return err
	}
	var layout Layout
	fields := map[string]*string{"user": &layout.Users, "account": &layout.Accounts, "session": &layout.Sessions,
		"verificationToken": &layout.VerificationTokens, "authenticator": &layout.Authenticators}
	missing := false
	ours := map[string]bool{}
	for i, t := range a.schema.tables {
		missing = missing || all[i].kind == ""
		ours[strings.ToLower(a.bare(t.name))] = true
	}
	for i, t := range a.schema.tables {
		if missing && all[i].kind != "" {
			*fields[t.name] = t.name
		}
	}
	var others, rowsOf []string
	for name, columns := range tables {
		bare := plain(name)
		if a.prefix != "" && strings.HasPrefix(strings.ToLower(name), strings.ToLower(a.prefix)) {
			bare = plain(name[len(a.prefix):])
		} else if neighbor {
			continue
		}
		kind, like := besideKinds[strings.TrimSuffix(bare, "s")]
		like = like && slices.ContainsFunc(kind.columns, func(set []string) bool {
			return !slices.ContainsFunc(set, func(c string) bool { return !columns[c] })
		})
		if like && !ours[strings.ToLower(name)] {
			others = append(others, `"`+name+`"`)
			rowsOf = append(rowsOf, fmt.Sprintf(`EXISTS (SELECT 1 FROM "%s")`, strings.ReplaceAll(name, `"`, `""`)))
			*fields[kind.table] = strings.TrimPrefix(name, a.prefix)
		}
	}
	if len(others) == 0 {
		return nil
	}
	refused := missing
	if !missing {
		rows, err := a.db.QueryContext(ctx, a.named(`SELECT NOT EXISTS (SELECT 1 FROM "user") AND NOT EXISTS (SELECT 1 FROM "account") AND (`)+strings.Join(rowsOf, " OR ")+`)`)
		if err := drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&refused) }); err != nil {
			return err
		}
	}
	if refused {
		slices.Sort(others)
		c.refuse("tables that look like those of another authentication library are there: %s: WithLayout(%s) serves them as they are; "+
			"WithNewTables makes new tables beside them, in which nobody of theirs is known", strings.Join(others, ", "), layout.literal())
	}
	return nil
}
