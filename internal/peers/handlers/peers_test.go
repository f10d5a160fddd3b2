package handlers

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	fibersession "github.com/gofiber/fiber/v3/middleware/session"
	"github.com/gorilla/sessions"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

const name = "Ada Lovelace"

var secret = strings.Repeat("peers-secret", 3)

// BenchmarkSession measures a request whose handler reads the name of the
// signed-in user. The libraries do different work for it: docs/frameworks.md
// says what.
func BenchmarkSession(b *testing.B) {
	b.Run("gatehouse, token", func(b *testing.B) {
		token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": name, "email": "ada@example.com"}, Secrets: []string{secret}, Salt: jwt.CookieName})
		require.NoError(b, err)
		run(b, gatehouse(b, nil), jwt.CookieName+"="+token)
	})
	b.Run("gatehouse, memory", func(b *testing.B) {
		store := memory.New()
		user, err := store.CreateUser(b.Context(), adapter.User{Name: new(name), Email: "ada@example.com"})
		require.NoError(b, err)
		_, err = store.CreateSession(b.Context(), adapter.Session{SessionToken: "token", UserID: user.ID, Expires: time.Now().Add(30 * 24 * time.Hour)})
		require.NoError(b, err)
		run(b, gatehouse(b, store), jwt.CookieName+"=token")
	})
	b.Run("gorilla/sessions, encrypted cookie", func(b *testing.B) {
		store := sessions.NewCookieStore([]byte(secret), []byte(secret[:32]))
		write := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s, _ := store.Get(r, "s")
			s.Values["name"] = name
			_ = s.Save(r, w)
		})
		run(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s, err := store.Get(r, "s")
			answer(w, s.Values["name"], err)
		}), cookieOf(b, write))
	})
	b.Run("scs, memory", func(b *testing.B) {
		m := scs.New()
		write := m.LoadAndSave(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { m.Put(r.Context(), "name", name) }))
		run(b, m.LoadAndSave(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, m.GetString(r.Context(), "name"), nil) })), cookieOf(b, write))
	})
	b.Run("gatehouse, token, in fiber", func(b *testing.B) {
		token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "1", "name": name, "email": "ada@example.com"}, Secrets: []string{secret}, Salt: jwt.CookieName})
		require.NoError(b, err)
		app := fiber.New()
		app.Get("/", adaptor.HTTPHandler(gatehouse(b, nil)))
		runFiber(b, app.Handler(), jwt.CookieName+"="+token)
	})
	b.Run("fiber session, memory", func(b *testing.B) {
		app := fiber.New()
		app.Use(fibersession.New())
		app.Get("/write", func(c fiber.Ctx) error { fibersession.FromContext(c).Set("name", name); return nil })
		app.Get("/", func(c fiber.Ctx) error {
			v, _ := fibersession.FromContext(c).Get("name").(string)
			return c.SendString(v)
		})
		serve := app.Handler()
		var first fasthttp.RequestCtx
		first.Request.SetRequestURI("/write")
		serve(&first)
		cookie, _, _ := strings.Cut(string(first.Response.Header.Peek("Set-Cookie")), ";")
		runFiber(b, serve, cookie)
	})
}

func gatehouse(b *testing.B, store adapter.Adapter) http.Handler {
	b.Helper()
	m, err := frameworks.MiddlewareAuth(auth.Config{Secret: []string{secret}, Adapter: store, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)})
	require.NoError(b, err)
	return m.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := auth.FromContext(r.Context())
		answer(w, s.User.Name, err)
	}))
}

func answer(w http.ResponseWriter, v any, err error) {
	text, _ := v.(string)
	if err != nil || text == "" {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(text))
}

// cookieOf returns the cookie that a handler sets.
func cookieOf(b *testing.B, h http.Handler) string {
	b.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	cookies := w.Result().Cookies()
	require.Lenf(b, cookies, 1, "got %d cookies, want 1", len(cookies))
	return cookies[0].Name + "=" + cookies[0].Value
}

func run(b *testing.B, h http.Handler, cookie string) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequest(http.MethodGet, "/", nil)
		r.Header["Cookie"] = []string{cookie}
		w := response{header: http.Header{}}
		h.ServeHTTP(&w, r)
		if w.status != 0 || w.body != len(name) {
			b.Fatalf("got status %d, %d bytes", w.status, w.body)
		}
	}
}

func runFiber(b *testing.B, serve fasthttp.RequestHandler, cookie string) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		var ctx fasthttp.RequestCtx
		ctx.Request.SetRequestURI("/")
		ctx.Request.Header.Set("Cookie", cookie)
		serve(&ctx)
		if string(ctx.Response.Body()) != name {
			b.Fatalf("got %d %q", ctx.Response.StatusCode(), ctx.Response.Body())
		}
	}
}

// response is a ResponseWriter that discards the body.
type response struct {
	header       http.Header
	status, body int
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(p []byte) (int, error) { r.body += len(p); return len(p), nil }
