package adaptertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
)

// siteFields are the fields about sites that exist, and whether they are set.
func (h *Harness) siteFields() map[string]bool {
	return map[string]bool{"Foreign": h.Foreign != nil, "Settings": h.Settings != nil, "ReadOnly": h.ReadOnly != nil,
		"Quoting": h.Quoting != nil, "Reduced": h.Reduced != nil, "Refusing": h.Refusing != nil}
}

// validateSite returns the problems of Declarations.NoSite.
func (h *Harness) validateSite() (problems []error) {
	fields := h.siteFields()
	for _, name := range slices.Sorted(maps.Keys(h.Declarations.NoSite)) {
		switch set, known := fields[name]; {
		case !known:
			problems = append(problems, fmt.Errorf("adaptertest: Declarations.NoSite names %q, want one of %q", name, slices.Sorted(maps.Keys(fields))))
		case set:
			problems = append(problems, fmt.Errorf("adaptertest: Harness.%s is set, and Declarations.NoSite says that it can't be", name))
		case h.Declarations.NoSite[name] == "":
			problems = append(problems, fmt.Errorf("adaptertest: Declarations.NoSite gives no reason for %s", name))
		}
	}
	return problems
}

// bindSite sets the fields about sites that exist.
func (h *Harness) bindSite(b *kit.Harness) {
	b.Settings, b.ReadOnly, b.Quoting, b.Refusing = h.Settings, h.ReadOnly, h.Quoting, h.Refusing
	if h.Foreign != nil {
		b.Foreign = func(t testing.TB) (all []kit.Foreign) {
			for _, f := range h.Foreign(t) {
				all = append(all, kit.Foreign(f))
			}
			return all
		}
	}
	if h.Reduced != nil {
		b.Reduced = func(t testing.TB) (all []kit.Reduced) {
			for _, r := range h.Reduced(t) {
				all = append(all, kit.Reduced(r))
			}
			return all
		}
	}
}
