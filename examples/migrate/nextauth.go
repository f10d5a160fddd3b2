package migrate

import (
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// fromNextAuth replaces pages/api/auth/[...nextauth] and
// app/api/auth/[...nextauth] with the same routes, cookies, secret (AUTH_SECRET
// or NEXTAUTH_SECRET) and tables. Users who are signed in stay signed in.
func fromNextAuth(store adapter.Adapter) (http.Handler, error) {
	f, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Config: auth.Config{
		Adapter:   store, // such as adapters/postgres, on the database of @auth/pg-adapter
		Providers: []auth.Provider{providers.GitHub()},
	}})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", f.GET)
	mux.HandleFunc("POST /api/auth/", f.POST)
	return mux, nil
}
