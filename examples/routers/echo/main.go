// Echo is a site on labstack/echo: a page with a greeting, a page that needs a
// sign-in, and form actions that sign in and out.
package main

import (
	"context"
	"html/template"
	"log"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

func main() {
	site, err := newSite(auth.Config{}) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", site))
}

func newSite(config auth.Config) (http.Handler, error) {
	config.Providers = []auth.Provider{&auth.Credentials{Authorize: authorize}}
	ui, err := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: config})
	if err != nil {
		return nil, err
	}
	protect, err := ui.Protect("/private")
	if err != nil {
		return nil, err
	}
	e := echo.New()
	e.Use(echo.WrapMiddleware(ui.Handle), echo.WrapMiddleware(protect))
	e.GET("/", func(c echo.Context) error {
		session, err := ui.Session(c.Request().Context())
		if err != nil {
			return echo.ErrServiceUnavailable
		}
		return page.Execute(c.Response(), session)
	})
	e.GET("/private", func(c echo.Context) error {
		session, err := ui.Session(c.Request().Context())
		if err != nil || session == nil { // protect has checked the session
			return echo.ErrUnauthorized
		}
		return c.String(http.StatusOK, "For "+session.User.Name+" only.")
	})
	e.POST("/signin", echo.WrapHandler(http.HandlerFunc(ui.SignIn)))
	e.POST("/signout", echo.WrapHandler(http.HandlerFunc(ui.SignOut)))
	return e, nil
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
