// Chi is a site on go-chi/chi: a page with a greeting, a page that needs a
// sign-in, and sign-in by name and password.
package main

import (
	"context"
	"errors"
	"html/template"
	"log"
	"net/http"

	"github.com/go-chi/chi/v5"

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
	m, err := frameworks.MiddlewareAuth(config)
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Mount("/auth", m)
	r.With(m.Load).Get("/", home)
	r.With(m.Require).Get("/private", private)
	return r, nil
}

// page greets the signed-in user. Its forms post to the routes.
var page = template.Must(template.New("").Parse(`<!doctype html>
{{with .}}<p>Hello, {{.User.Name}}!</p>
<form method="post" action="/auth/signout"><button>Sign out</button></form>
{{else}}<p>Hello, stranger.</p>
<form method="post" action="/auth/callback/credentials">
<input name="username"> <input name="password" type="password"> <button>Sign in</button></form>{{end}}`))

func home(w http.ResponseWriter, r *http.Request) {
	session, err := auth.FromContext(r.Context())
	if err != nil && !errors.Is(err, auth.ErrNoSession) {
		http.Error(w, "Try again.", http.StatusServiceUnavailable)
		return
	}
	_ = page.Execute(w, session)
}

func private(w http.ResponseWriter, r *http.Request) {
	session, err := auth.FromContext(r.Context())
	if err != nil || session.User == nil { // Require has checked the session
		http.Error(w, "Sign in first.", http.StatusUnauthorized)
		return
	}
	_, _ = w.Write([]byte("For " + session.User.Name + " only."))
}

func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}
