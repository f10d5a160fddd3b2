package mysql

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// shape is what the statements need to know about the tables of a site, which WithLayout
// names.
type shape struct {
	server  *server
	columns map[string]*storage // by alias and the adapter's name: s.expires
	extras  map[string][]extra  // by alias: what the adapter writes for others
	keys    map[string][]string // by table: the names of its unique keys
	owned   map[string]bool     // by table: its records go with the user
	absent  map[string]error    // by table: why the site has none
	filled  sync.Map            // statements for the site by those of this package
}

// storage is where a column of this package is stored.
type storage struct {
	field    string // for errors, as in Session.expires
	name     string // empty if the table has no such column
	kind     string
	exact    bool  // the column compares byte for byte, without padding
	length   int64 // characters, or bytes of a text
	bits     int   // of an integer
	unsigned bool  // an integer that is not negative
	step     time.Duration
	required bool
}

// extra is a column of others that the adapter writes.
type extra struct {
	name, value string
	updated     bool // by every update too
	kept        bool // by updates that don't set it: the server would
}

// aliases are the aliases of the tables in the statements.
var aliases = map[string]string{"user": "u", "account": "a", "session": "s", "verificationToken": "v",
	"authenticator": "c", "passwords": "p"}

// optional are columns that a table of others may lack. What only describes a passkey is
// then not kept, and another value is refused.
var optional = map[string]bool{"a.authorization_details": true, "c.name": true, "c.created": true, "c.lastUsed": true}

var (
	joined   = regexp.MustCompile(`\b([uasvcp])\.(\w+) = ([uasvcp])\.(\w+)`)
	compared = regexp.MustCompile(`\b([uasvcp])\.(\w+) (=|<>|~) \?`)
	written  = regexp.MustCompile(`\b([uasvcp])\.(\w+)`)
	verb     = regexp.MustCompile(`^(SELECT|INSERT|UPDATE|DELETE)`)
)

// errNoTable means that the site lacks a table.
func errNoTable(what, reason string) error {
	return fmt.Errorf("%w: the site has no table of %s%s", adapter.ErrUnsupported, what, reason)
}

// fill returns a statement of this package with the names of the site. Values are compared
// byte for byte: first as the column compares, which an index finds, then as bytes. Times are
// in UTC, whatever zone the connection has.
func (s *shape) fill(names *strings.Replacer, query string) (string, error) {
	for table, err := range s.absent {
		if strings.Contains(query, "`"+table+"`") {
			return "", err
		}
	}
	if filled, ok := s.filled.Load(query); ok {
		return filled.(string), nil //nolint:forcetypeassert // nothing else is stored
	}
	filled := joined.ReplaceAllStringFunc(query, func(found string) string {
		left, right, _ := strings.Cut(found, " = ")
		return found + " AND BINARY " + left + " = BINARY " + right
	})
	filled = compared.ReplaceAllStringFunc(filled, func(found string) string {
		column, operator, _ := strings.Cut(strings.TrimSuffix(found, " ?"), " ")
		of := s.columns[column]
		switch {
		case operator == "~": // as the column compares
			return column + " = ?"
		case of == nil || of.exact:
			return found
		case operator == "<>":
			return "BINARY " + found
		}
		return found + " AND BINARY " + column + " = ??"
	})
	filled = written.ReplaceAllStringFunc(filled, func(found string) string {
		of := s.columns[found]
		if of == nil || of.name == "" {
			return "NULL"
		}
		return found[:2] + "`" + of.name + "`"
	})
	filled = names.Replace(filled)
	if s.server.collation == collations[0] {
		filled = "SET STATEMENT time_zone = '+00:00' FOR " + filled
	} else {
		filled = verb.ReplaceAllString(filled, "$1 /*+ SET_VAR(time_zone = '+00:00') */")
	}
	s.filled.Store(query, filled)
	return filled, nil
}

// errNotKept means that the site's table has no column for a value.
var errNotKept = fmt.Errorf("%w: SchemaChanges returns the statement that adds the column", adapter.ErrUnsupported)

// bind returns the record for the site: without the columns that its table lacks, and with
// those that the adapter writes for others. A value for which a column has no room is refused
// before a statement is sent.
func (s *shape) bind(r *record, updated bool) (*record, error) {
	if err := s.absent[r.table.name]; err != nil {
		return nil, err
	}
	alias := aliases[r.table.name]
	bound := &record{table: r.table}
	var problems []error
	for i, column := range r.columns {
		name := strings.Trim(column, "`")
		of := s.columns[alias+"."+name]
		value, err := of.bind(r.values[i])
		switch {
		case err != nil:
			problems = append(problems, err)
		case of.name == "" && value != nil && alias == "a":
			problems = append(problems, fmt.Errorf("%s: %w", of.field, errNotKept))
		case of.name != "":
			bound.columns, bound.values = append(bound.columns, "`"+of.name+"`"), append(bound.values, value)
		}
	}
	for _, e := range s.extras[alias] {
		switch set := slices.Contains(bound.columns, "`"+e.name+"`"); {
		case e.kept && (set || !updated), updated && !e.updated && !e.kept:
		default:
			bound.extras = append(bound.extras, e)
		}
	}
	return bound, errors.Join(problems...)
}

// The range of a TIMESTAMP.
const (
	firstTimestamp = instant("1970-01-01 00:00:01.000")
	lastTimestamp  = instant("2038-01-19 03:14:07.000")
)

// bind returns the value as the column stores it.
func (of *storage) bind(value any) (any, error) {
	switch v := value.(type) {
	case nil:
		if of.required {
			return nil, fmt.Errorf("%s must not be null at this site", of.field)
		}
	case instant:
		if of.step >= time.Second {
			v = v[:19] + ".000"
		}
		if of.kind == "timestamp" && (v < firstTimestamp || v > lastTimestamp) {
			return nil, fmt.Errorf("%s has no room for the instant: its type ends in 2038", of.field)
		}
		return v, nil
	case int64:
		if least, most := of.limits(); of.name != "" && (v < least || v > most) {
			return nil, fmt.Errorf("%s has no room for %d: its type takes %d to %d", of.field, v, least, most)
		}
	case string:
		n := int64(utf8.RuneCountInString(v))
		if strings.HasSuffix(of.kind, "text") {
			n = int64(len(v))
		}
		if of.name != "" && n > of.length {
			return nil, fmt.Errorf("%s has no room for the text: it has %d characters, %d at most", of.field, n, of.length)
		}
	}
	return value, nil
}

// limits are the least and the greatest integer that the column takes.
func (of *storage) limits() (least, most int64) {
	switch {
	case !of.unsigned:
		return math.MinInt64 >> (64 - of.bits), math.MaxInt64 >> (64 - of.bits)
	case of.bits < 64:
		return 0, 1<<of.bits - 1
	}
	return 0, math.MaxInt64
}

// stored returns an instant as a column stores it.
func (s *shape) stored(column string, t time.Time) time.Time {
	step := time.Millisecond
	if s != nil && s.columns[column].step > step {
		step = s.columns[column].step
	}
	return t.UTC().Truncate(step)
}

// has reports whether the tables have a column.
func (s *shape) has(column string) bool { return s == nil || s.columns[column].name != "" }

// RequiresEmail reports whether the tables refuse users without an e-mail address, as those
// of Prisma do. Before the tables were compared, it reports what the layout says: call
// EnsureSchema or CheckSchema first.
func (a *Adapter) RequiresEmail() bool {
	if s := a.shape.Load(); s != nil {
		return s.columns["u.email"].required
	}
	return a.layout != nil && a.layout.EmailRequired
}

// needing are the methods that need a table which a site may lack.
var needing = []struct {
	table   string
	methods []string
}{
	{"authenticator", []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"}},
	{"passwords", []string{"CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"}},
}

// Missing lists the methods that need a table which the site lacks, of authenticators or
// of passwords. With a layout it lists those of [adapter.Passwords] until CheckSchema or
// EnsureSchema has found the table: call one of them before auth.New.
func (a *Adapter) Missing() (methods []string) {
	s := a.shape.Load()
	for _, need := range needing {
		unknown := s == nil && a.layout != nil && need.table == "passwords"
		if unknown || s != nil && s.absent[need.table] != nil {
			methods = append(methods, need.methods...)
		}
	}
	return methods
}

// siteKeys returns the columns of each unique key of a table, without digests.
func (t *table) siteKeys() (keys [][]string) {
	for _, k := range t.keys {
		if !k.unique {
			continue
		}
		var columns []string
		for _, name := range k.columns {
			if of := t.column(name).of; len(of) > 0 {
				columns = append(columns, of...)
			} else {
				columns = append(columns, name)
			}
		}
		keys = append(keys, columns)
	}
	return keys
}

// isUnique reports whether the found table has a unique key of exactly the columns.
func (f *foundTable) isUnique(columns []string) bool {
	for name, of := range f.keys {
		if f.unique[name] && len(of) == len(columns) && !slices.ContainsFunc(columns, func(c string) bool {
			return !slices.ContainsFunc(of, func(o string) bool { return strings.EqualFold(o, c) })
		}) {
			return true
		}
	}
	return false
}
