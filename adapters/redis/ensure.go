package redis

import (
	"context"

	goredis "github.com/redis/go-redis/v9"
)

// EnsureScripts loads the scripts into the servers and checks the layout of the
// keys and the settings of the servers, so that the first calls take no longer
// than later ones. Calling it is optional: a script that a server lacks is sent
// with its text, and the first call makes the checks.
func (a *Adapter) EnsureScripts(ctx context.Context) (err error) {
	defer wrap(ctx, "ensure scripts", &err)
	if err := a.check(ctx); err != nil {
		return err
	}
	return a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
		for _, s := range scripts {
			if err := server.ScriptLoad(ctx, s.text).Err(); err != nil {
				return err
			}
		}
		return nil
	})
}
