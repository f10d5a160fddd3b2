package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// serveDemo starts the demonstration and returns its URL.
func serveDemo(t *testing.T) string {
	t.Helper()
	return serve(t, func(site string) (http.Handler, error) {
		return newSite(t.Context(), site, filepath.Join(t.TempDir(), "demo.db"))
	})
}

// serve starts a site that gets its URL, and returns the URL.
func serve(t *testing.T, handler func(site string) (http.Handler, error)) string {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	site := "http://" + server.Listener.Addr().String()
	var err error
	server.Config.Handler, err = handler(site)
	require.NoError(t, err)
	server.Start()
	t.Cleanup(server.Close)
	return site
}

// browser is headless Chromium.
type browser struct {
	t   *testing.T
	ctx context.Context
}

func newBrowser(t *testing.T, scripts bool) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")) // no request leaves the machine
	if !scripts {
		options = append(options, chromedp.Flag("blink-settings", "scriptEnabled=false"))
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return &browser{t, ctx}
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
	_, err := chromedp.RunResponse(b.ctx, chromedp.Click(what))
	require.NoError(b.t, err)
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
