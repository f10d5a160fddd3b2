// Fullstack is a complete program with the integration FullstackAuth.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

func main() {
	site, err := newSite(auth.Config{Providers: []auth.Provider{providers.GitHub()}}) // AUTH_SECRET, AUTH_GITHUB_ID, AUTH_GITHUB_SECRET
	if err != nil {
		log.Fatal(err)
	}
	log.Print("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", site))
}

func newSite(config auth.Config) (http.Handler, error) {
	f, err := frameworks.FullstackAuth(frameworks.FullstackConfig{
		Config: config,
		Authorized: func(r *http.Request, session *auth.Session) frameworks.Answer {
			if r.URL.Path == "/private" && session == nil {
				return frameworks.AskToSignIn()
			}
			return frameworks.GoOn()
		},
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", f.GET)
	mux.HandleFunc("POST /api/auth/", f.POST)
	mux.Handle("GET /", f.Wrap(func(w http.ResponseWriter, r *http.Request, session *auth.Session) {
		if session == nil {
			_, _ = fmt.Fprint(w, `<form method="post" action="/login"><button>Sign in with GitHub</button></form>`)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	}))
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if _, err := f.SignIn(w, r, "github", frameworks.SignInOptions{RedirectTo: "/private"}); err != nil {
			f.Fail(w, r, err)
		}
	})
	return mux, nil
}
