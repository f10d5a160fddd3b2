package redis_test

import (
	"context"
	"fmt"
	"os"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	ctx := context.Background()
	options, err := goredis.ParseURL(os.Getenv("GATEHOUSE_REDIS_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	options.ContextTimeoutEnabled = true // otherwise calls ignore the deadlines of their contexts
	client := goredis.NewClient(options)
	defer func() { _ = client.Close() }()
	a, err := redis.New(client, redis.WithPrefix(fmt.Sprint("example-", time.Now().UnixNano())))
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _, _ = a.DeleteUser(ctx, user.ID) }()
	expires := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
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
	// Ada 2100-01-01
}
