package password

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSlots checks that no more hashes than allowed are made at once, that one
// client has not all slots, that clients take turns, and that nothing is left when
// all have ended.
func TestSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(3, 100)
		var mu sync.Mutex
		var order []string
		running, by, most := 0, map[string]int{}, map[string]int{}
		next := make(chan bool)
		call := func(name string) {
			go func() {
				err := s.do(t.Context(), name, func() {
					mu.Lock()
					order = append(order, name)
					running++
					by[name]++
					most[name], most[""] = max(most[name], by[name]), max(most[""], running)
					mu.Unlock()
					<-next
					mu.Lock()
					running--
					by[name]--
					mu.Unlock()
				})
				assert.NoError(t, err)
			}()
			synctest.Wait()
		}
		for range 10 {
			call("flood")
		}
		require.Equalf(t, 2, running, "a client has %d of three slots", running)
		for _, name := range []string{"a", "b", "b", "c"} {
			call(name)
		}
		for range 14 {
			next <- true
			synctest.Wait()
		}
		const want = "[flood flood a flood b c flood b flood flood flood flood flood flood]"
		got := fmt.Sprint(order)
		assert.Truef(t, got == want && most[""] == 3 && most["flood"] == 2, "order %s, want %s; most %v", got, want, most)
		assert.Truef(t, s.running == 0 && s.queued == 0 && len(s.clients) == 0 && len(s.turns) == 0, "left: %+v", s)
	})
}

// TestSlotsAreFull checks that a full queue refuses calls of the client that has
// most of them, with BusyError, and that a call that is given up leaves.
func TestSlotsAreFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSlots(1, 4)
		hold, end := make(chan bool), make(chan bool)
		go func() { _ = s.do(t.Context(), "flood", func() { hold <- true; <-end }) }()
		<-hold
		results := make(chan error, 10)
		call := func(ctx context.Context, name string) {
			go func() { results <- s.do(ctx, name, func() {}) }()
			synctest.Wait()
		}
		for range 4 {
			call(t.Context(), "flood")
		}
		busy := func() {
			t.Helper()
			var e *BusyError
			err := <-results
			assert.Truef(t, errors.As(err, &e) && e.RetryAfter > 0, "%v, want a BusyError", err)
		}
		call(t.Context(), "flood")
		busy()
		call(t.Context(), "person") // takes the place of one of the flood's
		busy()
		ctx, cancel := context.WithCancel(t.Context())
		call(ctx, "other")
		busy()
		cancel()
		assert.ErrorIs(t, <-results, context.Canceled)
		assert.Equalf(t, 3, s.queued, "%d calls wait, want 3", s.queued)
		close(end)
		for range 3 {
			assert.NoError(t, <-results)
		}
		assert.Truef(t, s.running == 0 && s.queued == 0 && len(s.clients) == 0 && len(s.turns) == 0, "left: %+v", s)
	})
}
