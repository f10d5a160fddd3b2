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
	found map[Kind]func() (*Store, error) // of the first search
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
func Open(o Options) *Stores { return &Stores{options: o, found: map[Kind]func() (*Store, error){}} }

// Find returns the server of a kind: the server that the environment names, or one that it starts. Servers that are not
// fast flush each write to disk before they acknowledge it. The error matches ErrUnavailable if this machine can't offer
// the version.
func (s *Stores) Find(ctx context.Context, k Kind) (*Store, error) {
	what, version, err := k.split()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.found[k] == nil {
		s.found[k] = sync.OnceValues(func() (*Store, error) {
			if location := os.Getenv(what.variable); location != "" {
				return external(ctx, what, location)
			}
			ctx, cancel := context.WithTimeout(ctx, startWithin)
			defer cancel()
			return what.start(s, ctx, version)
		})
	}
	find := s.found[k]
	s.mu.Unlock()
	return find()
}

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
