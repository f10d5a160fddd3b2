package postgres

import (
	"fmt"
	"strings"
)

// assignments gathers what an UPDATE sets. The arguments that find the record
// are the first.
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

// in returns the statement that updates, with the assignments in the place of
// {set}, or the one that reads if nothing is set.
func (s *assignments) in(update, read string) string {
	if len(s.columns) == 0 {
		return read
	}
	return strings.Replace(update, "{set}", strings.Join(s.columns, ", "), 1)
}
