package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	goredis "github.com/redis/go-redis/v9"
)

// layout is the version of the names and values of keys that this package
// reads and writes.
const layout = "1"

// check checks, once, that the adapter can work with the layout of the keys and
// the settings of the servers.
func (a *Adapter) check(ctx context.Context) error {
	if a.checked.Load() {
		return nil
	}
	if err := a.client.SetNX(ctx, a.keys.shared("layout"), layout, 0).Err(); err != nil && !goredis.HasErrorPrefix(err, "OOM") {
		return err // records of a full store can still be read and deleted
	}
	there, err := a.client.Get(ctx, a.keys.shared("layout")).Result()
	if errors.Is(err, goredis.Nil) {
		err = nil
	} else if err == nil && there != layout {
		err = fmt.Errorf("the keys have layout %q, but this version of the adapter supports layout %q: use the version that wrote them, or another prefix", there, layout)
	}
	if err == nil && !a.mayEvict {
		err = a.eachServer(ctx, checkEviction)
	}
	a.checked.Store(err == nil)
	return err
}

var evicts = regexp.MustCompile(`(?s)\nmaxmemory:[1-9].*\nmaxmemory_policy:((?:allkeys|volatile)-\w+)`)

// checkEviction refuses a server that drops records when its memory is full. A
// server that does not report its settings is accepted.
func checkEviction(ctx context.Context, server goredis.Cmdable) error {
	info, err := server.Info(ctx, "memory").Result()
	if policy := evicts.FindStringSubmatch(info); policy != nil {
		return fmt.Errorf("the server drops records when its memory is full (maxmemory-policy %s): set maxmemory-policy noeviction, or accept it with WithDangerousEviction", policy[1])
	}
	if reply := goredis.Error(nil); errors.As(err, &reply) {
		return nil
	}
	return err
}
