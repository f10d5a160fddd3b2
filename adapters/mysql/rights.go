package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// lacking returns the statements that grant what the account of the connection lacks on
// tables, which are there.
func (o on) lacking(ctx context.Context, tables []table) (grants []string, err error) {
	var names, columns, sets []string // TiDB lets everybody select what is no column
	for _, t := range tables {
		names = append(names, "`"+t.name+"`")
		columns = append(columns, "`"+t.name+"`."+t.columns[0].name)
		sets = append(sets, columns[len(columns)-1]+" = NULL")
	}
	all := strings.Join(names, ", ")
	probes := []string{
		"SELECT " + strings.Join(columns, ", ") + " FROM " + all + " WHERE FALSE",
		"UPDATE " + all + " SET " + strings.Join(sets, ", ") + " WHERE FALSE",
		"DELETE " + all + " FROM " + all + " WHERE FALSE",
	}
	for _, t := range tables {
		probes = append(probes, t.probe("INSERT"))
	}
	for _, probe := range probes {
		if denied, err := o.denied(ctx, probe); err != nil || denied {
			return o.lackingByTable(ctx, tables)
		}
	}
	return nil, nil
}

// lackingByTable is lacking with a statement for each right and table.
func (o on) lackingByTable(ctx context.Context, tables []table) (grants []string, err error) {
	var database, account string
	err = o.query(ctx, "SELECT DATABASE(), CURRENT_USER()", func(rows *sql.Rows) error { return rows.Scan(&database, &account) })
	if err != nil {
		return nil, err
	}
	at := strings.LastIndex(account, "@")
	for _, t := range tables {
		for _, right := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
			denied, err := o.denied(ctx, t.probe(right))
			if err != nil {
				return nil, err
			}
			if denied {
				grants = append(grants, fmt.Sprintf("GRANT %s ON `%s`.`%s` TO '%s'@'%s'", right, database, o.a.table(t.name),
					account[:max(at, 0)], account[at+1:]))
			}
		}
	}
	return grants, nil
}

// probe is a statement that needs a right, and no other.
func (t *table) probe(right string) string {
	name, column := "`"+t.name+"`", t.columns[0].name
	switch right {
	case "SELECT":
		return "SELECT " + column + " FROM " + name + " WHERE FALSE"
	case "INSERT":
		return "INSERT INTO " + name + " (" + column + ") VALUES (NULL)"
	case "UPDATE":
		return "UPDATE " + name + " SET " + column + " = NULL WHERE FALSE"
	}
	return "DELETE FROM " + name + " WHERE FALSE"
}

// denied reports whether the account may not run a statement. The server explains it only to
// an account that may, and may refuse it for another reason, such as read_only.
func (o on) denied(ctx context.Context, statement string) (bool, error) {
	err := o.query(ctx, "EXPLAIN "+statement, func(*sql.Rows) error { return nil })
	if isNumber(err, tableAccessDenied, columnAccessDenied) {
		return true, nil
	}
	if isServers(err) || closed(err) {
		return false, nil
	}
	return false, err
}

// rightOf returns the right that a message of the server names first, or "". [SITE-05]
func rightOf(message string) string {
	for word := range strings.FieldsSeq(message) {
		switch word = strings.Trim(word, "'\"`,"); word {
		case "SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER", "INDEX", "REFERENCES", "DROP", "TRIGGER":
			return word
		}
	}
	return ""
}
