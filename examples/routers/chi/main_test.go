package main

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/require"
)

func visit(t *testing.T) *visitor.Visitor {
	t.Helper()
	site, err := newSite(auth.Config{Secret: []string{strings.Repeat("router-secret", 3)}, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return visitor.Serve(t, site)
}

// TestSite: the visitor signs in, sees the private page, and signs out. Another
// site can't do this in the visitor's name.
func TestSite(t *testing.T) {
	v := visit(t)
	form := url.Values{"providerId": {"credentials"}, "username": {"ada"}, "password": {"lovelace"}, "callbackUrl": {"/"}}
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?callbackUrl=%2Fprivate")
	v.Does(http.MethodGet, "/auth/session", "", nil, http.StatusOK, "null")
	v.Does(http.MethodPost, "/auth/callback/credentials", "https://evil.example", form, http.StatusFound, "/auth/signin?error=MissingCSRF")
	v.Does(http.MethodPost, "/auth/callback/credentials", v.Site, url.Values{"providerId": {"credentials"}, "username": {"eve"}}, http.StatusFound, "/auth/signin?error=CredentialsSignin")
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, stranger.")
	v.Does(http.MethodPost, "/auth/callback/credentials", v.Site, form, http.StatusFound, "/")
	v.Does(http.MethodGet, "/", "", nil, http.StatusOK, "Hello, Ada!")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusOK, "For Ada only.")
	v.Does(http.MethodPost, "/auth/signout", "https://evil.example", nil, http.StatusFound, "/auth/signin?error=MissingCSRF")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusOK, "For Ada only.")
	v.Does(http.MethodPost, "/auth/signout", v.Site, url.Values{"callbackUrl": {"/"}}, http.StatusFound, "/")
	v.Does(http.MethodGet, "/private", "", nil, http.StatusSeeOther, "/auth/signin?")
}

// TestGuardSeesThePathOfTheRouter: no spelling of a guarded path gets past the
// guard, and the site goes on.
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visit(t).Guarded("only.") }
