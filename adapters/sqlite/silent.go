package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"regexp"
	"strings"
)

// errNotDone means that a statement changed nothing, and that the records don't explain it:
// a trigger of the site ignored the change.
var errNotDone = errors.New("the site refused the change without an error: a trigger ignored it")

// change finds the table and the condition of a statement that changes records.
var change = regexp.MustCompile(`(?s)^\s*(?:DELETE FROM|UPDATE) ("\w+")(?: SET \{[^}]+\})? WHERE (.+?)(?:\s+RETURNING .*)?$`)

// silently returns errNotDone if a statement has changed nothing although a record meets
// its condition, and again if it may have changed in between. A new record has no
// condition.
func (a *Adapter) silently(ctx context.Context, query string, args []any) (again bool, err error) {
	if strings.HasPrefix(strings.TrimSpace(query), "INSERT") {
		return false, errNotDone
	}
	of := change.FindStringSubmatch(query)
	if of == nil {
		return false, nil
	}
	condition := of[2]
	arguments := strings.Count(condition, "?") + strings.Count(condition, "{due ")
	met := false
	err = a.patiently(ctx, func() error {
		met = false
		return a.each(ctx, `SELECT 1 FROM `+of[1]+` WHERE `+condition+` LIMIT 1`, args[len(args)-arguments:],
			func(*sql.Rows) error { met = true; return nil })
	})
	return met, err
}
