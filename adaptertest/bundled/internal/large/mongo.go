package large

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func openMongo(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Find(ctx, stores.KindMongo)
	if err != nil {
		return nil, err
	}
	client, err := mgo.Connect(options.Client().ApplyURI(server.URL).SetWriteConcern(writeconcern.Majority()))
	if err != nil {
		return nil, err
	}
	db := client.Database("gatehouse_" + strings.ToLower(rand.Text()))
	a, err := mongo.New(db)
	if err != nil {
		return nil, err
	}
	if err := a.EnsureIndexes(ctx); err != nil {
		return nil, err
	}
	s := &Store{Name: "mongo", Server: server.Name + " " + server.Version, Adapter: a, Hand: mongotest.NewBaseline(db),
		close: []func(context.Context) error{db.Drop, client.Disconnect}}
	s.AddUsers = func(ctx context.Context, r *Records, from, to int) error {
		return inBatches(from, to, func(from, to int) error {
			var users, sessions []any
			for n := from; n < to; n++ {
				id, err := bson.ObjectIDFromHex(r.id(n))
				if err != nil {
					return err
				}
				users = append(users, bson.D{{Key: "_id", Value: id}, {Key: "email", Value: r.email(n)}, {Key: "name", Value: "Somebody Else"}, {Key: "emailVerified", Value: nil}})
				sessions = append(sessions, mongoSession(id, r.token(n), r.expires(n)))
			}
			_, err := db.Collection("users").InsertMany(ctx, users)
			if err != nil {
				return err
			}
			_, err = db.Collection("sessions").InsertMany(ctx, sessions)
			return err
		})
	}
	s.AddSessions = func(ctx context.Context, r *Records, userID string, n int) error {
		id, err := bson.ObjectIDFromHex(userID)
		if err != nil {
			return err
		}
		return inBatches(0, n, func(from, to int) error {
			var all []any
			for n := from; n < to; n++ {
				all = append(all, mongoSession(id, "many-"+r.token(n), r.Start.Add(30*day)))
			}
			_, err := db.Collection("sessions").InsertMany(ctx, all)
			return err
		})
	}
	s.Size = func(ctx context.Context) (int64, error) {
		var said struct {
			Total float64 `bson:"totalSize"`
		}
		err := errors.Join(
			client.Database("admin").RunCommand(ctx, bson.D{{Key: "fsync", Value: 1}}).Err(),
			db.RunCommand(ctx, bson.D{{Key: "dbStats", Value: 1}}).Decode(&said))
		return int64(said.Total), err
	}
	return s, nil
}

func mongoSession(userID bson.ObjectID, token string, expires time.Time) bson.D {
	return bson.D{{Key: "userId", Value: userID}, {Key: "sessionToken", Value: token}, {Key: "expires", Value: expires}}
}
