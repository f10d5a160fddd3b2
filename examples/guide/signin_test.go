package guide

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSignInPage goes through the sign-in page of the site: with a mistake, which the
// page explains in the language of the reader beside what was typed, and without.
func TestSignInPage(t *testing.T) {
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		dev := newDev(t, site+"/dev", site+"/auth/callback/"+devprovider.ID)
		gate := newAuth(t, auth.Config{
			URL: site, Secret: []string{secret}, Adapter: memory.New(), Pages: auth.Pages{SignIn: "/login"},
			Session: auth.SessionConfig{Strategy: auth.StrategyJWT},
			Providers: []auth.Provider{
				dev.OAuth(),
				&auth.Email{SendVerificationRequest: func(context.Context, auth.VerificationRequest) error { return nil }},
				&auth.Credentials{
					Fields: []auth.Field{{Name: "user", Label: "User", Identifier: true}, {Name: "pin", Label: "PIN", Type: "password"}},
					Authorize: func(_ context.Context, f auth.Form, _ *http.Request) (*auth.User, error) {
						if f.Get("pin") != "right" {
							return nil, nil
						}
						return &auth.User{ID: "ada", Name: "Ada"}, nil
					},
				},
			},
		})
		mux := http.NewServeMux()
		mux.Handle("/auth/", gate)
		mux.Handle("/dev/", dev)
		mux.Handle("GET /login", signInPage(gate))
		inbox := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("your mails")) }
		mux.Handle("GET /inbox", gate.Require(http.HandlerFunc(inbox)))
		return mux, nil
	})
	c := newClient(t)
	at, page := c.fetch(http.MethodGet, site+"/inbox", nil)
	require.Truef(t, strings.Contains(at, "/login?callbackUrl=") && strings.Contains(page, "/auth/signin/"+devprovider.ID) &&
		strings.Contains(page, "/auth/signin/email") && strings.Contains(page, ">Continue<") && !strings.Contains(page, "alert"),
		"the visitor arrives at %s:\n%s", at, page)
	form := func(page, pin string) url.Values {
		field := func(name string) string {
			return regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)[1]
		}
		return url.Values{"csrfToken": {field("csrfToken")}, "callbackUrl": {field("callbackUrl")}, "user": {"ada"}, "pin": {pin}}
	}
	at, page = c.fetch(http.MethodPost, site+"/auth/callback/credentials", form(page, "wrong"))
	require.Truef(t, strings.Contains(at, "/login?") && !strings.Contains(at, "ada") && strings.Contains(page, `role="alert"`) &&
		strings.Contains(page, `value="ada"`),
		"after a mistake: %s\n%s", at, page)
	_, again := c.fetch(http.MethodGet, at, nil)
	assert.NotContains(t, again, `value="ada"`, "what was typed is shown twice")
	at, page = c.fetch(http.MethodPost, site+"/auth/callback/credentials", form(page, "right"))
	assert.Truef(t, strings.HasSuffix(at, "/inbox") && page == "your mails", "after the right PIN: %s\n%s", at, page)
	at, _ = newClient(t).fetch(http.MethodPost, site+"/auth/signin/"+devprovider.ID, url.Values{})
	assert.Contains(t, at, "/login?", "a form without a token leads to")
}
