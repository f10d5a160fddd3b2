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
	table   string   // in the default layout
	columns []string // of tables made for Auth.js
	better  []string // of tables that better-auth made, which no layout serves
}{
	"user":              {"user", []string{"email", "emailverified"}, nil},
	"account":           {"account", []string{"provider", "provideraccountid"}, []string{"providerid", "accountid"}},
	"session":           {"session", []string{"sessiontoken", "expires"}, []string{"token", "expiresat"}},
	"verificationtoken": {"verificationToken", []string{"token", "expires"}, nil},
	"verification":      {"verificationToken", nil, []string{"identifier", "expiresat"}},
	"authenticator":     {"authenticator", []string{"credentialid"}, nil},
	"passkey":           {"authenticator", nil, []string{"credentialid"}},
}

// plain returns a name without case and underscores.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// compareOthers looks for tables that look like those of another authentication
// library: with the prefix of the layout or without one. The tables that EnsureSchema
// made without a prefix, next to their own version table, are neighbors; other tables
// beside them are not. It refuses if a table of the layout is missing, or if all are
// empty and others are not.
func (c *comparison) compareOthers(ctx context.Context, all []found) error {
	a := c.of
	if a.newTables || a.foreign {
		return nil
	}
	tables := map[string]map[string]bool{}
	rows, err := a.db.QueryContext(ctx, `SELECT t.name, x.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS x WHERE t.type = 'table'`)
	err = drain(rows, err, func(rows *sql.Rows) error {
		var table, column string
		err := rows.Scan(&table, &column)
		if tables[table] == nil {
			tables[table] = map[string]bool{}
		}
		tables[table][plain(column)] = true
		return err
	})
	neighbor := false
	if err == nil && a.prefix != "" && tables["gatehouse_schema"]["version"] {
		rows, err = a.db.QueryContext(ctx, `SELECT EXISTS (SELECT 1 FROM gatehouse_schema)`)
		err = drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&neighbor) })
	}
	if err != nil {
		return err
	}
	var layout Layout
	fields := map[string]*string{"user": &layout.Users, "account": &layout.Accounts, "session": &layout.Sessions,
		"verificationToken": &layout.VerificationTokens, "authenticator": &layout.Authenticators, "passwords": &layout.Passwords}
	missing := false
	ours := map[string]bool{}
	for i, t := range a.schema.tables {
		missing = missing || all[i].kind == "" && t.name != "passwords" // which an earlier version did not make
		ours[strings.ToLower(a.bare(t.name))] = true
	}
	for i, t := range a.schema.tables {
		if missing && all[i].kind != "" && t.name != "passwords" {
			*fields[t.name] = t.name
		}
	}
	var others, rowsOf []string
	better := false
	for name, columns := range tables {
		bare := plain(name)
		if a.prefix != "" && strings.HasPrefix(strings.ToLower(name), strings.ToLower(a.prefix)) {
			bare = plain(name[len(a.prefix):])
		}
		kind, like := besideKinds[strings.TrimSuffix(bare, "s")]
		has := func(set []string) bool {
			return len(set) > 0 && !slices.ContainsFunc(set, func(c string) bool { return !columns[c] })
		}
		made := has(kind.better) && !has(kind.columns) // by better-auth, perhaps with a name of ours
		if neighbor && !made && name == kind.table {
			continue
		}
		if like && (made || has(kind.columns) && !ours[strings.ToLower(name)]) {
			better = better || made
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
	slices.Sort(others)
	if refused && better {
		c.refuse("tables of better-auth are there: %s: no layout serves them, because they have other columns. WithPrefix and WithNewTables make "+
			"new tables beside them; docs/migrate.md, section \"better-auth on SQLite\", shows how to copy the people of theirs", strings.Join(others, ", "))
	} else if refused {
		c.refuse("tables that look like those of another authentication library are there: %s: WithLayout(%s) serves them as they are; "+
			"WithNewTables makes new tables beside them, in which nobody of theirs is known", strings.Join(others, ", "), layout.literal())
	}
	return nil
}
