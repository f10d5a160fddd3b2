package adaptertest

import (
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Searches for remains of deleted records.

// reallyGone looks for the record in the store without the adapter, if the
// harness can.
func (c *clauseContext) reallyGone(what string, r Record) {
	inspect := c.harness().Inspect
	if inspect == nil {
		return
	}
	there, err := inspect(c.ctx, c.raw, r)
	if err != nil {
		c.Errorf("Inspect: %v", err)
	} else if there {
		c.Errorf("%s: the %s is still in the store", what, r.Kind)
	}
}

// nothingOf returns an error that names the records that are found under the
// keys.
func (c *clauseContext) nothingOf(look keys) error {
	seen, err := c.snapshot(c.ctx, c.raw, look)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !isNothing(s.record) {
			err = errors.Join(err, fmt.Errorf("%s got %s, want absent", s, diff.Show(s.record)))
		}
	}
	return err
}

// inherited creates a new user with the ID of a deleted one, and returns an
// error if records are found under the keys: records that were only hidden come
// back then.
func (c *clauseContext) inherited(id string, look keys) error {
	again := c.newUser()
	again.ID = id
	u, createErr := c.raw.CreateUser(c.ctx, again)
	if createErr != nil || u == nil || u.ID != id {
		return nil //nolint:nilerr // the store does not use an ID twice, or creation is broken
	}
	look.users = nil
	err := c.nothingOf(look)
	if list, listErr := c.listOf(id); len(list) > 0 || listErr != nil {
		err = errors.Join(err, listErr, fmt.Errorf("the list of authenticators is %s", diff.Show(list)))
	}
	_, deleteErr := c.raw.DeleteUser(c.ctx, id)
	if err != nil {
		err = fmt.Errorf("a new user with the same id inherits: %w", err)
	}
	return errors.Join(err, deleteErr)
}

func (c *clauseContext) listOf(id string) ([]adapter.Authenticator, error) {
	if !c.works("ListAuthenticatorsByUserID") {
		return nil, nil
	}
	return c.raw.ListAuthenticatorsByUserID(c.ctx, id)
}
