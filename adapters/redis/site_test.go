package redis_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
	"github.com/gatehouse-go/gatehouse/adapters/redis/redistest"
	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

// quotesNothing searches an error, and those that it wraps, for a secret.
func quotesNothing(t *testing.T, what string, err error, secret string) {
	t.Helper()
	assert.Errorf(t, err, "%s: got no error", what)
	for ; err != nil; err = errors.Unwrap(err) {
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			assert.NotContainsf(t, text, secret, "%s: the error quotes a value", what)
		}
	}
}

// asRedis6 lets a server answer the question for the rights as Redis 6 does, which has no
// acl_check_cmd.
type asRedis6 struct{}

func (asRedis6) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (asRedis6) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if args := cmd.Args(); len(args) > 4 && strings.HasSuffix(fmt.Sprint(args[4]), "}:none:") {
			switch cmd.Name() {
			case "evalsha":
				args[1] = strings.Repeat("0", 40) // so that the text is sent
			case "eval":
				args[1] = strings.ReplaceAll(fmt.Sprint(args[1]), "redis.acl_check_cmd", "redis.no_such_function")
			}
		}
		return next(ctx, cmd)
	}
}

func (asRedis6) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// TestFirstCallNamesTheRight: with one right less each first call names it, and nothing is
// stored, also no layout.
func TestFirstCallNamesTheRight(t *testing.T) {
	for _, w := range wirings {
		t.Run(w.name, func(t *testing.T) { firstCallNames(t, w, false) })
		t.Run(w.name+", as Redis 6", func(t *testing.T) { firstCallNames(t, w, true) })
	}
}

func firstCallNames(t *testing.T, w wiring, old bool) {
	e := w.env(t)
	prefix := url.QueryEscape(e.Prefix)
	keys := []string{"~{" + prefix + "}:*", "~" + prefix + ":*"}
	node := []string{"-@all", "+ping", "+hello", "+info", "+cluster|slots", "+cluster|shards", "+cluster|nodes", "+command", "+readonly", "+asking"}
	lacking := map[string][]string{keys[1]: {keys[0]}, "keys of the prefix": {keys[1]}}
	for _, right := range redistest.Rights {
		lacking[right[1:]] = append([]string{"-" + right[1:]}, keys...)
	}
	open := func(rules []string) goredis.UniversalClient {
		settings := e.SignIn(t, append(append(node, redistest.Rights...), rules...))
		client := must(w.server(t).Client(settings))(t)
		t.Cleanup(func() { _ = client.Close() })
		if old {
			client.AddHook(asRedis6{})
		}
		return client
	}
	for right, rules := range lacking {
		client := open(rules)
		for method, call := range map[string]func(a *redis.Adapter) error{
			"CreateUser": func(a *redis.Adapter) error {
				return erred(a.CreateUser(t.Context(), adapter.User{Email: "ada@example.com"}))
			},
			"CreateUserWithAccount": func(a *redis.Adapter) error {
				return erred(a.CreateUserWithAccount(t.Context(), adapter.User{}, adapter.Account{Provider: "p", ProviderAccountID: "1"}, nil))
			},
			"GetSessionAndUser": func(a *redis.Adapter) error { _, err := a.GetSessionAndUser(t.Context(), "secret"); return err },
			"EnsureScripts":     func(a *redis.Adapter) error { return a.EnsureScripts(t.Context()) },
			"DeleteExpired":     func(a *redis.Adapter) error { _, err := a.DeleteExpired(t.Context(), time.Now()); return err },
		} {
			if err := call(w.adapter(t, client, e.Prefix)); err == nil || !strings.Contains(err.Error(), right) || !strings.Contains(err.Error(), "NOPERM") {
				t.Errorf("without %s: %s: got %v", right, method, err)
			}
		}
	}
	left := keysOf(t, e.Admin, "*"+e.Prefix+"*")
	assert.Truef(t, len(left) <= 0, "stored are %v", left)
	a := w.adapter(t, open(keys), e.Prefix)
	ada := must(a.CreateUserWithPassword(t.Context(), adapter.User{Email: "ada@example.com"}, adapter.Password{Hash: "h"}))(t)
	must(a.SetPassword(t.Context(), adapter.Password{UserID: ada.ID, Hash: "h"}))(t)
	must(a.SwapPassword(t.Context(), adapter.Password{UserID: ada.ID, Hash: "h"}, adapter.Password{Hash: "i"}))(t)
	must(a.DeletePassword(t.Context(), ada.ID, false))(t)
	must(a.DeleteUser(t.Context(), ada.ID))(t)
	left = keysOf(t, e.Admin, "*"+e.Prefix+"*")
	assert.Lenf(t, left, 1, "left are %v, want the layout alone", left)
}

// TestProxyWithoutScriptLoad: before Redis 6 stands a proxy that does not know a command which
// only EnsureScripts needs.
func TestProxyWithoutScriptLoad(t *testing.T) {
	e := standalone.env(t)
	client := must(standalone.server(t).Client(redistest.Settings{}))(t)
	t.Cleanup(func() { _ = client.Close() })
	client.AddHook(asRedis6{})
	client.AddHook(withoutScript{})
	a := standalone.adapter(t, client, e.Prefix)
	must(a.CreateUser(t.Context(), adapter.User{}))(t)
	assert.ErrorContains(t, a.EnsureScripts(t.Context()), "script", "EnsureScripts")
}

// withoutScript answers SCRIPT as a proxy that does not know it.
type withoutScript struct{}

func (withoutScript) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (withoutScript) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if cmd.Name() == "script" {
			cmd.SetErr(said("ERR unknown command 'script'"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (withoutScript) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// said is an answer of a server.
type said string

func (s said) Error() string { return string(s) }
func (said) RedisError()     {}

// says answers each write in the place of the server.
type says struct{ text said }

func (says) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (s says) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if args := cmd.Args(); cmd.Name() != "evalsha" || strings.HasSuffix(fmt.Sprint(args[4]), "}:none:") {
			return next(ctx, cmd)
		}
		cmd.SetErr(s.text)
		return s.text
	}
}

func (says) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// TestErrorsOfRedis6: Redis before 7 puts its own text before the error of a command in a
// script. The code is found all the same. These are texts of Redis 6.2.14.
func TestErrorsOfRedis6(t *testing.T) {
	const call, line = "ERR Error running script (call to f_a7f30a777e3a14): @user_script:1: ", "@user_script: 1: "
	e := standalone.env(t)
	for text, want := range map[said]string{
		call + line + "The user executing the script can't run this command or subcommand": "NOPERM ",
		call + line + "The user executing the script can't access at least one of the keys": "NOPERM the user of the server " +
			"lacks a right: it may not use the keys",
		call + "WRONGTYPE Operation against a key holding the wrong kind of value": "WRONGTYPE ",
		call + line + "Unknown Redis command called from Lua script":               "does not know a command",
		call + line + "-READONLY You can't write against a read only replica.":     "READONLY ",
		line + "-READONLY You can't write against a read only replica.":            "READONLY ",
		call + line + "-OOM command not allowed when used memory > 'maxmemory'.":   "OOM ",
		call + line + "-NOREPLICAS Not enough good replicas to write.":             "NOREPLICAS ",
	} {
		client := standalone.client(t, 1)
		client.AddHook(says{text})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		_, err := standalone.adapter(t, client, e.Prefix).CreateSession(ctx, session("ada"))
		cancel()
		assert.ErrorContains(t, err, want, text)
	}
}

// TestRightsAreLost: a right that is taken away later is named, and no key or command is
// quoted.
func TestRightsAreLost(t *testing.T) {
	e := standalone.env(t)
	client := as(t, e, rights)
	name := client.(*goredis.Client).Options().Username
	a := standalone.adapter(t, client, e.Prefix)
	ctx := t.Context()
	must(a.CreateUser(ctx, adapter.User{ID: "ada"}))(t)
	const secret = "secret-token"
	for _, c := range []struct{ rule, says string }{
		{"-evalsha", "evalsha"}, {"+evalsha", ""}, {"-zadd", "zadd"}, {"+zadd", ""}, {"resetkeys", "keys of the prefix"},
	} {
		must(e.Admin.Do(ctx, "acl", "setuser", name, c.rule).Result())(t)
		if c.says == "" {
			continue
		}
		_, err := a.CreateSession(ctx, adapter.Session{SessionToken: secret, UserID: "ada", Expires: later})
		assert.Truef(t, err != nil && strings.Contains(err.Error(), c.says) && goredis.HasErrorPrefix(err, "NOPERM"),
			"%s: got %v", c.rule, err)
		quotesNothing(t, c.rule, err, secret)
	}
}

// TestKeysOfOthers: a key of another kind is an error that does not quote it.
func TestKeysOfOthers(t *testing.T) {
	e := standalone.env(t)
	a, ctx := e.Direct(t).Adapter, t.Context()
	const secret = "secret-token"
	must(a.CreateUser(ctx, adapter.User{ID: "ada"}))(t)
	must(e.Admin.LPush(ctx, url.QueryEscape(e.Prefix)+":session:"+secret, "x").Result())(t)
	must(e.Admin.Set(ctx, url.QueryEscape(e.Prefix)+":token:"+secret, "x", 0).Result())(t)
	_, session := a.GetSessionAndUser(ctx, secret)
	_, created := a.CreateSession(ctx, adapter.Session{SessionToken: secret, UserID: "ada", Expires: later})
	_, token := a.UseVerificationToken(ctx, adapter.VerificationTokenKey{Identifier: secret, Token: secret})
	for what, err := range map[string]error{"GetSessionAndUser": session, "CreateSession": created, "UseVerificationToken": token} {
		quotesNothing(t, what, err, secret)
		assert.Truef(t, goredis.HasErrorPrefix(err, "WRONGTYPE"), "%s: the code is lost: %v", what, err)
	}
}

// TestPlainClientAtANode: a client of one server that reaches a node of a cluster is refused
// by the first call at each node, with the remedy, and nothing is stored.
func TestPlainClientAtANode(t *testing.T) {
	e := cluster.env(t)
	for _, addr := range strings.Split(setting(t, redisCluster, "the addresses of a Redis Cluster"), ",") {
		client := goredis.NewClient(&goredis.Options{Addr: addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		for _, options := range [][]redis.Option{nil, {redis.WithDeclaredKeys()}, {redis.WithDangerousEviction()}} {
			a := must(redis.New(client, append(options, redis.WithPrefix(e.Prefix))...))(t)
			_, created := a.CreateUser(t.Context(), adapter.User{})
			_, read := a.GetSessionAndUser(t.Context(), "secret-token")
			for _, err := range []error{created, read, a.EnsureScripts(t.Context())} {
				assert.Truef(t, err != nil && strings.Contains(err.Error(), "goredis.NewClusterClient"),
					"%s with %d options: got %v", addr, len(options), err)
				quotesNothing(t, addr, err, "secret-token")
			}
		}
	}
	left := keysOf(t, e.Admin, "*"+e.Prefix+"*")
	assert.Truef(t, len(left) <= 0, "stored are %v", left)
}

// renames is a hook of a site that puts a prefix before the first key of each command.
type renames struct{}

func (renames) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (renames) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		at := 1
		if cmd.Name() == "evalsha" || cmd.Name() == "eval" {
			at = 3
		}
		if args := cmd.Args(); len(args) > at && cmd.Name() != "hello" && cmd.Name() != "client" {
			args[at] = "site:" + fmt.Sprint(args[at])
		}
		return next(ctx, cmd)
	}
}

func (renames) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next
}

// TestRenamedKeys: a client that changes the names of keys is refused, because scripts make
// names too.
func TestRenamedKeys(t *testing.T) {
	e := standalone.env(t)
	client := standalone.client(t, 1)
	client.AddHook(renames{})
	a := standalone.adapter(t, client, e.Prefix)
	_, err := a.CreateUser(t.Context(), adapter.User{})
	assert.ErrorContains(t, err, "WithPrefix")
}

// TestBesideUpstash: the adapter does not begin beside keys of @auth/upstash-redis-adapter
// without the option.
func TestBesideUpstash(t *testing.T) {
	e := standalone.env(t)
	admin := e.Admin.(*goredis.Client).Options()
	ctx := t.Context()
	for _, base := range []string{"", "app:", "shop_"} {
		client := goredis.NewClient(&goredis.Options{Addr: admin.Addr, DB: 8, Username: admin.Username, Password: admin.Password, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = client.Close() })
		key := base + "user:email:ada@example.com"
		must(client.Set(ctx, key, "1", 0).Result())(t)
		a := standalone.adapter(t, client, e.Prefix)
		_, lookup := a.GetUserByEmail(ctx, "ada@example.com")
		_, created := a.CreateUser(ctx, adapter.User{Email: "ada@example.com"})
		for _, err := range []error{lookup, created, a.EnsureScripts(ctx)} {
			assert.Truef(t, err != nil && strings.Contains(err.Error(), "copyupstash") && strings.Contains(err.Error(), "WithNewKeys") && !strings.Contains(err.Error(), "ada@"),
				"%q: got %v", base, err)
		}
		left := keysOf(t, client, "*"+e.Prefix+"*")
		assert.Truef(t, len(left) <= 0, "%q: stored are %v", base, left)
		b := must(redis.New(client, redis.WithPrefix(e.Prefix), redis.WithNewKeys()))(t)
		must(b.CreateUser(ctx, adapter.User{ID: "ada"}))(t)
		must(a.GetUser(ctx, "ada"))(t) // the layout is there now
		must(b.DeleteUser(ctx, "ada"))(t)
		must(client.Del(ctx, key, "{"+url.QueryEscape(e.Prefix)+"}:layout").Result())(t)
	}
}

// TestSwitchover: when the master behind one name becomes a replica and another server takes
// its place, writes succeed again without a restart, and so do reads of what was written.
func TestSwitchover(t *testing.T) {
	ctx := t.Context()
	e := standalone.env(t)
	gate := &gate{}
	admin := e.Admin.(*goredis.Client).Options()
	client := goredis.NewClient(&goredis.Options{Addr: admin.Addr, Username: admin.Username, Password: admin.Password, ContextTimeoutEnabled: true,
		PoolSize: 8, Dialer: gate.dial})
	t.Cleanup(func() { _ = client.Close() })
	a := standalone.adapter(t, client, e.Prefix)
	must(a.CreateUser(ctx, adapter.User{ID: "ada"}))(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { _ = client.Process(ctx, goredis.NewCmd(ctx, "blpop", "{"+e.Prefix+"}:nothing", "0.2")) })
	}
	wg.Wait()
	before := client.PoolStats().TotalConns
	gate.close() // the connections that are open now refuse writes
	must(a.CreateSession(ctx, adapter.Session{SessionToken: "s", UserID: "ada", Expires: later}))(t)
	open := gate.open()
	assert.Truef(t, open <= 0, "%d of %d connections to the former master are kept", open, before)
	assert.NotNil(t, must(a.GetSessionAndUser(ctx, "s"))(t), "the session is absent")
}

// gate refuses writes on the connections that were open when it was closed, in the place of a
// server that has become a replica.
type gate struct {
	mu    sync.Mutex
	conns map[*gated]bool
}

type gated struct {
	net.Conn
	gate    *gate
	refuses bool
	pending int
}

func (g *gate) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.conns == nil {
		g.conns = map[*gated]bool{}
	}
	own := &gated{Conn: c, gate: g}
	g.conns[own] = true
	return own, nil
}

func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		c.refuses = true
	}
}

// open is the number of open connections that refuse writes.
func (g *gate) open() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		if c.refuses {
			n++
		}
	}
	return n
}

func (c *gated) Write(b []byte) (int, error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.refuses {
		c.pending++
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func (c *gated) Read(b []byte) (int, error) {
	c.gate.mu.Lock()
	if c.pending > 0 {
		c.pending--
		defer c.gate.mu.Unlock()
		return copy(b, "-READONLY You can't write against a read only replica.\r\n"), nil
	}
	c.gate.mu.Unlock()
	return c.Conn.Read(b)
}

func (c *gated) Close() error {
	c.gate.mu.Lock()
	delete(c.gate.conns, c)
	c.gate.mu.Unlock()
	return c.Conn.Close()
}
