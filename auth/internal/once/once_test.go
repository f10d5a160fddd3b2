package once

import (
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var start = time.Unix(1e9, 0)

// TestSpentOnce: a value is good once, for all configurations that have the
// secret, before and after a rotation.
func TestSpentOnce(t *testing.T) {
	t.Parallel()
	const origin = "https://spent.example"
	before, during, after := Of([]string{"old"}, origin, nil), Of([]string{"new", "old"}, origin, nil), Of([]string{"new"}, origin, nil)
	for i, m := range []*Memory{before, during, after} {
		value := "value " + strconv.Itoa(i)
		require.Truef(t, m.Spend("k", value, start, start), "%d: refused at first", i)
		for j, other := range []*Memory{before, during, after} {
			if shares := i == j || i == 1 || j == 1; shares && other.Spend("k", value, start, start) {
				t.Errorf("spent with secrets %d: good again with secrets %d", i, j)
			}
		}
	}
	for name, m := range map[string]*Memory{
		"another origin": Of([]string{"old"}, "https://other.example", nil), "another secret": Of([]string{"x"}, origin, nil),
		"a source that repeats values": Of([]string{"old"}, origin, rand.New(rand.NewSource(1))),
	} {
		assert.Truef(t, m.Spend("k", "value 0", start, start), "%s: refused", name)
	}
	assert.True(t, before.Spend("another kind", "value 0", start, start), "another kind: refused")
	assert.True(t, before.Spend("k", "undated", time.Time{}, start) && !before.Spend("k", "undated", time.Time{}, start),
		"a value of which nobody knows when it was sealed is not good exactly once")
}

// TestManySites: a site that remembers nothing any more makes room for others,
// and what matters is never dropped for them, also with many calls at once.
func TestManySites(t *testing.T) {
	t.Parallel()
	of := func(i int) *Memory { return Of([]string{"many"}, "https://"+strconv.Itoa(i)+".example", nil) }
	var all sync.WaitGroup
	for i := range 2 * maxPages {
		all.Go(func() {
			m := of(i)
			good := 0
			for range 3 {
				if m.Spend("k", "value", start, start) {
					good++
				}
			}
			assert.Equalf(t, 1, good, "site %d: the value was good %d times", i, good)
		})
	}
	all.Wait()
	for i := range 2 * maxPages {
		require.Falsef(t, of(i).Spend("k", "value", start, start), "site %d: the value is good again", i)
	}
}

// TestFlood: somebody who ends what they began without end uses no more memory
// than the cap. No spent value becomes good again. Only what was begun before
// the values that were forgotten is refused, and no other kind notices.
func TestFlood(t *testing.T) {
	t.Parallel()
	m := Of([]string{"flood"}, "https://flood.example", nil)
	m.Spend("a", "victim's", start, start)
	m.Spend("b", "victim's", start, start)
	at := start
	for i := range maxSpent + maxSpent/10 {
		at = start.Add(time.Duration(1+i/100) * time.Second / 10)
		require.Truef(t, m.Spend("a", strconv.Itoa(i), at, at), "value %d was refused", i)
	}
	l := m.page(m.spent[0], false, at).spent["a"]
	assert.Truef(t, len(l.seen) == maxSpent && len(l.order) == maxSpent,
		"%d values are kept, want %d", len(l.seen), maxSpent)
	assert.True(t, !m.Spend("a", "victim's", start, at) && !m.Spend("b", "victim's", start, at),
		"a spent value is good again")
	assert.False(t, m.Spend("a", "begun before", start, at),
		"what was begun before the forgotten values could be one of them, and is good")
	assert.True(t, m.Spend("b", "begun before", start, at) && m.Spend("a", "begun now", at, at),
		"the flood displaces what others began")
	late := at.Add(time.Hour)
	assert.Truef(t, m.Spend("a", "late", late, late) && len(l.seen) == 1,
		"%d values are kept after they expired, want 1", len(l.seen))
}

// TestSignOuts: a signed-out session is over under each of its tokens, and what
// other users do makes that not forgotten.
func TestSignOuts(t *testing.T) {
	t.Parallel()
	m := Of([]string{"new", "old"}, "https://signouts.example", nil)
	ada := func(id string, after time.Duration) Token { return Token{"ada", id, start.Add(after)} }
	require.True(t, m.Replace(ada("1", 0), "2", start) && m.Replace(ada("2", time.Minute), "3", start),
		"a token was not replaced")
	for i := range 2 * maxPages { // strangers make pages, and ask to drop those of no use
		Of([]string{"new"}, "https://"+strconv.Itoa(i)+".signouts.example", nil).Spend("k", "value", start, start)
	}
	m.End(ada("2", time.Minute), start)
	for i := range 5 * maxTokens {
		id := strconv.Itoa(i)
		m.Replace(Token{"eve", id, start}, id+"'", start)
		m.End(Token{"eve", id, start.Add(time.Duration(i) * time.Second)}, start)
	}
	others := []*Memory{m, Of([]string{"old"}, "https://signouts.example", nil), Of([]string{"new"}, "https://another.example", nil)}
	for _, other := range others {
		for _, id := range []string{"1", "2", "3"} {
			assert.Truef(t, other.IsOver(ada(id, 0), start), "token %s of the session is good", id)
		}
		assert.True(t, !other.IsOver(ada("4", 0), start) && !other.IsOver(Token{"eve", "new", start.Add(time.Hour)}, start),
			"another session is over")
		assert.True(t, other.IsOver(Token{"eve", "0", start}, start), "a session that was forgotten is good again")
	}
	assert.False(t, m.Replace(ada("3", 0), "4", start), "a token of a session that is over was replaced")
}
