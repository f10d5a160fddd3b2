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
)

var (
	tokenOnPage = regexp.MustCompile(`name="csrfToken" value="([^"]+)"`)
	idsOnPage   = regexp.MustCompile(`name="id" value="([^"]+)"`)
)

// TestSessionsPage signs in twice, ends the other session, and checks that the
// other browser is signed out.
func TestSessionsPage(t *testing.T) {
	store := memory.New()
	var asked []string
	allowed := true
	site := serve(t, func(site string) http.Handler {
		dev := newDev(t, site+"/dev", site+"/auth/callback/"+devprovider.ID)
		config := hardened(store, func(key string) bool { asked = append(asked, key); return allowed }, dev.OAuth(), &auth.Email{SendVerificationRequest: func(context.Context, auth.VerificationRequest) error { return nil }})
		config.Secret, config.URL = []string{secret}, site
		gate := newAuth(t, config)
		mux := http.NewServeMux()
		mux.Handle("/", newSite(gate))
		mux.Handle("/dev/", dev)
		return mux
	})
	first, second := newClient(t), newClient(t)
	if end, _ := first.fetch(http.MethodGet, site+"/sessions", nil); !strings.Contains(end, "/auth/signin?callbackUrl=") {
		t.Fatalf("a visitor who is not signed in arrives at %s", end)
	}
	first.signIn(site, devprovider.ID, "grace")
	second.signIn(site, devprovider.ID, "grace")
	_, page := second.fetch(http.MethodGet, site+"/sessions", nil)
	if n := len(idsOnPage.FindAllString(page, -1)); n != 2 {
		t.Fatalf("%d sessions on the page, want 2:\n%s", n, page)
	}
	if _, page := second.fetch(http.MethodPost, site+"/sessions/end-others", url.Values{}); !strings.Contains(page, "post from a page of this site") {
		t.Errorf("a POST without a token is answered with %s", page)
	}
	_, page = second.fetch(http.MethodPost, site+"/sessions/end-others", url.Values{"csrfToken": {tokenOnPage.FindStringSubmatch(page)[1]}})
	if n := len(idsOnPage.FindAllString(page, -1)); n != 1 {
		t.Errorf("%d sessions are left, want 1", n)
	}
	if end, _ := first.fetch(http.MethodGet, site+"/", nil); !strings.Contains(end, "/auth/signin") {
		t.Errorf("the browser whose session was ended arrives at %s", end)
	}
	_, page = second.fetch(http.MethodPost, site+"/sessions/end", url.Values{"csrfToken": {tokenOnPage.FindStringSubmatch(page)[1]}, "id": {idsOnPage.FindStringSubmatch(page)[1]}})
	if !strings.Contains(page, "Sign in with") {
		t.Errorf("after the own session was ended: %s", page)
	}
	allowed = false
	_, page = first.fetch(http.MethodGet, site+"/auth/signin", nil)
	_, page = first.fetch(http.MethodPost, site+"/auth/signin/email", url.Values{"csrfToken": {tokenOnPage.FindStringSubmatch(page)[1]}, "email": {"grace@example.com"}})
	if !strings.Contains(page, "too many attempts") || len(asked) == 0 {
		t.Errorf("the limit was asked about %q and the answer is %s", asked, page)
	}
}

// TestLimitOfTheGuide guesses passwords through the limit of hardened, each on a
// connection of its own: for one account, and for another one in each request.
func TestLimitOfTheGuide(t *testing.T) {
	for name, account := range map[string]func(i int) string{
		"one account":   func(int) string { return "ada" },
		"many accounts": func(i int) string { return fmt.Sprintf("ada%d", i) },
	} {
		tries, checked := map[string]int{}, 0
		site := serve(t, func(site string) http.Handler {
			config := hardened(memory.New(), func(key string) bool { tries[key]++; return tries[key] <= 5 }, &auth.Credentials{
				Authorize: func(context.Context, auth.Form, *http.Request) (*auth.User, error) { checked++; return nil, nil },
			})
			config.Secret, config.URL, config.Session.Strategy = []string{secret}, site, auth.StrategyJWT
			return newAuth(t, config)
		})
		c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		refused := 0
		for i := range 30 {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site+"/auth/callback/credentials", strings.NewReader(url.Values{"username": {account(i)}, "password": {fmt.Sprint(i)}}.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("X-Forwarded-For", fmt.Sprintf("203.0.113.%d", i))
			res, err := c.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode == http.StatusTooManyRequests {
				refused++
			}
		}
		if checked != 5 || refused != 25 {
			t.Errorf("%s: %d passwords were checked and %d refused, want 5 and 25; keys %v", name, checked, refused, tries)
		}
	}
}

// TestRevocable: tokens from before the instant are refused, later ones are
// accepted.
func TestRevocable(t *testing.T) {
	at := time.Unix(1000, 0)
	c := revocable(func(context.Context, string) (time.Time, error) { return at, nil })
	for began, want := range map[float64]bool{999: true, 1000: false} {
		if revoked, err := c.Revoked(t.Context(), auth.Claims{"sub": "u", "auth_time": began}); revoked != want || err != nil {
			t.Errorf("a session that began at %v is revoked: %v, %v", began, revoked, err)
		}
	}
}
