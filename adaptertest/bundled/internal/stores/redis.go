package stores

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	goredis "github.com/redis/go-redis/v9"
	"github.com/testcontainers/testcontainers-go"
	tcredis "github.com/testcontainers/testcontainers-go/modules/redis"
)

// appendfsync says when a server flushes its log to disk. The server writes the log before every reply. What it has
// written is not lost when the server is killed; what it has flushed is not lost when the machine stops.
func (s *Stores) appendfsync() string {
	if s.options.Fast {
		return "no"
	}
	return "always"
}

// redisSettings are the arguments that every server gets.
func (s *Stores) redisSettings() []string {
	return []string{"--protected-mode", "no", "--dir", "/data", "--appendonly", "yes", "--appendfsync", s.appendfsync(), "--save", ""}
}

func (s *Stores) startRedis(ctx context.Context, version string) (*Store, error) {
	return s.oneRedis(ctx, "Redis", redisReleases, version, "redis-server")
}

func (s *Stores) startValkey(ctx context.Context, version string) (*Store, error) {
	return s.oneRedis(ctx, "Valkey", valkeyReleases, version, "valkey-server")
}

// oneRedis starts one server of Redis' protocol.
func (s *Stores) oneRedis(ctx context.Context, name string, releases []release, version, program string) (*Store, error) {
	image, err := s.image(ctx, releases, version)
	if err != nil {
		return nil, err
	}
	return s.redisAt(ctx, name, image, "redis://%s/0", append([]string{program}, s.redisSettings()...)...)
}

// redisAt runs the command, which listens on Redis' port, and awaits its server. The URL lacks the address.
func (s *Stores) redisAt(ctx context.Context, name, image, url string, command ...string) (*Store, error) {
	c, ports, err := s.engine.run(ctx, name, []int{6379}, false,
		func(publish []testcontainers.ContainerCustomizer, _ []int) (testcontainers.Container, error) {
			return tcredis.Run(ctx, image, append(publish, testcontainers.WithCmd(command...))...)
		})
	if err != nil {
		return nil, err
	}
	addr := loopback(ports[0])
	store := &Store{Name: name, URL: fmt.Sprintf(url, addr), Addrs: []string{addr}, container: c, version: versionOfRedis}
	return store, store.Await(ctx)
}

// startDragonfly starts one server. Its records are lost when it ends.
func (s *Stores) startDragonfly(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, dragonflyReleases, version)
	if err != nil {
		return nil, err
	}
	return s.redisAt(ctx, "Dragonfly", image, "redis://%s/0", "dragonfly", "--logtostderr", "--dbfilename=")
}

// startRedisCluster starts three masters. The node timeout is long, so that on a busy machine no master takes another one
// for dead.
func (s *Stores) startRedisCluster(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, redisReleases, version)
	if err != nil {
		return nil, err
	}
	members, err := s.engine.runGroup(ctx, "Redis Cluster", image, 3, func(i int, ports []int) memberSpec {
		command := append([]string{"redis-server", "--port", strconv.Itoa(ports[i]), "--cluster-enabled", "yes",
			"--cluster-port", strconv.Itoa(ports[i] + 10000), "--cluster-node-timeout", "30000", "--cluster-announce-ip", "127.0.0.1"},
			s.redisSettings()...)
		return memberSpec{image, []testcontainers.ContainerCustomizer{testcontainers.WithCmd(command...)}}
	})
	if err != nil {
		return nil, err
	}
	store := &Store{Name: "Redis Cluster", Members: members, version: versionOfCluster}
	for _, m := range members {
		store.Addrs = append(store.Addrs, m.Addr)
		if err := awaitRedis(ctx, m); err != nil {
			return nil, err
		}
	}
	store.URL, store.locations = "redis://"+store.Addrs[0]+"/0", store.Addrs
	create := append(append([]string{"redis-cli", "--cluster", "create"}, store.Addrs...), "--cluster-yes")
	if err := members[0].container.run(ctx, create...); err != nil {
		return nil, err
	}
	return store, store.Await(ctx)
}

// awaitRedis returns when the member answers.
func awaitRedis(ctx context.Context, m *Member) error {
	one := &Store{Name: "Redis", URL: "redis://" + m.Addr + "/0", Addrs: []string{m.Addr}, container: m.container, version: versionOfRedis}
	return one.Await(ctx)
}

// sentinelMaster is the name under which the sentinels know the group.
const sentinelMaster = "gatehouse"

// startSentinel starts a master, two replicas and three sentinels. Members are the servers, the master first. Addrs are
// the addresses of the sentinels, which know the master by the name "gatehouse". The sentinels replace a master that is
// silent for a second.
func (s *Stores) startSentinel(ctx context.Context, version string) (*Store, error) {
	image, err := s.image(ctx, redisReleases, version)
	if err != nil {
		return nil, err
	}
	const servers, sentinels = 3, 3
	all, err := s.engine.runGroup(ctx, "Redis Sentinel", image, servers+sentinels, func(i int, ports []int) memberSpec {
		own := strconv.Itoa(ports[i])
		command := append([]string{"redis-server", "--port", own, "--replica-announce-ip", "127.0.0.1"}, s.redisSettings()...)
		switch {
		case i >= servers:
			command = []string{"sh", "-c", sentinelScript, "sentinel", own, strconv.Itoa(ports[0])}
		case i > 0:
			command = append(command, "--replicaof", "127.0.0.1 "+strconv.Itoa(ports[0]))
		}
		return memberSpec{image, []testcontainers.ContainerCustomizer{testcontainers.WithCmd(command...)}}
	})
	if err != nil {
		return nil, err
	}
	store := &Store{Name: "Redis Sentinel", Members: all[:servers], version: versionOfSentinel, URL: "redis://" + all[0].Addr + "/0"}
	for _, m := range all[servers:] {
		store.Addrs = append(store.Addrs, m.Addr)
	}
	store.locations = store.Addrs
	return store, store.Await(ctx)
}

// sentinelScript runs a sentinel. The sentinel writes what it learns into its configuration file.
const sentinelScript = `
set -eu
test -f /tmp/sentinel.conf || cat >/tmp/sentinel.conf <<END
port $1
protected-mode no
dir /tmp
sentinel announce-ip 127.0.0.1
sentinel monitor gatehouse 127.0.0.1 $2 2
sentinel down-after-milliseconds gatehouse 1000
sentinel failover-timeout gatehouse 5000
END
exec redis-server /tmp/sentinel.conf --sentinel
`

// versionOfSentinel succeeds when every sentinel knows the others and two replicas of a master.
func versionOfSentinel(ctx context.Context, location string) (name, version string, err error) {
	for addr := range strings.SplitSeq(location, ",") {
		c := goredis.NewSentinelClient(&goredis.Options{Addr: addr})
		state, err := c.Master(ctx, sentinelMaster).Result()
		_ = c.Close()
		if err != nil {
			return "", "", err
		}
		if state["num-slaves"] != "2" || state["num-other-sentinels"] != "2" || state["flags"] != "master" {
			return "", "", fmt.Errorf("the sentinel at %s knows %s replicas and %s other sentinels, and its master is %q",
				addr, state["num-slaves"], state["num-other-sentinels"], state["flags"])
		}
		_, version, err = versionOfRedis(ctx, "redis://"+state["ip"]+":"+state["port"]+"/0")
		if err != nil {
			return "", "", err
		}
	}
	return "Redis Sentinel", version, nil
}

// versionOfRedis asks a server of Redis' protocol for its product and version. It fails while the server loads its data.
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
	if version := field(info, "valkey_version"); version != "" {
		return "Valkey", version, nil
	}
	if version := field(info, "dragonfly_version"); version != "" {
		return "Dragonfly", strings.TrimPrefix(version, "df-v"), nil
	}
	return "Redis", field(info, "redis_version"), nil
}

// versionOfCluster succeeds when every node knows every slot.
func versionOfCluster(ctx context.Context, location string) (name, version string, err error) {
	addrs := strings.Split(location, ",")
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
