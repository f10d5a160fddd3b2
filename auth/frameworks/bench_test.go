//go:build unix

package frameworks_test

import (
	"log/slog"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/auth"
	"github.com/gatehouse-go/gatehouse/auth/frameworks"
	"github.com/gatehouse-go/gatehouse/auth/jwt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// BenchmarkMiddleware measures a request through Middleware.Load whose handler
// reads the session from the context. Its baseline is Handler.Refresh of the
// same request. The two run in turns. Only processor time is measured, so that
// other work on the machine has no effect. x-baseline is the median of the
// ratios of twenty pairs.
func BenchmarkMiddleware(b *testing.B) {
	token, err := jwt.Encode(jwt.EncodeParams{Token: auth.Claims{"sub": "u", "name": "Ada Lovelace", "email": "ada@example.com"}, Secrets: []string{secret}, Salt: jwt.CookieName})
	require.NoError(b, err)
	for name, cookie := range map[string]string{"session": jwt.CookieName + "=" + token, "anonymous": ""} {
		b.Run(name, func(b *testing.B) {
			load, refresh := benchRequests(b, cookie)
			const pairs, turns, turn = 20, 20, 50
			for b.Loop() {
				var ratios []float64
				var ours, baseline time.Duration
				for range pairs {
					var x, y time.Duration
					for range turns {
						x, y = x+used(b, turn, load), y+used(b, turn, refresh)
					}
					ours, baseline = ours+x, baseline+y
					ratios = append(ratios, float64(x)/float64(y))
				}
				slices.Sort(ratios)
				b.ReportMetric((ratios[pairs/2-1]+ratios[pairs/2])/2, "x-baseline")
				b.ReportMetric(float64(ours.Nanoseconds())/(pairs*turns*turn), "ns/op")
				b.ReportMetric(float64(baseline.Nanoseconds())/(pairs*turns*turn), "baseline-ns/op")
			}
			b.ReportMetric(testing.AllocsPerRun(100, load), "allocs/op")
			b.ReportMetric(testing.AllocsPerRun(100, refresh), "baseline-allocs/op")
		})
	}
}

// used returns the processor time that n calls take.
func used(b *testing.B, n int, f func()) time.Duration {
	began := cpuTime(b)
	for range n {
		f()
	}
	return cpuTime(b) - began
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchRequests returns the request through the middleware, and the baseline.
func benchRequests(t testing.TB, cookie string) (load, refresh func()) {
	config := auth.Config{Secret: []string{secret}, URL: "http://localhost", Logger: slog.New(slog.DiscardHandler)}
	h := must(auth.New(config))(t)
	m := must(frameworks.MiddlewareAuth(config))(t)
	r := must(http.NewRequest(http.MethodGet, "/", nil))(t)
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	page := m.Load(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		s, err := auth.FromContext(r.Context())
		require.Equalf(t, cookie != "", err == nil && s.User.ID == "u", "got %v, %v", s, err)
	}))
	w := headerOf{}
	return func() { page.ServeHTTP(w, r) }, func() {
		s, err := h.Refresh(w, r)
		require.Truef(t, err == nil && (s != nil) == (cookie != ""), "got %v, %v", s, err)
	}
}

// headerOf is a ResponseWriter that discards the body.
type headerOf http.Header

func (h headerOf) Header() http.Header       { return http.Header(h) }
func (headerOf) WriteHeader(int)             {}
func (headerOf) Write(p []byte) (int, error) { return len(p), nil }

// TestAnonymousRequestAllocates checks that a request allocates two objects
// more than the core: the context, and the request with that context.
func TestAnonymousRequestAllocates(t *testing.T) {
	load, refresh := benchRequests(t, "")
	ours, baseline := testing.AllocsPerRun(100, load), testing.AllocsPerRun(100, refresh)
	assert.Truef(t, !(ours > baseline+2), "%v allocations, the core has %v, want at most two more", ours, baseline)
}
