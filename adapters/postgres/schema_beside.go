package postgres

import (
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
	"user":              {"users", []string{"email", "emailverified"}, nil},
	"account":           {"accounts", []string{"provider", "provideraccountid"}, []string{"providerid", "accountid"}},
	"session":           {"sessions", []string{"sessiontoken", "expires"}, []string{"token", "expiresat"}},
	"verificationtoken": {"verification_token", []string{"token", "expires"}, nil},
	"verification":      {"verification_token", nil, []string{"identifier", "expiresat"}},
	"authenticator":     {"authenticators", []string{"credentialid"}, nil},
	"passkey":           {"authenticators", nil, []string{"credentialid"}},
}

// plain returns a name without case and underscores.
func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// beside returns the tables that look like those of another authentication library:
// with the prefix of the layout or without one. The tables that EnsureSchema made
// without a prefix, next to their own version table, are neighbors of those with one. Each
// has a kind, unless no layout can serve it.
func (n names) beside(all []found) (others []foundOther) {
	if n.newTables || n.foreign {
		return nil
	}
	ours, made := map[string]bool{}, map[string]bool{}
	for _, t := range currentSchema.tables {
		ours[n.bare(t.name)], made[t.name] = true, true
	}
	neighbor := n.prefix != "" && slices.ContainsFunc(all[0].Others, func(o foundOther) bool { return o.Name == versionTable })
	some := slices.ContainsFunc(all, func(f found) bool { return f.Exists })
	for _, o := range all[0].Others {
		if o.View && some { // such as a view of our own tables
			continue
		}
		bare := plain(o.Name)
		if n.prefix != "" && strings.HasPrefix(strings.ToLower(o.Name), strings.ToLower(n.prefix)) {
			bare = plain(o.Name[len(n.prefix):])
		} else if neighbor && made[o.Name] {
			continue
		}
		kind, like := besideKinds[strings.TrimSuffix(bare, "s")]
		columns := map[string]bool{}
		for _, c := range o.Columns {
			columns[plain(c)] = true
		}
		has := func(set []string) bool {
			return len(set) > 0 && !slices.ContainsFunc(set, func(c string) bool { return !columns[c] })
		}
		switch {
		case !like:
		case has(kind.better) && !has(kind.columns): // perhaps with a name of ours
			others = append(others, o)
		case has(kind.columns) && !ours[o.Name]:
			o.kind = kind.table
			others = append(others, o)
		}
	}
	return others
}

// refuseBeside names the tables of others and the options.
func (c *comparison) refuseBeside(n names) {
	var tables []string
	var layout Layout
	better := false
	fields := map[string]*string{"users": &layout.Users, "accounts": &layout.Accounts, "sessions": &layout.Sessions,
		"verification_token": &layout.VerificationTokens, "authenticators": &layout.Authenticators}
	for i, t := range currentSchema.tables[:len(c.there)] {
		if c.there[i] && slices.Contains(c.there, false) {
			*fields[t.name] = t.name
		}
	}
	for _, o := range c.beside {
		tables = append(tables, o.SQL)
		if o.kind == "" {
			better = true
			continue
		}
		name := o.Name
		if n.prefix != "" {
			name = strings.TrimPrefix(name, n.prefix)
		}
		*fields[o.kind] = name
	}
	if better {
		c.refuse("tables of better-auth are there: %s: no layout serves them, because they have other columns. WithNewTables, and WithPrefix if "+
			"the names are the same, make new tables beside them; docs/migrate.md, section \"better-auth on PostgreSQL\", copies the people of theirs", strings.Join(tables, ", "))
		return
	}
	c.refuse("tables that look like those of another authentication library are there: %s: WithLayout(%s) serves them as they are; "+
		"WithNewTables makes new tables beside them, in which nobody of theirs is known", strings.Join(tables, ", "), layout.literal())
}

// emptyBesideFull returns a query that reports whether the tables of the layout are
// empty, and a table of others is not.
func (n names) emptyBesideFull(others []foundOther) string {
	var theirs []string
	for _, o := range others {
		theirs = append(theirs, o.rows())
	}
	return fmt.Sprintf("SELECT NOT EXISTS (SELECT FROM %s) AND NOT EXISTS (SELECT FROM %s) AND (%s)",
		n.table("users"), n.table("accounts"), strings.Join(theirs, " OR "))
}

// rows is a condition that reports whether the table has rows. A role that may not read
// them sees whether there are pages.
func (o foundOther) rows() string {
	if o.Readable {
		return fmt.Sprintf("EXISTS (SELECT FROM %s)", o.SQL)
	}
	return fmt.Sprint(o.Pages)
}
