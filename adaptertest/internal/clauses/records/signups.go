package records

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/race"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// leftNothing reports the records that a failed sign-up has left.
func leftNothing(c *kit.Context, what string, s kit.Draft) {
	if err := kit.NothingOf(c, s.Keys()); err != nil {
		c.Errorf("%s left something behind: %v", what, err)
	}
}

// cancelledSignUp makes a sign-up with a cancelled context, which must fail and leave nothing.
func cancelledSignUp(c *kit.Context, call kit.Call, s kit.Draft) {
	cancelled, cancel := context.WithCancel(c.Ctx)
	cancel()
	what := call.Method + " with a cancelled context"
	got, err := call.Do(cancelled, c.Adapter)
	c.Fails(what, got, err)
	leftNothing(c, what, s)
}

// asSignedUp returns the user who was to sign up, with the ID and the spelling of the address that the call returned.
func asSignedUp(c *kit.Context, method string, want adapter.User, got *adapter.User) adapter.User {
	if want.ID != "" && got.ID != want.ID && !c.Harness().Declarations.AssignsIDs {
		c.Errorf("%s replaced the ID %q by %q, which is not declared", method, want.ID, got.ID)
	}
	want.ID, want.Email = got.ID, kit.AddressAs(c, want.Email, got.Email)
	return want
}

// rawIs returns an error unless the lookup finds the record, or with a nil one none.
func rawIs(c *kit.Context, lookup kit.Call, want any) error {
	got, err := lookup.Do(c.Ctx, c.Raw)
	if err != nil {
		return err
	}
	d := c.Unlike(got, want)
	return race.Unless(d == "", "%s: %s", lookup.Method, d)
}

// arrangeSignUpAndLook lets a sign-up race with lookups of the user, and then of what is stored with the user.
func arrangeSignUpAndLook(signUp kit.Call, email, second string, belonging func(*adapter.User) kit.Call) race.Case {
	seenAlone := fmt.Errorf("the user was seen, and %s found nothing", second)
	look := kit.NewCall("GetUserByEmail, then "+second, func(ctx context.Context, a adapter.Adapter) (*adapter.User, error) {
		u, err := a.GetUserByEmail(ctx, email)
		if err != nil || u == nil {
			return nil, err
		}
		found, err := belonging(u).Do(ctx, a)
		if err == nil && kit.IsNilRecord(found) {
			err = seenAlone
		}
		return u, err
	}, email)
	return race.Case{Calls: []kit.Call{signUp, look}, Verify: func(h []race.Operation) error {
		return race.Unless(!errors.Is(h[1].Err, seenAlone), "%v", seenAlone)
	}}
}
