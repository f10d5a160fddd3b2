package redistest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bench"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// Baseline has the nineteen methods in the least code that go-redis allows, on
// the records of the adapter. Each takes one round trip, and writes make the
// checks that the contract demands: the owner exists, the key is free, and a
// list expires with its last entry. It keeps no other promise. Benchmarks
// compare the adapter with it. A lookup of a session or of an address that finds
// nothing returns nil, the other methods an error.
type Baseline interface {
	adapter.Adapter
	adapter.Sweeper // deletes all at once
	// AddSessions stores the sessions from from to to-1, which bench.Sessions reads,
	// and their users.
	AddSessions(ctx context.Context, from, to int) error
}

type baseline struct {
	client goredis.UniversalClient
	prefix string
}

// A method that must read one record to find or change another one is a
// script.
var (
	baselineFollow = goredis.NewScript(`
local r = redis.call('GET', KEYS[1])
if not r then return {} end
local id = cjson.decode(r).user
return {r, redis.call('GET', ARGV[1] .. id), id}`)
	baselineByEmail = goredis.NewScript(`
local id = redis.call('GET', KEYS[1])
if not id then return {} end
return {id, redis.call('GET', ARGV[1] .. id)}`)
	baselineList = goredis.NewScript(`
local all = {}
for i, name in ipairs(cjson.decode(redis.call('GET', KEYS[1])).authenticators) do
  all[2 * i - 1], all[2 * i] = name, redis.call('GET', ARGV[1] .. name)
end
return all`)
	baselineGive = goredis.NewScript(`
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
	baselineUnlink = goredis.NewScript(`
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
	baselineDeleteUser = goredis.NewScript(`
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
	baselineCreateSession = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
local user = redis.call('GET', KEYS[2])
if not user then return 'owner' end
redis.call('SET', KEYS[1], cjson.encode({user = ARGV[1], inc = cjson.decode(user).inc, expires = ARGV[2]}), 'PXAT', ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', '(' .. ARGV[5])
redis.call('ZADD', KEYS[3], 'GT', ARGV[3], ARGV[4])
redis.call('PEXPIREAT', KEYS[3], redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')[2])
return 'ok'`)
	baselineExtend = goredis.NewScript(`
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
	baselineEnd = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
local user = redis.call('GET', ARGV[1] .. 'user:' .. r.user)
if not user or cjson.decode(user).inc ~= r.inc then return false end
redis.call('UNLINK', KEYS[1])
redis.call('ZREM', ARGV[1] .. 'sessions:' .. r.user, ARGV[2])
return value`)
	baselineKeep = goredis.NewScript(`
local left, now = redis.call('PTTL', KEYS[1]), redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
if left < 0 or tonumber(ARGV[3]) > now[1] * 1000 + now[2] / 1000 + left then redis.call('PEXPIREAT', KEYS[1], ARGV[3]) end
return 'ok'`)
	baselineSpend = goredis.NewScript(`
local expires = redis.call('HGET', KEYS[1], ARGV[1])
if expires then redis.call('HDEL', KEYS[1], ARGV[1]) end
return expires`)
	baselinePatch = goredis.NewScript(`
local value = redis.call('GET', KEYS[1])
if not value then return false end
local r = cjson.decode(value)
for i = 1, #ARGV, 2 do r[ARGV[i]] = ARGV[i + 1] end
value = cjson.encode(r)
redis.call('SET', KEYS[1], value, 'KEEPTTL')
return value`)
)

// NewBaseline uses the records of the adapters with the prefix. It loads the
// scripts.
func NewBaseline(ctx context.Context, client goredis.UniversalClient, prefix string) (Baseline, error) {
	for _, s := range []*goredis.Script{
		baselineFollow, baselineByEmail, baselineList, baselineGive, baselineUnlink, baselineDeleteUser, baselineCreateSession,
		baselineExtend, baselineEnd, baselineKeep, baselineSpend, baselinePatch,
	} {
		if err := s.Load(ctx, client).Err(); err != nil {
			return nil, err
		}
	}
	return &baseline{client, prefix}, nil
}

func (b *baseline) shared(name string) string { return "{" + b.prefix + "}:" + name }

func (b *baseline) account(k adapter.AccountKey) string {
	return Key(b.prefix, adaptertest.Record{Kind: adaptertest.AccountRecord, Account: k})
}

func (b *baseline) session(token string) string { return b.prefix + ":session:" + token }

// anew returns a key that the adapter does not read.
func (b *baseline) anew(kind, id string) string { return b.shared("baseline-" + kind + ":" + id) }

type userJSON struct {
	Name          *string    `json:"name"`
	Email         string     `json:"email"`
	EmailVerified *time.Time `json:"emailVerified"`
	Image         *string    `json:"image"`
}

func userOf(id, value string) (*adapter.User, error) {
	var r userJSON
	err := json.Unmarshal([]byte(value), &r)
	return &adapter.User{ID: id, Name: r.Name, Email: r.Email, EmailVerified: r.EmailVerified, Image: r.Image}, err
}

type accountJSON struct {
	User         string              `json:"user"`
	Type         adapter.AccountType `json:"type"`
	AccessToken  *string             `json:"access_token"`
	RefreshToken *string             `json:"refresh_token"`
	IDToken      *string             `json:"id_token"`
	Scope        *string             `json:"scope"`
	TokenType    *string             `json:"token_type"`
	SessionState *string             `json:"session_state"`
	ExpiresAt    *int64              `json:"expires_at,string"`
	Details      *string             `json:"authorization_details"`
}

func accountOf(k adapter.AccountKey, value string) (*adapter.Account, error) {
	var r accountJSON
	if err := json.Unmarshal([]byte(value), &r); err != nil {
		return nil, err
	}
	return &adapter.Account{UserID: r.User, Type: r.Type, Provider: k.Provider, ProviderAccountID: k.ProviderAccountID, AccessToken: r.AccessToken, RefreshToken: r.RefreshToken,
		IDToken: r.IDToken, Scope: r.Scope, TokenType: r.TokenType, SessionState: r.SessionState, ExpiresAt: r.ExpiresAt, AuthorizationDetails: json.RawMessage(*r.Details)}, nil
}

type authenticatorJSON struct {
	User                 string  `json:"user"`
	ProviderAccountID    string  `json:"providerAccountId"`
	CredentialPublicKey  string  `json:"credentialPublicKey"`
	Counter              int64   `json:"counter,string"`
	CredentialBackedUp   bool    `json:"credentialBackedUp"`
	CredentialDeviceType string  `json:"credentialDeviceType"`
	Transports           *string `json:"transports"`
}

func authenticatorOf(id, value string) (*adapter.Authenticator, error) {
	var r authenticatorJSON
	err := json.Unmarshal([]byte(value), &r)
	return &adapter.Authenticator{CredentialID: id, UserID: r.User, ProviderAccountID: r.ProviderAccountID, CredentialPublicKey: r.CredentialPublicKey,
		Counter: r.Counter, CredentialBackedUp: r.CredentialBackedUp, CredentialDeviceType: r.CredentialDeviceType, Transports: r.Transports}, err
}

type sessionJSON struct {
	User    string `json:"user"`
	Inc     string `json:"inc"`
	Expires int64  `json:"expires,string"`
}

func sessionOf(token, value string) (*adapter.Session, error) {
	var r sessionJSON
	err := json.Unmarshal([]byte(value), &r)
	return &adapter.Session{SessionToken: token, UserID: r.User, Expires: time.UnixMicro(r.Expires).UTC()}, err
}

func (b *baseline) texts(ctx context.Context, s *goredis.Script, key string, args ...any) ([]string, error) {
	return b.client.EvalSha(ctx, s.Hash(), []string{key}, args...).StringSlice()
}

func (b *baseline) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	value, err := b.client.Get(ctx, b.shared("user:"+id)).Result()
	if err != nil {
		return nil, err
	}
	return userOf(id, value)
}

func (b *baseline) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	r, err := b.texts(ctx, baselineByEmail, b.shared("email:"+email), b.shared("user:"))
	if err != nil || len(r) == 0 {
		return nil, err
	}
	return userOf(r[0], r[1])
}

func (b *baseline) GetUserByAccount(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
	r, err := b.texts(ctx, baselineFollow, b.account(k), b.shared("user:"))
	if err != nil {
		return nil, err
	}
	return userOf(r[2], r[1])
}

func (b *baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	k := adapter.AccountKey{Provider: provider, ProviderAccountID: id}
	value, err := b.client.Get(ctx, b.account(k)).Result()
	if err != nil {
		return nil, err
	}
	return accountOf(k, value)
}

func (b *baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r, err := b.texts(ctx, baselineFollow, b.session(token), b.shared("user:"))
	if err != nil || len(r) == 0 {
		return nil, err
	}
	s, err := sessionOf(token, r[0])
	if err != nil {
		return nil, err
	}
	u, err := userOf(s.UserID, r[1])
	return &adapter.SessionAndUser{Session: *s, User: *u}, err
}

func (b *baseline) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	value, err := b.client.Get(ctx, b.shared("authenticator:"+id)).Result()
	if err != nil {
		return nil, err
	}
	return authenticatorOf(id, value)
}

func (b *baseline) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	all, err := b.texts(ctx, baselineList, b.shared("user:"+userID), b.shared("authenticator:"))
	if err != nil {
		return nil, err
	}
	var list []adapter.Authenticator
	for i := 0; i < len(all); i += 2 {
		w, err := authenticatorOf(all[i], all[i+1])
		if err != nil {
			return nil, err
		}
		w.UserID = userID
		list = append(list, *w)
	}
	return list, nil
}

func (b *baseline) text(ctx context.Context, s *goredis.Script, keys []string, args ...any) (string, error) {
	return b.client.EvalSha(ctx, s.Hash(), keys, args...).Text()
}

// ok runs a script that answers "ok" if it has written.
func (b *baseline) ok(ctx context.Context, s *goredis.Script, keys []string, args ...any) error {
	word, err := b.text(ctx, s, keys, args...)
	if err == nil && word != "ok" {
		err = errors.New(word)
	}
	return err
}

func (b *baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
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

func (b *baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	var changes []any
	if name, ok := u.Name.Get(); ok {
		changes = append(changes, "name", *name)
	}
	if image, ok := u.Image.Get(); ok {
		changes = append(changes, "image", *image)
	}
	value, err := b.text(ctx, baselinePatch, []string{b.shared("user:" + u.ID)}, changes...)
	if err != nil {
		return nil, err
	}
	return userOf(u.ID, value)
}

func (b *baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	value, err := b.text(ctx, baselineDeleteUser, []string{b.shared("user:" + id), b.shared("sessions:" + id)}, b.shared(""), b.session(""))
	if err != nil {
		return nil, err
	}
	return userOf(id, value)
}

func (b *baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	value, err := json.Marshal(accountJSON{a.UserID, a.Type, a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState, a.ExpiresAt, new(string(a.AuthorizationDetails))})
	if err != nil {
		return nil, err
	}
	key := b.account(a.Key())
	return &a, b.ok(ctx, baselineGive, []string{b.shared("user:" + a.UserID), key}, "accounts", key[len(b.shared("account:")):], value)
}

func (b *baseline) UnlinkAccount(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
	key := b.account(k)
	value, err := b.text(ctx, baselineUnlink, []string{key}, b.shared("user:"), key[len(b.shared("account:")):])
	if err != nil {
		return nil, err
	}
	return accountOf(k, value)
}

// end is the instant at which the server may remove the key of a session.
func end(t time.Time) int64 { return t.Add(time.Minute).UnixMilli() }

func (b *baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	keys := []string{b.session(s.SessionToken), b.shared("user:" + s.UserID), b.shared("sessions:" + s.UserID)}
	return &s, b.ok(ctx, baselineCreateSession, keys, s.UserID, strconv.FormatInt(s.Expires.UnixMicro(), 10), end(s.Expires), s.SessionToken, time.Now().Add(-24*time.Hour).UnixMilli())
}

func (b *baseline) UpdateSession(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
	expires, _ := u.Expires.Get()
	value, err := b.text(ctx, baselineExtend, []string{b.session(u.SessionToken)}, b.shared(""), u.SessionToken, strconv.FormatInt(expires.UnixMicro(), 10), end(expires))
	if err != nil {
		return nil, err
	}
	return sessionOf(u.SessionToken, value)
}

func (b *baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	value, err := b.text(ctx, baselineEnd, []string{b.session(token)}, b.shared(""), token)
	if err != nil {
		return nil, err
	}
	return sessionOf(token, value)
}

func (b *baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &v, b.ok(ctx, baselineKeep, []string{b.anew("token", v.Identifier)}, v.Token, strconv.FormatInt(v.Expires.UnixMicro(), 10), end(v.Expires))
}

func (b *baseline) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	value, err := b.text(ctx, baselineSpend, []string{b.prefix + ":token:" + k.Identifier}, k.Token)
	if err != nil {
		return nil, err
	}
	us, err := strconv.ParseInt(value, 10, 64)
	return &adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: time.UnixMicro(us).UTC()}, err
}

func (b *baseline) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	value, err := json.Marshal(authenticatorJSON{w.UserID, w.ProviderAccountID, w.CredentialPublicKey, w.Counter, w.CredentialBackedUp, w.CredentialDeviceType, w.Transports})
	if err != nil {
		return nil, err
	}
	keys := []string{b.shared("user:" + w.UserID), b.shared("authenticator:" + w.CredentialID)}
	return &w, b.ok(ctx, baselineGive, keys, "authenticators", w.CredentialID, value)
}

func (b *baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	value, err := b.text(ctx, baselinePatch, []string{b.shared("authenticator:" + id)}, "counter", strconv.FormatInt(counter, 10))
	if err != nil {
		return nil, err
	}
	return authenticatorOf(id, value)
}

// DeleteExpired reads all sessions.
func (b *baseline) DeleteExpired(ctx context.Context, now time.Time) (adapter.Swept, error) {
	for cursor := uint64(0); ; {
		names, next, err := b.client.Scan(ctx, cursor, b.prefix+":session:*", 1000).Result()
		if err != nil {
			return adapter.Swept{}, err
		}
		if err := b.deleteExpired(ctx, names, now); err != nil {
			return adapter.Swept{}, err
		}
		if cursor = next; cursor == 0 {
			return adapter.Swept{}, nil
		}
	}
}

func (b *baseline) deleteExpired(ctx context.Context, names []string, now time.Time) error {
	if len(names) == 0 {
		return nil
	}
	values, err := b.client.MGet(ctx, names...).Result()
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
	return b.client.Unlink(ctx, expired...).Err()
}

// AddSessions stores the sessions from from to to-1, which bench.Sessions reads,
// and their users, a thousand sessions at a time.
func (b *baseline) AddSessions(ctx context.Context, from, to int) error {
	expires := time.Now().Add(time.Hour)
	for ; from < to; from += 1000 {
		pipe := b.client.Pipeline()
		for n := from; n < from+1000; n++ {
			owner := fmt.Sprint("u", n/10)
			if n%10 == 0 {
				pipe.Set(ctx, b.shared("user:"+owner), `{"inc":"I`+owner+`","name":"User"}`, 0)
			}
			pipe.Set(ctx, b.session(bench.SessionToken(n)), fmt.Sprintf(`{"user":%q,"inc":"I%s","expires":"%d"}`, owner, owner, expires.UnixMicro()), time.Hour)
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
	}
	return nil
}
