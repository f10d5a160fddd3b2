package webauthn_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdpwebauthn "github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
)

// realSite is a site that Chromium visits, on a port of this machine.
type realSite struct {
	url   string
	store adapter.Adapter
	log   *logBook
	// callbacks and options count the requests of these routes.
	callbacks, options atomic.Int32
}

// serve starts a site on localhost, with https or http.
func serve(t *testing.T, https bool, store adapter.Adapter, change func(c *auth.Config), options ...webauthn.Option) *realSite {
	t.Helper()
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "localhost:0"))(t)
	s := &realSite{store: store, log: &logBook{}}
	if s.store == nil {
		s.store = memory.New()
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	s.url = "http://localhost:" + port
	if https {
		s.url = "https://localhost:" + port
	}
	config := auth.Config{
		Secret: []string{secret}, URL: s.url, Adapter: s.store,
		Providers:    []auth.Provider{webauthn.Passkey(options...)},
		Experimental: auth.Experimental{EnableWebAuthn: true},
		Logger:       slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	if change != nil {
		change(&config)
	}
	h := must(auth.New(config))(t)
	mux := http.NewServeMux()
	mux.HandleFunc("/auth/", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/auth/callback/"):
			s.callbacks.Add(1)
		case strings.HasPrefix(r.URL.Path, "/auth/webauthn-options/"):
			s.options.Add(1)
		}
		h.ServeHTTP(w, r)
	})
	mux.Handle("/passkeys", h.PasskeysPage())
	mux.HandleFunc("/lab", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(lab))
	})
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		session, err := h.Refresh(w, r)
		switch {
		case err != nil:
			http.Error(w, "store", http.StatusInternalServerError)
		case session == nil:
			_, _ = w.Write([]byte("<p id=who>nobody</p>"))
		default:
			_, _ = w.Write([]byte("<p id=who>" + session.User.Email + "</p>"))
		}
	})
	server := httptest.NewUnstartedServer(mux)
	_ = server.Listener.Close()
	server.Listener = listener
	if https {
		server.StartTLS()
	} else {
		server.Start()
	}
	t.Cleanup(server.Close)
	return s
}

// chromium is headless Chromium with a virtual authenticator.
type chromium struct {
	t   *testing.T
	ctx context.Context
	key cdpwebauthn.AuthenticatorID
}

func newChromium(t *testing.T) *chromium {
	t.Helper()
	if testing.Short() {
		t.Skip("LEFT OUT: -short runs nothing that needs Chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.DisableGPU, chromedp.IgnoreCertErrors,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1")) // no request leaves the machine
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(cancel)
	c := &chromium{t: t, ctx: ctx}
	c.enable()
	return c
}

// tab is another tab of the same browser, with an authenticator of its own.
func (c *chromium) tab() *chromium {
	c.t.Helper()
	ctx, cancel := chromedp.NewContext(c.ctx)
	c.t.Cleanup(cancel)
	other := &chromium{t: c.t, ctx: ctx}
	other.enable()
	return other
}

func (c *chromium) enable() {
	c.t.Helper()
	c.do(chromedp.Navigate("about:blank"))
	call(c, cdpwebauthn.Enable, cdpwebauthn.EnableParams{})
}

// platform is a synced passkey of the device, which verifies the user.
func platform() cdpwebauthn.VirtualAuthenticatorOptions {
	return cdpwebauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "internal", HasResidentKey: true, HasUserVerification: true,
		AutomaticPresenceSimulation: true, IsUserVerified: true, HasCmtgKey: true, DefaultBackupEligibility: true, DefaultBackupState: true,
	}
}

// plugIn gives the tab an authenticator, and removes any that it has.
func (c *chromium) plugIn(o cdpwebauthn.VirtualAuthenticatorOptions) {
	c.t.Helper()
	if c.key != "" {
		call(c, cdpwebauthn.RemoveVirtualAuthenticator, cdpwebauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: c.key})
	}
	c.key = call(c, cdpwebauthn.AddVirtualAuthenticator, cdpwebauthn.AddVirtualAuthenticatorParams{Options: &o}).AuthenticatorID
}

// held returns the credentials of the authenticator.
func (c *chromium) held() []*cdpwebauthn.Credential {
	c.t.Helper()
	return call(c, cdpwebauthn.GetCredentials, cdpwebauthn.GetCredentialsParams{AuthenticatorID: c.key}).Credentials
}

func call[P, R any](c *chromium, command cdp.Command[P, R], params P) R {
	c.t.Helper()
	return must(chromedp.Call(c.ctx, command, params))(c.t)
}

func (c *chromium) do(steps ...chromedp.Action[chromedp.Void]) {
	c.t.Helper()
	require.NoError(c.t, chromedp.Do(c.ctx, steps...))
}

func (c *chromium) goTo(url string) { c.t.Helper(); c.do(chromedp.Navigate(url)) }

// eval evaluates an expression of the page.
func eval[T any](c *chromium, expression string) T {
	c.t.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(c.t, err, expression)
	return v
}

// waitFor waits until an expression is true, also while the page changes.
func (c *chromium) waitFor(what string) {
	c.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		_, err := chromedp.Run(c.ctx, chromedp.Poll[bool](what, chromedp.WithPollingTimeout(5*time.Second)))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("%s: %v\n%s", what, err, eval[string](c, "location.href+' '+document.body.innerText"))
		}
	}
}

// wantUser waits for the front page, and checks who is signed in.
func (c *chromium) wantUser(s *realSite, who string) {
	c.t.Helper()
	c.waitFor(`document.querySelector("#who")?.textContent === "` + who + `"`)
	require.Equal(c.t, s.url+"/", eval[string](c, "location.href"), "the browser is at")
}

// register registers a new user on the sign-in page.
func (c *chromium) register(s *realSite, email string) {
	c.t.Helper()
	c.goTo(s.url + "/auth/signin")
	c.do(chromedp.SendKeys(chromedp.CSS(`input[name="email"]`), email), chromedp.Click(chromedp.CSS(`[data-passkey-action="register"]`)))
}

// registered is a browser with an authenticator, in which Ada has registered.
func registered(t *testing.T, s *realSite, o cdpwebauthn.VirtualAuthenticatorOptions) *chromium {
	t.Helper()
	c := newChromium(t)
	c.plugIn(o)
	c.register(s, "ada@example.com")
	c.wantUser(s, "ada@example.com")
	return c
}

func (c *chromium) signOut(s *realSite) {
	c.t.Helper()
	c.goTo(s.url + "/auth/signout")
	c.do(chromedp.Click(chromedp.CSS("#submitButton")))
	c.wantUser(s, "nobody")
}

// TestInChromium: a person registers a passkey in a real browser, and signs in
// with it by the button and by the autofill. It runs over http on loopback and
// over https, with both places for sessions.
func TestInChromium(t *testing.T) {
	for name, https := range map[string]bool{"http": false, "https": true} {
		for _, strategy := range []auth.Strategy{auth.StrategyDatabase, auth.StrategyJWT} {
			t.Run(name+" "+string(strategy), func(t *testing.T) {
				t.Parallel()
				s := serve(t, https, nil, func(c *auth.Config) { c.Session.Strategy = strategy })
				c := registered(t, s, platform())
				if held := c.held(); len(held) != 1 || held[0].RpID != "localhost" || len(held[0].UserHandle) != 64 || held[0].UserName != "ada@example.com" {
					t.Fatalf("the authenticator holds %+v, want one passkey with a handle of 64 bytes", held)
				}
				c.signOut(s)
				before := s.options.Load()
				c.goTo(s.url + "/auth/signin")
				c.wantUser(s, "ada@example.com") // a virtual authenticator accepts the autofill without a click
				assert.EqualValues(t, 1, s.options.Load()-before, "the requests for options of a sign-in")
				assert.EqualValues(t, 2, s.callbacks.Load(), "the callbacks of registration and sign-in")
			})
		}
	}
}
