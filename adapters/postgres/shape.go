package postgres

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// shape is what the statements need to know about the tables as they are.
type shape struct {
	ids     idKind
	tables  map[string]string   // the SQL form of the tables by their default names
	columns map[string]*storage // by alias and default name: s.expires
	extras  map[string][]extra  // by alias: what the adapter writes for others
	own     ownConstraints
	records map[string][]*storage // by the list of the columns of a new record
	absent  map[string]error      // why the site lacks a table, by its default name
	keeping bool                  // a trigger of the site may keep what belongs to a deleted user
	styled  bool                  // instants are sent in a form that no setting of the connection changes: see sent
}

// storage is where a column of the default layout is stored.
type storage struct {
	field     string // for errors, as in sessions.expires
	name      string // the SQL form of the name; empty if the table has no such column
	typ       string // in the default layout
	naive     bool   // a timestamp without time zone, in UTC
	text      bool   // not varchar, for instance
	json      bool
	precision time.Duration
	bits      int // of an integer
	length    int // the most characters of a text; 0 means any number
	required  bool
	// descriptive: it describes a passkey, and a table of others may lack it
	descriptive bool
}

// extra is a column of others that the adapter writes.
type extra struct {
	name, value string
	updated     bool // by every update too
}

// aliases are the aliases of the tables in the statements.
var aliases = map[string]string{"users": "u", "accounts": "a", "sessions": "s", "verification_token": "v", "authenticators": "c", "passwords": "p"}

var (
	qualifiedColumn = regexp.MustCompile(`\b([uasvcp]\.)("\w+"|\w+)(::text|::bigint)?( = \$\d::text)?`)
	inBraces        = regexp.MustCompile(`\{[^{}]+\}`)
	tableWithAlias  = regexp.MustCompile(`(\{\w+\}) AS \w\b`)
)

// column returns the storage of a column as it is written in a statement.
func (s *shape) column(written string) *storage {
	return s.columns[strings.ReplaceAll(written, `"`, "")]
}

// fill replaces the names in braces and the names of columns.
func (s *shape) fill(sql string, instant func(column string) string) string {
	sql = strings.NewReplacer("{user}", userColumns, "{account}", accountColumns, "{session}", sessionColumns,
		"{token}", tokenColumns, "{authenticator}", authenticatorColumns, "{password}", passwordColumns).Replace(sql)
	sql = inBraces.ReplaceAllStringFunc(sql, func(braces string) string {
		in := braces[1 : len(braces)-1]
		word, rest, _ := strings.Cut(in, " ")
		switch {
		case in == "id":
			return s.ids.cast
		case in == "last use":
			if s.column(`c.lastUsed`).name == "" {
				return ""
			}
			return `, {set c."lastUsed"} = {$4 c."lastUsed"}`
		case word == "touch":
			return s.touch(rest)
		case word == "id":
			return s.column("u.id").name
		case word == "owner":
			return s.column(strings.TrimPrefix(rest, "of ") + ".userId").name
		}
		return braces
	})
	sql = inBraces.ReplaceAllStringFunc(sql, func(braces string) string {
		word, column, _ := strings.Cut(braces[1:len(braces)-1], " ")
		switch {
		case word == "set" && column == "":
			return braces // for assignments
		case s.tables[word] != "":
			return braces // last, because it may look like a column
		case word == "set":
			return s.column(column).name
		case strings.HasPrefix(word, "$"):
			return s.cast(s.column(column), word)
		}
		return instant(word)
	})
	// Where a statement is not prepared, the alias of an only table takes more time than a cast.
	alone := strings.HasPrefix(sql, "SELECT ") && len(tableWithAlias.FindAllString(sql, -1)) == 1
	if alone {
		sql = tableWithAlias.ReplaceAllString(sql, "$1")
	}
	sql = qualifiedColumn.ReplaceAllStringFunc(sql, func(written string) string {
		parts := qualifiedColumn.FindStringSubmatch(written)
		alias, cast, compared := parts[1], parts[3], parts[4]
		of := s.column(alias + parts[2])
		if alone {
			written, alias = strings.TrimPrefix(written, alias), ""
		}
		switch {
		case of == nil: // such as ctid
			return written
		case of.name == "":
			return "NULL" + cast + compared
		case of.text:
			compared = strings.TrimSuffix(compared, "::text")
		}
		if cast == "::text" && (of.text || of.json) || cast == "::bigint" && of.bits == 64 { // a cast takes time where a statement is not prepared
			cast = ""
		}
		return alias + of.name + cast + compared
	})
	for name, table := range s.tables {
		sql = strings.ReplaceAll(sql, "{"+name+"}", table)
	}
	return sql
}

// instant returns the expression for an instant of a row, of the type timestamptz.
func (s *shape) instant(column string) string {
	of := s.column(column)
	switch {
	case of.name == "":
		return `NULL::timestamptz`
	case of.naive:
		column = `(` + column + ` AT TIME ZONE 'UTC')`
	}
	return column
}

// sentInstant returns the form in which an instant of a row is sent. In a styled shape it
// is the binary form in hexadecimal digits, which sentTime reads: DateStyle changes what
// timestamptz looks like as a text.
func (s *shape) sentInstant(column string) string { return s.sent(s.instant(column)) }

func (s *shape) sent(instant string) string {
	if s.styled {
		return `encode(timestamptz_send(` + instant + `), 'hex')`
	}
	return instant
}

// writtenInstant is sentInstant for a row that is written. It fails for an instant that
// time.Time can't hold, and if the type of the column has changed since the tables
// were compared: the zone of the connection would then change the value.
func (s *shape) writtenInstant(column string) string {
	of := s.column(column)
	if of.name == "" {
		return s.sentInstant(column)
	}
	as := `CASE WHEN {} BETWEEN '0001-01-01 00:00:00+00' AND '9999-12-31 23:59:59.999999+00'
			THEN {} ELSE ({}::text || ' is out of range')::timestamptz END`
	if of.naive {
		as = strings.Replace(as, "CASE", `CASE WHEN pg_typeof(`+column+`) <> 'timestamp'::regtype THEN pg_typeof(`+column+`)::text::timestamptz`, 1)
	}
	return s.sent(strings.ReplaceAll(as, "{}", "("+s.instant(column)+")"))
}

// cast returns the argument for a column.
func (s *shape) cast(of *storage, argument string) string {
	switch {
	case of.typ == "id":
		return argument + "::" + s.ids.cast
	case of.naive:
		return "(" + argument + "::timestamptz AT TIME ZONE 'UTC')"
	}
	return argument + "::" + of.typ
}

// record returns the columns of a list, including those that the table lacks.
func (s *shape) record(columns string) (list []*storage) {
	for written := range strings.SplitSeq(columns, ",") {
		list = append(list, s.column(strings.TrimSpace(written)))
	}
	return list
}

// present returns the columns of a list that the table has.
func (s *shape) present(columns string) (there []*storage) {
	for _, of := range s.record(columns) {
		if of.name != "" {
			there = append(there, of)
		}
	}
	return there
}

// count returns the number of arguments for the columns of a new record.
func (s *shape) count(columns string) int { return len(s.present(columns)) }

// into returns the names of the columns of a new record, and of the columns that the
// adapter writes for others.
func (s *shape) into(columns string) string {
	var names []string
	for _, of := range s.present(columns) {
		names = append(names, of.name)
	}
	for _, e := range s.extras[columns[:1]] {
		names = append(names, e.name)
	}
	return strings.Join(names, ", ")
}

// values returns the values of into. The arguments are numbered from the number from.
func (s *shape) values(columns string, from int) string {
	var list []string
	for i, of := range s.present(columns) {
		list = append(list, s.cast(of, fmt.Sprintf("$%d", from+i)))
	}
	for _, e := range s.extras[columns[:1]] {
		list = append(list, e.value)
	}
	return strings.Join(list, ", ")
}

// touch returns the assignments that follow those of an update.
func (s *shape) touch(alias string) (set string) {
	for _, e := range s.extras[alias] {
		if e.updated {
			set += ", " + e.name + " = " + e.value
		}
	}
	return set
}

// errNotKept means that the site's table has no column for a value.
var errNotKept = fmt.Errorf("%w: SchemaChanges returns the statement that adds the column", adapter.ErrUnsupported)

// bind returns the argument for a column. It refuses a value for which the column has
// no room, before a statement is sent, and rounds an instant down to what is stored.
func (s *shape) bind(of *storage, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		if of.required {
			return nil, fmt.Errorf("%s must not be null at this site", of.field)
		}
	case time.Time:
		return v.Truncate(of.precision), nil
	case int64:
		if of.bits < 64 && (v > math.MaxInt64>>(64-of.bits) || v < math.MinInt64>>(64-of.bits)) {
			return nil, fmt.Errorf("%s has no room for %d: its type has %d bits", of.field, v, of.bits)
		}
	case string:
		if of.length > 0 && utf8.RuneCountInString(v) > of.length {
			return nil, fmt.Errorf("%s has no room for %d characters, %d at most", of.field, utf8.RuneCountInString(v), of.length)
		}
	}
	return value, nil
}

// args returns the arguments for the columns of a new record. What the table has no
// column for is refused, unless it only describes a passkey.
func (s *shape) args(columns string, values []any) ([]any, error) {
	args := make([]any, 0, len(values)+1)
	for i, of := range s.records[columns] {
		switch {
		case of.name != "":
			arg, err := s.bind(of, values[i])
			if err != nil {
				return nil, err
			}
			args = append(args, arg)
		case values[i] != nil && !of.descriptive:
			return nil, fmt.Errorf("%s: %w", of.field, errNotKept)
		}
	}
	return args, nil
}

// extra returns what the adapter writes into a column of others: a random ID into a
// column id, and the present into updatedAt. Its name is empty for other columns, to
// which the adapter writes nothing.
func (f foundColumn) extra() extra {
	instant := f.Type == naive || f.Type == accepted["timestamptz"][0]
	switch plain(f.Name) {
	case "id":
		if f.NotNull && !f.Filled && (idKinds[f.Type].cast == "text" || f.Type == "uuid") {
			return extra{name: quote(f.Name), value: "gen_random_uuid()::" + idKinds[f.Type].cast}
		}
	case "updatedat":
		switch {
		case f.Type == naive:
			return extra{name: quote(f.Name), value: "now() AT TIME ZONE 'UTC'", updated: true}
		case instant:
			return extra{name: quote(f.Name), value: "now()", updated: true}
		}
	}
	return extra{}
}

// shapeOf returns the shape of tables that were compared with the schema.
func (s *schema) shapeOf(n names, all []found, c comparison) *shape {
	of := &shape{ids: c.ids, absent: c.absent, tables: map[string]string{}, columns: map[string]*storage{}, extras: map[string][]extra{},
		records: map[string][]*storage{}, own: ownConstraints{}}
	for i, t := range s.tables {
		alias := aliases[t.name]
		of.tables[t.name] = n.table(t.name)
		of.own.add(all[i])
		of.keeping = of.keeping || all[i].Kept && t.name != "users"
		used := map[string]bool{}
		for _, col := range t.columns {
			own := n.column(t.name, col.name)
			st := &storage{field: t.name + "." + col.name, typ: col.typ, bits: 64, precision: time.Microsecond, descriptive: t.name == "authenticators"}
			of.columns[alias+"."+col.name] = st
			used[own] = col.others == ""
			for _, has := range all[i].Columns {
				if has.Name == own {
					st.name = quote(own)
					st.found(has)
					st.naive = has.Type == naive && col.typ == "timestamptz"
					st.required = st.required && col.null
				}
			}
		}
		for _, has := range all[i].Columns {
			if e := has.extra(); e.name != "" && !used[has.Name] {
				of.extras[alias] = append(of.extras[alias], e)
			}
		}
	}
	for _, columns := range []string{newUser, newAccount, newSession, newToken, newAuthenticator, newPassword} {
		of.records[columns] = of.record(columns)
	}
	return of
}

// found notes what the column has room for.
func (st *storage) found(has foundColumn) {
	st.required, st.text, st.json = has.NotNull, has.Type == "text", strings.HasPrefix(has.Type, "json")
	switch has.Type {
	case "smallint":
		st.bits = 16
	case "integer":
		st.bits = 32
	case "character varying":
		st.length = max(0, has.Modifier-4) // it counts the four bytes of the length
	case naive, accepted["timestamptz"][0]:
		for digits := has.Modifier; digits >= 0 && digits < 6; digits++ {
			st.precision *= 10
		}
	}
}

// RequiresEmail reports whether the tables refuse users without an e-mail address,
// as those of Prisma do. Before the tables were compared, it reports what the layout
// says: call EnsureSchema or CheckSchema first.
func (a *Adapter) RequiresEmail() bool {
	if sql := a.served.Load(); sql != nil {
		return sql.columns["u.email"].required
	}
	return a.names.layout.EmailRequired
}

// needing are the methods that need a table which a site of others may lack.
var needing = []struct {
	table   string
	methods []string
}{
	{"authenticators", []string{"CreateAuthenticator", "GetAuthenticator", "ListAuthenticatorsByUserID", "UpdateAuthenticatorCounter"}},
	{"passwords", []string{"CreateUserWithPassword", "GetPassword", "SetPassword", "SwapPassword", "DeletePassword"}},
}

// Missing lists the methods that need a table which the site lacks, of authenticators or
// of passwords. With a layout of others it lists those of [adapter.Passwords] until
// CheckSchema or EnsureSchema has found the table: call one of them before auth.New.
func (a *Adapter) Missing() (methods []string) {
	sql := a.served.Load()
	for _, need := range needing {
		unknown := sql == nil && a.names.foreign && need.table == "passwords"
		if unknown || sql != nil && sql.absent[need.table] != nil {
			methods = append(methods, need.methods...)
		}
	}
	return methods
}
