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
	require.NoError(s, err)
	schema := "api_" + strings.ToLower(rand.Text())
	config.ConnConfig.RuntimeParams["search_path"] = schema
	s.pool, err = pgxpool.NewWithConfig(s.Context(), config)
	require.NoError(s, err)
	s.Cleanup(s.pool.Close)
	_, err = s.pool.Exec(s.Context(), "CREATE SCHEMA "+schema)
	require.NoError(s, err)
	s.Cleanup(func() { _, _ = s.pool.Exec(context.Background(), "DROP SCHEMA "+schema+" CASCADE") })
}

// startFrontEnd starts Auth.js, which prints its URL and the mail links on its
// standard output.
func (s *site) startFrontEnd(server, schema string) {
	s.Helper()
	cmd := authjs.Command(s.T, "sessions shared with Auth.js", "../../interop/pg", "frontend.mjs", server, schema, secret)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(s, err)
	require.NoError(s, cmd.Start())
	s.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	require.True(s, lines.Scan(), "the front end did not start")
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
	require.NoError(s, err)
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Auth-Return-Redirect", "1")
	res, err := s.Do(r)
	require.NoError(s, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(s, err)
	return res.StatusCode, string(body)
}

// post submits a form with the CSRF token to a route of one side.
func (s *site) post(base, route string, form url.Values) {
	s.Helper()
	var v struct{ CSRFToken string }
	_, token := s.do(http.MethodGet, base+"/csrf", nil)
	require.NoErrorf(s, json.Unmarshal([]byte(token), &v), "no CSRF token: %s", token)
	form.Set("csrfToken", v.CSRFToken)
	form.Set("callbackUrl", base+"/providers")
	status, body := s.do(http.MethodPost, base+route, form)
	require.Equalf(s, http.StatusOK, status, "%s%s: %s", base, route, body)
}

func (s *site) wantSignedIn(email string) {
	s.Helper()
	status, body := s.do(http.MethodGet, s.api+"/api/me", nil)
	require.Equalf(s, http.StatusOK, status, "the API: %s", body)
	require.Contains(s, body, email, "the API")
	_, body = s.do(http.MethodGet, s.front+"/api/auth/session", nil)
	require.Contains(s, body, email, "the front end")
}

func (s *site) wantSignedOut() {
	s.Helper()
	status, body := s.do(http.MethodGet, s.api+"/api/me", nil)
	require.Equalf(s, http.StatusUnauthorized, status, "the API: %s", body)
	_, body = s.do(http.MethodGet, s.front+"/api/auth/session", nil)
	require.Equal(s, "null", body, "the front end")
}

// expires returns the time at which the only session ends.
func (s *site) expires() time.Time {
	s.Helper()
	var at time.Time
	require.NoError(s, s.pool.QueryRow(s.Context(), "SELECT expires FROM sessions").Scan(&at))
	return at
}

// age changes the only session as if it had not been used for a day.
func (s *site) age() time.Time {
	s.Helper()
	_, err := s.pool.Exec(s.Context(), "UPDATE sessions SET expires = expires - interval '1 day'")
	require.NoError(s, err)
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
			s.wantSignedOut()
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
			s.wantSignedOut()
			var left int
			err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM sessions").Scan(&left)
			assert.Truef(t, err == nil && left == 0, "%d sessions are left, error %v", left, err)
		})
	}
}
