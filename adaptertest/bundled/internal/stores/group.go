package stores

import (
	"context"

	"github.com/testcontainers/testcontainers-go"
)

// A group is servers that know each other. Each runs the script of a shell, in its own container.
type group struct {
	name, image string
	script      string
	size        int
	arguments   func(i int, ports []int) []string // of the script, for server i
	url         func(addr string) string
	version     func(ctx context.Context, location string) (name, version string, err error)
}

// startGroup starts the servers and awaits them. The URL is that of the first.
func (s *Stores) startGroup(ctx context.Context, g group) (*Store, error) {
	members, err := s.engine.runGroup(ctx, g.name, g.image, g.size, func(i int, ports []int) memberSpec {
		command := append([]string{"-c", g.script, "group"}, g.arguments(i, ports)...)
		return memberSpec{g.image, []testcontainers.ContainerCustomizer{testcontainers.WithEntrypoint("sh"), testcontainers.WithCmd(command...)}}
	})
	if err != nil {
		return nil, err
	}
	store := &Store{Name: g.name, Members: members, version: g.version}
	for _, m := range members {
		store.Addrs = append(store.Addrs, m.Addr)
		store.locations = append(store.locations, g.url(m.Addr))
	}
	store.URL = store.locations[0]
	return store, store.Await(ctx)
}
