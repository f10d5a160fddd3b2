package sqlite_test

import (
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

var many = flag.Int("many", 20_000, "TestWritersDuringLargeDeletions removes this many sessions")

func percentile(took []time.Duration, p float64) time.Duration {
	slices.Sort(took)
	return took[min(int(float64(len(took))*p), len(took)-1)]
}

// writesDuring measures writes of another handle on the file while do runs, and the
// same number of writes while no other work is done.
func writesDuring(t *testing.T, w wiring, do func(path string, ready chan<- struct{}, done chan struct{})) (alone, during []time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	ready, done := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { do(path, ready, done) })
	<-ready
	db := w.openDB(t, path)
	a := newAdapter(t, db)
	user := newUser(t, a, "")
	write := func(n int) time.Duration {
		began := time.Now()
		must(a.CreateSession(t.Context(), adapter.Session{SessionToken: fmt.Sprint("w", n), UserID: user.ID, Expires: time.Now().Add(time.Hour)}))(t)
		return time.Since(began)
	}
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for n := range 1000 {
		alone = append(alone, write(n))
		<-tick.C
	}
	done <- struct{}{} // begin
	for n := 1000; ; n++ {
		select {
		case <-done:
			wg.Wait()
			return alone, during
		case <-tick.C:
			during = append(during, write(n))
		}
	}
}

// A sweep of many sessions, and the deletion of a user who has many sessions, hold the
// write lock for a small part of the time.
func TestWritersDuringLargeDeletions(t *testing.T) {
	if testing.Short() {
		*many = min(*many, 4000)
	}
	for name, remove := range map[string]func(t *testing.T, a *sqlite.Adapter, userID string) error{
		"sweep": func(t *testing.T, a *sqlite.Adapter, _ string) error {
			swept, err := a.DeleteExpired(t.Context(), time.Now())
			assert.Equal(t, int64(*many), swept.Sessions, "sessions that were swept")
			return err
		},
		"delete user": func(t *testing.T, a *sqlite.Adapter, userID string) error {
			deleted, err := a.DeleteUser(t.Context(), userID)
			assert.Truef(t, deleted != nil && deleted.ID == userID, "deleted %+v, want %s", deleted, userID)
			return err
		},
		"end sessions": func(t *testing.T, a *sqlite.Adapter, userID string) error {
			ended, err := a.DeleteSessionsByUserID(t.Context(), userID, "")
			assert.Equal(t, int64(*many), ended, "sessions that were ended")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := wirings[0]
			var took time.Duration
			var statements int64
			alone, during := writesDuring(t, w, func(path string, ready chan<- struct{}, done chan struct{}) {
				db, faults := w.watched(t, path)
				a := newAdapter(t, db)
				user := newUser(t, a, "")
				run(t, db, `INSERT INTO session (sessionToken, userId, expires)
					WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ?)
					SELECT hex(randomblob(16)), ?, 1000 FROM n`, *many, user.ID)
				close(ready)
				<-done
				began, before := time.Now(), faults.Stats().Statements
				assert.NoError(t, remove(t, a, user.ID))
				took, statements = time.Since(began), faults.Stats().Statements-before
				close(done)
			})
			t.Logf("%d sessions removed in %v; writes alone: median %v, p99 %v, longest %v; meanwhile, %d: median %v, p99 %v, longest %v",
				*many, took, percentile(alone, 0.5), percentile(alone, 0.99), slices.Max(alone),
				len(during), percentile(during, 0.5), percentile(during, 0.99), slices.Max(during))
			// On a busy machine single writes may take long. So the test checks that no
			// statement removes more than a slice, and that other writes happen in
			// between.
			assert.GreaterOrEqualf(t, statements, int64(*many)/20, "statements that removed %d sessions", *many)
			limit := 5*time.Millisecond + 2*percentile(alone, 0.5)
			assert.LessOrEqual(t, percentile(during, 0.5), limit, "half of the writes took more than this")
		})
	}
}
