package main

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
)

// TestPasswordLooks signs a person up with a password in a real browser, and looks at
// each page on the way, as TestLooks does.
func TestPasswordLooks(t *testing.T) {
	site, mails := serveSteps(t, memory.New())
	b, script := newLooker(t)
	look := func(name, title string) {
		t.Helper()
		b.look("password-"+name, title, script, 320, 1280)
	}
	const chosen = "correct horse battery staple"
	b.goTo(site + "/auth/password/forgot")
	look("forgot", "Choose a new password")
	b.goTo(site + "/auth/password/choose")
	look("lost", "Choose a password")
	b.goTo(site + "/auth/signin")
	look("signin", "Sign in to ")
	b.goTo(site + "/auth/password/sign-up")
	look("sign-up", "Create an account")
	b.fill("input[name=email]", "ada@example.com")
	b.click("#submitButton")
	look("sent", "Check your email")
	b.goTo(mails.open())
	look("choose", "Choose a password")
	b.fill("input[name=password]", "passwordpassword")
	b.click("#submitButton")
	look("refused", "Choose a password")
	b.fill("input[name=password]", chosen)
	b.click("#submitButton")
	b.goTo(site + "/auth/password/change")
	look("change", "Change your password")
	b.goTo(site + "/auth/password/remove")
	look("remove", "Remove your password?")
	b.goTo(site + "/passkeys")
	look("passkeys", "Your passkeys")
	b.goTo(site + "/auth/signout")
	look("signout", "Sign out")
	b.goTo(site + "/auth/password/remove")
	assert.Equal(t, site+"/auth/password/remove", get(b, chromedp.Location()), "nobody is signed in: the browser is at")
}
