package webauthn_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	cdpwebauthn "github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// roaming is a security key on USB that has a signature counter and is not
// backed up.
func roaming() cdpwebauthn.VirtualAuthenticatorOptions {
	return cdpwebauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "usb", HasResidentKey: true, HasUserVerification: true,
		AutomaticPresenceSimulation: true, IsUserVerified: true, HasCmtgKey: true,
	}
}

// clickSignIn presses the button of the sign-in page, without autofill.
func (c *chromium) clickSignIn(s *realSite) {
	c.t.Helper()
	c.goTo(s.url + "/auth/signin")
	c.do(chromedp.Click(chromedp.CSS("#submitButton-passkey")))
}

// addKey copies a credential of another authenticator into the authenticator of
// the tab.
func (c *chromium) addKey(key *cdpwebauthn.Credential) {
	c.t.Helper()
	copied := *key
	copied.CmtgKeys, copied.ActiveCmtgKeyIndex = nil, nil // Chromium reports these, and refuses them as input
	call(c, cdpwebauthn.AddCredential, cdpwebauthn.AddCredentialParams{AuthenticatorID: c.key, Credential: &copied})
}

// onRequest switches the offer in the autofill off: a virtual authenticator
// takes such an offer at once.
func onRequest() webauthn.Option {
	return webauthn.With(func(p *auth.WebAuthn) { p.EnableConditionalUI = false })
}

// TestManagingInChromium: a person adds a second passkey, names it, and removes
// the first, which can't sign in any more. The last passkey can't be removed.
func TestManagingInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	c := registered(t, s, platform())
	first := c.held()[0]

	c.plugIn(roaming())
	c.goTo(s.url + "/passkeys")
	c.waitFor(`document.querySelectorAll("section").length === 1`)
	c.do(chromedp.Click(chromedp.CSS("button[data-passkey-add]")))
	c.waitFor(`document.querySelectorAll("section").length === 2`)
	c.do(chromedp.SetValue(chromedp.CSS("#name-1"), "key ring"), chromedp.Click(chromedp.CSS(`section:nth-of-type(2) form:nth-of-type(1) button`)))
	c.waitFor(`document.querySelector("section:nth-of-type(2) h2")?.textContent === "key ring"`)
	c.do(chromedp.Click(chromedp.CSS(`section:nth-of-type(1) form:nth-of-type(2) button`)), chromedp.Click(chromedp.CSS("#submitButton")))
	c.waitFor(`document.querySelectorAll("section").length === 1`)
	c.do(chromedp.Click(chromedp.CSS(`section:nth-of-type(1) form:nth-of-type(2) button`)), chromedp.Click(chromedp.CSS("#submitButton")))
	c.waitFor(`document.querySelector("[role=alert]").textContent.includes("only way to sign in")`)

	c.signOut(s)
	c.clickSignIn(s)
	c.wantUser(s, "ada@example.com")
	c.signOut(s)
	c.plugIn(platform())
	c.addKey(first)
	c.clickSignIn(s)
	c.waitFor(`document.body.innerText.includes("This passkey is not known here")`)
	if eval[bool](c, `Boolean(PublicKeyCredential.signalUnknownCredential)`) {
		assert.Empty(t, c.held(), "the browser was not told that the passkey is unknown")
	}
}

// TestPlatformAndRoamingInChromium: platform and roaming authenticators
// register, and the stored records show their differences.
func TestPlatformAndRoamingInChromium(t *testing.T) {
	for name, o := range map[string]cdpwebauthn.VirtualAuthenticatorOptions{"internal": platform(), "usb": roaming()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, false, nil, nil, onRequest())
			c := registered(t, s, o)
			list, err := s.store.ListAuthenticatorsByUserID(t.Context(), userID(t, s, "ada@example.com"))
			require.Truef(t, err == nil && len(list) == 1 && list[0].Transports != nil, "got %+v, %v", list, err)
			a, synced := list[0], name == "internal"
			assert.Truef(t, *a.Transports == name && a.CredentialBackedUp == synced && (a.CredentialDeviceType == "multiDevice") == synced,
				"the site keeps %+v", a)
			for range 2 {
				c.signOut(s)
				c.clickSignIn(s)
				c.wantUser(s, "ada@example.com")
			}
		})
	}
}

// TestNobodyVerifiedInChromium: a person who can't unlock the passkey gets a
// message and stays on the page. The person then unlocks it and signs in.
func TestNobodyVerifiedInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	c := registered(t, s, platform())
	c.signOut(s)
	call(c, cdpwebauthn.SetUserVerified, cdpwebauthn.SetUserVerifiedParams{AuthenticatorID: c.key})
	c.clickSignIn(s)
	c.waitFor(`document.querySelector("[data-passkey-message]").textContent.includes("No passkey was used")`)
	call(c, cdpwebauthn.SetUserVerified, cdpwebauthn.SetUserVerifiedParams{AuthenticatorID: c.key, IsUserVerified: true})
	c.do(chromedp.Click(chromedp.CSS("#submitButton-passkey")))
	c.wantUser(s, "ada@example.com")
}

// TestCancelledInChromium: a ceremony that the page cancels, or that times out,
// leaves nothing behind. The next ceremony works.
func TestCancelledInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, webauthn.With(func(p *auth.WebAuthn) { p.EnableConditionalUI, p.Timeout = false, time.Second }))
	c := newChromium(t)
	o := platform()
	o.AutomaticPresenceSimulation = false
	c.plugIn(o)
	c.register(s, "ada@example.com")
	c.waitFor(`document.querySelector("[data-passkey-message]").textContent.includes("No passkey was created")`)
	user, err := s.store.GetUserByEmail(t.Context(), "ada@example.com")
	require.Truef(t, user == nil && err == nil, "got user %+v, %v, want nobody", user, err)
	call(c, cdpwebauthn.SetAutomaticPresenceSimulation, cdpwebauthn.SetAutomaticPresenceSimulationParams{AuthenticatorID: c.key, Enabled: true})
	c.do(chromedp.Click(chromedp.CSS(`[data-passkey-action="register"]`)))
	c.wantUser(s, "ada@example.com")
}

// TestClonedInChromium: the copy of a key with a signature counter is refused
// after the original was used, and the application is told. The copy of a key
// without a counter is accepted.
func TestClonedInChromium(t *testing.T) {
	t.Parallel()
	events := make(chan auth.PasskeyClonedEvent, 1)
	s := serve(t, false, nil, func(c *auth.Config) {
		c.Events.PasskeyCloned = func(_ context.Context, e auth.PasskeyClonedEvent) error { events <- e; return nil }
	}, onRequest())
	c := registered(t, s, roaming())
	copied := c.held()[0]
	c.signOut(s)
	c.clickSignIn(s)
	c.wantUser(s, "ada@example.com")
	c.signOut(s)

	c.plugIn(roaming())
	c.addKey(copied)
	c.clickSignIn(s)
	c.waitFor(`document.body.innerText.includes("may have been copied")`)
	select {
	case e := <-events:
		assert.Truef(t, e.User.Email == "ada@example.com" && e.Received <= e.Stored && e.Stored != 0, "the event is %+v", e)
	default:
		t.Error("no event tells of the copy")
	}
	log := s.log.String()
	assert.Truef(t, strings.Contains(log, "level=WARN") && !strings.Contains(log, "level=ERROR"), "the log says\n%s", log)
}

func TestNeverCountingInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	c := registered(t, s, platform())
	stored, err := s.store.ListAuthenticatorsByUserID(t.Context(), userID(t, s, "ada@example.com"))
	require.Truef(t, err == nil && len(stored) == 1, "%v %v", stored, err)
	// A synced passkey has this counter from the beginning.
	must(s.store.UpdateAuthenticatorCounter(t.Context(), stored[0].CredentialID, 0))(t)
	key := c.held()[0]
	key.SignCount = -1
	c.plugIn(platform())
	c.addKey(key)
	for range 2 {
		c.signOut(s)
		c.clickSignIn(s)
		c.wantUser(s, "ada@example.com")
	}
}

func userID(t *testing.T, s *realSite, email string) string {
	t.Helper()
	user, err := s.store.GetUserByEmail(t.Context(), email)
	require.Truef(t, err == nil && user != nil, "user %s: %+v, %v", email, user, err)
	return user.ID
}

// TestTwoTabsInChromium: a person who has the sign-in page open in two tabs
// signs in on both, on the tab that was opened first as the last.
func TestTwoTabsInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	first := registered(t, s, platform())
	key := first.held()[0]
	first.signOut(s)

	second := first.tab()
	second.plugIn(platform())
	key.SignCount = 1000 // a copy that can't be told from the original
	second.addKey(key)

	// The first tab has its options before the second one signs in.
	first.goTo(s.url + "/lab")
	first.waitFor("window.lab !== undefined")
	eval[bool](first, `lab.begin("/auth", "passkey", {action: "authenticate"}).then((o) => { window.begun = o; return true })`)
	second.clickSignIn(s)
	second.wantUser(s, "ada@example.com")
	key.SignCount = 2000
	call(first, cdpwebauthn.ClearCredentials, cdpwebauthn.ClearCredentialsParams{AuthenticatorID: first.key})
	first.addKey(key)
	to := eval[string](first, `lab.ask(begun).then((data) => lab.finish("/auth", "passkey", begun, data))`)
	assert.Equal(t, s.url, to, "the tab that began first ends at")
	first.goTo(s.url)
	first.wantUser(s, "ada@example.com")
}

// TestAnotherPortInChromium: a page on another port of the same host may use
// passkeys of the same relying party ID. Its answers name its own origin, and
// are refused.
func TestAnotherPortInChromium(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(lab))
	}))
	t.Cleanup(evil.Close)
	c := registered(t, s, platform())

	h := httpClient{t: t, site: s.url}
	o := h.get("/auth/webauthn-options/passkey?action=authenticate")
	c.goTo(strings.Replace(evil.URL, "127.0.0.1", "localhost", 1))
	c.waitFor("window.lab !== undefined")
	answer := eval[map[string]any](c, "lab.ask("+o+")")
	data := must(json.Marshal(answer))(t)
	location := h.post("/auth/callback/passkey", url.Values{"action": {"authenticate"}, "data": {string(data)}})
	assert.Contains(t, location, "error=WebAuthnVerificationError&code=refused", "the answer of another origin ends at")
	assert.Contains(t, s.log.String(), "the origin is not one of the relying party", "the log does not name the reason")
}
