package kit

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// UserFields are the fields of a user that an update can change.
var UserFields = []string{"name", "email", "emailVerified", "image"}

// UserUpdate sets the fields to new values.
func UserUpdate(c *Context, id string, fields []string) adapter.UserUpdate {
	v := c.NewUser()
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

// AccountFields are the fields of an account that an update can change.
var AccountFields = []string{"access token", "refresh token", "id token", "scope", "token type", "session state", "expires at", "authorization details"}

// AccountUpdate returns an update of the given fields to new values.
func AccountUpdate(c *Context, key adapter.AccountKey, fields []string) adapter.AccountUpdate {
	u := adapter.AccountUpdate{Provider: key.Provider, ProviderAccountID: key.ProviderAccountID}
	for _, f := range fields {
		switch f {
		case "access token":
			u.AccessToken = adapter.To(new(c.Secret("access-ŷ")))
		case "refresh token":
			u.RefreshToken = adapter.To(new(c.Secret("refresh-ŷ")))
		case "id token":
			u.IDToken = adapter.To(new(c.Secret("id-ŷ")))
		case "scope":
			u.Scope = adapter.To(new("openid " + c.Unique("skopé")))
		case "token type":
			u.TokenType = adapter.To(new("bearer-" + c.Unique("ŧ")))
		case "session state":
			u.SessionState = adapter.To(new(c.Unique("státe")))
		case "expires at":
			u.ExpiresAt = adapter.To(new(c.Instant(2*time.Hour).Unix() + Next(c))) // no two are equal
		case "authorization details":
			if !c.Harness().Declarations.Keeps("Account.AuthorizationDetails") {
				continue
			}
			u.AuthorizationDetails = adapter.To(json.RawMessage(fmt.Sprintf(`[{"type":%q,"n":[1,2.5,null]}]`, c.Unique("détail"))))
		}
	}
	return u
}

// SessionsMove reports whether the owner of a session can change, which the
// contract leaves open [SESS-23].
func SessionsMove(c *Context) bool {
	if !c.Works("UpdateSession") {
		return false
	}
	s, to := c.Session(c.User().ID), c.User().ID
	moved, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(to)})
	return err == nil && (moved == nil || moved.UserID == to)
}
