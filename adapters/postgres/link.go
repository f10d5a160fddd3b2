package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// link is what a call runs its statements on: a connection, or the transaction of the
// caller. pgxLink and sqlLink implement it.
type link interface {
	query(ctx context.Context, sql string, args ...any) (rows, error)
	// exec runs a statement, or without arguments several, and returns the number of rows
	// that the last one changed.
	exec(ctx context.Context, sql string, args ...any) (int64, error)
	// inTurn runs first and then second, in one transaction, and passes the rows of second
	// to read.
	inTurn(ctx context.Context, first, second query, read func(rows, error) error) error
	// savepoint runs f under a savepoint of the caller's transaction.
	savepoint(ctx context.Context, f func(link) error) error
	// styled reports whether DateStyle may have another value than ISO. Instants then come
	// in the form that sentTime reads.
	styled() bool
}

// query is a statement with its arguments.
type query struct {
	sql  string
	args []any
}

// rows is the result of a statement. Close reads it to its end.
type rows interface {
	Next() bool
	// Scan returns errRefused for a row whose first column is null, if that is a text.
	Scan(dest ...any) error
	Err() error
	Close()
}

// pgxLink runs statements with pgx.
type pgxLink struct {
	db   DB
	conn *pgx.Conn // the connection of db; nil if db does not tell
}

func (l pgxLink) query(ctx context.Context, sql string, args ...any) (rows, error) {
	r, err := l.db.Query(ctx, sql, args...)
	return pgxRows{r, l.styled()}, err
}

func (l pgxLink) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := l.db.Exec(ctx, sql, args...)
	return tag.RowsAffected(), err
}

// inTurn is one round trip. The error of the commit means that both have failed.
func (l pgxLink) inTurn(ctx context.Context, one, two query, read func(rows, error) error) error {
	var batch pgx.Batch
	batch.Queue(one.sql, one.args...)
	batch.Queue(two.sql, two.args...)
	results := l.db.SendBatch(ctx, &batch)
	_, err := results.Exec()
	if err == nil {
		r, failed := results.Query()
		err = read(pgxRows{r, l.styled()}, failed)
	}
	if closed := results.Close(); err == nil {
		err = closed
	}
	return err
}

func (l pgxLink) savepoint(ctx context.Context, f func(link) error) error {
	return pgx.BeginFunc(ctx, l.db, func(tx pgx.Tx) error { return f(pgxLink{tx, l.conn}) })
}

// styled reports whether DateStyle has another value than ISO, which pgx can't read as text.
func (l pgxLink) styled() bool {
	return l.conn != nil && !strings.HasPrefix(l.conn.PgConn().ParameterStatus("DateStyle"), "ISO")
}

type pgxRows struct {
	pgx.Rows
	styled bool
}

func (r pgxRows) Scan(dest ...any) error {
	if values := r.RawValues(); len(values) > 0 && values[0] == nil {
		return errRefused
	}
	if r.styled {
		readSent(dest)
	}
	return r.Rows.Scan(dest...)
}
