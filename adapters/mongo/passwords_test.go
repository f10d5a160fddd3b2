package mongo_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adapters/mongo/mongotest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// callPasswords calls the methods of adapter.Passwords.
func callPasswords(t *testing.T, a *mongo.Adapter) {
	t.Helper()
	ctx := t.Context()
	_, has := adapter.Capability[adapter.Passwords](a)
	require.True(t, has, "the adapter says that it has no passwords")
	user := must(a.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "H "}))(t)
	again, err := a.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "h"})
	refused(again, err)(t, "an address twice", adapter.ErrConflict)
	one, two := adapter.Password{UserID: user.ID, Hash: "H "}, adapter.Password{UserID: user.ID, Hash: "h🗝", State: `{"a": 1}`}
	same(t, "GetPassword", must(a.GetPassword(ctx, user.ID))(t), one)
	for _, from := range []adapter.Password{{Hash: "h "}, {Hash: "H"}, {Hash: "H ", State: " "}, {}, {Hash: "\xff"}} {
		from.UserID = user.ID
		require.Nil(t, must(a.SwapPassword(ctx, from, two))(t), "SwapPassword from another")
	}
	same(t, "SwapPassword to the same", must(a.SwapPassword(ctx, one, one))(t), one)
	same(t, "SwapPassword", must(a.SwapPassword(ctx, one, two))(t), two)
	for _, to := range []adapter.Password{one, one, {UserID: user.ID, Hash: strings.Repeat("🗝", 500), State: strings.Repeat("🗝", 8000)}} {
		same(t, "SetPassword", must(a.SetPassword(ctx, to))(t), to)
		same(t, "GetPassword", must(a.GetPassword(ctx, user.ID))(t), to)
	}
	for _, wrong := range []adapter.Password{{}, {Hash: strings.Repeat("x", 2001)}, {Hash: "h", State: strings.Repeat("x", 32001)}} {
		wrong.UserID = user.ID
		got, err := a.SetPassword(ctx, wrong)
		assert.Truef(t, got == nil && err != nil, "a wrong record: got %v, %v", got, err)
	}
	for _, nobody := range []string{"", "nobody", strings.ToUpper(user.ID), bson.NewObjectID().Hex()} {
		got, err := a.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"})
		refused(got, err)(t, "SetPassword of nobody", adapter.ErrNotFound)
		require.Nil(t, must(a.DeletePassword(ctx, nobody, true))(t), "DeletePassword of nobody")
	}
	refused(a.DeletePassword(ctx, user.ID, true))(t, "the last way in", adapter.ErrLastCredential)
	must(a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: user.ID}))(t)
	assert.NotNil(t, must(a.DeletePassword(ctx, user.ID, true))(t),
		"the password of a user with an account was not deleted")
	must(a.SetPassword(ctx, one))(t)
	must(a.DeleteUser(ctx, user.ID))(t)
	require.Nil(t, must(a.GetPassword(ctx, user.ID))(t), "GetPassword after DeleteUser")
}

func TestPasswords(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		a, db := s.newStore(t)
		callPasswords(t, a)
		ctx := t.Context()
		n := must(db.Collection("passwords").CountDocuments(ctx, bson.D{}))(t)
		assert.Truef(t, n == 0, "%d passwords are left of refused and deleted users", n)
		// An operator brings a hash and no state.
		user := must(a.CreateUser(ctx, adapter.User{}))(t)
		id := must(bson.ObjectIDFromHex(user.ID))(t)
		must(db.Collection("passwords").InsertOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "userId", Value: id}, {Key: "hash", Value: "h"}}))(t)
		brought := adapter.Password{UserID: user.ID, Hash: "h"}
		same(t, "GetPassword", must(a.GetPassword(ctx, user.ID))(t), brought)
		same(t, "SwapPassword", must(a.SwapPassword(ctx, brought, brought))(t), brought)
	})
}

// TestPasswordOfADeletedUser: what a call stores while another one deletes the user, or what
// a program that knows no passwords leaves, no lookup finds.
func TestPasswordOfADeletedUser(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	for range 30 {
		user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
		var wg sync.WaitGroup
		wg.Go(func() { must(a.DeleteUser(ctx, user.ID))(t) })
		wg.Go(func() {
			_, err := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "i"})
			assert.Truef(t, err == nil || errors.Is(err, adapter.ErrNotFound), "%v", err)
		})
		wg.Wait()
	}
	n := must(db.Collection("passwords").CountDocuments(ctx, bson.D{}))(t)
	assert.Truef(t, n == 0, "%d passwords of deleted users are left", n)
	user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
	must(db.Collection("users").DeleteMany(ctx, bson.D{}))(t)
	require.Nil(t, must(a.GetPassword(ctx, user.ID))(t), "GetPassword without a user")
}

// TestPasswordsOfSites: among collections of others the adapter has no passwords until their
// collection is there, and EnsureIndexes does not make it. One of the application with the
// name is left alone.
func TestPasswordsOfSites(t *testing.T) {
	own := mongo.Collections{Users: "members", Passwords: "secrets"}
	for name, names := range map[string]mongo.Collections{"Prisma": mongo.Prisma(), "other names": own, "the defaults": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			db := standalone.connect(t).Database(standalone.newDatabase(t))
			collection := "passwords"
			var with []mongo.Option
			switch name {
			case "Prisma":
				require.NoError(t, mongotest.MakePrisma(ctx, db, ""))
				with = append(with, mongo.WithCollections(names))
			case "other names":
				collection = "secrets"
				with = append(with, mongo.WithCollections(names))
			}
			lacks := func(what, reason string) {
				t.Helper()
				a := newAdapter(t, db, with...)
				require.NoError(t, errors.Join(a.EnsureIndexes(ctx), a.CheckIndexes(ctx)), what)
				_, has := adapter.Capability[adapter.Passwords](a)
				assert.Falsef(t, has, "%s: the adapter says that it has passwords", what)
				user := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "a@example.com"}, adapter.Account{Provider: "p", ProviderAccountID: "1"},
					&adapter.Authenticator{CredentialID: "c"}))(t)
				_, err1 := a.GetPassword(ctx, user.ID)
				_, err2 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
				_, err3 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
				_, err4 := a.DeletePassword(ctx, user.ID, false)
				_, err5 := a.CreateUserWithPassword(ctx, adapter.User{Email: "bob@example.com"}, adapter.Password{Hash: "h"})
				for i, err := range []error{err1, err2, err3, err4, err5} {
					assert.Truef(t, errors.Is(err, adapter.ErrUnsupported) && strings.Contains(err.Error(), reason),
						"%s, call %d: got %v, want ErrUnsupported and %q", what, i+1, err, reason)
				}
				must(a.DeleteAuthenticator(ctx, user.ID, "c", true))(t)
				must(a.DeleteUser(ctx, user.ID))(t)
			}
			if len(with) > 0 {
				lacks("without the collection", "IndexChanges")
				assert.True(t, len(must(db.ListCollectionNames(ctx, bson.D{{Key: "name", Value: collection}}))(t)) <= 0,
					"the adapter has made the collection")
			}
			must(db.Collection(collection).InsertOne(ctx, bson.M{"user": "ada", "bcrypt": "…"}))(t)
			lacks("a collection of the application", "another kind")
			require.NoError(t, db.Collection(collection).Drop(ctx))
			require.NoError(t, mongotest.ApplyIndexChanges(ctx, db, newAdapter(t, db, with...)))
			a := newAdapter(t, db, with...)
			_, has := adapter.Capability[adapter.Passwords](a)
			assert.NotEqual(t, len(with) > 0, has, "before the first call the adapter says of passwords")
			require.NoError(t, errors.Join(a.EnsureIndexes(ctx), a.CheckIndexes(ctx)))
			callPasswords(t, a)
			assert.Empty(t, must(a.IndexChanges(ctx))(t), "left to do")
		})
	}
}

// TestRoundTripsOfPasswords: the numbers of the README.
func TestRoundTripsOfPasswords(t *testing.T) {
	for name, of := range map[string]struct {
		server server
		create int64
	}{"standalone": {standalone, 2}, "replica set": {replicaSet, 3}} {
		t.Run(name, func(t *testing.T) {
			_, db := of.server.newStore(t)
			a, ctx := of.server.env(t).Handle(t, db.Name(), 1), t.Context()
			must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t) // checks the database
			before := a.Proxy.Steps()
			trips := func(what string, want int64) {
				t.Helper()
				after := a.Proxy.Steps()
				n := after - before
				assert.Equalf(t, want, n, "%s takes %d round trips, want %d", what, n, want)
				before = after
			}
			user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
			trips("CreateUserWithPassword", of.create)
			must(a.GetPassword(ctx, user.ID))(t)
			trips("GetPassword", 1)
			p := must(a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "i"}))(t)
			trips("SetPassword", 2)
			must(a.SwapPassword(ctx, *p, adapter.Password{Hash: "j"}))(t)
			trips("SwapPassword", 1)
			must(a.DeletePassword(ctx, user.ID, false))(t)
			trips("DeletePassword", 1)
			must(a.SetPassword(ctx, *p))(t)
			must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "c"}))(t)
			before = a.Proxy.Steps()
			must(a.DeletePassword(ctx, user.ID, true))(t)
			trips("DeletePassword with keepOne", 5)
		})
	}
}
