package large

import (
	"context"
	"strconv"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func openRedis(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Find(ctx, stores.KindRedis)
	if err != nil {
		return nil, err
	}
	env, err := redistest.Open(redistest.URL(server.URL, 3))
	if err != nil {
		return nil, err
	}
	a, err := redis.New(env.Admin, redis.WithPrefix(env.Prefix))
	if err != nil {
		return nil, err
	}
	if err := a.EnsureScripts(ctx); err != nil {
		return nil, err
	}
	hand, err := redistest.NewBaseline(ctx, env.Admin, env.Prefix)
	if err != nil {
		return nil, err
	}
	s := &Store{Name: "redis", Server: server.Name + " " + server.Version, Adapter: a, Hand: hand, close: []func(context.Context) error{env.Close}}
	s.byAdapter()
	s.Size = func(ctx context.Context) (int64, error) {
		memory, err := env.Admin.InfoMap(ctx, "memory").Result()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(memory["Memory"]["used_memory"], 10, 64)
	}
	return s, nil
}
