package postgres

import (
	"fmt"
	"strings"
)

// assignments collects the columns that an UPDATE sets. The first arguments
// are those that find the record.
type assignments struct {
	columns []string
	args    []any
}

// add sets the column if the change is set.
func (s *assignments) add(isSet bool, column, typ string, value any) {
	if isSet {
		s.args = append(s.args, value)
		s.columns = append(s.columns, fmt.Sprintf("%s = $%d::%s", column, len(s.args), typ))
	}
}

// in returns the statement update with the assignments in place of {set}.
// Without assignments it returns the statement read.
func (s *assignments) in(update, read string) string {
	if len(s.columns) == 0 {
		return read
	}
	return strings.Replace(update, "{set}", strings.Join(s.columns, ", "), 1)
}
