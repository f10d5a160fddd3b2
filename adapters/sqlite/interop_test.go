package sqlite_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite/sqlitetest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

// drizzleDatabase makes the tables of @auth/drizzle-adapter.
func drizzleDatabase(t testing.TB, w wiring) (db *sql.DB, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "drizzle.db")
	db = w.openDB(t, path)
	run(t, db, sqlitetest.DrizzleTables)
	return db, path
}

// TestInterop lets the real @auth/drizzle-adapter and this adapter take turns
// on one database.
func TestInterop(t *testing.T) {
	for name, theirs := range map[string]bool{"our tables": false, "tables of Drizzle": true} {
		t.Run(name, func(t *testing.T) {
			w := wirings[0]
			path := filepath.Join(t.TempDir(), "ours.db")
			db := w.openDB(t, path)
			if theirs {
				db, path = drizzleDatabase(t, w)
			}
			a := newAdapter(t, db)
			js := authjs.Start(t, "../../interop/drizzle", path)
			authjs.Exchange(t, a, js, authjs.Sharing{Nobody: "nobody", Authenticators: true})

			ctx := t.Context()
			made := js.Call("createUser", authjs.Record{"name": nil, "email": nil, "emailVerified": nil, "image": nil})
			id := made["id"].(string)
			same(t, "a user without an address", must(a.GetUser(ctx, id))(t), adapter.User{ID: id})
			js.Call("createUser", authjs.Record{"name": nil, "email": nil, "emailVerified": nil, "image": nil})
			ours := must(a.CreateUser(ctx, adapter.User{}))(t)
			if found := js.Call("getUser", ours.ID); found == nil || found["email"] != nil {
				t.Errorf("getUser of a user without an address: got %v", found)
			}

			js.Call("createAuthenticator", authjs.Record{"credentialID": "theirs", "userId": id, "providerAccountId": "1", "credentialPublicKey": "key",
				"counter": 5, "credentialDeviceType": "singleDevice", "credentialBackedUp": true, "transports": "usb"})
			want := adapter.Authenticator{CredentialID: "theirs", UserID: id, ProviderAccountID: "1", CredentialPublicKey: "key",
				Counter: 5, CredentialDeviceType: "singleDevice", CredentialBackedUp: true, Transports: new("usb")}
			same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, "theirs"))(t), want)
			must(a.RenameAuthenticator(ctx, id, "theirs", "Ada's key"))(t)
			js.Call("updateAuthenticatorCounter", "theirs", 6)
			want.Counter, want.Name = 6, new("Ada's key")
			same(t, "GetAuthenticator", must(a.GetAuthenticator(ctx, "theirs"))(t), want)

			must(a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: "ours", UserID: id, ProviderAccountID: "1"}))(t)
			must(a.UpdateAuthenticatorCounter(ctx, "ours", 7))(t)
			if found := js.Call("getAuthenticator", "ours"); found == nil || fmt.Sprint(found["counter"]) != "7" || found["credentialBackedUp"] != false {
				t.Errorf("getAuthenticator: got %v", found)
			}
			if found := js.Call("listAuthenticatorsByUserId", id); found == nil || len(found["list"].([]any)) != 2 {
				t.Errorf("listAuthenticatorsByUserId: got %v", found)
			}
			js.Call("linkAccount", authjs.Record{"userId": id, "type": "webauthn", "provider": "passkey", "providerAccountId": "1"})
			if found := js.Call("getAccount", "1", "passkey"); found == nil || found["userId"] != id {
				t.Errorf("getAccount: got %v", found)
			}
			must(a.DeleteUser(ctx, id))(t)
			if found := js.Call("getAuthenticator", "ours"); found != nil {
				t.Errorf("an authenticator of the deleted user is left: %v", found)
			}
		})
	}
}
