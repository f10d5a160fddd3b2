package peers

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/scs/pgxstore"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/gatehouse-go/gatehouse/adapters/postgres"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

const (
	sessions   = 10_000
	interopDir = "../../../../interop/pg"
)

// BenchmarkSessionRead reads one of 10,000 sessions, each time another one. The
// adapter and scs take turns and are compared by medians; scs reads a blob and
// leaves the user and the decoding to its caller. @auth/pg-adapter runs in Node
// on the tables of the adapter, and makes two queries.
func BenchmarkSessionRead(b *testing.B) {
	url := os.Getenv("GATEHOUSE_POSTGRES_URL")
	if url == "" {
		b.Fatal("GATEHOUSE_POSTGRES_URL is not set: this benchmark needs a PostgreSQL server where it may create a schema")
	}
	ctx := b.Context()
	schema := "gatehouse_" + strings.ToLower(rand.Text())
	pool, scsPool := openIn(b, url, schema), openIn(b, url, schema+"_scs")
	run := func(pool *pgxpool.Pool, sql string, args ...any) {
		b.Helper()
		if _, err := pool.Exec(ctx, sql, args...); err != nil {
			b.Fatal(err)
		}
	}
	a, err := postgres.New(pool)
	if err != nil {
		b.Fatal(err)
	}
	if err := a.EnsureSchema(ctx); err != nil {
		b.Fatal(err)
	}
	user, err := a.CreateUser(ctx, adapter.User{Name: new("Ada"), Email: "ada@example.com"})
	if err != nil {
		b.Fatal(err)
	}
	run(pool, `INSERT INTO sessions ("sessionToken", "userId", expires) SELECT md5(n::text), $1::text, now() + interval '1 hour' FROM generate_series(1, $2::int) AS n`, user.ID, sessions)
	run(scsPool, `CREATE TABLE sessions (token text PRIMARY KEY, data bytea NOT NULL, expiry timestamptz NOT NULL)`)
	run(scsPool, `INSERT INTO sessions SELECT md5(n::text), $1::bytea, now() + interval '1 hour' FROM generate_series(1, $2::int) AS n`, []byte(user.ID), sessions)
	run(pool, `ANALYZE`)
	scs := pgxstore.NewWithCleanupInterval(scsPool, 0)
	rows, err := scsPool.Query(ctx, `SELECT token FROM sessions ORDER BY md5(token)`)
	if err != nil {
		b.Fatal(err)
	}
	tokens, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.Fatal(err)
	}

	b.Run("in Go", func(b *testing.B) {
		n := 0
		next := func() string { n++; return tokens[n%len(tokens)] }
		measure := func(read func(token string) (bool, error)) time.Duration {
			token, start := next(), time.Now()
			found, err := read(token)
			if took := time.Since(start); err == nil && found {
				return took
			}
			b.Fatalf("session %s: found %v, %v", token, found, err)
			return 0
		}
		ours := func(token string) (bool, error) { s, err := a.GetSessionAndUser(ctx, token); return s != nil, err }
		theirs := func(token string) (bool, error) { _, found, err := scs.Find(token); return found, err }
		var adapterTimes, scsTimes []time.Duration
		for b.Loop() {
			if n%4 == 0 {
				adapterTimes, scsTimes = append(adapterTimes, measure(ours)), append(scsTimes, measure(theirs))
			} else {
				scsTimes, adapterTimes = append(scsTimes, measure(theirs)), append(adapterTimes, measure(ours))
			}
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(median(adapterTimes), "adapter-ns/op")
		b.ReportMetric(median(scsTimes), "scs-ns/op")
	})

	b.Run("auth.js in Node", func(b *testing.B) {
		bin, err := exec.LookPath("node")
		if err != nil {
			b.Skip("NOT MEASURED: node is not in the PATH")
		}
		if _, err := os.Stat(interopDir + "/node_modules/@auth/pg-adapter"); err != nil {
			b.Skip("NOT MEASURED: run npm ci in interop/pg")
		}
		calls := max(b.N, 1000)
		cmd := exec.CommandContext(ctx, bin, "bench.mjs", url, schema, strconv.Itoa(calls))
		cmd.Dir = interopDir
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		var result struct{ Median float64 }
		if err := json.Unmarshal(out, &result); err != nil {
			b.Fatal(fmt.Errorf("%w: %s", err, out))
		}
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(result.Median, "pg-adapter-ns/op")
	})
}

// openIn opens a pool on a schema that it makes, and drops at the end.
func openIn(b *testing.B, url, schema string) *pgxpool.Pool {
	b.Helper()
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		b.Fatal(err)
	}
	config.ConnConfig.RuntimeParams["search_path"] = schema
	pool, err := pgxpool.NewWithConfig(b.Context(), config)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if _, err := pool.Exec(context.Background(), `DROP SCHEMA `+schema+` CASCADE`); err != nil {
			b.Error(err)
		}
		pool.Close()
	})
	if _, err := pool.Exec(b.Context(), `CREATE SCHEMA `+schema); err != nil {
		b.Fatal(err)
	}
	return pool
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2])
}
