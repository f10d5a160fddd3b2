package stores

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
)

// The environment variables that name servers which run already.
const (
	EnvPostgres     = "GATEHOUSE_POSTGRES_URL"  // postgres://user:password@host:port/database
	EnvPgBouncer    = "GATEHOUSE_PGBOUNCER_URL" // the same, of a PgBouncer in transaction mode
	EnvRedis        = "GATEHOUSE_REDIS_URL"     // redis://host:port/0
	EnvRedisCluster = "GATEHOUSE_REDIS_CLUSTER" // host:port,host:port,host:port
	EnvMongo        = "GATEHOUSE_MONGO_URL"     // mongodb://host:port/
	EnvMongoReplica = "GATEHOUSE_MONGO_REPLICA_URL"
)

// A Kind is a kind of server.
type Kind string

// The kinds of servers.
const (
	KindPostgres     Kind = "postgres"
	KindPgBouncer    Kind = "pgbouncer"
	KindRedis        Kind = "redis"
	KindRedisCluster Kind = "cluster"
	KindMongo        Kind = "mongo"
	KindMongoReplica Kind = "replica"
)

// EnvSkip set to 1 allows a run in which stores are missing. Whoever reads it says out loud what was left out.
const EnvSkip = "GATEHOUSE_SKIP_STORES"

// ErrUnavailable is matched by the error of a store that this machine can't offer, for example a MongoDB replica set
// where no registry is reachable.
var ErrUnavailable = errors.New("not available here")

// A Stores finds servers and keeps what it started until Close. It is safe for concurrent use; a store that was found
// once is found again without work.
type Stores struct {
	postgres, pgbouncer, redis, cluster, mongo, replica once

	options Options
	engine  engine
}

// Options change the servers that are started.
type Options struct {
	// Fast servers don't wait for the disk. They lose nothing when they are killed, only when the machine is.
	Fast bool
}

// Open returns a Stores that has started nothing yet.
//
// Where the reaper of testcontainers can't be pulled it is switched off, by TESTCONTAINERS_RYUK_DISABLED in the
// environment of this process; containers of runs that were killed are then removed by the next run.
func Open(o Options) *Stores { return &Stores{options: o} }

// Postgres returns a PostgreSQL server. Unless it is fast, it flushes every commit to disk.
func (s *Stores) Postgres(ctx context.Context) (*Store, error) {
	return s.postgres.do(func() (*Store, error) {
		if url := os.Getenv(EnvPostgres); url != "" {
			return external(ctx, "PostgreSQL", url, nil, versionOfPostgres)
		}
		return s.startPostgres(ctx)
	})
}

// PgBouncer returns a PgBouncer in transaction mode in front of the server of Postgres.
func (s *Stores) PgBouncer(ctx context.Context) (*Store, error) {
	return s.pgbouncer.do(func() (*Store, error) {
		if url := os.Getenv(EnvPgBouncer); url != "" {
			return external(ctx, "PgBouncer", url, nil, versionOfPgBouncer)
		}
		return s.startPgBouncer(ctx)
	})
}

// Redis returns a Redis server that appends every write to its log before it answers, and unless it is fast flushes that
// to disk.
func (s *Stores) Redis(ctx context.Context) (*Store, error) {
	return s.redis.do(func() (*Store, error) {
		if url := os.Getenv(EnvRedis); url != "" {
			return external(ctx, "Redis", url, nil, versionOfRedis)
		}
		return s.startRedis(ctx)
	})
}

// RedisCluster returns a cluster of three Redis servers without replicas. The addresses that the servers announce are
// those in Addrs, so a client that dials through proxies maps them one by one.
func (s *Stores) RedisCluster(ctx context.Context) (*Store, error) {
	return s.cluster.do(func() (*Store, error) {
		if addrs := os.Getenv(EnvRedisCluster); addrs != "" {
			list := strings.Split(addrs, ",")
			return external(ctx, "Redis Cluster", "redis://"+list[0]+"/0", list, versionOfRedis)
		}
		return s.startRedisCluster(ctx)
	})
}

// Mongo returns a server of MongoDB's wire protocol: MongoDB where a registry is reachable, else FerretDB over SQLite.
func (s *Stores) Mongo(ctx context.Context) (*Store, error) {
	return s.mongo.do(func() (*Store, error) {
		if url := os.Getenv(EnvMongo); url != "" {
			return external(ctx, "MongoDB", url, nil, versionOfMongo)
		}
		return s.startMongo(ctx)
	})
}

// MongoReplicaSet returns a MongoDB replica set of one member, reached directly. The error matches ErrUnavailable where
// no image of MongoDB can be had.
func (s *Stores) MongoReplicaSet(ctx context.Context) (*Store, error) {
	return s.replica.do(func() (*Store, error) {
		if url := os.Getenv(EnvMongoReplica); url != "" {
			return external(ctx, "MongoDB replica set", url, nil, versionOfMongo)
		}
		return s.startMongoReplicaSet(ctx)
	})
}

// Find returns the server of a kind.
func (s *Stores) Find(ctx context.Context, k Kind) (*Store, error) {
	_, find := s.kind(k)
	if find == nil {
		return nil, fmt.Errorf("stores: %q is no kind of server", k)
	}
	return find(ctx)
}

func (s *Stores) kind(k Kind) (variable string, find func(context.Context) (*Store, error)) {
	switch k {
	case KindPostgres:
		return EnvPostgres, s.Postgres
	case KindPgBouncer:
		return EnvPgBouncer, s.PgBouncer
	case KindRedis:
		return EnvRedis, s.Redis
	case KindRedisCluster:
		return EnvRedisCluster, s.RedisCluster
	case KindMongo:
		return EnvMongo, s.Mongo
	case KindMongoReplica:
		return EnvMongoReplica, s.MongoReplicaSet
	default:
		return "", nil
	}
}

// Environment finds the servers, side by side, and returns the variables that name them to another process. The error
// names every server that is missing; the variables of the others are returned all the same.
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
			variable, _ := s.kind(k)
			found[i] = variable + "=" + store.URL
			if k == KindRedisCluster {
				found[i] = variable + "=" + strings.Join(store.Addrs, ",")
			}
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
