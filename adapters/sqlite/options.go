package sqlite

import (
	"fmt"
	"regexp"
	"strings"
)

// Option changes what New does by default.
type Option interface{ apply(*options) error }

type options struct {
	prefix    string
	layout    *Layout
	newTables bool
}

type option func(*options) error

func (f option) apply(o *options) error { return f(o) }

// WithPrefix puts prefix before the name of every table, index and trigger, to
// keep them apart from the tables of the application or of another Adapter
// [ISO-02]. A prefix has at most 48 characters: lower case letters, digits and
// underscores, with a letter first. The default is no prefix.
func WithPrefix(prefix string) Option {
	return option(func(o *options) error {
		if !validPrefix.MatchString(prefix) || strings.HasPrefix(prefix, "sqlite_") {
			return fmt.Errorf("prefix %q: want a lower case letter followed by lower case letters, digits and underscores, 48 at most, and not sqlite_", prefix)
		}
		o.prefix = prefix
		return nil
	})
}

// Upper case is refused, because for SQLite a_user and A_user are the same
// table.
var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
