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
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		session, err := handler.Refresh(w, r)
		if err != nil || session == nil {
			http.Redirect(w, r, "/auth/signin", http.StatusSeeOther)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})
	log.Fatal(http.ListenAndServe("localhost:3000", nil))
}
