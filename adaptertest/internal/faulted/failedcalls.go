package faulted

import (
	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// Failing calls every lookup and every write while the store fails, once in a
// run, and passes the errors to judge.
func Failing(c *kit.Context, judge func(what string, err error)) {
	if c.Run.Failed == nil {
		c.Run.Failed = FailedCalls(c)
	}
	for _, f := range c.Run.Failed {
		judge(f.What, f.Err)
	}
}

// FailedCalls calls every lookup and every write while the store fails.
func FailedCalls(c *kit.Context) []kit.Failure {
	failed := []kit.Failure{}
	control := kit.Faults(c)
	b := kit.Residents(c, 1)[0]
	reads, writes := kit.Lookups(c), kit.Writes(c)
	turn := 0
	one := func(what string, call func(c *kit.Context) (any, error)) {
		turn++
		for _, kind := range KindsFor(c, turn, len(reads)+len(writes), control, []fault.Kind{fault.FailRequest, fault.Down}) {
			in := Inject(c, control, kind, 1)
			if _, err := Bounded(c, LimitWith(kind), call); err != nil && (IsHit(in) || WillBeHit(in)) {
				failed = append(failed, kit.Failure{What: what + " of a store that fails", Err: err})
			}
			Heal(c)
		}
	}
	for _, k := range reads {
		if key, ok := b.Key(k); ok {
			one(k.Name, func(c *kit.Context) (any, error) { return k.Call(c, c.Adapter, key) })
		}
	}
	for _, w := range writes {
		change, _ := w.Prepare(c)
		one(w.Method, func(c *kit.Context) (any, error) { return change.Do(c.Ctx, c.Adapter) })
	}
	return failed
}
