package records

import (
	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// surround gives a user two records of each kind but one, so that a list of that
// kind which joins another one would have each record twice. The accounts and
// authenticators are connected to the account IDs.
func surround(c *kit.Context, userID string, but kit.Kind, connections ...string) {
	for _, kind := range []kit.Kind{kit.AccountRecord, kit.SessionRecord, kit.AuthenticatorRecord} {
		if kind == but || !c.Works(kit.KindOf(kind).Create) {
			continue
		}
		for range 2 {
			for _, connection := range append(connections, c.Unique("connection")) {
				switch kind {
				case kit.AccountRecord:
					x := c.NewAccount(userID)
					x.Type, x.Provider, x.ProviderAccountID = adapter.AccountWebAuthn, c.Unique("provider"), connection
					c.LinkAccount(x)
				case kit.SessionRecord:
					c.Session(userID)
				case kit.AuthenticatorRecord:
					x := c.NewAuthenticator(userID)
					x.ProviderAccountID = connection
					c.CreateAuthenticator(x)
				}
			}
		}
	}
}
