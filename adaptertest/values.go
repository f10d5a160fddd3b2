package adaptertest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Fixtures have no zero values, no round milliseconds and no plain-ASCII text.
// Every key is unique to the run and contains its seed. So the suite notices a
// store that drops, cuts, folds or mixes up values.

// unique returns a string that no other call in any run returns. It holds the
// word, the seed of the run and letters outside ASCII.
func (c *clauseContext) unique(word string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	return fmt.Sprintf("%s-ü%x-%s-%s-%d", word, c.run.options.Seed, c.run.nonce, c.clause.ID, c.serial)
}

// next returns a number that is new in the clause.
func (c *clauseContext) next() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serial++
	return int64(c.serial)
}

// secret returns a unique string that no error may contain [ERR-08].
func (c *clauseContext) secret(word string) string {
	s := c.unique(word)
	c.run.addSecret(s)
	return s
}

// id returns a well-formed user ID that no user has.
func (c *clauseContext) id() string { return c.run.newID() }

// instant returns an instant d from now, in UTC, whose milliseconds are not
// round.
func (c *clauseContext) instant(d time.Duration) time.Time {
	t := c.now().Add(d).UTC().Truncate(time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	ms := 101 + c.rand.IntN(799)
	if ms%10 == 0 {
		ms++
	}
	return t.Add(time.Duration(ms) * time.Millisecond)
}

// address returns a unique e-mail address. It is in lower case, because an
// adapter that declares EmailFoldsCase may store it in lower case.
func (c *clauseContext) address(word string) string {
	return lowerASCII(c.unique(word)) + "@bücher.example"
}

// newUser returns a user with every field except the ID set.
func (c *clauseContext) newUser() adapter.User {
	return adapter.User{
		Name:          new(c.unique("Zoë ☂ 王")),
		Email:         c.address("zoë"),
		EmailVerified: new(c.instant(-48 * time.Hour)),
		Image:         new("https://img.example/" + c.unique("ž") + "?s=1&t=2"),
	}
}

var accountTypes = []adapter.AccountType{adapter.AccountOAuth, adapter.AccountOIDC, adapter.AccountEmail, adapter.AccountWebAuthn}

// newAccount returns an account of the user with every field set.
func (c *clauseContext) newAccount(userID string) adapter.Account {
	return adapter.Account{
		UserID:            userID,
		Type:              adapter.AccountOIDC,
		Provider:          c.unique("próvider"),
		ProviderAccountID: c.unique("subject-ß"),
		AccessToken:       new(c.secret("access-é")),
		RefreshToken:      new(c.secret("refresh-é")),
		IDToken:           new(c.secret("id-é")),
		Scope:             new("openid profile " + c.unique("skopé")),
		TokenType:         new("bearer-" + c.unique("ŧ")),
		SessionState:      new(c.unique("státe")),
		ExpiresAt:         new(c.instant(time.Hour).Unix()),
		AuthorizationDetails: json.RawMessage(fmt.Sprintf(
			`[{"type":%q,"locations":["https://api.example/ä"],"limit":{"amount":12.5,"deep":[1,null,true]}}]`, c.unique("détail"))),
	}
}

// newSession returns a session of the user that expires in an hour.
func (c *clauseContext) newSession(userID string) adapter.Session {
	return adapter.Session{SessionToken: c.secret("session-ø"), UserID: userID, Expires: c.instant(time.Hour)}
}

// newToken returns a verification token that expires in an hour.
func (c *clauseContext) newToken() adapter.VerificationToken {
	return adapter.VerificationToken{
		Identifier: c.address("ada"), Token: c.secret("token-å"), Expires: c.instant(time.Hour),
	}
}

// newAuthenticator returns an authenticator of the user with every field set.
func (c *clauseContext) newAuthenticator(userID string) adapter.Authenticator {
	return adapter.Authenticator{
		CredentialID:         c.unique("credential-ñ+/_-="),
		UserID:               userID,
		ProviderAccountID:    c.unique("passkey-ö"),
		CredentialPublicKey:  c.secret("public-key-é"),
		Counter:              7,
		CredentialBackedUp:   true,
		CredentialDeviceType: "multiDevice-ï",
		Transports:           new("usb,ble,ñfc"),
		Name:                 new(c.unique("Schlüssel 🔑")),
		Created:              new(c.instant(-72 * time.Hour)),
		LastUsed:             new(c.instant(-24 * time.Hour)),
	}
}
