package mutants

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var errNoRows = fmt.Errorf("lite: %w", sql.ErrNoRows)

// lite is a correct adapter over SQLite: adapters/sqlite, over a database/sql
// driver that injects faults.
type lite struct {
	*sqlite.Adapter
	db     *sql.DB
	faults *fault.Driver
	path   string
	late   *sync.WaitGroup // what a broken adapter does after Close
}

// openLite opens the database file at path, through a handle if it is not nil.
func openLite(t testing.TB, path string, through func(sqlite.DB) sqlite.DB) *lite {
	t.Helper()
	plain, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	connector, err := fault.Connector(plain.Driver(), "file:"+path+
		"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)&_pragma=foreign_keys(1)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	l := &lite{faults: fault.NewDriver(connector), path: path, late: new(sync.WaitGroup)}
	l.db = sql.OpenDB(l.faults)
	l.db.SetMaxOpenConns(4)
	l.db.SetMaxIdleConns(4)
	t.Cleanup(l.late.Wait)
	t.Cleanup(func() { l.db.Close() })
	var handle sqlite.DB = l.db
	if through != nil {
		handle = through(l.db)
	}
	if l.Adapter, err = sqlite.New(handle); err != nil {
		t.Fatal(err)
	}
	if err := l.EnsureSchema(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return l
}

// exec runs a statement.
func (l *lite) exec(ctx context.Context, query string, args ...any) error {
	_, err := l.db.ExecContext(ctx, query, args...)
	return err
}

// affected runs a statement and returns how many rows it affected.
func (l *lite) affected(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := l.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// exists reports whether a query yields a row.
func (l *lite) exists(ctx context.Context, query string, args ...any) (found bool, err error) {
	err = l.db.QueryRowContext(ctx, "SELECT EXISTS ("+query+")", args...).Scan(&found)
	return found, err
}

// column returns the texts of a query's first column.
func (l *lite) column(ctx context.Context, query string, args ...any) (texts []string, err error) {
	rows, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		texts = append(texts, "")
		if err := rows.Scan(&texts[len(texts)-1]); err != nil {
			return nil, err
		}
	}
	return texts, rows.Err()
}

// where returns the table of a record and the condition that finds it.
func where(r adaptertest.Record) (table, condition string, args []any) {
	switch r.Kind {
	case adaptertest.UserRecord:
		return `"user"`, `id = ?`, []any{r.Key}
	case adaptertest.AccountRecord:
		return `"account"`, `provider = ? AND providerAccountId = ?`, []any{r.Account.Provider, r.Account.ProviderAccountID}
	case adaptertest.SessionRecord:
		return `"session"`, `sessionToken = ?`, []any{r.Key}
	case adaptertest.VerificationTokenRecord:
		return `"verificationToken"`, `identifier = ? AND token = ?`, []any{r.Token.Identifier, r.Token.Token}
	default:
		return `"authenticator"`, `credentialID = ?`, []any{r.Key}
	}
}

// corrupt overwrites an instant or a JSON text of the record with nonsense.
func (l *lite) corrupt(t testing.TB, r adaptertest.Record) func() {
	column, nonsense := "expires", any(int64(1)<<62)
	switch r.Kind {
	case adaptertest.UserRecord:
		column = "emailVerified"
	case adaptertest.AccountRecord:
		column, nonsense = "authorization_details", "[{"
	case adaptertest.AuthenticatorRecord:
		return nil
	}
	table, condition, args := where(r)
	var was any
	if err := l.db.QueryRow(fmt.Sprintf("SELECT %s FROM %s WHERE %s", column, table, condition), args...).Scan(&was); err != nil {
		t.Fatal(err)
	}
	set := func(value any) {
		query := fmt.Sprintf("UPDATE %s SET %s = ? WHERE %s", table, column, condition)
		if err := l.exec(context.Background(), query, append([]any{value}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	set(nonsense)
	return func() { set(was) }
}

// alteredDB stands between lite and its database and alters the statements.
type alteredDB struct {
	sqlite.DB
	query func(query string, args []any) (string, []any)
	ctx   func(context.Context) context.Context
}

func (a alteredDB) alter(ctx context.Context, query string, args []any) (context.Context, string, []any) {
	if a.query != nil {
		query, args = a.query(oneLine(query), args)
	}
	if a.ctx != nil {
		ctx = a.ctx(ctx)
	}
	return ctx, query, args
}

func (a alteredDB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, query, args = a.alter(ctx, query, args)
	return a.DB.ExecContext(ctx, query, args...)
}

func (a alteredDB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, query, args = a.alter(ctx, query, args)
	return a.DB.QueryContext(ctx, query, args...)
}

// oneLine removes the comments and line breaks from a statement, so that it can
// be compared.
func oneLine(query string) string {
	var lines []string
	for line := range strings.Lines(query) {
		line, _, _ = strings.Cut(line, "--")
		lines = append(lines, strings.Fields(line)...)
	}
	return strings.Join(lines, " ")
}

// replaced replaces parts of statements: pairs of old and new text.
func replaced(pairs ...string) func(sqlite.DB) sqlite.DB {
	replacer := strings.NewReplacer(pairs...)
	return func(db sqlite.DB) sqlite.DB {
		return alteredDB{DB: db, query: func(query string, args []any) (string, []any) { return replacer.Replace(query), args }}
	}
}

// boundTo alters the arguments of the statements that contain a text.
func boundTo(text string, change func(args []any)) func(sqlite.DB) sqlite.DB {
	return func(db sqlite.DB) sqlite.DB {
		return alteredDB{DB: db, query: func(query string, args []any) (string, []any) {
			if strings.Contains(query, text) {
				change(args)
			}
			return query, args
		}}
	}
}

// cut shortens a text argument.
func cut(arg any, length int) any {
	switch v := arg.(type) {
	case string:
		return v[:min(len(v), length)]
	case sql.Null[string]:
		v.V = v.V[:min(len(v.V), length)]
		return v
	default:
		return arg
	}
}

// sharedMaps has a map for each database file.
var sharedMaps sync.Map

func (l *lite) common() *sync.Map {
	shared, _ := sharedMaps.LoadOrStore(l.path, new(sync.Map))
	return shared.(*sync.Map)
}

func (l *lite) now() time.Time { return time.Now() }

func (l *lite) due(ctx context.Context, now time.Time) (due adapter.Swept, err error) {
	err = l.db.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM "session" WHERE expires <= ?1), (SELECT count(*) FROM "verificationToken" WHERE expires <= ?1)`,
		now.UnixMilli()).Scan(&due.Sessions, &due.VerificationTokens)
	return due, err
}

func (l *lite) peek(ctx context.Context, key adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	found, err := l.column(ctx, `SELECT expires FROM "verificationToken" WHERE identifier = ? AND token = ?`, key.Identifier, key.Token)
	if len(found) == 0 || err != nil {
		return nil, err
	}
	var ms int64
	if _, err := fmt.Sscan(found[0], &ms); err != nil {
		return nil, err
	}
	return &adapter.VerificationToken{Identifier: key.Identifier, Token: key.Token, Expires: millis(ms)}, nil
}

func millis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
