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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
	must(on(t, env.Admin).CreateUser(ctx, adapter.User{ID: "ada"}))(t)
	for i := range 450 {
		sessions = append(sessions, fmt.Sprintf("('s%d', 'ada', '%s')", i, at(i-449)))
	}
	const insert = "INSERT INTO session (sessionToken, userId, expires) VALUES "
	must(env.Admin.ExecContext(ctx, insert+strings.Join(sessions, ", ")))(t)
	tx := must(env.Admin.BeginTx(ctx, nil))(t)
	defer func() { _ = tx.Rollback() }()
	r := &recorder{Tx: tx}
	swept, err := on(t, r).DeleteExpired(ctx, now)
	require.Truef(t, err == nil && swept.Sessions == 450, "got %+v, %v, want 450 sessions", swept, err)
	var begins []string
	for _, query := range r.queries {
		if _, after, found := strings.Cut(query, "s.expires >= '"); found {
			begins = append(begins, after[:len(time.DateTime)])
		}
	}
	want := []string{at(-250), at(-50)}
	assert.Truef(t, slices.Equal(begins, want), "the batches after the first begin at %q, want %q", begins, want)
}

// TestPausesOnAConnection: on a connection too, a large deletion consists of batches with a pause after each. In the
// caller's transaction there is none: nobody else could write meanwhile.
func TestPausesOnAConnection(t *testing.T) {
	t.Parallel()
	env := open(t, mysqltest.Settings{})
	ctx := t.Context()
	n, db := nodeOf(t, env)
	n.alone = true
	conn := must(db.Conn(ctx))(t)
	defer func() { _ = conn.Close() }()
	a := on(t, conn)
	require.NoError(t, a.CheckSchema(ctx))
	for _, inTransaction := range []bool{false, true} {
		var sessions []string
		for i := range 450 {
			sessions = append(sessions, fmt.Sprintf("('s%d', 'ada', '2031-01-01')", i))
		}
		statement(t, env.Admin, "INSERT INTO `user` (id) VALUES ('ada')")
		statement(t, env.Admin, "INSERT INTO session (sessionToken, userId, expires) VALUES "+strings.Join(sessions, ", "))
		if inTransaction {
			statement(t, conn, "START TRANSACTION")
		}
		n.execs = nil
		require.NotNil(t, must(a.DeleteUser(ctx, "ada"))(t))
		var batches, pauses int
		for i, s := range n.execs {
			batch := strings.HasPrefix(s.query, "DELETE FROM `session`")
			if batch {
				batches++
			}
			if batch && i+2 < len(n.execs) && n.execs[i+2].began.Sub(n.execs[i+1].ended) > s.ended.Sub(s.began) {
				pauses++
			}
		}
		if want := !inTransaction; (batches == 3) != want || (pauses >= 2) != want {
			t.Errorf("in a transaction %v: %d batches, %d pauses", inTransaction, batches, pauses)
		}
		if inTransaction {
			statement(t, conn, "COMMIT")
		}
	}
}
