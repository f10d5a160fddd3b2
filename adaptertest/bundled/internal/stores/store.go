package stores

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/testcontainers/testcontainers-go"
)

// A Store is one server that is ready, or several servers that work together.
type Store struct {
	// Name and Version are what the server reports, for example "PostgreSQL" and "17.2".
	Name, Version string
	// URL is the URL for a client on this machine. If the store has several servers, the URL names all of them if it can,
	// and otherwise the first one.
	URL string
	// Addrs holds the host:port of every server that clients connect to.
	Addrs []string
	// Members are the servers of a group, one by one. A single server has none.
	Members []*Member
	// Roots has the certificates with which a client checks the server's certificate; nil means the certificates of the
	// machine.
	Roots *x509.CertPool

	container *runningContainer
	// locations has the parts of the value of the environment variable that names the store. If it is nil, the value is
	// the URL.
	locations []string
	version   func(ctx context.Context, location string) (name, version string, err error)
}

// serverAt runs a server that listens at a port of its container, and awaits it. The URL has %s in place of the address.
func (s *Stores) serverAt(
	ctx context.Context, name, image string, port int, url string,
	version func(ctx context.Context, location string) (name, version string, err error),
	options ...testcontainers.ContainerCustomizer,
) (*Store, error) {
	c, ports, err := s.engine.run(ctx, name, []int{port}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return testcontainers.Run(ctx, image, append(publish, options...)...)
		})
	if err != nil {
		return nil, err
	}
	addr := loopback(ports[0])
	store := &Store{Name: name, URL: fmt.Sprintf(url, addr), Addrs: []string{addr}, container: c, version: version}
	return store, store.Await(ctx)
}

// A Member is one server of a group.
type Member struct {
	Addr      string
	container *runningContainer
}

// Kill ends the server with SIGKILL and returns when nobody listens at its address. Its data stays.
func (m *Member) Kill(ctx context.Context) error {
	if err := m.container.kill(ctx); err != nil {
		return err
	}
	return awaitRefusal(ctx, m.Addr)
}

// Start brings a killed server back at the same address. It returns before the server answers.
func (m *Member) Start(ctx context.Context) error { return m.container.start(ctx) }

// Ours reports whether this run started the server. Kill and Start work only on such a server.
func (s *Store) Ours() bool { return s.container != nil || len(s.Members) > 0 }

func (s *Store) location() string {
	if s.locations == nil {
		return s.URL
	}
	return strings.Join(s.locations, ",")
}

// containers returns the containers of the servers.
func (s *Store) containers() []*runningContainer {
	if s.container != nil {
		return []*runningContainer{s.container}
	}
	all := make([]*runningContainer, len(s.Members))
	for i, m := range s.Members {
		all[i] = m.container
	}
	return all
}

// Kill ends the server with SIGKILL, or all members of a group at once. It returns when nobody listens at its addresses
// any more. The data of the server stays.
func (s *Store) Kill(ctx context.Context) error {
	if !s.Ours() {
		return errors.New("stores: only a server that this run started can be killed")
	}
	for _, c := range s.containers() {
		if err := c.kill(ctx); err != nil {
			return err
		}
	}
	for _, addr := range s.Addrs {
		if err := awaitRefusal(ctx, addr); err != nil {
			return err
		}
	}
	return nil
}

// awaitRefusal returns when nobody listens at addr. After a container has stopped, the engine still accepts connections for
// it for a moment.
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
			return fmt.Errorf("stores: the server at %s was killed, but still accepts connections", addr)
		case <-tick.C:
		}
	}
}

// Start brings a killed server back at the same address and returns when it answers.
func (s *Store) Start(ctx context.Context) error {
	if !s.Ours() {
		return errors.New("stores: only a server that this run started can be started")
	}
	for _, c := range s.containers() {
		if err := c.start(ctx); err != nil {
			return err
		}
	}
	return s.Await(ctx)
}

// Execute runs a command in the container of a single server that this run started.
func (s *Store) Execute(ctx context.Context, command ...string) error {
	if s.container == nil {
		return errors.New("stores: only in a server that this run started a command can run")
	}
	return s.container.run(ctx, command...)
}

// answerWithin is the longest wait for a server that starts. It is long enough for a slow disk and a busy machine.
const answerWithin = 2 * time.Minute

// Await returns when all servers answer, and the members of a group have found each other: when they have told their
// version. It sets Name and Version. If a container has ended, Await returns an error at once.
func (s *Store) Await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		attempt, stop := context.WithTimeout(ctx, 5*time.Second)
		name, version, err := s.version(attempt, s.location())
		stop()
		if err == nil {
			s.Name, s.Version = name, version
			return nil
		}
		for _, c := range s.containers() {
			if ended := c.ended(ctx); ended != nil {
				return fmt.Errorf("stores: %s at %v: %w%s", s.Name, s.Addrs, ended, lastWords(ctx, c))
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("stores: %s does not answer at %v: %w%s", s.Name, s.Addrs, err, lastWords(context.WithoutCancel(ctx), s.containers()[0]))
		case <-tick.C:
		}
	}
}

// external describes a server that somebody else runs.
func external(ctx context.Context, what kind, location string) (*Store, error) {
	store := &Store{URL: location, Addrs: addresses(location), version: what.version}
	if what.list {
		store.locations = strings.Split(location, ",")
		store.URL = store.locations[0]
	}
	attempt, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	var err error
	if store.Name, store.Version, err = what.version(attempt, location); err != nil {
		return nil, fmt.Errorf("stores: %s at %v, as %s says: %w", what.title, store.Addrs, what.variable, err)
	}
	return store, nil
}

// addresses returns each host:port of a list of URLs or addresses.
func addresses(location string) []string {
	var all []string
	for at := range strings.SplitSeq(location, ",") {
		if _, rest, ok := strings.Cut(at, "://"); ok {
			at = rest
		}
		at = at[strings.LastIndexByte(at, '@')+1:]
		if end := strings.IndexAny(at, "/?"); end >= 0 {
			at = at[:end]
		}
		all = append(all, at)
	}
	return all
}
