package large

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

func openRedis(ctx context.Context, servers *stores.Stores) (*Store, error) {
	server, err := servers.Redis(ctx)
	if err != nil {
		return nil, err
	}
	env, err := redistest.Open(redistest.URL(server.URL, 3))
	if err != nil {
		return nil, err
	}
	a, err := redis.New(env.Admin, redis.WithPrefix(env.Prefix))
	if err != nil {
		return nil, err
	}
	if err := a.EnsureScripts(ctx); err != nil {
		return nil, err
	}
	s := &Store{Name: "redis", Server: server.Name + " " + server.Version, Adapter: a, Hand: redisHand{env.Admin, env.Prefix}, close: []func(context.Context) error{env.Close}}
	s.byAdapter()
	s.Size = func(ctx context.Context) (int64, error) {
		memory, err := env.Admin.InfoMap(ctx, "memory").Result()
		if err != nil {
			return 0, err
		}
		return strconv.ParseInt(memory["Memory"]["used_memory"], 10, 64)
	}
	return s, nil
}

// redisHand uses one script or pipeline for each method, on the records of the adapter.
type redisHand struct {
	client goredis.UniversalClient
	prefix string
}

var (
	redisFollow = goredis.NewScript(`
local r = redis.call('GET', KEYS[1])
if not r then return {} end
return {r, redis.call('GET', ARGV[1] .. cjson.decode(r).user)}`)
	redisByEmail = goredis.NewScript(`
local id = redis.call('GET', KEYS[1])
if not id then return {} end
return {id, redis.call('GET', ARGV[1] .. id)}`)
	redisCreate = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PXAT', ARGV[2])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[3])
redis.call('PEXPIREAT', KEYS[3], ARGV[2])
return 1`)
	redisPatch = goredis.NewScript(`
local r = cjson.decode(redis.call('GET', KEYS[1]))
r.name = ARGV[1]
local value = cjson.encode(r)
redis.call('SET', KEYS[1], value)
return value`)
)

func (h redisHand) shared(name string) string { return "{" + h.prefix + "}:" + name }

// user parses a stored user.
func (h redisHand) user(id, value string) (*adapter.User, error) {
	u := &adapter.User{ID: id}
	return u, json.Unmarshal([]byte(value), &struct {
		Name  **string `json:"name"`
		Email *string  `json:"email"`
		Image **string `json:"image"`
	}{&u.Name, &u.Email, &u.Image})
}

func (h redisHand) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r, err := redisFollow.Run(ctx, h.client, []string{h.prefix + ":session:" + token}, h.shared("user:")).StringSlice()
	if err != nil || len(r) == 0 {
		return nil, err
	}
	var stored struct {
		User    string `json:"user"`
		Expires int64  `json:"expires,string"`
	}
	if err := json.Unmarshal([]byte(r[0]), &stored); err != nil {
		return nil, err
	}
	u, err := h.user(stored.User, r[1])
	if err != nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: adapter.Session{SessionToken: token, UserID: u.ID, Expires: time.UnixMicro(stored.Expires).UTC()}, User: *u}, nil
}

func (h redisHand) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r, err := redisByEmail.Run(ctx, h.client, []string{h.shared("email:" + email)}, h.shared("user:")).StringSlice()
	if err != nil || len(r) == 0 {
		return nil, err
	}
	return h.user(r[0], r[1])
}

// CreateSession looks for the user. It writes the session, and adds it to the list of the user's sessions, under keys that
// the adapter does not read.
func (h redisHand) CreateSession(ctx context.Context, s adapter.Session) error {
	value := fmt.Sprintf(`{"user":%q,"expires":"%d"}`, s.UserID, s.Expires.UnixMicro())
	keys := []string{h.shared("user:" + s.UserID), h.prefix + ":by-hand-session:" + s.SessionToken, h.shared("by-hand-sessions:" + s.UserID)}
	return redisCreate.Run(ctx, h.client, keys, value, s.Expires.UnixMilli(), s.SessionToken).Err()
}

func (h redisHand) UpdateUser(ctx context.Context, id, name string) error {
	value, err := redisPatch.Run(ctx, h.client, []string{h.shared("user:" + id)}, name).Text()
	if err != nil {
		return err
	}
	_, err = h.user(id, value)
	return err
}

// DeleteExpired reads all sessions.
func (h redisHand) DeleteExpired(ctx context.Context, now time.Time) error {
	for cursor := uint64(0); ; {
		names, next, err := h.client.Scan(ctx, cursor, h.prefix+":session:*", 1000).Result()
		if err != nil {
			return err
		}
		if err := h.deleteExpired(ctx, names, now); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

func (h redisHand) deleteExpired(ctx context.Context, names []string, now time.Time) error {
	if len(names) == 0 {
		return nil
	}
	values, err := h.client.MGet(ctx, names...).Result()
	if err != nil {
		return err
	}
	var expired []string
	for i, v := range values {
		text, ok := v.(string)
		var stored struct {
			Expires int64 `json:"expires,string"`
		}
		if ok && json.Unmarshal([]byte(text), &stored) == nil && stored.Expires <= now.UnixMicro() {
			expired = append(expired, names[i])
		}
	}
	if len(expired) == 0 {
		return nil
	}
	return h.client.Unlink(ctx, expired...).Err()
}
