package adaptertest

import (
	"fmt"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// separators are what careless stores put between the texts of a list, or around
// them. There is no NUL, which a lookup may refuse [INPUT-10].
var separators = []string{
	",", ", ", ":", ";", "/", "|", "#", "&", "=", "+", " ", ".", "-", "_", "\\", `","`, "\t", "\n", "\x1e", "\x1f",
}

// joinedKeys returns two keys, and both together with each separator between: a
// list of them is the same text as the joined key.
func joinedKeys(a, b string) []nearMiss {
	keys := []nearMiss{{"nothing joined to it", a}, {"nothing joined to it", b}}
	for _, sep := range separators {
		keys = append(keys, nearMiss{fmt.Sprintf("%q between two others", sep), a + sep + b})
	}
	return keys
}

// joinedSessions creates sessions of a user whose tokens are joined keys.
func (c *clauseContext) joinedSessions(userID string) (all []adapter.Session) {
	for _, key := range joinedKeys(c.secret("session"), c.secret("session")) {
		s := c.newSession(userID)
		s.SessionToken = key.value
		if _, err := c.a.CreateSession(c.ctx, s); c.stored("CreateSession", key, err) {
			all = append(all, s)
		}
	}
	return all
}

// joinedAccounts links accounts of a user with joined keys in both halves.
func (c *clauseContext) joinedAccounts(userID string) (all []adapter.Account) {
	for _, key := range joinedKeys(c.unique("one"), c.unique("two")) {
		x := c.accountWith(userID, adapter.AccountKey{Provider: key.value, ProviderAccountID: key.value})
		if _, err := c.a.LinkAccount(c.ctx, x); c.stored("LinkAccount", key, err) {
			all = append(all, x)
		}
	}
	return all
}

// joinedAuthenticators creates authenticators of a user whose credential IDs are
// joined keys.
func (c *clauseContext) joinedAuthenticators(userID string) (all []adapter.Authenticator) {
	for _, key := range joinedKeys(c.unique("credential"), c.unique("credential")) {
		w := c.newAuthenticator(userID)
		w.CredentialID = key.value
		if _, err := c.a.CreateAuthenticator(c.ctx, w); c.stored("CreateAuthenticator", key, err) {
			all = append(all, w)
		}
	}
	return all
}
