package limit

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFullTable: somebody who makes keys without end uses no more memory than the
// bound, and makes no count forgotten. When the counts are over, there is room again.
func TestFullTable(t *testing.T) {
	rule := Rule{Free: 1, Wait: time.Minute, MaxWait: time.Minute, Forget: time.Hour}
	of := func(name string) []bucket {
		return []bucket{{kind: Password, scope: byAccount, account: name, rule: &rule}}
	}
	now := time.Now()
	table := newTable(now)
	require.True(t, table.take(of("victim"), now) == 0, "the first attempt is refused")
	for i := range 2 * maxCounts {
		table.take(of(strconv.Itoa(i)), now)
	}
	assert.Truef(t, len(table.counts) <= maxCounts,
		"%d counts are kept apart, want at most %d", len(table.counts), maxCounts)
	assert.True(t, table.take(of("victim"), now) != 0, "the count of the victim is forgotten")
	first, second := table.take(of("late"), now), table.take(of("late"), now)
	assert.False(t, first == 0 && second == 0, "a new key is not counted")
	later := now.Add(2 * time.Hour)
	for i := range maxCounts / 4 {
		table.take(of("later "+strconv.Itoa(i)), later)
	}
	assert.True(t, table.take(of("a"), later) == 0 && table.take(of("b"), later.Add(time.Second)) == 0,
		"counts that are over leave no room")
}
