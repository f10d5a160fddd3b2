// Resumable is a complete program with the integration ResumableAuth.
package main

import (
	"encoding/json"
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
	q, err := frameworks.ResumableAuth(frameworks.ResumableConfig{Config: config})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		session, err := q.UseSession(r.Context())
		if err != nil {
			auth.Unavailable(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(session)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		result, err := q.UseSignIn(w, r)
		switch {
		case err != nil:
			q.Fail(w, r, err)
		case result.Failed: // show the form again, with the errors
			w.WriteHeader(http.StatusUnprocessableEntity)
			_ = json.NewEncoder(w).Encode(result)
		}
	})
	return q.OnRequest(mux), nil
}
