package mysql

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// insert stores a new record.
func (o on) insert(ctx context.Context, r *record) error {
	_, err := o.exec(ctx, r.insert(), r.values...)
	return o.explain(ctx, err, r, "TRUE")
}

// update changes the record that a condition finds.
func (o on) update(ctx context.Context, r *record, condition string, args ...any) error {
	_, err := o.exec(ctx, r.update(condition), append(r.values[:len(r.values):len(r.values)], args...)...)
	return o.explain(ctx, err, r, "NOT ("+condition+")", args...)
}

// explain finds out whether a key of the adapter refused the record. The name of the key in
// the server's message does not say it: a trigger may write to a copy of the table, whose
// keys have the same names. So the record that has the key is looked up, and the owner that
// is absent; other finds the records that may have the key. In the caller's transaction the
// name decides: a reading that meets a newer row would undo it all. [SITE-06]
func (o on) explain(ctx context.Context, err error, r *record, other string, args ...any) error {
	var refused *refusal
	if !errors.As(err, &refused) || refused.named == "" {
		return err
	}
	table, condition, values := r.table.name, other, []any(nil)
	if refused.Number == noReferencedRow {
		if refused.named != r.table.foreignKey() {
			return err
		}
		table, condition, values = "user", "id = ?", []any{r.value("userId")}
	} else {
		k := r.table.key(refused.named)
		if k == nil {
			return err
		}
		for _, column := range k.columns {
			condition += " AND `" + column + "` = ?"
			values = append(values, r.keyValue(column))
		}
		values = append(args[:len(args):len(args)], values...)
	}
	if !o.theirs {
		found, lookup := one(ctx, o, "SELECT 1 FROM `"+table+"` WHERE "+condition+" LIMIT 1 LOCK IN SHARE MODE", readNumber, values...)
		if lookup != nil {
			return lookup
		}
		if (found != nil) != (refused.Number == duplicateEntry) {
			return err
		}
	}
	return refused.by(o.a.prefix + refused.named)
}

// named returns the key or foreign key whose name is in a message, without the prefix, or
// "". The name of a key is the last quoted word, in any language.
func (a *Adapter) named(err *mysql.MySQLError) string {
	switch err.Number {
	case duplicateEntry:
		end := strings.LastIndexAny(err.Message, "'’»\"")
		if end < 0 {
			return ""
		}
		start := strings.LastIndexAny(err.Message[:end], "'‘«\"")
		name := err.Message[start+1 : end]
		name, _ = strings.CutPrefix(name[strings.LastIndexByte(name, '.')+1:], a.prefix)
		if slices.ContainsFunc(tables, func(t table) bool { return t.key(name) != nil }) {
			return name
		}
	case noReferencedRow:
		_, name, _ := strings.Cut(err.Message, "CONSTRAINT ") // the quotes are those of sql_mode
		for _, t := range tables {
			if key := t.foreignKey(); key != "" && strings.HasPrefix(strings.TrimLeft(name, "`\""), a.prefix+key) {
				return key
			}
		}
	}
	return ""
}
