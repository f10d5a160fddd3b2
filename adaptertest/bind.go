package adaptertest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// bind returns the harness as clauses use it.
func (h *Harness) bind() *kit.Harness {
	b := &kit.Harness{
		New: h.New, SharedStore: h.SharedStore, Second: h.Second, Close: h.Close, Reopen: h.Reopen, Namespace: h.Namespace,
		Sweep: h.Sweep, Faults: h.Faults, Single: h.Single, Limited: h.Limited, Pooled: h.Pooled,
		Connections: h.Connections, CheckHandle: h.CheckHandle, NewID: h.NewID, InternalNames: h.InternalNames,
		ClauseTimeout: h.ClauseTimeout, Declarations: kit.Declarations(h.Declarations),
		Settings: h.Settings, ReadOnly: h.ReadOnly, Quoting: h.Quoting, Refusing: h.Refusing,
	}
	if h.Clock != nil {
		b.Clock = func(a adapter.Adapter) kit.HarnessClock { return h.Clock(a) }
	}
	if h.Corrupt != nil {
		b.Corrupt = func(t testing.TB, a adapter.Adapter, r kit.Record) func() { return h.Corrupt(t, a, recordOf(r)) }
	}
	if h.Inspect != nil {
		b.Inspect = func(ctx context.Context, a adapter.Adapter, r kit.Record) (bool, error) {
			return h.Inspect(ctx, a, recordOf(r))
		}
	}
	if h.Foreign != nil {
		b.Foreign = func(t testing.TB) []kit.Foreign {
			return kit.Map(h.Foreign(t), func(f Foreign) kit.Foreign { return kit.Foreign(f) })
		}
	}
	if h.Reduced != nil {
		b.Reduced = func(t testing.TB) []kit.Reduced {
			return kit.Map(h.Reduced(t), func(r Reduced) kit.Reduced { return kit.Reduced(r) })
		}
	}
	return b
}

// recordOf returns the record as a harness gets it.
func recordOf(r kit.Record) Record {
	return Record{Kind: Kind(r.Kind), Key: r.Key, Account: r.Account, Token: r.Token}
}

// result returns the result of a clause: what its check found, for the level of the clause and its waiver.
func (r *run) result(clause Clause, f kit.Finding, d time.Duration) Result {
	x := Result{Clause: clause, Outcome: Outcome(f.Outcome), Duration: d, Reason: f.Reason, Needs: f.Needs, Evidence: f.Evidence, Advice: f.Advice}
	if x.Outcome == Pass && clause.Level == May {
		x.Outcome = Recorded
	}
	if x.Reason == kit.Hangs {
		return x
	}
	if sentence := r.options.Profile.sentence(clause.ID); x.Outcome == Fail && sentence != "" {
		x.Outcome, x.Reason = NotApplicable, fmt.Sprintf("profile %s: %s", r.options.Profile.Name, sentence)
	}
	w, waived := r.harness.waiver(clause.ID)
	switch {
	case waived && x.Outcome == Fail:
		x.Outcome, x.Reason = Waived, w.reason()
	case waived && w.Racy && x.Outcome == Pass:
		x.Outcome, x.Reason = Waived, w.reason()+" (a race, which passed by luck this time)"
	case waived && x.Outcome == Pass:
		x.Outcome, x.Reason = Fail, kit.StaleWaiver
		x.Evidence = append(slices.Clone(x.Evidence), "the clause is waived ("+w.Reason+") and passes: remove the waiver")
	}
	return x
}
