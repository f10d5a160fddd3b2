package sqlite

import (
	"database/sql"
	"runtime"
	"testing"
	"time"
)

// Each pool has one queue, which goes with the pool.
func TestTurnsOfAPool(t *testing.T) {
	queues := func() (n int) {
		pools.Range(func(any, any) bool { n++; return true })
		return n
	}
	before := queues()
	func() {
		one, other := new(sql.DB), new(sql.DB)
		first, second, third := turnsOf(one), turnsOf(one), turnsOf(other)
		if first != second || first == third || queues() != before+2 {
			t.Errorf("got %d queues more, want one for each pool", queues()-before)
		}
		runtime.KeepAlive(one)
		runtime.KeepAlive(other)
	}()
	for range 500 {
		if runtime.GC(); queues() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Error("the queues of pools that are gone are left")
}
