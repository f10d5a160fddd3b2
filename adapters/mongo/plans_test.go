package mongo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.mongodb.org/mongo-driver/v2/bson"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestNoScans asks the profiler of the server for the plan of every command that
// any method sends. Among 100,000 records no command reads a whole collection,
// or more documents than its answer needs.
func TestNoScans(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	const records, at = 100_000, 5_000
	later := time.Now().Add(time.Hour)
	for from := 0; from < records; from += at {
		fillRecords(t, db, from, from+at, later)
	}
	entries := profiled(t, db, func() { callEverything(ctx, t, a) })
	plans := map[string]int{}
	for _, e := range entries {
		plans[e.Op+" "+e.Plan]++
		assert.Truef(t, e.Plan != "COLLSCAN" && e.Examined <= 20,
			"%s on %s has the plan %s and examined %d documents: %s", e.Op, e.NS, e.Plan, e.Examined, e.Command)
	}
	assert.Truef(t, len(entries) >= 30, "the profiler saw %d commands only: %v", len(entries), plans)
	t.Log(plans)
}

// command is the profiler's entry for one command.
type command struct {
	Op       string   `bson:"op"`
	NS       string   `bson:"ns"`
	Plan     string   `bson:"planSummary"`
	Examined int64    `bson:"docsExamined"`
	Deleted  int64    `bson:"ndeleted"`
	Command  bson.Raw `bson:"command"`
}

// profiled returns the commands on the collections of the adapter while do runs.
func profiled(t *testing.T, db *mgo.Database, do func()) []command {
	t.Helper()
	ctx := t.Context()
	profile := func(level int32) {
		t.Helper()
		require.NoError(t, db.RunCommand(ctx, bson.D{{Key: "profile", Value: level}}).Err())
	}
	profile(2)
	do()
	profile(0)
	ours := bson.D{{Key: "ns", Value: bson.D{{Key: "$regex", Value: "^" + db.Name() + `\.(users|accounts|sessions|verification_tokens|authenticators)$`}}}}
	cursor := must(db.Collection("system.profile").Find(ctx, ours))(t)
	var entries []command
	require.NoError(t, cursor.All(ctx, &entries))
	return entries
}

// fillRecords writes users with one record of each kind, as the adapter would.
func fillRecords(t *testing.T, db *mgo.Database, from, to int, expires time.Time) {
	t.Helper()
	kinds := map[string][]any{}
	put := func(collection string, document bson.D) { kinds[collection] = append(kinds[collection], document) }
	for n := from; n < to; n++ {
		id, key := numbered(n), fmt.Sprint(n)
		put("users", bson.D{{Key: "_id", Value: id}, {Key: "email", Value: key + "@example.com"}, {Key: "emailVerified", Value: nil}})
		put("accounts", bson.D{{Key: "userId", Value: id}, {Key: "type", Value: "oidc"}, {Key: "provider", Value: "p"}, {Key: "providerAccountId", Value: key}})
		put("sessions", bson.D{{Key: "userId", Value: id}, {Key: "sessionToken", Value: bench.SessionToken(n)}, {Key: "expires", Value: expires}})
		put("verification_tokens", bson.D{{Key: "identifier", Value: key}, {Key: "token", Value: key}, {Key: "expires", Value: expires}})
		put("authenticators", bson.D{{Key: "userId", Value: id}, {Key: "credentialID", Value: key}, {Key: "providerAccountId", Value: key}, {Key: "credentialPublicKey", Value: ""},
			{Key: "counter", Value: int64(0)}, {Key: "credentialBackedUp", Value: false}, {Key: "credentialDeviceType", Value: ""}})
	}
	for collection, documents := range kinds {
		must(db.Collection(collection).InsertMany(t.Context(), documents, options.InsertMany().SetOrdered(false)))(t)
	}
}

// callEverything calls every method for stored records and for absent records.
func callEverything(ctx context.Context, t *testing.T, a *mongo.Adapter) {
	t.Helper()
	some := func(v any, err error) {
		t.Helper()
		assert.NoError(t, err)
	}
	user := must(a.CreateUserWithAccount(ctx, adapter.User{Email: "ada@example.com"},
		adapter.Account{Type: adapter.AccountWebAuthn, Provider: "passkey", ProviderAccountID: "ada"}, &adapter.Authenticator{CredentialID: "ada", ProviderAccountID: "ada"}))(t)
	must(a.CreateUser(ctx, adapter.User{}))(t)
	must(a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "new", ProviderAccountID: "ada"}))(t)
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "second", ProviderAccountID: "ada"}))(t)
	got, err := a.LinkAccount(ctx, adapter.Account{UserID: user.ID, Provider: "p", ProviderAccountID: "7"})
	assert.Errorf(t, err, "an account that is taken: got %v", got)
	for _, id := range []string{user.ID, numbered(7).Hex(), bson.NewObjectID().Hex()} {
		some(a.GetUser(ctx, id))
		some(a.ListAccountsByUserID(ctx, id))
		some(a.ListSessionsByUserID(ctx, id))
		some(a.ListAuthenticatorsByUserID(ctx, id))
		some(a.DeleteSessionsByUserID(ctx, id, "except"))
	}
	for _, key := range []string{"7", "ada", "nobody"} {
		token := bench.SessionToken(8)
		if key == "nobody" {
			token = key
		}
		some(a.GetUserByEmail(ctx, key+"@example.com"))
		some(a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: key}))
		some(a.GetAccount(ctx, key, "p"))
		some(a.GetSessionAndUser(ctx, token))
		some(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(time.Now().Add(time.Hour))}))
		some(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(user.ID)}))
		some(a.DeleteSession(ctx, token))
		some(a.GetAuthenticator(ctx, key))
		some(a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: key, Token: "new", Expires: time.Now()}))
		some(a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: key, Token: "new"}))
		some(a.DeleteVerificationTokens(ctx, key))
		some(a.UnlinkAccount(ctx, adapter.AccountKey{Provider: "new", ProviderAccountID: key}))
	}
	some(a.CreateSession(ctx, adapter.Session{SessionToken: "ada", UserID: user.ID, Expires: time.Now().Add(-time.Hour)}))
	some(a.UpdateUser(ctx, adapter.UserUpdate{ID: user.ID, Email: adapter.To("eve@example.com")}))
	some(a.UpdateAccount(ctx, adapter.AccountUpdate{Provider: "passkey", ProviderAccountID: "ada", Scope: adapter.To(new("x"))}))
	some(a.UpdateAuthenticatorCounter(ctx, "ada", 1))
	some(a.TouchAuthenticator(ctx, "ada", 1, 2, time.Now()))
	some(a.TouchAuthenticator(ctx, "ada", 1, 3, time.Now()))
	some(a.RenameAuthenticator(ctx, user.ID, "ada", "key"))
	some(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))
	some(a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}))
	some(a.GetPassword(ctx, user.ID))
	some(a.SwapPassword(ctx, adapter.Password{UserID: user.ID, Hash: "h"}, adapter.Password{Hash: "i"}))
	some(a.DeletePassword(ctx, user.ID, true))
	some(a.DeleteAuthenticator(ctx, user.ID, "ada", true))
	some(a.DeleteExpired(ctx, time.Now()))
	some(a.DeleteUser(ctx, user.ID))
	some(a.DeleteUser(ctx, numbered(9).Hex()))
}
