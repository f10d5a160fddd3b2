package memory

import (
	"bytes"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// The store copies a record when it receives it and when it returns it. When
// it receives a record, it copies the text too: a string may be a small part
// of a large request, or lie in a buffer that is used again. [ALIAS-02]
// [ALIAS-03] [ALIAS-05]

// instant is a time in UTC without a monotonic clock reading. [TIME-09]
type instant = time.Time

func ownUser(u adapter.User) adapter.User {
	u.ID = strings.Clone(u.ID)
	u.Name = ownText(u.Name)
	u.Email = strings.Clone(u.Email)
	u.EmailVerified = ownTime(u.EmailVerified)
	u.Image = ownText(u.Image)
	return u
}

func ownAccount(a adapter.Account) adapter.Account {
	a.Type = adapter.AccountType(strings.Clone(string(a.Type)))
	a.Provider = strings.Clone(a.Provider)
	a.ProviderAccountID = strings.Clone(a.ProviderAccountID)
	for _, text := range []**string{&a.AccessToken, &a.RefreshToken, &a.IDToken, &a.Scope, &a.TokenType, &a.SessionState} {
		*text = ownText(*text)
	}
	a.ExpiresAt = copied(a.ExpiresAt)
	a.AuthorizationDetails = bytes.Clone(a.AuthorizationDetails)
	if len(a.AuthorizationDetails) == 0 {
		a.AuthorizationDetails = nil
	}
	return a
}

func ownToken(t adapter.VerificationToken) adapter.VerificationToken {
	t.Identifier = strings.Clone(t.Identifier)
	t.Token = strings.Clone(t.Token)
	t.Expires = t.Expires.UTC()
	return t
}

func ownAuthenticator(a adapter.Authenticator) adapter.Authenticator {
	a.CredentialID = strings.Clone(a.CredentialID)
	a.ProviderAccountID = strings.Clone(a.ProviderAccountID)
	a.CredentialPublicKey = strings.Clone(a.CredentialPublicKey)
	a.CredentialDeviceType = strings.Clone(a.CredentialDeviceType)
	a.Transports, a.Name = ownText(a.Transports), ownText(a.Name)
	a.Created, a.LastUsed = ownTime(a.Created), ownTime(a.LastUsed)
	return a
}

func ownPassword(p adapter.Password) *adapter.Password {
	return &adapter.Password{UserID: strings.Clone(p.UserID), Hash: strings.Clone(p.Hash), State: strings.Clone(p.State)}
}

func ownText(s *string) *string {
	if s == nil {
		return nil
	}
	return new(strings.Clone(*s))
}

func ownTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func copied[T any](v *T) *T {
	if v == nil {
		return nil
	}
	return new(*v)
}

func (u *user) copy() *adapter.User {
	c := u.User
	c.Name, c.EmailVerified, c.Image = copied(c.Name), copied(c.EmailVerified), copied(c.Image)
	return &c
}

func (a *account) copy() *adapter.Account {
	c := a.Account
	for _, text := range []**string{&c.AccessToken, &c.RefreshToken, &c.IDToken, &c.Scope, &c.TokenType, &c.SessionState} {
		*text = copied(*text)
	}
	c.ExpiresAt = copied(c.ExpiresAt)
	c.AuthorizationDetails = bytes.Clone(c.AuthorizationDetails)
	return &c
}

func (s *session) copy() *adapter.Session {
	return &adapter.Session{SessionToken: s.token, UserID: s.owner.ID, Expires: s.expires}
}

func copyAuthenticator(a *adapter.Authenticator) *adapter.Authenticator {
	c := *a
	c.Transports, c.Name = copied(c.Transports), copied(c.Name)
	c.Created, c.LastUsed = copied(c.Created), copied(c.LastUsed)
	return &c
}
