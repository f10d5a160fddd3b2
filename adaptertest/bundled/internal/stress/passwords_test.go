package stress_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/password"
	"github.com/stretchr/testify/require"
)

const (
	firstPassword  = "correct horse battery staple"
	secondPassword = "seven quiet mountains at dawn"
	thirdPassword  = "nine loud valleys in the evening"

	// The password of a site that kept bcrypt, and its hash.
	broughtPassword = "pa\u0301ssword of \u00e5ngstr\u00f6m 1"
	broughtHash     = "$2b$04$wp0AP3ObyUqVYT855Jvi1uGMlJggn1/UEE.xKBV8tpn1FDNqh02A."
)

// passwordSite is a site whose people sign in with passwords, over a wiring.
type passwordSite struct {
	*auth.Handler
	t     *testing.T
	links []string
}

func newPasswordSite(t *testing.T, a adapter.Adapter) *passwordSite {
	t.Helper()
	s := &passwordSite{t: t}
	s.Handler = newSite(t, a, password.Provider(a, password.Settings{
		Hashing: password.Options{
			Argon2: password.Argon2{Memory: 64, Time: 1, Parallelism: 1}, DangerouslyFast: true,
			Imported: []password.Format{password.Bcrypt{Cost: 4}},
		},
		Send: func(_ context.Context, m password.Mail) error {
			if m.URL != "" {
				s.links = append(s.links, m.URL)
			}
			return nil
		},
	}))
	return s
}

// visitor is a browser of somebody with a password.
type visitor struct {
	*tab
	s *passwordSite
}

func (s *passwordSite) visitor() *visitor { return &visitor{newTab(s.t, s), s} }

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// choose opens the link of the last mail, and chooses a password on its page.
func (v *visitor) choose(chosen string) *httptest.ResponseRecorder {
	v.t.Helper()
	require.NotEmpty(v.t, v.s.links, "no mail has a link")
	form := url.Values{"password": {chosen}}
	for _, m := range hidden.FindAllStringSubmatch(v.do(http.MethodGet, v.s.links[len(v.s.links)-1], "").Body.String(), -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	return v.do(http.MethodPost, "/auth/password/choose", form.Encode())
}

func (v *visitor) signIn(address, typed string) string {
	v.t.Helper()
	return v.submit("/auth/callback/password", "email", address, "password", typed).Header().Get("Location")
}

// is reports whether the browser is signed in as the address; "" is nobody.
func (v *visitor) is(address string) bool {
	v.t.Helper()
	var session struct{ User struct{ Email string } }
	_ = json.NewDecoder(v.do(http.MethodGet, "/auth/session", "").Body).Decode(&session)
	return session.User.Email == address
}

// TestPasswordFlows drives each flow about passwords through the handler, over the
// real store of each adapter.
func TestPasswordFlows(t *testing.T) {
	inWirings(t, oneOfEach, wiringstest.Servers(t, stores.Options{Fast: true}), func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		a := o.Harness.New(t)
		kept, ok := adapter.Capability[adapter.Passwords](a)
		require.True(t, ok, "the adapter keeps no passwords")
		s := newPasswordSite(t, a)
		must := func(what string, ok bool) {
			t.Helper()
			require.Truef(t, ok, "%s: not so", what)
		}
		address := "ada-" + strings.ToLower(rand.Text()) + "@example.com"
		owner, other := s.visitor(), s.visitor()

		owner.submit("/auth/password/sign-up", "email", address)
		nobody, err := a.GetUserByEmail(t.Context(), address)
		must("before the proof there is no user", err == nil && nobody == nil)
		must("the password is chosen after the proof", owner.choose(firstPassword).Header().Get("Location") == siteURL && owner.is(address))
		must("a link counts once", other.choose(secondPassword).Code == http.StatusForbidden && other.is(""))
		user, err := a.GetUserByEmail(t.Context(), address)
		must("there is a user with a proven address", err == nil && user != nil && user.EmailVerified != nil)

		must("a wrong password", strings.Contains(other.signIn(address, secondPassword), "error=CredentialsSignin") && other.is(""))
		record, err := kept.GetPassword(t.Context(), user.ID)
		must("the failure is counted in the store", err == nil && strings.Contains(record.State, `"failures":{"":1}`))
		must("the right password", other.signIn(strings.ToUpper(address), firstPassword) == siteURL && other.is(address))
		record, err = kept.GetPassword(t.Context(), user.ID)
		must("the count is forgotten", err == nil && !strings.Contains(record.State, "failures"))

		page := owner.submit("/auth/password/change", "current", firstPassword, "password", secondPassword)
		must("a change ends the other session", page.Code == http.StatusFound && owner.is(address) && other.is(""))
		must("the old password is over", strings.Contains(other.signIn(address, firstPassword), "error=") && other.signIn(address, secondPassword) == siteURL)

		s.visitor().submit("/auth/password/forgot", "email", address)
		must("a forgotten password", other.choose(thirdPassword).Code == http.StatusFound && other.is(address) && owner.is(""))
		must("the new password counts", strings.Contains(owner.signIn(address, secondPassword), "error=") && owner.signIn(address, thirdPassword) == siteURL)

		must("the only way in stays", owner.submit("/auth/password/remove", "current", thirdPassword).Code == http.StatusConflict)
		_, err = a.LinkAccount(t.Context(), adapter.Account{
			UserID: user.ID, Type: adapter.AccountOAuth, Provider: "idp", ProviderAccountID: address,
		})
		must("another way in", err == nil)
		must("then it is removed", owner.submit("/auth/password/remove", "current", thirdPassword).Code == http.StatusFound && owner.is(address) && other.is(""))
		must("and does not count", strings.Contains(other.signIn(address, thirdPassword), "error=") && other.is(""))
		record, err = kept.GetPassword(t.Context(), user.ID)
		must("the store has none", err == nil && record == nil)

		_, err = kept.SetPassword(t.Context(), adapter.Password{UserID: user.ID, Hash: broughtHash})
		must("a hash is brought along", err == nil)
		must("it counts", other.signIn(address, broughtPassword) == siteURL && other.is(address))
		record, err = kept.GetPassword(t.Context(), user.ID)
		must("it was hashed again", err == nil && strings.HasPrefix(record.Hash, "$argon2id$"))
		must("and counts again", s.visitor().signIn(address, broughtPassword) == siteURL)
	})
}
