package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// sampled is the largest number of values of a column that are looked at.
const sampled = 1000

// mostSeconds is the last second of the year 9999. An instant between 1970 and 1973 has
// fewer milliseconds than leastMillis.
const (
	mostSeconds = 253402300799
	leastMillis = 100_000_000_000
)

// compareInstants looks at instants in tables that this package has not made, which are
// STRICT beside a version: the declared type does not say how they are stored, and a
// wrong guess ends every session. If nothing tells, and the layout does not say, it asks.
func (c *comparison) compareInstants(ctx context.Context, all []found) error {
	a := c.of
	told := c.ours || a.told
	var silent []string
	for i, t := range a.schema.tables {
		if a.lacks(t, all[i]) || c.ours && all[i].strict() {
			continue
		}
		for _, has := range all[i].columns {
			of := a.layout.Instants
			switch e := has.extra(of); {
			case a.isInstant(t, has.name):
				silent = append(silent, a.quoted(t.name)+"."+has.name)
			case e.updated:
				of = e.encoding
			default:
				continue
			}
			tells, err := a.compareInstant(ctx, c, a.quoted(t.name), inSQL(has.name), has, of)
			if err != nil {
				return err
			}
			told = told || tells
		}
	}
	if !told && len(silent) > 0 && len(c.refused) == 0 {
		c.refuse("nothing tells how the site stores instants, because no value in %s does: use WithLayout with "+
			"Instants: sqlite.Milliseconds (Drizzle's mode timestamp_ms, Prisma's unixepoch-ms), "+
			"sqlite.Seconds (Drizzle's mode timestamp) or sqlite.Text (ISO 8601, which Prisma 7 writes)", strings.Join(silent, ", "))
	}
	return nil
}

// isInstant reports whether a column of a table holds an instant of the schema.
func (a *Adapter) isInstant(t table, name string) bool {
	return slices.ContainsFunc(t.columns, func(col column) bool {
		return instants[t.name+"."+col.name] && strings.EqualFold(name, a.layout.column(t.name, col.name))
	})
}

// compareInstant refuses a column that has values in another encoding than of, with the
// statement that converts them. It reports whether the values, or else the default, tell
// that the encoding is that of the layout.
func (a *Adapter) compareInstant(ctx context.Context, c *comparison, table, column string, has foundColumn, of Encoding) (tells bool, err error) {
	count := map[Encoding]int64{}
	var broken, other int64
	rows, err := a.db.QueryContext(ctx, fmt.Sprintf(`
		SELECT CASE typeof(x) WHEN 'integer' THEN CASE WHEN x > %d THEN 1 WHEN x BETWEEN 1 AND %d THEN 2 ELSE 0 END
			WHEN 'text' THEN CASE WHEN julianday(x) IS NULL THEN 4 ELSE 3 END ELSE 5 END AS kind, count(*)
		FROM (SELECT %s AS x FROM %s WHERE %[3]s IS NOT NULL LIMIT %[5]d) GROUP BY kind`,
		mostSeconds, leastMillis-1, column, table, sampled))
	err = drain(rows, err, func(rows *sql.Rows) error {
		var kind, n int64
		err := rows.Scan(&kind, &n)
		switch kind {
		case 0: // an integer that is plausible in both encodings
		case 4:
			broken = n
		case 5:
			other = n
		default:
			count[Encoding(kind)] = n
		}
		return err
	})
	if err != nil {
		return false, err
	}
	name := table + "." + column
	switch {
	case broken > 0:
		c.refuse("%s has texts that are no instants: SELECT %s FROM %s WHERE typeof(%[2]s) = 'text' AND julianday(%[2]s) IS NULL finds them", name, column, table)
	case other > 0:
		c.refuse("%s has numbers with a fraction: run UPDATE %s SET %s = CAST(%[3]s AS INTEGER) WHERE typeof(%[3]s) = 'real'", name, table, column)
	}
	for _, found := range []Encoding{Milliseconds, Seconds, Text} {
		if found == of || count[found] == 0 {
			continue
		}
		where := map[Encoding]string{Milliseconds: fmt.Sprintf("typeof(%s) = 'integer' AND %[1]s > %d", column, mostSeconds),
			Seconds: fmt.Sprintf("typeof(%s) = 'integer' AND %[1]s BETWEEN 1 AND %d", column, leastMillis-1), Text: fmt.Sprintf("typeof(%s) = 'text'", column)}[found]
		millis := map[Encoding]string{Milliseconds: column, Seconds: column + " * 1000",
			Text: "CAST(round((julianday(" + column + ") - 2440587.5) * 86400000) AS INTEGER)"}[found]
		c.refuse("%s has instants as %v, and the adapter reads %v: if the site still writes them, use WithLayout with Instants: sqlite.%[2]v; "+
			"if not, run UPDATE %[4]s SET %[5]s = %[6]s WHERE %[7]s", name, found, of, table, column, of.stored(millis), where)
	}
	if len(count) > 0 || len(c.refused) > 0 {
		return count[a.layout.Instants] > 0, nil
	}
	found := writes(has.value)
	if found != 0 && found != of && (of != Seconds || found != Text) {
		c.refuse("%s has the default %s, so the site writes %v, and the adapter reads %v: use WithLayout with Instants: sqlite.%[3]v", name, has.value, found, of)
	}
	return found == a.layout.Instants, nil
}

// writes returns the encoding that a default writes, or 0.
func writes(value string) Encoding {
	switch {
	case millisDefault.MatchString(value):
		return Milliseconds
	case secondsDefault.MatchString(value):
		return Seconds
	case textDefault.MatchString(value):
		return Text
	}
	return 0
}

var (
	millisDefault  = regexp.MustCompile(`(?i)(?:unixepoch|strftime|julianday)\b.*\*\s*(?:1000|86400000)\b`)
	secondsDefault = regexp.MustCompile(`(?i)unixepoch\(|strftime\('%s'`)
	textDefault    = regexp.MustCompile(`(?i)CURRENT_TIMESTAMP|datetime\(`)
)

// String is the name of the encoding.
func (e Encoding) String() string {
	switch e {
	case Seconds:
		return "Seconds"
	case Text:
		return "Text"
	}
	return "Milliseconds"
}
