package frameworks_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
)

// reactiveSite is a site whose handlers are tried one after another.
func reactiveSite(w *world) (re *frameworks.Reactive, base string) {
	config := frameworks.ReactiveConfig{Config: w.config}
	if w.prefixed {
		config.Prefix = w.prefix + "/api/auth"
	}
	re = must(frameworks.ReactiveAuth(config))(w)
	guard := must(re.Guard(w.prefix+"/admin", w.prefix+"/account/settings"))(w)
	site := http.NewServeMux()
	site.Handle(w.prefix+"/page", re.Load(page(inContext)))
	site.Handle(w.prefix+"/read", page(re.Session))
	site.Handle("/", page(func(*http.Request) (*auth.Session, error) { return nil, nil }))
	w.mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		if !re.GET(rw, r) && !re.POST(rw, r) {
			assert.Emptyf(w, rw.Header(), "%s: written to", r.URL)
			guard(site).ServeHTTP(rw, r)
		}
	})
	return re, w.prefix + "/api/auth"
}

func reactivePromises() map[string]promise {
	return map[string]promise{
		"RX-01": {proof: func(w *world) {
			_, base := reactiveSite(w)
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
		}},
		"RX-02": {proof: func(w *world) {
			_, base := reactiveSite(w)
			w.get(base + "/csrf").wantBody("csrfToken")
			w.get(base + "/unknown").wantBody("nobody")
			w.get(w.prefix + "/other").wantBody("nobody")
			w.post(w.prefix + "/other").wantBody("nobody")
			w.do(http.MethodPut, base+"/session", nil, nil).wantBody("nobody")
			w.signedIn()
			w.submit(base+"/signout", nil, "csrfToken", w.csrf(base)).wantStatus(http.StatusFound)
			w.wantSession(base, false)
		}},
		"RX-03": {proof: func(w *world) {
			re, base := reactiveSite(w)
			for _, action := range []string{"providers", "session", "csrf", "signin", "signout", "callback/github", "verify-request", "error", "webauthn-options", "webauthn-options/passkey"} {
				r := localRequest(http.MethodGet, w.origin+base+"/"+action)
				assert.Truef(w, re.GET(httptest.NewRecorder(), r), "%s is not served", action)
				assert.Falsef(w, re.POST(httptest.NewRecorder(), r), "POST serves a GET of %s", action)
			}
		}},
		"RX-04": {proof: func(w *world) {
			re, base := reactiveSite(w)
			for _, path := range []string{base, base + "/", base + "session", base + "x/session", "/x" + base + "/session", strings.ToUpper(base) + "/session"} {
				rec := httptest.NewRecorder()
				assert.Truef(w, !re.GET(rec, localRequest(http.MethodGet, w.origin+path)) && len(rec.Header()) == 0,
					"%s is taken for a route", path)
			}
		}},
		"RX-05": {proof: func(w *world) {
			reactiveSite(w)
			w.get(w.prefix + "/read").wantBody("nobody")
			assert.Empty(w, w.signedIn().get(w.prefix+"/read").wantBody("user u <ada@example.com>").Cookies(),
				"cookies were renewed")
			if w.database {
				w.failing().get(w.prefix + "/read").wantStatus(http.StatusTeapot)
			}
		}},
		"RX-06": {proof: func(w *world) {
			_, base := reactiveSite(w)
			res := w.under("evil.example", base+"/signin")
			assert.Equal(w, map[bool]int{true: 200, false: 500}[w.url], res.StatusCode, "a foreign host: status")
			w.signedIn()
			w.under("evil.example", w.prefix+"/read").wantBody("user u") // the host has no part in it
		}},
		"RX-07": {alone: func(t *testing.T) {
			t.Setenv("AUTH_GITHUB_ID", "from-the-environment")
			t.Setenv("AUTH_GITHUB_SECRET", "s")
			p := gitHub()
			p.ClientID, p.ClientSecret = "", ""
			re := must(frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: auth.Config{Secret: []string{secret}, Providers: []auth.Provider{p}}}))(t)
			r := localRequest(http.MethodPost, "http://localhost/api/auth/signin/github")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			rec := httptest.NewRecorder()
			assert.True(t, re.POST(rec, r))
			assert.Contains(t, rec.Header().Get("Location"), "client_id=from-the-environment", "sent to")
		}},
		"RX-08": {proof: func(w *world) {
			reactiveSite(w)
			guarded := []string{"/admin", "/admin/", "/admin/users", "/account/settings", "/account/settings/mail"}
			for _, path := range guarded {
				w.get(w.prefix + path).wantRedirect("/")
				w.get(w.prefix+path, "Accept", "application/json").wantStatus(http.StatusUnauthorized)
			}
			for _, path := range []string{"/administrator", "/account", "/"} {
				w.get(w.prefix + path).wantBody("nobody")
			}
			w.signedIn()
			for _, path := range guarded {
				w.get(w.prefix + path).wantStatus(http.StatusOK)
			}
		}},
		"RX-09": {alone: func(t *testing.T) {
			re := must(frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: auth.Config{Secret: []string{secret}}}))(t)
			for _, list := range [][]string{nil, {"/"}, {"/a", "/"}, {"admin"}, {""}, {"/a/../b"}, {"/a/*"}, {"/{x}"}, {"/a?b"}} {
				_, err := re.Guard(list...)
				assert.Truef(t, err != nil && strings.Contains(err.Error(), "guard"), "%q: got %v", list, err)
			}
		}},
		"RX-10": {alone: func(t *testing.T) {
			config := auth.Config{Secret: []string{secret}, BasePath: "/auth"}
			_, err := frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: config})
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "BasePath") && strings.Contains(err.Error(), "Prefix"),
				"got %v", err)
			for _, prefix := range []string{"/auth", "auth/"} {
				_, err := frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: config, Prefix: prefix})
				assert.NoError(t, err, prefix)
			}
		}},
		"RX-11": {proof: func(w *world) {
			re, _ := reactiveSite(w)
			res := w.signedIn().get(w.prefix + "/page").wantBody("user u")
			assert.False(w, w.database && res.cookie(w.cookieName()) == nil, "the cookie was not renewed")
			if !w.database {
				return
			}
			w.failing().get(w.prefix + "/page").wantStatus(http.StatusServiceUnavailable)
			w.get(w.prefix + "/admin").wantStatus(http.StatusServiceUnavailable)
			re.OnError = func(rw http.ResponseWriter, r *http.Request, err error) {
				if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
					return
				}
				rw.WriteHeader(http.StatusTeapot)
			}
			w.get(w.prefix + "/admin").wantStatus(http.StatusTeapot)
		}},
	}
}
