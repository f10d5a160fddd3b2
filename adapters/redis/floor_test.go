package redis_test

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// floor is the least that the nineteen methods take with go-redis: one round
// trip each, and none of the promises that need more. It reads what the adapter
// wrote, and writes under the same names. Benchmarks compare the adapter with it.
type floor struct {
	client goredis.UniversalClient
	prefix string
	follow *goredis.Script
}

// newFloor loads the only script of the floor, which reads a record and its
// owner: two reads of which the second needs the first take a script, or two
// round trips.
func newFloor(t testing.TB, client goredis.UniversalClient, prefix string) *floor {
	t.Helper()
	f := &floor{client, prefix, goredis.NewScript(`
local n = tonumber(ARGV[2])
local r = redis.call('HMGET', KEYS[1], 'owner', 'inc', unpack(ARGV, 3, 2 + n))
if not r[1] then return {} end
return {r, redis.call('HMGET', ARGV[1] .. r[1] .. '}', 'inc', 'name', 'email', 'emailVerified', 'image')}`)}
	if err := f.follow.Load(t.Context(), client).Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *floor) key(kind, id string) string { return f.prefix + ":" + kind + ":{" + id + "}" }

func (f *floor) accountKey(k adapter.AccountKey) string {
	return f.key("account", k.Provider+":"+k.ProviderAccountID)
}

func micros(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func optional(v any) *string {
	if s, ok := v.(string); ok {
		return &s
	}
	return nil
}

func instant(v any) time.Time {
	s, _ := v.(string)
	us, _ := strconv.ParseInt(s, 10, 64)
	return time.UnixMicro(us).UTC()
}

// decode reads inc, name, email, emailVerified and image.
func decode(id string, v []any) *adapter.User {
	u := &adapter.User{ID: id, Name: optional(v[1]), Image: optional(v[4])}
	u.Email, _ = v[2].(string)
	if v[3] != nil {
		u.EmailVerified = new(instant(v[3]))
	}
	return u
}

// read returns the fields of a record and the owner.
func (f *floor) read(ctx context.Context, key string, fields ...any) ([]any, *adapter.User, error) {
	args := append([]any{f.prefix + ":user:{", len(fields)}, fields...)
	r, err := f.client.EvalSha(ctx, f.follow.Hash(), []string{key}, args...).Slice()
	if err != nil || len(r) != 2 {
		return nil, nil, err
	}
	record, owner := r[0].([]any), r[1].([]any)
	if record[1] != owner[0] {
		return nil, nil, nil
	}
	return record[2:], decode(record[0].(string), owner), nil
}

func (f *floor) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	u.ID = micros(time.Now())
	return &u, f.client.HSet(ctx, f.key("floor-user", u.ID), "inc", "i", "name", *u.Name, "email", u.Email).Err()
}

func (f *floor) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	v, err := f.client.HMGet(ctx, f.key("user", id), "inc", "name", "email", "emailVerified", "image").Result()
	if err != nil {
		return nil, err
	}
	return decode(id, v), nil
}

func (f *floor) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	return nil, f.client.Get(ctx, f.key("email", email)).Err()
}

func (f *floor) GetUserByAccount(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
	_, u, err := f.read(ctx, f.accountKey(k), "type")
	return u, err
}

func (f *floor) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	name, _ := u.Name.Get()
	return nil, f.client.HSet(ctx, f.key("user", u.ID), "name", *name).Err()
}

func (f *floor) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	return nil, f.client.Del(ctx, f.key("user", id)).Err()
}

func (f *floor) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return &a, f.client.HSet(ctx, f.key("floor-account", a.ProviderAccountID), "owner", a.UserID, "type", string(a.Type), "access_token", *a.AccessToken, "scope", *a.Scope).Err()
}

func (f *floor) UnlinkAccount(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
	return nil, f.client.Del(ctx, f.accountKey(k)).Err()
}

func (f *floor) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	k := adapter.AccountKey{Provider: provider, ProviderAccountID: id}
	v, u, err := f.read(ctx, f.accountKey(k), "type", "access_token", "refresh_token", "id_token", "scope", "token_type", "session_state", "expires_at", "authorization_details")
	if err != nil || u == nil {
		return nil, err
	}
	a := &adapter.Account{UserID: u.ID, Provider: provider, ProviderAccountID: id, AccessToken: optional(v[1]), Scope: optional(v[4])}
	if s := optional(v[8]); s != nil {
		a.AuthorizationDetails = json.RawMessage(*s)
	}
	return a, nil
}

func (f *floor) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	key := f.key("floor-session", s.SessionToken)
	pipe := f.client.Pipeline()
	pipe.HSet(ctx, key, "owner", s.UserID, "expires", micros(s.Expires))
	pipe.PExpireAt(ctx, key, s.Expires)
	_, err := pipe.Exec(ctx)
	return &s, err
}

func (f *floor) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	v, u, err := f.read(ctx, f.key("session", token), "expires")
	if err != nil || u == nil {
		return nil, err
	}
	return &adapter.SessionAndUser{Session: adapter.Session{SessionToken: token, UserID: u.ID, Expires: instant(v[0])}, User: *u}, nil
}

func (f *floor) UpdateSession(ctx context.Context, s adapter.SessionUpdate) (*adapter.Session, error) {
	expires, _ := s.Expires.Get()
	key := f.key("session", s.SessionToken)
	pipe := f.client.Pipeline()
	pipe.HSet(ctx, key, "expires", micros(expires))
	pipe.PExpireAt(ctx, key, expires)
	_, err := pipe.Exec(ctx)
	return nil, err
}

func (f *floor) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	return nil, f.client.Del(ctx, f.key("session", token)).Err()
}

func (f *floor) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &v, f.client.Set(ctx, f.key("floor-token", v.Identifier+":"+v.Token), micros(v.Expires), time.Until(v.Expires)).Err()
}

func (f *floor) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	expires, err := f.client.GetDel(ctx, f.key("token", k.Identifier+":"+k.Token)).Result()
	return &adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: instant(expires)}, err
}

func (f *floor) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	return &w, f.client.HSet(ctx, f.key("floor-authenticator", w.CredentialID), "owner", w.UserID, "credentialID", w.CredentialID, "credentialPublicKey", w.CredentialPublicKey,
		"providerAccountId", w.ProviderAccountID, "counter", w.Counter, "credentialBackedUp", w.CredentialBackedUp, "credentialDeviceType", w.CredentialDeviceType).Err()
}

func (f *floor) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	v, u, err := f.read(ctx, f.key("authenticator", id), "credentialID", "providerAccountId", "credentialPublicKey", "counter", "credentialBackedUp", "credentialDeviceType", "transports")
	if err != nil || u == nil {
		return nil, err
	}
	w := &adapter.Authenticator{CredentialID: id, UserID: u.ID, Transports: optional(v[6])}
	w.Counter, err = strconv.ParseInt(v[3].(string), 10, 64)
	return w, err
}

func (f *floor) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	return nil, f.client.ZRange(ctx, f.key("user", userID)+":authenticators", 0, -1).Err()
}

func (f *floor) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	return nil, f.client.HSet(ctx, f.key("authenticator", id), "counter", counter).Err()
}
