package postgres_test

import (
	"flag"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

var many = flag.Int("many", 30_000, "TestOthersDuringLargeDeletions removes this many sessions")

// TestOthersDuringLargeDeletions reads and writes for other users while a user
// with many sessions is deleted, and while many sessions are swept. No call waits
// for a lock.
func TestOthersDuringLargeDeletions(t *testing.T) {
	_, pool, schema := wirings[0].newStore(t)
	// watchLocks looks for this name
	application := withParameters(t, map[string]string{"application_name": servesPeople})
	a := newAdapter(t, application, postgres.WithSchema(schema))
	ctx, watcher := t.Context(), wiring{}.pool(t)
	other := must(a.CreateUser(ctx, adapter.User{}))(t)
	for name, remove := range map[string]func(userID string) (int64, error){
		"delete user": func(id string) (int64, error) {
			gone, err := a.DeleteUser(ctx, id)
			if gone == nil {
				return 0, err
			}
			return int64(*many), err
		},
		"end sessions": func(id string) (int64, error) { return a.DeleteSessionsByUserID(ctx, id, "") },
		"sweep": func(string) (int64, error) {
			swept, err := a.DeleteExpired(ctx, time.Now())
			return swept.Sessions, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			user := must(a.CreateUser(ctx, adapter.User{}))(t)
			execSQL(t, pool, `INSERT INTO `+schema+`.sessions ("sessionToken", "userId", expires)
				SELECT gen_random_uuid()::text, $1, '2020-01-01' FROM generate_series(1, $2::int)`, user.ID, *many)
			execSQL(t, pool, `ANALYZE `+schema+`.sessions`)
			waits := &longest{waits: map[string]time.Duration{}}
			var took []time.Duration
			call := func(n int) {
				token := fmt.Sprint(name, n)
				began := time.Now()
				must(a.CreateSession(ctx, adapter.Session{SessionToken: token, UserID: other.ID, Expires: time.Now().Add(time.Hour)}))(t)
				must(a.GetSessionAndUser(ctx, token))(t)
				must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, Expires: adapter.To(time.Now().Add(2 * time.Hour))}))(t)
				took = append(took, time.Since(began)/3)
			}
			for n := range 300 {
				call(n)
			}
			alone := slices.Sorted(slices.Values(took))
			took = nil
			stop, done := make(chan struct{}), make(chan struct{})
			var wg sync.WaitGroup
			wg.Go(func() { watchLocks(t, watcher, stop, waits) })
			began := time.Now()
			go func() {
				defer close(done)
				n, err := remove(user.ID)
				assert.Truef(t, err == nil && n == int64(*many), "removed %d, %v; want %d", n, err, *many)
			}()
			for n := 300; ; n++ {
				select {
				case <-done:
				default:
					call(n)
					continue
				}
				break
			}
			lasted := time.Since(began)
			close(stop)
			wg.Wait()
			during := slices.Sorted(slices.Values(took))
			p99 := func(s []time.Duration) time.Duration { return s[len(s)*99/100] }
			t.Logf("%d sessions in %v; calls alone: p99 %v, longest %v; meanwhile, %d: p99 %v, longest %v; longest wait for a lock %v",
				*many, lasted, p99(alone), alone[len(alone)-1], 3*len(during), p99(during), during[len(during)-1], waits.waits[locks])
			assert.LessOrEqual(t, waits.waits[locks], 50*time.Millisecond, "the longest wait for a lock")
		})
	}
}
