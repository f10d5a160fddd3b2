package large_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/large"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMeasure measures the stores that need no server, with few records. Every
// method and the sweep have a figure, and one for the work by hand beside it.
func TestMeasure(t *testing.T) {
	for _, kind := range []string{"memory", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			s, err := large.Open(t.Context(), nil, kind)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, s.Close(context.WithoutCancel(t.Context()))) })
			var beside []string
			err = large.Measure(t.Context(), s, large.Options{Users: 1000, Usual: 100 * time.Millisecond}, func(r large.Row) {
				t.Log(r)
				if r.Adapter == "" && !strings.Contains(r.What, "others'") { // with few records a sweep may end before another call
					t.Errorf("%s has no figure", r.What)
				}
				if of, err := strconv.ParseFloat(r.Of, 64); err == nil && of > 0 {
					beside = append(beside, r.What)
				}
			})
			require.NoError(t, err)
			for _, want := range []string{"GetSessionAndUser`, median", "absent", "GetUserByEmail", "CreateSession`, median", "UpdateUser", "16 callers", "sweep of a tenth"} {
				assert.Containsf(t, strings.Join(beside, "\n"), want, "%s has no figure for the work by hand: %q", want, beside)
			}
		})
	}
}

func TestOpenRefusesUnknownStores(t *testing.T) {
	if _, err := large.Open(t.Context(), nil, "oracle"); err == nil || !strings.Contains(err.Error(), "postgres") {
		t.Errorf("got %v, want an error that names the stores", err)
	}
}
