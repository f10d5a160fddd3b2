package sqlite

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Layout names the tables and columns of a site, and says how it stores instants. An
// empty name means the name of @auth/drizzle-adapter: user, account, session,
// verificationToken, authenticator; that of passwords is passwords, which no product
// makes. WithPrefix puts its prefix before every name.
type Layout struct {
	Users, Accounts, Sessions, VerificationTokens, Authenticators, Passwords string

	// Columns has the columns with other names. A key is the default table, a dot
	// and the default column: {"user.emailVerified": "email_verified"}.
	Columns map[string]string

	// Instants is how the site stores instants. If it is not given, the adapter reads
	// Milliseconds where a value in the tables tells that it may, and is refused
	// where none does: a wrong guess ends every session.
	Instants Encoding

	// EmailRequired says that user.email does not accept null. It is needed only
	// until the tables were compared, see [Adapter.RequiresEmail].
	EmailRequired bool

	product string // in whose schema file SchemaChanges writes lines: "", "prisma" or "drizzle"
}

// Encoding is how a site stores instants. The zero value is none of them.
type Encoding int

const (
	// Milliseconds since the Unix epoch, as integers: Drizzle's mode timestamp_ms, and
	// Prisma.
	Milliseconds Encoding = iota + 1
	// Seconds since the Unix epoch, as integers, rounded down: Drizzle's mode
	// timestamp, as in create-t3-app.
	Seconds
	// Text is an instant in ISO 8601, UTC if it names no zone: CURRENT_TIMESTAMP,
	// Cloudflare D1 and Prisma's driver adapters. The adapter writes it as
	// 2006-01-02T15:04:05.000+00:00.
	Text
)

// Drizzle is the layout that @auth/drizzle-adapter documents, which is the default.
// With this option EnsureSchema changes nothing. Instants says which mode the site's
// columns have.
// https://authjs.dev/getting-started/adapters/drizzle
func Drizzle() Layout { return Layout{product: "drizzle"} }

// Prisma is the layout that @auth/prisma-adapter documents. Instants says how Prisma
// stores them: version 7 writes Text, unless its driver has another timestampFormat, and
// earlier versions Milliseconds. Columns createdAt keep their default, and updatedAt is
// set to the present by every insert and update.
// https://authjs.dev/getting-started/adapters/prisma
func Prisma() Layout {
	return Layout{Users: "User", Accounts: "Account", Sessions: "Session", VerificationTokens: "VerificationToken",
		Authenticators: "Authenticator", EmailRequired: true, product: "prisma"}
}

// PgAdapter is the layout of @auth/pg-adapter.
func PgAdapter() Layout {
	return Layout{Users: "users", Accounts: "accounts", Sessions: "sessions", VerificationTokens: "verification_token", Authenticators: "authenticators"}
}

// WithLayout serves the tables of a site as they are. EnsureSchema then makes and
// changes nothing: it compares only, and SchemaChanges returns what would be
// better. A column that the adapter does not write must accept null or have a
// default. The layouts are [Drizzle], [Prisma], [PgAdapter], and any names:
//
//	site := sqlite.Drizzle() // create-t3-app
//	site.VerificationTokens = "verification_token"
//	site.Instants = sqlite.Seconds
//	store, err := sqlite.New(db, sqlite.WithPrefix("project_"), sqlite.WithLayout(site))
func WithLayout(layout Layout) Option {
	return option(func(o *options) error {
		if o.layout != nil {
			return errors.New("WithLayout is given twice: a site has one layout")
		}
		o.layout = &layout
		return layout.check()
	})
}

// WithNewTables lets EnsureSchema make tables beside tables that look like those of
// another authentication library. The users in those tables are then unknown to the
// adapter. Without this option EnsureSchema refuses, because a forgotten
// [WithLayout] is the usual reason.
func WithNewTables() Option {
	return option(func(o *options) error { o.newTables = true; return nil })
}

// tableNames returns the name of each table by its default name.
func (l Layout) tableNames() map[string]string {
	given := map[string]string{"user": l.Users, "account": l.Accounts, "session": l.Sessions,
		"verificationToken": l.VerificationTokens, "authenticator": l.Authenticators, "passwords": l.Passwords}
	for name, other := range given {
		if other == "" {
			given[name] = name
		}
	}
	return given
}

var validName = regexp.MustCompile(`^[\pL_][\pL\pN_ -]{0,62}$`)

// check returns an error for a name that can't be used, for a name that is given twice,
// for a key that is no column and for an unknown encoding.
func (l Layout) check() error {
	tables := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(l.tableNames())) {
		other := l.tableNames()[name]
		if !validName.MatchString(other) || strings.HasPrefix(strings.ToLower(other), "sqlite_") {
			return fmt.Errorf("layout: the table %q: want letters, digits, spaces, hyphens and underscores", other)
		}
		if tables[strings.ToLower(other)] {
			return fmt.Errorf("layout: two tables have the name %q", other)
		}
		tables[strings.ToLower(other)] = true
	}
	known := map[string]bool{}
	for _, t := range currentSchema.tables {
		columns := map[string]bool{}
		for _, c := range t.columns {
			known[t.name+"."+c.name] = true
			name := strings.ToLower(l.column(t.name, c.name))
			if columns[name] {
				return fmt.Errorf("layout: two columns of %s have the name %q", t.name, name)
			}
			columns[name] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.Columns)) {
		if !known[key] {
			return fmt.Errorf("layout: %q is no column: want a default table, a dot and a default column, such as user.emailVerified", key)
		}
		if !validName.MatchString(l.Columns[key]) {
			return fmt.Errorf("layout: the column %q: want letters, digits, spaces, hyphens and underscores", l.Columns[key])
		}
	}
	if l.Instants < 0 || l.Instants > Text {
		return fmt.Errorf("layout: Instants is %d, want Milliseconds, Seconds or Text", l.Instants)
	}
	return nil
}

// column returns the name of a column by its default name.
func (l Layout) column(table, column string) string {
	if other, ok := l.Columns[table+"."+column]; ok {
		return other
	}
	return column
}

// literal is the layout in Go, for advice.
func (l Layout) literal() string {
	fits := func(of Layout) bool {
		theirs := of.tableNames()
		for name, given := range map[string]string{"user": l.Users, "account": l.Accounts, "session": l.Sessions,
			"verificationToken": l.VerificationTokens, "authenticator": l.Authenticators} {
			if given != "" && given != theirs[name] {
				return false
			}
		}
		return true
	}
	if fits(Prisma()) {
		return "sqlite.Prisma()"
	}
	var fields []string
	for _, f := range []struct{ field, name string }{{"Users", l.Users}, {"Accounts", l.Accounts}, {"Sessions", l.Sessions},
		{"VerificationTokens", l.VerificationTokens}, {"Authenticators", l.Authenticators}} {
		if f.name != "" {
			fields = append(fields, fmt.Sprintf("%s: %q", f.field, f.name))
		}
	}
	return "sqlite.Layout{" + strings.Join(fields, ", ") + "}"
}
