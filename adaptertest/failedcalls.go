package adaptertest

import (
	"maps"

	"github.com/gatehouse-go/gatehouse/adaptertest/fault"
)

// failure is the error of a call that met a fault.
type failure struct {
	what string
	err  error
}

// faultOf is a kind of fault that a method meets.
type faultOf struct {
	method string
	kind   fault.Kind
}

// metFault keeps the errors of a method that has met a kind of fault at each of
// its steps, for the clauses that judge the errors of the whole run.
func (r *run) metFault(method string, kind fault.Kind, errs []failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.met == nil {
		r.met = map[faultOf][]failure{}
	}
	x := faultOf{method, kind}
	r.met[x] = append(r.met[x], errs...)
}

// faultsMet returns what metFault has kept.
func (r *run) faultsMet() map[faultOf][]failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.met)
}

// failing calls every lookup and every write while the store fails, once in a
// run, and passes the errors to judge.
func (c *clauseContext) failing(judge func(what string, err error)) {
	if c.run.failed == nil {
		c.run.failed = c.failedCalls()
	}
	for _, f := range c.run.failed {
		judge(f.what, f.err)
	}
}

// failedCalls calls every lookup and every write while the store fails.
func (c *clauseContext) failedCalls() []failure {
	failed := []failure{}
	control := c.faults()
	b := c.residents(1)[0]
	reads, writes := c.lookups(), c.writes()
	turn := 0
	one := func(what string, call func(c *clauseContext) (any, error)) {
		turn++
		for _, kind := range c.kindsFor(turn, len(reads)+len(writes), control, []fault.Kind{fault.FailRequest, fault.Down}) {
			in := c.inject(control, kind, 1)
			if _, err := c.bounded(limitWith(kind), call); err != nil && (isHit(in) || willBeHit(in)) {
				failed = append(failed, failure{what + " of a store that fails", err})
			}
			c.heal()
		}
	}
	for _, k := range reads {
		if key, ok := b.key(k); ok {
			one(k.method, func(c *clauseContext) (any, error) { return k.call(c, c.a, key) })
		}
	}
	for _, w := range writes {
		change, _ := w.prepare(c)
		one(w.method, func(c *clauseContext) (any, error) { return change.do(c.ctx, c.a) })
	}
	return failed
}
