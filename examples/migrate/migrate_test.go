package migrate

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/bcrypt"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite/modernc"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

var (
	secret = strings.Repeat("migrate-secret", 3)
	config = auth.Config{Secret: []string{secret}, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)}
)

// ask sends a request from a page of the site, with the cookies of a jar.
func ask(h http.Handler, cookies map[string]string, method, path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://localhost")
	for name, value := range cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	for _, c := range w.Result().Cookies() {
		cookies[c.Name] = c.Value
	}
	return w
}

func signedIn(t *testing.T) map[string]string {
	t.Helper()
	token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": "Ada"}, Secrets: []string{secret}, Salt: jwt.CookieName})
	require.NoError(t, err)
	return map[string]string{jwt.CookieName: token}
}

func TestFromGoth(t *testing.T) {
	for _, name := range []string{"GITHUB", "GOOGLE"} {
		t.Setenv("AUTH_"+name+"_ID", "id")
		t.Setenv("AUTH_"+name+"_SECRET", "secret")
	}
	h, err := fromGoth(config, func(context.Context, *auth.User, *auth.Account) error { return nil })
	require.NoError(t, err)
	w := ask(h, map[string]string{}, http.MethodPost, "/auth/github", nil)
	to := w.Header().Get("Location")
	assert.Truef(t, w.Code == http.StatusSeeOther && strings.HasPrefix(to, "https://github.com/login/oauth/authorize?") && strings.Contains(to, url.QueryEscape("http://localhost/api/auth/callback/github")),
		"sign-in: got %d, %s", w.Code, to)
	if w := ask(h, signedIn(t), http.MethodPost, "/logout/github", nil); w.Code != http.StatusSeeOther || !strings.Contains(strings.Join(w.Header()["Set-Cookie"], "\n"), jwt.CookieName+"=;") {
		t.Errorf("sign-out: got %d, %v", w.Code, w.Header())
	}
}

func TestFromAuthboss(t *testing.T) {
	db, err := modernc.Open(filepath.Join(t.TempDir(), "users.db"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	hash, err := bcrypt.GenerateFromPassword([]byte("lovelace"), bcrypt.MinCost)
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE users (id TEXT, name TEXT, email TEXT, password BLOB, confirmed BOOLEAN, locked TEXT)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO users VALUES ('1', 'Ada', 'ada@example.com', $1, true, NULL),
		('2', 'Eve', 'eve@example.com', $1, true, '2030-01-01'), ('3', 'Bob', 'bob@example.com', $1, false, NULL)`, hash)
	require.NoError(t, err)
	p := fromAuthboss(db)
	for _, c := range []struct {
		email, password string
		ok              bool
	}{
		{"ada@example.com", "lovelace", true}, {"ada@example.com", "wrong", false}, {"eve@example.com", "lovelace", false},
		{"bob@example.com", "lovelace", false}, {"nobody@example.com", "lovelace", false}, {"nobody@example.com", "nobody has this password", false},
	} {
		user, err := p.Authorize(t.Context(), auth.Form{"email": c.email, "password": c.password}, nil)
		assert.Falsef(t, err != nil || (user != nil) != c.ok || user != nil && (user.ID != "1" || user.Name != "Ada"),
			"%s, %s: got %+v, %v", c.email, c.password, user, err)
	}
}

func TestFromSCS(t *testing.T) {
	h, err := fromSCS(config, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := theme(r.Context())
		if errors.Is(err, auth.ErrNoSession) {
			text = "nobody"
		}
		_, _ = w.Write([]byte("theme: " + text))
	}))
	require.NoError(t, err)
	w := ask(h, map[string]string{}, http.MethodGet, "/", nil)
	assert.Equalf(t, "theme: nobody", w.Body.String(), "a stranger: got %s", w.Body)
	ada := signedIn(t)
	for _, c := range []struct{ set, want string }{{"dark", "dark"}, {"<script>", "dark"}, {"light", "light"}} {
		w := ask(h, ada, http.MethodPost, "/theme", url.Values{"theme": {c.set}})
		assert.Equalf(t, http.StatusSeeOther, w.Code, "%s: got %d, %s", c.set, w.Code, w.Body)
		w = ask(h, ada, http.MethodGet, "/", nil)
		assert.Equalf(t, "theme: "+c.want, w.Body.String(), "%s: got %s", c.set, w.Body)
	}
}

func TestFromNextAuth(t *testing.T) {
	t.Setenv("NEXTAUTH_SECRET", secret)
	t.Setenv("NEXTAUTH_URL", "http://localhost")
	t.Setenv("AUTH_GITHUB_ID", "id")
	t.Setenv("AUTH_GITHUB_SECRET", "secret")
	h, err := fromNextAuth(nil)
	require.NoError(t, err)
	w := ask(h, signedIn(t), http.MethodGet, "/api/auth/session", nil)
	assert.Containsf(t, w.Body.String(), "Ada", "a session that Auth.js made: got %d, %s", w.Code, w.Body)
}
