package mysql

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Layout names the tables and columns of a site. An empty name means the adapter's own:
// user, account, session, verificationToken, authenticator, passwords. WithPrefix puts its
// prefix before every name.
type Layout struct {
	Users, Accounts, Sessions, VerificationTokens, Authenticators, Passwords string

	// Columns has the columns with other names. A key is the adapter's table, a dot and
	// its column: {"user.emailVerified": "email_verified"}.
	Columns map[string]string

	// UTC says that the site writes UTC into columns of the type DATETIME, as Prisma and
	// Drizzle do. Such a column does not say which zone its values have: without UTC it is
	// refused. A TIMESTAMP says it.
	UTC bool

	// EmailRequired says that the address of a user does not accept null. It is needed only
	// until the tables were compared, see [Adapter.RequiresEmail].
	EmailRequired bool

	product string // in whose schema file SchemaChanges writes lines: "", "prisma" or "drizzle"
}

// Prisma is the layout that @auth/prisma-adapter documents. Columns createdAt keep their
// default, and updatedAt is set to the present by every insert and update. Foreign keys may
// be absent, as with relationMode = "prisma".
// https://authjs.dev/getting-started/adapters/prisma
func Prisma() Layout {
	return Layout{Users: "User", Accounts: "Account", Sessions: "Session", VerificationTokens: "VerificationToken",
		Authenticators: "Authenticator", UTC: true, EmailRequired: true, product: "prisma"}
}

// Drizzle is the layout that @auth/drizzle-adapter documents for MySQL. Its sessions and
// tokens end at a whole second, and before the 19th of January 2038, until
// [Adapter.SchemaChanges] was run. Drizzle takes a TIMESTAMP for UTC: on a server whose own
// zone is another one the tables are refused with the statements that help.
// https://authjs.dev/getting-started/adapters/drizzle
func Drizzle() Layout {
	return Layout{Users: "user", Accounts: "account", Sessions: "session", VerificationTokens: "verificationToken",
		Authenticators: "authenticator", UTC: true, product: "drizzle"}
}

// WithLayout serves the tables of a site as they are. EnsureSchema then makes and changes
// nothing: it compares only, and SchemaChanges returns what would be better. A column that
// the adapter does not write must accept null or have a default. The layouts are [Prisma],
// [Drizzle], and any names:
//
//	site := mysql.Prisma()
//	site.Users = "people"
//	store, err := mysql.New(db, mysql.WithLayout(site))
func WithLayout(layout Layout) Option {
	return option(func(o *options) error {
		if o.layout != nil {
			return fmt.Errorf("WithLayout is given twice: a site has one layout")
		}
		o.layout = &layout
		return layout.check()
	})
}

// tableNames returns the name of each table by the adapter's name.
func (l *Layout) tableNames() map[string]string {
	given := map[string]string{"user": l.Users, "account": l.Accounts, "session": l.Sessions,
		"verificationToken": l.VerificationTokens, "authenticator": l.Authenticators, "passwords": l.Passwords}
	for name, other := range given {
		if other == "" {
			given[name] = name
		}
	}
	return given
}

// validName has no character that means something in SQL or in the statements of this
// package.
var validName = regexp.MustCompile(`^[\pL\pN_$@ -]{1,64}$`)

// check returns an error for a name that can't be used or that is given twice, and for a key
// that is no column.
func (l *Layout) check() error {
	seen := map[string]bool{}
	names := l.tableNames()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		switch other := names[name]; {
		case !validName.MatchString(other):
			return fmt.Errorf("layout: the table %q: want letters, digits, _, $, @, - and spaces, 64 at most", other)
		case seen[other]:
			return fmt.Errorf("layout: two tables have the name %q", other)
		default:
			seen[other] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Columns)) {
		of, column, _ := strings.Cut(key, ".")
		if !slices.ContainsFunc(tables, func(t table) bool { return t.name == of && t.column(column) != nil }) {
			return fmt.Errorf("layout: %q is no column: want a table and a column of the adapter, such as user.emailVerified", key)
		}
		if !validName.MatchString(l.Columns[key]) {
			return fmt.Errorf("layout: %s: the column %q: want letters, digits, _, $, @, - and spaces, 64 at most", key, l.Columns[key])
		}
	}
	return nil
}

// column returns the name of a column by the adapter's name.
func (l *Layout) column(table, column string) string {
	if other, ok := l.Columns[table+"."+column]; ok {
		return other
	}
	return column
}
