package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/gatehouse-go/gatehouse/examples/internal/frontend"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
)

// TestInteropSvelteKit signs in and out with the real @auth/sveltekit/client in
// Chromium. That client sends no CSRF token.
func TestInteropSvelteKit(t *testing.T) {
	t.Setenv("AUTH_SECRET", strings.Repeat("svelte-secret", 3))
	t.Setenv(devprovider.Switch, "on")
	page := frontend.Build(t, ".")
	url := visitor.Serve(t, func(url string) (http.Handler, error) { return site(url, page) })
	b := chromium.New(t)

	t.Run("credentials", func(t *testing.T) {
		b.Go(url)
		b.Reads("Nobody is signed in.")
		b.Fill("[name=username]", "eve")
		b.Click("#password button")
		b.Reads("CredentialsSignin: locked")
		b.Go(url)
		b.Reads("Nobody is signed in.")
		b.Fill("[name=username]", "ada")
		b.Fill("[name=password]", "lovelace")
		b.Click("#password button")
		b.Reads("Signed in as Ada.")
		b.Go(url)
		b.Reads("Signed in as Ada.")
		b.Click("#signout")
		b.Reads("Nobody is signed in.")
	})
	t.Run("OAuth", func(t *testing.T) {
		b.Click("#oauth")
		b.Reads("Who do you want to be")
		b.Click("button[value=grace]")
		b.Reads("Signed in as Grace.")
		b.Click("#signout")
		b.Reads("Nobody is signed in.")
	})
}
