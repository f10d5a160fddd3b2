package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/internal/authjs"
)

const secret = "one-secret-for-both-one-secret-for-both"

// site is the API, the front end with the real @auth/core, and a browser that
// sends both of them the same cookies.
type site struct {
	*testing.T
	pool        *pgxpool.Pool
	api, front  string
	mails       chan string // links from both sides
	http.Client             // follows redirects
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, mails: make(chan string, 1)}
	server := os.Getenv("GATEHOUSE_POSTGRES_URL")
	if server == "" {
		require.NotEqual(t, "true", os.Getenv("CI"), "GATEHOUSE_POSTGRES_URL is not set")
		t.Skip("NOT PROVED: sessions shared with Auth.js, because GATEHOUSE_POSTGRES_URL is not set; make test sets it")
	}
	s.openDatabase(server)
	schema := s.pool.Config().ConnConfig.RuntimeParams["search_path"]

	api := httptest.NewUnstartedServer(nil)
	s.api = "http://" + api.Listener.Addr().String()
	handler, err := newAPI(t.Context(), s.pool, auth.Config{
		URL: s.api, Secret: []string{secret}, Session: auth.SessionConfig{UpdateAge: new(time.Duration)},
		Providers: []auth.Provider{&auth.Email{SendVerificationRequest: func(_ context.Context, v auth.VerificationRequest) error {
			s.mails <- v.URL
			return nil
		}}},
	})
	require.NoError(t, err)
	api.Config.Handler = handler
	api.Start()
	t.Cleanup(api.Close)

	s.startFrontEnd(server, schema)
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	s.Client = http.Client{Jar: jar}
	return s
}

// openDatabase makes a separate schema for the test.
func (s *site) openDatabase(server string) {
	s.Helper()
	config, err := pgxpool.ParseConfig(server)
	if err != nil {
		s.Fatal(err)
	}
	schema := "api_" + strings.ToLower(rand.Text())
	config.ConnConfig.RuntimeParams["search_path"] = schema
	if s.pool, err = pgxpool.NewWithConfig(s.Context(), config); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(s.pool.Close)
	if _, err := s.pool.Exec(s.Context(), "CREATE SCHEMA "+schema); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _, _ = s.pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE") })
}

// startFrontEnd starts Auth.js, which prints its URL and the mail links on its
// standard output.
func (s *site) startFrontEnd(server, schema string) {
	s.Helper()
	cmd := authjs.Command(s.T, "sessions shared with Auth.js", "../../interop/pg", "frontend.mjs", server, schema, secret)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		s.Fatal("the front end did not start")
	}
	s.front = lines.Text()
	go func() {
		for lines.Scan() {
			s.mails <- lines.Text()
		}
	}()
}

func (s *site) do(method, target string, form url.Values) (int, string) {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Auth-Return-Redirect", "1")
	res, err := s.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// post submits a form with the CSRF token to a route of one side.
func (s *site) post(base, route string, form url.Values) {
	s.Helper()
	var v struct{ CSRFToken string }
	_, body := s.do(http.MethodGet, base+"/csrf", nil)
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		s.Fatalf("no CSRF token: %s", body)
	}
	form.Set("csrfToken", v.CSRFToken)
	form.Set("callbackUrl", base+"/providers")
	if status, body := s.do(http.MethodPost, base+route, form); status != http.StatusOK {
		s.Fatalf("%s%s: status %d: %s", base, route, status, body)
	}
}

func (s *site) wantSignedIn(email string) {
	s.Helper()
	status, body := s.do(http.MethodGet, s.api+"/api/me", nil)
	if want := http.StatusOK; email != "" && (status != want || !strings.Contains(body, email)) || email == "" && status != http.StatusUnauthorized {
		s.Fatalf("the API: got %d %s, want %q", status, body, email)
	}
	_, body = s.do(http.MethodGet, s.front+"/api/auth/session", nil)
	if email != "" && !strings.Contains(body, email) || email == "" && body != "null" {
		s.Fatalf("the front end: got %s, want %q", body, email)
	}
}

// expires returns the time at which the only session ends.
func (s *site) expires() time.Time {
	s.Helper()
	var at time.Time
	if err := s.pool.QueryRow(s.Context(), "SELECT expires FROM sessions").Scan(&at); err != nil {
		s.Fatal(err)
	}
	return at
}

// age changes the only session as if it had not been used for a day.
func (s *site) age() time.Time {
	s.Helper()
	if _, err := s.pool.Exec(s.Context(), "UPDATE sessions SET expires = expires - interval '1 day'"); err != nil {
		s.Fatal(err)
	}
	return s.expires()
}

// TestInteropSharedSession: each side reads, extends and ends a session that
// the other side made.
func TestInteropSharedSession(t *testing.T) {
	s := newSite(t)
	for _, c := range []struct {
		name, maker, other, email string
	}{
		{"made by Auth.js", s.front + "/api/auth", s.api + "/auth", "ada@example.com"},
		{"made by Gatehouse", s.api + "/auth", s.front + "/api/auth", "grace@example.com"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.T = t
			s.wantSignedIn("")
			s.post(c.maker, "/signin/email", url.Values{"email": {c.email}})
			s.do(http.MethodGet, <-s.mails, nil)
			s.wantSignedIn(c.email)
			for _, side := range []string{c.other, c.maker} {
				old := s.age()
				s.do(http.MethodGet, side+"/session", nil)
				now := s.expires()
				assert.Truef(t, now.After(old.Add(23*time.Hour)), "%s did not extend the session: %v, then %v", side, old, now)
			}
			s.post(c.other, "/signout", url.Values{})
			s.wantSignedIn("")
			var left int
			err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM sessions").Scan(&left)
			assert.Truef(t, err == nil && left == 0, "%d sessions are left, error %v", left, err)
		})
	}
}
