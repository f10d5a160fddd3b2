// Reactive is a complete program with the integration ReactiveAuth.
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
	re, err := frameworks.ReactiveAuth(frameworks.ReactiveConfig{Config: config})
	if err != nil {
		return nil, err
	}
	guard, err := re.Guard("/private")
	if err != nil {
		return nil, err
	}
	pages := guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := re.Session(r)
		switch {
		case err != nil:
			auth.Unavailable(w, r)
		case session == nil:
			_, _ = fmt.Fprint(w, `<a href="/api/auth/signin">Sign in</a>`)
		default:
			_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !re.GET(w, r) && !re.POST(w, r) {
			pages.ServeHTTP(w, r)
		}
	}), nil
}
