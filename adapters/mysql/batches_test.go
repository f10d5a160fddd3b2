package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// recorder keeps the statements that return rows.
type recorder struct {
	*sql.Tx
	queries []string
}

func (r *recorder) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	r.queries = append(r.queries, query)
	return r.Tx.QueryContext(ctx, query, args...)
}

// TestSweepGoesOn: a batch of a sweep begins at the last expiry of the batch before, so that it
// does not pass over what was deleted, which the index may keep for long.
func TestSweepGoesOn(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx, now := t.Context(), time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(minutes int) string { return now.Add(time.Duration(minutes) * time.Minute).Format(time.DateTime) }
	var sessions []string
	if _, err := on(t, env.Admin).CreateUser(ctx, adapter.User{ID: "ada"}); err != nil {
		t.Fatal(err)
	}
	for i := range 450 {
		sessions = append(sessions, fmt.Sprintf("('s%d', 'ada', '%s')", i, at(i-449)))
	}
	const insert = "INSERT INTO session (sessionToken, userId, expires) VALUES "
	if _, err := env.Admin.ExecContext(ctx, insert+strings.Join(sessions, ", ")); err != nil {
		t.Fatal(err)
	}
	tx, err := env.Admin.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	r := &recorder{Tx: tx}
	swept, err := on(t, r).DeleteExpired(ctx, now)
	if err != nil || swept.Sessions != 450 {
		t.Fatalf("got %+v, %v, want 450 sessions", swept, err)
	}
	var begins []string
	for _, query := range r.queries {
		if _, after, found := strings.Cut(query, "s.expires >= '"); found {
			begins = append(begins, after[:len(time.DateTime)])
		}
	}
	want := []string{at(-250), at(-50)}
	if !slices.Equal(begins, want) {
		t.Errorf("the batches after the first begin at %q, want %q", begins, want)
	}
}
