package mongo_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestAbandonedReservation: if a process ends while it deletes an authenticator,
// other calls wait only until its reservation expires.
func TestAbandonedReservation(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	for _, id := range []string{"first", "second"} {
		must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: id}))(t)
	}
	reserve := func(until time.Time) {
		id := must(bson.ObjectIDFromHex(user.ID))(t)
		must(db.Collection("users").UpdateByID(ctx, id, bson.D{{Key: "$set", Value: bson.D{{Key: "gatehouseRemovalUntil", Value: until}}}}))(t)
	}
	reserve(time.Now().Add(time.Hour))
	soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	got, err := a.DeleteAuthenticator(soon, user.ID, "first", true)
	refused(got, err)(t, "DeleteAuthenticator of a user who is reserved", context.DeadlineExceeded)
	reserve(time.Now().Add(-time.Second))
	must(a.DeleteAuthenticator(ctx, user.ID, "first", true))(t)
	n := must(db.Collection("users").CountDocuments(ctx, bson.D{{Key: "gatehouseRemovalUntil", Value: bson.D{{Key: "$exists", Value: true}}}}))(t)
	assert.Truef(t, n == 0, "%d users are still reserved", n)
}

// TestManySessions deletes a user, and the sessions of a user, with more
// sessions than one batch. No command deletes more than a batch, so other calls
// do not wait for long.
func TestManySessions(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	const many = 2500
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	fill := func() {
		var all []any
		for i := range many {
			all = append(all, bson.D{{Key: "sessionToken", Value: fmt.Sprint(i)}, {Key: "userId", Value: must(bson.ObjectIDFromHex(user.ID))(t)}, {Key: "expires", Value: time.Now().Add(time.Hour)}})
		}
		must(db.Collection("sessions").InsertMany(ctx, all))(t)
	}
	fill()
	list := must(a.ListSessionsByUserID(ctx, user.ID))(t)
	assert.Lenf(t, list, many, "%d sessions are listed, want %d", len(list), many)
	n := must(a.DeleteSessionsByUserID(ctx, user.ID, "7"))(t)
	assert.Truef(t, n == many-1, "%d sessions were deleted, want %d", n, many-1)
	must(a.DeleteSession(ctx, "7"))(t)
	fill()
	commands := profiled(t, db, func() { same(t, "DeleteUser", must(a.DeleteUser(ctx, user.ID))(t), *user) })
	deleted := int64(0)
	for _, c := range commands {
		deleted += c.Deleted
		assert.Truef(t, c.Deleted <= 100, "a command deleted %d documents of %s, want at most 100", c.Deleted, c.NS)
	}
	assert.Truef(t, deleted == many+1,
		"the profiler saw %d documents deleted, want %d sessions and the user", deleted, many)
	n = must(db.Collection("sessions").CountDocuments(ctx, bson.D{}))(t)
	assert.Truef(t, n == 0, "%d sessions are left", n)
}

// TestSweep removes the expired records, in several batches, and no others.
func TestSweep(t *testing.T) {
	a, db := standalone.newStore(t)
	ctx := t.Context()
	now := time.Now()
	const each = 2200
	user := must(a.CreateUser(ctx, adapter.User{}))(t)
	var sessions, tokens []any
	for i := range 2 * each {
		expires := now.Add(time.Duration(i%2*2-1) * time.Minute)
		sessions = append(sessions, bson.D{{Key: "sessionToken", Value: fmt.Sprint(i)}, {Key: "userId", Value: must(bson.ObjectIDFromHex(user.ID))(t)}, {Key: "expires", Value: expires}})
		tokens = append(tokens, bson.D{{Key: "identifier", Value: "x"}, {Key: "token", Value: fmt.Sprint(i)}, {Key: "expires", Value: expires}})
	}
	must(db.Collection("sessions").InsertMany(ctx, sessions))(t)
	must(db.Collection("verification_tokens").InsertMany(ctx, tokens))(t)
	assert.Equal(t, adapter.Swept{Sessions: each, VerificationTokens: each}, must(a.DeleteExpired(ctx, now))(t))
	for _, name := range []string{"sessions", "verification_tokens"} {
		n := must(db.Collection(name).CountDocuments(ctx, bson.D{}))(t)
		assert.Truef(t, n == each, "%d documents are left in %s, want %d", n, name, each)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	assert.ErrorIs(t, erred(a.DeleteExpired(ended, now)), context.Canceled, "a sweep whose context has ended")
}
