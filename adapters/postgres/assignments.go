package postgres

import (
	"fmt"
	"strings"
)

// assignments collects the columns that an UPDATE sets. The first arguments
// are those that find the record.
type assignments struct {
	columns []string // as in the statements: u.name
	values  []any
	args    []any
	cleared string // the column that another address clears: u.emailVerified
}

// add sets the column if the change is set.
func (s *assignments) add(isSet bool, column string, value any) {
	if isSet {
		s.columns = append(s.columns, column)
		s.values = append(s.values, value)
	}
}

// in returns the statement update with the assignments in place of {set}, and its
// arguments. Without assignments it returns the statement read.
func (s *assignments) in(sql *statements, update, read string) (string, []any, error) {
	if len(s.columns) == 0 {
		return read, s.args, nil
	}
	args := s.args[:len(s.args):len(s.args)]
	set := make([]string, 0, len(s.columns))
	for i, column := range s.columns {
		of := sql.columns[column]
		if of.name == "" {
			if s.values[i] == nil || of.descriptive {
				continue
			}
			return "", nil, fmt.Errorf("%s: %w", of.field, errNotKept)
		}
		arg, err := sql.bind(of, s.values[i])
		if err != nil {
			return "", nil, err
		}
		args = append(args, arg)
		value := sql.cast(of, fmt.Sprintf("$%d", len(args)))
		set = append(set, of.name+" = "+value)
		if proof := sql.columns[s.cleared]; column == "u.email" && proof != nil && proof.name != "" {
			set = append(set, fmt.Sprintf("%s = CASE WHEN u.%s IS NOT DISTINCT FROM %s THEN u.%[1]s END", proof.name, of.name, value))
		}
	}
	if len(set) == 0 {
		return read, s.args, nil
	}
	return strings.Replace(update, "{set}", strings.Join(set, ", ")+sql.touch(s.columns[0][:1]), 1), args, nil
}
