// Package chromium drives a real browser in the tests of the examples.
package chromium

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Tab is a tab of a headless Chromium.
type Tab struct {
	t   testing.TB
	ctx context.Context
}

// New starts a browser, and returns its first tab.
func New(t testing.TB) *Tab {
	t.Helper()
	return &Tab{t, Start(t)}
}

// Start starts a browser that reaches only this machine, and returns the context
// of its first tab. The browser ends with the test.
func Start(t testing.TB, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(options, more...)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// NewTab opens another tab of the same browser.
func (b *Tab) NewTab() *Tab {
	b.t.Helper()
	b.Go("about:blank") // starts the browser
	ctx, cancel := chromedp.NewContext(b.ctx)
	b.t.Cleanup(cancel)
	return &Tab{b.t, ctx}
}

// Go opens a page.
func (b *Tab) Go(url string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Navigate(url)))
}

// Back goes back to the page before, as the button of the browser does.
func (b *Tab) Back() {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.NavigateBack()))
}

// Leave evaluates an expression that opens another page. It does not wait for
// the value, because a page that is replaced maybe does not answer.
func (b *Tab) Leave(expression string) {
	b.t.Helper()
	_, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](fmt.Sprintf("setTimeout(() => {%s})", expression)))
	require.NoError(b.t, err, expression)
}

// Await evaluates a JavaScript expression on a page that stays, waits for its
// promise, and returns the value, decoded from JSON.
func Await[T any](b *Tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(b.t, err, expression)
	return v
}

// Until waits until an expression is true, on any page that the tab then shows.
func (b *Tab) Until(expression string) {
	b.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	var err error
	for time.Now().Before(deadline) {
		ctx, cancel := context.WithTimeout(b.ctx, time.Second)
		// While a page is being replaced or loaded, the expression is evaluated
		// again.
		_, err = chromedp.Run(ctx, chromedp.Poll[bool](expression, chromedp.WithPollingInterval(20*time.Millisecond), chromedp.WithPollingTimeout(900*time.Millisecond)))
		cancel()
		if err == nil {
			return
		}
	}
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText"))
	b.t.Fatalf("%s does not become true: %v\n%s", expression, err, text)
}

// Reads waits until the page contains a text.
func (b *Tab) Reads(text string) {
	b.t.Helper()
	b.Until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// Fill types a value into an input.
func (b *Tab) Fill(input, value string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.SendKeys(input, value)))
}

// Click clicks on an element, as soon as it exists.
func (b *Tab) Click(what string) {
	b.t.Helper()
	b.Until(fmt.Sprintf("document.querySelector(%q) !== null", what))
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Click(what)))
}
