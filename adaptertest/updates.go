package adaptertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// userFields are the fields of a user that an update can change.
var userFields = []string{"name", "email", "emailVerified", "image"}

// userFieldSets returns each field alone, and each pair of fields.
func userFieldSets() [][]string {
	var sets [][]string
	for i, f := range userFields {
		sets = append(sets, []string{f})
		for _, g := range userFields[i+1:] {
			sets = append(sets, []string{f, g})
		}
	}
	return sets
}

// userUpdate sets the fields to new values.
func (c *clauseContext) userUpdate(id string, fields []string) adapter.UserUpdate {
	v := c.newUser()
	update := adapter.UserUpdate{ID: id}
	for _, f := range fields {
		switch f {
		case "name":
			update.Name = adapter.To(v.Name)
		case "email":
			update.Email = adapter.To(v.Email)
		case "emailVerified":
			update.EmailVerified = adapter.To(v.EmailVerified)
		case "image":
			update.Image = adapter.To(v.Image)
		}
	}
	return update
}

// accountFields are the fields of an account that an update can change.
var accountFields = []string{"access token", "refresh token", "id token", "scope", "token type", "session state", "expires at", "authorization details"}

// accountUpdate returns an update of the given fields to new values.
func (c *clauseContext) accountUpdate(key adapter.AccountKey, fields []string) adapter.AccountUpdate {
	u := adapter.AccountUpdate{Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	for _, f := range fields {
		switch f {
		case "access token":
			u.AccessToken = adapter.To(new(c.secret("access-ŷ")))
		case "refresh token":
			u.RefreshToken = adapter.To(new(c.secret("refresh-ŷ")))
		case "id token":
			u.IDToken = adapter.To(new(c.secret("id-ŷ")))
		case "scope":
			u.Scope = adapter.To(new("openid " + c.unique("skopé")))
		case "token type":
			u.TokenType = adapter.To(new("bearer-" + c.unique("ŧ")))
		case "session state":
			u.SessionState = adapter.To(new(c.unique("státe")))
		case "expires at":
			u.ExpiresAt = adapter.To(new(c.instant(2*time.Hour).Unix() + c.next())) // no two are equal
		case "authorization details":
			u.AuthorizationDetails = adapter.To(json.RawMessage(fmt.Sprintf(`[{"type":%q,"n":[1,2.5,null]}]`, c.unique("détail"))))
		}
	}
	return u
}

// clearing returns an update of the field to null.
func clearing(key adapter.AccountKey, field string) adapter.AccountUpdate {
	u := adapter.AccountUpdate{Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	null := adapter.To[*string](nil)
	switch field {
	case "access token":
		u.AccessToken = null
	case "refresh token":
		u.RefreshToken = null
	case "id token":
		u.IDToken = null
	case "scope":
		u.Scope = null
	case "token type":
		u.TokenType = null
	case "session state":
		u.SessionState = null
	case "expires at":
		u.ExpiresAt = adapter.To[*int64](nil)
	case "authorization details":
		u.AuthorizationDetails = adapter.To[json.RawMessage](nil)
	}
	return u
}

// giveOwner gives each session the user whom it has already. The update may be
// refused.
func (c *clauseContext) giveOwner(sessions ...adapter.Session) {
	for _, s := range sessions {
		_, _ = c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(s.UserID)})
	}
}

// sessionsMove reports whether the owner of a session can change, which the
// contract leaves open [SESS-23].
func (c *clauseContext) sessionsMove() bool {
	if !c.works("UpdateSession") {
		return false
	}
	s, to := c.session(c.user().ID), c.user().ID
	moved, err := c.a.UpdateSession(c.ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(to)})
	return err == nil && (moved == nil || moved.UserID == to)
}
