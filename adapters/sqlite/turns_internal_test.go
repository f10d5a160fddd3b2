package sqlite

import (
	"database/sql"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/assert"
)

// Each pool has one queue, which goes with the pool.
func TestTurnsOfAPool(t *testing.T) {
	key := func() weak.Pointer[sql.DB] {
		one, other := new(sql.DB), new(sql.DB)
		first, second, third := turnsOf(one), turnsOf(one), turnsOf(other)
		assert.True(t, first == second && first != third, "want one queue for each pool")
		runtime.KeepAlive(other)
		return weak.Make(one)
	}()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); runtime.Gosched() {
		runtime.GC()
		if _, left := pools.Load(key); !left {
			return
		}
	}
	t.Error("the queue of a pool that is gone is left")
}
