// Fiber is a site on gofiber/fiber, which is built on fasthttp: a page with a
// greeting, a page that needs a sign-in, and form actions that sign in and out.
package main

import (
	"context"
	"html/template"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

func main() {
	site, err := newSite(auth.Config{}) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(site.Listen("localhost:3000"))
}

func newSite(config auth.Config) (*fiber.App, error) {
	config.Providers = []auth.Provider{&auth.Credentials{Authorize: authorize}}
	ui, err := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: config})
	if err != nil {
		return nil, err
	}
	protect, err := ui.Protect("/private")
	if err != nil {
		return nil, err
	}
	app := fiber.New()
	app.Use(adapt(ui.Handle), adapt(protect))
	app.Get("/", func(c fiber.Ctx) error {
		session, err := ui.Session(c.Context())
		if err != nil {
			return fiber.ErrServiceUnavailable
		}
		c.Type("html")
		return page.Execute(c, session)
	})
	app.Get("/private", func(c fiber.Ctx) error {
		session, err := ui.Session(c.Context())
		if err != nil || session == nil { // protect has checked the session
			return fiber.ErrUnauthorized
		}
		return c.SendString("For " + session.User.Name + " only.")
	})
	app.Post("/signin", adapt(final(ui.SignIn)))
	app.Post("/signout", adapt(final(ui.SignOut)))
	return app, nil
}

// final makes a hook of a handler that answers every request.
func final(h http.HandlerFunc) func(http.Handler) http.Handler {
	return func(http.Handler) http.Handler { return h }
}

// adapt turns a hook into a handler of fiber. The session is then in
// c.Context().
func adapt(hook func(http.Handler) http.Handler) fiber.Handler {
	return func(c fiber.Ctx) error {
		if strings.ContainsAny(c.OriginalURL(), `#\`) { // fiber ends the path there, net/http does not
			return fiber.ErrBadRequest
		}
		path, err := url.PathUnescape(c.Path())
		if err != nil {
			return fiber.ErrBadRequest
		}
		raw := string(c.Request().Header.RawHeaders())
		passed := false
		h := hook(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			passed = true
			c.SetContext(r.Context())
		}))
		err = adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r = r.WithContext(c.Context())             // the context has the session that an earlier hook has loaded
			r.URL.Path, r.URL.RawPath = path, c.Path() // the path by which fiber chooses the route
			setCookies(r.Header, raw)
			h.ServeHTTP(w, r)
		})(c)
		if err != nil || !passed {
			return err
		}
		err = c.Next()
		keepPrivate(c)
		return err
	}
}

// keepPrivate keeps a response that was made with a session out of shared
// caches. Fiber does not write it through the ResponseWriter of a hook.
func keepPrivate(c fiber.Ctx) {
	header := http.Header{}
	for name, value := range c.Response().Header.All() {
		header.Add(string(name), string(value))
	}
	before := maps.Clone(header)
	auth.KeepPrivate(c.Context(), header)
	for name := range before {
		if header[name] == nil {
			c.Response().Header.Del(name)
		}
	}
	for name, values := range header {
		if !slices.Equal(values, before[name]) {
			c.Response().Header.Set(name, strings.Join(values, ", "))
		}
	}
}

// setCookies replaces the cookies by those of the raw header, without those that
// have no name. The adaptor turns the cookie "=__Host-a=b", which a sibling
// subdomain can set, into a cookie with the name __Host-a.
func setCookies(header http.Header, raw string) {
	header.Del("Cookie")
	var named []string
	for line := range strings.SplitSeq(raw, "\n") {
		name, value, _ := strings.Cut(line, ":")
		if !strings.EqualFold(name, "Cookie") {
			continue
		}
		for cookie := range strings.SplitSeq(value, ";") {
			if name, _, ok := strings.Cut(strings.TrimSpace(cookie), "="); ok && name != "" {
				named = append(named, strings.TrimSpace(cookie))
			}
		}
	}
	if named != nil {
		header.Set("Cookie", strings.Join(named, "; "))
	}
}

var page = template.Must(template.New("home").Funcs(frameworks.Functions()).Funcs(template.FuncMap{
	"fields": func() template.HTML { return `<input name="username"> <input name="password" type="password">` },
}).Parse(`<!doctype html>
{{with .}}<p>Hello, {{.User.Name}}!</p>{{SignOut "redirectTo" "/"}}{{else}}<p>Hello, stranger.</p>
{{SignIn "provider" "credentials" "redirectTo" "/" "credentials" fields}}{{end}}`))

func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}
