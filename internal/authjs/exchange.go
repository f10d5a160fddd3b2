// Package authjs lets a Go adapter and a storage adapter of Auth.js, which runs
// in Node, take turns on one database. Each of them must be able to read, update,
// use and delete the records that the other wrote.
package authjs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Sharing describes two adapters that share a database.
type Sharing struct {
	// Nobody is a well-formed ID that no user has.
	Nobody string
	// Authenticators: the Go adapter stores authenticators. The Auth.js adapters
	// for SQL and MongoDB do not, so there are none to exchange.
	Authenticators bool
	// Orphans: when Auth.js deletes a user, it leaves the user's authenticators.
	// Lookups must not find them, and the Go adapter must remove them when it
	// deletes the user again.
	Orphans bool
	// TakeTurns: Auth.js does not wait for the locks of this server, so the two sides must not
	// write at the same moment.
	TakeTurns bool
	// LoserFails: for a token that the Go adapter uses at the same moment, Auth.js may return an
	// error of the server instead of null.
	LoserFails bool
	// ReadsFirst: Auth.js reads a token and deletes it in a step of its own, so it may return
	// one that the Go adapter uses at the same moment.
	ReadsFirst bool
	// NoKeys: the store has no unique keys, so that both sides may link one account.
	NoKeys bool
	// ExpiresAt is the expiry of an account; zero means an instant after 2038.
	ExpiresAt int64
	// At is the instant of the other records; zero means one after 2038, with milliseconds.
	At time.Time
}

const (
	subject = "105567844949183104458" // the ID of an account, too large for an integer
	rounds  = 40                      // the number of tokens that both sides use at once, and of accounts that they link
)

// instantOf is an instant as JavaScript writes it.
func instantOf(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

// Exchange tests each kind of record: one side writes it, and the other reads,
// updates, uses and deletes it. At its end it has removed all records.
func Exchange(t *testing.T, a adapter.Adapter, js *Adapter, s Sharing) {
	s.At = cmp.Or(s.At, time.Date(2040, 2, 29, 23, 59, 59, 987e6, time.UTC))
	x := exchange{t, t.Context(), a, js, s}
	theirs, ours := x.users()
	x.accounts(theirs, ours)
	x.sessions(theirs, ours)
	x.tokens()
	if !s.TakeTurns {
		x.racedTokens()
	}
	if !s.TakeTurns && !s.NoKeys {
		x.racedAccounts(theirs, ours)
	}
	x.deletion(theirs, true)
	x.deletion(ours, false)
}

type exchange struct {
	t   *testing.T
	ctx context.Context
	a   adapter.Adapter
	js  *Adapter
	s   Sharing
}

// users returns a user that Auth.js made, and a user that the Go adapter made.
func (x exchange) users() (theirs, ours adapter.User) {
	x.t.Helper()
	instant := instantOf(x.s.At)
	made := x.js.Call("createUser", Record{"name": "Ada", "email": "ada@example.com", "emailVerified": instant, "image": nil})
	theirs = adapter.User{ID: fmt.Sprint(made["id"]), Name: new("Ada"), Email: "ada@example.com", EmailVerified: &x.s.At}
	x.same("GetUser", must(x.a.GetUser(x.ctx, theirs.ID))(x.t), &theirs)
	x.same("GetUserByEmail", must(x.a.GetUserByEmail(x.ctx, theirs.Email))(x.t), &theirs)
	theirs.Email, theirs.EmailVerified, theirs.Image = "ada@example.org", nil, new("https://example.com/ada")
	must(x.a.UpdateUser(x.ctx, adapter.UserUpdate{ID: theirs.ID,
		Email: adapter.To(theirs.Email), EmailVerified: adapter.To(theirs.EmailVerified), Image: adapter.To(theirs.Image)}))(x.t)
	want := Record{"id": theirs.ID, "name": "Ada", "email": "ada@example.org", "emailVerified": nil, "image": "https://example.com/ada"}
	x.has("getUserByEmail", x.js.Call("getUserByEmail", "ada@example.org"), want)
	assert.Nil(x.t, x.js.Call("getUserByEmail", "ada@example.com"), "getUserByEmail by the old address")

	ours = *must(x.a.CreateUser(x.ctx, adapter.User{Name: new("Bob"), Email: "bob@example.com", EmailVerified: &x.s.At}))(x.t)
	want = Record{"id": ours.ID, "name": "Bob", "email": "bob@example.com", "emailVerified": instant, "image": nil}
	x.has("getUser", x.js.Call("getUser", ours.ID), want)
	x.has("getUserByEmail", x.js.Call("getUserByEmail", "bob@example.com"), want)
	ours.Name = new("Robert")
	x.js.Call("updateUser", Record{"id": ours.ID, "name": "Robert"})
	x.same("GetUser", must(x.a.GetUser(x.ctx, ours.ID))(x.t), &ours)

	assert.Nil(x.t, x.js.Call("getUser", x.s.Nobody), "getUser of nobody")
	return theirs, ours
}

func (x exchange) accounts(theirs, ours adapter.User) {
	x.t.Helper()
	key := Record{"provider": "p", "providerAccountId": subject}
	expires := cmp.Or(x.s.ExpiresAt, 4102444800)
	x.js.Call("linkAccount", Record{"userId": theirs.ID, "type": "oidc", "provider": "p", "providerAccountId": subject, "access_token": "at",
		"refresh_token": "rt", "expires_at": expires, "id_token": "it", "scope": "s", "session_state": "ss", "token_type": "bearer"})
	account := adapter.Account{UserID: theirs.ID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: subject, AccessToken: new("at"),
		RefreshToken: new("rt"), ExpiresAt: &expires, IDToken: new("it"), Scope: new("s"), SessionState: new("ss"), TokenType: new("bearer")}
	x.same("GetAccount", must(x.a.GetAccount(x.ctx, subject, "p"))(x.t), &account)
	x.same("GetUserByAccount", must(x.a.GetUserByAccount(x.ctx, account.Key()))(x.t), &theirs)
	must(x.a.UnlinkAccount(x.ctx, account.Key()))(x.t)
	assert.Nil(x.t, x.js.Call("getUserByAccount", key), "getUserByAccount after UnlinkAccount")

	account.UserID = ours.ID
	must(x.a.LinkAccount(x.ctx, account))(x.t)
	x.has("getUserByAccount", x.js.Call("getUserByAccount", key), Record{"id": ours.ID, "name": "Robert"})
	x.js.Call("unlinkAccount", key)
	assert.Nil(x.t, must(x.a.GetAccount(x.ctx, subject, "p"))(x.t), "GetAccount after unlinkAccount")
	assert.Nil(x.t, must(x.a.GetUserByAccount(x.ctx, account.Key()))(x.t), "GetUserByAccount after unlinkAccount")
}

func (x exchange) sessions(theirs, ours adapter.User) {
	x.t.Helper()
	later := x.s.At.Add(time.Second)

	x.js.Call("createSession", Record{"sessionToken": "theirs", "userId": theirs.ID, "expires": instantOf(x.s.At)})
	session := adapter.Session{SessionToken: "theirs", UserID: theirs.ID, Expires: x.s.At}
	x.same("GetSessionAndUser", must(x.a.GetSessionAndUser(x.ctx, "theirs"))(x.t), &adapter.SessionAndUser{Session: session, User: theirs})
	must(x.a.UpdateSession(x.ctx, adapter.SessionUpdate{SessionToken: "theirs", Expires: adapter.To(later)}))(x.t)
	x.both("theirs", Record{"userId": theirs.ID, "expires": instantOf(later)}, Record{"id": theirs.ID, "name": "Ada"})
	must(x.a.DeleteSession(x.ctx, "theirs"))(x.t)
	assert.Nil(x.t, x.js.Call("getSessionAndUser", "theirs"), "getSessionAndUser after DeleteSession")

	must(x.a.CreateSession(x.ctx, adapter.Session{SessionToken: "ours", UserID: ours.ID, Expires: later}))(x.t)
	x.both("ours", Record{"userId": ours.ID, "expires": instantOf(later)}, Record{"id": ours.ID, "name": "Robert"})
	x.js.Call("updateSession", Record{"sessionToken": "ours", "expires": instantOf(x.s.At)})
	session = adapter.Session{SessionToken: "ours", UserID: ours.ID, Expires: x.s.At}
	x.same("GetSessionAndUser after updateSession", must(x.a.GetSessionAndUser(x.ctx, "ours"))(x.t), &adapter.SessionAndUser{Session: session, User: ours})
	x.js.Call("deleteSession", "ours")
	assert.Nil(x.t, must(x.a.GetSessionAndUser(x.ctx, "ours"))(x.t), "GetSessionAndUser after deleteSession")
}

// both compares the session and the user that Auth.js reads.
func (x exchange) both(token string, session, user Record) {
	x.t.Helper()
	found := x.js.Call("getSessionAndUser", token)
	for part, want := range map[string]Record{"session": session, "user": user} {
		got, _ := found[part].(map[string]any)
		x.has("getSessionAndUser: "+part, got, want)
	}
}

// tokens lets each side use a token of each side once; then neither side finds it.
func (x exchange) tokens() {
	x.t.Helper()
	const us, them = true, false
	for i, c := range []struct{ maker, first bool }{{us, them}, {them, us}, {us, us}, {them, them}} {
		token := x.token(fmt.Sprint("alone ", i), c.maker)
		require.Truef(x.t, x.use(token, c.first),
			"token %q: made by us: %t, used by us: %t: not found", token.Token, c.maker, c.first)
		x.spent(token)
	}
}

// spent fails the test if a side finds the token.
func (x exchange) spent(token adapter.VerificationToken) {
	x.t.Helper()
	for _, byUs := range []bool{true, false} {
		require.Falsef(x.t, x.use(token, byUs), "token %q was used before, and again by us: %t", token.Token, byUs)
	}
}

// racedTokens lets both sides use one token at the same moment: exactly one must get it.
func (x exchange) racedTokens() {
	x.t.Helper()
	var ours, theirs, both, failed int
	for i := range rounds {
		token := x.token(fmt.Sprint("raced ", i), i%2 == 0)
		x.js.send("useVerificationToken", tokenKey(token))
		got := must(x.a.UseVerificationToken(x.ctx, token.Key()))(x.t)
		other, refused := x.js.receive()
		if refused != nil {
			failed++
			require.True(x.t, x.s.LoserFails, refused.Error())
		}
		if other != nil {
			x.has("useVerificationToken", other, tokenRecord(token))
		}
		switch {
		case got == nil && other == nil:
			x.t.Fatalf("token %q was used by nobody: %v", token.Token, refused)
		case got == nil:
			theirs++
		case other == nil:
			ours++
		default:
			both++
		}
		if got != nil {
			x.same("UseVerificationToken", got, &token)
		}
		x.spent(token)
	}
	assert.Truef(x.t, both == 0 || x.s.ReadsFirst, "%d of %d tokens were used by both sides", both, rounds)
	x.t.Logf("%d tokens: %d used by the Go adapter, %d by Auth.js, %d by both; Auth.js failed %d times",
		rounds, ours, theirs, both, failed)
}

// racedAccounts lets both sides link one account at the same moment, each to another user:
// exactly one must succeed, and both sides then find its user.
func (x exchange) racedAccounts(theirs, ours adapter.User) {
	x.t.Helper()
	wins := 0
	for i := range rounds {
		account := adapter.Account{UserID: ours.ID, Type: adapter.AccountOAuth, Provider: "raced", ProviderAccountID: fmt.Sprint(i)}
		key := Record{"provider": account.Provider, "providerAccountId": account.ProviderAccountID}
		x.js.send("linkAccount", Record{"userId": theirs.ID, "type": "oauth",
			"provider": account.Provider, "providerAccountId": account.ProviderAccountID})
		_, err := x.a.LinkAccount(x.ctx, account)
		_, refused := x.js.receive()
		require.NotEqualf(x.t, err == nil, refused == nil,
			"account %d was linked by both sides or by none: %v, %v", i, err, refused)
		owner := ours.ID
		if err == nil {
			wins++
		} else {
			require.ErrorIs(x.t, err, adapter.ErrConflict)
			owner = theirs.ID
		}
		found := must(x.a.GetUserByAccount(x.ctx, account.Key()))(x.t)
		require.Truef(x.t, found != nil && found.ID == owner, "account %d: got %v, want the user %s", i, found, owner)
		x.has("getUserByAccount", x.js.Call("getUserByAccount", key), Record{"id": owner})
		must(x.a.UnlinkAccount(x.ctx, account.Key()))(x.t)
		assert.Nil(x.t, x.js.Call("getUserByAccount", key), "getUserByAccount after UnlinkAccount")
	}
	x.t.Logf("%d accounts: %d linked by the Go adapter, the others by Auth.js", rounds, wins)
}

// token lets one side make a token.
func (x exchange) token(name string, byUs bool) adapter.VerificationToken {
	x.t.Helper()
	token := adapter.VerificationToken{Identifier: "x@example.com", Token: name, Expires: x.s.At}
	if byUs {
		must(x.a.CreateVerificationToken(x.ctx, token))(x.t)
	} else {
		x.js.Call("createVerificationToken", tokenRecord(token))
	}
	return token
}

// use lets one side use a token, and reports whether the token was found.
func (x exchange) use(token adapter.VerificationToken, byUs bool) bool {
	x.t.Helper()
	if byUs {
		got := must(x.a.UseVerificationToken(x.ctx, token.Key()))(x.t)
		if got != nil {
			x.same("UseVerificationToken", got, &token)
		}
		return got != nil
	}
	got := x.js.Call("useVerificationToken", tokenKey(token))
	if got != nil {
		x.has("useVerificationToken", got, tokenRecord(token))
	}
	return got != nil
}

func tokenKey(t adapter.VerificationToken) Record {
	return Record{"identifier": t.Identifier, "token": t.Token}
}

func tokenRecord(t adapter.VerificationToken) Record {
	return Record{"identifier": t.Identifier, "token": t.Token, "expires": instantOf(t.Expires)}
}

// deletion lets one side delete a user whom the other made, with records of
// both sides.
func (x exchange) deletion(user adapter.User, byUs bool) {
	x.t.Helper()
	id := user.ID
	must(x.a.CreateSession(x.ctx, adapter.Session{SessionToken: "our last " + id, UserID: id, Expires: x.s.At}))(x.t)
	x.js.Call("createSession", Record{"sessionToken": "their last " + id, "userId": id, "expires": instantOf(x.s.At)})
	must(x.a.LinkAccount(x.ctx, adapter.Account{UserID: id, Type: adapter.AccountOAuth, Provider: "ours", ProviderAccountID: id}))(x.t)
	x.js.Call("linkAccount", Record{"userId": id, "type": "oauth", "provider": "theirs", "providerAccountId": id})
	if x.s.Authenticators {
		must(x.a.CreateAuthenticator(x.ctx, adapter.Authenticator{CredentialID: id, UserID: id}))(x.t)
	}
	if byUs {
		must(x.a.DeleteUser(x.ctx, id))(x.t)
	} else {
		x.js.Call("deleteUser", id)
	}
	assert.Nil(x.t, x.js.Call("getUser", id), "getUser")
	assert.Nil(x.t, must(x.a.GetUser(x.ctx, id))(x.t), "GetUser")
	for _, side := range []string{"our", "their"} {
		assert.Nil(x.t, x.js.Call("getSessionAndUser", side+" last "+id), "getSessionAndUser")
		assert.Nil(x.t, must(x.a.GetSessionAndUser(x.ctx, side+" last "+id))(x.t), "GetSessionAndUser")
		assert.Nil(x.t, x.js.Call("getUserByAccount", Record{"provider": side + "s", "providerAccountId": id}), "getUserByAccount")
		assert.Nil(x.t, must(x.a.GetAccount(x.ctx, id, side+"s"))(x.t), "GetAccount")
	}
	if x.s.Authenticators {
		assert.Nil(x.t, must(x.a.GetAuthenticator(x.ctx, id))(x.t), "GetAuthenticator")
	}
	if x.s.Orphans && !byUs {
		assert.Nil(x.t, must(x.a.DeleteUser(x.ctx, id))(x.t), "DeleteUser")
	}
}

// has compares fields of a record of Auth.js as text, because integer IDs are
// numbers in Auth.js.
func (x exchange) has(what string, got, want Record) {
	x.t.Helper()
	if !assert.NotNil(x.t, got, what) {
		return
	}
	for k, v := range want {
		assert.Equalf(x.t, fmt.Sprint(v), fmt.Sprint(got[k]), "%s: %s", what, k)
	}
}

// same compares records of the Go adapter, as JSON.
func (x exchange) same(what string, got, want any) {
	x.t.Helper()
	assert.Equal(x.t, string(must(json.Marshal(want))(x.t)), string(must(json.Marshal(got))(x.t)), what)
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		require.NoError(tb, err)
		return v
	}
}
