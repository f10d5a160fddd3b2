// Plain is a page of HTML and a script without any framework. It signs in and
// out with the browser module of Gatehouse, under a strict content security
// policy.
package main

import (
	"context"
	"embed"
	"encoding/json"
	"html/template"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/client"
)

//go:embed static
var static embed.FS

var page = template.Must(template.ParseFS(static, "static/index.html"))

func main() {
	handler, err := site(auth.Config{}) // AUTH_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", handler))
}

func site(config auth.Config) (http.Handler, error) {
	config.Providers = []auth.Provider{&auth.Credentials{
		Fields:    []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
		Authorize: authorize,
	}}
	config.Callbacks.JWT = nickname
	handler, err := auth.New(config)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", handler)
	mux.Handle("GET "+client.Prefix, client.Handler())
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		_ = page.Execute(w, client.Path())
	})
	return mux, nil
}

// authorize knows one user. The code of its error tells a user that the account
// is locked.
func authorize(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
	switch {
	case form.Get("username") == "eve":
		return nil, &auth.Error{Type: auth.ErrCredentialsSignin, Code: "locked"}
	case form.Get("username") != "ada" || form.Get("password") != "lovelace":
		return nil, nil
	}
	return &auth.User{ID: "1", Name: "Ada", Email: "ada@example.com"}, nil
}

// nickname lets users change their names in the session.
func nickname(_ context.Context, p auth.JWTParams) (auth.Claims, error) {
	if p.Trigger == auth.TriggerUpdate {
		var change struct{ Name string }
		if err := json.Unmarshal(p.Session, &change); err == nil && len(change.Name) < 100 {
			p.Token["name"] = change.Name
		}
	}
	return p.Token, nil
}
