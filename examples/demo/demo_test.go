package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestDemoInABrowser goes through the demonstration as a person would, in
// headless Chromium: with scripts and without them.
func TestDemoInABrowser(t *testing.T) {
	for name, scripts := range map[string]bool{"scripts": true, "no scripts": false} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(nil)
			site := "http://" + server.Listener.Addr().String()
			handler, err := newSite(t.Context(), site, filepath.Join(t.TempDir(), "demo.db"))
			if err != nil {
				t.Fatal(err)
			}
			server.Config.Handler = handler
			server.Start()
			t.Cleanup(server.Close)
			b := newBrowser(t, scripts)

			// A link by mail, once.
			b.goTo(site + "/members")
			b.fill("#input-email-for-email-provider", "zoe@example.com")
			b.click("form[action$='/signin/email'] button")
			b.reads("Check your email")
			b.goTo(site + "/mail")
			attribute, err := chromedp.Run(b.ctx, chromedp.AttributeValue("a.link", "href"))
			if err != nil {
				t.Fatal(err)
			}
			link := attribute.Value
			b.click("a.link")
			b.reads("Hello, zoe@example.com")
			b.goTo(site + "/auth/signout")
			b.click("#submitButton")
			b.reads("Sign in with Password") // of the page for members
			b.goTo(link)
			b.reads("The sign in link is no longer valid.")

			// User name and password, wrong and right.
			for _, password := range []string{"byron", "lovelace"} {
				b.goTo(site + "/auth/signin")
				b.fill("input[name=username]", "ada")
				b.fill("input[name=password]", password)
				b.click("form[action$='/callback/credentials'] button")
				if password == "byron" {
					b.reads("Sign in failed. Check the details you provided are correct.")
				}
			}
			b.reads("Hello, Ada Lovelace")
			b.goTo(site + "/auth/session")
			b.reads("ada@example.com")
			b.goTo(site + "/auth/signout")
			b.click("#submitButton")
			b.reads("Sign in with Password") // of the page for members
		})
	}
}

type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T, scripts bool) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	if !scripts {
		options = append(options, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return &browser{t, ctx}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) goTo(url string)          { b.t.Helper(); b.do(chromedp.Navigate(url)) }
func (b *browser) fill(input, value string) { b.t.Helper(); b.do(chromedp.SendKeys(input, value)) }

// click follows a link or submits a form, and returns when the next page is
// there.
func (b *browser) click(what string) {
	b.t.Helper()
	if _, err := chromedp.RunResponse(b.ctx, chromedp.Click(what)); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) reads(want string) {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text("html"))
	if err != nil {
		b.t.Fatal(err)
	}
	if !strings.Contains(text, want) {
		b.t.Fatalf("the page does not say %q but\n%s", want, text)
	}
}
