package auth_test

import (
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
)

const benchSecret = "0123456789abcdef0123456789abcdef"

// benchClaims are those of a common session.
func benchClaims() auth.Claims {
	return auth.Claims{"name": "Ada Lovelace", "email": "ada@example.com", "picture": "https://example.com/ada.png", "sub": "8c1f0d52-5a5b-4f0e-9d7e-0d9c4f3c2b1a"}
}

// BenchmarkSessionToken is GET session with a session in a token, cookies and
// all, through ServeHTTP.
func BenchmarkSessionToken(b *testing.B) {
	h := benchHandler(b, nil)
	token, err := jwt.Encode(jwt.EncodeParams{Token: benchClaims(), Secrets: []string{benchSecret}, Salt: jwt.CookieName})
	if err != nil {
		b.Fatal(err)
	}
	serveSession(b, h, token)
}

// BenchmarkSessionTokenFloor is what BenchmarkSessionToken can't do without:
// one go-jose decryption and one encryption of the same claims, with the key at
// hand.
func BenchmarkSessionTokenFloor(b *testing.B) {
	key := make([]byte, 64)
	_, _ = rand.Read(key)
	payload, err := json.Marshal(benchClaims())
	if err != nil {
		b.Fatal(err)
	}
	enc, err := jose.NewEncrypter(jose.A256CBC_HS512, jose.Recipient{Algorithm: jose.DIRECT, Key: key}, nil)
	if err != nil {
		b.Fatal(err)
	}
	seal := func(payload []byte) string {
		object, err := enc.Encrypt(payload)
		if err != nil {
			b.Fatal(err)
		}
		token, err := object.CompactSerialize()
		if err != nil {
			b.Fatal(err)
		}
		return token
	}
	token := seal(payload)
	b.ReportAllocs()
	for b.Loop() {
		object, err := jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256CBC_HS512})
		if err != nil {
			b.Fatal(err)
		}
		payload, err := object.Decrypt(key)
		if err != nil {
			b.Fatal(err)
		}
		seal(payload)
	}
}

// BenchmarkSessionDatabase is GET session with a session in a store that costs
// next to nothing.
func BenchmarkSessionDatabase(b *testing.B) {
	s := newStore()
	s.users["u"] = adapter.User{ID: "u", Name: new("Ada Lovelace"), Email: "ada@example.com"}
	s.sessions["token"] = adapter.Session{SessionToken: "token", UserID: "u", Expires: time.Now().Add(30 * 24 * time.Hour)}
	serveSession(b, benchHandler(b, s), "token")
}

func benchHandler(b *testing.B, a adapter.Adapter) *auth.Handler {
	b.Helper()
	h, err := auth.New(auth.Config{Secret: []string{benchSecret}, Adapter: a, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// serveSession serves GET session to a browser that has been there before.
func serveSession(b *testing.B, h *auth.Handler, token string) {
	first := httptest.NewRecorder()
	h.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/auth/csrf", nil))
	cookies := jwt.CookieName + "=" + token
	for _, c := range first.Result().Cookies() {
		cookies += "; " + c.Name + "=" + c.Value
	}
	r := httptest.NewRequest(http.MethodGet, "/auth/session", nil)
	r.Header.Set("Cookie", cookies)
	b.ReportAllocs()
	for b.Loop() {
		w := response{header: http.Header{}}
		h.ServeHTTP(&w, r)
		if w.status != http.StatusOK || len(w.header["Set-Cookie"]) != 1 {
			b.Fatalf("status %d, header %v", w.status, w.header)
		}
	}
}

// response is a ResponseWriter that costs nothing.
type response struct {
	header http.Header
	status int
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(p []byte) (int, error) { return len(p), nil }
