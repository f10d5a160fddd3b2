package mysql

import (
	"fmt"
	"regexp"
)

// Option changes what New does by default.
type Option interface{ apply(*options) error }

type options struct {
	prefix    string
	newTables bool
	layout    *Layout
}

type option func(*options) error

func (f option) apply(o *options) error { return f(o) }

// WithPrefix puts prefix before the name of every table, key and index, to keep them
// apart from the tables of the application or of another Adapter [ISO-02]. A prefix has
// at most 24 characters: lower case letters, digits and underscores, with a letter
// first. The default is no prefix.
func WithPrefix(prefix string) Option {
	return option(func(o *options) error {
		if !validPrefix.MatchString(prefix) {
			return fmt.Errorf("prefix %q: want a lower case letter followed by lower case letters, digits and underscores, 24 at most", prefix)
		}
		o.prefix = prefix
		return nil
	})
}

// Upper case is refused: a server may take a_user and A_user for the same table. A name
// has 64 characters at most.
var validPrefix = regexp.MustCompile(`^[a-z][a-z0-9_]{0,23}$`)

// WithNewTables lets EnsureSchema make tables beside those of another library, which may
// hold the site's users.
func WithNewTables() Option {
	return option(func(o *options) error {
		o.newTables = true
		return nil
	})
}
