package stress_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/webauthn"
	"github.com/gatehouse-go/gatehouse/auth/webauthn/softkey"
)

// TestPasskeys registers two passkeys and signs in with both. Then a passkey and its copies sign in concurrently with one
// value of the counter, at two handlers, which represent two processes: exactly one sign-in succeeds. At the end all
// passkeys are removed concurrently, and one stays.
func TestPasskeys(t *testing.T) {
	each(t, wiringstest.Servers(t, stores.Options{Fast: true}), func(t *testing.T, _ wirings.Wiring, o *wirings.Opened) {
		store := o.Harness.New(t)
		sites := []*auth.Handler{passkeySite(t, store), passkeySite(t, store)}
		_, edits := adapter.Capability[adapter.AuthenticatorEdits](store)
		if !edits { // without compare and set the copies race in one process
			t.Log("NOT TESTED with two processes: the adapter has no AuthenticatorEdits")
			sites[1] = sites[0]
		}
		b := &tab{t: t, site: sites[0], cookies: map[string]string{}}
		first, second := softkey.New(t, softkey.ES256), softkey.New(t, softkey.EdDSA)
		first.Counter, first.Step = 1, 1
		b.done(b.register(first, "passkeys@example.com"))
		b.done(b.register(second, ""))
		for _, k := range []*softkey.Key{first, second, first} {
			other := &tab{t: t, site: sites[1], cookies: map[string]string{}}
			other.done(other.signIn(k))
		}
		owner, err := store.GetUserByEmail(t.Context(), "passkeys@example.com")
		if err != nil || owner == nil {
			t.Fatal(owner, err)
		}
		for round := range 10 {
			var in atomic.Int64
			var wg sync.WaitGroup
			for i := range 8 {
				c := &tab{t: t, site: sites[i%2], cookies: map[string]string{}}
				copied := *first
				data := copied.Authenticate(t, c.options("action=authenticate"), softkey.Client{Origin: siteURL})
				wg.Go(func() {
					if c.post("authenticate", data) == siteURL {
						in.Add(1)
					}
				})
			}
			wg.Wait()
			if in.Load() != 1 {
				t.Fatalf("round %d: %d of 8 copies signed in with one value of the counter, want 1", round, in.Load())
			}
			first.Counter++
		}
		list, err := sites[0].Passkeys(t.Context(), owner.ID)
		if err != nil || len(list) != 2 {
			t.Fatalf("passkeys: %+v, %v", list, err)
		}
		if !edits {
			return
		}
		var wg sync.WaitGroup
		for i, p := range list {
			wg.Go(func() {
				if err := sites[i%2].RemovePasskey(t.Context(), owner.ID, p.ID); err != nil && !errors.Is(err, adapter.ErrLastCredential) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if list, err = sites[0].Passkeys(t.Context(), owner.ID); err != nil || len(list) != 1 {
			t.Errorf("%d passkeys are left, want 1 (%v)", len(list), err)
		}
	})
}

func passkeySite(t *testing.T, a adapter.Adapter) *auth.Handler {
	t.Helper()
	h, err := auth.New(auth.Config{
		Secret: []string{"0123456789abcdef0123456789abcdef"}, URL: siteURL, Adapter: a,
		Logger:    slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
		Providers: []auth.Provider{webauthn.Passkey()}, Experimental: auth.Experimental{EnableWebAuthn: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// tab is a browser.
type tab struct {
	t       *testing.T
	site    http.Handler
	cookies map[string]string
}

func (b *tab) do(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(b.t.Context(), method, siteURL+path, strings.NewReader(body))
	r.Header.Set("Origin", siteURL)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, value := range maps.All(b.cookies) {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	b.site.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return w
}

func (b *tab) options(query string) []byte {
	b.t.Helper()
	var answer struct{ Options json.RawMessage }
	w := b.do(http.MethodGet, "/auth/webauthn-options/passkey?"+query, "")
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		b.t.Fatalf("options: status %d, %s", w.Code, w.Body)
	}
	return answer.Options
}

func (b *tab) post(action, data string) string {
	return b.do(http.MethodPost, "/auth/callback/passkey", url.Values{"action": {action}, "data": {data}}.Encode()).Header().Get("Location")
}

func (b *tab) register(k *softkey.Key, email string) string {
	b.t.Helper()
	return b.post("register", k.Register(b.t, b.options("action=register&email="+email), softkey.Client{Origin: siteURL}))
}

func (b *tab) signIn(k *softkey.Key) string {
	b.t.Helper()
	return b.post("authenticate", k.Authenticate(b.t, b.options("action=authenticate"), softkey.Client{Origin: siteURL}))
}

func (b *tab) done(location string) {
	b.t.Helper()
	if location != siteURL {
		b.t.Fatalf("the ceremony ends at %q", location)
	}
}
