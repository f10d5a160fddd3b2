package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
)

// compareValues looks at keys and booleans in tables that this package has not made:
// SQLite stores a value of any type in any column. A blob is no text, so no text finds it.
func (c *comparison) compareValues(ctx context.Context, all []found) error {
	a := c.of
	var blobs, statements []string
	for i, t := range a.schema.tables {
		if a.lacks(t, all[i]) || c.ours && all[i].strict() {
			continue
		}
		table := a.quoted(t.name)
		for _, col := range t.columns {
			own := a.layout.column(t.name, col.name)
			if !slices.ContainsFunc(all[i].columns, func(f foundColumn) bool { return strings.EqualFold(f.name, own) }) {
				continue // EnsureSchema adds it
			}
			own = inSQL(own)
			name := table + "." + own
			isKey := slices.ContainsFunc(t.indexes, func(ix index) bool { return slices.Contains(ix.columns, col.name) })
			switch {
			case isKey && col.kind == "TEXT":
				plain, other, err := a.sample(ctx, table, own, "typeof(x) = 'blob'", fmt.Sprintf(plainBlob, "x"))
				if err != nil {
					return err
				}
				if plain {
					blobs = append(blobs, name)
					statements = append(statements, fmt.Sprintf("UPDATE %s SET %s = CAST(%[2]s AS TEXT) WHERE ", table, own)+fmt.Sprintf(plainBlob, own))
				}
				if other {
					c.refuse("%s has blobs that are no text, as UUIDs of 16 bytes are, and the adapter serves texts: "+
						"SELECT hex(%s) FROM %s WHERE typeof(%[2]s) = 'blob' finds them", name, own, table)
				}
			case col.name == "credentialBackedUp":
				word := "lower(%s) IN ('true', 'false')"
				words, other, err := a.sample(ctx, table, own, "typeof(x) <> 'integer'", fmt.Sprintf(word, "x"))
				if err != nil {
					return err
				}
				if words {
					c.refuse("%s has texts, and the adapter reads and writes 0 and 1: run UPDATE %s SET %s = lower(%[3]s) = 'true' WHERE "+word, name, table, own, own)
				}
				if other {
					c.refuse("%s has values that are no booleans: SELECT %s FROM %s WHERE typeof(%[2]s) <> 'integer' finds them", name, own, table)
				}
			}
		}
	}
	if len(blobs) > 0 {
		c.refuse("%s: texts are stored as blobs, which no text finds: run BEGIN;\nPRAGMA defer_foreign_keys = ON;\n%s;\nCOMMIT",
			strings.Join(blobs, ", "), strings.Join(statements, ";\n"))
	}
	return nil
}

// plainBlob is the condition that a blob is a text of printable ASCII.
const plainBlob = `typeof(%[1]s) = 'blob' AND length(CAST(%[1]s AS TEXT)) = length(%[1]s) AND CAST(%[1]s AS TEXT) NOT GLOB '*[^ -~]*'`

// sample looks at the first values of a column, x, that meet a condition. It reports
// whether some meet a second one, and whether others don't.
func (a *Adapter) sample(ctx context.Context, table, column, condition, second string) (some, others bool, err error) {
	rows, err := a.db.QueryContext(ctx, fmt.Sprintf(`
		SELECT COALESCE(max(k), 0) = 1, COALESCE(min(k), 1) = 0 FROM (SELECT COALESCE(%s, 0) <> 0 AS k
			FROM (SELECT %s AS x FROM %s WHERE %[2]s IS NOT NULL LIMIT %[4]d) WHERE %[5]s)`, second, column, table, sampled, condition))
	err = drain(rows, err, func(rows *sql.Rows) error { return rows.Scan(&some, &others) })
	return some, others, err
}
