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
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openMongo(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Mongo(ctx)
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
	s := &Store{Name: "mongo", Server: server.Name + " " + server.Version, Adapter: a, Hand: mongoHand{db.Collection("users"), db.Collection("sessions")},
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

// mongoHand uses one command for each method.
type mongoHand struct{ users, sessions *mgo.Collection }

type mongoUser struct {
	ID            bson.ObjectID `bson:"_id"`
	Name          *string       `bson:"name"`
	Email         string        `bson:"email"`
	EmailVerified *time.Time    `bson:"emailVerified"`
	Image         *string       `bson:"image"`
}

func (u mongoUser) user() *adapter.User {
	return &adapter.User{ID: u.ID.Hex(), Name: u.Name, Email: u.Email, EmailVerified: u.EmailVerified, Image: u.Image}
}

func (h mongoHand) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	cursor, err := h.sessions.Aggregate(ctx, mgo.Pipeline{
		{{Key: "$match", Value: bson.D{{Key: "sessionToken", Value: token}}}},
		{{Key: "$lookup", Value: bson.D{{Key: "from", Value: "users"}, {Key: "localField", Value: "userId"}, {Key: "foreignField", Value: "_id"}, {Key: "as", Value: "users"}}}},
	})
	if err != nil {
		return nil, err
	}
	var found []struct {
		Token   string        `bson:"sessionToken"`
		UserID  bson.ObjectID `bson:"userId"`
		Expires time.Time     `bson:"expires"`
		Users   []mongoUser   `bson:"users"`
	}
	if err := cursor.All(ctx, &found); err != nil || len(found) == 0 || len(found[0].Users) == 0 {
		return nil, err
	}
	s := found[0]
	return &adapter.SessionAndUser{Session: adapter.Session{SessionToken: s.Token, UserID: s.UserID.Hex(), Expires: s.Expires}, User: *s.Users[0].user()}, nil
}

func (h mongoHand) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	var u mongoUser
	err := h.users.FindOne(ctx, bson.D{{Key: "email", Value: email}}).Decode(&u)
	return orAbsent(u.user(), err, mgo.ErrNoDocuments)
}

// CreateSession looks for the owner first, because MongoDB has no foreign keys.
func (h mongoHand) CreateSession(ctx context.Context, s adapter.Session) error {
	id, err := bson.ObjectIDFromHex(s.UserID)
	if err != nil {
		return err
	}
	if err := h.users.FindOne(ctx, bson.D{{Key: "_id", Value: id}}, options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})).Err(); err != nil {
		return err
	}
	_, err = h.sessions.InsertOne(ctx, mongoSession(id, s.SessionToken, s.Expires))
	return err
}

func (h mongoHand) UpdateUser(ctx context.Context, id, name string) error {
	oid, err := bson.ObjectIDFromHex(id)
	if err != nil {
		return err
	}
	change := bson.D{{Key: "$set", Value: bson.D{{Key: "name", Value: name}}}}
	var u mongoUser
	return h.users.FindOneAndUpdate(ctx, bson.D{{Key: "_id", Value: oid}}, change, options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&u)
}

func (h mongoHand) DeleteExpired(ctx context.Context, now time.Time) error {
	_, err := h.sessions.DeleteMany(ctx, bson.D{{Key: "expires", Value: bson.D{{Key: "$lte", Value: now}}}})
	return err
}
