package kit

import (
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Searches for remains of deleted records.

// InStore looks for the record in the store without the adapter. known is false if the
// harness can't.
func InStore(c *Context, r Record) (there, known bool) {
	inspect := c.Harness().Inspect
	if inspect == nil {
		return false, false
	}
	there, err := inspect(c.Ctx, c.Raw, r)
	return Must(c, "Inspect", there, err), true
}

// ReallyGone looks for the record in the store without the adapter, if the
// harness can.
func ReallyGone(c *Context, what string, r Record) {
	if there, _ := InStore(c, r); there {
		c.Errorf("%s: the %s is still in the store", what, r.Kind)
	}
}

// NothingOf returns an error that names the records that are found under the
// keys.
func NothingOf(c *Context, look Keys) error {
	seen, err := Snapshot(c.Ctx, c, c.Raw, look)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !IsNothing(s.Record) {
			err = errors.Join(err, fmt.Errorf("%s got %s, want absent", s, diff.Show(s.Record)))
		}
	}
	return err
}

// Inherited creates a new user with the ID of a deleted one, and returns an
// error if records are found under the keys: records that were only hidden come
// back then.
func Inherited(c *Context, id string, look Keys) error {
	again := c.NewUser()
	again.ID = id
	u, createErr := c.Raw.CreateUser(c.Ctx, again)
	if createErr != nil || u == nil || u.ID != id {
		return nil //nolint:nilerr // the store does not use an ID twice, or creation is broken
	}
	look.Users = nil
	err := NothingOf(c, look)
	if list, listErr := listOf(c, id); len(list) > 0 || listErr != nil {
		err = errors.Join(err, listErr, fmt.Errorf("the list of authenticators is %s", diff.Show(list)))
	}
	_, deleteErr := c.Raw.DeleteUser(c.Ctx, id)
	if err != nil {
		err = fmt.Errorf("a new user with the same id inherits: %w", err)
	}
	return errors.Join(err, deleteErr)
}

func listOf(c *Context, id string) ([]adapter.Authenticator, error) {
	if !c.Works("ListAuthenticatorsByUserID") {
		return nil, nil
	}
	return c.Raw.ListAuthenticatorsByUserID(c.Ctx, id)
}
