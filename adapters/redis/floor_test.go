package redis_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// floor is the least that the nineteen methods take with go-redis: one round
// trip each, and none of the promises that need more. It reads what the adapter
// wrote, and writes under the same names or such as nobody reads.
type floor struct {
	client goredis.UniversalClient
	prefix string
	// The arguments of floorFollow.
	owner, account, session, authenticator []any
}

var _ adapter.Adapter = (*floor)(nil)

// What takes a second read for which the first must be known is a script, or two
// round trips.
var (
	floorFollow = goredis.NewScript(`
local r = redis.call('HMGET', KEYS[1], 'owner', 'inc', unpack(ARGV, 2))
if not r[1] then return {} end
return {r, redis.call('HMGET', ARGV[1] .. r[1] .. '}', 'inc', 'name', 'email', 'emailVerified', 'image')}`)
	floorByEmail = goredis.NewScript(`
local id = string.match(redis.call('GET', KEYS[1]) or '', ':(.*)')
if not id then return {} end
return {id, redis.call('HMGET', ARGV[1] .. id .. '}', 'inc', 'name', 'email', 'emailVerified', 'image')}`)
	floorList = goredis.NewScript(`
local all = redis.call('ZRANGE', KEYS[1], 0, -1)
for i, entry in ipairs(all) do all[i] = redis.call('HMGET', string.match(entry, '[^:]*:[^:]*:(.*)'), unpack(ARGV)) end
return all`)
)

// newFloor loads the scripts.
func newFloor(t testing.TB, a adapter.Adapter) any {
	t.Helper()
	d := a.(direct)
	for _, s := range []*goredis.Script{floorFollow, floorByEmail, floorList} {
		if err := s.Load(t.Context(), d.client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	follow := func(fields ...any) []any { return append([]any{d.prefix + ":user:{"}, fields...) }
	return &floor{
		d.client, d.prefix,
		follow("type"),
		follow("type", "access_token", "refresh_token", "id_token", "scope", "token_type", "session_state", "expires_at", "authorization_details"),
		follow("expires"),
		follow(authenticatorFields...),
	}
}

func (f *floor) key(kind, id string) string { return f.prefix + ":" + kind + ":{" + escape(id) + "}" }

func (f *floor) accountKey(k adapter.AccountKey) string {
	return f.prefix + ":account:{" + escape(k.Provider) + ":" + escape(k.ProviderAccountID) + "}"
}

func (f *floor) tokenKey(k adapter.VerificationTokenKey) string {
	return f.prefix + ":token:{" + escape(k.Identifier) + ":" + escape(k.Token) + "}"
}

// anew is a key that the adapter does not read.
func (f *floor) anew(kind, id string) string { return f.prefix + ":floor-" + kind + ":{" + id + "}" }

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
func (f *floor) read(ctx context.Context, key string, args []any) ([]any, *adapter.User, error) {
	r, err := f.client.EvalSha(ctx, floorFollow.Hash(), []string{key}, args...).Slice()
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
	u.ID = rand.Text()
	return &u, f.client.HSet(ctx, f.anew("user", u.ID), "inc", "i", "name", *u.Name, "email", u.Email, "emailVerified", micros(*u.EmailVerified), "image", *u.Image).Err()
}

func (f *floor) GetUser(ctx context.Context, id string) (*adapter.User, error) {
	v, err := f.client.HMGet(ctx, f.key("user", id), "inc", "name", "email", "emailVerified", "image").Result()
	if err != nil {
		return nil, err
	}
	return decode(id, v), nil
}

func (f *floor) GetUserByEmail(ctx context.Context, email string) (*adapter.User, error) {
	v, err := f.client.EvalSha(ctx, floorByEmail.Hash(), []string{f.key("email", email)}, f.prefix+":user:{").Slice()
	if err != nil || len(v) != 2 {
		return nil, err
	}
	return decode(v[0].(string), v[1].([]any)), nil
}

func (f *floor) GetUserByAccount(ctx context.Context, k adapter.AccountKey) (*adapter.User, error) {
	_, u, err := f.read(ctx, f.accountKey(k), f.owner)
	return u, err
}

func (f *floor) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	pipe := f.client.Pipeline()
	pipe.HSet(ctx, f.key("user", u.ID), "name", *name, "image", *image)
	v := pipe.HMGet(ctx, f.key("user", u.ID), "inc", "name", "email", "emailVerified", "image")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return decode(u.ID, v.Val()), nil
}

func (f *floor) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	key := f.key("user", id)
	pipe := f.client.Pipeline()
	v := pipe.HMGet(ctx, key, "inc", "name", "email", "emailVerified", "image")
	pipe.Del(ctx, key, key+":accounts", key+":sessions", key+":authenticators", key+":emails")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return decode(id, v.Val()), nil
}

func (f *floor) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	return &a, f.client.HSet(ctx, f.anew("account", a.ProviderAccountID), "owner", a.UserID, "type", string(a.Type), "access_token", *a.AccessToken,
		"refresh_token", *a.RefreshToken, "id_token", *a.IDToken, "scope", *a.Scope, "token_type", *a.TokenType, "session_state", *a.SessionState,
		"expires_at", *a.ExpiresAt, "authorization_details", []byte(a.AuthorizationDetails)).Err()
}

func (f *floor) UnlinkAccount(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
	pipe := f.client.Pipeline()
	v := pipe.HMGet(ctx, f.accountKey(k), accountFields...)
	pipe.Del(ctx, f.accountKey(k))
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return decodeAccount(k, "", v.Val()), nil
}

var accountFields = []string{"type", "access_token", "refresh_token", "id_token", "scope", "token_type", "session_state", "expires_at", "authorization_details"}

func decodeAccount(k adapter.AccountKey, owner string, v []any) *adapter.Account {
	a := &adapter.Account{UserID: owner, Provider: k.Provider, ProviderAccountID: k.ProviderAccountID, AccessToken: optional(v[1]), RefreshToken: optional(v[2]),
		IDToken: optional(v[3]), Scope: optional(v[4]), TokenType: optional(v[5]), SessionState: optional(v[6])}
	if s := optional(v[0]); s != nil {
		a.Type = adapter.AccountType(*s)
	}
	if s := optional(v[7]); s != nil {
		n, _ := strconv.ParseInt(*s, 10, 64)
		a.ExpiresAt = &n
	}
	if s := optional(v[8]); s != nil {
		a.AuthorizationDetails = json.RawMessage(*s)
	}
	return a
}

func (f *floor) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	k := adapter.AccountKey{Provider: provider, ProviderAccountID: id}
	v, u, err := f.read(ctx, f.accountKey(k), f.account)
	if err != nil || u == nil {
		return nil, err
	}
	return decodeAccount(k, u.ID, v), nil
}

func (f *floor) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	key := f.anew("session", s.SessionToken)
	pipe := f.client.Pipeline()
	pipe.HSet(ctx, key, "owner", s.UserID, "expires", micros(s.Expires))
	pipe.PExpireAt(ctx, key, s.Expires)
	_, err := pipe.Exec(ctx)
	return &s, err
}

func (f *floor) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	v, u, err := f.read(ctx, f.key("session", token), f.session)
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
	owner := pipe.HGet(ctx, key, "owner")
	_, err := pipe.Exec(ctx)
	return &adapter.Session{SessionToken: s.SessionToken, UserID: owner.Val(), Expires: expires}, err
}

func (f *floor) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	pipe := f.client.Pipeline()
	v := pipe.HMGet(ctx, f.key("session", token), "owner", "expires")
	pipe.Del(ctx, f.key("session", token))
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return &adapter.Session{SessionToken: token, UserID: v.Val()[0].(string), Expires: instant(v.Val()[1])}, nil
}

func (f *floor) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	return &v, f.client.Set(ctx, f.anew("token", v.Identifier+":"+v.Token), micros(v.Expires), time.Until(v.Expires)).Err()
}

func (f *floor) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	expires, err := f.client.GetDel(ctx, f.tokenKey(k)).Result()
	return &adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: instant(expires)}, err
}

func (f *floor) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	return &w, f.client.HSet(ctx, f.anew("authenticator", w.CredentialID), "owner", w.UserID, "credentialID", w.CredentialID, "credentialPublicKey", w.CredentialPublicKey,
		"providerAccountId", w.ProviderAccountID, "counter", w.Counter, "credentialBackedUp", w.CredentialBackedUp, "credentialDeviceType", w.CredentialDeviceType,
		"transports", *w.Transports).Err()
}

func decodeAuthenticator(owner string, v []any) (*adapter.Authenticator, error) {
	w := &adapter.Authenticator{UserID: owner, CredentialID: v[0].(string), ProviderAccountID: v[1].(string), CredentialPublicKey: v[2].(string),
		CredentialBackedUp: v[4] == "true", CredentialDeviceType: v[5].(string), Transports: optional(v[6])}
	var err error
	w.Counter, err = strconv.ParseInt(v[3].(string), 10, 64)
	return w, err
}

var authenticatorFields = []any{"credentialID", "providerAccountId", "credentialPublicKey", "counter", "credentialBackedUp", "credentialDeviceType", "transports"}

func (f *floor) GetAuthenticator(ctx context.Context, id string) (*adapter.Authenticator, error) {
	v, u, err := f.read(ctx, f.key("authenticator", id), f.authenticator)
	if err != nil || u == nil {
		return nil, err
	}
	return decodeAuthenticator(u.ID, v)
}

func (f *floor) ListAuthenticatorsByUserID(ctx context.Context, userID string) ([]adapter.Authenticator, error) {
	all, err := f.client.EvalSha(ctx, floorList.Hash(), []string{f.key("user", userID) + ":authenticators"}, authenticatorFields...).Slice()
	if err != nil {
		return nil, err
	}
	var list []adapter.Authenticator
	for _, v := range all {
		w, err := decodeAuthenticator(userID, v.([]any))
		if err != nil {
			return nil, err
		}
		list = append(list, *w)
	}
	return list, nil
}

func (f *floor) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	key := f.key("authenticator", id)
	pipe := f.client.Pipeline()
	pipe.HSet(ctx, key, "counter", counter)
	v := pipe.HMGet(ctx, key, "credentialID", "providerAccountId", "credentialPublicKey", "counter", "credentialBackedUp", "credentialDeviceType", "transports")
	owner := pipe.HGet(ctx, key, "owner")
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return decodeAuthenticator(owner.Val(), v.Val())
}
