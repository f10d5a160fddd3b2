package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/examples/internal/frontend"
)

// newLooker starts a browser whose pages are looked at, and returns it with axe-core, which
// looks for what keeps people with disabilities from using a page.
func newLooker(t *testing.T) (b *browser, script string) {
	t.Helper()
	dir := frontend.Install(t, filepath.Join("..", "..", "interop", "axe"))
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	b = newBrowser(t, true)
	focus := emulation.SetFocusEmulationEnabledParams{Enabled: true}
	_, err = chromedp.Call(b.ctx, emulation.SetFocusEmulationEnabled, focus)
	require.NoError(t, err)
	return b, string(text)
}

// axe returns what axe-core finds on the page that the browser shows: each
// finding with the parts of the page.
func (b *browser) axe(script string) []string {
	b.t.Helper()
	get(b, chromedp.Evaluate[int](script+";0"))
	return get(b, chromedp.Evaluate[[]string](`axe.run(document, {resultTypes: ["violations"]}).then((found) =>
		found.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html).join(" ")))`, chromedp.EvalAwaitPromise))
}
