package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// idKind is the type of users.id.
type idKind struct {
	cast     string // the type to which SQL casts arguments
	assigned bool   // the database assigns every ID
	arg      func(id string) (any, bool)
}

// idKinds has the types of users.id that the adapter works with, by the names
// that Postgres gives them.
var idKinds = map[string]idKind{
	"text":              {"text", false, textID},
	"character varying": {"text", false, textID},
	"uuid":              {"uuid", false, uuidID},
	"smallint":          {"bigint", true, integerID},
	"integer":           {"bigint", true, integerID},
	"bigint":            {"bigint", true, integerID},
}

// textID, uuidID and integerID turn an ID into an argument. They report false
// for an ID that no user can have: the text must be the one that the database
// would write, so that "007" and "+7" are not user 7. [USER-08]

func textID(id string) (any, bool) { return id, id != "" && storable(id) }

func integerID(id string) (any, bool) {
	n, err := strconv.ParseInt(id, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == id
}

func uuidID(id string) (any, bool) {
	if len(id) != 36 {
		return nil, false
	}
	for i := range len(id) {
		c := id[i]
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return nil, false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return nil, false
			}
		}
	}
	return id, true
}

const usersIDType = `SELECT format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL)::text
	FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
	WHERE a.attrelid = to_regclass($1::text) AND a.attname = 'id' AND NOT a.attisdropped`

// learn returns the statements for the type that users.id has. The first call
// asks the database, one round trip in the life of an adapter; EnsureSchema
// does so too.
func (a *Adapter) learn(ctx context.Context, db DB) (*idStatements, error) {
	if s := a.byID.Load(); s != nil {
		return s, nil
	}
	rows, err := db.Query(ctx, usersIDType, a.names.users)
	name, err := first(rows, err, func(rows pgx.Rows) (name string, err error) {
		return name, rows.Scan(&name)
	})
	if err != nil {
		return nil, err
	}
	if name == nil {
		return nil, fmt.Errorf("there is no table %s with a column id: EnsureSchema makes it", a.names.users)
	}
	kind, ok := idKinds[*name]
	if !ok {
		return nil, fmt.Errorf("the type of %s.id is %s, want text, uuid or an integer type", a.names.users, *name)
	}
	s := newIDStatements(a.names, kind)
	a.byID.Store(s)
	return s, nil
}
