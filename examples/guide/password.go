package guide

import (
	"net/http"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/password"
)

// passwords is a site on which people sign up and sign in with a password.
func passwords(store adapter.Adapter, secret, mailServer string) (http.Handler, error) {
	return auth.New(auth.Config{
		URL:     "https://example.com", // of the links in mails
		Secret:  []string{secret},
		Adapter: store,
		Providers: []auth.Provider{password.Provider(store, password.Settings{
			From: "Example <no-reply@example.com>", Server: mailServer,
		})},
	})
}
