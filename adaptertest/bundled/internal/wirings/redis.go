package wirings

import (
	"context"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

// redisWiring is one way to reach Redis.
type redisWiring struct {
	name    string
	needs   stores.Kind
	server  func(*stores.Store) redistest.Server
	options []redis.Option
}

func redisWirings() []Wiring {
	var all []Wiring
	for _, w := range []redisWiring{
		{name: "one server", needs: stores.KindRedis, server: oneRedis(3)},
		{name: "cluster of three", needs: stores.KindRedisCluster, server: redisCluster},
		{name: "Sentinel", needs: stores.KindSentinel, server: redisSentinel},
		{name: "RESP2", needs: stores.KindRedis, server: oneRedis(2)},
		{name: "declared keys", needs: stores.KindRedis, server: oneRedis(3), options: []redis.Option{redis.WithDeclaredKeys()}},
		{name: "Redis 7", needs: stores.KindRedis.Of("7"), server: oneRedis(3)},
		{name: "Valkey 9", needs: stores.KindValkey.Of("9"), server: oneRedis(3)},
		{name: "Valkey 8", needs: stores.KindValkey.Of("8"), server: oneRedis(3)},
		// Only a registry has it. On Dragonfly a script must declare its keys.
		{name: "Dragonfly", needs: stores.KindDragonfly, server: oneRedis(3), options: []redis.Option{redis.WithDeclaredKeys()}},
	} {
		all = append(all, Wiring{Adapter: "redis", Name: w.name, Needs: []stores.Kind{w.needs}, open: w.open})
	}
	return all
}

// oneRedis is one server, with a version of the protocol.
func oneRedis(protocol int) func(*stores.Store) redistest.Server {
	return func(s *stores.Store) redistest.Server { return redistest.URL(s.URL, protocol) }
}

func redisCluster(s *stores.Store) redistest.Server { return redistest.Cluster(s.Addrs...) }

func redisSentinel(s *stores.Store) redistest.Server {
	return redistest.Sentinel("gatehouse", s.Addrs...)
}

func (w redisWiring) open(ctx context.Context, s *stores.Stores) (*Opened, error) {
	store, err := s.Find(ctx, w.needs)
	if err != nil {
		return nil, err
	}
	env, err := redistest.Open(w.server(store), w.options...)
	if err != nil {
		return nil, err
	}
	opened := &Opened{
		Server: store.Name, Version: store.Version, Store: store, Harness: env.Harness(), close: env.Close,
	}
	if w.needs == stores.KindDragonfly {
		withoutSite(&opened.Harness, "the site is made with commands that Dragonfly does not have")
	}
	return opened, nil
}
