package mutants

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
)

// The questions below correspond to the adapter tests of Auth.js,
// nextauthjs/next-auth packages/utils/adapter.ts at a1a16a5a7780, WebAuthn
// included. They check the same facts in the same order with the same kind of
// values, and check nothing more. They follow one user from sign-up to deletion.
// Auth.js reads the store with queries of its own; here the correct adapter reads
// it.

// questions is the state that the questions share.
type questions struct {
	ctx     context.Context
	a       adapter.Adapter
	behind  adapter.Adapter // reads what is stored
	peek    func(adapter.VerificationTokenKey) *adapter.VerificationToken
	user    adapter.User
	session adapter.Session
	account adapter.Account
}

// AuthJS asks the questions of a mutant until one notices the fault. It returns the name of
// that question, or "".
func AuthJS(t testing.TB, m Mutant) string {
	a := m.Harness().New(t)
	q := &questions{ctx: t.Context(), a: a}
	switch b := a.(*with).base.(type) {
	case *mem:
		q.behind = b
		q.peek = func(key adapter.VerificationTokenKey) *adapter.VerificationToken {
			defer held(b.mu.RLocker())()
			if t, ok := b.tokens[key]; ok {
				return &t
			}
			return nil
		}
	case *lite:
		plain, err := sqlite.New(b.db)
		require.NoError(t, err)
		q.behind = plain
		if _, err := plain.GetUser(q.ctx, "nobody"); err != nil {
			q.behind = b.Adapter // sqlite.New refuses a schema that is broken on purpose
		}
		q.peek = func(key adapter.VerificationTokenKey) *adapter.VerificationToken {
			found, err := b.peek(q.ctx, key)
			if err != nil {
				panic(err)
			}
			return found
		}
	}
	q.start()
	for _, question := range authJSQuestions {
		if !q.ask(question.ask) {
			return question.name
		}
	}
	return ""
}

// ask reports whether the question found no fault.
func (q *questions) ask(question func(q *questions)) (fine bool) {
	defer func() {
		if recover() != nil {
			fine = false
		}
	}()
	question(q)
	return true
}

func (q *questions) start() {
	q.user = adapter.User{
		ID: uuid(), Email: "fill@murray.com", Image: new("https://www.fillmurray.com/460/300"), Name: new("Fill Murray"),
		EmailVerified: new(time.Now().Add(-time.Second).UTC().Truncate(time.Millisecond)), // before the mutant's clock began
	}
	q.session = adapter.Session{SessionToken: uuid(), Expires: inWholeSeconds(7 * day)}
	q.account = adapter.Account{
		Provider: "github", ProviderAccountID: uuid(), Type: adapter.AccountOAuth, AccessToken: new(uuid()), ExpiresAt: new(int64(30 * 24 * 3600)),
		IDToken: new(uuid()), RefreshToken: new(uuid()), TokenType: new("bearer"), Scope: new("user"), SessionState: new(uuid()),
	}
}

var authJSQuestions = []struct {
	name string
	ask  func(q *questions)
}{
	{"required methods exist", func(q *questions) {
		q.has("CreateUser", "GetUser", "GetUserByEmail", "GetUserByAccount", "UpdateUser", "LinkAccount", "CreateSession", "GetSessionAndUser", "UpdateSession", "DeleteSession")
	}},
	{"createUser", func(q *questions) {
		created := got(q.a.CreateUser(q.ctx, q.user))
		stored := got(q.behind.GetUser(q.ctx, created.ID))
		q.user.ID = created.ID
		equal(stored, &q.user)
		q.user = *stored
		q.session.UserID, q.account.UserID = stored.ID, stored.ID
	}},
	{"getUser", func(q *questions) {
		null(q.a.GetUser(q.ctx, uuid()))
		equal(got(q.a.GetUser(q.ctx, q.user.ID)), &q.user)
	}},
	{"getUserByEmail", func(q *questions) {
		null(q.a.GetUserByEmail(q.ctx, "non-existent-email"))
		equal(got(q.a.GetUserByEmail(q.ctx, q.user.Email)), &q.user)
	}},
	{"createSession", func(q *questions) {
		created := got(q.a.CreateSession(q.ctx, q.session))
		equal(&got(q.behind.GetSessionAndUser(q.ctx, created.SessionToken)).Session, &q.session)
	}},
	{"getSessionAndUser", func(q *questions) {
		null(q.a.GetSessionAndUser(q.ctx, "invalid-token"))
		equal(got(q.a.GetSessionAndUser(q.ctx, q.session.SessionToken)), &adapter.SessionAndUser{Session: q.session, User: q.user})
	}},
	{"updateUser", func(q *questions) {
		name := "Updated Name"
		equal(got(q.a.UpdateUser(q.ctx, adapter.UserUpdate{ID: q.user.ID, Name: adapter.To(&name)})).Name, &name)
		equal(got(q.behind.GetUser(q.ctx, q.user.ID)).Name, &name)
		q.user.Name = &name
	}},
	{"updateSession", func(q *questions) {
		expires := inWholeSeconds(30 * day)
		if got(q.behind.GetSessionAndUser(q.ctx, q.session.SessionToken)).Session.Expires.Equal(expires) {
			panic("the session has the new expires before the update")
		}
		ok(q.a.UpdateSession(q.ctx, adapter.SessionUpdate{SessionToken: q.session.SessionToken, Expires: adapter.To(expires)}))
		if !got(q.behind.GetSessionAndUser(q.ctx, q.session.SessionToken)).Session.Expires.Equal(expires) {
			panic("expires is not stored")
		}
	}},
	{"linkAccount", func(q *questions) {
		ok(q.a.LinkAccount(q.ctx, q.account))
		equal(got(q.behind.GetAccount(q.ctx, q.account.ProviderAccountID, q.account.Provider)), &q.account)
	}},
	{"getUserByAccount", func(q *questions) {
		null(q.a.GetUserByAccount(q.ctx, adapter.AccountKey{Provider: "invalid-provider", ProviderAccountID: "invalid-provider-account-id"}))
		equal(got(q.a.GetUserByAccount(q.ctx, q.account.Key())), &q.user)
	}},
	{"deleteSession", func(q *questions) {
		ok(q.a.DeleteSession(q.ctx, q.session.SessionToken))
		null(q.behind.GetSessionAndUser(q.ctx, q.session.SessionToken))
	}},
	{"verification token methods exist", func(q *questions) { q.has("CreateVerificationToken", "UseVerificationToken") }},
	{"createVerificationToken", func(q *questions) {
		t := newVerification()
		ok(q.a.CreateVerificationToken(q.ctx, t))
		equal(q.peek(t.Key()), &t)
	}},
	{"useVerificationToken", func(q *questions) {
		t := newVerification()
		ok(q.a.CreateVerificationToken(q.ctx, t))
		equal(got(q.a.UseVerificationToken(q.ctx, t.Key())), &t)
		null(q.a.UseVerificationToken(q.ctx, t.Key()))
		ok(q.a.CreateVerificationToken(q.ctx, t))
		null(q.a.UseVerificationToken(q.ctx, adapter.VerificationTokenKey{Identifier: "invalid@identifier.com", Token: t.Token}))
	}},
	{"future methods exist", func(q *questions) { q.has("UnlinkAccount", "DeleteUser") }},
	{"unlinkAccount", func(q *questions) {
		equal(got(q.behind.GetAccount(q.ctx, q.account.ProviderAccountID, q.account.Provider)), &q.account)
		ok(q.a.UnlinkAccount(q.ctx, q.account.Key()))
		null(q.behind.GetAccount(q.ctx, q.account.ProviderAccountID, q.account.Provider))
	}},
	{"deleteUser", func(q *questions) {
		equal(got(q.behind.GetUser(q.ctx, q.user.ID)), &q.user)
		ok(q.a.CreateSession(q.ctx, q.session))
		ok(q.a.LinkAccount(q.ctx, q.account))
		ok(q.a.DeleteUser(q.ctx, q.user.ID))
		null(q.behind.GetUser(q.ctx, q.user.ID))
		null(q.behind.DeleteSession(q.ctx, q.session.SessionToken)) // also one without a user
		null(q.behind.GetAccount(q.ctx, q.account.ProviderAccountID, q.account.Provider))
	}},
	{"getAccount", func(q *questions) {
		id, provider := uuid(), "auth0"
		u := q.newUser("getAccount")
		ok(q.a.LinkAccount(q.ctx, adapter.Account{Provider: provider, ProviderAccountID: id, Type: adapter.AccountOAuth, UserID: u.ID}))
		null(q.a.GetAccount(q.ctx, "invalid-provider-account-id", "invalid-provider"))
		null(q.a.GetAccount(q.ctx, id, "invalid-provider"))
		null(q.a.GetAccount(q.ctx, "invalid-provider-account-id", provider))
		found := got(q.a.GetAccount(q.ctx, id, provider))
		equal(got(q.behind.GetAccount(q.ctx, id, provider)), found)
	}},
	{"createAuthenticator", func(q *questions) {
		w := q.passkey(q.newUser("createAuthenticator"), "usb,ble,nfc")
		created := got(q.a.CreateAuthenticator(q.ctx, w))
		equal(created, &w)
		equal(got(q.behind.GetAuthenticator(q.ctx, w.CredentialID)), created)
	}},
	{"getAuthenticator", func(q *questions) {
		w := q.passkey(q.newUser("getAuthenticator"), "usb,ble,nfc")
		ok(q.a.CreateAuthenticator(q.ctx, w))
		null(q.a.GetAuthenticator(q.ctx, "invalid-credential-id"))
		found := got(q.a.GetAuthenticator(q.ctx, w.CredentialID))
		equal(got(q.behind.GetAuthenticator(q.ctx, w.CredentialID)), found)
	}},
	{"listAuthenticatorsByUserId", func(q *questions) {
		one, two := q.newUser("listAuthenticatorsByUserId1"), q.newUser("listAuthenticatorsByUserId2")
		passkeys := []adapter.Authenticator{q.passkey(one, "usb,ble,nfc"), q.passkey(one, "usb,nfc"), q.passkey(two, "usb,ble")}
		var created []adapter.Authenticator
		for _, w := range passkeys {
			created = append(created, *got(q.a.CreateAuthenticator(q.ctx, w)))
		}
		if list := ok(q.a.ListAuthenticatorsByUserID(q.ctx, "invalid-user-id")); list == nil || len(list) > 0 {
			panic("the list of an unknown user is not empty")
		}
		// Auth.js checks only that each listed authenticator is expected. So a list
		// that is too short passes.
		contained(ok(q.a.ListAuthenticatorsByUserID(q.ctx, one.ID)), created[:2])
		contained(ok(q.a.ListAuthenticatorsByUserID(q.ctx, two.ID)), created[2:])
	}},
	{"updateAuthenticatorCounter", func(q *questions) {
		w := q.passkey(q.newUser("updateAuthenticatorCounter"), "usb,ble,nfc")
		created := got(q.a.CreateAuthenticator(q.ctx, w))
		if _, err := q.a.UpdateAuthenticatorCounter(q.ctx, "invalid-credential-id", rand.Int64N(100)); err == nil {
			panic("an unknown credential is updated")
		}
		counter := created.Counter + 1 + rand.Int64N(99) // Auth.js may add 0 and then notice a fault by chance
		equal(got(q.a.UpdateAuthenticatorCounter(q.ctx, w.CredentialID, counter)).Counter, counter)
	}},
}

func (q *questions) has(methods ...string) {
	for _, m := range adapter.Missing(q.a) {
		if slices.Contains(methods, m) {
			panic(m + " is missing")
		}
	}
}

func (q *questions) newUser(name string) *adapter.User {
	return got(q.a.CreateUser(q.ctx, adapter.User{ID: uuid(), Email: name + "@example.com"}))
}

// passkey links a WebAuthn account and returns an authenticator for it.
func (q *questions) passkey(u *adapter.User, transports string) adapter.Authenticator {
	id := uuid()
	ok(q.a.LinkAccount(q.ctx, adapter.Account{Provider: "webauthn", ProviderAccountID: id, Type: adapter.AccountWebAuthn, UserID: u.ID}))
	return adapter.Authenticator{
		CredentialID: id, ProviderAccountID: id, UserID: u.ID, Counter: rand.Int64N(100), CredentialBackedUp: true,
		CredentialDeviceType: "platform", CredentialPublicKey: uuid(), Transports: &transports,
	}
}

func newVerification() adapter.VerificationToken {
	return adapter.VerificationToken{
		Identifier: "info@example.com", Token: fmt.Sprintf("%x", sha256.Sum256([]byte(uuid()))), Expires: inWholeSeconds(15 * time.Minute),
	}
}

func inWholeSeconds(d time.Duration) time.Time { return time.Now().Add(d).UTC().Truncate(time.Second) }

func uuid() string {
	a, b := rand.Uint64(), rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(a), uint16(a>>32), uint16(a>>48)&0xfff, uint16(b)&0xfff, b>>16)
}

// The questions panic when something is wrong.

func ok[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func got[T any](record *T, err error) *T {
	if ok(record, err) == nil {
		panic(errors.New("nothing was returned"))
	}
	return record
}

func null[T any](record *T, err error) {
	if ok(record, err) != nil {
		panic(fmt.Errorf("got %v, want null", record))
	}
}

func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Errorf("got %v, want %v", got, want))
	}
}

func contained(list, in []adapter.Authenticator) {
	if list == nil {
		panic("the list is null")
	}
	for _, w := range list {
		if !slices.ContainsFunc(in, func(x adapter.Authenticator) bool { return reflect.DeepEqual(x, w) }) {
			panic(errors.New("the list contains another authenticator: " + strings.TrimSpace(w.CredentialID)))
		}
	}
}
