package guide

import (
	"encoding/json"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
)

// newAPI serves requests of people who have signed in at the front end.
func newAPI() (http.Handler, error) {
	sessions, err := auth.New(auth.Config{ // AUTH_SECRET is the secret of the front end
		URL: "https://app.example.com", // the cookie has the name that it has on https
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/me", func(w http.ResponseWriter, r *http.Request) {
		session, err := sessions.Session(r)
		if err != nil || session == nil {
			http.Error(w, "sign in first", http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"id": session.User.ID})
	})
	return mux, nil
}
