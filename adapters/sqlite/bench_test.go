package sqlite_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gatehouse-go/gatehouse/adapters/sqlite"
)

// BenchmarkGetSessionAndUser measures the lookup of random sessions and, call
// by call in turn, its floor: the same join, prepared by hand with the same
// driver. Their medians and the ratio are reported.
func BenchmarkGetSessionAndUser(b *testing.B) {
	for _, w := range wirings {
		for _, sessions := range []int{1_000, 100_000, 1_000_000} {
			b.Run(fmt.Sprintf("%s/sessions=%d", w.name, sessions), func(b *testing.B) {
				if sessions > 100_000 && testing.Short() {
					b.Skip("a million sessions take a while to write")
				}
				a, db := populated(b, w, sessions)
				ctx := b.Context()
				floor, err := db.PrepareContext(ctx, `
					SELECT u.id, u.name, u.email, u.emailVerified, u.image, s.sessionToken, s.expires
					FROM "session" s JOIN "user" u ON u.id = s.userId
					WHERE s.sessionToken = ?`)
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = floor.Close() }()
				var adapterTimes, floorTimes []time.Duration
				for b.Loop() {
					token := sessionToken(rand.IntN(sessions))
					start := time.Now()
					got, err := a.GetSessionAndUser(ctx, token)
					adapterTimes = append(adapterTimes, time.Since(start))
					if err != nil || got == nil {
						b.Fatal(got, err)
					}

					token = sessionToken(rand.IntN(sessions))
					start = time.Now()
					var id, email, sessionToken string
					var name, image sql.NullString
					var verified sql.NullInt64
					var expires int64
					err = floor.QueryRowContext(ctx, token).Scan(&id, &name, &email, &verified, &image, &sessionToken, &expires)
					floorTimes = append(floorTimes, time.Since(start))
					if err != nil {
						b.Fatal(err)
					}
				}
				ours, floors := median(adapterTimes), median(floorTimes)
				b.ReportMetric(0, "ns/op") // of both together: of no interest
				b.ReportMetric(float64(ours), "ns/call")
				b.ReportMetric(float64(floors), "ns/floor")
				b.ReportMetric(float64(ours)/float64(floors), "ratio")
			})
		}
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func sessionToken(n int) string { return fmt.Sprintf("%032x-token", n) }

// populated returns an adapter over a new file with sessions of half as many
// users.
func populated(b *testing.B, w wiring, sessions int) (*sqlite.Adapter, *sql.DB) {
	db := w.openDB(b, filepath.Join(b.TempDir(), "bench.db"))
	a := newAdapter(b, db)
	run(b, db, `
		INSERT INTO "user" (id, name, email, emailVerified, image)
		WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?)
		SELECT printf('user-%032x', n), 'Name ' || n, n || '@example.com', 1700000000000 + n, 'https://example.com/' || n FROM n`, max(1, sessions/2))
	run(b, db, `
		INSERT INTO "session" (sessionToken, userId, expires)
		WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ?)
		SELECT printf('%032x-token', n), printf('user-%032x', n / 2), 1900000000000 + n FROM n`, sessions)
	return a, db
}
