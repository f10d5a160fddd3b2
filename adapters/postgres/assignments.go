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

// in returns the statement with the assignments in the place of {set}.
func (s *assignments) in(statement string) string {
	return strings.Replace(statement, "{set}", strings.Join(s.columns, ", "), 1)
}
