package adaptertest

import (
	"strings"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// unknownOwner is an id that no user has.
type unknownOwner struct {
	what, id string
	mayCome  bool // a user with this id can be created
}

func (c *clauseContext) unknownOwners() []unknownOwner {
	owners := []unknownOwner{
		{"an unknown user", c.id(), c.works("CreateUser") && !c.harness().Declarations.AssignsIDs},
		{"a malformed user id", "zzzzzzzzzzzzzzzzzzzzzzzz", false},
		{"a short user id", "zz-" + c.unique(""), false},
	}
	if c.works("DeleteUser") {
		u := c.user()
		c.deleteUser(u.ID)
		owners = append(owners, unknownOwner{"a deleted user", u.ID, false})
	}
	return owners
}

// createUserWithID creates a user under a supplied id.
func (c *clauseContext) createUserWithID(id string) *adapter.User {
	u := c.newUser()
	u.ID = id
	return c.createUser(u)
}

// unknownUsers are IDs that no user has, well-formed and not.
func (c *clauseContext) unknownUsers() []string {
	ids := []string{c.id(), "", "nobody", "000000000000000000000000", "zzzzzzzzzzzzzzzzzzzzzzzz", "00000000-0000-0000-0000-000000000000", "99999999999999999999", "-1", "%", "*", "' OR ''='"}
	if c.works("DeleteUser") {
		u := c.user().ID
		c.deleteUser(u)
		ids = append(ids, u)
	}
	return ids
}

// malformedIDs returns ids that stores can't represent, and near misses of
// known.
func malformedIDs(known string) []string {
	ids := []string{
		"", " ", "x", "0", "-1", "zzzzzzzzzzzzzzzzzzzzzzzz", "0123456789abcdef0123456g",
		"123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456-4266141740001", "{123e4567-e89b-12d3-a456-426614174000}",
		"1234567890123456789012345", "99999999999999999999", "1e3", "a/b", "../" + known, "NaN", "ÿ", "\U0001F511",
		known + " ", " " + known, known + "x", known + "\n", known + "/",
	}
	if len(known) >= 16 { // a shorter id may be a counter, and a part of it the id of another user
		ids = append(ids, known[:len(known)-1], known[1:])
	}
	for _, other := range []string{
		strings.ToUpper(known), strings.ToLower(known), strings.ReplaceAll(known, "-", ""), "{" + known + "}", "urn:uuid:" + known,
		"+" + known, "0" + known, known + ".0",
	} {
		if other != known {
			ids = append(ids, other)
		}
	}
	return ids
}
