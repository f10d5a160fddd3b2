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
			for _, c := range calls(t.Context(), a, 1, w.userID(1)) {
				assert.NoError(t, c.do(), c.method)
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

// erred returns the error of a call.
func erred[T any](_ T, err error) error { return err }

func same[T any](t testing.TB, what string, got *T, want T) {
	t.Helper()
	require.NotNilf(t, got, "%s: got nil", what)
	require.Empty(t, cmp.Diff(want, *got), what)
}

// refused fails the test unless a call has no record and the error.
func refused[T any](got *T, err error) func(t testing.TB, what string, want error) {
	return func(t testing.TB, what string, want error) {
		t.Helper()
		require.Truef(t, got == nil && errors.Is(err, want), "%s: got %v, %v, want %v", what, got, err, want)
	}
}

func callEveryMethod(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	at := time.Date(2039, 3, 1, 12, 30, 15, 123456789, time.FixedZone("", 20700))
	stored := at.UTC().Truncate(time.Microsecond)

	ada := must(a.CreateUser(ctx, adapter.User{Name: new("Ada 🗝"), Email: "ada@example.com", EmailVerified: &at, Image: new("")}))(t)
	same(t, "CreateUser", ada, adapter.User{ID: ada.ID, Name: new("Ada 🗝"), Email: "ada@example.com", EmailVerified: &stored, Image: new("")})
	refused(a.CreateUser(ctx, adapter.User{Email: "ada@example.com"}))(t, "CreateUser again", adapter.ErrConflict)
	bob := must(a.CreateUser(ctx, adapter.User{}))(t)
	must(a.CreateUser(ctx, adapter.User{}))(t)
	same(t, "GetUser", must(a.GetUser(ctx, ada.ID))(t), *ada)
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), adapter.User{ID: bob.ID})
	same(t, "GetUserByEmail", must(a.GetUserByEmail(ctx, "ada@example.com"))(t), *ada)
	require.Nil(t, must(a.GetUserByEmail(ctx, "Ada@example.com"))(t), "GetUserByEmail")
	for _, id := range []string{"", "0", "007", "+1", " 1", "1 ", "1.0", "-0", "1111111111111111111111111", "a\x00", "\xff", "null",
		"00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-00000000000G", strings.ToUpper(ada.ID) + " ", ada.ID + "\x00", strings.Repeat("x", 1<<20)} {
		require.Nil(t, must(a.GetUser(ctx, id))(t), "GetUser "+id[:min(len(id), 40)])
		require.Nil(t, must(a.DeleteUser(ctx, id))(t), "DeleteUser "+id[:min(len(id), 40)])
		got, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: id, Name: adapter.To(new("x"))})
		refused(got, err)(t, "UpdateUser "+id[:min(len(id), 40)], adapter.ErrNotFound)
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
	got, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: bob.ID, Email: adapter.To("a@example.com"), Name: adapter.To(new("x"))})
	refused(got, err)(t, "UpdateUser to a taken address", adapter.ErrConflict)
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
		refused(a.LinkAccount(ctx, taken))(t, "LinkAccount again", adapter.ErrConflict)
	}
	for _, id := range []string{"x", "007", "999999", "a\x00"} {
		linked, err := a.LinkAccount(ctx, adapter.Account{UserID: id, Type: adapter.AccountEmail, Provider: "r", ProviderAccountID: "1"})
		require.Truef(t, linked == nil && err != nil, "LinkAccount of nobody: got %v, %v", linked, err)
	}
	same(t, "UnlinkAccount", must(a.UnlinkAccount(ctx, account.Key()))(t), account)
	require.Nil(t, must(a.UnlinkAccount(ctx, account.Key()))(t), "UnlinkAccount")
	must(a.LinkAccount(ctx, account))(t)

	session := adapter.Session{SessionToken: "tok", UserID: ada.ID, Expires: at}
	want := adapter.Session{SessionToken: "tok", UserID: ada.ID, Expires: stored}
	same(t, "CreateSession", must(a.CreateSession(ctx, session))(t), want)
	same(t, "GetSessionAndUser", must(a.GetSessionAndUser(ctx, "tok"))(t), adapter.SessionAndUser{Session: want, User: *ada})
	s, err := a.CreateSession(ctx, adapter.Session{SessionToken: "tok", UserID: bob.ID, Expires: at})
	refused(s, err)(t, "CreateSession again", adapter.ErrConflict)
	s, err = a.CreateSession(ctx, adapter.Session{SessionToken: "tok2", UserID: "nobody", Expires: at})
	refused(s, err)(t, "CreateSession of nobody", adapter.ErrNotFound)
	for _, token := range []string{"", "TOK", "tok ", "to", "tok\x00", "\xff"} {
		require.Nil(t, must(a.GetSessionAndUser(ctx, token))(t), "GetSessionAndUser")
		s, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: token, UserID: adapter.To(bob.ID), Expires: adapter.To(at)})
		require.Nil(t, must(s, err)(t), "UpdateSession")
		require.Nil(t, must(a.DeleteSession(ctx, token))(t), "DeleteSession")
	}
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok"}))(t), want)
	want.Expires = time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", Expires: adapter.To(want.Expires)}))(t), want)
	s, err = a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To("nobody"), Expires: adapter.To(at)})
	refused(s, err)(t, "UpdateSession to nobody", adapter.ErrNotFound)
	want.UserID = bob.ID
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To(bob.ID)}))(t), want)
	want.UserID, want.Expires = ada.ID, time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)
	same(t, "UpdateSession", must(a.UpdateSession(ctx, adapter.SessionUpdate{SessionToken: "tok", UserID: adapter.To(ada.ID), Expires: adapter.To(want.Expires)}))(t), want)
	same(t, "DeleteSession", must(a.DeleteSession(ctx, "tok"))(t), want)
	must(a.CreateSession(ctx, session))(t)

	token := adapter.VerificationToken{Identifier: "x@example.com", Token: "hash", Expires: stored}
	same(t, "CreateVerificationToken", must(a.CreateVerificationToken(ctx, token))(t), token)
	refused(a.CreateVerificationToken(ctx, token))(t, "CreateVerificationToken again", adapter.ErrConflict)
	v, err := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "x@example.com", Token: "Hash"})
	require.Nil(t, must(v, err)(t), "UseVerificationToken")
	same(t, "UseVerificationToken", must(a.UseVerificationToken(ctx, token.Key()))(t), token)
	require.Nil(t, must(a.UseVerificationToken(ctx, token.Key()))(t), "UseVerificationToken again")

	cred := adapter.Authenticator{CredentialID: "c+/=", UserID: ada.ID, ProviderAccountID: "007", CredentialPublicKey: "key", Counter: 1<<53 - 1,
		CredentialBackedUp: true, CredentialDeviceType: "singleDevice", Transports: new("usb,nfc")}
	cred2 := adapter.Authenticator{CredentialID: "c-_", UserID: ada.ID, ProviderAccountID: "7", CredentialPublicKey: "key2", CredentialDeviceType: "multiDevice"}
	for _, c := range []adapter.Authenticator{cred, cred2} {
		same(t, "CreateAuthenticator", must(a.CreateAuthenticator(ctx, c))(t), c)
		same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, c.CredentialID))(t), c)
		taken := c
		taken.UserID = bob.ID
		refused(a.CreateAuthenticator(ctx, taken))(t, "CreateAuthenticator again", adapter.ErrConflict)
	}
	made, err := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "d", UserID: "nobody"})
	refused(made, err)(t, "CreateAuthenticator of nobody", adapter.ErrNotFound)
	require.Len(t, must(a.ListAuthenticatorsByUserID(ctx, ada.ID))(t), 2, "ListAuthenticatorsByUserID")
	cred.Counter = 0
	same(t, "UpdateAuthenticatorCounter", must(a.UpdateAuthenticatorCounter(ctx, "c+/=", 0))(t), cred)
	refused(a.UpdateAuthenticatorCounter(ctx, "C+/=", 1))(t, "UpdateAuthenticatorCounter", adapter.ErrNotFound)

	passwords, has := adapter.Capability[adapter.Passwords](a)
	require.True(t, has, "the adapter says that it has no passwords")
	callPasswords(t, passwords, ada.ID)

	same(t, "DeleteUser", must(a.DeleteUser(ctx, ada.ID))(t), *ada)
	require.Nil(t, must(a.GetSessionAndUser(ctx, "tok"))(t), "GetSessionAndUser after DeleteUser")
	require.Nil(t, must(a.GetAccount(ctx, "007", "p"))(t), "GetAccount after DeleteUser")
	require.Nil(t, must(a.GetAuthenticator(ctx, "c-_"))(t), "GetAuthenticator after DeleteUser")
	require.Nil(t, must(passwords.GetPassword(ctx, ada.ID))(t), "GetPassword after DeleteUser")
	require.Nil(t, must(a.DeleteUser(ctx, ada.ID))(t), "DeleteUser again")
	same(t, "GetUser", must(a.GetUser(ctx, bob.ID))(t), adapter.User{ID: bob.ID})
}
