package frameworks_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
)

// fullstackSite is a site whose pages sign in and out with their own code.
func fullstackSite(w *world, change ...func(*frameworks.FullstackConfig)) (f *frameworks.Fullstack, base string) {
	config := frameworks.FullstackConfig{Config: w.config}
	if w.prefixed {
		config.BasePath = w.prefix + "/api/auth"
	}
	for _, c := range change {
		c(&config)
	}
	f = must(frameworks.FullstackAuth(config))(w)
	base = w.prefix + "/api/auth"
	w.mux.HandleFunc("GET "+base+"/", f.GET)
	w.mux.HandleFunc("POST "+base+"/", f.POST)
	w.mux.Handle("GET "+w.prefix+"/page", f.Middleware(page(func(r *http.Request) (*auth.Session, error) { return f.Session(r.Context()) })))
	w.mux.Handle(w.prefix+"/wrapped", f.Wrap(func(rw http.ResponseWriter, r *http.Request, s *auth.Session) {
		page(func(*http.Request) (*auth.Session, error) { return s, nil }).ServeHTTP(rw, r)
	}))
	w.mux.HandleFunc("GET "+w.prefix+"/refresh", func(rw http.ResponseWriter, r *http.Request) {
		page(func(r *http.Request) (*auth.Session, error) { return f.Refresh(rw, r) }).ServeHTTP(rw, r)
	})
	w.mux.HandleFunc(w.prefix+"/login", func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		o := frameworks.SignInForm(r.PostForm)
		to, err := f.SignIn(rw, r, r.PostForm.Get("providerId"), o)
		if err != nil {
			tellError(rw, err)
		} else if o.NoRedirect {
			_, _ = fmt.Fprint(rw, "to ", to)
		}
	})
	w.mux.HandleFunc(w.prefix+"/logout", func(rw http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		o := frameworks.SignOutForm(r.PostForm)
		to, err := f.SignOut(rw, r, o)
		if err != nil {
			tellError(rw, err)
		} else if o.NoRedirect {
			_, _ = fmt.Fprint(rw, "to ", to)
		}
	})
	w.mux.HandleFunc(w.prefix+"/update", func(rw http.ResponseWriter, r *http.Request) {
		s, err := f.UnstableUpdate(rw, r, map[string]string{"role": "admin"})
		if err != nil {
			tellError(rw, err)
			return
		}
		_ = json.NewEncoder(rw).Encode(s)
	})
	return f, base
}

func tellError(w http.ResponseWriter, err error) {
	var typed *auth.Error
	if !errors.As(err, &typed) {
		http.Error(w, "untyped", http.StatusInternalServerError)
		return
	}
	http.Error(w, "error "+string(typed.Type)+" "+typed.Code, http.StatusTeapot)
}

// roleUpdate lets an update of the session set its role.
func roleUpdate(c *auth.Config) {
	c.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
		if p.Trigger == auth.TriggerUpdate {
			var v struct{ Role string }
			_ = json.Unmarshal(p.NewSession, &v)
			p.Session.Extra = map[string]any{"role": v.Role}
		}
		return p.Session, nil
	}
}

func authorized(f func(*http.Request, *auth.Session) frameworks.Answer) func(*frameworks.FullstackConfig) {
	return func(c *frameworks.FullstackConfig) { c.Authorized = f }
}

func fullstackPromises() map[string]promise {
	return map[string]promise{
		"FS-01": {proof: func(w *world) {
			_, base := fullstackSite(w)
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
			w.signedIn()
			w.submit(base+"/signout", nil, "csrfToken", w.csrf(base))
			w.wantSession(base, false)
		}},
		"FS-02": {alone: func(t *testing.T) {
			for _, c := range []struct{ set, authURL, nextURL, want string }{
				{"", "", "", "http://localhost/api/auth"},
				{"/set", "https://a.example/path", "", "https://a.example/set"},
				{"", "https://a.example/path/", "https://n.example/other", "https://a.example/path"},
				{"", "https://a.example/", "", "https://a.example/api/auth"},
				{"", "", "https://n.example/other", "https://n.example/other"},
				{"", "", "https://n.example", "https://n.example/api/auth"},
			} {
				t.Setenv("AUTH_URL", c.authURL)
				t.Setenv("NEXTAUTH_URL", c.nextURL)
				f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Config: auth.Config{Secret: []string{secret}, BasePath: c.set, Providers: []auth.Provider{gitHub()}}}))(t)
				rec := httptest.NewRecorder()
				u := must(url.Parse(c.want))(t)
				f.GET(rec, localRequest(http.MethodGet, "http://localhost"+u.Path+"/providers"))
				assert.Containsf(t, rec.Body.String(), `"`+c.want+"/callback/github", "%+v: got %s", c, rec.Body)
			}
		}},
		"FS-03": {alone: func(t *testing.T) {
			const older, next = "older-secret-older-secret-older-01", "nextauth-secret-nextauth-secret-1"
			for _, c := range []struct {
				env  map[string]string
				good []string
			}{
				{map[string]string{"AUTH_SECRET": secret}, []string{secret}},
				{map[string]string{"NEXTAUTH_SECRET": next}, []string{next}},
				{map[string]string{"AUTH_SECRET": secret, "NEXTAUTH_SECRET": next}, []string{secret}},
				{map[string]string{"AUTH_SECRET": secret, "AUTH_SECRET_1": older}, []string{secret, older}},
				{map[string]string{"NEXTAUTH_SECRET": next, "AUTH_SECRET_2": older}, []string{next, older}},
			} {
				for _, name := range []string{"AUTH_SECRET", "AUTH_SECRET_1", "AUTH_SECRET_2", "AUTH_SECRET_3", "NEXTAUTH_SECRET"} {
					t.Setenv(name, c.env[name])
				}
				f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Config: auth.Config{Providers: []auth.Provider{gitHub()}, Logger: (&logBook{}).logger()}}))(t)
				for _, s := range []string{secret, older, next} {
					token := must(jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "u"}, Secrets: []string{s}, Salt: jwt.CookieName}))(t)
					r := localRequest(http.MethodGet, "http://localhost/")
					r.AddCookie(&http.Cookie{Name: jwt.CookieName, Value: token})
					got, err := f.Refresh(httptest.NewRecorder(), r)
					assert.Truef(t, err == nil && (got != nil) == slices.Contains(c.good, s), "%v: %s: got %v, %v", c.env, s, got, err)
				}
			}
		}},
		"FS-04": {proof: func(w *world) {
			_, base := fullstackSite(w)
			res := w.under("10.0.0.7", base+"/providers")
			assert.Falsef(w, w.url && !strings.Contains(res.body, w.origin+base+"/callback/github") ||
				!w.url && res.StatusCode != http.StatusInternalServerError,
				"got %d: %s", res.StatusCode, res.body)
		}},
		"FS-05": {proof: func(w *world) {
			asked := 0
			own := w.config
			f, base := fullstackSite(w, func(c *frameworks.FullstackConfig) {
				base := c.BasePath
				c.Config = auth.Config{}
				c.Lazy = frameworks.Lazy(func(*http.Request) string { return "tenant" }, func(r *http.Request) (auth.Config, error) {
					if r == nil {
						return auth.Config{}, errors.New("there is no request")
					}
					asked++
					own.BasePath = base
					return own, nil
				})
			})
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
			w.signedIn().get(w.prefix + "/page").wantBody("user u")
			w.get(w.prefix + "/wrapped").wantBody("user u")
			w.get(w.prefix + "/refresh").wantBody("user u")
			w.post(w.prefix + "/update").wantBody("ada@example.com")
			w.post(w.prefix+"/login", "providerId", "github").wantStatus(http.StatusSeeOther)
			w.post(w.prefix + "/logout").wantStatus(http.StatusSeeOther)
			w.post(base + "/signin/github").wantStatus(http.StatusFound)
			rec := httptest.NewRecorder()
			f.Fail(rec, localRequest(http.MethodPost, w.origin+"/login"), &auth.Error{Type: auth.ErrCredentialsSignin, Code: "wrong"})
			got := rec.Header().Get("Location")
			assert.Truef(w, strings.HasSuffix(got, base+"/signin?error=CredentialsSignin&code=wrong"), "Fail leads to %s", got)
			assert.Equalf(w, 1, asked, "the configuration was made %d times, want once", asked)
		}},
		"FS-06": {proof: func(w *world) {
			f, _ := fullstackSite(w)
			w.get(w.prefix + "/page").wantBody("nobody")
			w.signedIn().get(w.prefix + "/page").wantBody("user u <ada@example.com>") // with the ID
			s, err := f.Session(w.Context())
			assert.Truef(w, s == nil && err != nil, "a request that was never loaded: got %v, %v", s, err)
		}},
		"FS-07": {proof: func(w *world) {
			fullstackSite(w)
			w.get(w.prefix + "/refresh").wantBody("nobody")
			res := w.signedIn().get(w.prefix + "/refresh").wantBody("user u")
			assert.False(w, w.database && res.cookie(w.cookieName()) == nil, "the cookie was not renewed")
			if w.database {
				w.failing().get(w.prefix + "/refresh").wantStatus(http.StatusTeapot)
			}
		}},
		"FS-08": {proof: func(w *world) {
			fullstackSite(w)
			w.signedIn()
			for _, path := range []string{"/page", "/wrapped"} {
				res := w.get(w.prefix + path).wantBody("user u")
				assert.Falsef(w, w.database && res.cookie(w.cookieName()) == nil, "%s: the cookie was not renewed", path)
			}
		}},
		"FS-09": {proof: func(w *world) {
			_, base := fullstackSite(w, authorized(func(r *http.Request, s *auth.Session) frameworks.Answer {
				switch {
				case r.URL.Query().Has("teapot"):
					return frameworks.Respond(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) }))
				case r.URL.Query().Has("zero"):
					return frameworks.Answer{}
				case s != nil:
					return frameworks.GoOn()
				}
				return frameworks.AskToSignIn()
			}))
			w.get(w.prefix + "/page?a=1").wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+"/page?a=1"))
			w.get(w.prefix + "/page?teapot").wantStatus(http.StatusTeapot)
			w.signedIn().get(w.prefix + "/page").wantBody("user u")
			w.get(w.prefix + "/page?zero").wantStatus(http.StatusSeeOther)
		}},
		"FS-10": {proof: func(w *world) {
			fullstackSite(w)
			w.get(w.prefix + "/page").wantBody("nobody")
			w.get(w.prefix + "/wrapped").wantBody("nobody")
		}},
		"FS-11": {proof: func(w *world) {
			f, base := fullstackSite(w, authorized(func(*http.Request, *auth.Session) frameworks.Answer { return frameworks.AskToSignIn() }),
				func(c *frameworks.FullstackConfig) { c.Pages.SignIn = w.prefix + "/hello" })
			w.mux.Handle(w.prefix+"/all/", f.Middleware(http.NotFoundHandler()))
			w.mux.Handle(w.prefix+"/hello", f.Middleware(page(inContext)))
			w.get(w.prefix + "/page").wantRedirect(w.prefix + "/hello?callbackUrl=" + escaped(w.prefix+"/page"))
			w.submit(w.prefix+"/wrapped", nil).wantStatus(http.StatusSeeOther)
			w.get(w.prefix + "/hello?error=x").wantBody("nobody")
			all := f.Middleware(w.mux)
			r := localRequest(http.MethodGet, w.origin+base+"/providers")
			rec := httptest.NewRecorder()
			all.ServeHTTP(rec, r)
			assert.Equal(w, http.StatusOK, rec.Code, "the routes are kept from visitors: status")
		}},
		"FS-12": {proof: func(w *world) {
			_, base := fullstackSite(w, authorized(func(_ *http.Request, s *auth.Session) frameworks.Answer {
				if s != nil {
					return frameworks.GoOn()
				}
				return frameworks.AskToSignIn()
			}))
			w.get(w.prefix + "/wrapped").wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+"/wrapped"))
			w.signedIn().get(w.prefix + "/wrapped").wantBody("user u")
		}},
		"FS-13": {proof: func(w *world) {
			fullstackSite(w)
			if w.database {
				return // credentials need tokens; the order is the same for all
			}
			origin := []string{"Sec-Fetch-Site", "same-origin"}
			from := append(slices.Clone(origin), "Referer", w.origin+"/from")
			w.submit(w.prefix+"/login", from, "providerId", "credentials", "password", "lovelace", "redirectTo", "/to").wantRedirect("/to")
			w.submit(w.prefix+"/login", from, "providerId", "credentials", "password", "lovelace").wantRedirect("/from")
			w.submit(w.prefix+"/login", origin, "providerId", "credentials", "password", "lovelace").wantRedirect(cmp.Or(w.prefix, "/"))
			res := w.submit(w.prefix+"/login", origin, "providerId", "credentials", "password", "lovelace", "redirectTo", "https://evil.example/")
			assert.NotContains(w, res.Header.Get("Location"), "evil", "sent to")
		}},
		"FS-14": {proof: func(w *world) {
			_, base := fullstackSite(w)
			for _, provider := range []string{"", "unknown"} {
				w.post(w.prefix+"/login", "providerId", provider, "redirectTo", "/to").wantRedirect(base + "/signin?callbackUrl=%2Fto")
			}
		}},
		"FS-15": {proof: func(w *world) {
			_, base := fullstackSite(w)
			res := w.post(w.prefix+"/login?invite=SECRET&scope=all", "providerId", "github", "authorizationParams-prompt", "consent", "scope", "not-a-parameter").wantStatus(http.StatusSeeOther)
			to := must(url.Parse(res.Header.Get("Location")))(w)
			assert.Truef(w, to.Host == "github.example" && to.Query().Get("prompt") == "consent" &&
				to.Query().Get("scope") == "openid profile email" && !to.Query().Has("invite") && len(res.Cookies()) != 0,
				"sent to %s with %d cookies", to, len(res.Cookies()))
			if w.database {
				return
			}
			for _, id := range []string{"credentials", "pass"} {
				w.client = w.newBrowser()
				w.post(w.prefix+"/login", "providerId", id, "password", "lovelace").wantStatus(http.StatusSeeOther)
				w.wantSession(base, true)
			}
			// Auth.js replaces the first "signin" in the URL, wherever it is.
			other := w.again()
			other.prefix = "/signin/callback"
			other.prefixed = true
			_, base = fullstackSite(other)
			other.post(other.prefix+"/login", "providerId", "pass", "password", "lovelace").wantStatus(http.StatusSeeOther)
			other.wantSession(base, true)
		}},
		"FS-16": {proof: func(w *world) {
			_, base := fullstackSite(w)
			res := w.post(w.prefix+"/login", "providerId", "github", "redirect", "false").wantBody("to https://github.example/authorize?")
			assert.NotEmpty(w, res.Cookies(), "no cookies were set")
			if !w.database {
				w.post(w.prefix+"/login", "providerId", "pass", "password", "lovelace", "redirect", "false", "redirectTo", "/to").wantBody("/to")
				w.wantSession(base, true)
			}
			w.post(w.prefix+"/login", "providerId", "github", "redirect", "true").wantStatus(http.StatusSeeOther)
		}},
		"FS-17": {proof: func(w *world) {
			f, base := fullstackSite(w)
			if w.database {
				return
			}
			res := w.post(w.prefix+"/login", "providerId", "pass", "password", "wrong").wantStatus(http.StatusTeapot)
			assert.Truef(w, res.body == "error CredentialsSignin wrong\n" && len(res.Cookies()) == 0,
				"got %q, %v", res.body, res.Cookies())
			rec := httptest.NewRecorder()
			f.Fail(rec, localRequest(http.MethodPost, w.origin+"/login"), &auth.Error{Type: auth.ErrCredentialsSignin, Code: "wrong"})
			got := rec.Header().Get("Location")
			assert.Truef(w, rec.Code == http.StatusSeeOther && strings.HasSuffix(got, base+"/signin?error=CredentialsSignin&code=wrong"),
				"Fail: got %d, %s", rec.Code, got)
		}},
		"FS-18": {proof: func(w *world) {
			_, base := fullstackSite(w)
			res := w.signedIn().submit(w.prefix+"/logout", []string{"Sec-Fetch-Site", "same-origin", "Referer", w.origin + "/from"}).wantRedirect("/from")
			c := res.cookie(w.cookieName())
			assert.Truef(w, c != nil && c.MaxAge < 0 && !w.store.has("token"), "the session goes on: %v", c)
			w.wantSession(base, false)
			w.signedIn().post(w.prefix+"/logout", "redirectTo", "/to").wantRedirect("/to")
			w.signedIn().post(w.prefix + "/logout").wantRedirect(cmp.Or(w.prefix, "/"))
			w.signedIn().post(w.prefix+"/logout", "redirect", "false", "redirectTo", "/to").wantBody("/to")
			w.wantSession(base, false)
		}},
		"FS-19": {proof: func(w *world) {
			roleUpdate(&w.config)
			var claims []string
			w.config.Callbacks.JWT = func(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
				claims = append(claims, string(p.Trigger)+" "+string(p.Session))
				return p.Token, nil
			}
			fullstackSite(w)
			w.post(w.prefix + "/update").wantBody("null")
			w.signedIn().post(w.prefix + "/update").wantBody(`"role":"admin"`)
			want := `update {"role":"admin"}`
			assert.Truef(w, w.database || slices.Contains(claims, want), "the jwt callback gets %q, want %q", claims, want)
		}},
		"FS-20": {proof: func(w *world) {
			roleUpdate(&w.config)
			_, base := fullstackSite(w)
			w.signedIn()
			for _, path := range []string{"/login", "/logout", "/update"} {
				for _, header := range crossSite(w) {
					res := w.submit(w.prefix+path, header, "providerId", "github").wantStatus(http.StatusTeapot)
					assert.Truef(w, res.body == "error MissingCSRF \n" && len(res.Cookies()) == 0,
						"%s, %v: got %q, %v", path, header, res.body, res.Cookies())
				}
				w.do(http.MethodGet, w.prefix+path, []string{"Sec-Fetch-Site", "same-origin"}, nil).wantStatus(http.StatusTeapot)
				w.submit(w.prefix+path, nil, "providerId", "github", "csrfToken", "wrong").wantStatus(http.StatusTeapot)
			}
			w.submit(w.prefix+"/update", []string{"Origin", w.origin}).wantBody(`"role":"admin"`)
			w.submit(w.prefix+"/update", nil, "csrfToken", w.csrf(base)).wantBody(`"role":"admin"`)
			w.wantSession(base, true)
			w.submit(w.prefix+"/login", []string{"Origin", w.origin}, "providerId", "github").wantStatus(http.StatusSeeOther)
			w.submit(w.prefix+"/login", nil, "providerId", "github", "csrfToken", w.csrf(base)).wantStatus(http.StatusSeeOther)
			w.submit(w.prefix+"/logout", nil, "csrfToken", w.csrf(base)).wantStatus(http.StatusSeeOther)
			w.wantSession(base, false)
		}},
		"FS-21": {proof: func(w *world) {
			f, _ := fullstackSite(w)
			if !w.database {
				return
			}
			w.failing().get(w.prefix + "/page").wantStatus(http.StatusServiceUnavailable)
			w.get(w.prefix + "/wrapped").wantStatus(http.StatusServiceUnavailable)
			for _, res := range []*reply{w.get(w.prefix + "/refresh"), w.post(w.prefix + "/update")} {
				res.wantStatus(http.StatusTeapot)
				assert.Nilf(w, res.cookie(w.cookieName()), "%s changes the cookie of the session", res.Request.URL)
			}
			f.OnError = func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusTeapot) }
			w.get(w.prefix + "/page").wantStatus(http.StatusTeapot)
		}},
	}
}

// crossSite returns headers of POSTs from another site, or from an unknown
// sender.
func crossSite(w *world) [][]string {
	return [][]string{
		nil,
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site", "Origin", w.origin},
		{"Sec-Fetch-Site", "none"},
		{"Origin", "https://evil.example"},
		{"Origin", "null"},
		{"Origin", w.origin + ".evil.example"},
		{"Referer", w.origin + "/login"},
	}
}
