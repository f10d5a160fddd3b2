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
	defer wrap(ctx, "list sessions", &err)
	list := []adapter.Session{}
	user, err := read(ctx, a, a.keys.user(userID), newUser(userID))
	if err != nil {
		return nil, err
	}
	if user == nil {
		return list, nil
	}
	var tokens []string
	for cursor := uint64(0); ; { // returns each token that stays in the list, some of them twice
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
			r, err := decode(v.Val(), new(sessionRecord))
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
	defer wrap(ctx, "delete sessions", &err)
	user, err := read(ctx, a, a.keys.user(userID), newUser(userID))
	if err != nil || user == nil {
		return 0, err
	}
	return a.endSessions(ctx, a.keys.sessions(userID), user.Inc, except)
}

// endSessions deletes the listed sessions of the incarnation except the one with
// the token except, and returns the number of deleted sessions. Redis removes a
// list that is empty.
func (a *Adapter) endSessions(ctx context.Context, list, inc, except string) (deleted int64, err error) {
	for skipped := 0; ; {
		tokens, err := a.client.ZRange(ctx, list, int64(skipped), int64(skipped+sweepBatch-1)).Result()
		if i := slices.Index(tokens, except); i >= 0 {
			tokens, skipped = slices.Delete(tokens, i, i+1), 1
		}
		if err != nil || len(tokens) == 0 {
			return deleted, err
		}
		last := len(tokens)+skipped < sweepBatch
		keys, ended := []any{}, []any{"zrem", list}
		for _, token := range tokens {
			keys, ended = append(keys, a.keys.session(token)), append(ended, token)
		}
		n, _, err := a.sweep(ctx, keys, "", inc)
		deleted += n
		if err == nil {
			err = a.send(ctx, ended...).Err()
		}
		if err != nil || last {
			return deleted, err
		}
	}
}
