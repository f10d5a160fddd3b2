package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "gatehouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	db, err := modernc.Open(filepath.Join(dir, "auth.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	a, err := sqlite.New(db, sqlite.WithPrefix("auth_"))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}

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

// An adapter over a transaction writes together with the application: both or
// neither.
func ExampleNew_transaction() {
	dir, err := os.MkdirTemp("", "gatehouse")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	ctx := context.Background()
	db, err := modernc.Open(filepath.Join(dir, "auth.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()

	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	a, err := sqlite.New(tx)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.CreateUser(ctx, adapter.User{ID: "1", Email: "ada@example.com"}); err != nil {
		fmt.Println(err)
		return
	}
	// A refused call leaves the transaction usable.
	_, err = a.CreateUser(ctx, adapter.User{ID: "2", Email: "ada@example.com"})
	fmt.Println("conflict:", errors.Is(err, adapter.ErrConflict))
	fmt.Println("commit:", tx.Commit())
	// Output:
	// conflict: true
	// commit: <nil>
}
