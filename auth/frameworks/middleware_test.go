package frameworks_test

import (
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
	m = must(frameworks.MiddlewareAuth(w.config))(w)
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
				res := w.get(base + elsewhere)
				assert.Truef(w, res.StatusCode >= 300, "%s%s: status %d", base, elsewhere, res.StatusCode)
			}
			w.get(w.prefix + "/page").wantBody("nobody")
			w.get(w.prefix + "/elsewhere").wantStatus(http.StatusNotFound)
		}},
		"MW-02": {proof: func(w *world) {
			for pattern, base := range map[string]string{
				"/a/": "/a", "GET /b/{rest...}": "/b", w.server.Listener.Addr().String()[:9] + "/c/d/": "/c/d",
			} {
				given := w.config
				m := must(frameworks.MiddlewareAuth(given))(w)
				w.mux.Handle(pattern, m)
				w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
				assert.Truef(w, given.BasePath == w.config.BasePath && given.URL == w.config.URL,
					"the configuration was changed: %q, %q", given.BasePath, given.URL)
			}
			config := w.config
			config.BasePath = w.prefix + "/set"
			m := must(frameworks.MiddlewareAuth(config))(w)
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
				c.mount(must(frameworks.MiddlewareAuth(config))(w))
				before := len(w.log.String())
				w.get(c.path).wantStatus(http.StatusInternalServerError)
				assert.Containsf(w, w.log.String()[before:], "BasePath", "%s: the log does not name the setting", name)
			}
		}},
		"MW-04": {proof: func(w *world) {
			m := must(frameworks.MiddlewareAuth(w.config))(w)
			w.mux.Handle("/first/", m)
			w.mux.Handle("/second/", m)
			w.get("/first/providers").wantStatus(http.StatusOK)
			w.get("/second/providers").wantStatus(http.StatusInternalServerError)
			w.get("/first/providers").wantStatus(http.StatusOK)
			s := w.log.String()
			assert.Truef(w, strings.Contains(s, "twice") && strings.Contains(s, "BasePath"), "the log does not tell: %s", s)
			config := w.config
			config.BasePath = "/login"
			w.mux.Handle("/auth/", must(frameworks.MiddlewareAuth(config))(w))
			w.get("/auth/providers").wantStatus(http.StatusInternalServerError)
			assert.Contains(w, w.log.String(), "base path is /login", "the log does not tell")
		}},
		"MW-05": {proof: func(w *world) {
			w.mux.Handle("GET /get", page(func(r *http.Request) (*auth.Session, error) { return frameworks.GetSession(r, w.config) }))
			w.get("/get").wantBody("nobody")
			assert.Empty(w, w.signedIn().get("/get").wantBody("user u <ada@example.com>").Cookies(), "cookies were renewed")
		}},
		"MW-06": {proof: func(w *world) {
			w.mux.Handle("GET /get", page(func(r *http.Request) (*auth.Session, error) { return frameworks.GetSession(r, w.config) }))
			if w.database {
				w.failing().get("/get").wantStatus(http.StatusTeapot)
			}
			_, err := frameworks.GetSession(localRequest(http.MethodGet, "/"), auth.Config{Secret: []string{""}})
			assert.Error(w, err, "a configuration that can't be used is no error")
		}},
		"MW-07": {proof: func(w *world) {
			middlewareSite(w)
			w.get(w.prefix + "/page").wantBody("nobody")
			w.signedIn().get(w.prefix + "/page").wantBody("user u <ada@example.com>")
			if w.database {
				assert.NotNil(w, w.get(w.prefix+"/page").cookie(w.cookieName()), "the cookie was not renewed")
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
				assert.NotContainsf(w, w.submit(base+"/signin/github", header).Header.Get("Location"), "github.example",
					"%v begins a sign-in", header)
			}
			for _, to := range []string{w.submit(base+"/signin/github", nil, "csrfToken", w.csrf(base)).Header.Get("Location"), w.post(base + "/signin/github").Header.Get("Location")} {
				assert.Truef(w, strings.HasPrefix(to, "https://github.example/authorize?"), "sent to %s", to)
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
				assert.ErrorIs(w, err, auth.ErrAdapter)
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
			assert.NotContains(w, res.body, "evil.example", "a header decides where people are sent")
			foreign := w.under("evil.example", base+"/providers")
			assert.Equal(w, map[bool]int{true: 200, false: 500}[w.url], foreign.StatusCode, "a foreign host: status")
		}},
		"MW-13": {alone: func(t *testing.T) {
			t.Setenv("AUTH_URL", "https://site.example/login")
			log := &logBook{}
			m := must(frameworks.MiddlewareAuth(auth.Config{Secret: []string{secret}, Logger: log.logger()}))(t)
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
