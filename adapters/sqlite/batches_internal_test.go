package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A batch ends with the slice in which its time ends, however long each slice
// takes. It also ends with a slice that finds no more records, and with an error.
func TestBatchLooksAtTheClock(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		costs []time.Duration // the time that each slice takes, in order
		more  int             // the number of slices that report more records
		err   error           // the error of the last slice
		want  int
	}{
		"quick slices":        {[]time.Duration{200 * time.Microsecond, 200 * time.Microsecond, 200 * time.Microsecond, 500 * time.Microsecond, 1}, 9, nil, 4},
		"one that is slow":    {[]time.Duration{time.Second, 1}, 9, nil, 1},
		"they become slow":    {[]time.Duration{1, 1, time.Second, 1}, 9, nil, 3},
		"there are no more":   {[]time.Duration{1, 1, 1, 1}, 1, nil, 2},
		"the store is broken": {[]time.Duration{1, 1, 1, 1}, 9, broken, 1},
	} {
		t.Run(name, func(t *testing.T) {
			clock, slices := time.Now(), 0
			err := whileShort(func() time.Time { return clock }, func() (bool, error) {
				clock = clock.Add(c.costs[slices])
				slices++
				return slices <= c.more, c.err
			})
			assert.Truef(t, slices == c.want && errors.Is(err, c.err), "%d slices, %v; want %d, %v", slices, err, c.want, c.err)
		})
	}
}
