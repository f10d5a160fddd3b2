package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/chromium"
	"github.com/gatehouse-go/gatehouse/examples/internal/frontend"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
)

// TestInteropReact signs in and out with the real next-auth/react in Chromium.
func TestInteropReact(t *testing.T) {
	t.Setenv("AUTH_SECRET", strings.Repeat("react-secret", 3))
	t.Setenv(devprovider.Switch, "on")
	page := frontend.Build(t, ".")
	mails := make(chan string, 1)
	url := visitor.Serve(t, func(url string) (http.Handler, error) {
		return site(url, page, func(_ context.Context, m auth.VerificationRequest) error {
			mails <- m.URL
			return nil
		})
	})
	b := chromium.New(t)
	signIn := func(t *testing.T) {
		t.Helper()
		b.Reads("Nobody is signed in.")
		b.Fill("[name=username]", "ada")
		b.Fill("[name=password]", "lovelace")
		b.Click("#password button")
		b.Reads("Signed in as Ada.")
	}
	signOut := func(t *testing.T) {
		t.Helper()
		b.Click("#signout")
		b.Reads("Nobody is signed in.")
	}

	t.Run("credentials", func(t *testing.T) {
		b.Go(url)
		b.Reads("Nobody is signed in.")
		b.Fill("[name=username]", "eve")
		b.Click("#password button")
		b.Reads("CredentialsSignin: locked")
		b.Go(url)
		signIn(t)
		b.Click("#update")
		b.Reads("Signed in as Augusta.")
		b.Go(url)
		b.Reads("Signed in as Augusta.")
		b.Go(url + "/private")
		b.Reads("For Augusta only.")
		b.Go(url)
		signOut(t)
	})
	t.Run("mail", func(t *testing.T) {
		b.Fill("[name=email]", "mary@example.com")
		b.Click("#mail button")
		b.Reads("A link is on its way.")
		b.Go(<-mails)
		b.Reads("Signed in as mary@example.com.")
		signOut(t)
	})
	t.Run("OAuth", func(t *testing.T) {
		b.Click("#oauth")
		b.Reads("Who do you want to be")
		b.Click("button[value=grace]")
		b.Reads("Signed in as Grace.")
		signOut(t)
	})
	t.Run("required", func(t *testing.T) {
		b.Go(url + "/private")
		b.Until(`location.pathname === "/api/auth/signin" && location.search.includes("error=SessionRequired")`)
	})
	t.Run("polling", func(t *testing.T) {
		b.Go(url + "/?poll=1")
		signIn(t)
		// The cookie is deleted, and the page is not told.
		res := chromium.Await[int](b, `fetch("/api/auth/csrf").then((r) => r.json()).then(({csrfToken}) =>
			fetch("/api/auth/signout", {method: "POST", body: new URLSearchParams({csrfToken}), redirect: "manual"})).then((r) => r.status)`)
		assert.Truef(t, res == 0 || res == http.StatusOK, "sign-out: status %d", res)
		b.Reads("Nobody is signed in.")
	})
}
