package main

import (
	"strings"
	"testing"

	cdpwebauthn "github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestPasskeyInABrowser does what the demonstration says about passkeys, on
// localhost, without any registration of the site.
func TestPasskeyInABrowser(t *testing.T) {
	t.Parallel()
	site := serveDemo(t)
	b := newBrowser(t, true)
	b.goTo("about:blank")
	_, err := chromedp.Call(b.ctx, cdpwebauthn.Enable, cdpwebauthn.EnableParams{})
	require.NoError(t, err)
	_, err = chromedp.Call(b.ctx, cdpwebauthn.AddVirtualAuthenticator, cdpwebauthn.AddVirtualAuthenticatorParams{Options: &cdpwebauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "internal", HasResidentKey: true, HasUserVerification: true,
		AutomaticPresenceSimulation: true, IsUserVerified: true, DefaultBackupEligibility: true, DefaultBackupState: true,
	}})
	require.NoError(t, err)

	greeted := func() {
		t.Helper()
		for range 10 { // the script opens the next page by itself
			if _, err = chromedp.Run(b.ctx, chromedp.Poll[bool](`document.body.innerText.includes("Hello, ada@example.com")`)); err == nil {
				return
			}
		}
		t.Fatal(err, get(b, chromedp.Text("html")))
	}
	b.goTo(site + "/auth/signin")
	b.do(chromedp.SendKeys(chromedp.CSS("input[autocomplete~=webauthn]"), "ada@example.com"), chromedp.Click(chromedp.CSS(`[data-passkey-action="register"]`)))
	greeted()
	b.goTo(site + "/passkeys")
	b.reads("Backed up.")
	b.endSession(site)
	// A virtual authenticator accepts the offer in the autofill at once, maybe before the page has loaded.
	if _, err := chromedp.Run(b.ctx, chromedp.Navigate(site+"/auth/signin")); err != nil && !strings.Contains(err.Error(), "net::ERR_ABORTED") {
		t.Fatal(err)
	}
	greeted()
}
