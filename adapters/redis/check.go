package redis

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"
)

// layout is the version of the names and values of keys that this package
// reads and writes.
const layout = "1"

// check checks, once, that the adapter can work with the server: the rights of its user, the
// layout of the keys, the keys of others and the settings of the servers.
func (a *Adapter) check(ctx context.Context) error {
	if a.checked.Load() {
		return nil
	}
	turn, err := a.demotion.beginNow()
	if err != nil {
		return err
	}
	err = a.checkNow(ctx)
	if isOne(a.base) {
		a.demotion.end(turn, err)
	}
	return err
}

// checkNow is check for a write that has its turn.
func (a *Adapter) checkNow(ctx context.Context) error {
	if a.checked.Load() {
		return nil
	}
	there, err := a.checkRights(ctx)
	switch {
	case err != nil:
		return err
	case there != "" && there != layout:
		return fmt.Errorf("the keys have layout %.20q, but this version of the adapter supports layout %q: use the version that wrote them, or another prefix", there, layout)
	case there == "" && !a.newKeys:
		err = a.eachServer(ctx, checkBeside)
	}
	if err == nil {
		err = a.eachServer(ctx, func(ctx context.Context, server goredis.Cmdable) error {
			return checkServer(ctx, server, a.mayEvict, isOne(a.base) && !a.declared)
		})
	}
	if err == nil && isOne(a.base) && a.declared { // otherwise see checkServer
		err = checkNode(ctx, a.client, a.keys)
	}
	if err == nil { // this shows a replica too
		err = a.client.SetNX(ctx, a.keys.shared("layout"), layout, 0).Err()
	}
	// Records of a full store can still be read and deleted, and those of a server that waits for
	// its replicas can be read.
	if goredis.HasErrorPrefix(err, "OOM") || there != "" && goredis.HasErrorPrefix(err, "NOREPLICAS") {
		err = nil
	}
	a.checked.Store(err == nil)
	return withoutValues(err)
}

// isOne reports whether the client is one of a single server.
func isOne(base goredis.UniversalClient) bool {
	_, one := base.(*goredis.Client)
	return one
}

// checkRights names the rights that the user of the server lacks. It returns the layout of
// the keys, which is empty if there are none.
func (a *Adapter) checkRights(ctx context.Context) (there string, err error) {
	key := a.keys.shared("layout")
	command := a.command("rights", []any{key, a.keys.shared("none:")}, []any{a.keys.prefix})
	cmd := goredis.NewCmd(ctx, command...)
	_ = a.client.Process(ctx, cmd)
	if goredis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
		command[0], command[1] = "eval", scripts["rights"].text
		cmd = goredis.NewCmd(ctx, command...)
		_ = a.client.Process(ctx, cmd)
	}
	values, err := cmd.Slice()
	if err != nil {
		return "", err
	}
	r := answer(values)
	if at[string](r, 2) != key {
		return "", errors.New("the client changes the names of keys, but not of those in scripts: use WithPrefix instead")
	}
	var lacks []string
	for _, right := range at[[]any](r, 3) {
		lacks = append(lacks, fmt.Sprint(right))
	}
	if len(lacks) == 0 && at[string](r, 4) == "untold" {
		command[0], command[1] = "eval", scripts["rights"].text
		if lacks, err = lacksOfRedis6(ctx, a.client, command, a.keys); err != nil {
			return "", err
		}
	}
	if len(lacks) > 0 {
		return "", fmt.Errorf("NOPERM the user of the server lacks rights, or commands are disabled: %s: add them with ACL SETUSER", strings.Join(lacks, " "))
	}
	return at[string](r, 1), nil
}

// lacksOfRedis6 names the rights that the user lacks of those that a script can't find out on
// Redis 6. The commands run; no record has the key. A proxy may not know SCRIPT LOAD, which
// only EnsureScripts needs.
func lacksOfRedis6(ctx context.Context, client goredis.UniversalClient, eval []any, names keys) (lacks []string, err error) {
	load := client.ScriptLoad(ctx, scripts["rights"].text).Err()
	if !goredis.HasErrorPrefix(load, "NOPERM") {
		load = nil
	}
	for _, tried := range []struct {
		right string
		err   error
	}{
		{"+eval", client.Do(ctx, eval...).Err()},
		{"+script|load", load},
		{"~" + names.prefix + ":*", client.SetXX(ctx, names.prefix+":session:", "", 0).Err()},
	} {
		switch {
		case goredis.HasErrorPrefix(tried.err, "NOPERM"), tried.err != nil && unknownCommand.MatchString(tried.err.Error()):
			lacks = append(lacks, tried.right)
		case tried.err != nil && !errors.Is(tried.err, goredis.Nil):
			return nil, tried.err
		}
	}
	return lacks, nil
}

var (
	evicts  = regexp.MustCompile(`(?s)\nmaxmemory:[1-9].*\nmaxmemory_policy:((?:allkeys|volatile)-\w+)`)
	cluster = regexp.MustCompile(`\ncluster_enabled:1`)
)

// checkServer refuses a server that drops records when its memory is full, unless it may, and a
// node of a cluster where the client is one of a single server. A server that does not report its
// settings is accepted.
func checkServer(ctx context.Context, server goredis.Cmdable, mayEvict, single bool) error {
	info, err := server.Info(ctx).Result()
	if reply := goredis.Error(nil); errors.As(err, &reply) && !isBusy(err) {
		return nil
	}
	if policy := evicts.FindStringSubmatch(info); policy != nil && !mayEvict {
		return fmt.Errorf("the server drops records when its memory is full (maxmemory-policy %s): set maxmemory-policy noeviction, or accept it with WithDangerousEviction", policy[1])
	}
	if single && cluster.MatchString(info) {
		return errors.New("the server is a node of a cluster: " + clusterClient)
	}
	return err
}

// isBusy reports whether the server refused a command that it may accept later.
func isBusy(err error) bool {
	return slices.ContainsFunc(refusals, func(p string) bool { return goredis.HasErrorPrefix(err, p) })
}

// checkNode refuses a node of a cluster before which there is no proxy: it knows only some
// of the keys.
func checkNode(ctx context.Context, client goredis.UniversalClient, names keys) error {
	const most = 16 // in many slots
	pipe := client.Pipeline()
	reads := make([]*goredis.StringCmd, most)
	for i := range reads {
		reads[i] = pipe.Get(ctx, names.session(fmt.Sprint("check", i)))
	}
	_, _ = pipe.Exec(ctx) // each command has its own error
	for _, read := range reads {
		if err := read.Err(); err != nil && !errors.Is(err, goredis.Nil) && !goredis.HasErrorPrefix(err, "WRONGTYPE") {
			return err
		}
	}
	return nil
}

// Of a store without keys of this adapter, this many names of keys are looked at, in pages.
const (
	lookPages = 10
	lookPage  = 200
)

var upstash = regexp.MustCompile(`^[^{]*user:(?:email|account):`)

// checkBeside refuses a store in which the adapter would begin with nobody, although it has
// keys of @auth/upstash-redis-adapter.
func checkBeside(ctx context.Context, server goredis.Cmdable) error {
	cursor := uint64(0)
	for range lookPages {
		names, next, err := server.Scan(ctx, cursor, "*user:*", lookPage).Result()
		if err != nil {
			return err
		}
		if slices.ContainsFunc(names, upstash.MatchString) {
			return errors.New("the store has keys of @auth/upstash-redis-adapter: the command copyupstash copies them; " +
				"WithNewKeys begins beside them, and nobody of theirs is known then")
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
	return nil
}
