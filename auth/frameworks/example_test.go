package frameworks_test

import (
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
)

// exampleConfig is the configuration of a site whose users sign in at one provider.
func exampleConfig() auth.Config {
	return auth.Config{
		Secret:    []string{"a random text of 32 characters .."}, // or AUTH_SECRET
		URL:       "https://app.example.com",
		Providers: []auth.Provider{&auth.OAuth{ID: "idp", Issuer: "https://idp.example.com", ClientID: "id", ClientSecret: "secret"}},
	}
}

// A site with public pages and pages for users.
func ExampleMiddlewareAuth() {
	m, err := frameworks.MiddlewareAuth(exampleConfig())
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", m)
	mux.Handle("/inbox", m.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.FromContext(r.Context())
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})))

	visitor := httptest.NewRecorder()
	mux.ServeHTTP(visitor, httptest.NewRequest(http.MethodGet, "https://app.example.com/inbox", nil))
	fmt.Println(visitor.Code, visitor.Header().Get("Location"))
	// Output: 303 https://app.example.com/auth/signin?callbackUrl=https%3A%2F%2Fapp.example.com%2Finbox
}

// A site that shows each page to everybody and greets its users.
func ExampleFullstackAuth() {
	f, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Config: exampleConfig()})
	if err != nil {
		log.Fatal(err)
	}
	page := f.Wrap(func(w http.ResponseWriter, _ *http.Request, session *auth.Session) {
		if session == nil {
			_, _ = fmt.Fprint(w, "Hello, visitor!")
			return
		}
		_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
	})

	visitor := httptest.NewRecorder()
	page.ServeHTTP(visitor, httptest.NewRequest(http.MethodGet, "https://app.example.com/", nil))
	fmt.Println(visitor.Body)
	// Output: Hello, visitor!
}
