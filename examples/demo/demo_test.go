package main

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/examples/devprovider"
)

// TestMain turns the development provider on.
func TestMain(m *testing.M) {
	if err := os.Setenv(devprovider.Switch, "on"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// TestDemoInABrowser uses the demonstration as a person would, in headless
// Chromium, with scripts and without them.
func TestDemoInABrowser(t *testing.T) {
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBrowser(t, scripts)
			for _, way := range []struct {
				name string
				goes func(b *browser, site string)
			}{
				{"link by mail", signInByMail}, {"password", signInByPassword}, {"development provider", signInByProvider},
				{"large session", signInWithLargeSession},
			} {
				t.Run(way.name, func(t *testing.T) { way.goes(&browser{t, b.ctx}, serveDemo(t)) })
			}
		})
	}
}

// signInByMail requests a link, reads it, uses it, and tries it a second time.
func signInByMail(b *browser, site string) {
	b.goTo(site + "/members")
	b.fill("#input-email-for-email-provider", "zoe@example.com")
	b.click("form[action$='/signin/email'] button:not([hidden])")
	b.reads("Check your email")
	b.goTo(site + "/mail")
	link := get(b, chromedp.AttributeValue("a.link", "href")).Value
	b.click("a.link")
	b.reads("Hello, zoe@example.com")
	b.goTo(site + "/auth/session")
	b.reads("zoe@example.com")
	b.signOut(site)
	b.goTo(link)
	b.reads("The sign in link is no longer valid.")
	b.isSignedOut(site)
}

// signInByPassword tries a wrong password and the right one.
func signInByPassword(b *browser, site string) {
	b.goTo(site + "/members")
	b.submitPassword("byron")
	b.reads("Sign in failed. Check the details you provided are correct.")
	b.submitPassword("lovelace")
	b.reads("Hello, Ada Lovelace")
	b.goTo(site + "/auth/session")
	b.reads("ada@example.com")
	b.signOut(site)
}

func (b *browser) submitPassword(password string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS("input[name=username]"), "ada")) // a page after an error has it already
	b.fill("input[name=password]", password)
	b.click("form[action$='/callback/credentials'] button")
}

// signInByProvider is refused at the provider, signs in, and links a second
// account. The address of a user who signed in by mail is not taken over.
func signInByProvider(b *browser, site string) {
	b.pick(site, "[name=cancel]")
	b.reads("Try signing in with a different account.")
	b.isSignedOut(site)
	b.pick(site, "[value=emmy]")
	b.reads("Hello, Emmy Noether")
	b.goTo(site + "/auth/session")
	b.reads("Emmy Noether")
	b.pick(site, "[value=grace]") // Emmy is signed in, and gets the account
	b.reads("Hello, Emmy Noether")
	b.signOut(site)
	b.pick(site, "[value=grace]")
	b.reads("Hello, Emmy Noether")
	b.signOut(site)

	b.goTo(site + "/members")
	b.fill("#input-email-for-email-provider", "alan@example.com")
	b.click("form[action$='/signin/email'] button:not([hidden])")
	b.goTo(site + "/mail")
	b.click("a.link")
	b.reads("Hello, alan@example.com")
	b.signOut(site)
	b.pick(site, "[value=alan]")
	b.reads("To confirm your identity, sign in with the same account you used originally.")
	b.isSignedOut(site)
}

// signInWithLargeSession uses a session that is too large for a single cookie.
func signInWithLargeSession(b *browser, site string) {
	b.pick(site, "[value=vera]")
	b.reads("Hello, Vera Rubin")
	chunks, size := b.cookies(sessionCookie), 0
	for _, value := range chunks {
		size += len(value)
	}
	assert.Truef(b.t, chunks[sessionCookie+".0"] != "" && chunks[sessionCookie+".1"] != "" && len(chunks[sessionCookie]) <= 0 && size > 4096,
		"%d cookies with %d bytes hold the session, want several with more than 4096", len(chunks), size)
	b.goTo(site + "/auth/session")
	b.reads(galaxy())
	b.goTo(site + "/") // extends the session
	b.reads("Hello, Vera Rubin")
	b.signOut(site)

	// A small session after a large one leaves no chunk behind.
	b.pick(site, "[value=vera]")
	b.goTo(site + "/auth/signin?callbackUrl=/members")
	b.submitPassword("lovelace")
	b.reads("Hello, Ada Lovelace")
	left := b.cookies(sessionCookie)
	assert.Truef(b.t, len(left) == 1 && left[sessionCookie] != "", "%d cookies hold a small session, want 1", len(left))
	b.signOut(site)
}

const sessionCookie = "authjs.session-token"

// pick goes to the development provider and chooses what the selector finds.
func (b *browser) pick(site, choice string) {
	b.t.Helper()
	b.goTo(site + "/auth/signin?callbackUrl=/members")
	b.click("form[action$='/signin/development'] button")
	b.reads("For development only")
	b.click("button" + choice)
}

// signOut signs out, and visits the page of the members.
func (b *browser) signOut(site string) {
	b.t.Helper()
	b.endSession(site)
	b.isSignedOut(site)
}

// endSession signs out, and checks that nothing of the session remains in the
// browser. It opens no page that offers a passkey, which a virtual
// authenticator would accept at once.
func (b *browser) endSession(site string) {
	b.t.Helper()
	b.goTo(site + "/auth/signout")
	b.click("#submitButton")
	assert.Empty(b.t, b.cookies(sessionCookie), "cookies of the session that are left")
	b.goTo(site + "/auth/session")
	b.reads("null")
}

func (b *browser) isSignedOut(site string) {
	b.t.Helper()
	assert.Empty(b.t, b.cookies(sessionCookie), "cookies of the session that are left")
	b.goTo(site + "/members")
	b.reads("Sign in with Password")
}
