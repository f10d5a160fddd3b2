package postgres

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// Option changes what New does by default.
type Option interface{ apply(*options) }

type options struct {
	schema, prefix, versionSchema          string
	schemaSet, prefixSet, versionSchemaSet bool
	layouts                                []Layout
	newTables                              bool
}

type option func(*options)

func (f option) apply(o *options) { f(o) }

// WithSchema names the schema that holds the tables. EnsureSchema creates it if
// it is absent. By default the search path of the connection decides where the
// tables are found and made, in each call: if somebody changes the path of the role or of
// the database later, new connections lead to other tables. WithSchema prevents that.
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

// WithVersionIn puts the table gatehouse_schema, which holds the version of the
// tables, into another schema, and not beside the tables. EnsureSchema creates the
// schema if it is absent.
func WithVersionIn(schema string) Option {
	return option(func(o *options) { o.versionSchema, o.versionSchemaSet = schema, true })
}

// WithNewTables lets EnsureSchema make tables beside tables that look like those of
// another authentication library. The users in those tables are then unknown to the
// adapter. Without this option EnsureSchema refuses, because a forgotten
// [WithLayout] is the usual reason.
func WithNewTables() Option {
	return option(func(o *options) { o.newTables = true })
}

// names holds the names of the tables and columns.
type names struct {
	schema, prefix string
	versionSchema  string // holds the version table; empty means the schema of the tables
	layout         Layout
	foreign        bool // the layout is of others: EnsureSchema changes nothing
	newTables      bool
	tables         map[string]string // the table names by their default names, without the prefix
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
	if o.versionSchemaSet {
		if err := checkIdentifier("schema of the version", o.versionSchema, maxIdentifier); err != nil {
			return names{}, err
		}
	}
	n := names{schema: o.schema, prefix: o.prefix, versionSchema: o.versionSchema, newTables: o.newTables}
	switch len(o.layouts) {
	case 0:
	case 1:
		n.layout = o.layouts[0]
		if err := n.layout.check(); err != nil {
			return names{}, err
		}
	default:
		return names{}, errors.New("WithLayout is given twice: a site has one layout")
	}
	n.foreign = !n.layout.isDefault()
	n.tables = n.layout.tableNames()
	for name := range n.tables {
		if !n.foreign {
			break
		}
		if err := checkIdentifier("prefix and table", n.bare(name), maxIdentifier-len(longestName)+len("accounts")); err != nil {
			return names{}, err
		}
	}
	return n, nil
}

// bare returns the name of a table by its default name, with the prefix.
func (n names) bare(name string) string {
	if other, ok := n.tables[name]; ok {
		name = other
	}
	return n.prefix + name
}

// table returns the name of a table in SQL form: quoted and, if WithSchema names a
// schema, qualified.
func (n names) table(name string) string {
	schema := n.schema
	if name == versionTable && n.versionSchema != "" {
		schema = n.versionSchema
	}
	if schema == "" {
		return quote(n.bare(name))
	}
	return pgx.Identifier{schema, n.bare(name)}.Sanitize()
}

// index returns the name of an index of a table, by the names in the schema.
func (n names) index(table, index string) string {
	return n.bare(table) + strings.TrimPrefix(index, table)
}

// qualified returns the SQL form of a name in the schema of the tables.
func (n names) qualified(name string) string {
	if n.schema == "" {
		return quote(name)
	}
	return pgx.Identifier{n.schema, name}.Sanitize()
}

// column returns the name of a column by its default name.
func (n names) column(table, column string) string {
	if other, ok := n.layout.Columns[table+"."+column]; ok {
		return other
	}
	return column
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
