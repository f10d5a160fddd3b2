package sqlite

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// refusal is an error of SQLite: its code, and a text of this package. A trigger of the
// site may quote a secret in its text, and the text of a driver is not known. [ERR-08]
type refusal struct {
	code int
	text string
	// constraint is the kind of a constraint of the adapter's own tables, such as
	// UNIQUE, and columns are its columns. Only these are a conflict or an absent owner:
	// a trigger of the site may violate a constraint of another table.
	constraint, columns string
}

func (r *refusal) Error() string { return fmt.Sprintf("%s (%d)", r.text, r.code) }

// Code is the extended result code. https://sqlite.org/rescode.html
func (r *refusal) Code() int { return r.code }

// refusalTexts are the texts of primary result codes.
var refusalTexts = map[int]string{
	1: "the statement does not fit the tables", 3: "access denied", 5: "the database is locked", 6: "a table is locked", 7: "out of memory",
	8: "the database is read-only", 9: "interrupted", 10: "disk I/O error", 11: "the database is corrupt", 13: "the database or disk is full",
	14: "the database file can't be opened", 17: "the tables have changed", 18: "a value is too large", 19: "a constraint or trigger refused the record",
	20: "a value has the wrong type", 23: "not authorized", 26: "the file is not a database",
}

var violated = regexp.MustCompile(`(UNIQUE|NOT NULL|PRIMARY KEY) constraint failed: ([^()]+?)(?: \(\d+\))?$`)

// refused returns the error of a method's statement. An error that has no result code
// stays.
func (a *Adapter) refused(err error) error {
	var done *refusal
	code, ok := resultCode(err)
	if !ok || errors.As(err, &done) {
		return err
	}
	if strings.Contains(err.Error(), "integer overflow") { // see kept
		return errNotDone
	}
	r := &refusal{code: code, text: refusalTexts[code&0xff]}
	if r.text == "" {
		r.text = "SQLite refused the statement"
	}
	if m := violated.FindStringSubmatch(err.Error()); m != nil && a.owns(m[2]) {
		r.constraint, r.columns = m[1], m[2]
		r.text = m[1] + " constraint failed: " + m[2]
	}
	return r
}

// owns reports whether every column of a list, as in user.id, is one of the adapter's.
func (a *Adapter) owns(columns string) bool {
	for column := range strings.SplitSeq(columns, ", ") {
		ours := false
		for _, t := range a.schema.tables {
			for _, col := range t.columns {
				ours = ours || strings.EqualFold(column, a.bare(t.name)+"."+a.layout.column(t.name, col.name))
			}
		}
		if !ours {
			return false
		}
	}
	return true
}

// ownConstraint reports whether err is a violation of a constraint of the adapter's own
// tables. Errors that are not of a method's statement are taken as such.
func ownConstraint(err error, kinds ...string) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return true
	}
	for _, kind := range kinds {
		if r.constraint == kind {
			return true
		}
	}
	return false
}
