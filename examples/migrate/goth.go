// Package migrate holds the code of docs/migrate.md.
package migrate

import (
	"context"
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/providers"
)

// fromGoth replaces gothic.BeginAuthHandler, gothic.CompleteUserAuth and
// gothic.Logout. welcome does what your callback handler did with the user,
// once for each sign-in.
func fromGoth(config auth.Config, welcome func(ctx context.Context, user *auth.User, account *auth.Account) error) (http.Handler, error) {
	config.Providers = []auth.Provider{providers.GitHub(), providers.Google()}
	config.Events.SignIn = func(ctx context.Context, e auth.SignInEvent) error { return welcome(ctx, e.User, e.Account) }
	f, err := frameworks.FullstackAuth(frameworks.FullstackConfig{Config: config})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/auth/", f.GET)
	mux.HandleFunc("POST /api/auth/", f.POST)
	mux.HandleFunc("POST /auth/{provider}", func(w http.ResponseWriter, r *http.Request) { // this was a GET, and other sites could link to it
		if _, err := f.SignIn(w, r, r.PathValue("provider"), frameworks.SignInOptions{RedirectTo: "/"}); err != nil {
			f.Fail(w, r, err)
		}
	})
	mux.HandleFunc("POST /logout/{provider}", func(w http.ResponseWriter, r *http.Request) {
		if _, err := f.SignOut(w, r, frameworks.SignOutOptions{RedirectTo: "/"}); err != nil {
			f.Fail(w, r, err)
		}
	})
	return mux, nil
}
