package main

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

// serveDemo starts the demonstration and returns its URL.
func serveDemo(t *testing.T) string {
	t.Helper()
	return serve(t, func(site string) (http.Handler, error) {
		return newSite(t.Context(), site, filepath.Join(t.TempDir(), "demo.db"))
	})
}

// serve starts a site on the name localhost, which passkeys need, and returns its URL.
func serve(t *testing.T, newSite func(site string) (http.Handler, error)) string {
	t.Helper()
	local := strings.NewReplacer("127.0.0.1", "localhost")
	return local.Replace(visitor.Serve(t, func(site string) (http.Handler, error) { return newSite(local.Replace(site)) }))
}

// browser is headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T, scripts bool) *browser {
	t.Helper()
	var options []chromedp.ExecAllocatorOption
	if !scripts {
		options = append(options, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	}
	return &browser{t, chromium.Start(t, options...)}
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	require.NoError(b.t, steady(func() error { return chromedp.Do(b.ctx, steps...) }))
}

// steady repeats an action that failed because its element was being replaced.
func steady(do func() error) (err error) {
	for range 20 {
		if err = do(); err == nil || !strings.Contains(err.Error(), "No node with given id") {
			break
		}
	}
	return err
}

// get runs an action and returns its result.
func get[T any](b *browser, a chromedp.Action[T]) T {
	b.t.Helper()
	var v T
	require.NoError(b.t, steady(func() (err error) { v, err = chromedp.Run(b.ctx, a); return err }))
	return v
}

func (b *browser) goTo(url string)          { b.t.Helper(); b.do(chromedp.Navigate(url)) }
func (b *browser) fill(input, value string) { b.t.Helper(); b.do(chromedp.SendKeys(input, value)) }

// click follows a link or submits a form, and returns when the next page has
// loaded.
func (b *browser) click(what string) {
	b.t.Helper()
	require.NoError(b.t, steady(func() error { _, err := chromedp.RunResponse(b.ctx, chromedp.Click(what)); return err }), what)
}

func (b *browser) reads(want string) {
	b.t.Helper()
	require.Containsf(b.t, get(b, chromedp.Text("html")), want, "the page does not contain %q", want)
}

// cookies returns the values of the cookies whose names begin with prefix.
func (b *browser) cookies(prefix string) map[string]string {
	b.t.Helper()
	result, err := chromedp.CallBrowser(b.ctx, storage.GetCookies, storage.GetCookiesParams{})
	require.NoError(b.t, err)
	found := map[string]string{}
	for _, c := range result.Cookies {
		if strings.HasPrefix(c.Name, prefix) {
			found[c.Name] = c.Value
		}
	}
	return found
}
