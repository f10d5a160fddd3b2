package stress_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	cdpwebauthn "github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// TestPasskeysInChromium tests the main flow of passkeys with a real browser over each adapter: a new user
// registers a passkey, signs out, signs in again by autofill, and adds a second passkey.
func TestPasskeysInChromium(t *testing.T) {
	browser := newChromium(t)
	adapters := []string{"memory, one process", "sqlite, modernc", "postgres, cached statements", "redis, one server", "mongo, standalone"}
	inWirings(t, adapters, wiringstest.Servers(t, stores.Options{Fast: true}), func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		store := o.Harness.New(t)
		site := serveSite(t, store)
		c := tabOf(browser, t)
		c.plugIn()
		c.do(chromedp.Navigate(site+"/auth/signin"), chromedp.SendKeys(chromedp.CSS(`input[name="email"]`), "ada@example.com"),
			chromedp.Click(chromedp.CSS(`[data-passkey-action="register"]`)))
		c.waitFor("ada@example.com")
		c.do(chromedp.Navigate(site+"/auth/signout"), chromedp.Click(chromedp.CSS("#submitButton")))
		c.waitFor("nobody")
		c.do(chromedp.Navigate(site + "/auth/signin")) // autofill needs no click in this test
		c.waitFor("ada@example.com")
		c.plugIn() // another device
		c.do(chromedp.Navigate(site+"/passkeys"), chromedp.Click(chromedp.CSS("button[data-passkey-add]")))
		c.waitForPasskeys(store, "ada@example.com", 2)
	})
}

// newChromium starts a headless Chromium that can reach only this machine.
func newChromium(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// serveSite serves a site with passkeys at a port of localhost. Its front page says who is signed in.
func serveSite(t *testing.T, store adapter.Adapter) (url string) {
	t.Helper()
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0"))(t)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	url = "http://localhost:" + port
	h := must(auth.New(auth.Config{
		Secret: []string{"0123456789abcdef0123456789abcdef"}, URL: url, Adapter: store,
		Logger:    slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn})),
		Providers: []auth.Provider{webauthn.Passkey()}, Experimental: auth.Experimental{EnableWebAuthn: true},
	}))(t)
	mux := http.NewServeMux()
	mux.Handle("/auth/", h)
	mux.Handle("/passkeys", h.PasskeysPage())
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		who := "nobody"
		if session, err := h.Refresh(w, r); err != nil {
			http.Error(w, "store", http.StatusInternalServerError)
			return
		} else if session != nil {
			who = session.User.Email
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, "<p id=who>%s</p>", who)
	})
	server := httptest.NewUnstartedServer(mux)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return url
}

// chromiumTab is a tab with a virtual authenticator.
type chromiumTab struct {
	t   *testing.T
	ctx context.Context
	key cdpwebauthn.AuthenticatorID
}

func tabOf(browser context.Context, t *testing.T) *chromiumTab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	t.Cleanup(cancel)
	c := &chromiumTab{t: t, ctx: ctx}
	c.do(chromedp.Navigate("about:blank"))
	must(chromedp.Call(ctx, cdpwebauthn.Enable, cdpwebauthn.EnableParams{}))(t)
	return c
}

// plugIn replaces the authenticator of the tab by a new one.
func (c *chromiumTab) plugIn() {
	c.t.Helper()
	if c.key != "" {
		_, err := chromedp.Call(c.ctx, cdpwebauthn.RemoveVirtualAuthenticator, cdpwebauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: c.key})
		require.NoError(c.t, err)
	}
	added, err := chromedp.Call(c.ctx, cdpwebauthn.AddVirtualAuthenticator, cdpwebauthn.AddVirtualAuthenticatorParams{Options: &cdpwebauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "internal", HasResidentKey: true, HasUserVerification: true,
		AutomaticPresenceSimulation: true, IsUserVerified: true,
	}})
	require.NoError(c.t, err)
	c.key = added.AuthenticatorID
}

func (c *chromiumTab) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.ctx, steps...))
}

// waitFor waits until the front page says who is signed in.
func (c *chromiumTab) waitFor(who string) {
	c.t.Helper()
	c.poll(`document.querySelector("#who")?.textContent === "` + who + `"`)
}

// poll waits until an expression is true, even if the page changes in between.
func (c *chromiumTab) poll(expression string) {
	c.t.Helper()
	for {
		_, err := chromedp.Run(c.ctx, chromedp.Poll[bool](expression, chromedp.WithPollingTimeout(5*time.Second)))
		if err == nil {
			return
		}
		require.Truef(c.t, c.ctx.Err() == nil && !strings.Contains(err.Error(), "SyntaxError"), "%s: %v", expression, err)
	}
}

// waitForPasskeys waits until the page lists want passkeys, and checks that the store has them.
func (c *chromiumTab) waitForPasskeys(store adapter.Adapter, email string, want int) {
	c.t.Helper()
	c.poll(fmt.Sprintf(`document.querySelectorAll("section").length === %d`, want))
	user, err := store.GetUserByEmail(c.t.Context(), email)
	require.Truef(c.t, err == nil && user != nil, "%v %v", user, err)
	list, err := store.ListAuthenticatorsByUserID(c.t.Context(), user.ID)
	assert.Truef(c.t, err == nil && len(list) == want, "the store has %d passkeys, want %d (%v)", len(list), want, err)
}
