package large

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/adapters/postgres/postgrestest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openPostgres(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Postgres(ctx)
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
	s := &Store{Name: "postgres", Server: env.Version, Adapter: a, Hand: postgresHand{pool}, close: []func(context.Context) error{env.Close}}
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

// postgresHand uses one statement for each method.
type postgresHand struct{ pool *pgxpool.Pool }

func (h postgresHand) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r := &adapter.SessionAndUser{Session: adapter.Session{SessionToken: token}}
	u := &r.User
	err := h.pool.QueryRow(ctx, `SELECT s."userId", s.expires, u.id, u.name, u.email, u."emailVerified", u.image
		FROM sessions s JOIN users u ON u.id = s."userId" WHERE s."sessionToken" = $1`, token).
		Scan(&r.Session.UserID, &r.Session.Expires, &u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image)
	return orAbsent(r, err, pgx.ErrNoRows)
}

func (h postgresHand) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	u := new(adapter.User)
	err := h.pool.QueryRow(ctx, `SELECT id, name, email, "emailVerified", image FROM users WHERE email = $1`, email).
		Scan(&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image)
	return orAbsent(u, err, pgx.ErrNoRows)
}

func (h postgresHand) CreateSession(ctx context.Context, s adapter.Session) error {
	return h.pool.QueryRow(ctx, `INSERT INTO sessions ("sessionToken", "userId", expires) VALUES ($1, $2, $3) RETURNING "sessionToken", "userId", expires`,
		s.SessionToken, s.UserID, s.Expires).Scan(&s.SessionToken, &s.UserID, &s.Expires)
}

func (h postgresHand) UpdateUser(ctx context.Context, id, name string) error {
	u := new(adapter.User)
	return h.pool.QueryRow(ctx, `UPDATE users SET name = $2 WHERE id = $1 RETURNING id, name, email, "emailVerified", image`, id, name).
		Scan(&u.ID, &u.Name, &u.Email, &u.EmailVerified, &u.Image)
}

func (h postgresHand) DeleteExpired(ctx context.Context, now time.Time) error {
	_, err := h.pool.Exec(ctx, `DELETE FROM sessions WHERE expires <= $1`, now)
	return err
}
