// Package wiringstest opens servers and wirings for a test and closes them at its end.
package wiringstest

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
)

// Servers returns servers that are removed at the end of the test. What the container engine does not remove is logged, and
// the next run removes it.
func Servers(t testing.TB, o stores.Options) *stores.Stores {
	t.Helper()
	servers := stores.Open(o)
	t.Cleanup(func() {
		if err := servers.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Logf("a server is not removed: %v", err)
		}
	})
	return servers
}

// Server returns a server that is removed at the end of the test. If it is missing, Server calls [LeaveOut].
func Server(t testing.TB, o stores.Options, kind stores.Kind) *stores.Store {
	t.Helper()
	store, err := Servers(t, o).Find(t.Context(), kind)
	if err != nil {
		LeaveOut(t, err)
	}
	return store
}

// Open opens a wiring. If its server is missing, Open calls [LeaveOut].
func Open(t testing.TB, w wirings.Wiring, servers *stores.Stores) *wirings.Opened {
	t.Helper()
	o, err := w.Open(t.Context(), servers)
	if err != nil {
		LeaveOut(t, err)
	}
	t.Cleanup(func() {
		if err := o.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return o
}

// LeaveOut ends a test whose server is missing. The test is skipped if the machine can't offer the server, unless CI is
// true, and always if [stores.EnvSkip] is 1. Otherwise it fails.
func LeaveOut(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") != "true" && errors.Is(err, stores.ErrUnavailable) || os.Getenv(stores.EnvSkip) == "1" {
		t.Skipf("LEFT OUT: %v", err)
	}
	t.Fatal(err)
}
