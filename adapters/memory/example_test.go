package memory_test

import (
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	ctx := context.Background()
	a := memory.New()

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

	swept, err := a.DeleteExpired(ctx, expires)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("sessions removed:", swept.Sessions)
	// Output:
	// Ada 2030-01-01
	// sessions removed: 1
}
