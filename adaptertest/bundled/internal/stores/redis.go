package stores

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
	tcredis "github.com/testcontainers/testcontainers-go/modules/redis"
)

// appendfsync says when a server flushes its log to disk. The log itself is written before every answer and survives the
// server; what is flushed survives the machine.
func (s *Stores) appendfsync() string {
	if s.options.Fast {
		return "no"
	}
	return "always"
}

func (s *Stores) startRedis(ctx context.Context) (*Store, error) {
	image, err := s.imageOfRedis(ctx)
	if err != nil {
		return nil, err
	}
	c, ports, err := s.engine.run(ctx, "Redis", []int{6379}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			command := []string{"redis-server", "--protected-mode", "no", "--dir", "/data",
				"--appendonly", "yes", "--appendfsync", s.appendfsync(), "--save", ""}
			return tcredis.Run(ctx, image, append(publish, testcontainers.WithCmd(command...))...)
		})
	if err != nil {
		return nil, err
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	store := &Store{Name: "Redis", URL: "redis://" + addr + "/0", Addrs: []string{addr}, container: c, version: versionOfRedis}
	if err := store.await(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

// clusterScript runs one server per argument after the first, which says when to flush, in one container, so that the
// loopback address which they announce is right for each other and for clients outside. The first start makes them a
// cluster. Later ones find it in what the servers themselves keep: a mark of the script's own would come a moment after
// the cluster works, and be missing if the servers are killed in that moment. Nodes that share a container don't lose
// one another, so the node timeout is long enough for a machine that is too busy to schedule them.
const clusterScript = `
set -eu
fsync=$1
shift
nodes=
for port in "$@"; do
	mkdir -p /data/$port
	redis-server --port $port --cluster-enabled yes --cluster-port $((port + 10000)) --cluster-node-timeout 30000 \
		--cluster-announce-ip 127.0.0.1 --dir /data/$port --protected-mode no \
		--appendonly yes --appendfsync "$fsync" --save "" &
	nodes="$nodes 127.0.0.1:$port"
done
trap 'kill $(jobs -p)' TERM INT
for port in "$@"; do until redis-cli -p $port ping | grep -q PONG; do sleep 0.05; done; done 2>/dev/null
if redis-cli -p $1 cluster info | grep -q cluster_known_nodes:1; then
	redis-cli --cluster create $nodes --cluster-yes
fi
wait
`

func (s *Stores) startRedisCluster(ctx context.Context) (*Store, error) {
	image, err := s.imageOfRedis(ctx)
	if err != nil {
		return nil, err
	}
	c, ports, err := s.engine.run(ctx, "Redis Cluster", make([]int, 3), true,
		func(publish []testcontainers.ContainerCustomizer, ports []int) (testcontainers.Container, error) {
			command := []string{"sh", "-c", clusterScript, "cluster", s.appendfsync()}
			for _, port := range ports {
				command = append(command, strconv.Itoa(port))
			}
			return testcontainers.Run(ctx, image, append(publish, testcontainers.WithCmd(command...))...)
		})
	if err != nil {
		return nil, err
	}
	addrs := make([]string, len(ports))
	for i, port := range ports {
		addrs[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	}
	store := &Store{Name: "Redis Cluster", URL: "redis://" + addrs[0] + "/0", Addrs: addrs, container: c}
	store.version = func(ctx context.Context, _ string) (string, string, error) { return versionOfCluster(ctx, addrs) }
	if err := store.await(ctx); err != nil {
		return nil, err
	}
	return store, nil
}

func (s *Stores) imageOfRedis(ctx context.Context) (string, error) {
	docker, err := s.engine.connect(ctx)
	if err != nil {
		return "", err
	}
	return choose(ctx, docker, ImageRedis, LocalStores)
}

// versionOfRedis asks a Redis server for its version. A server that still loads its data is not ready.
func versionOfRedis(ctx context.Context, url string) (name, version string, err error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return "", "", err
	}
	c := goredis.NewClient(options)
	defer func() { _ = c.Close() }()
	if err := c.Ping(ctx).Err(); err != nil {
		return "", "", err
	}
	info, err := c.Info(ctx, "server").Result()
	if err != nil {
		return "", "", err
	}
	return "Redis", field(info, "redis_version"), nil
}

// versionOfCluster returns when every node knows every slot.
func versionOfCluster(ctx context.Context, addrs []string) (name, version string, err error) {
	for _, addr := range addrs {
		c := goredis.NewClient(&goredis.Options{Addr: addr})
		info, err := c.ClusterInfo(ctx).Result()
		_ = c.Close()
		if err != nil {
			return "", "", err
		}
		if field(info, "cluster_state") != "ok" || field(info, "cluster_known_nodes") != strconv.Itoa(len(addrs)) {
			return "", "", fmt.Errorf("the cluster is not complete at %s", addr)
		}
	}
	_, version, err = versionOfRedis(ctx, "redis://"+addrs[0]+"/0")
	return "Redis Cluster", version, err
}

// field returns the value of a name:value line of Redis' INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
