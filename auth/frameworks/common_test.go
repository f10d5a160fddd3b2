package frameworks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// constructors are the constructors of the five integrations.
var constructors = map[string]func(auth.Config) (any, error){
	"MiddlewareAuth": func(c auth.Config) (any, error) { return frameworks.MiddlewareAuth(c) },
	"FullstackAuth": func(c auth.Config) (any, error) {
		return frameworks.FullstackAuth(frameworks.FullstackConfig{Config: c})
	},
	"ResumableAuth": func(c auth.Config) (any, error) {
		return frameworks.ResumableAuth(frameworks.ResumableConfig{Config: c})
	},
	"ReactiveAuth": func(c auth.Config) (any, error) {
		return frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: c})
	},
	"CompiledUIAuth": func(c auth.Config) (any, error) {
		return frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: c})
	},
}

// can says what a ResponseWriter can do besides writing.
func can(w http.ResponseWriter) string {
	_, flush := w.(http.Flusher)
	_, hijack := w.(http.Hijacker)
	_, push := w.(http.Pusher)
	return fmt.Sprintf("flush %v, hijack %v, push %v", flush, hijack, push)
}

func commonPromises() map[string]promise {
	return map[string]promise{
		"AL-01": {alone: func(t *testing.T) {
			for name, construct := range constructors {
				if _, err := construct(auth.Config{}); err == nil || !strings.Contains(err.Error(), "Providers") || !strings.Contains(err.Error(), "AUTH_SECRET") {
					t.Errorf("%s: empty configuration: got %v", name, err)
				}
				_, err := construct(auth.Config{Providers: []auth.Provider{nil, &auth.Credentials{}}})
				assert.Truef(t, errors.Is(err, auth.ErrMissingSecret) && errors.Is(err, auth.ErrInvalidProvider) && errors.Is(err, auth.ErrMissingAuthorize),
					"%s: want all problems at once, got %v", name, err)
			}
			lazy := frameworks.Lazy(nil, nil)
			_, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Lazy: lazy})
			assert.Error(t, err, "Lazy without functions is no error")
			lazy = frameworks.Lazy(func(*http.Request) string { return "" }, func(*http.Request) (auth.Config, error) { return auth.Config{}, nil })
			config := auth.Config{Secret: []string{secret}}
			_, full := frameworks.FullstackAuth(frameworks.FullstackConfig{Lazy: lazy, Config: config})
			_, resumable := frameworks.ResumableAuth(frameworks.ResumableConfig{Lazy: lazy, Config: config})
			_, compiled := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Lazy: lazy, Config: config})
			for _, err := range []error{full, resumable, compiled} {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), "twice"), "both configurations: got %v", err)
			}
		}},
		"AL-02": {proof: func(w *world) {
			if !w.database {
				return // no store is read
			}
			readsTwice := func(read func(r *http.Request) (*auth.Session, error)) http.Handler {
				return page(func(r *http.Request) (*auth.Session, error) {
					if s, err := read(r); s == nil || err != nil {
						return s, err
					}
					return read(r)
				})
			}
			c := must(frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: w.config}))(w)
			protect := must(c.Protect("/layers"))(w)
			re := must(frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: w.config}))(w)
			guard := must(re.Guard("/layers"))(w)
			q := must(frameworks.ResumableAuth(frameworks.ResumableConfig{Config: w.config}))(w)
			f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Config: w.config}))(w)
			mw := w.config
			mw.BasePath = "/auth"
			m := must(frameworks.MiddlewareAuth(mw))(w)
			for name, layers := range map[string]http.Handler{
				"MiddlewareAuth": m.Load(m.Require(m.Load(readsTwice(inContext)))),
				"FullstackAuth":  f.Middleware(f.Middleware(readsTwice(func(r *http.Request) (*auth.Session, error) { return f.Session(r.Context()) }))),
				"ResumableAuth":  q.OnRequest(q.OnRequest(readsTwice(func(r *http.Request) (*auth.Session, error) { return q.UseSession(r.Context()) }))),
				"ReactiveAuth":   re.Load(guard(readsTwice(re.Session))),
				"CompiledUIAuth": frameworks.Sequence(c.Handle, protect)(readsTwice(func(r *http.Request) (*auth.Session, error) { return c.Session(r.Context()) })),
			} {
				w.mux.Handle("/layers/"+name, layers)
				w.signedIn()
				w.store.reads.Store(0)
				w.get("/layers/" + name).wantBody("user u")
				assert.EqualValuesf(w, 1, w.store.reads.Load(), "%s: readings of the store", name)
			}
		}},
		"AL-03": {proof: func(w *world) {
			c, base := compiledUISite(w)
			re, _ := reactiveSite(w.again())
			for name, guard := range map[string]func(...string) (func(http.Handler) http.Handler, error){"Protect": c.Protect, "Guard": re.Guard} {
				hook := must(guard("/admin", w.prefix+"/auth", w.prefix+"/api/auth"))(w)
				h := hook(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { w.Errorf("%s: the next handler runs", name) }))
				for target, want := range map[string]int{
					"/admin#x": http.StatusBadRequest, "/admin/#/..": http.StatusBadRequest, `/x\..\admin`: http.StatusBadRequest,
					"/administrator#": http.StatusBadRequest, "/admin": http.StatusSeeOther, "/ADMIN/x": http.StatusSeeOther,
					base + "/unknown": http.StatusSeeOther, base + "/signin/a/b": http.StatusSeeOther,
				} {
					r := localRequest(http.MethodGet, w.origin+"/x")
					r.RequestURI = target
					r.URL.Path, _, _ = strings.Cut(target, "#")
					rec := httptest.NewRecorder()
					h.ServeHTTP(rec, r)
					assert.Equalf(w, want, rec.Code, "%s: %s: status", name, target)
				}
			}
			// What the core itself answers is exempt.
			all := must(c.Protect("/"))(w)(http.NotFoundHandler())
			for _, target := range []string{"/signin", "/csrf", "/providers", "/session"} {
				r := localRequest(http.MethodGet, w.origin+base+target)
				rec := httptest.NewRecorder()
				all.ServeHTTP(rec, r)
				assert.Equalf(w, http.StatusOK, rec.Code, "%s: a route is kept from visitors: status", target)
			}
			for _, path := range []string{
				"/admin", "/admin/", "//admin", "/./admin", "/x/../admin", "/%61dmin", "/ADMIN", "/admin%2Fusers", "/x%2F..%2Fadmin", "/admin/..%2Fx",
				"/x/..//admin", "/admin//", "/admin?", "/admin%2f", "/%2Fadmin", "/%41dmin", "/admin#x", "/admin#", "/x#/../admin", `/x\\..\\admin`, "/admin%23x", "/admin%3Fx", "/admin;x", `/admin%5Cx`,
			} {
				assert.NotEqualf(w, http.StatusOK, w.raw(w.prefix+path), "%s gets by the guard", path)
			}
			for _, path := range []string{"/administrator", "/adm", "/x/admin", "/admin-x", "/%2561dmin"} {
				assert.Equalf(w, http.StatusOK, w.raw(w.prefix+path), "%s: status", path)
			}
		}},
		"AL-04": {proof: func(w *world) {
			var compiled atomic.Int64
			lazy := frameworks.Lazy(
				func(r *http.Request) string { return r.Header.Get("Tenant") },
				func(r *http.Request) (auth.Config, error) {
					compiled.Add(1)
					tenant := r.Header.Get("Tenant")
					if tenant == "" {
						return auth.Config{}, errors.New("there is no such tenant")
					}
					c := w.config
					c.BasePath = "/" + tenant
					return c, nil
				})
			q := must(frameworks.ResumableAuth(frameworks.ResumableConfig{Lazy: lazy}))(w)
			w.mux.Handle("/", q.OnRequest(page(func(r *http.Request) (*auth.Session, error) { return q.UseSession(r.Context()) })))
			var all sync.WaitGroup
			for range 8 {
				for _, tenant := range []string{"a", "b"} {
					all.Go(func() {
						r, err := http.NewRequest(http.MethodGet, w.origin+"/"+tenant+"/providers", nil)
						if !assert.NoError(w, err) {
							return
						}
						r.Header.Set("Tenant", tenant)
						res, err := w.client.Do(r)
						if !assert.NoError(w, err) {
							return
						}
						defer res.Body.Close()
						body, _ := io.ReadAll(res.Body)
						assert.Containsf(w, string(body), "/"+tenant+"/callback/github", "tenant %s: got %s", tenant, body)
					})
				}
			}
			all.Wait()
			assert.EqualValues(w, 2, compiled.Load(), "the number of configurations that were made")
			w.get("/a/providers", "Tenant", "b").wantBody("nobody") // a route of another tenant is not a route of this one
			w.get("/x").wantStatus(http.StatusServiceUnavailable)
			w.get("/x").wantStatus(http.StatusServiceUnavailable)
			assert.EqualValues(w, 4, compiled.Load(), "a configuration that failed was kept: the number that were made")
		}},
		"AL-05": {alone: func(t *testing.T) {
			made := map[string]int{}
			lazy := frameworks.Lazy(func(r *http.Request) string { return r.Host }, func(r *http.Request) (auth.Config, error) {
				made[r.Host]++
				return auth.Config{Secret: []string{secret}, Logger: (&logBook{}).logger(), TrustHost: new(true)}, nil
			})
			f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Lazy: lazy}))(t)
			ask := func(host string) {
				r := localRequest(http.MethodGet, "http://"+host+"/")
				_, err := f.Refresh(httptest.NewRecorder(), r)
				require.NoError(t, err)
			}
			for i := range 1001 {
				ask(fmt.Sprintf("t%d.example", i))
				ask("t1.example") // in use, so it stays
			}
			ask("t1.example")
			assert.Equalf(t, 1, made["t1.example"], "one that is in use was made %d times", made["t1.example"])
			ask("t0.example")
			assert.Equalf(t, 2, made["t0.example"], "the oldest of 1,001 was made %d times, want 2", made["t0.example"])
		}},
		"AL-06": {proof: func(w *world) {
			m, _ := middlewareSite(w)
			f, _ := fullstackSite(w.beside())
			q, _ := resumableSite(w.beside())
			re, _ := reactiveSite(w.beside())
			c, _ := compiledUISite(w.beside())
			for name, hook := range map[string]func(http.Handler) http.Handler{
				"Load": m.Load, "Require": m.Require, "Middleware": f.Middleware, "OnRequest": q.OnRequest, "ReactiveAuth.Load": re.Load, "Handle": c.Handle,
				"Guard": must(re.Guard("/inner"))(w), "Protect": must(c.Protect("/inner"))(w),
				"Wrap": func(next http.Handler) http.Handler {
					return f.Wrap(func(rw http.ResponseWriter, r *http.Request, _ *auth.Session) { next.ServeHTTP(rw, r) })
				},
			} {
				w.signedIn()
				w.mux.HandleFunc("/inner/"+name, func(rw http.ResponseWriter, r *http.Request) {
					hook(http.HandlerFunc(func(inner http.ResponseWriter, r *http.Request) {
						assert.Equalf(w, can(rw), can(inner),
							"%s: the ResponseWriter can do %s, that of the server %s", name, can(inner), can(rw))
						inner.Header().Set("Cache-Control", "public, s-maxage=60")
						s, err := auth.FromContext(r.Context())
						assert.Truef(w, s != nil && err == nil, "%s: the session is %v, %v", name, s, err)
						_, _ = fmt.Fprint(inner, "reached")
						assert.NoError(w, http.NewResponseController(inner).Flush(), name)
					})).ServeHTTP(rw, r)
				})
				got := w.get("/inner/" + name).wantBody("reached").Header
				assert.Truef(w, got.Get("Cache-Control") == "private" && slices.Contains(got["Vary"], "Cookie"),
					"%s: a shared cache may store what one person gets: %v", name, got)
			}
		}},
		"AL-07": {proof: func(w *world) {
			w.config.Callbacks.Session = func(_ context.Context, p auth.SessionParams) (*auth.Session, error) {
				p.Session.User = nil
				return p.Session, nil
			}
			own := w.again()
			own.signedIn()
			f, _ := fullstackSite(own)
			re, _ := reactiveSite(own.beside())
			q, _ := resumableSite(own.beside())
			for name, read := range map[string]func(rw http.ResponseWriter, r *http.Request) (*auth.Session, error){
				"Refresh": f.Refresh,
				"UnstableUpdate": func(rw http.ResponseWriter, r *http.Request) (*auth.Session, error) {
					return f.UnstableUpdate(rw, r, 1)
				},
				"ReactiveAuth": func(_ http.ResponseWriter, r *http.Request) (*auth.Session, error) { return re.Session(r) },
				"GetSession": func(_ http.ResponseWriter, r *http.Request) (*auth.Session, error) {
					return frameworks.GetSession(r, own.config)
				},
				"ResumableAuth": func(_ http.ResponseWriter, r *http.Request) (*auth.Session, error) {
					data, err := q.GetSession(r)
					return data.Data, err
				},
			} {
				r := localRequest(http.MethodPost, own.origin+"/")
				r.Header.Set("Sec-Fetch-Site", "same-origin")
				u := must(url.Parse(own.origin))(w)
				for _, c := range own.client.Jar.Cookies(u) {
					r.AddCookie(c)
				}
				s, err := read(httptest.NewRecorder(), r)
				assert.Truef(w, s == nil && err == nil, "%s: got %+v, %v, want no session", name, s, err)
			}
			for name, site := range map[string]func(w *world) (open, guarded []string){
				"MiddlewareAuth": func(w *world) (_, _ []string) {
					middlewareSite(w)
					return []string{"/page"}, []string{"/private"}
				},
				"FullstackAuth": func(w *world) (_, _ []string) {
					fullstackSite(w, func(c *frameworks.FullstackConfig) {
						c.Authorized = func(r *http.Request, s *auth.Session) frameworks.Answer {
							if r.URL.Query().Has("guarded") && (s == nil || s.User == nil) {
								return frameworks.AskToSignIn()
							}
							return frameworks.GoOn()
						}
					})
					return []string{"/page", "/wrapped", "/refresh"}, []string{"/page?guarded", "/wrapped?guarded"}
				},
				"ResumableAuth": func(w *world) (_, _ []string) {
					resumableSite(w)
					return []string{"/page"}, nil
				},
				"ReactiveAuth": func(w *world) (_, _ []string) {
					reactiveSite(w)
					return []string{"/page", "/read"}, []string{"/admin", "/account/settings"}
				},
				"CompiledUIAuth": func(w *world) (_, _ []string) {
					compiledUISite(w)
					return []string{"/x"}, []string{"/admin", "/own"}
				},
			} {
				w := w.again()
				open, guarded := site(w)
				w.signedIn()
				for _, path := range open {
					assert.Equalf(w, "nobody", w.get(w.prefix+path).wantStatus(http.StatusOK).body, "%s: %s", name, path)
				}
				for _, path := range guarded {
					res := w.get(w.prefix + path)
					assert.Equalf(w, http.StatusSeeOther, res.StatusCode, "%s: %s: status, body %s", name, path, res.body)
				}
			}
		}},
		"AL-08": {alone: func(t *testing.T) {
			for name, construct := range constructors {
				t.Setenv("NEXTAUTH_SECRET", secret)
				t.Setenv("NEXTAUTH_URL", "https://n.example/login")
				_, err := construct(auth.Config{Providers: []auth.Provider{gitHub()}})
				assert.NoErrorf(t, err, "%s: NEXTAUTH_SECRET is not read", name)
			}
			config := auth.Config{Providers: []auth.Provider{gitHub()}}
			m := must(frameworks.MiddlewareAuth(config))(t)
			f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Config: config}))(t)
			q := must(frameworks.ResumableAuth(frameworks.ResumableConfig{Config: config}))(t)
			re := must(frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: config}))(t)
			c := must(frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: config}))(t)
			for base, h := range map[string]http.Handler{
				"MiddlewareAuth /login":  m,
				"FullstackAuth /login":   http.HandlerFunc(f.GET),
				"ResumableAuth /auth":    q.OnRequest(http.NotFoundHandler()),
				"ReactiveAuth /api/auth": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { re.GET(w, r) }),
				"CompiledUIAuth /auth":   c.Handle(http.NotFoundHandler()),
			} {
				name, base, _ := strings.Cut(base, " ")
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, localRequest(http.MethodGet, base+"/providers"))
				assert.Containsf(t, rec.Body.String(), `"https://n.example`+base+`/callback/github"`,
					"%s: NEXTAUTH_URL is not read", name)
			}
		}},
		"AL-10": {proof: func(w *world) {
			const elsewhere = "https://other.example/join?a=b"
			w.config.Callbacks.SignIn = func(context.Context, auth.SignInParams) (auth.SignInDecision, error) {
				return auth.DenyTo(elsewhere), nil
			}
			fields := []string{"providerId", "pass", "password", "lovelace", "options.password", "lovelace"}
			refused := "pass"
			if w.database {
				fields, refused = []string{"providerId", "email", "email", "ada@example.com", "options.email", "ada@example.com"}, ""
			}
			for name, site := range map[string]func(w *world) (path, base string){
				"MiddlewareAuth": func(w *world) (string, string) {
					_, base := middlewareSite(w)
					if w.database {
						return base + "/signin/email", base
					}
					return base + "/callback/pass", base
				},
				"FullstackAuth": func(w *world) (string, string) {
					_, base := fullstackSite(w)
					return w.prefix + "/login", base
				},
				"ResumableAuth": func(w *world) (string, string) {
					_, base := resumableSite(w)
					return w.prefix + "/login", base
				},
				"ReactiveAuth": func(w *world) (string, string) {
					_, base := reactiveSite(w)
					if w.database {
						return base + "/signin/email", base
					}
					return base + "/callback/pass", base
				},
				"CompiledUIAuth": func(w *world) (string, string) {
					_, base := compiledUISite(w)
					return w.prefix + "/signin", base
				},
			} {
				w := w.beside()
				w.config.Providers = append(slices.Clone(w.config.Providers), &auth.Credentials{
					ID: "nobody", UsesAdapterIDs: true, Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { return nil, nil },
				})
				path, base := site(w)
				assert.Equalf(w, elsewhere, w.post(path, fields...).Header.Get("Location"), "%s: sent to", name)
				w.wantSession(base, false)
				if refused == "" {
					continue
				}
				res := w.post(strings.Replace(path, "/pass", "/nobody", 1), "providerId", "nobody")
				got := res.Header.Get("Location") + " " + res.body
				assert.Regexpf(w, "code=credentials|CredentialsSignin credentials", got, "%s: Authorize returns nil", name)
			}
		}},
		"AL-09": {proof: func(w *world) {
			want := []string{"https://one.example", "https://two.example"}
			for name, send := range map[string]func(w *world) *reply{
				"FullstackAuth": func(w *world) *reply {
					fullstackSite(w)
					return w.post(w.prefix+"/login", "providerId", "github", "authorizationParams-resource", want[0], "authorizationParams-resource", want[1])
				},
				"CompiledUIAuth": func(w *world) *reply {
					compiledUISite(w)
					return w.post(w.prefix+"/signin", "providerId", "github", "authorizationParams-resource", want[0], "authorizationParams-resource", want[1])
				},
				"ResumableAuth": func(w *world) *reply {
					resumableSite(w)
					return w.post(w.prefix+"/login", "providerId", "github", "authorizationParams.resource", want[0], "authorizationParams.resource", want[1])
				},
				"ResumableAuth, text": func(w *world) *reply {
					resumableSite(w)
					return w.postJSON(w.prefix+"/login", `{"providerId":"github","authorizationParams":"resource=`+escaped(want[0])+`&resource=`+escaped(want[1])+`"}`)
				},
				"MiddlewareAuth": func(w *world) *reply {
					_, base := middlewareSite(w)
					return w.post(base + "/signin/github?resource=" + escaped(want[0]) + "&resource=" + escaped(want[1]))
				},
				"ReactiveAuth": func(w *world) *reply {
					_, base := reactiveSite(w)
					return w.post(base + "/signin/github?resource=" + escaped(want[0]) + "&resource=" + escaped(want[1]))
				},
			} {
				res := send(w.again())
				to := must(url.Parse(res.Header.Get("Location")))(w)
				got := to.Query()["resource"]
				assert.Truef(w, to.Host == "github.example" && slices.Equal(got, want), "%s: sent to %s", name, to)
			}
		}},
	}
}
