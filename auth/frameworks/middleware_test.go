package frameworks_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// middlewareSite is a site on net/http: routes, an open page, a private one.
func middlewareSite(w *world) (m *frameworks.Middleware, base string) {
	m = must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(w.config))
	base = w.prefix + "/auth"
	w.mux.Handle(base+"/", m)
	w.mux.Handle("GET "+w.prefix+"/page", m.Load(page(inContext)))
	w.mux.Handle(w.prefix+"/private", m.Require(page(inContext)))
	w.get(base + "/csrf").wantStatus(http.StatusOK) // shows the mount
	return m, base
}

func middlewarePromises() map[string]promise {
	return map[string]promise{
		"MW-01": {proof: func(w *world) {
			_, base := middlewareSite(w)
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
			w.get(base + "/signin").wantBody("<form")
			for _, route := range []string{"/csrf", "/session", "/signout", "/verify-request", "/error"} {
				w.get(base + route).wantStatus(http.StatusOK)
			}
			for _, elsewhere := range []string{"/unknown", "/signin/a/b", ""} {
				if res := w.get(base + elsewhere); res.StatusCode < 300 {
					w.Errorf("%s%s: status %d", base, elsewhere, res.StatusCode)
				}
			}
			w.get(w.prefix + "/page").wantBody("nobody")
			w.get(w.prefix + "/elsewhere").wantStatus(http.StatusNotFound)
		}},
		"MW-02": {proof: func(w *world) {
			for pattern, base := range map[string]string{
				"/a/": "/a", "GET /b/{rest...}": "/b", w.server.Listener.Addr().String()[:9] + "/c/d/": "/c/d",
			} {
				given := w.config
				m := must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(given))
				w.mux.Handle(pattern, m)
				w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
				if given.BasePath != w.config.BasePath || given.URL != w.config.URL {
					w.Errorf("the configuration was changed: %q, %q", given.BasePath, given.URL)
				}
			}
			config := w.config
			config.BasePath = w.prefix + "/set"
			m := must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(config))
			w.mux.Handle(w.prefix+"/set/", m)
			w.get(config.BasePath + "/providers").wantBody(w.origin + config.BasePath + "/callback/github")
		}},
		"MW-03": {proof: func(w *world) {
			for name, c := range map[string]struct {
				base  string
				mount func(m http.Handler)
				path  string
			}{
				"StripPrefix":            {"", func(m http.Handler) { w.mux.Handle("/strip/", http.StripPrefix("/strip", m)) }, "/strip/auth/providers"},
				"StripPrefix, BasePath":  {"/auth", func(m http.Handler) { w.mux.Handle("/strip2/", http.StripPrefix("/strip2", m)) }, "/strip2/auth/providers"},
				"StripPrefix, whole set": {"/strip3/auth", func(m http.Handler) { w.mux.Handle("/strip3/", http.StripPrefix("/strip3", m)) }, "/strip3/auth/providers"},
				"router without pattern": {"", func(m http.Handler) {
					w.mux.Handle("/bare/", http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { r.Pattern = ""; m.ServeHTTP(rw, r) }))
				}, "/bare/providers"},
				"wildcard": {"", func(m http.Handler) { w.mux.Handle("/t/{tenant}/auth/", m) }, "/t/1/auth/providers"},
			} {
				config := w.config
				config.BasePath = c.base
				c.mount(must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(config)))
				before := len(w.log.String())
				w.get(c.path).wantStatus(http.StatusInternalServerError)
				if logged := w.log.String()[before:]; !strings.Contains(logged, "BasePath") {
					w.Errorf("%s: the log does not name the setting: %s", name, logged)
				}
			}
		}},
		"MW-04": {proof: func(w *world) {
			m := must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(w.config))
			w.mux.Handle("/first/", m)
			w.mux.Handle("/second/", m)
			w.get("/first/providers").wantStatus(http.StatusOK)
			w.get("/second/providers").wantStatus(http.StatusInternalServerError)
			w.get("/first/providers").wantStatus(http.StatusOK)
			if s := w.log.String(); !strings.Contains(s, "twice") || !strings.Contains(s, "BasePath") {
				w.Errorf("the log does not tell: %s", s)
			}
			config := w.config
			config.BasePath = "/login"
			w.mux.Handle("/auth/", must[*frameworks.Middleware](w)(frameworks.MiddlewareAuth(config)))
			w.get("/auth/providers").wantStatus(http.StatusInternalServerError)
			if s := w.log.String(); !strings.Contains(s, "base path is /login") {
				w.Errorf("the log does not tell: %s", s)
			}
		}},
		"MW-05": {proof: func(w *world) {
			w.mux.Handle("GET /get", page(func(r *http.Request) (*auth.Session, error) { return frameworks.GetSession(r, w.config) }))
			w.get("/get").wantBody("nobody")
			if res := w.signedIn().get("/get").wantBody("user u <ada@example.com>"); len(res.Cookies()) != 0 {
				w.Errorf("cookies were renewed: %v", res.Cookies())
			}
		}},
		"MW-06": {proof: func(w *world) {
			w.mux.Handle("GET /get", page(func(r *http.Request) (*auth.Session, error) { return frameworks.GetSession(r, w.config) }))
			if w.database {
				w.failing().get("/get").wantStatus(http.StatusTeapot)
			}
			if _, err := frameworks.GetSession(localRequest(http.MethodGet, "/"), auth.Config{Secret: []string{""}}); err == nil {
				w.Error("a configuration that can't be used is no error")
			}
		}},
		"MW-07": {proof: func(w *world) {
			middlewareSite(w)
			w.get(w.prefix + "/page").wantBody("nobody")
			w.signedIn().get(w.prefix + "/page").wantBody("user u <ada@example.com>")
			if w.database {
				if res := w.get(w.prefix + "/page"); res.cookie(w.cookieName()) == nil {
					w.Error("the cookie was not renewed")
				}
			}
		}},
		"MW-08": {proof: func(w *world) {
			_, base := middlewareSite(w)
			w.get(w.prefix + "/private?a=1").wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+"/private?a=1"))
			w.get(w.prefix+"/private", "Accept", "application/json").wantStatus(http.StatusUnauthorized)
			w.signedIn().get(w.prefix + "/private").wantBody("user u")
		}},
		"MW-09": {proof: func(w *world) {
			_, base := middlewareSite(w)
			w.signedIn()
			w.submit(base+"/signout", []string{"Sec-Fetch-Site", "cross-site"})
			w.wantSession(base, true)
			w.submit(base+"/signout", nil, "csrfToken", w.csrf(base))
			w.wantSession(base, false)
			w.signedIn().post(base + "/signout")
			w.wantSession(base, false)
			for _, header := range crossSite(w) {
				if to := w.submit(base+"/signin/github", header).Header.Get("Location"); strings.Contains(to, "github.example") {
					w.Errorf("%v begins a sign-in", header)
				}
			}
			for _, to := range []string{w.submit(base+"/signin/github", nil, "csrfToken", w.csrf(base)).Header.Get("Location"), w.post(base + "/signin/github").Header.Get("Location")} {
				if !strings.HasPrefix(to, "https://github.example/authorize?") {
					w.Errorf("sent to %s", to)
				}
			}
		}},
		"MW-10": {proof: func(w *world) {
			_, base := middlewareSite(w)
			if w.database {
				return // credentials need tokens
			}
			w.submit(base+"/callback/credentials", nil, "csrfToken", w.csrf(base), "password", "lovelace")
			w.wantSession(base, true)
			w.client = w.newBrowser()
			w.postJSON(base+"/callback/credentials", `{"csrfToken":"`+w.csrf(base)+`","password":"lovelace"}`)
			w.wantSession(base, true)
		}},
		"MW-11": {proof: func(w *world) {
			m, _ := middlewareSite(w)
			if !w.database {
				return // no store can fail
			}
			w.failing()
			for _, path := range []string{"/page", "/private"} {
				w.get(w.prefix + path).wantStatus(http.StatusServiceUnavailable)
			}
			m.OnError = func(rw http.ResponseWriter, _ *http.Request, err error) {
				if !errors.Is(err, auth.ErrAdapter) {
					w.Errorf("got %v", err)
				}
				rw.WriteHeader(http.StatusTeapot)
			}
			for _, path := range []string{"/page", "/private"} {
				w.get(w.prefix + path).wantStatus(http.StatusTeapot)
			}
		}},
		"MW-12": {proof: func(w *world) {
			_, base := middlewareSite(w)
			forged := []string{"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https", "Forwarded", "host=evil.example"}
			// Without URL a forwarded request does not count as one of a program on this machine, so no host is trusted.
			res := w.get(base+"/providers", forged...).wantStatus(map[bool]int{true: 200, false: 500}[w.url])
			if strings.Contains(res.body, "evil.example") {
				w.Errorf("a header decides where people are sent: %s", res.body)
			}
			foreign := w.under("evil.example", base+"/providers")
			if want := map[bool]int{true: 200, false: 500}[w.url]; foreign.StatusCode != want {
				w.Errorf("a foreign host: status %d, want %d", foreign.StatusCode, want)
			}
		}},
		"MW-13": {alone: func(t *testing.T) {
			t.Setenv("AUTH_URL", "https://site.example/login")
			log := &logBook{}
			m := must[*frameworks.Middleware](t)(frameworks.MiddlewareAuth(auth.Config{Secret: []string{secret}, Logger: log.logger()}))
			mux := http.NewServeMux()
			mux.Handle("/login/", m)
			for range 2 {
				rec := httptest.NewRecorder()
				mux.ServeHTTP(rec, localRequest(http.MethodGet, "/login/csrf"))
				require.Equal(t, http.StatusOK, rec.Code, "status")
			}
			rec := httptest.NewRecorder()
			m.Require(http.NotFoundHandler()).ServeHTTP(rec, localRequest(http.MethodGet, "/x"))
			got := rec.Header().Get("Location")
			assert.Truef(t, strings.HasPrefix(got, "https://site.example/login/signin?"), "sent to %q", got)
			assert.Emptyf(t, log.String(), "logged: %s", log)
		}},
	}
}
