// Quickstart is the smallest program that signs people in: a page for members,
// and a user name and password to reach it.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

func main() {
	handler, err := auth.New(auth.Config{ // the secret is AUTH_SECRET
		Providers: []auth.Provider{&auth.Credentials{
			Fields: []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
			Authorize: func(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
				if form.Get("username") != "ada" || form.Get("password") != "lovelace" {
					return nil, nil // refused
				}
				return &auth.User{ID: "1", Name: new("Ada Lovelace")}, nil
			},
		}},
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
		_, _ = fmt.Fprintf(w, "Hello, %s!", *session.User.Name)
	})
	log.Fatal(http.ListenAndServe("localhost:3000", nil)) //nolint:gosec // an example
}
