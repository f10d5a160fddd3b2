package postgres

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// connection counts how often it is closed.
type connection struct{ closed atomic.Int32 }

func (c *connection) Close() error {
	c.closed.Add(1)
	return nil
}

// TestLateStatements: a connection is closed if its statement runs on for half a second after
// its context has ended, and no other one.
func TestLateStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l late
		after := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		ctx, cancel := context.WithCancel(t.Context())
		var conns [5]connection
		begin := func(ctx context.Context, of int) *statement { return l.begin(ctx, &conns[of]) }
		stuck, ends, running, before, last := begin(ctx, 0), begin(ctx, 1), begin(t.Context(), 2), begin(ctx, 3), begin(ctx, 4)
		l.end(last)
		after(time.Minute)
		cancel()
		l.end(before)
		after(400 * time.Millisecond)
		l.end(ends)
		assert.True(t, conns[0].closed.Load() == 0, "a statement has not half a second to end")
		after(400 * time.Millisecond)
		assert.True(t, conns[0].closed.Load() == 1, "the connection of a late statement is open")
		after(time.Minute)
		l.end(stuck)
		l.end(running)
		after(time.Minute)
		for i, want := range []int32{1, 0, 0, 0, 0} {
			got := conns[i].closed.Load()
			assert.Equalf(t, want, got, "connection %d was closed %d times, want %d", i, got, want)
		}
		assert.True(t, l.first == nil && !l.looking, "a statement that has ended is looked at")
		ctx, cancel = context.WithCancel(t.Context())
		again := begin(ctx, 1)
		cancel()
		after(800 * time.Millisecond)
		l.end(again)
		assert.True(t, conns[1].closed.Load() == 1, "a late statement after a time without any: its connection is open")
	})
}
