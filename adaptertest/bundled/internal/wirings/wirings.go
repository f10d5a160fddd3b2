// Package wirings lists the ways in which the bundled adapters are used, each with a harness for the suite.
package wirings

import (
	"context"
	"slices"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// A Wiring is one way to use an adapter: with one server, one driver and one mode.
type Wiring struct {
	// Adapter is the name of the folder under adapters. Name distinguishes this wiring from the other wirings of the adapter.
	Adapter, Name string
	// Needs are the servers without which the wiring can't be opened.
	Needs []stores.Kind
	// Rounds is the share of the repetitions of races and histories that run over the wiring. It is 1 for the first wiring
	// of an adapter, and less for wirings that run the same code in another setting.
	Rounds float64

	open func(ctx context.Context, s *stores.Stores) (*Opened, error)
}

// String is the adapter and the name.
func (w Wiring) String() string { return w.Adapter + ", " + w.Name }

// Opened is a wiring that is ready: its server answers.
type Opened struct {
	// Server and Version name the product that keeps the records.
	Server, Version string
	Harness         adaptertest.Harness
	// Store is the server, nil for an embedded wiring.
	Store *stores.Store
	// Rounds is Rounds of the wiring, or less for a server that is too slow.
	Rounds float64

	close func(ctx context.Context) error
}

// Open makes the wiring ready. The error matches stores.ErrUnavailable if this machine can't offer the server.
func (w Wiring) Open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	o, err := w.open(ctx, s)
	if err != nil {
		return nil, err
	}
	if o.Rounds == 0 {
		o.Rounds = w.Rounds
	}
	return o, nil
}

// withoutSite leaves the fields about sites that exist out of a harness.
func withoutSite(h *adaptertest.Harness, why string) {
	h.Foreign, h.Settings, h.ReadOnly, h.Quoting, h.Reduced, h.Refusing = nil, nil, nil, nil, nil, nil
	h.Declarations.NoSite = map[string]string{"Foreign": why, "Settings": why, "ReadOnly": why, "Quoting": why, "Reduced": why, "Refusing": why}
}

// closeWithin is the longest wait for a server that removes records. A server of MySQL's protocol waits for a lock for a day.
const closeWithin = 2 * time.Minute

// Close removes the wiring's records from its server.
func (o *Opened) Close(ctx context.Context) error {
	if o.close == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	return o.close(ctx)
}

// fewer is the share of the rounds for all wirings of an adapter except the first.
const fewer = 0.1

// All returns every wiring of every bundled adapter, adapter by adapter. The first wiring of an adapter has the newest
// server of the most usual kind.
func All() []Wiring {
	all := slices.Concat(memoryWirings(), sqliteWirings(), postgresWirings(), mysqlWirings(), redisWirings(), mongoWirings())
	for i := range all {
		all[i].Rounds = 1
		if i > 0 && all[i].Adapter == all[i-1].Adapter {
			all[i].Rounds = fewer
		}
	}
	return all
}
