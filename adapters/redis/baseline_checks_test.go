package redis_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// checkedBaseline is a baseline whose writes make the checks that the contract
// demands: the owner exists, the key is free, and a list expires with its last
// entry. Each is one script for one method, on the records of the adapter.
type checkedBaseline struct{ *baseline }

var _ adapter.Adapter = checkedBaseline{}

var (
	checkedGive = goredis.NewScript(`
local user = redis.call('GET', KEYS[1])
if not user then return 'owner' end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'taken' end
local r = cjson.decode(user)
local names = r[ARGV[1]] or {}
names[#names + 1] = ARGV[2]
r[ARGV[1]] = names
redis.call('SET', KEYS[1], cjson.encode(r))
redis.call('SET', KEYS[2], ARGV[3])
return 'ok'`)
	checkedUnlink = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local owner = ARGV[1] .. cjson.decode(value).user
local r = cjson.decode(redis.call('GET', owner))
local kept = {}
for _, name in ipairs(r.accounts) do
  if name ~= ARGV[2] then kept[#kept + 1] = name end
end
r.accounts = #kept > 0 and kept or nil
redis.call('UNLINK', KEYS[1])
redis.call('SET', owner, cjson.encode(r))
return value`)
	checkedDeleteUser = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
local gone = {KEYS[1], KEYS[2]}
if r.email then gone[#gone + 1] = ARGV[1] .. 'email:' .. r.email end
for _, name in ipairs(r.accounts or {}) do gone[#gone + 1] = ARGV[1] .. 'account:' .. name end
for _, name in ipairs(r.authenticators or {}) do gone[#gone + 1] = ARGV[1] .. 'authenticator:' .. name end
for _, token in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
  local session = redis.call('GET', ARGV[2] .. token)
  if session and cjson.decode(session).inc == r.inc then gone[#gone + 1] = ARGV[2] .. token end
end
redis.call('UNLINK', unpack(gone))
return value`)
	checkedCreateSession = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
local user = redis.call('GET', KEYS[2])
if not user then return 'owner' end
redis.call('SET', KEYS[1], cjson.encode({user = ARGV[1], inc = cjson.decode(user).inc, expires = ARGV[2]}), 'PXAT', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[5])
redis.call('ZADD', KEYS[3], 'GT', ARGV[3], ARGV[4])
redis.call('PEXPIREAT', KEYS[3], redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2])
return 'ok'`)
	checkedExtend = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
local user = redis.call('GET', ARGV[1] .. 'user:' .. r.user)
if not user or cjson.decode(user).inc ~= r.inc then return false end
r.expires = ARGV[3]
value = cjson.encode(r)
local list = ARGV[1] .. 'sessions:' .. r.user
redis.call('SET', KEYS[1], value, 'PXAT', ARGV[4])
redis.call('ZADD', list, 'GT', ARGV[4], ARGV[2])
redis.call('PEXPIREAT', list, redis.call('ZRANGE', list, -1, -1, 'WITHSCORES')[2])
return value`)
	checkedEnd = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
local user = redis.call('GET', ARGV[1] .. 'user:' .. r.user)
if not user or cjson.decode(user).inc ~= r.inc then return false end
redis.call('UNLINK', KEYS[1])
redis.call('ZREM', ARGV[1] .. 'sessions:' .. r.user, ARGV[2])
return value`)
	checkedKeep = goredis.NewScript(`
local left, now = redis.call('PTTL', KEYS[1]), redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if left < 0 or tonumber(ARGV[3]) > now[1] * 1000 + now[2] / 1000 + left then redis.call('PEXPIREAT', KEYS[1], ARGV[3]) end
return 'ok'`)
	checkedSpend = goredis.NewScript(`
local expires = redis.call('HGET', KEYS[1], ARGV[1])
if expires then redis.call('HDEL', KEYS[1], ARGV[1]) end
return expires`)
	checkedPatch = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
for i = 1, #ARGV, 2 do r[ARGV[i]] = ARGV[i + 1] end
value = cjson.encode(r)
redis.call('SET', KEYS[1], value, 'KEEPTTL')
return value`)
)

// newCheckedBaseline loads the scripts.
func newCheckedBaseline(t testing.TB, a adapter.Adapter) any {
	t.Helper()
	b := newBaseline(t, a).(*baseline)
	for _, s := range []*goredis.Script{
		checkedGive, checkedUnlink, checkedDeleteUser, checkedCreateSession, checkedExtend, checkedEnd, checkedKeep, checkedSpend, checkedPatch,
	} {
		if err := s.Load(t.Context(), a.(*redistest.Handle).Client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return checkedBaseline{b}
}

func (b checkedBaseline) text(ctx context.Context, s *goredis.Script, keys []string, args ...any) (string, error) {
	return b.client.EvalSha(ctx, s.Hash(), keys, args...).Text()
}

// ok runs a script that answers "ok" if it has written.
func (b checkedBaseline) ok(ctx context.Context, s *goredis.Script, keys []string, args ...any) error {
	word, err := b.text(ctx, s, keys, args...)
	if err == nil && word != "ok" {
		err = errors.New(word)
	}
	return err
}

func (b checkedBaseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	u.ID = rand.Text()
	value, err := json.Marshal(userJSON{u.Name, u.Email, u.EmailVerified, u.Image})
	if err != nil {
		return nil, err
	}
	created, err := b.client.MSetNX(ctx, b.anew("user", u.ID), value, b.anew("email", u.Email), u.ID).Result()
	if err == nil && !created {
		err = errors.New("taken")
	}
	return &u, err
}

func (b checkedBaseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	value, err := b.text(ctx, checkedPatch, []string{b.shared("user:" + u.ID)}, "name", *name, "image", *image)
	if err != nil {
		return nil, err
	}
	return userOf(u.ID, value)
}

func (b checkedBaseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	value, err := b.text(ctx, checkedDeleteUser, []string{b.shared("user:" + id), b.shared("sessions:" + id)}, b.shared(""), b.session(""))
	if err != nil {
		return nil, err
	}
	return userOf(id, value)
}

func (b checkedBaseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	value, err := json.Marshal(accountJSON{a.UserID, a.Type, a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState, a.ExpiresAt, new(string(a.AuthorizationDetails))})
	if err != nil {
		return nil, err
	}
	key := b.account(a.Key())
	return &a, b.ok(ctx, checkedGive, []string{b.shared("user:" + a.UserID), key}, "accounts", key[len(b.shared("account:")):], value)
}

func (b checkedBaseline) UnlinkAccount(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
	key := b.account(k)
	value, err := b.text(ctx, checkedUnlink, []string{key}, b.shared("user:"), key[len(b.shared("account:")):])
	if err != nil {
		return nil, err
	}
	return accountOf(k, value)
}

// end is the instant at which the server may remove the key of a session.
func end(t time.Time) int64 { return t.Add(time.Minute).UnixMilli() }

func (b checkedBaseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	keys := []string{b.session(s.SessionToken), b.shared("user:" + s.UserID), b.shared("sessions:" + s.UserID)}
	return &s, b.ok(ctx, checkedCreateSession, keys, s.UserID, strconv.FormatInt(s.Expires.UnixMicro(), 10), end(s.Expires), s.SessionToken, time.Now().Add(-24*time.Hour).UnixMilli())
}

func (b checkedBaseline) UpdateSession(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
	expires, _ := u.Expires.Get()
	value, err := b.text(ctx, checkedExtend, []string{b.session(u.SessionToken)}, b.shared(""), u.SessionToken, strconv.FormatInt(expires.UnixMicro(), 10), end(expires))
	if err != nil {
		return nil, err
	}
	return sessionOf(u.SessionToken, value)
}

func (b checkedBaseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	value, err := b.text(ctx, checkedEnd, []string{b.session(token)}, b.shared(""), token)
	if err != nil {
		return nil, err
	}
	return sessionOf(token, value)
}

func (b checkedBaseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &v, b.ok(ctx, checkedKeep, []string{b.anew("token", v.Identifier)}, v.Token, strconv.FormatInt(v.Expires.UnixMicro(), 10), end(v.Expires))
}

func (b checkedBaseline) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	value, err := b.text(ctx, checkedSpend, []string{b.prefix + ":token:" + k.Identifier}, k.Token)
	if err != nil {
		return nil, err
	}
	us, err := strconv.ParseInt(value, 10, 64)
	return &adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: time.UnixMicro(us).UTC()}, err
}

func (b checkedBaseline) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	value, err := json.Marshal(authenticatorJSON{w.UserID, w.ProviderAccountID, w.CredentialPublicKey, w.Counter, w.CredentialBackedUp, w.CredentialDeviceType, w.Transports})
	if err != nil {
		return nil, err
	}
	keys := []string{b.shared("user:" + w.UserID), b.shared("authenticator:" + w.CredentialID)}
	return &w, b.ok(ctx, checkedGive, keys, "authenticators", w.CredentialID, value)
}

func (b checkedBaseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	value, err := b.text(ctx, checkedPatch, []string{b.shared("authenticator:" + id)}, "counter", strconv.FormatInt(counter, 10))
	if err != nil {
		return nil, err
	}
	return authenticatorOf(id, value)
}
