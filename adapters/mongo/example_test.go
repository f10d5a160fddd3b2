package mongo_test

import (
	"context"
	"fmt"
	"os"
	"time"

	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func ExampleNew() {
	ctx := context.Background()
	client, err := mgo.Connect(options.Client().ApplyURI(os.Getenv("GATEHOUSE_MONGO_URL")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Disconnect(ctx) }()
	db := client.Database(fmt.Sprint("example_", time.Now().UnixNano()))
	defer func() { _ = db.Drop(ctx) }()

	a, err := mongo.New(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := a.EnsureIndexes(ctx); err != nil {
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

// The collections belong to a Next.js application, which has other
// collections in the same database.
func ExampleWithCollections() {
	ctx := context.Background()
	client, err := mgo.Connect(options.Client().ApplyURI(os.Getenv("GATEHOUSE_MONGO_URL")))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Disconnect(ctx) }()
	db := client.Database(fmt.Sprint("example_names_", time.Now().UnixNano()))
	defer func() { _ = db.Drop(ctx) }()

	a, err := mongo.New(db, mongo.WithCollections(mongo.Collections{Users: "members"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.CreateUser(ctx, adapter.User{Email: "ada@example.com"}); err != nil {
		fmt.Println(err)
		return
	}
	n, err := db.Collection("members").EstimatedDocumentCount(ctx)
	fmt.Println(n, err)
	// Output:
	// 1 <nil>
}
