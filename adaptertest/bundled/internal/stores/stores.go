package stores

import (
	"context"
	"errors"
	"os"
	"slices"
	"sync"
)

// EnvSkip is a variable. If it is 1, a run is allowed although stores are missing. A program that reads it must print
// what it leaves out.
const EnvSkip = "GATEHOUSE_SKIP_STORES"

// ErrUnavailable is matched by the error for a server that is not available on this machine, for example a
// version that only a registry has.
var ErrUnavailable = errors.New("not available here")

// A Stores finds servers, and keeps the servers that it started until Close. It searches for each kind once. It is safe for
// concurrent use.
type Stores struct {
	options Options
	engine  engine

	mu    sync.Mutex
	found map[Kind]*once
}

// Options change the servers that are started.
type Options struct {
	// Fast servers don't wait for the disk. They lose no data when they are killed; they lose data only when the machine
	// stops.
	Fast bool
	// Disk is the size of the disk of MariaDB and MySQL, which is then in memory, for example "220m".
	Disk string
	// Arguments are further arguments of MariaDB and MySQL.
	Arguments []string
}

// Open returns a Stores that has started nothing yet.
//
// If the image of testcontainers' reaper can't be pulled, the first search switches the reaper off by setting
// TESTCONTAINERS_RYUK_DISABLED in the environment of this process. Then the next run removes the containers of runs that
// were killed.
func Open(o Options) *Stores { return &Stores{options: o} }

// Find returns the server of a kind: the server that the environment names, or one that it starts. Servers that are not
// fast flush each write to disk before they acknowledge it. The error matches ErrUnavailable if this machine can't offer
// the version.
func (s *Stores) Find(ctx context.Context, k Kind) (*Store, error) {
	what, version, err := k.split()
	if err != nil {
		return nil, err
	}
	return s.remember(k).do(func() (*Store, error) {
		if location := os.Getenv(what.variable); location != "" {
			return external(ctx, what, location)
		}
		ctx, cancel := context.WithTimeout(ctx, startWithin)
		defer cancel()
		return what.start(s, ctx, version)
	})
}

func (s *Stores) remember(k Kind) *once {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		s.found = map[Kind]*once{}
	}
	if s.found[k] == nil {
		s.found[k] = new(once)
	}
	return s.found[k]
}

// Postgres returns the server of KindPostgres.
func (s *Stores) Postgres(ctx context.Context) (*Store, error) { return s.Find(ctx, KindPostgres) }

// PgBouncer returns the server of KindPgBouncer.
func (s *Stores) PgBouncer(ctx context.Context) (*Store, error) { return s.Find(ctx, KindPgBouncer) }

// Redis returns the server of KindRedis.
func (s *Stores) Redis(ctx context.Context) (*Store, error) { return s.Find(ctx, KindRedis) }

// RedisCluster returns the servers of KindRedisCluster. They announce the addresses in Addrs, so a client that dials
// through proxies maps these addresses one by one.
func (s *Stores) RedisCluster(ctx context.Context) (*Store, error) {
	return s.Find(ctx, KindRedisCluster)
}

// Mongo returns the server of KindMongo.
func (s *Stores) Mongo(ctx context.Context) (*Store, error) { return s.Find(ctx, KindMongo) }

// Environment finds the servers concurrently, and returns the variables that name them to another process. The error names
// every server that is missing; the variables of the other servers are returned nevertheless.
func (s *Stores) Environment(ctx context.Context, kinds ...Kind) (env []string, err error) {
	found := make([]string, len(kinds))
	errs := make([]error, len(kinds))
	var wg sync.WaitGroup
	for i, k := range kinds {
		wg.Go(func() {
			store, err := s.Find(ctx, k)
			if err != nil {
				errs[i] = err
				return
			}
			what, _, _ := k.split() // Find knows it
			found[i] = what.variable + "=" + store.location()
		})
	}
	wg.Wait()
	return slices.DeleteFunc(found, func(v string) bool { return v == "" }), errors.Join(errs...)
}

// Close removes every container that this Stores started.
func (s *Stores) Close(ctx context.Context) error { return s.engine.close(ctx) }

// once remembers the outcome of the first search.
type once struct {
	mu    sync.Mutex
	done  bool
	store *Store
	err   error
}

func (o *once) do(find func() (*Store, error)) (*Store, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done {
		o.store, o.err = find()
		o.done = true
	}
	return o.store, o.err
}
