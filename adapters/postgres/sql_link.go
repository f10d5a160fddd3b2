package postgres

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// sqlLink runs statements with a driver of database/sql.
type sqlLink struct {
	db     SQL       // a *sql.Conn, or a transaction of the caller
	dc     io.Closer // the connection of the driver; nil in a transaction
	late   *late     // closes dc
	theirs bool      // db is a transaction of the caller
	pooled bool      // db is a connection of the pool
}

func (l sqlLink) query(ctx context.Context, sql string, args ...any) (rows, error) {
	watched := l.late.begin(ctx, l.dc)
	//nolint:rowserrcheck // the caller closes it
	r, err := l.db.QueryContext(ctx, sql, plainArgs(args)...)
	if err != nil {
		l.late.end(watched)
		return nil, serverError(err)
	}
	return &sqlRows{Rows: r, late: l.late, watched: watched}, nil
}

func (l sqlLink) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	defer l.late.end(l.late.begin(ctx, l.dc))
	result, err := l.db.ExecContext(ctx, sql, plainArgs(args)...)
	if err != nil {
		return 0, serverError(err)
	}
	n, err := result.RowsAffected()
	if err != nil { // the statement has no such number
		return 0, nil
	}
	return n, nil
}

// undoTime is the time that the server has to undo a transaction or a savepoint.
const undoTime = 5 * time.Second

// inTurn sends the statements one by one, in a transaction of their own unless the caller
// has one.
func (l sqlLink) inTurn(ctx context.Context, one, two query, read func(rows, error) error) error {
	both := func() error {
		if _, err := l.exec(ctx, one.sql, one.args...); err != nil {
			return err
		}
		return read(l.query(ctx, two.sql, two.args...))
	}
	inside, err := l.inside(ctx)
	if err != nil {
		return err
	}
	if inside {
		return both()
	}
	return l.between(ctx, "BEGIN", "COMMIT", "ROLLBACK", both)
}

// inside reports whether the statements are in a transaction of the caller.
func (l sqlLink) inside(ctx context.Context) (bool, error) {
	if l.theirs || l.pooled {
		return l.theirs, nil
	}
	_, err := l.exec(ctx, "SAVEPOINT gatehouse")
	switch {
	case isCode(err, noTransaction):
		return false, nil
	case err == nil:
		_, err = l.exec(ctx, "RELEASE SAVEPOINT gatehouse")
	}
	return err == nil, err
}

func (l sqlLink) savepoint(ctx context.Context, f func(link) error) error {
	return l.between(ctx, "SAVEPOINT gatehouse", "RELEASE SAVEPOINT gatehouse",
		"ROLLBACK TO SAVEPOINT gatehouse; RELEASE SAVEPOINT gatehouse", func() error { return f(l) })
}

// between runs begin, f, and end or undo.
func (l sqlLink) between(ctx context.Context, begin, end, undo string, f func() error) error {
	if _, err := l.exec(ctx, begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		_, err = l.exec(ctx, end)
		return err
	}
	soon, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer stop()
	if _, failed := l.exec(soon, undo); failed != nil { // the connection is lost, and with it the transaction
		err = errors.Join(err, failed)
	}
	return err
}

// styled is true: database/sql does not tell the setting DateStyle.
func (l sqlLink) styled() bool { return true }

// sqlRows are the rows of database/sql.
type sqlRows struct {
	*sql.Rows
	late    *late
	watched *statement
	closed  bool
	failed  error // of Close, which waits for the commit
}

func (r *sqlRows) Err() error {
	if err := r.Rows.Err(); err != nil {
		return serverError(err)
	}
	return serverError(r.failed)
}

func (r *sqlRows) Close() {
	if r.closed {
		return
	}
	r.failed = r.Rows.Close()
	r.late.end(r.watched)
	r.closed = true
}

func (r *sqlRows) Scan(dest ...any) error {
	if to, ok := dest[0].(*string); ok {
		dest[0] = notNull{to}
	}
	readSent(dest)
	return r.Rows.Scan(dest...)
}

// notNull is where the text of the first column goes.
type notNull struct{ to *string }

func (n notNull) Scan(src any) error {
	var text sql.NullString
	if src == nil {
		return errRefused
	}
	err := text.Scan(src)
	*n.to = text.String
	return err
}

// plainArgs turns lists of texts into the form in which the server reads an array.
func plainArgs(args []any) []any {
	for i, arg := range args {
		if list, ok := arg.([]string); ok {
			args = slices.Clone(args)
			args[i] = arrayOf(list)
		}
	}
	return args
}

func arrayOf(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
	}
	return "{" + strings.Join(quoted, ",") + "}"
}

// serverError turns the error of the server, as a driver other than pgx has it, into that
// of pgx. Its code is what SQLState returns; the names are in exported fields.
func serverError(err error) error {
	if err == nil {
		return nil
	}
	var pgErr *pgconn.PgError
	var coded interface {
		error
		SQLState() string
	}
	if errors.As(err, &pgErr) || !errors.As(err, &coded) {
		return err
	}
	fields := reflect.Indirect(reflect.ValueOf(coded))
	field := func(name string) string {
		if fields.Kind() == reflect.Struct {
			if f := fields.FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
				return f.String()
			}
		}
		return ""
	}
	return &pgconn.PgError{Severity: field("Severity"), Code: coded.SQLState(), Message: field("Message"),
		SchemaName: field("Schema"), TableName: field("Table"), ConstraintName: field("Constraint")}
}
