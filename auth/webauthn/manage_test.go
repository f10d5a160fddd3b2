package webauthn_test

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// signUp makes a user with passkeys, and returns the user's ID and a browser in
// which the user is signed in.
func signUp(t testing.TB, s *site, email string, passkeys int) (string, *browser) {
	t.Helper()
	b := newBrowser(t, s)
	for range passkeys {
		b.wantDone(b.register(softkey.New(t, softkey.ES256), email))
	}
	user, err := s.store.GetUserByEmail(t.Context(), email)
	require.Truef(t, err == nil && user != nil, "%v %v", user, err)
	return user.ID, b
}

// TestLastWayInStays: the last passkey of a user without another way to sign in
// can't be removed, not even by many concurrent removals. It can be removed if
// the user can sign in by mail at a proven address.
func TestLastWayInStays(t *testing.T) {
	t.Run("one after the other", func(t *testing.T) {
		s := newSite(t, nil)
		id, _ := signUp(t, s, "ada@example.com", 2)
		list, err := s.Passkeys(t.Context(), id)
		require.Truef(t, err == nil && len(list) == 2, "%v %v", list, err)
		require.NoError(t, s.RemovePasskey(t.Context(), id, list[0].ID))
		assert.ErrorIs(t, s.RemovePasskey(t.Context(), id, list[1].ID), adapter.ErrLastCredential)
		list, err = s.Passkeys(t.Context(), id)
		assert.Truef(t, err == nil && len(list) == 1, "%v %v", list, err)
	})
	t.Run("all at once", func(t *testing.T) {
		for range 50 {
			s := newSite(t, nil)
			id, _ := signUp(t, s, "ada@example.com", 3)
			list, err := s.Passkeys(t.Context(), id)
			require.NoError(t, err)
			var wait sync.WaitGroup
			for _, p := range list {
				wait.Go(func() { _ = s.RemovePasskey(t.Context(), id, p.ID) })
			}
			wait.Wait()
			list, err = s.Passkeys(t.Context(), id)
			require.Truef(t, err == nil && len(list) == 1, "%d passkeys are left, want 1 (%v)", len(list), err)
		}
	})
	for name, proven := range map[string]bool{"with a proven address": true, "with a typed address": false} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, func(c *auth.Config) {
				c.Providers = append(c.Providers, &auth.Email{Server: "smtp://localhost:25", From: "no-reply@example.com"})
			})
			id, _ := signUp(t, s, "ada@example.com", 1)
			if proven {
				must(s.store.UpdateUser(t.Context(), adapter.UserUpdate{ID: id, EmailVerified: adapter.To(new(s.clock.Now()))}))(t)
			}
			list, err := s.Passkeys(t.Context(), id)
			require.NoError(t, err)
			err = s.RemovePasskey(t.Context(), id, list[0].ID)
			assert.Equalf(t, err == nil, proven, "got %v", err)
		})
	}
}

// TestPasskeysOfOthers: nobody can name or remove the passkey of another user.
func TestPasskeysOfOthers(t *testing.T) {
	s := newSite(t, nil)
	ada, asAda := signUp(t, s, "ada@example.com", 2)
	bob, _ := signUp(t, s, "bob@example.com", 2)
	list, err := s.Passkeys(t.Context(), bob)
	require.NoError(t, err)
	for _, err := range []error{s.RemovePasskey(t.Context(), ada, list[0].ID), s.RenamePasskey(t.Context(), ada, list[0].ID, "mine"), s.RemovePasskey(t.Context(), "nobody", list[0].ID)} {
		assert.ErrorIsf(t, err, adapter.ErrNotFound, "got %v, want adapter.ErrNotFound", err)
	}
	page := s.PasskeysPage()
	asAda.h = page
	send := func(header http.Header, fields ...string) *reply {
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		header.Set("Content-Type", "application/x-www-form-urlencoded")
		return asAda.do(http.MethodPost, "/passkeys", form.Encode(), header)
	}
	own := http.Header{"Origin": {origin}}
	assert.Equal(t, http.StatusNotFound, send(own, "op", "remove", "confirmed", "true", "id", list[0].ID).StatusCode,
		"the page answers with status")
	mine := must(s.Passkeys(t.Context(), ada))(t)
	for name, header := range map[string]http.Header{"another site": {"Origin": {"https://evil.example"}}, "a sibling": {"Sec-Fetch-Site": {"same-site"}}, "nobody": {}} {
		assert.Equalf(t, http.StatusForbidden, send(header, "op", "remove", "confirmed", "true", "id", mine[0].ID).StatusCode,
			"a form of %s is answered with status", name)
	}
	for _, name := range []string{"", "  ", strings.Repeat("x", 65), "a\nb", "\xff"} {
		assert.Equalf(t, http.StatusBadRequest, send(own, "op", "rename", "id", mine[0].ID, "name", name).StatusCode,
			"the name %q is answered with status", name)
	}
	res := send(own, "op", "rename", "id", mine[0].ID, "name", `<b>"key"</b>`)
	assert.Truef(t, res.StatusCode == http.StatusOK && !strings.Contains(res.body, "<b>"), "status %d", res.StatusCode)
	res = newBrowser(t, page).get("/passkeys")
	assert.Truef(t, res.StatusCode == http.StatusSeeOther && strings.HasPrefix(res.location(), origin+"/auth/signin?callbackUrl="),
		"somebody who is not signed in gets status %d, %q", res.StatusCode, res.location())
	after, err := s.Passkeys(t.Context(), bob)
	assert.Truef(t, err == nil && len(after) == 2 && after[0].Name == "", "Bob has %+v (%v)", after, err)
}

// TestWithoutEdits: with an adapter that can't change passkeys, users sign in
// and see their passkeys. The page says that passkeys can't be removed.
func TestWithoutEdits(t *testing.T) {
	s := newSite(t, func(c *auth.Config) { c.Adapter = plainAdapter{memory.New()} })
	id, b := signUp(t, s, "ada@example.com", 2)
	list, err := s.Passkeys(t.Context(), id)
	require.Truef(t, err == nil && len(list) == 2, "%v %v", list, err)
	err = s.RemovePasskey(t.Context(), id, list[0].ID)
	assert.ErrorIsf(t, err, adapter.ErrUnsupported, "got %v, want adapter.ErrUnsupported", err)
	b.h = s.PasskeysPage()
	form := url.Values{"op": {"remove"}, "confirmed": {"true"}, "id": {list[0].ID}}
	res := b.do(http.MethodPost, "/passkeys", form.Encode(), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {origin}})
	assert.Equal(t, http.StatusNotImplemented, res.StatusCode, "the page answers with status")
}

// TestHiddenUserHasNoPasskeys: a user whom Callbacks.Session hides is nobody on
// the page of passkeys, and gets no further passkey.
func TestHiddenUserHasNoPasskeys(t *testing.T) {
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			locked := false
			s := newSite(t, func(c *auth.Config) {
				c.Session.Strategy = strategy
				c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
					if locked {
						p.Session.User = nil
					}
					return p.Session, nil
				}
			})
			b := newBrowser(t, s)
			b.wantDone(b.register(softkey.New(t, softkey.ES256), "ada@example.com"))
			began := b.options("action=register")
			locked = true
			reader := newBrowser(t, s.PasskeysPage())
			reader.cookies = maps.Clone(b.cookies)
			assert.Equal(t, http.StatusSeeOther, reader.get("/passkeys").StatusCode, "the page of passkeys: status")
			b.wantRefused(b.finish("register", softkey.New(t, softkey.ES256).Register(t, began.Options, b.client())), "user-changed")
			got := s.authenticatorsOf(t, "ada@example.com")
			assert.Lenf(t, got, 1, "the user has %d passkeys, want 1", len(got))
		})
	}
}

// TestPasskeyNamesItsOwner: the account of a passkey has the ID of its owner in
// every event, and none before the user is stored.
func TestPasskeyNamesItsOwner(t *testing.T) {
	var seen []string
	note := func(where string, a *auth.Account, u *auth.User) {
		seen = append(seen, where+map[bool]string{true: " nobody", false: " another"}[a.UserID == ""])
		if a.UserID != "" && a.UserID == u.ID {
			seen[len(seen)-1] = where + " the user"
		}
	}
	s := newSite(t, func(c *auth.Config) {
		c.Callbacks.SignIn = func(_ context.Context, p auth.SignInParams) (auth.SignInDecision, error) {
			note("signIn", p.Account, p.User)
			return auth.Allow(), nil
		}
		c.Events.LinkAccount = func(_ context.Context, e auth.LinkAccountEvent) error {
			note("linked", e.Account, e.User)
			return nil
		}
		c.Events.SignIn = func(_ context.Context, e auth.SignInEvent) error {
			note("signed in", e.Account, e.User)
			return nil
		}
	})
	b, key := newBrowser(t, s), softkey.New(t, softkey.ES256)
	b.wantDone(b.register(key, "ada@example.com"))
	b.wantDone(b.signIn(key))
	want := []string{"signIn nobody", "linked the user", "signed in the user", "signIn the user", "signed in the user"}
	assert.Equal(t, want, seen)
}
