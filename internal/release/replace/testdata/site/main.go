// Site is a site on chi whose users are in PostgreSQL.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"

	"github.com/go-chi/chi/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	store, err := postgres.New(pool)
	if err != nil {
		log.Fatal(err)
	}
	m, err := frameworks.MiddlewareAuth(auth.Config{Adapter: store, Providers: []auth.Provider{providers.GitHub()}})
	if err != nil {
		log.Fatal(err)
	}
	r := chi.NewRouter()
	r.Mount("/auth", m)
	r.With(m.Require).Get("/", func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil { // Require has checked the session
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})
	fmt.Println("open http://localhost:3000")
	log.Fatal(http.ListenAndServe("localhost:3000", r))
}
