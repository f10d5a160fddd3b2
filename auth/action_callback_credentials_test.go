package auth_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// passwords is a site with passwords and database sessions. The name that is typed is
// the ID of the user, and every password is right but "wrong".
func passwords(t *testing.T, store adapter.Adapter, configure func(c *auth.Config)) *auth.Handler {
	t.Helper()
	c := auth.Config{Adapter: store, Providers: []auth.Provider{&auth.Credentials{
		UsesAdapterIDs: true,
		Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
			if f.Get("password") == "wrong" {
				return nil, nil
			}
			return &auth.User{ID: f.Get("username"), Name: "what Authorize says"}, nil
		},
	}}}
	if configure != nil {
		configure(&c)
	}
	return newHandler(t, c)
}

func (b *browser) password(name, password string) *reply {
	b.t.Helper()
	return b.post("/auth/callback/credentials", "username", name, "password", password)
}

// newPeople is a store with two users.
func newPeople() capable {
	s := newCapable()
	for id, name := range map[string]string{"ada": "Ada Lovelace", "eve": "Eve"} {
		s.users[id] = adapter.User{ID: id, Name: &name, Email: id + "@example.com"}
	}
	return s
}

// TestCredentialsMakeDatabaseSessions: a sign-in with a password makes a session like
// every other one: it is of the stored user, it is in the list, and it ends when the
// person signs out everywhere, and with the user.
func TestCredentialsMakeDatabaseSessions(t *testing.T) {
	t.Parallel()
	store := newPeople()
	var events []string
	h := passwords(t, store, func(c *auth.Config) {
		c.Events.SignIn = on(func(e auth.SignInEvent) {
			events = append(events, e.User.ID+" "+e.User.Name+" "+e.Account.Provider+" "+e.Account.UserID)
		})
	})
	laptop, phone := newBrowser(t, h), newBrowser(t, h)
	for _, b := range []*browser{laptop, phone} {
		b.password("ada", "right").wantLocation(t, origin)
		b.wantSession(`"name":"Ada Lovelace"`)
	}
	assert.Truef(t, len(events) == 2 && events[0] == "ada Ada Lovelace credentials ada", "events: %q", events)
	cookie := laptop.cookies["__Secure-authjs.session-token"]
	if s, ok := store.sessions[cookie.Value]; !ok || s.UserID != "ada" || !s.Expires.Equal(cookie.Expires) && s.Expires.Sub(cookie.Expires).Seconds() > 1 {
		t.Errorf("the store has %+v for the cookie %+v", s, cookie)
	}
	assert.Len(t, must(h.Sessions(laptop.request("/")))(t), 2, "sessions")
	newBrowser(t, h).password("ada", "wrong").wantLocation(t, origin+"/auth/signin?error=CredentialsSignin&code=credentials")
	assert.Len(t, store.sessions, 2, "sessions that are stored")
	delete(store.users, "ada")
	laptop.wantNoSession()
}

// TestCredentialsReplaceTheSession: who signs in again, or as somebody else, gets a new
// key, and the old one is no longer valid.
func TestCredentialsReplaceTheSession(t *testing.T) {
	t.Parallel()
	store := newPeople()
	h := passwords(t, store, nil)
	b := newBrowser(t, h)
	for _, who := range []string{"ada", "ada", "eve"} {
		before := b.cookies["__Secure-authjs.session-token"]
		b.password(who, "right").wantLocation(t, origin)
		b.wantSession(who + "@example.com")
		require.Lenf(t, store.sessions, 1, "%s: sessions that are stored", who)
		if before != nil {
			old := newBrowser(t, h)
			old.cookies["s"] = before
			old.wantNoSession()
		}
	}
}

// TestCredentialsOfNobody: an ID that no user of the adapter has, or none, is a mistake
// of the application: it signs nobody in, stores nothing and is logged.
func TestCredentialsOfNobody(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"stranger": "no user of the adapter has", "": "without an ID"} {
		store, log := newPeople(), &logBook{}
		h := passwords(t, store, func(c *auth.Config) { c.Logger = log.logger() })
		b := newBrowser(t, h)
		b.password(name, "right").wantLocation(t, origin+"/auth/error?error=Configuration")
		b.wantNoSession()
		assert.Truef(t, len(store.sessions) == 0 && strings.Contains(log.String(), want),
			"%q: %d sessions are stored, and the log says %q", name, len(store.sessions), log)
	}
}
