package auth_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/gatehouse-go/gatehouse/auth"
)

// A site with one page that greets the user who is signed in.
func Example() {
	handler, err := auth.New(auth.Config{
		Secret: []string{"a random text of 32 characters .."}, // or AUTH_SECRET
		Providers: []auth.Provider{&auth.Credentials{
			Fields: []auth.Field{{Name: "username"}, {Name: "password", Type: "password"}},
			Authorize: func(_ context.Context, form auth.Form, _ *http.Request) (*auth.User, error) {
				if form.Get("username") == "ada" && form.Get("password") == "lovelace" {
					return &auth.User{ID: "1", Name: "Ada Lovelace"}, nil
				}
				return nil, nil
			},
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/auth/", handler)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		session, err := handler.Session(r)
		switch {
		case err != nil:
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		case session == nil:
			http.Redirect(w, r, "/auth/signin", http.StatusSeeOther)
		default:
			_, _ = fmt.Fprintf(w, "Hello, %s!", session.User.Name)
		}
	})

	visitor := httptest.NewRecorder()
	mux.ServeHTTP(visitor, httptest.NewRequest(http.MethodGet, "http://localhost/", nil))
	fmt.Println(visitor.Code, visitor.Header().Get("Location"))
	// Output: 303 /auth/signin
}

// A sign-in that a provider refused for a reason that the client may know.
func ExampleError() {
	err := error(&auth.Error{Type: auth.ErrCredentialsSignin, Code: "locked"})
	fmt.Println(err)
	// Output: auth: CredentialsSignin
}

// Values that SetEnvDefaults takes from the environment.
func ExampleSetEnvDefaults() {
	variables := map[string]string{"AUTH_SECRET": "s", "AUTH_URL": "https://app.example.com/login"}
	var config auth.Config
	auth.SetEnvDefaults(func(name string) string { return variables[name] }, &config, false)
	fmt.Println(config.URL, config.BasePath, *config.TrustHost)
	// Output: https://app.example.com/login /login false
}

// The URL of a route, made inside a request.
func ExampleCreateActionURL() {
	header := http.Header{"Host": {"app.example.com"}}
	u, err := auth.CreateActionURL(auth.ActionSignOut, "https", header, func(string) string { return "" }, auth.Config{BasePath: "/auth"})
	fmt.Println(u, err)
	// Output: https://app.example.com/auth/signout <nil>
}
