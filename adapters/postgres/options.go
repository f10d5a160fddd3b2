package postgres

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// Option changes what New does by default.
type Option interface{ apply(*options) }

type options struct {
	schema, prefix       string
	schemaSet, prefixSet bool
}

type option func(*options)

func (f option) apply(o *options) { f(o) }

// WithSchema names the schema that holds the tables. EnsureSchema creates it if
// it is absent. By default the search path of the connection decides where the
// tables are found and made.
func WithSchema(name string) Option {
	return option(func(o *options) { o.schema, o.schemaSet = name, true })
}

// WithPrefix puts prefix before the name of every table and index: with "auth_"
// the users are in auth_users. The default is no prefix, as in Auth.js.
func WithPrefix(prefix string) Option {
	return option(func(o *options) { o.prefix, o.prefixSet = prefix, true })
}

// maxIdentifier is the length in bytes at which Postgres cuts identifiers.
const maxIdentifier = 63

// longestName is the longest name that gets the prefix.
const longestName = `accounts_provider_providerAccountId_key`

// names holds the names of the tables in SQL form: quoted and, if WithSchema
// names a schema, qualified.
type names struct {
	schema                                                  string // as given, may be empty
	prefix                                                  string
	users, accounts, sessions, verification, authenticators string
}

func newNames(o options) (names, error) {
	if o.schemaSet {
		if err := checkIdentifier("schema", o.schema, maxIdentifier); err != nil {
			return names{}, err
		}
	}
	if o.prefixSet {
		if err := checkIdentifier("prefix", o.prefix, maxIdentifier-len(longestName)); err != nil {
			return names{}, err
		}
	}
	n := names{schema: o.schema, prefix: o.prefix}
	n.users, n.accounts, n.sessions = n.table("users"), n.table("accounts"), n.table("sessions")
	n.verification, n.authenticators = n.table("verification_token"), n.table("authenticators")
	return n, nil
}

// table returns the table's name in SQL form.
func (n names) table(name string) string {
	id := pgx.Identifier{n.prefix + name}
	if n.schema != "" {
		id = pgx.Identifier{n.schema, n.prefix + name}
	}
	return id.Sanitize()
}

// checkIdentifier returns an error for a name that Postgres would refuse or
// cut. It also refuses quotes and backslashes, which names don't need.
func checkIdentifier(what, s string, limit int) error {
	switch {
	case s == "":
		return fmt.Errorf("%s is empty", what)
	case len(s) > limit:
		return fmt.Errorf("%s %q is longer than %d bytes", what, s, limit)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return fmt.Errorf("%s %q is not printable UTF-8", what, s)
	case strings.ContainsAny(s, "'\"`\\{}$"):
		return fmt.Errorf("%s %q contains a quote, a backslash, a brace or a dollar sign", what, s)
	}
	return nil
}
