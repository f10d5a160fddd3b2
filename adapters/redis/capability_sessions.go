package redis

import (
	"context"
	"errors"
	"slices"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

var _ adapter.SessionLists = (*Adapter)(nil)

// ListSessionsByUserID implements adapter.SessionLists.
func (a *Adapter) ListSessionsByUserID(ctx context.Context, userID string) (_ []adapter.Session, err error) {
	defer wrap("list sessions", &err)
	list := []adapter.Session{}
	r, err := a.get(ctx, a.keys.user(userID))
	user, err := result(r, err, decode[userRecord])
	if err != nil {
		return nil, err
	}
	if user == nil {
		return list, nil
	}
	var tokens []string
	for cursor := uint64(0); ; { // each token that is there all the time, some of them twice
		page, next, err := a.client.ZScan(ctx, a.keys.sessions(userID), cursor, "", sweepBatch).Result()
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(page); i += 2 {
			tokens = append(tokens, page[i])
		}
		if cursor = next; cursor == 0 {
			break
		}
	}
	slices.Sort(tokens)
	for some := range slices.Chunk(slices.Compact(tokens), sweepBatch) {
		pipe := a.client.Pipeline()
		values := make([]*goredis.StringCmd, len(some))
		for i, token := range some {
			values[i] = pipe.Get(ctx, a.keys.session(token))
		}
		if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
			return nil, err
		}
		for i, v := range values {
			if errors.Is(v.Err(), goredis.Nil) { // removed, or not written yet
				continue
			}
			if v.Err() != nil {
				return nil, v.Err()
			}
			r, err := decode[sessionRecord](v.Val())
			if err != nil {
				return nil, err
			}
			if r.User == userID && r.Inc == user.Inc {
				list = append(list, *r.session(some[i]))
			}
		}
	}
	return list, nil
}

// DeleteSessionsByUserID implements adapter.SessionLists.
func (a *Adapter) DeleteSessionsByUserID(ctx context.Context, userID, except string) (_ int64, err error) {
	defer wrap("delete sessions", &err)
	r, err := a.get(ctx, a.keys.user(userID))
	user, err := result(r, err, decode[userRecord])
	if err != nil || user == nil {
		return 0, err
	}
	return a.endSessions(ctx, a.keys.sessions(userID), user.Inc, except)
}
