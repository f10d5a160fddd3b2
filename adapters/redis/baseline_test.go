package redis_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// baseline has the nineteen methods in the least code that go-redis allows:
// each takes one round trip on the records that the adapter wrote, and keeps
// no promise. Nothing reads the new records that it writes.
type baseline struct {
	client goredis.UniversalClient
	prefix string
}

var _ adapter.Adapter = (*baseline)(nil)

// A method that must read one record to find or change another one is a
// script.
var (
	baselineFollow = goredis.NewScript(`
local r = redis.call('GET', KEYS[1])
local id = cjson.decode(r).user
return {r, redis.call('GET', ARGV[1] .. id), id}`)
	baselineByEmail = goredis.NewScript(`
local id = redis.call('GET', KEYS[1])
return {id, redis.call('GET', ARGV[1] .. id)}`)
	baselineList = goredis.NewScript(`
local all = {}
for i, name in ipairs(cjson.decode(redis.call('GET', KEYS[1])).authenticators) do
  all[2 * i - 1], all[2 * i] = name, redis.call('GET', ARGV[1] .. name)
end
return all`)
	baselinePatch = goredis.NewScript(`
local r = cjson.decode(redis.call('GET', KEYS[1]))
for i = 1, #ARGV, 2 do r[ARGV[i]] = ARGV[i + 1] end
local value = cjson.encode(r)
redis.call('SET', KEYS[1], value, 'KEEPTTL')
return value`)
)

// newBaseline loads the scripts.
func newBaseline(t testing.TB, a adapter.Adapter) any {
	t.Helper()
	h := a.(*redistest.Handle)
	for _, s := range []*goredis.Script{baselineFollow, baselineByEmail, baselineList, baselinePatch} {
		if err := s.Load(t.Context(), h.Client).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return &baseline{h.Client, h.Prefix}
}

func (b *baseline) shared(name string) string { return "{" + b.prefix + "}:" + name }

func (b *baseline) account(k adapter.AccountKey) string {
	return redistest.Key(b.prefix, adaptertest.Record{Kind: adaptertest.AccountRecord, Account: k})
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

func (b *baseline) CreateUser(ctx context.Context, u adapter.User) (*adapter.User, error) {
	u.ID = rand.Text()
	value, err := json.Marshal(userJSON{u.Name, u.Email, u.EmailVerified, u.Image})
	if err != nil {
		return nil, err
	}
	pipe := b.client.Pipeline()
	pipe.Set(ctx, b.anew("user", u.ID), value, 0)
	pipe.Set(ctx, b.anew("email", u.Email), u.ID, 0)
	_, err = pipe.Exec(ctx)
	return &u, err
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
	if err != nil {
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

func (b *baseline) patch(ctx context.Context, key string, args ...any) (string, error) {
	return b.client.EvalSha(ctx, baselinePatch.Hash(), []string{key}, args...).Text()
}

func (b *baseline) UpdateUser(ctx context.Context, u adapter.UserUpdate) (*adapter.User, error) {
	name, _ := u.Name.Get()
	image, _ := u.Image.Get()
	value, err := b.patch(ctx, b.shared("user:"+u.ID), "name", *name, "image", *image)
	if err != nil {
		return nil, err
	}
	return userOf(u.ID, value)
}

func (b *baseline) DeleteUser(ctx context.Context, id string) (*adapter.User, error) {
	pipe := b.client.Pipeline()
	value := pipe.Get(ctx, b.shared("user:"+id))
	pipe.Unlink(ctx, b.shared("user:"+id), b.shared("email:"+id), b.shared("sessions:"+id))
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return userOf(id, value.Val())
}

func (b *baseline) LinkAccount(ctx context.Context, a adapter.Account) (*adapter.Account, error) {
	value, err := json.Marshal(accountJSON{a.UserID, a.Type, a.AccessToken, a.RefreshToken, a.IDToken, a.Scope, a.TokenType, a.SessionState, a.ExpiresAt, new(string(a.AuthorizationDetails))})
	if err != nil {
		return nil, err
	}
	pipe := b.client.Pipeline()
	pipe.Set(ctx, b.anew("account", a.ProviderAccountID), value, 0)
	pipe.SAdd(ctx, b.anew("accounts", a.UserID), a.ProviderAccountID)
	_, err = pipe.Exec(ctx)
	return &a, err
}

func (b *baseline) UnlinkAccount(ctx context.Context, k adapter.AccountKey) (*adapter.Account, error) {
	pipe := b.client.Pipeline()
	value := pipe.GetDel(ctx, b.account(k))
	pipe.SRem(ctx, b.anew("accounts", "owner"), k.ProviderAccountID)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return accountOf(k, value.Val())
}

func (b *baseline) GetAccount(ctx context.Context, id, provider string) (*adapter.Account, error) {
	k := adapter.AccountKey{Provider: provider, ProviderAccountID: id}
	value, err := b.client.Get(ctx, b.account(k)).Result()
	if err != nil {
		return nil, err
	}
	return accountOf(k, value)
}

func (b *baseline) CreateSession(ctx context.Context, s adapter.Session) (*adapter.Session, error) {
	value, err := json.Marshal(sessionJSON{s.UserID, "I", s.Expires.UnixMicro()})
	if err != nil {
		return nil, err
	}
	list := b.anew("sessions", s.UserID)
	pipe := b.client.Pipeline()
	pipe.Set(ctx, b.anew("session", s.SessionToken), value, time.Until(s.Expires))
	pipe.ZAdd(ctx, list, goredis.Z{Score: float64(s.Expires.UnixMilli()), Member: s.SessionToken})
	pipe.PExpireAt(ctx, list, s.Expires)
	_, err = pipe.Exec(ctx)
	return &s, err
}

func (b *baseline) GetSessionAndUser(ctx context.Context, token string) (*adapter.SessionAndUser, error) {
	r, err := b.texts(ctx, baselineFollow, b.session(token), b.shared("user:"))
	if err != nil {
		return nil, err
	}
	s, err := sessionOf(token, r[0])
	if err != nil {
		return nil, err
	}
	u, err := userOf(s.UserID, r[1])
	return &adapter.SessionAndUser{Session: *s, User: *u}, err
}

func (b *baseline) UpdateSession(ctx context.Context, u adapter.SessionUpdate) (*adapter.Session, error) {
	expires, _ := u.Expires.Get()
	key := b.session(u.SessionToken)
	pipe := b.client.Pipeline()
	value := pipe.EvalSha(ctx, baselinePatch.Hash(), []string{key}, "expires", strconv.FormatInt(expires.UnixMicro(), 10))
	pipe.PExpireAt(ctx, key, expires)
	pipe.ZAdd(ctx, b.anew("sessions", "owner"), goredis.Z{Score: float64(expires.UnixMilli()), Member: u.SessionToken})
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	text, err := value.Text()
	if err != nil {
		return nil, err
	}
	return sessionOf(u.SessionToken, text)
}

func (b *baseline) DeleteSession(ctx context.Context, token string) (*adapter.Session, error) {
	pipe := b.client.Pipeline()
	value := pipe.GetDel(ctx, b.session(token))
	pipe.ZRem(ctx, b.anew("sessions", "owner"), token)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	return sessionOf(token, value.Val())
}

func (b *baseline) CreateVerificationToken(ctx context.Context, v adapter.VerificationToken) (*adapter.VerificationToken, error) {
	key := b.anew("token", v.Identifier)
	pipe := b.client.Pipeline()
	pipe.HSet(ctx, key, v.Token, strconv.FormatInt(v.Expires.UnixMicro(), 10))
	pipe.PExpireAt(ctx, key, v.Expires)
	_, err := pipe.Exec(ctx)
	return &v, err
}

func (b *baseline) UseVerificationToken(ctx context.Context, k adapter.VerificationTokenKey) (*adapter.VerificationToken, error) {
	key := b.prefix + ":token:" + k.Identifier
	pipe := b.client.Pipeline()
	value := pipe.HGet(ctx, key, k.Token)
	pipe.HDel(ctx, key, k.Token)
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, err
	}
	us, err := strconv.ParseInt(value.Val(), 10, 64)
	return &adapter.VerificationToken{Identifier: k.Identifier, Token: k.Token, Expires: time.UnixMicro(us).UTC()}, err
}

func (b *baseline) CreateAuthenticator(ctx context.Context, w adapter.Authenticator) (*adapter.Authenticator, error) {
	value, err := json.Marshal(authenticatorJSON{w.UserID, w.ProviderAccountID, w.CredentialPublicKey, w.Counter, w.CredentialBackedUp, w.CredentialDeviceType, w.Transports})
	if err != nil {
		return nil, err
	}
	pipe := b.client.Pipeline()
	pipe.Set(ctx, b.anew("authenticator", w.CredentialID), value, 0)
	pipe.SAdd(ctx, b.anew("authenticators", w.UserID), w.CredentialID)
	_, err = pipe.Exec(ctx)
	return &w, err
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

func (b *baseline) UpdateAuthenticatorCounter(ctx context.Context, id string, counter int64) (*adapter.Authenticator, error) {
	value, err := b.patch(ctx, b.shared("authenticator:"+id), "counter", strconv.FormatInt(counter, 10))
	if err != nil {
		return nil, err
	}
	return authenticatorOf(id, value)
}
