package postgres_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// TestMethods calls every method in every wiring, and the nineteen methods also with arguments for each
// refusal. So it finds an execution mode that sends an argument with a wrong type.
func TestMethods(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			a, pool, schema := w.newStore(t)
			fillRecords(t, pool, w, schema, 20)
			for _, c := range calls {
				assert.NoError(t, c.do(t.Context(), a, 1, w.userID(1)), c.method)
			}
			callEveryMethod(t, a)
		})
	}
}

// must fails the test on an error and returns the value.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	require.NotNilf(t, got, "%s: got nil", what)
	require.Empty(t, cmp.Diff(want, *got), what)
}

func absent[T any](t testing.TB, what string, got *T, err error) {
	t.Helper()
	require.Truef(t, got == nil && err == nil, "%s: got %v, %v, want nil, nil", what, got, err)
}

func refused[T any](t testing.TB, what string, got *T, err, want error) {
	t.Helper()
	require.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
}

func callEveryMethod(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	at := time.Date(2039, 3, 1, 12, 30, 15, 123456789, time.FixedZone("", 20700))
	stored := at.UTC().Truncate(time.Microsecond)

	ada := must(a.CreateUser(ctx, adapter.User{Name: new("Ada 🗝"), Email: "ada@example.com", EmailVerified: &at, Image: new("")}))(t)
	same(t, "CreateUser", ada, adapter.User{ID: ada.ID, Name: new("Ada 🗝"), Email: "ada@example.com", EmailVerified: &stored, Image: new("")})
	got, err := a.CreateUser(ctx, adapter.User{Email: "ada@example.com"})
	refused(t, "CreateUser again", got, err, adapter.ErrConflict)
	bob := must(a.CreateUser(ctx, adapter.User{}))(t)
	must(a.CreateUser(ctx, adapter.User{}))(t)
	same(t, "GetUser", must(a.GetUser(ctx, ada.ID))(t), *ada)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), adapter.User{ID: bob.ID})
	same(t, "GetUserByEmail", must(a.GetUserByEmail(ctx, "ada@example.com"))(t), *ada)
	got, err = a.GetUserByEmail(ctx, "Ada@example.com")
	absent(t, "GetUserByEmail", got, err)
	for _, id := range []string{"", "0", "007", "+1", " 1", "1 ", "1.0", "-0", "1111111111111111111111111", "a\x00", "\xff", "null",
		"00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-00000000000G", strings.ToUpper(ada.ID) + " ", ada.ID + "\x00", strings.Repeat("x", 1<<20)} {
		got, err = a.GetUser(ctx, id)
		absent(t, "GetUser "+id[:min(len(id), 40)], got, err)
		got, err = a.DeleteUser(ctx, id)
		absent(t, "DeleteUser "+id[:min(len(id), 40)], got, err)
		got, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Name: adapter.To(new("x"))})
		refused(t, "UpdateUser "+id[:min(len(id), 40)], got, err, adapter.ErrNotFound)
		list, err := a.ListAuthenticatorsByUserID(ctx, id)
		require.Truef(t, list != nil && len(list) == 0 && err == nil, "ListAuthenticatorsByUserID: got %v, %v", list, err)
	}

	same(t, "UpdateUser", must(a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID, Name: adapter.To[*string](nil)}))(t),
		adapter.User{ID: ada.ID, Email: "ada@example.com", EmailVerified: &stored, Image: new("")})
	same(t, "UpdateUser", must(a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID, Name: adapter.To(new("A")), Email: adapter.To("a@example.com"),
		EmailVerified: adapter.To[*time.Time](nil), Image: adapter.To(new("i"))}))(t),
		adapter.User{ID: ada.ID, Name: new("A"), Email: "a@example.com", Image: new("i")})
	ada = must(a.UpdateUser(ctx, adapter.UserUpdate{ID: ada.ID}))(t)
	same(t, "GetUser", must(a.GetUser(ctx, ada.ID))(t), *ada)
	got, err = a.UpdateUser(ctx, adapter.UserUpdate{ID: bob.ID, Email: adapter.To("a@example.com"), Name: adapter.To(new("x"))})
	refused(t, "UpdateUser to a taken address", got, err, adapter.ErrConflict)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), adapter.User{ID: bob.ID})

	account := adapter.Account{UserID: ada.ID, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: "007", AccessToken: new("at"),
		RefreshToken: new("rt"), IDToken: new("it"), Scope: new("s"), TokenType: new("bearer"), SessionState: new("ss"), ExpiresAt: new(int64(4102444800)),
		AuthorizationDetails: json.RawMessage(`[{"type":"x", "n": [1, {"y": null}]}]`)}
	bare := adapter.Account{UserID: ada.ID, Type: adapter.AccountEmail, Provider: "q", ProviderAccountID: "007"}
	for _, c := range []adapter.Account{account, bare} {
		same(t, "LinkAccount", must(a.LinkAccount(ctx, c))(t), c)
		same(t, "GetAccount", must(a.GetAccount(ctx, c.ProviderAccountID, c.Provider))(t), c)
		same(t, "GetUserByAccount", must(a.GetUserByAccount(ctx, c.Key()))(t), *ada)
		taken := c
		taken.UserID = bob.ID
		linked, err := a.LinkAccount(ctx, taken)
		refused(t, "LinkAccount again", linked, err, adapter.ErrConflict)
	}
	for _, id := range []string{"x", "007", "999999", "a\x00"} {
		linked, err := a.LinkAccount(ctx, adapter.Account{UserID: id, Type: adapter.AccountEmail, Provider: "r", ProviderAccountID: "1"})
		require.Truef(t, linked == nil && err != nil, "LinkAccount of nobody: got %v, %v", linked, err)
	}
	same(t, "UnlinkAccount", must(a.UnlinkAccount(ctx, account.Key()))(t), account)
	gone, err := a.UnlinkAccount(ctx, account.Key())
	absent(t, "UnlinkAccount", gone, err)
	must(a.LinkAccount(ctx, account))(t)

	session := adapter.Session{SessionToken: "tok", UserID: ada.ID, Expires: at}
	want := adapter.Session{SessionToken: "tok", UserID: ada.ID, Expires: stored}
	same(t, "CreateSession", must(a.CreateSession(ctx, session))(t), want)
	same(t, "GetSessionAndUser", must(a.GetSessionAndUser(ctx, "tok"))(t), adapter.SessionAndUser{Session: want, User: *ada})
	s, err := a.CreateSession(ctx, adapter.Session{SessionToken: "tok", UserID: bob.ID, Expires: at})
	refused(t, "CreateSession again", s, err, adapter.ErrConflict)
	s, err = a.CreateSession(ctx, adapter.Session{SessionToken: "tok2", UserID: "nobody", Expires: at})
	refused(t, "CreateSession of nobody", s, err, adapter.ErrNotFound)
	for _, token := range []string{"", "TOK", "tok ", "to", "tok\x00", "\xff"} {
		both, err := a.GetSessionAndUser(ctx, token)
		absent(t, "GetSessionAndUser", both, err)
		s, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(bob.ID), Expires: adapter.To(at)})
		absent(t, "UpdateSession", s, err)
		s, err = a.DeleteSession(ctx, token)
		absent(t, "DeleteSession", s, err)
	}
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok"}))(t), want)
	want.Expires = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", Expires: adapter.To(want.Expires)}))(t), want)
	s, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To("nobody"), Expires: adapter.To(at)})
	refused(t, "UpdateSession to nobody", s, err, adapter.ErrNotFound)
	want.UserID = bob.ID
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To(bob.ID)}))(t), want)
	want.UserID, want.Expires = ada.ID, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To(ada.ID), Expires: adapter.To(want.Expires)}))(t), want)
	same(t, "DeleteSession", must(a.DeleteSession(ctx, "tok"))(t), want)
	must(a.CreateSession(ctx, session))(t)

	token := adapter.VerificationToken{Identifier: "x@example.com", Token: "hash", Expires: stored}
	same(t, "CreateVerificationToken", must(a.CreateVerificationToken(ctx, token))(t), token)
	v, err := a.CreateVerificationToken(ctx, token)
	refused(t, "CreateVerificationToken again", v, err, adapter.ErrConflict)
	v, err = a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "x@example.com", Token: "Hash"})
	absent(t, "UseVerificationToken", v, err)
	same(t, "UseVerificationToken", must(a.UseVerificationToken(ctx, token.Key()))(t), token)
	v, err = a.UseVerificationToken(ctx, token.Key())
	absent(t, "UseVerificationToken again", v, err)

	cred := adapter.Authenticator{CredentialID: "c+/=", UserID: ada.ID, ProviderAccountID: "007", CredentialPublicKey: "key", Counter: 1<<53 - 1,
		CredentialBackedUp: true, CredentialDeviceType: "singleDevice", Transports: new("usb,nfc")}
	cred2 := adapter.Authenticator{CredentialID: "c-_", UserID: ada.ID, ProviderAccountID: "7", CredentialPublicKey: "key2", CredentialDeviceType: "multiDevice"}
	for _, c := range []adapter.Authenticator{cred, cred2} {
		same(t, "CreateAuthenticator", must(a.CreateAuthenticator(ctx, c))(t), c)
		same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, c.CredentialID))(t), c)
		taken := c
		taken.UserID = bob.ID
		made, err := a.CreateAuthenticator(ctx, taken)
		refused(t, "CreateAuthenticator again", made, err, adapter.ErrConflict)
	}
	made, err := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "d", UserID: "nobody"})
	refused(t, "CreateAuthenticator of nobody", made, err, adapter.ErrNotFound)
	require.Len(t, must(a.ListAuthenticatorsByUserID(ctx, ada.ID))(t), 2, "ListAuthenticatorsByUserID")
	cred.Counter = 0
	same(t, "UpdateAuthenticatorCounter", must(a.UpdateAuthenticatorCounter(ctx, "c+/=", 0))(t), cred)
	made, err = a.UpdateAuthenticatorCounter(ctx, "C+/=", 1)
	refused(t, "UpdateAuthenticatorCounter", made, err, adapter.ErrNotFound)

	passwords, has := adapter.Capability[adapter.Passwords](a)
	require.True(t, has, "the adapter says that it has no passwords")
	callPasswords(t, passwords, ada.ID)

	same(t, "DeleteUser", must(a.DeleteUser(ctx, ada.ID))(t), *ada)
	both, err := a.GetSessionAndUser(ctx, "tok")
	absent(t, "GetSessionAndUser after DeleteUser", both, err)
	gone, err = a.GetAccount(ctx, "007", "p")
	absent(t, "GetAccount after DeleteUser", gone, err)
	made, err = a.GetAuthenticator(ctx, "c-_")
	absent(t, "GetAuthenticator after DeleteUser", made, err)
	password, err := passwords.GetPassword(ctx, ada.ID)
	absent(t, "GetPassword after DeleteUser", password, err)
	got, err = a.DeleteUser(ctx, ada.ID)
	absent(t, "DeleteUser again", got, err)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), adapter.User{ID: bob.ID})
}
