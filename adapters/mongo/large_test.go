package mongo_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	mgo "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/gatehouse-go/gatehouse/adapters/mongo"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var many = flag.Int("many", 2000, "TestOthersDuringLargeDeletions removes this many sessions; with 10,000 or more it measures what others wait")

// TestOthersDuringLargeDeletions deletes a user with many sessions, deletes the
// sessions of such a user, and sweeps a tenth of them. One query finds the sessions,
// no command grows with their number, and after each command other calls read and
// write as usual.
func TestOthersDuringLargeDeletions(t *testing.T) {
	onEachServer(t, func(t *testing.T, s server) {
		for name, remove := range map[string]func(ctx context.Context, a *mongo.Adapter, userID string) (int64, error){
			"delete user": func(ctx context.Context, a *mongo.Adapter, id string) (int64, error) {
				gone, err := a.DeleteUser(ctx, id)
				if gone == nil {
					return 0, err
				}
				return int64(*many), err
			},
			"end sessions": func(ctx context.Context, a *mongo.Adapter, id string) (int64, error) {
				return a.DeleteSessionsByUserID(ctx, id, "")
			},
			"sweep": func(ctx context.Context, a *mongo.Adapter, _ string) (int64, error) {
				swept, err := a.DeleteExpired(ctx, time.Now().Add(12*time.Hour))
				return 10 * swept.Sessions, err
			},
		} {
			t.Run(name, func(t *testing.T) {
				removeMany(t, s, func(a *mongo.Adapter, userID string) {
					n, err := remove(t.Context(), a, userID)
					assert.Truef(t, err == nil && n == int64(*many), "removed %d, %v; want %d", n, err, *many)
				})
			})
		}
	})
}

// removeMany removes the sessions of a user while other calls run.
func removeMany(t *testing.T, s server, remove func(a *mongo.Adapter, userID string)) {
	t.Helper()
	const measured, most = 10_000, 50 // documents that a command may delete
	ctx := t.Context()
	others, db := s.newStore(t)
	commands, after := 0, func() {}
	client := s.connect(t, func(o *options.ClientOptions) {
		o.SetMonitor(&event.CommandMonitor{Succeeded: func(context.Context, *event.CommandSucceededEvent) {
			commands++
			after()
		}})
	})
	a := newAdapter(t, client.Database(db.Name()))
	user, other := must(a.CreateUser(ctx, adapter.User{}))(t), must(a.CreateUser(ctx, adapter.User{}))(t)
	fillSessions(t, db, user.ID)
	calls := 0
	call := func() {
		calls++
		token := fmt.Sprint("other", calls)
		_, err := others.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: other.ID, Expires: time.Now().Add(48 * time.Hour)})
		found, err2 := others.GetSessionAndUser(ctx, token)
		err = errors.Join(err, err2)
		assert.Truef(t, err == nil && found != nil, "a session of another user: %v, %v", found, err)
	}
	if *many >= measured {
		alone, done := timed(call, time.After(3*time.Second)), make(chan time.Time)
		var during []time.Duration
		var wg sync.WaitGroup
		wg.Go(func() { during = timed(call, done) })
		began := time.Now()
		remove(a, user.ID)
		lasted := time.Since(began)
		close(done)
		wg.Wait()
		t.Logf("%d sessions, %v, %d commands; two calls alone: median %v, p99 %v, longest %v; meanwhile, %d times: median %v, p99 %v, longest %v", *many, lasted, commands,
			alone[len(alone)/2], alone[len(alone)*99/100], alone[len(alone)-1], len(during), during[len(during)/2], during[len(during)*99/100], during[len(during)-1])
		return
	}
	commanded := profiled(t, db, func() {
		after = call
		remove(a, user.ID)
		after = func() {}
	})
	queries := 0
	for _, e := range commanded {
		if e.Op == "query" && strings.HasSuffix(e.NS, ".sessions") {
			queries++
		}
		assert.Truef(t, e.Deleted <= most && e.Examined <= most,
			"a command examined %d documents and deleted %d: %s", e.Examined, e.Deleted, e.Command)
	}
	assert.Equalf(t, 1, queries, "%d queries looked for the sessions, want 1", queries)
	assert.Truef(t, calls >= *many/10/most, "others called %d times while %d sessions went", calls, *many)
}

// fillSessions writes the sessions of a user. A tenth of them expire in an hour.
func fillSessions(t *testing.T, db *mgo.Database, userID string) {
	t.Helper()
	id := must(bson.ObjectIDFromHex(userID))(t)
	now := time.Now()
	for from := 0; from < *many; from += 5000 {
		var all []any
		for n := from; n < min(from+5000, *many); n++ {
			expires := now.Add(24 * time.Hour)
			if n%10 == 0 {
				expires = now.Add(time.Hour)
			}
			all = append(all, bson.D{{Key: "userId", Value: id}, {Key: "sessionToken", Value: bench.SessionToken(n)}, {Key: "expires", Value: expires}})
		}
		must(db.Collection("sessions").InsertMany(t.Context(), all))(t)
	}
}

// timed repeats the call until done is closed, and returns the sorted times that
// the calls took.
func timed(call func(), done <-chan time.Time) (took []time.Duration) {
	for {
		began := time.Now()
		call()
		took = append(took, time.Since(began))
		select {
		case <-done:
			slices.Sort(took)
			return took
		default:
		}
	}
}
