package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("GATEHOUSE_POSTGRES_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	schema := fmt.Sprint("example_", time.Now().UnixNano())
	a, err := postgres.New(pool, postgres.WithSchema(schema))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = pool.Exec(ctx, `DROP SCHEMA `+schema+` CASCADE`) }()

	user, err := a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	expires := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := a.CreateSession(ctx, adapter.Session{SessionToken: "secret", UserID: user.ID, Expires: expires}); err != nil {
		fmt.Println(err)
		return
	}
	found, err := a.GetSessionAndUser(ctx, "secret")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(*found.User.Name, found.Session.Expires.Format(time.DateOnly))
	// Output:
	// Ada 2030-01-01
}

// The site holds PostgreSQL by database/sql. The user is stored if the transaction commits.
func ExampleNewSQL() {
	ctx := context.Background()
	db, err := sql.Open("pgx", os.Getenv("GATEHOUSE_POSTGRES_URL")) // or "postgres", the driver of lib/pq
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	schema := fmt.Sprint("example_sql_", time.Now().UnixNano())
	a, err := postgres.NewSQL(db, postgres.WithSchema(schema))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = db.ExecContext(ctx, `DROP SCHEMA `+schema+` CASCADE`) }()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tx.Rollback() }() // nothing after the commit
	if _, err := a.OnSQL(tx).CreateUser(ctx, adapter.User{Email: "ada@example.com"}); err != nil {
		fmt.Println(err)
		return
	}
	if err := tx.Commit(); err != nil {
		fmt.Println(err)
		return
	}
	user, err := a.GetUserByEmail(ctx, "ada@example.com")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(user.Email)
	// Output:
	// ada@example.com
}

// The user and the application's record of the user are stored together or
// not at all.
func ExampleAdapter_On() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("GATEHOUSE_POSTGRES_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pool.Close()
	schema := fmt.Sprint("example_on_", time.Now().UnixNano())
	a, err := postgres.New(pool, postgres.WithSchema(schema))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = pool.Exec(ctx, `DROP SCHEMA `+schema+` CASCADE`) }()

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := a.On(tx).CreateUser(ctx, adapter.User{Email: "ada@example.com"}); err != nil {
			return err
		}
		return errors.New("no room for another customer")
	})
	fmt.Println(err)
	user, err := a.GetUserByEmail(ctx, "ada@example.com")
	fmt.Println(user, err)
	// Output:
	// no room for another customer
	// <nil> <nil>
}
