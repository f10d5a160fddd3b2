package diff

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

func TestRecords(t *testing.T) {
	now := time.Now()
	a := adapter.User{ID: "1", Name: new("Ada"), EmailVerified: &now}
	b := a
	b.EmailVerified = new(now.In(time.FixedZone("x", 3600)))
	assert.Empty(t, Records(&a, &b, time.Millisecond), "equal instants differ")
	b.Name = nil
	assert.Equal(t, `Name got "Ada", want nil`, Records(&a, &b, time.Millisecond))
	x := adapter.Account{AuthorizationDetails: json.RawMessage(`[{"a":1, "b":2}]`)}
	y := adapter.Account{AuthorizationDetails: json.RawMessage(`[{"b":2,"a":1}]`)}
	assert.Empty(t, Records(x, y, 1), "equal JSON differs")
	y.AuthorizationDetails = nil
	assert.NotEmpty(t, Records(x, y, 1), "null and JSON do not differ")
	assert.True(t, Records((*adapter.User)(nil), &a, 1) != "" && Records((*adapter.User)(nil), (*adapter.User)(nil), 1) == "",
		"nil records compare wrongly")
	assert.ErrorIs(t, adapter.ErrUnsupported, errors.ErrUnsupported, "ErrUnsupported")
}

// TestShowChanges shows an update: what it sets, with instants that a person can read.
func TestShowChanges(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	update := adapter.SessionUpdate{SessionToken: "t", Expires: adapter.To(end)}
	got, want := Show(update), `{SessionToken: "t" Expires: 2026-11-25T12:00:00Z}`
	assert.Equal(t, want, got)
	got = Show(adapter.UserUpdate{EmailVerified: adapter.To(&end), Name: adapter.To[*string](nil)})
	assert.Equal(t, "{Name: nil EmailVerified: 2026-11-25T12:00:00Z}", got)
}
