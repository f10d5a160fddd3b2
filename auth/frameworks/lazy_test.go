package frameworks_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestUnknownTenantsDisplaceNobody: requests for tenants that do not exist make
// no configuration of a tenant that does.
func TestUnknownTenantsDisplaceNobody(t *testing.T) {
	t.Parallel()
	made := 0
	f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Lazy: frameworks.Lazy(
		func(r *http.Request) string { return r.Host },
		func(r *http.Request) (auth.Config, error) {
			if strings.HasPrefix(r.Host, "x") {
				return auth.Config{}, errors.New("no such tenant")
			}
			made++
			return auth.Config{Secret: []string{secret}, Logger: (&logBook{}).logger(), TrustHost: new(true)}, nil
		})}))(t)
	ask := func(host string) error {
		_, err := f.Refresh(httptest.NewRecorder(), localRequest(http.MethodGet, "http://"+host+"/"))
		return err
	}
	require.NoError(t, ask("tenant.example"))
	for i := range 1500 {
		require.Error(t, ask(fmt.Sprintf("x%d.example", i)), "a tenant that does not exist has a configuration")
	}
	assert.NoError(t, ask("tenant.example"))
	assert.Equal(t, 1, made, "how often the configuration of the tenant was made")
}

// TestTwoSpellingsOfAHost: two configurations of one site, under two keys, share
// what must happen once: a session token that was signed out under one is not a
// session under the other.
func TestTwoSpellingsOfAHost(t *testing.T) {
	t.Parallel()
	credentials := &auth.Credentials{Authorize: func(_ context.Context, _ auth.Form, _ *http.Request) (*auth.User, error) {
		return &auth.User{ID: "ada", Email: "ada@example.com"}, nil
	}}
	f := must(frameworks.FullstackAuth(frameworks.FullstackConfig{Lazy: frameworks.Lazy(
		func(r *http.Request) string { return r.Host },
		func(*http.Request) (auth.Config, error) {
			return auth.Config{Secret: []string{secret}, URL: "https://site.example", Logger: (&logBook{}).logger(), Providers: []auth.Provider{credentials}}, nil
		})}))(t)
	post := func(host, path, cookies string) []*http.Cookie {
		r := httptest.NewRequest(http.MethodPost, "https://"+host+path, nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", cookies)
		w := httptest.NewRecorder()
		f.POST(w, r)
		response := w.Result()
		_ = response.Body.Close()
		return response.Cookies()
	}
	cookies := ""
	for _, c := range post("site.example", "/api/auth/callback/credentials", "") {
		cookies += c.Name + "=" + c.Value + "; "
	}
	signedIn := func(host string) bool {
		r := httptest.NewRequest(http.MethodGet, "https://"+host+"/", nil)
		r.Header.Set("Cookie", cookies)
		session := must(f.Refresh(httptest.NewRecorder(), r))(t)
		return session != nil
	}
	require.True(t, signedIn("site.example") && signedIn("SITE.example"), "not signed in")
	post("site.example", "/api/auth/signout", cookies)
	for _, host := range []string{"site.example", "SITE.example", "Site.Example"} {
		assert.Falsef(t, signedIn(host), "%s: the signed-out token is a session", host)
	}
}
