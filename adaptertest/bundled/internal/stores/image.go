package stores

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/moby/moby/client"
)

// The official images, used where the engine has them or reaches a registry.
const (
	ImagePostgres = "postgres:17"
	ImageRedis    = "redis:8"
	ImageMongo    = "mongo:8"
)

// The images that images/build makes. LocalStores holds PostgreSQL, Redis and PgBouncer, as Debian packages them.
const (
	LocalStores   = "gatehouse/stores:local"
	LocalFerretDB = "gatehouse/ferretdb:local"
)

// imageReaper is the image of testcontainers' reaper, asked for to learn whether it can be used.
const imageReaper = "testcontainers/ryuk:0.14.0"

// EnvImages set to "local" keeps the run away from registries.
const EnvImages = "GATEHOUSE_IMAGES"

// registryWithin bounds the question whether a registry is reachable.
const registryWithin = 5 * time.Second

// present reports whether the engine holds the image.
func present(ctx context.Context, docker client.APIClient, image string) bool {
	_, err := docker.ImageInspect(ctx, image)
	return err == nil
}

// obtainable reports whether the engine holds the image or can pull it. It asks the engine, because the engine pulls.
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

// choose returns the official image where it can be had, else the local one.
func choose(ctx context.Context, docker client.APIClient, official, local string) (string, error) {
	if obtainable(ctx, docker, official) {
		return official, nil
	}
	if present(ctx, docker, local) {
		return local, nil
	}
	return "", fmt.Errorf("stores: no registry offers %s and the image %s is missing: run make images", official, local)
}
