package frameworks_test

import (
	"bytes"
	"cmp"
	"errors"
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
)

// compiledUISite is a site of templates and form actions.
func compiledUISite(w *world) (c *frameworks.CompiledUI, base string) {
	config := frameworks.CompiledUIConfig{Config: w.config}
	if w.prefixed {
		config.BasePath = w.prefix + "/auth"
	}
	c = must(frameworks.CompiledUIAuth(config))(w)
	protect := must(c.Protect(w.prefix + "/admin"))(w)
	read := page(func(r *http.Request) (*auth.Session, error) { return c.Session(r.Context()) })
	site := http.NewServeMux()
	site.Handle("/", read)
	site.HandleFunc(w.prefix+"/own", func(rw http.ResponseWriter, r *http.Request) {
		if s := c.Authorize(rw, r); s != nil {
			page(func(*http.Request) (*auth.Session, error) { return s, nil }).ServeHTTP(rw, r)
		}
	})
	site.HandleFunc("POST "+w.prefix+"/signin", c.SignIn)
	site.HandleFunc("POST "+w.prefix+"/signout", c.SignOut)
	w.mux.Handle("/", frameworks.Sequence(c.Handle, protect)(site))
	w.mux.HandleFunc("/bare", func(rw http.ResponseWriter, r *http.Request) {
		if s := c.Authorize(rw, r); s != nil {
			rw.WriteHeader(http.StatusNoContent)
		}
	})
	return c, w.prefix + "/auth"
}

func html(t testing.TB, c frameworks.Component) string {
	t.Helper()
	return string(must(c.HTML())(t))
}

func compiledUIPromises() map[string]promise {
	return map[string]promise{
		"CU-01": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
		}},
		"CU-02": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.get(base + "/csrf").wantBody("csrfToken")
			w.get(base + "/unknown").wantBody("nobody")
			w.get(w.prefix + "/x").wantBody("nobody")
			res := w.signedIn().get(w.prefix + "/x").wantBody("user u")
			c := res.cookie(w.cookieName())
			assert.Falsef(w, w.database && (c == nil || c.Path != "/"), "the cookie was not renewed: %v", c)
		}},
		"CU-03": {proof: func(w *world) {
			var order []string
			hook := func(name string) func(http.Handler) http.Handler {
				return func(next http.Handler) http.Handler {
					return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
						order = append(order, name)
						next.ServeHTTP(rw, r)
					})
				}
			}
			w.mux.Handle("/", frameworks.Sequence(hook("first"), hook("second"), hook("third"))(http.NotFoundHandler()))
			w.get("/")
			assert.Equal(w, "first second third", strings.Join(order, " "))
			w.mux.Handle("/none", frameworks.Sequence()(page(func(*http.Request) (*auth.Session, error) { return nil, nil })))
			w.get("/none").wantBody("nobody")
		}},
		"CU-04": {proof: func(w *world) {
			compiledUISite(w)
			res := w.post(w.prefix+"/signin", "providerId", "github", "authorizationParams-prompt", "consent", "authorizationParams-", "x", "redirectTo", "/to").wantStatus(http.StatusSeeOther)
			to := must(url.Parse(res.Header.Get("Location")))(w)
			assert.Truef(w, to.Host == "github.example" && to.Query().Get("prompt") == "consent" &&
				!to.Query().Has("authorizationParams-prompt") && len(res.Cookies()) != 0,
				"sent to %s with %d cookies", to, len(res.Cookies()))
			w.post(w.prefix+"/signin", "redirectTo", "/to").wantRedirect(w.prefix + "/auth/signin?callbackUrl=%2Fto")
		}},
		"CU-05": {proof: func(w *world) {
			compiledUISite(w)
			if w.database {
				return // credentials need tokens; the order is the same for all
			}
			w.post(w.prefix+"/signin", "providerId", "pass", "password", "lovelace", "redirectTo", "/to").wantRedirect("/to")
			w.submit(w.prefix+"/signin", []string{"Origin", w.origin, "Referer", w.origin + "/from"}, "providerId", "pass", "password", "lovelace").wantRedirect("/from")
			w.post(w.prefix+"/signin", "providerId", "pass", "password", "lovelace").wantRedirect(cmp.Or(w.prefix, "/"))
		}},
		"CU-06": {proof: func(w *world) {
			c, base := compiledUISite(w)
			if w.database {
				return
			}
			w.post(w.prefix+"/signin", "providerId", "pass", "password", "wrong").wantRedirect(base + "/signin?error=CredentialsSignin&code=wrong")
			c.OnActionError = func(rw http.ResponseWriter, _ *http.Request, err error) {
				var e *auth.Error
				assert.Truef(w, errors.As(err, &e) && e.Code == "wrong", "got %v", err)
				rw.WriteHeader(http.StatusTeapot)
			}
			w.post(w.prefix+"/signin", "providerId", "pass", "password", "wrong").wantStatus(http.StatusTeapot)
			w.post(w.prefix+"/signin", "providerId", "pass", "password", "lovelace").wantStatus(http.StatusSeeOther)
			w.wantSession(base, true)
		}},
		"CU-07": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.signedIn().post(w.prefix+"/signout", "redirectTo", "/bye").wantRedirect("/bye")
			w.wantSession(base, false)
			w.signedIn().post(w.prefix + "/signout").wantRedirect(cmp.Or(w.prefix, "/"))
			w.wantSession(base, false)
		}},
		"CU-08": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.post(w.prefix+"/signin", "providerId", "github", "redirect", "false").wantBody(`{"url":"https://github.example/authorize?`)
			w.signedIn().post(w.prefix+"/signout", "redirect", "FALSE", "redirectTo", "/bye").wantBody(`/bye"}`)
			w.wantSession(base, false)
		}},
		"CU-09": {proof: func(w *world) {
			c, _ := compiledUISite(w)
			w.signedIn().get(w.prefix + "/x").wantBody("user u <ada@example.com>")
			s, err := c.Session(w.Context())
			assert.Truef(w, s == nil && err != nil, "outside of Handle: got %v, %v", s, err)
		}},
		"CU-10": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.get(w.prefix + "/own?a=1").wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+"/own?a=1"))
			w.get(w.prefix+"/own", "Accept", "application/json").wantStatus(http.StatusUnauthorized)
			w.get("/bare").wantStatus(http.StatusSeeOther)
			w.signedIn().get(w.prefix + "/own").wantBody("user u")
			w.get("/bare").wantStatus(http.StatusNoContent)
			if w.database {
				w.failing().get("/bare").wantStatus(http.StatusServiceUnavailable)
			}
		}},
		"CU-11": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.get(w.prefix + "/admin").wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+"/admin"))
			w.get(w.prefix + "/administrator").wantBody("nobody")
			w.signedIn().get(w.prefix + "/admin").wantBody("user u")
		}},
		"CU-12": {proof: func(w *world) {
			_, base := compiledUISite(w)
			for _, leaf := range []string{"/admin/", "/admin/a/b/c", "/admin/x.json"} {
				w.get(w.prefix + leaf).wantRedirect(base + "/signin?callbackUrl=" + escaped(w.prefix+leaf))
				for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodHead, "PURGE"} {
					w.do(method, w.prefix+leaf, nil, nil).wantStatus(http.StatusSeeOther)
				}
			}
		}},
		"CU-13": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.get(base + "/signin").wantBody("<form")
			w.get(base + "/signin?callbackUrl=%2Fto").wantBody("<form")
		}},
		"CU-14": {alone: func(t *testing.T) {
			got := html(t, frameworks.SignIn(frameworks.SignInProps{
				Provider: "github", SignInPage: "login", RedirectTo: `/"><script>`, NoRedirect: true, Class: "c", CSRFToken: "t",
				AuthorizationParams: url.Values{"prompt": {"consent"}, "a": {"b", "c"}},
			}))
			want := `<form method="post" action="/login" class="c"><input type="hidden" name="providerId" value="github">` +
				`<input type="hidden" name="redirectTo" value="/&#34;&gt;&lt;script&gt;"><input type="hidden" name="redirect" value="false">` +
				`<input type="hidden" name="csrfToken" value="t"><input type="hidden" name="authorizationParams-a" value="b"><input type="hidden" name="authorizationParams-a" value="c">` +
				`<input type="hidden" name="authorizationParams-prompt" value="consent"><button type="submit">Sign in with github</button></form>`
			assert.Equalf(t, want, got, "got %s\nwant %s", got, want)
			got, want = html(t, frameworks.SignIn(frameworks.SignInProps{})), `<form method="post" action="/signin"><button type="submit">Sign in</button></form>`
			assert.Equal(t, want, got)
			got, want = html(t, frameworks.SignOut(frameworks.SignOutProps{SignOutPage: "//evil.example/x", RedirectTo: "/"})), `<form method="post" action="/evil.example/x"><input type="hidden" name="redirectTo" value="/"><button type="submit">Sign out</button></form>`
			assert.Equal(t, want, got)
		}},
		"CU-15": {alone: func(t *testing.T) {
			for props, want := range map[*frameworks.SignInProps]string{
				{Provider: "resend"}:                                                         `<input type="email" name="email"`,
				{Provider: "postmark", Type: auth.TypeEmail}:                                 `<input type="email" name="email"`,
				{Provider: "email", Email: "<b>mail</b>"}:                                    `<b>mail</b><button`,
				{Provider: "credentials", Credentials: "<i>fields</i>"}:                      `<i>fields</i><button`,
				{Provider: "ldap", Type: auth.TypeCredentials, Credentials: "<i>fields</i>"}: `<i>fields</i><button`,
				{Provider: "github", SubmitButton: "<b>Go</b>"}:                              `<button type="submit"><b>Go</b></button>`,
			} {
				assert.Contains(t, html(t, frameworks.SignIn(*props)), want)
			}
			got := html(t, frameworks.SignIn(frameworks.SignInProps{Provider: "github", Credentials: "x", Email: "y"}))
			assert.NotRegexp(t, ">x|y<", got, "slots of other providers are shown")
			assert.Contains(t, html(t, frameworks.SignOut(frameworks.SignOutProps{SubmitButton: "<b>Bye</b>"})), "<b>Bye</b>")
		}},
		"CU-16": {alone: func(t *testing.T) {
			render := func(text string) (string, error) {
				var b bytes.Buffer
				err := template.Must(template.New("").Funcs(frameworks.Functions()).Parse(text)).Execute(&b, map[string]any{"HTML": template.HTML("<b>Go</b>"), "Text": "<b>Go</b>"})
				return b.String(), err
			}
			for text, want := range map[string]string{
				`{{SignIn "provider" "github" "redirectTo" "/to" "authorizationParams-prompt" "consent"}}`: html(t, frameworks.SignIn(frameworks.SignInProps{Provider: "github", RedirectTo: "/to", AuthorizationParams: url.Values{"prompt": {"consent"}}})),
				`{{SignIn "submitButton" .HTML "redirect" false "signInPage" "login" "class" "c"}}`:        html(t, frameworks.SignIn(frameworks.SignInProps{SubmitButton: "<b>Go</b>", NoRedirect: true, SignInPage: "login", Class: "c"})),
				`{{SignIn "submitButton" .Text}}`:                                  html(t, frameworks.SignIn(frameworks.SignInProps{SubmitButton: "&lt;b&gt;Go&lt;/b&gt;"})),
				`{{SignOut "signOutPage" "bye" "redirectTo" "/" "csrfToken" "t"}}`: html(t, frameworks.SignOut(frameworks.SignOutProps{SignOutPage: "bye", RedirectTo: "/", CSRFToken: "t"})),
				`{{SignIn "type" "email" "email" .HTML "provider" "p"}}{{SignIn "type" "credentials" "credentials" .HTML}}`: html(t, frameworks.SignIn(frameworks.SignInProps{Provider: "p", Type: auth.TypeEmail, Email: "<b>Go</b>"})) +
					html(t, frameworks.SignIn(frameworks.SignInProps{Type: auth.TypeCredentials, Credentials: "<b>Go</b>"})),
			} {
				got, err := render(text)
				assert.Truef(t, err == nil && got == want, "%s: got %s, %v, want %s", text, got, err, want)
			}
			for _, text := range []string{`{{SignIn "provider"}}`, `{{SignIn "provder" "github"}}`, `{{SignOut 1 2}}`, `{{SignOut "provider" "x"}}`} {
				_, err := render(text)
				assert.Errorf(t, err, "%s is no error", text)
			}
		}},
		"CU-17": {proof: func(w *world) {
			_, base := compiledUISite(w)
			w.signedIn()
			for _, header := range crossSite(w) {
				w.submit(w.prefix+"/signin", header, "providerId", "github").wantStatus(http.StatusForbidden)
				w.submit(w.prefix+"/signout", header).wantStatus(http.StatusForbidden)
			}
			w.wantSession(base, true)
			w.submit(w.prefix+"/signout", nil, "csrfToken", w.csrf(base)).wantStatus(http.StatusSeeOther)
			w.wantSession(base, false)
		}},
		"CU-18": {alone: func(t *testing.T) {
			for value, want := range map[string]int{"true": http.StatusOK, "false": http.StatusInternalServerError, "": http.StatusInternalServerError} {
				t.Setenv("AUTH_TRUST_HOST", value)
				t.Setenv("NODE_ENV", "production")
				c := must(frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: auth.Config{Secret: []string{secret}, Logger: (&logBook{}).logger()}}))(t)
				rec := httptest.NewRecorder()
				c.Handle(http.NotFoundHandler()).ServeHTTP(rec, localRequest(http.MethodGet, "https://site.example/auth/csrf"))
				assert.Equalf(t, want, rec.Code, "AUTH_TRUST_HOST=%q: status", value)
			}
		}},
	}
}
