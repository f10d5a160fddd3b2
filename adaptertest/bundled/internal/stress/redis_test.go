package stress_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/wirings/wiringstest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// ownRedis starts a server of the kind that only this test uses. The test may change its settings and kill it.
func ownRedis(t *testing.T, kind stores.Kind, variable string) *stores.Store {
	t.Helper()
	t.Setenv(variable, "")
	return wiringstest.Server(t, stores.Options{Fast: true}, kind)
}

// redisClient opens a client that is closed at the end of the test.
func redisClient(t *testing.T, server redistest.Server, conns int) goredis.UniversalClient {
	t.Helper()
	c := must(server.Client(redistest.Settings{Conns: conns}))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func redisAdapter(t *testing.T, client goredis.UniversalClient, options ...redis.Option) *redis.Adapter {
	t.Helper()
	return must(redis.New(client, options...))(t)
}

// member creates a user with one record of each kind.
func member(t *testing.T, a *redis.Adapter, name string) {
	t.Helper()
	ctx, later := t.Context(), time.Now().Add(time.Hour)
	_, err := a.CreateUser(ctx, adapter.User{ID: name, Email: name + "@example.com"})
	_, err2 := a.LinkAccount(ctx, adapter.Account{UserID: name, Type: adapter.AccountOIDC, Provider: "p", ProviderAccountID: name})
	_, err3 := a.CreateSession(ctx, adapter.Session{SessionToken: "session-" + name, UserID: name, Expires: later})
	_, err4 := a.CreateAuthenticator(ctx, adapter.Authenticator{CredentialID: name, UserID: name, CredentialPublicKey: "k"})
	_, err5 := a.CreateVerificationToken(ctx, adapter.VerificationToken{Identifier: name, Token: "t", Expires: later})
	require.NoError(t, errors.Join(err, err2, err3, err4, err5))
}

// TestRedisFullMemory: when memory is full, no user is lost, stored records can be read and deleted, and a
// write returns an error and stores nothing.
func TestRedisFullMemory(t *testing.T) {
	store := ownRedis(t, stores.KindRedis, stores.EnvRedis)
	client := redisClient(t, redistest.URL(store.URL, 0), 4)
	ctx, a := t.Context(), redisAdapter(t, client)
	for _, name := range []string{"ada", "bob"} {
		member(t, a, name)
	}
	for i := range 150 { // more sessions than one script deletes
		_, err := a.CreateSession(ctx, adapter.Session{SessionToken: fmt.Sprint("more-", i), UserID: "ada", Expires: time.Now().Add(time.Hour)})
		require.NoError(t, err)
	}
	require.NoError(t, client.ConfigSet(ctx, "maxmemory", "1mb").Err())
	_, err := a.CreateUser(ctx, adapter.User{ID: "eve", Email: "eve@example.com"})
	require.ErrorContains(t, err, "OOM", "a user in a full store")
	fresh := redisAdapter(t, client) // as after a restart
	for _, email := range []string{"eve@example.com", "ada@example.com"} {
		u, err := fresh.GetUserByEmail(ctx, email)
		assert.Truef(t, err == nil && (u == nil) == (email == "eve@example.com"), "%s in a full store: %v, %v", email, u, err)
	}
	for _, c := range []struct {
		what   string
		delete func() (bool, error)
	}{
		{"a session", func() (bool, error) { s, err := fresh.DeleteSession(ctx, "session-bob"); return s != nil, err }},
		{"a token", func() (bool, error) {
			v, err := fresh.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "bob", Token: "t"})
			return v != nil, err
		}},
		{"an account", func() (bool, error) {
			x, err := fresh.UnlinkAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: "bob"})
			return x != nil, err
		}},
		{"an authenticator", func() (bool, error) {
			w, err := fresh.DeleteAuthenticator(ctx, "bob", "bob", false)
			return w != nil, err
		}},
		{"all sessions", func() (bool, error) {
			n, err := fresh.DeleteSessionsByUserID(ctx, "ada", "session-ada")
			return n == 150, err
		}},
		{"a user", func() (bool, error) { u, err := fresh.DeleteUser(ctx, "ada"); return u != nil, err }},
		{"what expired", func() (bool, error) { _, err := fresh.DeleteExpired(ctx, time.Now()); return true, err }},
	} {
		done, err := c.delete()
		assert.Truef(t, err == nil && done, "deleting %s in a full store: %v, %v", c.what, done, err)
	}
	keys, err := client.Keys(ctx, "*ada*").Result()
	assert.Truef(t, err == nil && len(keys) == 1, "keys of ada: %v, %v", keys, err) // the pending token belongs to no user
}

// TestRedisEviction: if the server may evict users, every call returns an error, unless an option accepts the eviction.
func TestRedisEviction(t *testing.T) {
	store := ownRedis(t, stores.KindRedis, stores.EnvRedis)
	client := redisClient(t, redistest.URL(store.URL, 0), 4)
	ctx := t.Context()
	set := func(limit, policy string) {
		t.Helper()
		err := errors.Join(client.ConfigSet(ctx, "maxmemory", limit).Err(), client.ConfigSet(ctx, "maxmemory-policy", policy).Err())
		require.NoError(t, err)
	}
	for _, policy := range []string{"allkeys-lru", "allkeys-lfu", "allkeys-random", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"} {
		set("1gb", policy)
		_, err := redisAdapter(t, client).GetUser(ctx, "ada")
		assert.Truef(t, err != nil && strings.Contains(err.Error(), policy),
			"%s: got %v, want an error that names the policy", policy, err)
		_, err = redisAdapter(t, client, redis.WithDangerousEviction()).GetUser(ctx, "ada")
		assert.NoErrorf(t, err, "%s, accepted", policy)
		set("0", policy)
		_, err = redisAdapter(t, client).GetUser(ctx, "ada")
		assert.NoErrorf(t, err, "%s with no limit", policy)
	}
	set("1gb", "noeviction")
	_, err := redisAdapter(t, client).GetUser(ctx, "ada")
	assert.NoError(t, err, "noeviction")
}

// TestRedisTLS: the adapter works over TLS with a client that verifies the server's certificate. A client that does not
// trust the certificate, and a client without TLS, gets an error and writes nothing.
func TestRedisTLS(t *testing.T) {
	store := ownRedis(t, stores.KindRedisTLS, stores.EnvRedisTLS)
	over := func(config *tls.Config) *redis.Adapter {
		client := goredis.NewClient(&goredis.Options{Addr: store.Addrs[0], TLSConfig: config, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		return redisAdapter(t, client)
	}
	ctx, a := t.Context(), over(&tls.Config{RootCAs: store.Roots, MinVersion: tls.VersionTLS12})
	require.NoError(t, a.EnsureScripts(ctx))
	member(t, a, "ada")
	s, err := a.GetSessionAndUser(ctx, "session-ada")
	assert.Truef(t, err == nil && s != nil && s.User.Email == "ada@example.com", "the session: got %+v, %v", s, err)
	_, err = over(&tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}).CreateUser(ctx, adapter.User{ID: "eve"})
	assert.ErrorAs(t, err, new(x509.UnknownAuthorityError), "a client that does not trust the certificate")
	_, err = over(nil).CreateUser(ctx, adapter.User{ID: "eve"})
	assert.Error(t, err, "a client without TLS: got no error")
	u, err := a.GetUser(ctx, "eve")
	assert.Truef(t, err == nil && u == nil, "the user of the clients that failed: got %+v, %v, want none", u, err)
	u, err = a.DeleteUser(ctx, "ada")
	assert.Truef(t, err == nil && u != nil, "deleting the user: got %+v, %v", u, err)
	s, err = a.GetSessionAndUser(ctx, "session-ada")
	assert.Truef(t, err == nil && s == nil, "the session of a deleted user: got %+v, %v", s, err)
}

// TestRedisBusy: while the server runs a long script of another client, it refuses all commands, and a write
// waits until the script ends.
func TestRedisBusy(t *testing.T) {
	store := ownRedis(t, stores.KindRedis, stores.EnvRedis)
	client := redisClient(t, redistest.URL(store.URL, 0), 4)
	ctx, a := t.Context(), redisAdapter(t, client)
	member(t, a, "ada")
	require.NoError(t, client.ConfigSet(ctx, "busy-reply-threshold", "20").Err())
	long := make(chan error, 1)
	go func() {
		long <- client.Eval(ctx, `
local start = redis.call('TIME')
repeat local now = redis.call('TIME') until (now[1] - start[1]) * 1000000 + now[2] - start[2] > 600000
return 1`, nil).Err()
	}()
	for refused := false; !refused; {
		select {
		case err := <-long:
			t.Fatalf("the long script ended before the server refused anything: %v", err)
		default:
			refused = goredis.HasErrorPrefix(client.Ping(ctx).Err(), "BUSY")
		}
	}
	_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Name: adapter.To(new("Late"))})
	assert.NoError(t, err, "a write while the server is busy")
	assert.NoError(t, <-long, "the long script")
}

// TestRedisSlotMoves moves the shared slot to another server of the cluster, key by key, while people sign
// in: an existing user is never absent, and no address gets a second user.
func TestRedisSlotMoves(t *testing.T) {
	store := ownRedis(t, stores.KindRedisCluster, stores.EnvRedisCluster)
	client := redisClient(t, redistest.Cluster(store.Addrs...), 16).(*goredis.ClusterClient)
	ctx, a := t.Context(), redisAdapter(t, client)
	const people = 300
	for i := range people {
		member(t, a, fmt.Sprint("m", i))
	}
	var reads, writes, failed, slowest atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; ; i = (i + 8) % people {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprint("m", i)
				start := time.Now()
				u, err := a.GetUserByEmail(ctx, name+"@example.com")
				x, err2 := a.GetUserByAccount(ctx, adapter.AccountKey{Provider: "p", ProviderAccountID: name})
				s, err3 := a.GetSessionAndUser(ctx, "session-"+name)
				slowest.Store(max(slowest.Load(), time.Since(start).Milliseconds()))
				assert.NoError(t, errors.Join(err, err2, err3), "a read failed")
				assert.Falsef(t, err == nil && (u == nil || u.ID != name) || err2 == nil && (x == nil || x.ID != name) || err3 == nil && (s == nil || s.User.ID != name),
					"%s is absent: %v, %v, %v", name, u, x, s)
				_, err4 := a.CreateUser(ctx, adapter.User{Email: name + "@example.com"})
				assert.Errorf(t, err4, "a second user has %s@example.com", name)
				_, err5 := a.UpdateUser(ctx, adapter.UserUpdate{ID: name, Name: adapter.To(new("moved"))})
				reads.Add(3)
				writes.Add(2)
				if err5 != nil {
					failed.Add(1)
				}
				if !errors.Is(err4, adapter.ErrConflict) {
					failed.Add(1)
				}
			}
		})
	}
	start := time.Now()
	moveSlot(t, client, "{gatehouse}:layout")
	took := time.Since(start)
	close(stop)
	wg.Wait()
	t.Logf("moved the slot of %d users in %v: %d reads, the slowest three in %d ms, and %d writes, of which %d failed", people, took.Round(time.Millisecond), reads.Load(), slowest.Load(), writes.Load(), failed.Load())
	for i := range people {
		name := fmt.Sprint("m", i)
		u, err := a.DeleteUser(ctx, name)
		require.Truef(t, err == nil && u != nil && u.ID == name, "after the move: %v, %v", u, err)
	}
}

// moveSlot moves the slot of the key to a server that does not have it.
func moveSlot(t *testing.T, client *goredis.ClusterClient, key string) {
	t.Helper()
	ctx := t.Context()
	slot := must(client.ClusterKeySlot(ctx, key).Result())(t)
	from := must(client.MasterForKey(ctx, key))(t)
	fromID := must(from.ClusterMyID(ctx).Result())(t)
	var to *goredis.Client
	var others []*goredis.Client
	var mu sync.Mutex
	require.NoError(t, client.ForEachMaster(ctx, func(_ context.Context, c *goredis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		others = append(others, c)
		if c.Options().Addr != from.Options().Addr {
			to = c
		}
		return nil
	}))
	toID := must(to.ClusterMyID(ctx).Result())(t)
	require.NoError(t, to.Do(ctx, "cluster", "setslot", slot, "importing", fromID).Err())
	require.NoError(t, from.Do(ctx, "cluster", "setslot", slot, "migrating", toID).Err())
	host, port, _ := strings.Cut(to.Options().Addr, ":")
	for {
		keys := must(from.ClusterGetKeysInSlot(ctx, int(slot), 1).Result())(t)
		if len(keys) == 0 {
			break
		}
		require.NoError(t, from.Do(ctx, "migrate", host, port, keys[0], 0, 5000).Err())
	}
	for _, c := range append([]*goredis.Client{to}, others...) {
		require.NoError(t, c.Do(ctx, "cluster", "setslot", slot, "node", toID).Err())
	}
}

// TestRedisMemberKilled kills one server of a cluster after the other under load, and starts it again.
func TestRedisMemberKilled(t *testing.T) {
	store := ownRedis(t, stores.KindRedisCluster, stores.EnvRedisCluster)
	start := time.Now()
	l := &load{t: t, a: redisAdapter(t, redisClient(t, redistest.Cluster(store.Addrs...), 16))}
	for _, m := range store.Members {
		l.killed(m.Kill, m.Start)
	}
	t.Logf("%d servers killed, %s", len(store.Members), l.counts(start))
}

// TestRedisFailover kills the master of a group under load and counts the acknowledged writes that are lost
// when a replica has taken over, without WAIT and with it. Both may lose writes. With WAIT a write is lost only if the
// elected replica did not acknowledge it. No lookup returns another user. Only make stress counts without WAIT.
func TestRedisFailover(t *testing.T) {
	for _, wait := range []bool{false, true} {
		if !wait && !*groups {
			continue
		}
		t.Run(fmt.Sprintf("wait=%t", wait), func(t *testing.T) {
			store := ownRedis(t, stores.KindSentinel, stores.EnvSentinel)
			server := redistest.Sentinel("gatehouse", store.Addrs...)
			stop := make(chan struct{})
			acknowledged := make([][]string, 16)
			var failed atomic.Int64
			var wg sync.WaitGroup
			for w := range acknowledged {
				client := redisClient(t, server, 1) // WAIT waits for the writes of its own connection
				a := redisAdapter(t, client)
				wg.Go(func() {
					for i := 0; ; i++ {
						select {
						case <-stop:
							return
						default:
						}
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						id := fmt.Sprintf("u%d-%d", w, i)
						_, err := a.CreateUser(ctx, adapter.User{ID: id, Email: id + "@example.com"})
						if err == nil && wait {
							var replicas int64
							replicas, err = client.Do(ctx, "wait", 1, 1000).Int64()
							if err == nil && replicas == 0 {
								err = errors.New("no replica has the write")
							}
						}
						cancel()
						if err != nil {
							failed.Add(1)
							continue
						}
						acknowledged[w] = append(acknowledged[w], id)
					}
				})
			}
			pause(time.Second)
			start := time.Now()
			require.NoError(t, store.Members[0].Kill(t.Context()))
			a := redisAdapter(t, redisClient(t, server, 16))
			for deadline := time.Now().Add(time.Minute); ; {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err := a.CreateUser(ctx, adapter.User{})
				cancel()
				if err == nil {
					break
				}
				require.Falsef(t, time.Now().After(deadline), "%v", err)
			}
			took := time.Since(start)
			close(stop)
			wg.Wait()
			var written, lost int
			for _, ids := range acknowledged {
				written += len(ids)
				for _, id := range ids {
					u, err := a.GetUserByEmail(t.Context(), id+"@example.com")
					for deadline := time.Now().Add(time.Minute); err != nil && time.Now().Before(deadline); {
						u, err = a.GetUserByEmail(t.Context(), id+"@example.com") // a late message of a sentinel may close connections
					}
					require.NoError(t, err)
					if u == nil {
						lost++
					} else if u.ID != id {
						t.Errorf("the lookup of user %s returned %s", id, u.ID)
					}
				}
			}
			t.Logf("a write succeeds %v after the kill; %d writes acknowledged, %d failed, %d lost", took.Round(10*time.Millisecond), written, failed.Load(), lost)
			assert.Falsef(t, wait && lost > 0, "%d writes that a replica had acknowledged are lost", lost)
		})
	}
}

// TestRedisTooFewReplicas: while too few replicas follow the server, a write is an error that says so and
// stores nothing, and reads go on, also those of a new process. A write that waits succeeds when they are back.
func TestRedisTooFewReplicas(t *testing.T) {
	store := ownRedis(t, stores.KindRedis, stores.EnvRedis)
	client := redisClient(t, redistest.URL(store.URL, 0), 4)
	ctx, a := t.Context(), redisAdapter(t, client)
	member(t, a, "ada")
	demand := func(replicas string) {
		t.Helper()
		require.NoError(t, client.ConfigSet(ctx, "min-replicas-to-write", replicas).Err())
	}
	content := func() string {
		t.Helper()
		sum, err := client.Do(ctx, "debug", "digest").Text()
		if err != nil {
			names := must(client.Keys(ctx, "*").Result())(t)
			slices.Sort(names)
			return strings.Join(names, " ")
		}
		return sum
	}
	before := content()
	demand("1")
	later, fresh := time.Now().Add(time.Hour), redisAdapter(t, client)
	var wg sync.WaitGroup
	for what, call := range map[string]func(context.Context, *redis.Adapter) error{
		"CreateUser": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.CreateUser(ctx, adapter.User{ID: "eve", Email: "eve@example.com"})
			return err
		},
		"CreateUserWithAccount": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.CreateUserWithAccount(ctx, adapter.User{ID: "eve"}, adapter.Account{Provider: "p", ProviderAccountID: "eve"}, &adapter.Authenticator{CredentialID: "eve"})
			return err
		},
		"CreateUserWithPassword": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.CreateUserWithPassword(ctx, adapter.User{ID: "eve"}, adapter.Password{Hash: "h"})
			return err
		},
		"LinkAccount": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.LinkAccount(ctx, adapter.Account{UserID: "ada", Provider: "p", ProviderAccountID: "second"})
			return err
		},
		"CreateSession": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.CreateSession(ctx, adapter.Session{SessionToken: "second", UserID: "ada", Expires: later})
			return err
		},
		"UpdateUser": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.UpdateUser(ctx, adapter.UserUpdate{ID: "ada", Email: adapter.To("new@example.com")})
			return err
		},
		"DeleteSession": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.DeleteSession(ctx, "session-ada")
			return err
		},
		"UseVerificationToken": func(ctx context.Context, a *redis.Adapter) error {
			_, err := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: "ada", Token: "t"})
			return err
		},
		"DeleteUser": func(ctx context.Context, a *redis.Adapter) error { _, err := a.DeleteUser(ctx, "ada"); return err },
	} {
		wg.Go(func() {
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			const want = "NOREPLICAS too few replicas follow the server (min-replicas-to-write)"
			assert.ErrorContains(t, call(short, a), want, what)
		})
	}
	wg.Wait()
	for process, a := range map[string]*redis.Adapter{"this process": a, "a new one": fresh} {
		both, err := a.GetSessionAndUser(ctx, "session-ada")
		assert.Truef(t, err == nil && both != nil && both.User.ID == "ada", "%s reads: %v, %v", process, both, err)
	}
	assert.Equal(t, before, content(), "what is stored")
	ended, end := context.WithCancel(ctx)
	hooked := redisClient(t, redistest.URL(store.URL, 0), 1)
	hurried := redisAdapter(t, hooked)
	_, err := hurried.GetUser(ctx, "ada") // looks at the server
	require.NoError(t, err)
	hooked.AddHook(&endsAgain{end: end})
	if _, err := hurried.CreateUser(ended, adapter.User{ID: "eve"}); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "NOREPLICAS") {
		t.Errorf("the context ends in a try: got %v", err)
	}
	waiting := make(chan error, 1)
	go func() { _, err := a.CreateUser(ctx, adapter.User{ID: "eve"}); waiting <- err }()
	demand("0")
	assert.NoError(t, <-waiting, "a write that waited")
}

// endsAgain ends a context before the command is sent that follows a refused one.
type endsAgain struct {
	end     context.CancelFunc
	refused bool
}

func (*endsAgain) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (*endsAgain) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

func (e *endsAgain) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if e.refused {
			e.end()
		}
		err := next(ctx, cmd)
		e.refused = e.refused || goredis.HasErrorPrefix(err, "NOREPLICAS")
		return err
	}
}

// TestRedisOnlyReplicas: while the only server is a replica, reads go on, and the writes that
// wait open few connections. When it takes writes again, they succeed.
func TestRedisOnlyReplicas(t *testing.T) {
	store := ownRedis(t, stores.KindRedis, stores.EnvRedis)
	ctx := t.Context()
	var dialed atomic.Int64
	client, err := redistest.URL(store.URL, 0)(redistest.Settings{Conns: 16, Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	a, admin := redisAdapter(t, client), redisClient(t, redistest.URL(store.URL, 0), 1).(*goredis.Client)
	member(t, a, "ada")
	require.NoError(t, admin.Do(ctx, "replicaof", "127.0.0.1", "1").Err()) // nobody listens there
	later := redisAdapter(t, client)                                       // as in a process that begins now
	const phase = 5 * time.Second
	end := time.Now().Add(phase)
	var wg, first sync.WaitGroup // first: each caller is refused for the first time
	var writes, reads, said atomic.Int64
	for i := range 24 {
		first.Add(1)
		told := sync.OnceFunc(first.Done)
		wg.Go(func() {
			defer told()
			for time.Now().Before(end) {
				within, cancel := context.WithTimeout(ctx, time.Duration(20+50*i)*time.Millisecond)
				if _, err := a.CreateUser(within, adapter.User{}); err == nil {
					t.Error("a replica has stored a user")
				} else if strings.Contains(err.Error(), "READONLY") {
					said.Add(1)
				}
				cancel()
				told()
				writes.Add(1)
			}
		})
		wg.Go(func() {
			for time.Now().Before(end) {
				got, err := a.GetSessionAndUser(ctx, "session-ada")
				assert.Truef(t, err == nil && got != nil, "GetSessionAndUser: got %v, %v", got, err)
				_, _ = later.GetUser(ctx, "ada") // is refused, because it has not seen that the server takes writes
				reads.Add(1)
				pause(10 * time.Millisecond)
			}
		})
	}
	first.Wait()
	before := dialed.Load()
	wg.Wait()
	n := dialed.Load() - before
	assert.Truef(t, said.Load() >= writes.Load()/2, "%d of %d errors say READONLY", said.Load(), writes.Load())
	t.Logf("%d connections for %d writes and %d reads in %v", n, writes.Load(), reads.Load(), phase)
	assert.Truef(t, n <= 150, "%d connections were opened, want few", n)
	require.NoError(t, admin.Do(ctx, "replicaof", "no", "one").Err())
	began := time.Now()
	for range 16 {
		wg.Go(func() {
			_, err := a.CreateUser(ctx, adapter.User{})
			assert.NoError(t, err, "CreateUser afterwards")
		})
	}
	wg.Wait()
	assert.LessOrEqual(t, time.Since(began), 2*time.Second, "the writes after the server takes writes")
}
