package stores

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"syscall"
	"time"
)

// A Store is a server that answers.
type Store struct {
	// Name and Version are what the server says that it is, for example "PostgreSQL" and "17.2".
	Name, Version string
	// URL is what a client on this machine connects to. For a cluster it names the first node.
	URL string
	// Addrs holds the host:port of every node; one, unless the store is a cluster.
	Addrs []string

	container *runningContainer
	version   func(ctx context.Context, url string) (name, version string, err error)
}

// Ours reports whether the run started this server, so that Kill and Start can be used on it.
func (s *Store) Ours() bool { return s.container != nil }

// Kill ends the server with SIGKILL, all nodes of a cluster at once, and returns when it is gone and nobody listens at its
// addresses. Its data stays.
func (s *Store) Kill(ctx context.Context) error {
	if s.container == nil {
		return errors.New("stores: only a server that this run started can be killed")
	}
	if err := s.container.kill(ctx); err != nil {
		return err
	}
	for _, addr := range s.Addrs {
		if err := awaitRefusal(ctx, addr); err != nil {
			return err
		}
	}
	return nil
}

// awaitRefusal returns when nobody listens at addr: the engine says that a container has stopped a moment before it stops
// to accept connections for it.
func awaitRefusal(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		if errors.Is(err, syscall.ECONNREFUSED) {
			return nil
		}
		if err == nil {
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stores: the server at %s was killed, and connections are still accepted there", addr)
		case <-tick.C:
		}
	}
}

// Start brings a killed server back at the same address and returns when it answers.
func (s *Store) Start(ctx context.Context) error {
	if s.container == nil {
		return errors.New("stores: only a server that this run started can be started")
	}
	if err := s.container.start(ctx); err != nil {
		return err
	}
	return s.await(ctx)
}

// answerWithin bounds the wait for a server that starts. A slow disk and a busy machine must fit.
const answerWithin = 2 * time.Minute

// await returns when the server has told its version, and sets Name and Version. A server that has ended is not waited for.
func (s *Store) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		attempt, stop := context.WithTimeout(ctx, 5*time.Second)
		name, version, err := s.version(attempt, s.URL)
		stop()
		if err == nil {
			s.Name, s.Version = name, version
			return nil
		}
		if ended := s.container.ended(ctx); ended != nil {
			return fmt.Errorf("stores: %s at %v: %w%s", s.Name, s.Addrs, ended, lastWords(ctx, s.container))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stores: %s does not answer at %v: %w%s", s.Name, s.Addrs, err, lastWords(context.WithoutCancel(ctx), s.container))
		case <-tick.C:
		}
	}
}

// external describes a server that somebody else runs.
func external(ctx context.Context, name, rawURL string, addrs []string,
	version func(context.Context, string) (string, string, error),
) (*Store, error) {
	if addrs == nil {
		u, err := url.Parse(rawURL)
		if err != nil {
			return nil, fmt.Errorf("stores: %s: the URL in the environment can't be parsed", name)
		}
		addrs = []string{u.Host}
	}
	attempt, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	found, number, err := version(attempt, rawURL)
	if err != nil {
		return nil, fmt.Errorf("stores: %s at %v, as the environment says: %w", name, addrs, err)
	}
	return &Store{Name: found, Version: number, URL: rawURL, Addrs: addrs, version: version}, nil
}
