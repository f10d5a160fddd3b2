package large

import (
	"context"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/adapters/mysql/mysqltest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func openMySQL(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Find(ctx, stores.KindMariaDB)
	if err != nil {
		return nil, err
	}
	env, err := mysqltest.Open(ctx, mysqltest.Settings{URL: server.URL, Interpolate: true})
	if err != nil {
		return nil, err
	}
	s := &Store{Name: "mysql", Server: server.Name + " " + server.Version, close: []func(context.Context) error{env.Close}}
	hand, err := env.Baseline()
	if err != nil {
		return nil, err
	}
	s.Hand = hand
	s.close = append([]func(context.Context) error{func(context.Context) error { return hand.Close() }}, s.close...)
	if s.Adapter, err = mysql.New(env.Admin); err != nil {
		return nil, err
	}
	insert := func(ctx context.Context, table string, values []any) error {
		rows := strings.Repeat(", (?, ?, ?)", len(values)/3)[2:]
		_, err := env.Admin.ExecContext(ctx, "INSERT INTO "+table+" VALUES "+rows, values...)
		return err
	}
	const users, sessions = "`user` (id, name, email)", "session (sessionToken, userId, expires)"
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		err := inBatches(from, to, func(from, to int) error {
			var user, session []any
			for n := from; n < to; n++ {
				user = append(user, r.id(n), "Somebody Else", r.email(n))
				session = append(session, r.token(n), r.id(n), r.expires(n))
			}
			if err := insert(ctx, users, user); err != nil {
				return err
			}
			return insert(ctx, sessions, session)
		})
		if err == nil {
			err = analyze(ctx, env)
		}
		return err
	}
	s.AddSessions = func(ctx context.Context, r *Records, userID string, n int) error {
		expires := r.Start.Add(30 * day).UTC().Truncate(time.Second)
		return inBatches(0, n, func(from, to int) error {
			var all []any
			for n := from; n < to; n++ {
				all = append(all, "many-"+r.token(n), userID, expires)
			}
			return insert(ctx, sessions, all)
		})
	}
	s.Size = func(ctx context.Context) (n int64, err error) {
		if err = analyze(ctx, env); err != nil {
			return 0, err
		}
		err = env.Admin.QueryRowContext(ctx, "SELECT SUM(DATA_LENGTH + INDEX_LENGTH) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()").Scan(&n)
		return n, err
	}
	return s, nil
}

// analyze counts the rows, for plans and for the size. The statement returns rows.
func analyze(ctx context.Context, env *mysqltest.Env) error {
	rows, err := env.Admin.QueryContext(ctx, "ANALYZE TABLE `user`, session")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() { // a row for each table
	}
	return rows.Err()
}
