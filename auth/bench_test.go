//go:build unix

package auth_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/argon2"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	pw "github.com/gatehouse-go/gatehouse/auth/password"
)

const benchSecret = "0123456789abcdef0123456789abcdef"

// benchClaims returns the claims of a common session.
func benchClaims() auth.Claims {
	return auth.Claims{"name": "Ada Lovelace", "email": "ada@example.com", "picture": "https://example.com/ada.png", "sub": "8c1f0d52-5a5b-4f0e-9d7e-0d9c4f3c2b1a"}
}

// BenchmarkSessionToken measures GET session with a session token that is too
// young to be renewed, through ServeHTTP. Its baseline is the work that can't be
// left out: one go-jose decryption of the same claims, with a derived key. The
// two run in turns. CPU time is measured, so other work on the machine does not
// change the result.
func BenchmarkSessionToken(b *testing.B) {
	token, err := jwt.Encode(jwt.EncodeParams{Token: benchClaims(), Secrets: []string{benchSecret}, Salt: jwt.CookieName})
	require.NoError(b, err)
	serve, baseline := sessionRequest(b, benchHandler(b, nil), token, 0), sessionTokenBaseline(b)
	b.ReportAllocs()
	inTurns(b, 64, serve, baseline)
	allocs, bytes := allocated(serve)
	b.ReportMetric(allocs, "allocs/op")
	b.ReportMetric(bytes, "B/op")
	allocs, _ = allocated(baseline)
	b.ReportMetric(allocs, "baseline-allocs/op")
}

// inTurns runs two functions in turns, n times each, and reports the CPU time of
// both.
func inTurns(b *testing.B, n int, ours, baseline func()) {
	b.Helper()
	var took, least time.Duration
	calls := 0
	for b.Loop() {
		began := cpuTime(b)
		for range n {
			ours()
		}
		between := cpuTime(b)
		for range n {
			baseline()
		}
		took, least = took+between-began, least+cpuTime(b)-between
		calls += n
	}
	b.ReportMetric(float64(took.Nanoseconds())/float64(calls), "ns/op")
	b.ReportMetric(float64(least.Nanoseconds())/float64(calls), "baseline-ns/op")
	b.ReportMetric(float64(took)/float64(least), "x-baseline")
}

// allocated returns how often f allocates, and how many bytes.
func allocated(f func()) (allocs, bytes float64) {
	const runs = 100
	var before, after runtime.MemStats
	f()
	runtime.ReadMemStats(&before)
	for range runs {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / runs, float64(after.TotalAlloc-before.TotalAlloc) / runs
}

// cpuTime returns the CPU time that this process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func sessionTokenBaseline(b *testing.B) func() {
	key := make([]byte, 64)
	_, _ = rand.Read(key)
	payload := must(json.Marshal(benchClaims()))(b)
	enc := must(jose.NewEncrypter(jose.A256CBC_HS512, jose.Recipient{Algorithm: jose.DIRECT, Key: key}, nil))(b)
	sealed := must(enc.Encrypt(payload))(b)
	token := must(sealed.CompactSerialize())(b)
	return func() {
		object, err := jose.ParseEncryptedCompact(token, []jose.KeyAlgorithm{jose.DIRECT}, []jose.ContentEncryption{jose.A256CBC_HS512})
		require.NoError(b, err)
		_, err = object.Decrypt(key)
		require.NoError(b, err)
	}
}

// BenchmarkSessionDatabase measures GET session with a store that takes almost
// no time.
func BenchmarkSessionDatabase(b *testing.B) {
	s := newStore()
	s.users["u"] = adapter.User{ID: "u", Name: new("Ada Lovelace"), Email: "ada@example.com"}
	s.sessions["token"] = adapter.Session{SessionToken: "token", UserID: "u", Expires: time.Now().Add(30 * 24 * time.Hour)}
	serve := sessionRequest(b, benchHandler(b, s), "token", 1)
	b.ReportAllocs()
	before, n := cpuTime(b), 0
	for b.Loop() {
		serve()
		n++
	}
	b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(n), "ns/op")
}

func benchHandler(b *testing.B, a adapter.Adapter) *auth.Handler {
	b.Helper()
	return must(auth.New(auth.Config{Secret: []string{benchSecret}, Adapter: a, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)}))(b)
}

// sessionRequest is GET session by a browser that has used the site before. The
// response must set the number of cookies.
func sessionRequest(b *testing.B, h *auth.Handler, token string, set int) func() {
	b.Helper()
	first := httptest.NewRecorder()
	h.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/auth/csrf", nil))
	cookies := jwt.CookieName + "=" + token
	for _, c := range first.Result().Cookies() {
		cookies += "; " + c.Name + "=" + c.Value
	}
	r := httptest.NewRequest(http.MethodGet, "/auth/session", nil)
	r.Header.Set("Cookie", cookies)
	return func() {
		w := response{header: http.Header{}}
		h.ServeHTTP(&w, r)
		require.Truef(b, w.status == http.StatusOK && len(w.header["Set-Cookie"]) == set,
			"status %d, header %v", w.status, w.header)
	}
}

// response is a ResponseWriter that takes no time.
type response struct {
	header http.Header
	status int
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkPasswordSignIn is a sign-in with a password, which makes a database
// session, and argon2id with the default settings. Its baseline is one argon2id hash
// with the same settings. The two run in turns, and processor time is measured.
func BenchmarkPasswordSignIn(b *testing.B) {
	const kib, passes, threads = 19456, 2, 1
	b.Run(fmt.Sprintf("argon2id,m=%d,t=%d,p=%d", kib, passes, threads), func(b *testing.B) {
		s := newPasswordSite(b, func(_ *passwordSite, c *auth.Config, p *pw.Settings) { c.Logger, p.Hashing = nil, pw.Options{} })
		id := s.member("ada@example.com", goodPassword)
		if stored := s.stored(id).Hash; !strings.Contains(stored, fmt.Sprintf("$m=%d,t=%d,p=%d$", kib, passes, threads)) {
			b.Fatalf("the default settings are those of %.40s", stored)
		}
		browser := s.browser()
		inTurns(b, 1, func() {
			if r := s.signIn(browser, "ada@example.com", goodPassword); r.location() != origin {
				b.Fatalf("sent to %s", r.location())
			}
		}, func() { argon2.IDKey([]byte(goodPassword), []byte(benchSecret), passes, kib, threads, 32) })
	})
}
