package adaptertest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/model"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReportIsWholeAfterEachClause(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return m })
	r, err := newRun(&h, Options{})
	require.NoError(t, err)
	r.path = filepath.Join(t.TempDir(), "report.json")
	for i, k := range userChecks()[:3] {
		r.check(t.Context(), k)
		raw, err := os.ReadFile(r.path)
		require.NoError(t, err)
		var report Report
		require.NoErrorf(t, json.Unmarshal(raw, &report), "after %s", k.ID)
		assert.Truef(t, !report.Complete && len(report.Results) == i+1 && report.Suite != "",
			"after %s: complete %v, %d results, suite %q; want an incomplete report with %d", k.ID, report.Complete, len(report.Results), report.Suite, i+1)
	}
	assert.Truef(t, strings.HasSuffix(r.report(false).Summary(), "the run did not end") && !strings.Contains(r.report(true).Summary(), "did not end"),
		"got %q and %q", r.report(false).Summary(), r.report(true).Summary())
}

func TestRunEndsByTheDeadline(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return m })
	r, err := newRun(&h, Options{})
	require.NoError(t, err)
	r.endBy(time.Now())
	x := r.check(t.Context(), userChecks()[0])
	assert.Truef(t, x.Outcome == NotReached && strings.Contains(x.Reason, "-timeout"),
		"got %s (%s), want not reached for want of time", x.Outcome, x.Reason)
	assert.Equal(t, "incomplete (1 clauses not reached)", r.report(true).Verdict())
	assert.Len(t, r.report(true).Failed(), 1)
}

// patient is an adapter whose calls return, but slowly.
type patient struct{ *model.Model }

func (p patient) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-ctx.Done():
	}
	return p.Model.GetUser(ctx, id)
}

func TestSlowClauseIsCutOff(t *testing.T) {
	h := modelHarness(func(m *model.Model) adapter.Adapter { return patient{m} })
	h.ClauseTimeout = 100 * time.Millisecond
	r, err := newRun(&h, Options{})
	require.NoError(t, err)
	x := r.check(t.Context(), kit.Check{ID: "USER-02", Test: func(c *kit.Context) {
		for range 10_000 {
			c.GetUser("nobody")
		}
	}})
	assert.Truef(t, x.Outcome == NotReached && strings.Contains(x.Reason, "cut off after 500ms"),
		"got %s (%s) %v, want not reached", x.Outcome, x.Reason, x.Evidence)
}

func TestWrongHarnessIsTold(t *testing.T) {
	conforming := func() Harness { return modelHarness(func(m *model.Model) adapter.Adapter { return m }) }
	for name, test := range map[string]struct {
		change func(h *Harness)
		want   string
	}{
		"the second handle is the first": {func(h *Harness) {
			h.Second = func(_ testing.TB, a adapter.Adapter) adapter.Adapter { return a }
		}, "Second returned the adapter that it was given"},
		"Close ends the store": {func(h *Harness) {
			store := &closing{Model: model.New()}
			h.New = func(testing.TB) adapter.Adapter { return &handle{closing: store} }
			h.Close = func(adapter.Adapter) error { store.closed = true; return nil }
		}, "Close of one adapter ends another"},
		"the adapter looks at a clock": {func(h *Harness) {
			h.New = func(testing.TB) adapter.Adapter { return hiding{model.New()} }
			h.Declarations.Timeless = true
		}, "Declarations.Timeless says"},
		"Close hangs": {func(h *Harness) {
			h.ClauseTimeout = 100 * time.Millisecond
			h.Close = func(adapter.Adapter) error { <-t.Context().Done(); return nil }
		}, "trying the harness hangs: no call has returned for "},
		"New returns nothing": {func(h *Harness) {
			h.New = func(testing.TB) adapter.Adapter { return nil }
		}, "New returned nil"},
	} {
		t.Run(name, func(t *testing.T) {
			h := conforming()
			test.change(&h)
			if _, err := Check(t.Context(), h, Options{}); err == nil || !strings.Contains(err.Error(), "the harness") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

// hiding lists no sessions that have expired.
type hiding struct{ *model.Model }

func (h hiding) ListSessionsByUserID(ctx context.Context, userID string) ([]adapter.Session, error) {
	list, err := h.Model.ListSessionsByUserID(ctx, userID)
	return slices.DeleteFunc(list, func(s adapter.Session) bool { return !s.Expires.After(time.Now()) }), err
}

// handle is one of many handles on a store that can be closed.
type handle struct{ *closing }

type closing struct {
	*model.Model
	closed bool
}

func (c *closing) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	if c.closed {
		return nil, os.ErrClosed
	}
	return c.Model.GetUser(ctx, id)
}

func TestSummaryNamesFieldsAndBrokenClauses(t *testing.T) {
	report := &Report{Adapter: "x", Suite: "v0.1.0", Complete: true, Results: []Result{
		{Clause: Clause{ID: "USER-01", Level: Must}, Outcome: Pass},
		{Clause: Clause{ID: "CTX-02", Level: Should}, Outcome: NotVerified, Needs: []string{"Faults"}},
		{Clause: Clause{ID: "ISO-03", Level: Must}, Outcome: NotVerified, Needs: []string{"Second"}},
		{Clause: Clause{ID: "FAULT-08", Level: Must}, Outcome: NotVerified, Needs: []string{"Faults"}},
		{Clause: Clause{ID: "VOL-04", Level: Should}, Outcome: Fail},
	}}
	const want = "adaptertest v0.1.0: x: conforms as far as verified (2 MUST not verified); MUST kept 1 of 3, SHOULD kept 0 of 2; broken SHOULD: VOL-04; " +
		"not verified: 3, of which these fields of the harness would verify more: Faults 2, Second 1"
	got := report.Summary()
	assert.Equalf(t, want, got, "got  %s\nwant %s", got, want)
}
