package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// write lets callers create users without pause for a while, in turn with each adapter. It
// returns how long each call took, and the number of calls of each caller.
func write(tb testing.TB, adapters []*sqlite.Adapter, callers int, d time.Duration) (times []time.Duration, calls []int) {
	tb.Helper()
	var mu sync.Mutex
	var stop atomic.Bool
	var all sync.WaitGroup
	calls = make([]int, callers)
	for i := range callers {
		a := adapters[i%len(adapters)]
		all.Go(func() {
			for n := 0; !stop.Load(); n++ {
				began := time.Now()
				_, err := a.CreateUser(context.WithoutCancel(tb.Context()), adapter.User{Email: fmt.Sprint(i, "-", n, "-", began.UnixNano())})
				took := time.Since(began)
				mu.Lock()
				assert.NoError(tb, err)
				times = append(times, took)
				calls[i]++
				mu.Unlock()
			}
		})
	}
	timer := time.AfterFunc(d, func() { stop.Store(true) })
	defer timer.Stop()
	all.Wait()
	slices.Sort(times)
	return times, calls
}

// opened returns an adapter over a new file with the recommended settings, except that
// each writer may have a connection.
func opened(tb testing.TB, connections int) (*sqlite.Adapter, *sql.DB) {
	tb.Helper()
	db := must(modernc.Open(filepath.Join(tb.TempDir(), "turns.db")))(tb)
	tb.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(connections)
	return newAdapter(tb, db), db
}

// TestWritersTakeTurns: no caller gets much more than another, also if each has an adapter.
func TestWritersTakeTurns(t *testing.T) {
	for _, n := range []int{1, 8} {
		t.Run(fmt.Sprintf("%d adapters", n), func(t *testing.T) {
			a, db := opened(t, 8)
			adapters := []*sqlite.Adapter{a}
			for len(adapters) < n {
				adapters = append(adapters, must(sqlite.New(db))(t))
			}
			times, calls := write(t, adapters, 8, 2*time.Second)
			fewest, most := slices.Min(calls), slices.Max(calls)
			assert.Truef(t, most <= fewest+fewest/2+10,
				"of %d calls one caller made %d and another one %d", len(times), fewest, most)
		})
	}
}

// TestWaitingForATurn: a call that waits for its turn ends with its context, and a
// transaction of the caller does not wait for a turn.
func TestWaitingForATurn(t *testing.T) {
	w := wirings[0]
	path := filepath.Join(t.TempDir(), "test.db")
	db := w.openDB(t, path)
	a := newAdapter(t, db)
	tx := must(db.BeginTx(t.Context(), nil))(t) // takes the write lock
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 2)
	for i := range 2 { // one waits for the lock, the other one for its turn
		go func() {
			_, err := a.CreateUser(ctx, adapter.User{Email: fmt.Sprint(i)})
			failed <- err
		}()
	}
	inTx := must(sqlite.New(tx))(t)
	newUser(t, inTx, "in the transaction")
	cancel()
	for range 2 {
		err := <-failed
		assert.ErrorIsf(t, err, context.Canceled, "got %v, want the error of the context", err)
	}
	require.NoError(t, tx.Commit())
	newUser(t, a, "after the transaction")
}

// BenchmarkWriters measures the calls of many writers for five seconds, with turns and
// without: ns/op is the median.
func BenchmarkWriters(b *testing.B) {
	for _, callers := range []int{8, 32} {
		for _, turns := range []bool{true, false} {
			name := map[bool]string{true: "turns", false: "without"}[turns]
			b.Run(fmt.Sprintf("%d/%s", callers, name), func(b *testing.B) {
				a, _ := opened(b, callers)
				if !turns {
					a = a.WithoutTurns()
				}
				times, calls := write(b, []*sqlite.Adapter{a}, callers, 5*time.Second)
				of := func(share float64) float64 {
					return float64(times[int(share*float64(len(times)-1))].Nanoseconds())
				}
				b.ReportMetric(of(0.5), "ns/op")
				b.ReportMetric(of(0.99), "p99-ns/op")
				b.ReportMetric(of(1), "longest-ns/op")
				b.ReportMetric(float64(slices.Min(calls)), "fewest-calls")
				b.ReportMetric(float64(slices.Max(calls)), "most-calls")
			})
		}
	}
}
