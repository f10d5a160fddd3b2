package wirings

import (
	"context"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// redisWiring is one way to reach Redis.
type redisWiring struct {
	name   string
	needs  stores.Kind
	find   func(*stores.Stores, context.Context) (*stores.Store, error)
	server func(*stores.Store) redistest.Server
}

func redisWirings() []Wiring {
	var all []Wiring
	for _, w := range []redisWiring{
		{"one server", stores.KindRedis, (*stores.Stores).Redis, oneRedis},
		{"cluster of three", stores.KindRedisCluster, (*stores.Stores).RedisCluster, redisCluster},
	} {
		all = append(all, Wiring{Adapter: "redis", Name: w.name, Needs: []stores.Kind{w.needs}, open: w.open})
	}
	return all
}

func oneRedis(s *stores.Store) redistest.Server     { return redistest.URL(s.URL, 0) }
func redisCluster(s *stores.Store) redistest.Server { return redistest.Cluster(s.Addrs...) }

func (w redisWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	store, err := w.find(s, ctx)
	if err != nil {
		return nil, err
	}
	env, err := redistest.Open(w.server(store))
	if err != nil {
		return nil, err
	}
	return &Opened{Server: store.Name, Version: store.Version, Store: store, Harness: env.Harness(), close: env.Close}, nil
}
