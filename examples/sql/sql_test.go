package sqlexamples_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jmoiron/sqlx"
	"github.com/lib/pq"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	gormpostgres "gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	sqlexamples "github.com/gatehouse-go/gatehouse/examples/sql"
)

// schema makes a schema that is dropped at the end of the test, and returns the URL of the
// server.
func schema(t *testing.T) (url, name string) {
	t.Helper()
	url = os.Getenv("GATEHOUSE_POSTGRES_URL")
	switch {
	case url != "":
	case os.Getenv("GATEHOUSE_SKIP_STORES") == "1":
		t.Skip("LEFT OUT: GATEHOUSE_POSTGRES_URL is not set and GATEHOUSE_SKIP_STORES=1")
	default:
		t.Fatal("GATEHOUSE_POSTGRES_URL is not set: this test needs a PostgreSQL server")
	}
	name = "gatehouse_" + strings.ToLower(rand.Text())
	run := func(ctx context.Context, statement string) {
		conn, err := pgx.Connect(ctx, url)
		if err == nil {
			_, err = conn.Exec(ctx, statement)
			err = errors.Join(err, conn.Close(ctx))
		}
		assert.NoError(t, err)
	}
	run(t.Context(), "CREATE SCHEMA "+name)
	t.Cleanup(func() { run(context.WithoutCancel(t.Context()), "DROP SCHEMA "+name+" CASCADE") })
	return url, name
}

// drivers open the database by each driver, with a schema as the search path.
var drivers = map[string]func(t *testing.T, url, schema string) *sql.DB{
	"pgx": func(t *testing.T, url, schema string) *sql.DB {
		config, err := pgx.ParseConfig(url)
		require.NoError(t, err)
		config.RuntimeParams["search_path"] = schema
		return stdlib.OpenDB(*config)
	},
	"pq": func(t *testing.T, url, schema string) *sql.DB {
		config, err := pq.NewConfig(url)
		require.NoError(t, err)
		config.SSLMode = pq.SSLModeDisable
		config.Runtime = map[string]string{"search_path": schema}
		connector, err := pq.NewConnectorConfig(config)
		require.NoError(t, err)
		return sql.OpenDB(connector)
	},
}

// libraries make a user and a profile.
var libraries = map[string]func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error{
	"GORM": func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error {
		return withGORM(ctx, db, store, email, name, false)
	},
	"GORM with PrepareStmt": func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error {
		return withGORM(ctx, db, store, email, name, true)
	},
	"ent": sqlexamples.WithEnt,
	"bun": func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error {
		return sqlexamples.WithBun(ctx, bun.NewDB(db, pgdialect.New()), store, email, name)
	},
	"sqlx": func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error {
		return sqlexamples.WithSqlx(ctx, sqlx.NewDb(db, "postgres"), store, email, name)
	},
}

func withGORM(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string, prepare bool) error {
	g, err := openGORM(db, prepare)
	if err != nil {
		return err
	}
	return sqlexamples.WithGORM(ctx, g, store, email, name)
}

func openGORM(db *sql.DB, prepare bool) (*gorm.DB, error) {
	config := &gorm.Config{PrepareStmt: prepare, Logger: logger.Discard}
	return gorm.Open(gormpostgres.New(gormpostgres.Config{Conn: db}), config)
}

// TestUserAndProfile: with each library and driver, the user and the profile are made
// together or not at all.
func TestUserAndProfile(t *testing.T) {
	for driver, open := range drivers {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			url, name := schema(t)
			db := open(t, url, name)
			t.Cleanup(func() { _ = db.Close() })
			store := newStore(t, db)
			for library, sign := range libraries {
				t.Run(library, func(t *testing.T) { together(t, db, store, strings.ReplaceAll(library, " ", ""), sign) })
			}
			t.Run("event", func(t *testing.T) { afterwards(t, db, store) })
			t.Run("handles", func(t *testing.T) { handles(t, db) })
		})
	}
}

func newStore(t *testing.T, db *sql.DB) *postgres.Adapter {
	t.Helper()
	store, err := postgres.NewSQL(db)
	if err == nil {
		err = store.EnsureSchema(t.Context())
	}
	if err == nil {
		_, err = db.ExecContext(t.Context(), sqlexamples.MakeProfiles)
	}
	require.NoError(t, err)
	return store
}

func together(t *testing.T, db *sql.DB, store *postgres.Adapter, library string,
	sign func(ctx context.Context, db *sql.DB, store *postgres.Adapter, email, name string) error) {
	ctx := t.Context()
	good, bad := "good@"+library, "bad@"+library
	require.NoError(t, sign(ctx, db, store, good, "Ada"))
	user, err := store.GetUserByEmail(ctx, good)
	require.Truef(t, err == nil && user != nil && profiles(t, db, user.ID) == 1,
		"got %v, %v, want a user with a profile", user, err)
	assert.Error(t, sign(ctx, db, store, bad, ""), "a profile without a name is accepted")
	user, err = store.GetUserByEmail(ctx, bad)
	assert.Truef(t, user == nil && err == nil, "got %v, %v, want no user without a profile", user, err)
	err = sign(ctx, db, store, good, "Eve")
	assert.ErrorIsf(t, err, adapter.ErrConflict, "a taken address: got %v, want ErrConflict", err)
}

func profiles(t *testing.T, db *sql.DB, userID string) (n int) {
	t.Helper()
	row := db.QueryRowContext(t.Context(), `SELECT count(*) FROM profiles WHERE user_id = $1`, userID)
	require.NoError(t, row.Scan(&n))
	return n
}

// afterwards calls the event twice, as after a process that has ended too early.
func afterwards(t *testing.T, db *sql.DB, store *postgres.Adapter) {
	user, err := store.CreateUser(t.Context(), adapter.User{Email: "later@example.com"})
	require.NoError(t, err)
	for range 2 {
		e := auth.SignInEvent{User: &auth.User{ID: user.ID, Email: user.Email}}
		require.NoError(t, sqlexamples.ProfileEvents(db).SignIn(t.Context(), e))
	}
	n := profiles(t, db, user.ID)
	assert.Equalf(t, 1, n, "got %d profiles, want 1", n)
}

// handles gives NewSQL what each library has, and a handle that it must refuse.
func handles(t *testing.T, db *sql.DB) {
	g, err := openGORM(db, true)
	require.NoError(t, err)
	bunDB, sqlxDB := bun.NewDB(db, pgdialect.New()), sqlx.NewDb(db, "postgres")
	for name, handle := range map[string]postgres.SQL{"bun": bunDB, "sqlx": sqlxDB, "GORM": g.ConnPool} {
		store, err := postgres.NewSQL(handle)
		if err == nil {
			err = store.EnsureSchema(t.Context()) // refuses what is no pool
		}
		assert.NoError(t, err, name)
	}
	_, err = postgres.NewSQL(struct{ postgres.SQL }{nil})
	assert.Error(t, err, "a handle of nothing is accepted")
}
