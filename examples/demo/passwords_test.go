package main

import (
	"context"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/password"
)

// TestPasswordLooks signs a person up with a password in a real browser, and looks at
// each page on the way, as TestLooks does.
func TestPasswordLooks(t *testing.T) {
	script := axeScript(t)
	links := make(chan string, 8)
	site := serve(t, func(site string) (http.Handler, error) {
		store := memory.New()
		return auth.New(auth.Config{
			URL: site, Secret: []string{"for this demonstration only, 0123456789"}, Adapter: store,
			Providers: []auth.Provider{password.Provider(store, password.Settings{
				Send: func(_ context.Context, m password.Mail) error {
					links <- m.URL
					return nil
				},
			})},
		})
	})
	b := newBrowser(t, true)
	if _, err := chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
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
	b.goTo(<-links)
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
	if at := get(b, chromedp.Location()); at != site+"/auth/password/remove" {
		t.Errorf("the browser is at %s: nobody is signed in", at)
	}
}
