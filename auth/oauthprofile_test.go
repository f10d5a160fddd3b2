package auth_test

import (
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTwoPeopleWithOneNumber: a number to which the IDs of several people are
// rounded identifies none of them.
func TestTwoPeopleWithOneNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[any]string{
		float64(1<<53 - 1): "9007199254740991", float64(1 << 53): "", float64(-1 << 53): "", 1e300: "", math.Inf(1): "", 7.0: "7", 1.5: "1.5",
		json.Number("9007199254740993"): "9007199254740993", int64(1<<62 + 1): "4611686018427387905", true: "",
	} {
		assert.Equalf(t, want, (auth.Profile{"id": v}).String("id"), "%v (%T)", v, v)
	}
	assert.Empty(t, (auth.Profile{"id": math.NaN()}).String("id"), "NaN")
	people := map[string]bool{}
	for _, id := range []string{"9007199254740992", "9007199254740993"} {
		var p map[string]any
		require.NoError(t, json.Unmarshal([]byte(`{"id":`+id+`}`), &p)) // without UseNumber, as a hook may do
		people[auth.Profile(p).String("id")] = true
	}
	assert.Truef(t, people[""] && len(people) == 1, "two people are %v, want nobody", people)
}

// TestIdentifierThatLostSomething: an ID or an address that was damaged on its
// way, or that shows nothing, could belong to several people. It signs nobody in
// as somebody who exists.
func TestIdentifierThatLostSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sub, email string
		signsIn    bool
		stored     string // the address of the user
	}{
		{"ada", "ada@example.com", true, "ada@example.com"},
		{"Ada Ü. 名前 \U0001f600", "ada@example.com", true, "ada@example.com"},
		{"0", "ada@example.com", true, "ada@example.com"},
		{"auth0|5f7c8ec7c33c6c004bbafe82", "ada@example.com", true, "ada@example.com"},
		{"ada\ufffd", "ada@example.com", false, ""},
		{"\ufffd\ufffd", "ada@example.com", false, ""},
		{"a\xffb", "ada@example.com", false, ""}, // JSON replaces the byte
		{" ", "ada@example.com", false, ""},
		{"\u200b\u2060", "ada@example.com", false, ""},
		{"\u3164", "ada@example.com", false, ""},
		{"\x00\x01", "ada@example.com", false, ""},
		{"eve", "ad\ufffd@example.com", true, ""},
		{"eve", "ad\xe0@example.com", true, ""},
	} {
		for _, type_ := range []auth.ProviderType{auth.TypeOIDC, auth.TypeOAuth} {
			s := newSite(t, func(p *idp, _ *auth.Config, o *auth.OAuth) {
				o.Type, o.Checks = type_, nil
				p.claims = func(m map[string]any) { m["sub"], m["email"] = c.sub, c.email }
				p.endpoints = map[string]http.HandlerFunc{"/userinfo": func(w http.ResponseWriter, _ *http.Request) {
					answerJSON(w, http.StatusOK, map[string]any{"sub": c.sub, "email": c.email})
				}}
			})
			b := newBrowser(t, s)
			s.signIn(b)
			assert.Equalf(t, c.signsIn, b.session() != "null", "%s, sub %q: signed in", type_, c.sub)
			for _, u := range s.store.users {
				assert.Equalf(t, c.stored, u.Email, "%s, sub %q, address %q: stored as", type_, c.sub, c.email)
			}
		}
	}
}

// TestAuthorizedIDThatLostSomething: the ID that Authorize returns names one
// person, too.
func TestAuthorizedIDThatLostSomething(t *testing.T) {
	t.Parallel()
	for id, signsIn := range map[string]bool{
		"": true, "ada": true, "7": true, "\u540d\u524d": true, " 7 ": true,
		"ad\ufffd": false, "a\xffb": false, " ": false, "\u200b": false, "\x00": false,
	} {
		h := newHandler(t, auth.Config{Providers: []auth.Provider{&auth.Credentials{
			Fields: []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
			Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) {
				return &auth.User{ID: id, Name: "Ada"}, nil
			},
		}}})
		b := newBrowser(t, h)
		b.post("/auth/callback/credentials", "username", "ada", "password", "lovelace")
		assert.Equalf(t, signsIn, b.session() != "null", "ID %q: signed in", id)
	}
}

// TestProfileWithoutID: the person is told that the sign-in failed, on the
// built-in page and on the application's own.
func TestProfileWithoutID(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{"": signInPage + "Configuration", "/login?a=b": origin + "/login?a=b&error=Configuration"} {
		s := newSite(t, func(_ *idp, c *auth.Config, o *auth.OAuth) {
			c.Pages.SignIn = page
			o.Profile = func(context.Context, auth.Profile, auth.TokenSet) (*auth.User, error) {
				return &auth.User{Name: "Ada"}, nil
			}
		})
		b := newBrowser(t, s)
		s.signIn(b).wantLocation(t, want)
		b.wantNoSession()
		assert.Containsf(t, s.log.String(), "the profile has no id", "the log is %s", s.log)
		assert.False(t, page == "" && !strings.Contains(b.get("/auth/signin?error=Configuration").body, "Unable to sign in."),
			"the page shows no message")
	}
}

// TestOAuthSubjectIsStable: without an adapter the same person is the same user
// at every sign-in, and another person another one.
func TestOAuthSubjectIsStable(t *testing.T) {
	subjects := map[string]string{}
	s := newSite(t, func(_ *idp, c *auth.Config, _ *auth.OAuth) {
		c.Adapter = nil
		c.Callbacks.Session = changingSession(func(p auth.SessionParams) {
			subjects[p.Token.String("name")] += p.Token.String("sub") + " "
		})
	})
	for _, person := range []string{"ada", "grace", "ada", "grace"} {
		b := newBrowser(t, s)
		b.get("/auth/callback/idp?" + s.idp.authorize(t, s.start(b, "/auth/signin/idp?login_hint="+person)).Encode())
		b.wantSession(person)
	}
	ada, grace := strings.Fields(subjects["ada"]), strings.Fields(subjects["grace"])
	require.Truef(t, len(ada) == 2 && len(grace) == 2 && ada[0] == ada[1] && grace[0] == grace[1] && ada[0] != grace[0],
		"subjects: %v", subjects)
}
