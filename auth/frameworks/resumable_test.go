package frameworks_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
)

// resumableSite is a site of loaders and actions. It answers a failed
// validation as JSON.
func resumableSite(w *world) (q *frameworks.Resumable, base string) {
	config := frameworks.ResumableConfig{Config: w.config}
	if w.prefixed {
		config.BasePath = w.prefix + "/auth"
	}
	q = must(frameworks.ResumableAuth(config))(w)
	site := http.NewServeMux()
	site.Handle("GET "+w.prefix+"/page", page(func(r *http.Request) (*auth.Session, error) { return q.UseSession(r.Context()) }))
	site.HandleFunc(w.prefix+"/auth/", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("page of the application")) })
	site.HandleFunc(w.prefix+"/login", func(rw http.ResponseWriter, r *http.Request) {
		result, err := q.UseSignIn(rw, r)
		answerAction(rw, r, q, result.Failed, result, err)
	})
	site.HandleFunc(w.prefix+"/logout", func(rw http.ResponseWriter, r *http.Request) {
		result, err := q.UseSignOut(rw, r)
		answerAction(rw, r, q, result.Failed, result, err)
	})
	w.mux.Handle("/", q.OnRequest(site))
	return q, w.prefix + "/auth"
}

func answerAction(w http.ResponseWriter, r *http.Request, q *frameworks.Resumable, failed bool, result any, err error) {
	switch {
	case err != nil:
		q.Fail(w, r, err)
	case failed:
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(result)
	}
}

func (r *reply) wantFailed(want string) {
	r.t.Helper()
	r.wantStatus(http.StatusUnprocessableEntity)
	assert.JSONEq(r.t, want, r.body)
}

func resumablePromises() map[string]promise {
	return map[string]promise{
		"RS-01": {alone: func(t *testing.T) {
			t.Setenv("AUTH_URL", "https://site.example/elsewhere")
			q := must(frameworks.ResumableAuth(frameworks.ResumableConfig{Config: auth.Config{Secret: []string{secret}, Providers: []auth.Provider{gitHub()}}}))(t)
			rec := httptest.NewRecorder()
			q.OnRequest(http.NotFoundHandler()).ServeHTTP(rec, localRequest(http.MethodGet, "/auth/providers"))
			assert.Containsf(t, rec.Body.String(), "https://site.example/auth/callback/github", "got %d %s", rec.Code, rec.Body)
		}},
		"RS-02": {proof: func(w *world) {
			_, base := resumableSite(w)
			w.get(base + "/providers").wantBody(w.origin + base + "/callback/github")
			w.get(w.prefix + "/page").wantBody("nobody")
			w.signedIn().get(w.prefix + "/page").wantBody("user u")
		}},
		"RS-03": {proof: func(w *world) {
			_, base := resumableSite(w)
			for _, path := range []string{"/", "/profile", "/signin/a/b", "/sessions"} {
				w.get(base + path).wantBody("page of the application")
			}
		}},
		"RS-04": {proof: func(w *world) {
			q, _ := resumableSite(w)
			w.get(w.prefix + "/page").wantBody("nobody")
			w.signedIn().get(w.prefix + "/page").wantBody("user u <ada@example.com>")
			s, err := q.UseSession(w.Context())
			assert.Truef(w, s == nil && err != nil, "outside of OnRequest: got %v, %v", s, err)
		}},
		"RS-05": {proof: func(w *world) {
			q, _ := resumableSite(w)
			w.mux.HandleFunc("GET /data", func(rw http.ResponseWriter, r *http.Request) {
				data, err := q.GetSession(r)
				if err != nil || len(rw.Header()) != 0 {
					rw.WriteHeader(http.StatusTeapot)
					return
				}
				_ = json.NewEncoder(rw).Encode(data)
			})
			w.get("/data").wantBody(`{"cookie":null,"data":null}`)
			res := w.signedIn().get("/data").wantBody(`"email":"ada@example.com"`)
			assert.Falsef(w, w.database && !strings.Contains(res.body, w.cookieName()+"=token") || len(res.Cookies()) != 0,
				"got %s, %v", res.body, res.Cookies())
			if w.database {
				w.failing().get("/data").wantStatus(http.StatusTeapot)
			}
		}},
		"RS-06": {proof: func(w *world) {
			resumableSite(w)
			w.post(w.prefix+"/login", "providerId", "github").wantStatus(http.StatusSeeOther)
			res := w.postJSON(w.prefix+"/login", `{"providerId":"github"}`).wantStatus(http.StatusSeeOther)
			to := res.Header.Get("Location")
			assert.Truef(w, strings.HasPrefix(to, "https://github.example/authorize?") && len(res.Cookies()) != 0,
				"sent to %s with %d cookies", to, len(res.Cookies()))
			res = w.do(http.MethodPost, w.prefix+"/login", []string{"Content-Type", "application/json", "Accept", "application/json", "Sec-Fetch-Site", "same-origin"}, strings.NewReader(`{"providerId":"github"}`))
			res.wantBody(`{"url":"https://github.example/authorize?`)
			b, _ := json.Marshal(frameworks.SignInResult{})
			assert.Equalf(w, "{}", string(b), "the result of a success is %s", b)
		}},
		"RS-07": {proof: func(w *world) {
			resumableSite(w)
			if w.database {
				return // credentials need tokens; the order is the same for all
			}
			login := w.prefix + "/login"
			w.post(login+"?qaction=abc&x=1", "providerId", "pass", "options.password", "lovelace").wantRedirect(login + "?x=1")
			w.post(login+"?qaction=abc", "providerId", "pass", "options.password", "lovelace").wantRedirect(login)
			w.post(login, "providerId", "pass", "options.password", "lovelace", "redirectTo", "/b").wantRedirect("/b")
			w.post(login, "providerId", "pass", "options.password", "lovelace", "redirectTo", "/b", "options.redirectTo", "/a").wantRedirect("/a")
			w.postJSON(login, `{"providerId":"pass","redirectTo":"/b","options":{"password":"lovelace","redirectTo":"/a"}}`).wantRedirect("/a")
		}},
		"RS-08": {proof: func(w *world) {
			_, base := resumableSite(w)
			if w.database {
				return
			}
			for _, id := range []string{"pass", "credentials"} {
				w.client = w.newBrowser()
				w.post(w.prefix+"/login", "providerId", id, "options.password", "lovelace").wantStatus(http.StatusSeeOther)
				w.wantSession(base, true)
			}
			w.post(w.prefix+"/login", "providerId", "pass", "options.password", "wrong").wantRedirect(base + "/signin?error=CredentialsSignin&code=wrong")
		}},
		"RS-09": {proof: func(w *world) {
			resumableSite(w)
			for body, want := range map[string]string{
				`{"providerId":1}`:                      `{"failed":true,"fieldErrors":{"providerId":["Expected string, received number"]},"formErrors":[]}`,
				`{"redirectTo":["/"]}`:                  `{"failed":true,"fieldErrors":{"redirectTo":["Expected string, received array"]},"formErrors":[]}`,
				`{"providerId":null}`:                   `{"failed":true,"fieldErrors":{"providerId":["Expected string, received null"]},"formErrors":[]}`,
				`{"options":"x"}`:                       `{"failed":true,"fieldErrors":{"options":["Expected object, received string"]},"formErrors":[]}`,
				`{"options":{"redirectTo":true}}`:       `{"failed":true,"fieldErrors":{"options":["redirectTo: Expected string, received boolean"]},"formErrors":[]}`,
				`{"options":{"b":{},"a":[]}}`:           `{"failed":true,"fieldErrors":{"options":["a: Expected string, received array","b: Expected string, received object"]},"formErrors":[]}`,
				`{"authorizationParams":3}`:             `{"failed":true,"fieldErrors":{"authorizationParams":["Expected string or object, received number"]},"formErrors":[]}`,
				`{"authorizationParams":{"prompt":1}}`:  `{"failed":true,"fieldErrors":{"authorizationParams":["prompt: Expected string, received number"]},"formErrors":[]}`,
				`{"providerId":{},"redirectTo":0}`:      `{"failed":true,"fieldErrors":{"providerId":["Expected string, received object"],"redirectTo":["Expected string, received number"]},"formErrors":[]}`,
				`[]`:                                    `{"failed":true,"fieldErrors":{},"formErrors":["Expected object, received array"]}`,
				`null`:                                  `{"failed":true,"fieldErrors":{},"formErrors":["Expected object, received null"]}`,
				`{`:                                     `{"failed":true,"fieldErrors":{},"formErrors":["Expected JSON"]}`,
				`{} {}`:                                 `{"failed":true,"fieldErrors":{},"formErrors":["Expected JSON"]}`,
				``:                                      `{"failed":true,"fieldErrors":{},"formErrors":["Expected JSON"]}`,
				`"` + strings.Repeat("x", 70_000) + `"`: `{"failed":true,"fieldErrors":{},"formErrors":["The form is too large"]}`,
			} {
				res := w.postJSON(w.prefix+"/login", body)
				res.wantFailed(want)
				assert.Emptyf(w, res.Cookies(), "%.40s: cookies were set", body)
			}
			w.post(w.prefix+"/login", "options", "x").wantFailed(`{"failed":true,"fieldErrors":{"options":["Expected object, received string"]},"formErrors":[]}`)
			w.post(w.prefix+"/login", "authorizationParams", "a=%zz").wantFailed(`{"failed":true,"fieldErrors":{"authorizationParams":["Expected a query string"]},"formErrors":[]}`)
			w.post(w.prefix+"/login", "providerId", strings.Repeat("x", 70_000)).wantFailed(`{"failed":true,"fieldErrors":{},"formErrors":["The form is too large"]}`)
		}},
		"RS-10": {proof: func(w *world) {
			resumableSite(w)
			for _, res := range []*reply{
				w.post(w.prefix+"/login", "providerId", "github", "authorizationParams", "?prompt=consent"),
				w.post(w.prefix+"/login", "providerId", "github", "authorizationParams.prompt", "consent"),
				w.postJSON(w.prefix+"/login", `{"providerId":"github","authorizationParams":{"prompt":"consent"}}`),
				w.postJSON(w.prefix+"/login", `{"providerId":"github","authorizationParams":"prompt=consent","options":{"n":1,"b":true,"other":"x"}}`),
			} {
				to := must(url.Parse(res.wantStatus(http.StatusSeeOther).Header.Get("Location")))(w)
				assert.Truef(w, to.Query().Get("prompt") == "consent" && !to.Query().Has("other"), "sent to %s", to)
			}
			if w.database {
				w.post(w.prefix+"/login", "providerId", "email", "options.email", "eve@example.com").wantStatus(http.StatusSeeOther)
			}
		}},
		"RS-11": {proof: func(w *world) {
			_, base := resumableSite(w)
			w.signedIn().post(w.prefix+"/logout", "redirectTo", "/bye").wantRedirect("/bye")
			w.wantSession(base, false)
			w.signedIn().postJSON(w.prefix+"/logout", `{"redirectTo":"/bye"}`).wantRedirect("/bye")
			w.wantSession(base, false)
			w.signedIn().submit(w.prefix+"/logout", []string{"Sec-Fetch-Site", "same-origin", "Referer", w.origin + "/from"}).wantRedirect("/from")
			w.wantSession(base, false)
		}},
		"RS-12": {proof: func(w *world) {
			_, base := resumableSite(w)
			w.signedIn().postJSON(w.prefix+"/logout", `{"redirectTo":1,"providerId":2}`).wantFailed(`{"failed":true,"fieldErrors":{"redirectTo":["Expected string, received number"]},"formErrors":[]}`)
			w.postJSON(w.prefix+"/logout", `7`).wantFailed(`{"failed":true,"fieldErrors":{},"formErrors":["Expected object, received number"]}`)
			w.wantSession(base, true)
			for _, result := range []any{frameworks.SignInResult{}, frameworks.SignOutResult{}} {
				got := must(json.Marshal(result))(w)
				assert.Equalf(w, "{}", string(got), "%T without a failure: got %s", result, got)
			}
		}},
		"RS-13": {proof: func(w *world) {
			q, _ := resumableSite(w)
			if !w.database {
				return
			}
			w.failing().get(w.prefix + "/page").wantStatus(http.StatusServiceUnavailable)
			q.OnError = func(rw http.ResponseWriter, _ *http.Request, _ error) { rw.WriteHeader(http.StatusTeapot) }
			w.get(w.prefix + "/page").wantStatus(http.StatusTeapot)
		}},
		"RS-14": {proof: func(w *world) {
			_, base := resumableSite(w)
			w.signedIn()
			for _, header := range crossSite(w) {
				w.submit(w.prefix+"/login", header, "providerId", "github").wantStatus(http.StatusForbidden)
				w.submit(w.prefix+"/logout", header).wantStatus(http.StatusForbidden)
			}
			w.wantSession(base, true)
			w.submit(w.prefix+"/logout", nil, "csrfToken", w.csrf(base)).wantStatus(http.StatusSeeOther)
			w.wantSession(base, false)
		}},
		"RS-15": {proof: func(w *world) {
			resumableSite(w)
			res := w.signedIn().get(w.prefix + "/page")
			assert.False(w, w.database && res.cookie(w.cookieName()) == nil, "the cookie was not renewed")
		}},
	}
}
