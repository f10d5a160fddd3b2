// Api is an API in Go behind a front end in Next.js, or another front end with
// Auth.js. Both have one secret, one cookie and one PostgreSQL. A user who
// signs in at one of them is signed in at the other.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

func main() {
	pool, err := pgxpool.New(context.Background(), os.Getenv("DATABASE_URL"))
	if err != nil {
		log.Fatal(err)
	}
	// AUTH_SECRET is the secret of the front end. AUTH_URL is the URL of the
	// site, which is the same for both.
	api, err := newAPI(context.Background(), pool, auth.Config{Providers: []auth.Provider{
		&auth.Email{Server: os.Getenv("EMAIL_SERVER"), From: os.Getenv("EMAIL_FROM")},
	}})
	if err != nil {
		log.Fatal(err)
	}
	log.Print("the API listens on http://localhost:8080, behind the proxy of the site")
	log.Fatal(http.ListenAndServe(":8080", api))
}

func newAPI(ctx context.Context, pool *pgxpool.Pool, config auth.Config) (http.Handler, error) {
	store, err := postgres.New(pool)
	if err != nil {
		return nil, err
	}
	if err := store.EnsureSchema(ctx); err != nil { // completes the tables that @auth/pg-adapter made
		return nil, err
	}
	config.Adapter = store
	m, err := frameworks.MiddlewareAuth(config)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", m) // the front end has /api/auth
	mux.Handle("GET /api/me", m.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil { // Require has checked the session
			http.Error(w, "Sign in first.", http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(session)
	})))
	return mux, nil
}
