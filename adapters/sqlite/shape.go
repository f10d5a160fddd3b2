package sqlite

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// shape is what the statements need to know about the tables as they are.
type shape struct {
	columns  map[string]*storage // by alias and default name: s.expires
	extras   map[string][]extra  // by alias: what the adapter writes for others
	encoding Encoding
	absent   map[string]error // the tables that are missing, by default name, with the error of their methods
}

// storage is where a column of the default layout is stored.
type storage struct {
	field       string // for errors, as in session.expires
	name        string // in SQL; empty if the table has no such column
	instant     bool
	typed       bool // a driver would make an instant or a boolean of its declared type
	required    bool // it refuses null, although the adapter may store null
	descriptive bool // it describes a passkey, and a table of others may lack it
}

// extra is a column of others that the adapter writes.
type extra struct {
	name, value string
	updated     bool // by every update too, with the present
	encoding    Encoding
}

// aliases stand for the tables in the names of columns in the statements.
var aliases = map[string]string{"user": "u", "account": "a", "session": "s", "verificationToken": "v", "authenticator": "c", "passwords": "p"}

// millis and its inverse convert between an instant in the encoding and milliseconds.
// Before it divides, stored makes the number positive, so that the result is rounded
// down.
func (e Encoding) millis(column string) string {
	switch e {
	case Seconds:
		return `CASE typeof(` + column + `) WHEN 'text' THEN ` + Text.millis(column) + ` ELSE ` + column + ` * 1000 END`
	case Text: // a text that is no instant stays, and can't be read as a number
		return `CASE WHEN ` + column + ` IS NULL THEN NULL ELSE COALESCE(CAST(round((julianday(` + column + `) - 2440587.5) * 86400000) AS INTEGER), 'no instant') END`
	}
	return column
}

func (e Encoding) stored(millis string) string {
	switch e {
	case Seconds:
		return `((` + millis + ` + 62167219200000) / 1000 - 62167219200)`
	case Text:
		return `strftime('%Y-%m-%dT%H:%M:%f+00:00', ` + millis + ` / 1000.0, 'unixepoch')`
	}
	return millis
}

// read returns the expression for a column in a result. The prefix names the table.
func (s *shape) read(prefix, column string) string {
	of := s.columns[column]
	switch {
	case of.name == "":
		return "NULL"
	case of.instant && s.encoding != Milliseconds:
		return s.encoding.millis(prefix + of.name)
	case of.typed:
		return `+` + prefix + of.name // no CAST, which makes a number of every text
	}
	return prefix + of.name
}

// argument returns the placeholder for the value of a column.
func (s *shape) argument(column string) string {
	switch of := s.columns[column]; {
	case of.instant:
		return s.encoding.stored("?")
	case strings.HasSuffix(column, ".userId"): // for an absent owner the subquery yields null, which the column refuses
		id := s.columns["u.id"].name
		return `(SELECT ` + id + ` FROM "user" WHERE ` + id + ` = ?)`
	}
	return "?"
}

// due returns the condition that an instant is at or before the argument.
func (s *shape) due(column string) string {
	if s.encoding == Text { // texts in several forms are not in order
		return s.encoding.millis(s.columns[column].name) + ` <= ?`
	}
	return s.columns[column].name + ` <= ` + s.argument(column)
}

// placeholder finds what is to be replaced in a statement: names of tables, arguments,
// and columns in braces, with the table's alias before them in a join.
//
//	{s.expires}       the column in a result or condition
//	{due s.expires}   the condition that the instant is at or before an argument
//	{new s: a, b}     the columns of a new record
//	{values s: a, b}  their values
//	{set s: a, b}     the assignments of an update
//	{set s: a of b}   a keeps its value if b is the argument, and is cleared otherwise
var placeholder = regexp.MustCompile(`"\w+"|\?|(?:\b[uasvc]\.)?\{[^{}]+\}`)

// fill makes a statement fit the tables.
func (s *shape) fill(query string, table func(string) string) *statement {
	st := &statement{}
	given := 0 // arguments
	text := placeholder.ReplaceAllStringFunc(query, func(found string) string {
		switch {
		case found == "?":
			st.arguments = append(st.arguments, argument{position: given})
			given++
			return found
		case found[0] == '"':
			return found
		}
		prefix, in, _ := strings.Cut(found[:len(found)-1], "{")
		word, rest, _ := strings.Cut(in, " ")
		switch word {
		case "due":
			st.arguments = append(st.arguments, argument{position: given})
			given++
			return s.due(rest)
		case "new", "values", "set":
			alias, list, _ := strings.Cut(rest, ":")
			var parts []string
			for name := range strings.SplitSeq(list, ",") {
				name, key, kept := strings.Cut(strings.TrimSpace(name), " of ")
				column := alias + "." + name
				of := s.columns[column]
				if word != "new" {
					switch {
					case kept && of.name == "":
					case kept:
						st.arguments = append(st.arguments, argument{position: given})
					case of.name != "" || !of.descriptive:
						st.arguments = append(st.arguments, argument{position: given, of: of})
					}
					given++
				}
				switch {
				case of.name == "":
				case word == "new":
					parts = append(parts, of.name)
				case word == "values":
					parts = append(parts, s.argument(column))
				case kept:
					parts = append(parts, of.name+" = CASE WHEN "+s.columns[alias+"."+key].name+" IS ? THEN "+of.name+" END")
				default:
					parts = append(parts, of.name+" = "+s.argument(column))
				}
			}
			for _, e := range s.extras[alias] {
				switch {
				case word == "new":
					parts = append(parts, e.name)
				case word == "values":
					parts = append(parts, e.value)
				case e.updated:
					parts = append(parts, e.name+" = "+e.value)
				}
			}
			if len(parts) == 0 { // what is set has no column, and bind accepts null only
				owner := s.columns[alias+".userId"].name
				parts = append(parts, owner+" = "+owner)
			}
			return strings.Join(parts, ", ")
		}
		return s.read(prefix, in)
	})
	st.text = quotedName.ReplaceAllStringFunc(text, table)
	for table, err := range s.absent {
		if strings.Contains(query, `"`+table+`"`) {
			st.absent = err
		}
	}
	st.same = len(st.arguments) == given && st.absent == nil
	for i, a := range st.arguments {
		st.same = st.same && a.position == i && (a.of == nil || !a.of.required && a.of.name != "")
	}
	return st
}

// argument is an argument of a statement: its position among those of the call, and the
// column that it is stored in.
type argument struct {
	position int
	of       *storage
}

// bind returns the arguments of the statement. It refuses a value for which the site's
// tables have no room.
func (s *statement) bind(args []any) ([]any, error) {
	switch {
	case s.same:
		return args, nil
	case s.absent != nil:
		return nil, s.absent
	}
	bound := make([]any, 0, len(args))
	for _, a := range s.arguments {
		value := args[a.position]
		switch {
		case a.of == nil:
		case a.of.name == "" && value == nil:
			continue
		case a.of.name == "":
			return nil, fmt.Errorf("%s: %w", a.of.field, errNotKept)
		case a.of.required && value == nil:
			return nil, fmt.Errorf("%s must not be null at this site", a.of.field)
		}
		bound = append(bound, value)
	}
	return bound, nil
}

// errNotKept means that the site's table has no column for a value.
var errNotKept = fmt.Errorf("%w: SchemaChanges returns the statement that adds the column", adapter.ErrUnsupported)

// errNoTable means that the site does not have the table of a method.
var errNoTable = fmt.Errorf("%w at this site", adapter.ErrUnsupported)

// needing are the methods that need a table which a site of others may lack.
var needing = []struct {
	table   string
	methods []string
}{
	{"authenticator", []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"}},
	{"passwords", []string{"CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"}},
}

// RequiresEmail reports whether the tables refuse users without an e-mail address, as
// those of Prisma do. Before the tables were compared, it reports what the layout says:
// call EnsureSchema or CheckSchema first.
func (a *Adapter) RequiresEmail() bool {
	if s := a.shape.Load(); s != nil {
		return s.columns["u.email"].required
	}
	return a.layout.EmailRequired
}

// Missing lists the methods that need a table which the site does not have, of
// authenticators or of passwords. With a layout of others it lists those of
// adapter.Passwords until CheckSchema or EnsureSchema has found the table: call one of
// them before auth.New.
func (a *Adapter) Missing() (names []string) {
	s := a.shape.Load()
	for _, need := range needing {
		unknown := s == nil && a.foreign && need.table == "passwords"
		if unknown || s != nil && s.absent[need.table] != nil {
			names = append(names, need.methods...)
		}
	}
	return names
}

// shapeOf returns the shape of tables that were compared with the schema.
func (a *Adapter) shapeOf(all []found) *shape {
	s := &shape{columns: map[string]*storage{}, extras: map[string][]extra{}, encoding: a.layout.Instants, absent: map[string]error{}}
	for i, t := range a.schema.tables {
		alias := aliases[t.name]
		switch {
		case !a.lacks(t, all[i]):
		case all[i].kind == "":
			s.absent[t.name] = fmt.Errorf("%w: the table %s is missing: SchemaChanges returns the statements that make it", errNoTable, a.quoted(t.name))
		default:
			s.absent[t.name] = fmt.Errorf("%w: the table %s is of the application: Layout.Passwords gives another name", errNoTable, a.quoted(t.name))
		}
		used := map[string]bool{}
		for _, col := range t.columns {
			own := a.layout.column(t.name, col.name)
			st := &storage{field: t.name + "." + col.name, instant: instants[t.name+"."+col.name], descriptive: t.name == "authenticator" && col.added}
			s.columns[alias+"."+col.name] = st
			for _, has := range all[i].columns {
				if !strings.EqualFold(has.name, own) {
					continue
				}
				used[has.name] = true
				if st.name = col.name; own != col.name {
					st.name = "`" + own + "`"
				}
				st.typed = col.kind == "INTEGER" && affinity(has.kind) != "INTEGER"
				st.required = col.null && has.notNull
			}
		}
		for _, has := range all[i].columns {
			if e := has.extra(s.encoding); e.name != "" && !used[has.name] {
				s.extras[alias] = append(s.extras[alias], e)
			}
		}
	}
	return s
}

// instants are the columns that hold an instant.
var instants = map[string]bool{"user.emailVerified": true, "session.expires": true, "verificationToken.expires": true,
	"authenticator.created": true, "authenticator.lastUsed": true}

// extra returns what the adapter writes into a column of others: a random ID into a
// column id, and the present into updatedAt. Its name is empty for other columns, to
// which the adapter writes nothing.
func (f foundColumn) extra(encoding Encoding) extra {
	if f.hidden { // SQLite generates it
		return extra{}
	}
	switch strings.ToLower(strings.ReplaceAll(f.name, "_", "")) {
	case "id":
		if f.notNull && !f.filled && affinity(f.kind) == "TEXT" {
			return extra{name: "`" + f.name + "`", value: "lower(hex(randomblob(16)))"}
		}
	case "updatedat":
		const now = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
		if affinity(f.kind) == "TEXT" { // a number would become a text
			encoding = Text
		}
		return extra{name: "`" + f.name + "`", value: encoding.stored(now), updated: true, encoding: encoding}
	}
	return extra{}
}
