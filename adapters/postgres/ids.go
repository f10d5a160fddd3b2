package postgres

import "strconv"

// idKind is the type of users.id.
type idKind struct {
	cast     string // the SQL type of the arguments
	assigned bool   // the database assigns every ID
	arg      func(id string) (any, bool)
}

// idKinds has the types of users.id that the adapter supports. The keys are
// the type names of Postgres.
var idKinds = map[string]idKind{
	"text":              {"text", false, textID},
	"character varying": {"text", false, textID},
	"uuid":              {"uuid", false, uuidID},
	"smallint":          {"bigint", true, integerID(16)},
	"integer":           {"bigint", true, integerID(32)},
	"bigint":            {"bigint", true, integerID(64)},
}

// textID, uuidID and integerID turn an ID into an argument. They report false
// for an ID that no user can have. The text must be exactly the form that the
// database writes: "007" and "+7" are not user 7. [USER-08]

func textID(id string) (any, bool) { return id, id != "" && storable(id) }

func integerID(bits int) func(id string) (any, bool) {
	return func(id string) (any, bool) {
		n, err := strconv.ParseInt(id, 10, bits)
		return n, err == nil && strconv.FormatInt(n, 10) == id
	}
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
