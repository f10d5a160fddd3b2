package records

import (
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// unknownOwner is an id that no user has.
type unknownOwner struct {
	what, ID string
	mayCome  bool // a user with this id can be created
}

func unknownOwners(c *kit.Context) []unknownOwner {
	owners := []unknownOwner{
		{"an unknown user", c.ID(), c.Works("CreateUser") && !c.Harness().Declarations.AssignsIDs},
		{"a malformed user id", "zzzzzzzzzzzzzzzzzzzzzzzz", false},
		{"a short user id", "zz-" + c.Unique(""), false},
	}
	if c.Works("DeleteUser") {
		u := c.User()
		c.DeleteUser(u.ID)
		owners = append(owners, unknownOwner{"a deleted user", u.ID, false})
	}
	return owners
}

// createUserWithID creates a user under a supplied id.
func createUserWithID(c *kit.Context, id string) *adapter.User {
	u := c.NewUser()
	u.ID = id
	return c.CreateUser(u)
}

// unknownUsers are IDs that no user has, well-formed and not.
func unknownUsers(c *kit.Context) []string {
	ids := []string{c.ID(), "", "nobody", "000000000000000000000000", "zzzzzzzzzzzzzzzzzzzzzzzz", "00000000-0000-0000-0000-000000000000", "99999999999999999999", "-1", "%", "*", "' OR ''='"}
	if c.Works("DeleteUser") {
		u := c.User().ID
		c.DeleteUser(u)
		ids = append(ids, u)
	}
	return ids
}
