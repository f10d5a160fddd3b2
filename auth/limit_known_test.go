package auth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const knownCookie = "__Host-authjs.known"

// versions is a store that has a password of each user, whose state is given.
type versions struct {
	capable
	adapter.Passwords // the other methods are not called
	state             string
	err               error
	asked             *[]string
}

func (v *versions) GetPassword(_ context.Context, userID string) (*adapter.Password, error) {
	*v.asked = append(*v.asked, userID)
	if v.err != nil {
		return nil, v.err
	}
	return &adapter.Password{UserID: userID, Hash: "h", State: v.state}, nil
}

// limited is a site with passwords whose Config.Limit notes the attempts.
func limited(t *testing.T, configure func(c *auth.Config)) (h *auth.Handler, store *versions, last func() auth.Attempt) {
	t.Helper()
	var attempts []auth.Attempt
	store = &versions{capable: newPeople(), state: `{"version":"v1"}`, asked: new([]string)}
	h = passwords(t, store, func(c *auth.Config) {
		c.Limit = on(func(a auth.Attempt) { attempts = append(attempts, a) })
		if configure != nil {
			configure(c)
		}
	})
	return h, store, func() auth.Attempt { return attempts[len(attempts)-1] }
}

// TestKnownBrowser: a browser in which somebody signed in is known for the names of
// that person, keeps its ID, and for no other name. A sign-out changes nothing.
func TestKnownBrowser(t *testing.T) {
	t.Parallel()
	h, store, last := limited(t, nil)
	b := newBrowser(t, h)
	b.password("ada", "wrong")
	require.True(t, b.cookies[knownCookie] == nil && last().Browser == "", "a wrong password makes the browser known")
	*store.asked = nil
	b.password("eve", "wrong")
	assert.Emptyf(t, *store.asked,
		"the store was asked for the password of %q for a browser that is not known", *store.asked)
	b.password("ada", "right").wantLocation(t, origin)
	c := b.cookies[knownCookie]
	require.Truef(t, c != nil && c.HttpOnly && c.Secure && c.Path == "/" && c.Domain == "" &&
		c.SameSite == http.SameSiteLaxMode && c.MaxAge == 180*24*60*60,
		"the cookie is %+v", c)
	assert.Truef(t, len(c.Value) <= 1000 && !strings.Contains(c.Value, "ada"),
		"the cookie has %d bytes: %s", len(c.Value), c.Value)
	b.password("ada", "wrong")
	id := last().Browser
	require.Len(t, id, 22, "the ID of the browser")
	for name, want := range map[string]string{"ADA": id, "ada@example.com": id, "eve": "", "eve@example.com": "", "": ""} {
		b.password(name, "wrong")
		assert.Equalf(t, want, last().Browser, "%q: the browser", name)
	}
	b.post("/auth/signout")
	b.password("ada", "right")
	b.password("ada", "wrong")
	assert.Equal(t, id, last().Browser, "a sign-in renews the ID of the browser, and with it the limit")
	b.password("eve", "right")
	b.password("eve", "wrong")
	other := last().Browser
	assert.Truef(t, other != "" && other != id, "for another user the browser is %q", other)
	b.password("ada", "wrong")
	assert.Equal(t, id, last().Browser, "another user makes the browser forget the first")
	stranger := newBrowser(t, h)
	stranger.password("ada", "right")
	stranger.password("ada", "wrong")
	other = last().Browser
	assert.Truef(t, other != "" && other != id, "another browser is %q", other)
}

// TestKnownBrowserAndThePassword: after a change of the password no browser is known
// for the user until a sign-in there. If the store does not answer, the browser is not
// known, and a sign-in is a sign-in.
func TestKnownBrowserAndThePassword(t *testing.T) {
	t.Parallel()
	h, store, last := limited(t, nil)
	b := newBrowser(t, h)
	b.password("ada", "right")
	store.err = errors.New("down")
	b.password("ada", "wrong")
	assert.Empty(t, last().Browser, "the browser is known although the store does not answer")
	newBrowser(t, h).password("ada", "right").wantLocation(t, origin)
	store.err = nil
	b.password("ada", "wrong")
	old := last().Browser
	require.NotEmpty(t, old, "the browser is not known after an outage")
	store.state = `{"version":"v2"}`
	b.password("ada", "wrong")
	assert.Truef(t, last().Browser == "" && b.cookies[knownCookie] == nil,
		"after the password was changed the browser is %q and has the cookie %v", last().Browser, b.cookies[knownCookie])
	b.password("ada", "right")
	b.password("ada", "wrong")
	id := last().Browser
	assert.Truef(t, id != "" && id != old, "after a sign-in with the new password the browser is %q", id)
}

// TestKnownBrowserForgets: the cookie ends after 180 days, is for four people at most,
// and is not made without Config.Limit.
func TestKnownBrowserForgets(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h, store, last := limited(t, func(c *auth.Config) { c.Clock = func() time.Time { return now } })
	b := newBrowser(t, h)
	people := []string{"ada", "eve", "a", "b", "c"}
	for _, id := range people {
		store.users[id] = adapter.User{ID: id, Email: id + "@example.com"}
		b.password(id, "right").wantLocation(t, origin)
	}
	for i, id := range people {
		b.password(id, "wrong")
		assert.Equalf(t, i > 0, last().Browser != "", "the browser is known for %s", id)
	}
	now = now.Add(100 * 24 * time.Hour)
	b.password("b", "right")
	now = now.Add(81 * 24 * time.Hour)
	for id, want := range map[string]bool{"b": true, "c": false} {
		b.password(id, "wrong")
		assert.Equalf(t, want, last().Browser != "", "after 181 days the browser is known for %s", id)
	}
	plain := newBrowser(t, passwords(t, newPeople(), nil))
	plain.password("ada", "right").wantLocation(t, origin)
	assert.Nil(t, plain.cookies[knownCookie], "without a limit there is the cookie")
}

// TestKnownByAnotherAddress: an address that a provider only states, and no store
// keeps, makes no browser known for it.
func TestKnownByAnotherAddress(t *testing.T) {
	t.Parallel()
	var browsers []string
	h := newHandler(t, auth.Config{
		Providers: []auth.Provider{&auth.Credentials{Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
			return &auth.User{ID: "1", Email: victim}, nil
		}}},
		Limit: on(func(a auth.Attempt) { browsers = append(browsers, a.Browser) }),
	})
	b := newBrowser(t, h)
	b.password("eve", "x")
	b.password("eve", "x")
	b.password(victim, "x")
	assert.Truef(t, len(browsers) == 3 && browsers[0] == "" && browsers[1] != "" && browsers[2] == "",
		"the browsers are %q", browsers)
}
