package memory_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/memory"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
	"github.com/stretchr/testify/require"
)

var mostSessions = flag.Int("most-sessions", 100_000, "BenchmarkSessions goes up to this many")

// BenchmarkAdapter measures every method. There is no baseline: no client library
// lies below this adapter.
func BenchmarkAdapter(b *testing.B) {
	bench.Run(b, adaptertest.Harness{New: func(testing.TB) adapter.Adapter { return memory.New() }}, nil)
}

func sessionToken(n int) string { return fmt.Sprintf("%032x-token", n) }

// populated returns an adapter with the sessions of half as many users, and the
// bytes of heap that one user and one session take.
func populated(b *testing.B, sessions int) (a *memory.Adapter, users, perSession float64) {
	b.Helper()
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc)
	}
	a = memory.New()
	ids := make([]string, max(1, sessions/2))
	start := heap()
	for i := range ids {
		u, err := a.CreateUser(b.Context(), adapter.User{Name: new("Name"), Email: fmt.Sprintf("%d@example.com", i), EmailVerified: new(time.Now()), Image: new("https://example.com/1")})
		require.NoError(b, err)
		ids[i] = u.ID
	}
	withUsers := heap()
	for i := range sessions {
		must(a.CreateSession(b.Context(), adapter.Session{SessionToken: sessionToken(i), UserID: ids[i/2%len(ids)], Expires: time.Now()}))(b)
	}
	return a, (withUsers - start) / float64(len(ids)), (heap() - withUsers) / float64(sessions)
}

// BenchmarkSessions looks random sessions up from all processors at once.
// B/session is the memory that one session with a token of 38 bytes takes.
func BenchmarkSessions(b *testing.B) {
	for _, sessions := range []int{1_000, 100_000, 1_000_000} {
		if sessions > *mostSessions {
			break
		}
		b.Run(fmt.Sprintf("sessions=%d", sessions), func(b *testing.B) {
			a, perUser, perSession := populated(b, sessions)
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if got, err := a.GetSessionAndUser(b.Context(), sessionToken(rand.IntN(sessions))); err != nil || got == nil {
						b.Error(got, err)
						return
					}
				}
			})
			b.ReportMetric(perUser, "B/user")
			b.ReportMetric(perSession, "B/session")
			runtime.KeepAlive(a)
		})
	}
}

// BenchmarkDeleteExpired sweeps a hundred thousand sessions, none of which has
// expired.
func BenchmarkDeleteExpired(b *testing.B) {
	a, _, _ := populated(b, 100_000)
	for b.Loop() {
		if got, err := a.DeleteExpired(b.Context(), time.Unix(0, 0)); err != nil || got.Sessions != 0 {
			b.Fatal(got, err)
		}
	}
}
