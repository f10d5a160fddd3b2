// Htmx is a site with templates of templ and with htmx: a page with a greeting,
// a part of it that needs a sign-in, and form actions that sign in and out.
package main

import (
	"context"
	_ "embed"
	"html/template"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

//go:generate go run github.com/a-h/templ/cmd/templ@v0.3.977 generate

//go:embed htmx.min.js
var script []byte

const fields template.HTML = `<input name="username"> <input name="password" type="password"> `

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
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		session, err := ui.Session(r.Context())
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = home(session).Render(r.Context(), w)
	})
	mux.HandleFunc("GET /private", func(w http.ResponseWriter, r *http.Request) {
		session, err := ui.Session(r.Context())
		if err != nil || session == nil { // protect has checked the session
			auth.Unavailable(w, r)
			return
		}
		_ = secret(session).Render(r.Context(), w)
	})
	mux.HandleFunc("POST /signin", ui.SignIn)
	mux.HandleFunc("POST /signout", ui.SignOut)
	mux.HandleFunc("GET /htmx.min.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(script)
	})
	return frameworks.Sequence(ui.Handle, protect)(mux), nil
}

func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}
