package records

import (
	"fmt"

	"github.com/gatehouse-go/gatehouse/adaptertest/internal/kit"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// separators are what careless stores put between the texts of a list, or around
// them. There is no NUL, which a lookup may refuse [INPUT-10].
var separators = []string{
	",", ", ", ":", ";", "/", "|", "#", "&", "=", "+", " ", ".", "-", "_", "\\", `","`, "\t", "\n", "\x1e", "\x1f",
}

// joinedKeys returns two keys, and both together with each separator between: a
// list of them is the same text as the joined key.
func joinedKeys(a, b string) []kit.NearMiss {
	keys := []kit.NearMiss{{Name: "nothing joined to it", Value: a}, {Name: "nothing joined to it", Value: b}}
	for _, sep := range separators {
		keys = append(keys, kit.NearMiss{Name: fmt.Sprintf("%q between two others", sep), Value: a + sep + b})
	}
	return keys
}

// joinedSessions creates sessions of a user whose tokens are joined keys.
func joinedSessions(c *kit.Context, userID string) (all []adapter.Session) {
	for _, key := range joinedKeys(c.Secret("session"), c.Secret("session")) {
		s := c.NewSession(userID)
		s.SessionToken = key.Value
		if _, err := c.Adapter.CreateSession(c.Ctx, s); stored(c, "CreateSession", key, err) {
			all = append(all, s)
		}
	}
	return all
}

// joinedAccounts links accounts of a user with joined keys in both halves.
func joinedAccounts(c *kit.Context, userID string) (all []adapter.Account) {
	for _, key := range joinedKeys(c.Unique("one"), c.Unique("two")) {
		x := accountWith(c, userID, adapter.AccountKey{Provider: key.Value, ProviderAccountID: key.Value})
		if _, err := c.Adapter.LinkAccount(c.Ctx, x); stored(c, "LinkAccount", key, err) {
			all = append(all, x)
		}
	}
	return all
}

// joinedAuthenticators creates authenticators of a user whose credential IDs are
// joined keys.
func joinedAuthenticators(c *kit.Context, userID string) (all []adapter.Authenticator) {
	for _, key := range joinedKeys(c.Unique("credential"), c.Unique("credential")) {
		w := c.NewAuthenticator(userID)
		w.CredentialID = key.Value
		if _, err := c.Adapter.CreateAuthenticator(c.Ctx, w); stored(c, "CreateAuthenticator", key, err) {
			all = append(all, w)
		}
	}
	return all
}
