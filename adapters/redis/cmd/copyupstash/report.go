package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
)

// A report counts the outcomes. It prints each record that can't be copied at
// once.
type report struct {
	out     io.Writer
	mu      sync.Mutex
	counts  [kinds]map[string]int
	dropped map[string]int // fields that Gatehouse does not store
	refused int
}

// outcomes are counted for each kind, and printed in this order.
var outcomes = []string{"copied", "changed", "unchanged", "deleted", "expired", "refused"}

func (r *report) count(k kind, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts[k] == nil {
		r.counts[k] = map[string]int{}
	}
	r.counts[k][outcome]++
}

// refuse prints why a record, or a part of it, was not copied. The name must hold
// no secret.
func (r *report) refuse(k kind, name, reason string) {
	r.count(k, "refused")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused++
	_, _ = fmt.Fprintf(r.out, "not copied: %s: %q: %s\n", k, name, reason)
}

// drop counts fields that are not copied.
func (r *report) drop(k kind, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped == nil {
		r.dropped = map[string]int{}
	}
	for _, name := range names {
		r.dropped[fmt.Sprintf("field %q of %s, which Gatehouse does not store", name, k)]++
	}
}

func (r *report) print() {
	for _, text := range slices.Sorted(maps.Keys(r.dropped)) {
		_, _ = fmt.Fprintf(r.out, "left behind: %s: %d times\n", text, r.dropped[text])
	}
	for k := range kinds {
		_, _ = fmt.Fprintf(r.out, "%s:", k)
		for i, outcome := range outcomes {
			if i > 0 {
				_, _ = fmt.Fprint(r.out, ",")
			}
			_, _ = fmt.Fprintf(r.out, " %d %s", r.counts[k][outcome], outcome)
		}
		_, _ = fmt.Fprintln(r.out)
	}
}
