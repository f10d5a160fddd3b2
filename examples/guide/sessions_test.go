package guide

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/examples/devprovider"
	"github.com/gatehouse-go/gatehouse/examples/internal/visitor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	tokenOnPage = regexp.MustCompile(`name="csrfToken" value="([^"]+)"`)
	idsOnPage   = regexp.MustCompile(`name="id" value="([^"]+)"`)
)

// TestSessionsPage signs in twice, ends the other session, and checks that the
// other browser is signed out.
func TestSessionsPage(t *testing.T) {
	store := memory.New()
	site := visitor.Serve(t, func(site string) (http.Handler, error) {
		dev := newDev(t, site+"/dev", site+"/auth/callback/"+devprovider.ID)
		config := hardened(store, dev.OAuth(), &auth.Email{SendVerificationRequest: func(context.Context, auth.VerificationRequest) error { return nil }})
		config.Secret, config.URL = []string{secret}, site
		gate := newAuth(t, config)
		mux := http.NewServeMux()
		mux.Handle("/", newSite(gate))
		mux.Handle("/dev/", dev)
		return mux, nil
	})
	first, second := newClient(t), newClient(t)
	end, _ := first.fetch(http.MethodGet, site+"/sessions", nil)
	require.Contains(t, end, "/auth/signin?callbackUrl=", "a visitor who is not signed in arrives at")
	first.signIn(site, devprovider.ID, "grace")
	second.signIn(site, devprovider.ID, "grace")
	_, page := second.fetch(http.MethodGet, site+"/sessions", nil)
	n := len(idsOnPage.FindAllString(page, -1))
	require.Equalf(t, 2, n, "%d sessions on the page, want 2:\n%s", n, page)
	if _, page := second.fetch(http.MethodPost, site+"/sessions/end-others", url.Values{}); !strings.Contains(page, "post from a page of this site") {
		t.Errorf("a POST without a token is answered with %s", page)
	}
	_, page = second.fetch(http.MethodPost, site+"/sessions/end-others", url.Values{"csrfToken": {tokenOnPage.FindStringSubmatch(page)[1]}})
	n = len(idsOnPage.FindAllString(page, -1))
	assert.Equalf(t, 1, n, "%d sessions are left, want 1", n)
	end, _ = first.fetch(http.MethodGet, site+"/", nil)
	assert.Contains(t, end, "/auth/signin", "the browser whose session was ended arrives at")
	_, page = second.fetch(http.MethodPost, site+"/sessions/end", url.Values{"csrfToken": {tokenOnPage.FindStringSubmatch(page)[1]}, "id": {idsOnPage.FindStringSubmatch(page)[1]}})
	assert.Contains(t, page, "Sign in with", "after the own session was ended")
	_, page = first.fetch(http.MethodGet, site+"/auth/signin", nil)
	token := tokenOnPage.FindStringSubmatch(page)[1]
	for range 10 {
		_, page = first.fetch(http.MethodPost, site+"/auth/signin/email", url.Values{"csrfToken": {token}, "email": {"grace@example.com"}})
	}
	assert.Contains(t, page, "too many attempts", "ten mails at once, and the answer")
}

// TestLimitOfTheGuide guesses passwords through the limit of hardened, each on a
// connection of its own: for one account, and for another one in each request.
func TestLimitOfTheGuide(t *testing.T) {
	for name, c := range map[string]struct {
		account func(i int) string
		want    int
	}{
		"one account":   {func(int) string { return "ada" }, 5},
		"many accounts": {func(i int) string { return fmt.Sprintf("ada%d", i) }, 100},
	} {
		account, checked := c.account, 0
		site := visitor.Serve(t, func(site string) (http.Handler, error) {
			config := hardened(memory.New(), &auth.Credentials{
				Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { checked++; return nil, nil },
			})
			config.Secret, config.URL, config.Session.Strategy = []string{secret}, site, auth.StrategyJWT
			return auth.New(config)
		})
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		refused, began := 0, time.Now()
		for i := range 130 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/auth/callback/credentials", strings.NewReader(url.Values{"username": {account(i)}, "password": {fmt.Sprint(i)}}.Encode()))
			require.NoError(t, err)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i))
			res, err := client.Do(r)
			require.NoError(t, err)
			res.Body.Close()
			if res.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
		most := c.want + int(2*time.Since(began)/time.Second) // what the waits allow on a slow machine
		assert.Truef(t, checked >= c.want && checked <= most && refused == 130-checked,
			"%s: %d passwords were checked and %d refused, want %d to %d checked", name, checked, refused, c.want, most)
	}
}

// TestRevocable: tokens from before the instant are refused, later ones are
// accepted.
func TestRevocable(t *testing.T) {
	at := time.Unix(1000, 0)
	c := revocable(func(context.Context, string) (time.Time, error) { return at, nil })
	for began, want := range map[float64]bool{999: true, 1000: false} {
		revoked, err := c.Revoked(t.Context(), auth.Claims{"sub": "u", "auth_time": began})
		assert.Truef(t, revoked == want && err == nil, "a session that began at %v is revoked: %v, %v", began, revoked, err)
	}
}
