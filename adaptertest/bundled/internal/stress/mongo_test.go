package stress_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestMongoWithoutScans: on a server that refuses every query without an index (notablescan), all calls
// work, also the first one and those at start-up, and beside collections of others.
func TestMongoWithoutScans(t *testing.T) {
	t.Setenv(stores.EnvMongo, "")
	store := wiringstest.Server(t, stores.Options{Fast: true}, stores.KindMongo)
	client := must(mgo.Connect(options.Client().ApplyURI(store.URL)))(t)
	ctx := t.Context()
	t.Cleanup(func() { _ = client.Disconnect(ctx) })
	err := client.Database("admin").RunCommand(ctx, bson.D{{Key: "setParameter", Value: 1}, {Key: "notablescan", Value: true}}).Err()
	require.NoError(t, err)
	db := client.Database("app")
	_, err = db.Collection("User").InsertOne(ctx, bson.M{"phone": "1"}) // the site's own
	require.NoError(t, err)
	require.Error(t, db.Collection("User").FindOne(ctx, bson.M{"phone": "1"}).Err(),
		"the server does not refuse a query without an index")
	a, err := mongo.New(db)
	if err == nil {
		err = a.EnsureIndexes(ctx)
	}
	require.NoError(t, err)
	later := time.Now().Add(time.Hour)
	user, err := a.CreateUserWithAccount(ctx, adapter.User{Email: "ada@example.com"}, adapter.Account{Type: adapter.AccountWebAuthn, Provider: "p", ProviderAccountID: "1"},
		&adapter.Authenticator{CredentialID: "c"})
	require.NoError(t, err)
	fresh, err := mongo.New(db) // as after a restart
	require.NoError(t, err)
	key := adapter.AccountKey{Provider: "p", ProviderAccountID: "1"}
	for what, call := range map[string]func() error{
		"CheckIndexes": func() error { return fresh.CheckIndexes(ctx) },
		"users": func() error {
			_, err1 := a.GetUserByEmail(ctx, "ada@example.com")
			_, err2 := a.GetUserByAccount(ctx, key)
			_, err3 := a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Email: adapter.To("new@example.com")})
			return errors.Join(err1, err2, err3)
		},
		"sessions": func() error {
			_, err1 := a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: user.ID, Expires: later})
			_, err2 := a.GetSessionAndUser(ctx, "s")
			_, err3 := a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "s", Expires: adapter.To(later)})
			_, err4 := a.ListSessionsByUserID(ctx, user.ID)
			_, err5 := a.DeleteSession(ctx, "s")
			_, err6 := a.DeleteSessionsByUserID(ctx, user.ID, "")
			return errors.Join(err1, err2, err3, err4, err5, err6)
		},
		"accounts": func() error {
			_, err1 := a.ListAccountsByUserID(ctx, user.ID)
			_, err2 := a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "p", ProviderAccountID: "1", Scope: adapter.To(new("s"))})
			_, err3 := a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: "2"})
			_, err4 := a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "2"})
			return errors.Join(err1, err2, err3, err4)
		},
		"tokens": func() error {
			_, err1 := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: "i", Token: "t", Expires: later})
			_, err2 := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "i", Token: "t"})
			_, err3 := a.DeleteVerificationTokens(ctx, "i")
			return errors.Join(err1, err2, err3)
		},
		"passkeys and passwords": func() error {
			_, err1 := a.ListAuthenticatorsByUserID(ctx, user.ID)
			_, err2 := a.TouchAuthenticator(ctx, "c", 0, 1, time.Now())
			_, err3 := a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"})
			_, err4 := a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"})
			_, err5 := a.DeletePassword(ctx, user.ID, true)
			_, err6 := a.DeleteAuthenticator(ctx, user.ID, "c", true)
			return errors.Join(err1, err2, err3, err4, err5, err6)
		},
		"DeleteExpired": func() error { _, err := a.DeleteExpired(ctx, time.Now()); return err },
	} {
		assert.NoError(t, call(), what)
	}
	_, err = a.DeleteUser(ctx, user.ID)
	assert.NoError(t, err)
}
