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
	bound, err := o.bind(ctx, r, false)
	if err == nil {
		_, err = o.exec(ctx, bound.insert(), bound.values...)
	}
	return o.explain(ctx, err, r, "TRUE")
}

// update changes the record that a condition finds.
func (o on) update(ctx context.Context, r *record, condition string, args ...any) error {
	bound, err := o.bind(ctx, r, true)
	if err == nil && len(bound.columns) > 0 {
		_, err = o.exec(ctx, bound.update(condition), append(bound.values[:len(bound.values):len(bound.values)],
			args...)...)
	}
	return o.explain(ctx, err, r, "NOT ("+condition+")", args...)
}

// bind returns the record as the tables of a site take it. There it locks the owner too: the
// site may have no foreign keys, and theirs may compare IDs without regard to case.
func (o on) bind(ctx context.Context, r *record, updated bool) (*record, error) {
	if o.shape == nil {
		return r, nil
	}
	if owner := r.value("userId"); owner != nil {
		found, err := one(ctx, o, "SELECT 1 FROM `user` u WHERE u.id = ? LOCK IN SHARE MODE", readNumber, owner)
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, errNoOwner
		}
	}
	return o.shape.bind(r, updated)
}

// explain finds out whether a key of the adapter refused the record. The name of the key in
// the server's message does not say it: a trigger may write to a copy of the table, whose
// keys have the same names. So the record that has the key is looked up, and the owner that
// is absent; other finds the records that may have the key. In the caller's transaction the
// name decides: a reading that meets a newer row would undo it all. [SITE-06]
func (o on) explain(ctx context.Context, err error, r *record, other string, args ...any) error {
	var refused *refusal
	if !errors.As(err, &refused) {
		return err
	}
	if refused.named == "" && refused.Number == noReferencedRow && o.a.vitess.Load() {
		refused.named = r.table.foreignKey() // Vitess names no foreign key that it manages itself
	}
	if refused.named == "" {
		return err
	}
	ours, lookup := false, error(nil)
	switch {
	case refused.Number == noReferencedRow:
		if refused.named != r.table.foreignKey() {
			return err
		}
		ours = o.theirs
		if !ours {
			var owner *int64
			owner, lookup = one(ctx, o, "SELECT 1 FROM `user` u WHERE u.id = ? LOCK IN SHARE MODE", readNumber,
				r.value("userId"))
			ours = owner == nil
		}
	case o.theirs:
		ours = r.table.key(refused.named) != nil
		if o.shape != nil {
			ours = slices.Contains(o.shape.keys[r.table.name], refused.named)
		}
	default:
		ours, lookup = o.taken(ctx, r, refused.named, other, args)
	}
	if lookup != nil || !ours {
		return errors.Join(lookup, err)
	}
	return refused.by(refused.named)
}

// taken reports whether another record has a key of the record, as the columns compare.
func (o on) taken(ctx context.Context, r *record, name, other string, args []any) (bool, error) {
	alias := aliases[r.table.name]
	keys, equals := r.table.siteKeys(), " = ?" // somebody may have renamed a key
	if o.shape != nil {
		equals = " ~ ?"
	} else if k := r.table.key(name); k != nil {
		keys = [][]string{k.columns}
	}
	for _, columns := range keys {
		condition, values := other, args[:len(args):len(args)]
		for _, column := range columns {
			condition += " AND " + alias + "." + column + equals
			values = append(values, r.keyValue(column))
		}
		found, err := one(ctx, o, "SELECT 1 FROM `"+r.table.name+"` "+alias+" WHERE "+condition+" LIMIT 1 LOCK IN SHARE MODE", readNumber, values...)
		if err != nil || found != nil {
			return found != nil, err
		}
	}
	return false, nil
}

// named returns the key, or the foreign key of ours, whose name is in a message, without the
// prefix, or "". The name of a key is the last quoted word, in any language.
func (a *Adapter) named(err *mysql.MySQLError) string {
	switch err.Number {
	case duplicateEntry:
		end := strings.LastIndexAny(err.Message, "'’»\"")
		if end < 0 {
			return ""
		}
		start := strings.LastIndexAny(err.Message[:end], "'‘«\"")
		name := err.Message[start+1 : end]
		name = name[strings.LastIndexByte(name, '.')+1:]
		if a.layout != nil {
			return name
		}
		return strings.TrimPrefix(name, a.prefix)
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
