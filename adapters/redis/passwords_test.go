package redis_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestPasswords calls the methods of adapter.Passwords, also with declared keys and on a
// cluster. At the end no key is left.
func TestPasswords(t *testing.T) {
	for _, w := range []wiring{standalone, declared, cluster} {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			client := w.client(t, 4)
			e := w.env(t)
			a := w.adapter(t, client, e.Prefix+"-passwords")
			user := must(a.CreateUserWithPassword(ctx, adapter.User{Email: "cy@example.com"}, adapter.Password{Hash: "H </>&  \u007f"}))(t)
			one, two := adapter.Password{UserID: user.ID, Hash: "H </>&  \u007f"}, adapter.Password{UserID: user.ID, Hash: "h🗝", State: `{"a": "\u0001"}`}
			for _, taken := range []adapter.User{{Email: "cy@example.com"}, {ID: user.ID}, {ID: user.ID, Email: "other@example.com"}} {
				refused(a.CreateUserWithPassword(ctx, taken, adapter.Password{Hash: "h"}))(t, "a user twice", adapter.ErrConflict)
			}
			require.Equal(t, &one, must(a.GetPassword(ctx, user.ID))(t), "GetPassword")
			for _, from := range []adapter.Password{{Hash: "h"}, {Hash: one.Hash + " "}, {Hash: one.Hash, State: " "}, {}, {Hash: "\xff"}} {
				from.UserID = user.ID
				require.Nil(t, must(a.SwapPassword(ctx, from, two))(t), "SwapPassword from another")
			}
			require.Equal(t, &one, must(a.SwapPassword(ctx, one, one))(t), "SwapPassword to the same")
			require.Equal(t, &two, must(a.SwapPassword(ctx, one, two))(t), "SwapPassword")
			for _, to := range []adapter.Password{one, two, {UserID: user.ID, Hash: strings.Repeat("🗝", 500), State: strings.Repeat("🗝", 8000)}} {
				require.Equal(t, &to, must(a.SetPassword(ctx, to))(t), "SetPassword")
				require.Equal(t, &to, must(a.GetPassword(ctx, user.ID))(t), "GetPassword")
			}
			for _, wrong := range []adapter.Password{{}, {Hash: strings.Repeat("x", 2001)}, {Hash: "h", State: strings.Repeat("x", 32001)}} {
				wrong.UserID = user.ID
				got, err := a.SetPassword(ctx, wrong)
				assert.Truef(t, got == nil && err != nil, "a wrong record: got %v, %v", got, err)
			}
			for _, nobody := range []string{"", "nobody", strings.ToLower(user.ID), "\xff"} {
				refused(a.SetPassword(ctx, adapter.Password{UserID: nobody, Hash: "h"}))(t, "SetPassword of nobody", adapter.ErrNotFound)
				require.Nil(t, must(a.DeletePassword(ctx, nobody, true))(t), "DeletePassword of nobody")
			}
			refused(a.DeletePassword(ctx, user.ID, true))(t, "the last way in", adapter.ErrLastCredential)
			must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: user.ID, CredentialID: "c"}))(t)
			assert.NotNil(t, must(a.DeletePassword(ctx, user.ID, true))(t),
				"the password of a user with a passkey was not deleted")
			refused(a.DeleteAuthenticator(ctx, user.ID, "c", true))(t, "the last passkey", adapter.ErrLastCredential)
			must(a.SetPassword(ctx, one))(t)
			assert.NotNil(t, must(a.DeleteAuthenticator(ctx, user.ID, "c", true))(t),
				"the passkey of a user with a password was not deleted")
			must(a.DeleteUser(ctx, user.ID))(t)
			require.Nil(t, must(a.GetPassword(ctx, user.ID))(t), "GetPassword after DeleteUser")
			left := keysOf(t, client, "{"+e.Prefix+"-passwords}:*")
			assert.Len(t, left, 1) // the layout
		})
	}
}

// TestPasswordOfAnEarlierUser: a process of an earlier version, which knows no passwords,
// leaves the key when it deletes a user. A later user with the same ID does not get it.
func TestPasswordOfAnEarlierUser(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := standalone.client(t, 4)
	prefix := standalone.env(t).Prefix + "-earlier"
	a := standalone.adapter(t, client, prefix)
	key := "{" + prefix + "}:password:u"
	must(a.CreateUserWithPassword(ctx, adapter.User{ID: "u"}, adapter.Password{Hash: "h"}))(t)
	left := must(client.Get(ctx, key).Result())(t)
	must(a.DeleteUser(ctx, "u"))(t)
	leave := func() { must(client.Set(ctx, key, left, 0).Result())(t) }
	leave()
	must(a.CreateUser(ctx, adapter.User{ID: "u"}))(t)
	require.Nil(t, must(a.GetPassword(ctx, "u"))(t), "GetPassword")
	got := must(a.SwapPassword(ctx, adapter.Password{UserID: "u", Hash: "h"}, adapter.Password{Hash: "i"}))(t)
	require.Nil(t, got, "SwapPassword")
	require.Nil(t, must(a.DeletePassword(ctx, "u", false))(t), "DeletePassword")
	must(a.CreateAuthenticator(ctx, adapter.Authenticator{UserID: "u", CredentialID: "c"}))(t)
	refused(a.DeleteAuthenticator(ctx, "u", "c", true))(t, "an earlier user's password is gone", adapter.ErrLastCredential)
	must(a.SetPassword(ctx, adapter.Password{UserID: "u", Hash: "i"}))(t)
	must(a.DeleteUser(ctx, "u"))(t)
	leave()
	must(a.CreateUserWithPassword(ctx, adapter.User{ID: "u"}, adapter.Password{Hash: "j"}))(t)
	require.Equal(t, &adapter.Password{UserID: "u", Hash: "j"}, must(a.GetPassword(ctx, "u"))(t), "GetPassword")
}

// TestRoundTripsOfPasswords: each method takes one, on a cluster too.
func TestRoundTripsOfPasswords(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			h := w.benchHarness(t)
			second := h.Second(t, h.New(t))
			a, faults, ctx := second.(*redistest.Handle), h.Faults(second), t.Context()
			before := faults.Steps()
			trips := func(what string) {
				t.Helper()
				after := faults.Steps()
				n := after - before
				assert.Truef(t, n == 1, "%s takes %d round trips, want 1", what, n)
				before = after
			}
			user := must(a.CreateUserWithPassword(ctx, adapter.User{}, adapter.Password{Hash: "h"}))(t)
			trips("CreateUserWithPassword")
			must(a.GetPassword(ctx, user.ID))(t)
			trips("GetPassword")
			p := must(a.SetPassword(ctx, adapter.Password{UserID: user.ID, Hash: "i"}))(t)
			trips("SetPassword")
			must(a.SwapPassword(ctx, *p, adapter.Password{Hash: "j"}))(t)
			trips("SwapPassword")
			must(a.DeletePassword(ctx, user.ID, false))(t)
			trips("DeletePassword")
		})
	}
}
