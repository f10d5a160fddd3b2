package diff

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func TestRecords(t *testing.T) {
	now := time.Now()
	a := adapter.User{ID: "1", Name: new("Ada"), EmailVerified: &now}
	b := a
	b.EmailVerified = new(now.In(time.FixedZone("x", 3600)))
	if d := Records(&a, &b, time.Millisecond); d != "" {
		t.Errorf("equal instants differ: %s", d)
	}
	b.Name = nil
	if d := Records(&a, &b, time.Millisecond); d != `Name got "Ada", want nil` {
		t.Errorf("got %q", d)
	}
	x := adapter.Account{AuthorizationDetails: json.RawMessage(`[{"a":1, "b":2}]`)}
	y := adapter.Account{AuthorizationDetails: json.RawMessage(`[{"b":2,"a":1}]`)}
	if d := Records(x, y, 1); d != "" {
		t.Errorf("equal JSON differs: %s", d)
	}
	y.AuthorizationDetails = nil
	if Records(x, y, 1) == "" {
		t.Error("null and JSON do not differ")
	}
	if Records((*adapter.User)(nil), &a, 1) == "" || Records((*adapter.User)(nil), (*adapter.User)(nil), 1) != "" {
		t.Error("nil records compare wrongly")
	}
	if !errors.Is(adapter.ErrUnsupported, errors.ErrUnsupported) {
		t.Error("ErrUnsupported")
	}
}

// TestShowChanges shows an update: what it sets, with instants that a person can read.
func TestShowChanges(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	update := adapter.SessionUpdate{SessionToken: "t", Expires: adapter.To(end)}
	if got, want := Show(update), `{SessionToken: "t" Expires: 2026-11-25T12:00:00Z}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := Show(adapter.UserUpdate{EmailVerified: adapter.To(&end), Name: adapter.To[*string](nil)}); got != "{Name: nil EmailVerified: 2026-11-25T12:00:00Z}" {
		t.Error(got)
	}
}
