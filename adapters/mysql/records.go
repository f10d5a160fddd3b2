package mysql

import (
	"errors"
	"strings"
)

// record has the values of columns, in order.
type record struct {
	table   *table
	columns []string
	values  []any
	extras  []extra // further columns, of the site
	err     error
}

func recordOf(name string) *record { return &record{table: tableOf(name)} }

// set adds the value of a column.
func (r *record) set(name string, value any) *record {
	if err := r.table.column(name).fits(value); err != nil {
		r.err = errors.Join(r.err, err)
	}
	r.columns, r.values = append(r.columns, "`"+name+"`"), append(r.values, value)
	return r
}

// instant adds an instant, as toInstant and toNullInstant return it.
func (r *record) instant(name string, value any, err error) *record {
	r.err = errors.Join(r.err, err)
	return r.set(name, value)
}

// value returns the value of a column, or nil.
func (r *record) value(name string) any {
	for i, column := range r.columns {
		if column == "`"+name+"`" {
			return r.values[i]
		}
	}
	return nil
}

// keyValue returns the value of a column of a key, which may be the digest of others.
func (r *record) keyValue(name string) any {
	of := r.table.column(name).of
	if len(of) == 0 {
		return r.value(name)
	}
	var texts []string
	for _, column := range of {
		text, _ := r.value(column).(string)
		texts = append(texts, text)
	}
	return digest(texts...)
}

// change adds a value if the change is set.
func (r *record) change(isSet bool, name string, value any) *record {
	if isSet {
		r.set(name, value)
	}
	return r
}

// insert is the statement that stores the record.
func (r *record) insert() string {
	columns, values := strings.Join(r.columns, ", "), strings.Repeat("?, ", len(r.columns)-1)+"?"
	for _, e := range r.extras {
		columns, values = columns+", `"+e.name+"`", values+", "+e.value
	}
	return "INSERT INTO `" + r.table.name + "` (" + columns + ") VALUES (" + values + ")"
}

// insertOrUpdate is the statement that stores the record, or changes the one that has its
// key. It takes the values twice.
func (r *record) insertOrUpdate() string {
	set := strings.Join(r.columns, " = ?, ") + " = ?"
	for _, e := range r.extras {
		if e.updated {
			set += ", `" + e.name + "` = " + e.value
		}
	}
	return r.insert() + " ON DUPLICATE KEY UPDATE " + set
}

// update is the statement that changes the record that the condition finds.
func (r *record) update(condition string) string {
	set := strings.Join(r.columns, " = ?, ") + " = ?"
	for _, e := range r.extras {
		set += ", `" + e.name + "` = " + e.value
	}
	return "UPDATE `" + r.table.name + "` " + aliases[r.table.name] + " SET " + set + " WHERE " + condition
}
