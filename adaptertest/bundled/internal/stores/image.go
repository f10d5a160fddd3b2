package stores

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// The images that images/build makes on a machine that reaches no registry.
const (
	LocalStores = "gatehouse/stores:local" // PostgreSQL 15, Redis 7.0, PgBouncer and MariaDB 10.11
	LocalMongo  = "gatehouse/mongo:local"  // mongod 6.0
	LocalTrixie = "gatehouse/trixie:local" // PostgreSQL 17, Redis 8.0, Valkey 8.1, MariaDB 11.8 with Galera, HAProxy 3.0
	LocalSid    = "gatehouse/sid:local"    // PostgreSQL 18, Valkey 9.1, MySQL 9
)

// A release is a version of a product, with the image that its makers publish and the local image that contains the
// version. local is "" if no local image contains it.
type release struct{ version, official, local string }

// The releases of each product, newest first.
var (
	postgresReleases = []release{
		{"18", "postgres:18", LocalSid}, {"17", "postgres:17", LocalTrixie}, {"15", "postgres:15", LocalStores},
	}
	redisReleases   = []release{{"8", "redis:8", LocalTrixie}, {"7", "redis:7", LocalStores}}
	valkeyReleases  = []release{{"9", "valkey/valkey:9", LocalSid}, {"8", "valkey/valkey:8", LocalTrixie}}
	mariadbReleases = []release{{"11", "mariadb:11.8", LocalTrixie}, {"10", "mariadb:10.11", LocalStores}, {"10.6", "mariadb:10.6", ""}}
	haproxyReleases = []release{{"3", "haproxy:3.0", LocalTrixie}}
	mysqlReleases   = []release{{"9", "mysql:9", LocalSid}, {"8", "mysql:8.4", ""}, {"8.0", "mysql:8.0", ""}}
	mongoReleases   = []release{{"8", "mongo:8", ""}, {"7", "mongo:7", ""}, {"6", "mongo:6", LocalMongo}, {"5", "mongo:5", ""}}
)

// The releases that only a registry has.
var (
	shardedReleases   = []release{{"8", "mongo:8", ""}} // the local image with mongod 6.0 has no mongos
	cockroachReleases = []release{{"25", "cockroachdb/cockroach:v25.2.2", ""}}
	tidbReleases      = []release{{"8", "pingcap/tidb:v8.5.3", ""}}
	vitessReleases    = []release{{"8", "vitess/vttestserver:mysql80", ""}} // all of Vitess in one container, for tests
	dragonflyReleases = []release{{"1", "dragonflydb/dragonfly:latest", ""}}
)

// imageReaper is the image of testcontainers' reaper. The reaper is used only if this image can be pulled.
const imageReaper = "testcontainers/ryuk:0.14.0"

// EnvImages is a variable. If it is "local", the run uses no registry.
const EnvImages = "GATEHOUSE_IMAGES"

// registryWithin is the longest wait for the answer of a registry.
const registryWithin = 5 * time.Second

// present reports whether the engine has the image.
func present(ctx context.Context, docker client.APIClient, image string) bool {
	_, err := docker.ImageInspect(ctx, image)
	return err == nil
}

// obtainable reports whether the engine has the image or can pull it. It asks the engine and not the registry, because
// the engine is the one that pulls.
func obtainable(ctx context.Context, docker client.APIClient, image string) bool {
	if os.Getenv(EnvImages) == "local" {
		return false
	}
	if present(ctx, docker, image) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, registryWithin)
	defer cancel()
	_, err := docker.DistributionInspect(ctx, image, client.DistributionInspectOptions{})
	return err == nil
}

// choose returns the image of a version of a product. If version is "", it is the newest version that this machine can
// offer. The official image is chosen if it can be pulled, and otherwise the local one. The error matches ErrUnavailable
// if images/build was run and could not make the image.
func choose(ctx context.Context, docker client.APIClient, releases []release, version string) (image string, err error) {
	wanted := slices.DeleteFunc(slices.Clone(releases), func(r release) bool { return version != "" && r.version != version })
	var asked []string
	for _, r := range wanted {
		if obtainable(ctx, docker, r.official) {
			return r.official, nil
		}
		asked = append(asked, r.official)
	}
	if len(asked) == 0 {
		known := make([]string, len(releases))
		for i, r := range releases {
			known[i] = r.version
		}
		return "", fmt.Errorf("stores: version %q is not known; the versions are %s", version, strings.Join(known, ", "))
	}
	local := slices.DeleteFunc(wanted, func(r release) bool { return r.local == "" })
	for _, r := range local {
		if present(ctx, docker, r.local) {
			return r.local, nil
		}
		asked = append(asked, r.local)
	}
	if len(local) == 0 {
		return "", fmt.Errorf("stores: the image %s is available in a registry only: %w", strings.Join(asked, ", "), ErrUnavailable)
	}
	if !present(ctx, docker, LocalStores) {
		return "", fmt.Errorf("stores: none of the images %s is available: run make images", strings.Join(asked, ", "))
	}
	return "", fmt.Errorf("stores: none of the images %s is available: %w", strings.Join(asked, ", "), ErrUnavailable)
}

// image chooses on the engine of this run.
func (s *Stores) image(ctx context.Context, releases []release, version string) (string, error) {
	docker, err := s.engine.connect(ctx)
	if err != nil {
		return "", err
	}
	return choose(ctx, docker, releases, version)
}
