package main

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

// TestSite: the visitor signs in, sees the private page, and signs out. Another
// site can't do this in the visitor's name.
func TestSite(t *testing.T) {
	v := visitor.Visit(t, newSite)
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
func TestGuardSeesThePathOfTheRouter(t *testing.T) { visitor.Visit(t, newSite).Guarded("only.") }
