package redis_test

import (
	"regexp"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adaptertest"
)

func TestConformance(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			e := w.env(t)
			h := e.Harness()
			h.Name, h.Version = "redis, "+w.name, version(t, e.Admin)
			adaptertest.Run(t, h)
		})
	}
}

func version(t testing.TB, client goredis.UniversalClient) string {
	t.Helper()
	info := must(client.Info(t.Context(), "server").Result())(t)
	found := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(info)
	require.NotNil(t, found, "the server tells no version")
	return "Redis " + found[1]
}
