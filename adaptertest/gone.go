package adaptertest

import (
	"errors"
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/diff"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// What is left of a record that was deleted.

// reallyGone looks behind the adapter, where the harness can.
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

// nothingOf reports what is found under the keys.
func (c *clauseContext) nothingOf(look keys) error {
	seen, err := c.snapshot(c.ctx, c.raw, look)
	if err != nil {
		return err
	}
	for _, s := range seen {
		if !isNothing(s.record) {
			err = errors.Join(err, fmt.Errorf("%s got %s, want absent", s.lookup, diff.Show(s.record)))
		}
	}
	return err
}

// inherited reports what is found under the keys of a deleted user by a new one
// with the same ID: what was merely hidden comes back.
func (c *clauseContext) inherited(id string, look keys) error {
	again := c.newUser()
	again.ID = id
	u, createErr := c.raw.CreateUser(c.ctx, again)
	if createErr != nil || u == nil || u.ID != id {
		return nil //nolint:nilerr // an ID is not used twice, or creating is broken
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
