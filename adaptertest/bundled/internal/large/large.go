// Package large measures the bundled adapters over many records, each together with hand-written code for the
// same work in the same run.
package large

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// A Store is one adapter over a server or file of its own.
type Store struct {
	Name    string // the kind that Open got
	Server  string // the product that keeps the records, with its version
	Adapter interface {
		adapter.Adapter
		adapter.Sweeper
	}
	Hand Hand
	// AddUsers stores the users with the numbers from from to to-1, each with one session. AddSessions stores many sessions
	// of one user. Both may write to the store without the adapter, if they store the same records as the adapter would.
	AddUsers    func(ctx context.Context, r *Records, from, to int) error
	AddSessions func(ctx context.Context, r *Records, userID string, n int) error
	// Size returns the size of all records in bytes.
	Size func(ctx context.Context) (int64, error)

	close []func(ctx context.Context) error
}

// A Hand is the comparison by hand of a store, in the package of its adapter for tests. It does the same work as the
// measured methods, on the same records. An absent record is nil.
type Hand interface {
	GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error)
	GetUserByEmail(ctx context.Context, email string) (*adapter.User, error)
	CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error)
	UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error)
	adapter.Sweeper // deletes all at once
}

// Records are the users, and one session of each.
type Records struct {
	// Start is the time of the run. A tenth of the sessions, the first, expires a day later; another tenth, the second, two
	// days later; the others a month later.
	Start time.Time
	// ids are the IDs of users where the adapter assigned them.
	ids []string
}

const day = 24 * time.Hour

// The instants by which the first and the second tenth of the sessions have expired, after the start of the run.
const (
	afterFirst  = day + day/2
	afterSecond = 2*day + day/2
)

func (r *Records) token(n int) string { return fmt.Sprintf("session-%032d", n) }

func (r *Records) email(n int) string { return fmt.Sprintf("somebody.%d@example.com", n) }

func (r *Records) expires(n int) time.Time {
	days := 30
	if n%10 < 2 {
		days = n%10 + 1
	}
	return r.Start.Add(time.Duration(days) * day).UTC().Truncate(time.Second)
}

func (r *Records) id(n int) string {
	if r.ids != nil {
		return r.ids[n]
	}
	return fmt.Sprintf("%024x", n+1)
}

// Kinds are the kinds of stores that Open accepts.
func Kinds() []string { return []string{"memory", "sqlite", "postgres", "redis", "mongo", "mysql"} }

// Open makes a store ready, on a server that s finds or starts.
func Open(ctx context.Context, s *stores.Stores, kind string) (*Store, error) {
	switch kind {
	case "memory":
		return openMemory(), nil
	case "sqlite":
		return openSQLite(ctx)
	case "postgres":
		return openPostgres(ctx, s)
	case "redis":
		return openRedis(ctx, s)
	case "mongo":
		return openMongo(ctx, s)
	case "mysql":
		return openMySQL(ctx, s)
	default:
		return nil, fmt.Errorf("large: %q is not a store; the stores are %q", kind, Kinds())
	}
}

// Close removes the records of the store.
func (s *Store) Close(ctx context.Context) (err error) {
	for _, f := range s.close {
		err = cmp.Or(err, f(ctx))
	}
	return err
}
