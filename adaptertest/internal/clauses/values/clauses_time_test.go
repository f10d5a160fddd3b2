package values

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestClockChangesHoldTheRepeatedHour(t *testing.T) {
	z := zone("America/New_York")
	walls := map[string]int{}
	for _, c := range clockChanges(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), z) {
		walls[c.Format("2006-01-02 15:04")]++
	}
	assert.Truef(t, walls["2026-11-01 01:30"] == 2 && walls["2026-03-08 03:30"] == 1,
		"got %v, want 01:30 on 1 November twice and 03:30 on 8 March", walls)
}
