package postgres

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Layout names the tables and columns of a site. An empty name means the name of
// @auth/pg-adapter: users, accounts, sessions, verification_token, authenticators; that of the passwords is
// passwords, which no product makes. WithPrefix puts its prefix before every name.
type Layout struct {
	Users, Accounts, Sessions, VerificationTokens, Authenticators, Passwords string

	// Columns has the columns with other names. A key is the default table, a dot
	// and the default column: {"users.emailVerified": "email_verified"}.
	Columns map[string]string

	// UTC says that the site writes UTC into columns of the type timestamp without
	// time zone, as Prisma and Drizzle do. Such a column does not say which zone its
	// values have: without UTC it is refused.
	UTC bool

	// EmailRequired says that users.email does not accept null. It is needed only
	// until the tables were compared, see [Adapter.RequiresEmail].
	EmailRequired bool

	product string // the product in whose schema file SchemaChanges writes lines: "", "prisma" or "drizzle"
}

// PgAdapter is the layout of @auth/pg-adapter, which is the default.
// https://authjs.dev/getting-started/adapters/pg
func PgAdapter() Layout { return Layout{} }

// Prisma is the layout that @auth/prisma-adapter documents. Columns createdAt keep
// their default, and updatedAt is set to the present by every insert and update.
// https://authjs.dev/getting-started/adapters/prisma
func Prisma() Layout {
	return Layout{Users: "User", Accounts: "Account", Sessions: "Session", VerificationTokens: "VerificationToken",
		Authenticators: "Authenticator", UTC: true, EmailRequired: true, product: "prisma"}
}

// Drizzle is the layout that @auth/drizzle-adapter documents.
// https://authjs.dev/getting-started/adapters/drizzle
func Drizzle() Layout {
	return Layout{Users: "user", Accounts: "account", Sessions: "session", VerificationTokens: "verificationToken",
		Authenticators: "authenticator", UTC: true, product: "drizzle"}
}

// WithLayout serves the tables of a site as they are. EnsureSchema then makes and
// changes nothing: it compares only, and SchemaChanges returns what would be
// better. A column that the adapter does not write must accept null or have a
// default. The layouts are [Prisma], [Drizzle], and any names; with [PgAdapter], the
// default, EnsureSchema makes and completes the tables as without the option:
//
//	site := postgres.Prisma()
//	site.Users = "people"
//	store, err := postgres.New(pool, postgres.WithLayout(site))
func WithLayout(layout Layout) Option {
	return option(func(o *options) { o.layouts = append(o.layouts, layout) })
}

// tableNames returns the name of each table by its default name.
func (l Layout) tableNames() map[string]string {
	given := map[string]string{"users": l.Users, "accounts": l.Accounts, "sessions": l.Sessions,
		"verification_token": l.VerificationTokens, "authenticators": l.Authenticators, "passwords": l.Passwords}
	for name, other := range given {
		if other == "" {
			given[name] = name
		}
	}
	return given
}

// isDefault reports whether the layout has the names and types of @auth/pg-adapter.
func (l Layout) isDefault() bool {
	for name, other := range l.tableNames() {
		if name != other {
			return false
		}
	}
	return len(l.Columns) == 0 && !l.UTC && !l.EmailRequired
}

// check returns an error for a name that PostgreSQL can't use, for a name that is
// given twice and for a key that is no column.
func (l Layout) check() error {
	tables := map[string]bool{}
	for name, other := range l.tableNames() {
		if err := checkIdentifier("table", other, maxIdentifier-len(longestName)+len("accounts")); err != nil {
			return fmt.Errorf("layout: %s: %w", name, err)
		}
		if strings.Contains(other, ".") {
			return fmt.Errorf("layout: the table %q has a dot: WithSchema names the schema", other)
		}
		if tables[other] {
			return fmt.Errorf("layout: two tables have the name %q", other)
		}
		tables[other] = true
	}
	known := map[string]bool{}
	for _, t := range currentSchema.tables {
		columns := map[string]bool{}
		for _, c := range t.columns {
			key := t.name + "." + c.name
			known[key] = true
			name := c.name
			if other, renamed := l.Columns[key]; renamed {
				name = other
			}
			if columns[name] {
				return fmt.Errorf("layout: two columns of %s have the name %q", t.name, name)
			}
			columns[name] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Columns)) {
		if !known[key] {
			return fmt.Errorf("layout: %q is no column: want a default table, a dot and a default column, such as users.emailVerified", key)
		}
		if err := checkIdentifier("column", l.Columns[key], maxIdentifier); err != nil {
			return fmt.Errorf("layout: %s: %w", key, err)
		}
		if strings.Contains(l.Columns[key], ".") {
			return fmt.Errorf("layout: %s: the column %q has a dot", key, l.Columns[key])
		}
	}
	return nil
}

// literal is the layout in Go, for advice.
func (l Layout) literal() string {
	for name, of := range map[string]Layout{"Prisma": Prisma(), "Drizzle": Drizzle()} {
		fits := func(given, theirs string) bool { return given == "" || given == theirs }
		if l.Users != "" && fits(l.Users, of.Users) && fits(l.Accounts, of.Accounts) && fits(l.Sessions, of.Sessions) &&
			fits(l.VerificationTokens, of.VerificationTokens) && fits(l.Authenticators, of.Authenticators) {
			return "postgres." + name + "()"
		}
	}
	var fields []string
	for _, f := range []struct{ field, name string }{{"Users", l.Users}, {"Accounts", l.Accounts}, {"Sessions", l.Sessions},
		{"VerificationTokens", l.VerificationTokens}, {"Authenticators", l.Authenticators}} {
		if f.name != "" {
			fields = append(fields, fmt.Sprintf("%s: %q", f.field, f.name))
		}
	}
	return "postgres.Layout{" + strings.Join(fields, ", ") + "}"
}
