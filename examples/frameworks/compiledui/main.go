// Compiledui is a complete program with the integration CompiledUIAuth.
package main

import (
	"html/template"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

var page = template.Must(template.New("").Funcs(frameworks.Functions()).Parse(
	`{{with .}}Hello, {{.User.Name}}! {{SignOut}}{{else}}{{SignIn "provider" "github" "redirectTo" "/private"}}{{end}}`))

func main() {
	site, err := newSite(auth.Config{Providers: []auth.Provider{providers.GitHub()}}) // AUTH_SECRET, AUTH_GITHUB_ID, AUTH_GITHUB_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", site))
}

func newSite(config auth.Config) (http.Handler, error) {
	c, err := frameworks.CompiledUIAuth(frameworks.CompiledUIConfig{Config: config})
	if err != nil {
		return nil, err
	}
	protect, err := c.Protect("/private")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		session, err := c.Session(r.Context())
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = page.Execute(w, session)
	})
	mux.HandleFunc("POST /signin", c.SignIn)
	mux.HandleFunc("POST /signout", c.SignOut)
	return frameworks.Sequence(c.Handle, protect)(mux), nil
}
