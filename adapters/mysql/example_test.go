package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/mysql"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	ctx := context.Background()
	user, addr, _ := strings.Cut(strings.Trim(strings.TrimPrefix(os.Getenv("GATEHOUSE_MARIADB_URL"), "mysql:"), "/"), "@")
	db, err := sql.Open("mysql", user+"@tcp("+addr+")/information_schema")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the example changes the database of its one connection
	name := fmt.Sprint("example_", time.Now().UnixNano())
	for _, statement := range []string{"CREATE DATABASE " + name, "USE " + name} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			fmt.Println(err)
			return
		}
	}
	defer func() { _, _ = db.ExecContext(ctx, "DROP DATABASE "+name) }()

	a, err := mysql.New(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureSchema(ctx); err != nil {
		fmt.Println(err)
		return
	}
	ada, err := a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	expires := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	if _, err := a.CreateSession(ctx, adapter.Session{SessionToken: "secret", UserID: ada.ID,
		Expires: expires}); err != nil {
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
