package sqlite

import "strings"

// assignments collects the columns that an UPDATE sets. The UPDATE changes no
// other column and no index of another column.
type assignments struct {
	list   []string
	values []any
}

// add takes the new value of a column, if the change is set.
func (s *assignments) add(isSet bool, column string, value any) {
	if isSet {
		s.list = append(s.list, column)
		s.values = append(s.values, value)
	}
}

// update returns the statement that sets the columns in the record that the
// condition finds. The statement yields the record. Without assignments it is a
// SELECT.
func (s *assignments) update(table, condition, columns string) string {
	if len(s.list) == 0 {
		return `SELECT ` + columns + ` FROM "` + table + `" WHERE ` + condition
	}
	return `UPDATE "` + table + `" SET {set ` + aliases[table] + `: ` + strings.Join(s.list, ", ") + `} WHERE ` + condition + ` RETURNING ` + columns
}
