package records

import (
	"errors"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// shownAsBefore reports a breach if the name or an instant of an authenticator was stored before and is missing
// now: a store keeps these fields always or never.
func shownAsBefore(c *kit.Context, what string, got, before *adapter.Authenticator) {
	if got == nil || before == nil {
		return
	}
	if before.Name != nil && got.Name == nil || before.Created != nil && got.Created == nil || before.LastUsed != nil && got.LastUsed == nil {
		c.Errorf("%s: got %s, which has lost what was shown before: %s", what, diff.Show(got), diff.Show(before))
	}
}

// counted reports a breach unless the deletion reports this number.
func counted(c *kit.Context, what string, deletion kit.Call, want int) {
	if n := kit.Of[int64](c, deletion); n != int64(want) {
		c.Errorf("%s: reports %d deleted, want %d", what, n, want)
	}
}

// failsAs reports a breach unless the call fails with an error that matches this sentinel and none of the others. It
// reports whether the call fails.
func failsAs(c *kit.Context, what string, call kit.Call, sentinel error, others ...error) bool {
	names := map[error]string{
		adapter.ErrConflict: "ErrConflict", adapter.ErrNotFound: "ErrNotFound", adapter.ErrLastCredential: "ErrLastCredential",
	}
	got, err := call.Do(c.Ctx, c.Adapter)
	if !c.Fails(what, got, err) {
		return false
	}
	if !errors.Is(err, sentinel) {
		c.Errorf("%s: the error does not match %s: %v", what, names[sentinel], err)
	}
	for _, other := range others {
		if errors.Is(err, other) {
			c.Errorf("%s: the error matches %s: %v", what, names[other], err)
		}
	}
	return true
}
