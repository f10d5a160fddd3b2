package large

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func openPostgres(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Find(ctx, stores.KindPostgres)
	if err != nil {
		return nil, err
	}
	env, err := postgrestest.Open(ctx, postgrestest.Settings{URL: server.URL})
	if err != nil {
		return nil, err
	}
	pool := env.Admin
	a, err := postgres.New(pool)
	if err != nil {
		return nil, err
	}
	s := &Store{Name: "postgres", Server: env.Version, Adapter: a, Hand: postgrestest.NewBaseline(pool, ""), close: []func(context.Context) error{env.Close}}
	columns := []string{"sessionToken", "userId", "expires"}
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		count := to - from
		_, err := pool.CopyFrom(ctx, pgx.Identifier{"users"}, []string{"id", "name", "email"}, pgx.CopyFromSlice(count, func(i int) ([]any, error) {
			return []any{r.id(from + i), "Somebody Else", r.email(from + i)}, nil
		}))
		if err != nil {
			return err
		}
		_, err = pool.CopyFrom(ctx, pgx.Identifier{"sessions"}, columns, pgx.CopyFromSlice(count, func(i int) ([]any, error) {
			return []any{r.token(from + i), r.id(from + i), r.expires(from + i)}, nil
		}))
		if err != nil {
			return err
		}
		_, err = pool.Exec(ctx, `ANALYZE users, sessions`)
		return err
	}
	s.AddSessions = func(ctx context.Context, r *Records, userID string, n int) error {
		_, err := pool.CopyFrom(ctx, pgx.Identifier{"sessions"}, columns, pgx.CopyFromSlice(n, func(i int) ([]any, error) {
			return []any{"many-" + r.token(i), userID, r.Start.Add(30 * day)}, nil
		}))
		return err
	}
	s.Size = func(ctx context.Context) (n int64, err error) {
		err = pool.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&n)
		return n, err
	}
	return s, nil
}
