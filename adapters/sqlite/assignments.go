package sqlite

import "strings"

// assignments gathers what an UPDATE sets. Columns that are not among them are
// left alone, and so are their indexes.
type assignments struct {
	list   []string
	values []any
}

// add takes an assignment of one value, as in "name = ?", if the change is set.
func (s *assignments) add(isSet bool, assignment string, value any) {
	if isSet {
		s.list = append(s.list, assignment)
		s.values = append(s.values, value)
	}
}

// update returns the statement that sets them in the record of the table that
// the condition finds, and returns the record; with nothing to set it only
// reads.
func (s *assignments) update(table, condition, columns string) string {
	if len(s.list) == 0 {
		return `SELECT ` + columns + ` FROM "` + table + `" WHERE ` + condition
	}
	return `UPDATE "` + table + `" SET ` + strings.Join(s.list, ", ") + ` WHERE ` + condition + ` RETURNING ` + columns
}
