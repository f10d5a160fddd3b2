// Quickstart is the smallest program that signs people in: it signs in with
// GitHub, and greets the user.
package main

import (
	"fmt"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

func main() {
	handler, err := auth.New(auth.Config{ // reads AUTH_SECRET, AUTH_GITHUB_ID and AUTH_GITHUB_SECRET
		Providers: []auth.Provider{providers.GitHub()},
	})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/auth/", handler)
	http.Handle("/", handler.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil { // Require has checked the session
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})))
	fmt.Println("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", nil))
}
