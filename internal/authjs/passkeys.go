package authjs

import (
	"testing"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
)

// Passkeys tests passkeys as Exchange tests the other records, for an adapter of Auth.js
// that stores them. If the tables keep names, a name stays when Auth.js changes the counter.
func Passkeys(t *testing.T, a adapter.Adapter, js *Adapter, names bool) {
	t.Helper()
	x := exchange{t, t.Context(), a, js, Sharing{}}
	ada := must(a.CreateUser(x.ctx, adapter.User{Email: "ada@example.com"}))(t)
	x.js.Call("createAuthenticator", Record{"credentialID": "theirs", "userId": ada.ID, "providerAccountId": "1", "credentialPublicKey": "key",
		"counter": 5, "credentialDeviceType": "singleDevice", "credentialBackedUp": true, "transports": "usb"})
	want := adapter.Authenticator{CredentialID: "theirs", UserID: ada.ID, ProviderAccountID: "1", CredentialPublicKey: "key",
		Counter: 5, CredentialDeviceType: "singleDevice", CredentialBackedUp: true, Transports: new("usb")}
	x.same("GetAuthenticator", must(a.GetAuthenticator(x.ctx, "theirs"))(t), want)
	if names {
		must(a.(adapter.AuthenticatorEdits).RenameAuthenticator(x.ctx, ada.ID, "theirs", "Ada's key"))(t)
		want.Name = new("Ada's key")
	}
	x.js.Call("updateAuthenticatorCounter", "theirs", 6)
	want.Counter = 6
	x.same("GetAuthenticator", must(a.GetAuthenticator(x.ctx, "theirs"))(t), want)

	must(a.CreateAuthenticator(x.ctx, adapter.Authenticator{CredentialID: "ours", UserID: ada.ID, ProviderAccountID: "1"}))(t)
	must(a.UpdateAuthenticatorCounter(x.ctx, "ours", 7))(t)
	x.has("getAuthenticator", x.js.Call("getAuthenticator", "ours"), Record{"counter": 7, "userId": ada.ID, "credentialBackedUp": false})
	assert.Len(t, x.js.Call("listAuthenticatorsByUserId", ada.ID)["list"], 2)
	assert.Len(t, must(a.ListAuthenticatorsByUserID(x.ctx, ada.ID))(t), 2)
	x.js.Call("linkAccount", Record{"userId": ada.ID, "type": "webauthn", "provider": "passkey", "providerAccountId": "1"})
	x.has("getAccount", x.js.Call("getAccount", "1", "passkey"), Record{"userId": ada.ID})
	must(a.DeleteUser(x.ctx, ada.ID))(t)
	assert.Nil(x.t, x.js.Call("getAuthenticator", "ours"), "getAuthenticator of a deleted user")
}

// WithoutAddress tests users without an address.
func WithoutAddress(t *testing.T, a adapter.Adapter, js *Adapter) {
	t.Helper()
	x := exchange{t, t.Context(), a, js, Sharing{}}
	nobody := Record{"name": nil, "email": nil, "emailVerified": nil, "image": nil}
	theirs, ours := js.Call("createUser", nobody), must(a.CreateUser(x.ctx, adapter.User{}))(t)
	id, _ := theirs["id"].(string)
	x.same("GetUser", must(a.GetUser(x.ctx, id))(t), adapter.User{ID: id})
	x.has("getUser", js.Call("getUser", ours.ID), Record{"email": nil})
	second, _ := js.Call("createUser", nobody)["id"].(string)
	for _, user := range []string{id, second, ours.ID} {
		must(a.DeleteUser(x.ctx, user))(t)
	}
}
