// Middleware is a complete program with the integration MiddlewareAuth.
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
	m, err := frameworks.MiddlewareAuth(config)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", m)
	mux.Handle("/", m.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil { // Require has checked the session
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})))
	return mux, nil
}
