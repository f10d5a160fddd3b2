package webauthn_test

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
)

// TestScriptWithoutNativeJSON: older browsers and some password managers lack
// the JSON methods of WebAuthn. The script then converts by itself, and sends
// the server the same.
func TestScriptWithoutNativeJSON(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil, onRequest())
	c := newChromium(t)
	c.before(`delete PublicKeyCredential.parseCreationOptionsFromJSON; delete PublicKeyCredential.parseRequestOptionsFromJSON;
		delete PublicKeyCredential.prototype.toJSON; delete PublicKeyCredential.signalAllAcceptedCredentials`)
	c.plugIn(platform())
	c.register(s, "ada@example.com")
	c.wantUser(s, "ada@example.com")
	c.signOut(s)
	c.clickSignIn(s)
	c.wantUser(s, "ada@example.com")
}

// TestScriptWithoutWebAuthn: in a browser without WebAuthn the form is hidden.
func TestScriptWithoutWebAuthn(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil)
	c := newChromium(t)
	c.before(`delete window.PublicKeyCredential`)
	c.goTo(s.url + "/auth/signin")
	c.waitFor(`getComputedStyle(document.querySelector("#passkey-form")).display === "none"`)
	assert.Zero(t, s.options.Load(), "requests for options")
}

// before runs a script before the scripts of every page.
func (c *chromium) before(script string) {
	c.t.Helper()
	call(c, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
}

// TestPageNeedsNoOtherHost: the pages name no other host. Their policy allows
// only the one script and requests to the site.
func TestPageNeedsNoOtherHost(t *testing.T) {
	s := newSite(t, nil)
	b := newBrowser(t, s)
	res := b.get("/auth/signin")
	policy := res.Header.Get("Content-Security-Policy")
	assert.Truef(t, strings.Contains(policy, "script-src 'sha256-") && strings.Contains(policy, "connect-src 'self'") && !strings.Contains(policy, "unsafe"),
		"the policy is %s", policy)
	for _, line := range strings.Split(res.body, "\n") {
		assert.Falsef(t, strings.Contains(line, "://") && !strings.Contains(line, origin),
			"the page names another host: %s", line)
	}
}

// TestAutofillIsRenewed: an offer in the autofill that nobody accepted gets a
// new challenge before the server forgets the old one. Only one offer is open
// at a time.
func TestAutofillIsRenewed(t *testing.T) {
	t.Parallel()
	s := serve(t, false, nil, nil)
	c := newChromium(t)
	// The clock of the page runs 1000 times as fast.
	c.before(`const later = window.setTimeout; window.setTimeout = (f, ms) => later(f, ms / 1000)`)
	o := platform()
	o.AutomaticPresenceSimulation = false
	c.plugIn(o)
	c.goTo(s.url + "/auth/signin")
	c.waitFor(`performance.getEntriesByType("resource").filter((r) => r.name.includes("webauthn-options")).length >= 3`)
	assert.Zero(t, s.callbacks.Load(), "callbacks")
}
