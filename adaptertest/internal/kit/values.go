package kit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const Day = 24 * time.Hour

// MalformedIDs returns ids that stores can't represent, and near misses of known.
func MalformedIDs(known string) []string {
	ids := []string{
		"", " ", "x", "0", "-1", "zzzzzzzzzzzzzzzzzzzzzzzz", "0123456789abcdef0123456g",
		"123e4567-e89b-12d3-a456-42661417400g", "123e4567-e89b-12d3-a456-4266141740001", "{123e4567-e89b-12d3-a456-426614174000}",
		"1234567890123456789012345", "99999999999999999999", "1e3", "a/b", "../" + known, "NaN", "ÿ", "\U0001F511",
		known + " ", " " + known, known + "x", known + "\n", known + "/",
	}
	if len(known) >= 16 { // a shorter id may be a counter, and a part of it the id of another user
		ids = append(ids, known[:len(known)-1], known[1:])
	}
	others := []string{
		strings.ToUpper(known), strings.ToLower(known), strings.ReplaceAll(known, "-", ""), "{" + known + "}", "urn:uuid:" + known,
		"+" + known, "0" + known, known + ".0",
	}
	return append(ids, slices.DeleteFunc(others, func(other string) bool { return other == known })...)
}

// Fixtures have no zero values, no round milliseconds and no plain-ASCII text. Every key is unique to the run and
// contains its seed. So the suite notices a store that drops, cuts, folds or mixes up values.

// Unique returns a string that no other call in any run returns. It holds the
// word, the seed of the run and letters outside ASCII.
func (c *Context) Unique(word string) string {
	return word + "-ü" + strconv.FormatUint(c.Run.Seed, 16) + "-" + c.Run.Nonce + "-" + c.Clause + "-" + strconv.FormatInt(Next(c), 10)
}

// Next returns a number that is new in the clause.
func Next(c *Context) int64 {
	c.Mu.Lock()
	defer c.Mu.Unlock()
	c.serial++
	return int64(c.serial)
}

// Secret returns a unique string that no error may contain [ERR-08].
func (c *Context) Secret(word string) string {
	s := c.Unique(word)
	c.Run.AddSecret(s)
	return s
}

// ID returns a well-formed user ID that no user has.
func (c *Context) ID() string { return c.Run.newID() }

// Instant returns an instant d from now, in UTC, whose milliseconds are not round.
func (c *Context) Instant(d time.Duration) time.Time {
	t := c.Now().Add(d).UTC().Truncate(time.Second)
	c.Mu.Lock()
	defer c.Mu.Unlock()
	ms := 101 + c.Rand.IntN(799)
	if ms%10 == 0 {
		ms++
	}
	return t.Add(time.Duration(ms) * time.Millisecond)
}

// Address returns a unique e-mail address. It is in lower case, because an
// adapter that declares EmailFoldsCase may store it in lower case.
func Address(c *Context, word string) string {
	return LowerASCII(c.Unique(word)) + "@bücher.example"
}

// NewUser returns a user with every field except the ID set.
func (c *Context) NewUser() adapter.User {
	return adapter.User{
		Name:          new(c.Unique("Zoë ☂ 王")),
		Email:         Address(c, "zoë"),
		EmailVerified: new(c.Instant(-48 * time.Hour)),
		Image:         new("https://img.example/" + c.Unique("ž") + "?s=1&t=2"),
	}
}

// UserAt returns a new user with the address.
func UserAt(c *Context, email string) adapter.User {
	u := c.NewUser()
	u.Email = email
	return u
}

// UserWithID returns a new user with an ID.
func UserWithID(c *Context) adapter.User { return UserNamed(c, c.ID()) }

// UserNamed returns a new user with the ID.
func UserNamed(c *Context, id string) adapter.User {
	u := c.NewUser()
	u.ID = id
	return u
}

var AccountTypes = []adapter.AccountType{adapter.AccountOAuth, adapter.AccountOIDC, adapter.AccountEmail, adapter.AccountWebAuthn}

// NewAccount returns an account of the user with every field set.
func (c *Context) NewAccount(userID string) adapter.Account {
	return adapter.Account{
		UserID:            userID,
		Type:              adapter.AccountOIDC,
		Provider:          c.Unique("próvider"),
		ProviderAccountID: c.Unique("subject-ß"),
		AccessToken:       new(c.Secret("access-é")),
		RefreshToken:      new(c.Secret("refresh-é")),
		IDToken:           new(c.Secret("id-é")),
		Scope:             new("openid profile " + c.Unique("skopé")),
		TokenType:         new("bearer-" + c.Unique("ŧ")),
		SessionState:      new(c.Unique("státe")),
		ExpiresAt:         new(c.Instant(time.Hour).Unix()),
		AuthorizationDetails: keeping(c, "Account.AuthorizationDetails", json.RawMessage(fmt.Sprintf(
			`[{"type":%q,"locations":["https://api.example/ä"],"limit":{"amount":12.5,"deep":[1,null,true]}}]`, c.Unique("détail")))),
	}
}

// NewSession returns a session of the user that expires in an hour.
func (c *Context) NewSession(userID string) adapter.Session {
	return adapter.Session{SessionToken: c.Secret("session-ø"), UserID: userID, Expires: c.Instant(time.Hour)}
}

// NewToken returns a verification token that expires in an hour.
func (c *Context) NewToken() adapter.VerificationToken {
	return adapter.VerificationToken{
		Identifier: Address(c, "ada"), Token: c.Secret("token-å"), Expires: c.Instant(time.Hour),
	}
}

// NewAuthenticator returns an authenticator of the user with every field set.
func (c *Context) NewAuthenticator(userID string) adapter.Authenticator {
	return adapter.Authenticator{
		CredentialID:         c.Unique("credential-ñ+/_-="),
		UserID:               userID,
		ProviderAccountID:    c.Unique("passkey-ö"),
		CredentialPublicKey:  c.Secret("public-key-é"),
		Counter:              7,
		CredentialBackedUp:   true,
		CredentialDeviceType: "multiDevice-ï",
		Transports:           new("usb,ble,ñfc"),
		Name:                 keeping(c, "Authenticator.Name", new(c.Unique("Schlüssel 🔑"))),
		Created:              keeping(c, "Authenticator.Created", new(c.Instant(-72*time.Hour))),
		LastUsed:             keeping(c, "Authenticator.LastUsed", new(c.Instant(-24*time.Hour))),
	}
}

// NewPassword returns a password of the user, in the form that package auth/password has.
func NewPassword(c *Context, userID string) adapter.Password {
	return adapter.Password{
		UserID: userID,
		Hash:   "$argon2id$v=19$m=19456,t=2,p=1$" + c.Secret("hash-ñ+/"),
		State:  fmt.Sprintf(`{"wrong": 3, "of": %q, "zero": "\\u0000"}`, c.Secret("state-ü☂")),
	}
}

// UserFields are the fields of a user that an update can change.
var UserFields = []string{"name", "email", "emailVerified", "image"}

// UserUpdate sets the fields to new values.
func UserUpdate(c *Context, id string, fields []string) adapter.UserUpdate {
	return OnlyFields(UpdateTo(id, c.NewUser()), fields)
}

// UpdateTo sets all fields of the user with the ID to those of u.
func UpdateTo(id string, u adapter.User) adapter.UserUpdate {
	return adapter.UserUpdate{ID: id, Name: adapter.To(u.Name), Email: adapter.To(u.Email),
		EmailVerified: adapter.To(u.EmailVerified), Image: adapter.To(u.Image)}
}

// OnlyFields returns the update without its changes of other fields. The words of a field's name may be apart.
func OnlyFields[U any](update U, fields []string) U {
	v := reflect.ValueOf(&update).Elem()
	for i := range v.NumField() {
		named := func(f string) bool { return strings.EqualFold(strings.ReplaceAll(f, " ", ""), v.Type().Field(i).Name) }
		if _, change := v.Field(i).Interface().(interface{ IsSet() bool }); change && !slices.ContainsFunc(fields, named) {
			v.Field(i).SetZero()
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

// SessionsMove reports whether the owner of a session can change, which the contract leaves open [SESS-23].
func SessionsMove(c *Context) bool {
	if !c.Works("UpdateSession") {
		return false
	}
	s, to := c.Session(c.User().ID), c.User().ID
	moved, err := c.Adapter.UpdateSession(c.Ctx, adapter.SessionUpdate{SessionToken: s.SessionToken, UserID: adapter.To(to)})
	return err == nil && (moved == nil || moved.UserID == to)
}
