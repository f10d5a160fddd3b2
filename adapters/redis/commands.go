package redis

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts are the scripts by the names of their files. Each file says what it
// does, takes and returns.
var scripts = readScripts()

// script is a script after the prelude that all of them share.
type script struct{ text, hash string }

func readScripts() map[string]script {
	all := map[string]script{}
	prelude, err := scriptFiles.ReadFile("scripts/prelude.lua")
	for _, name := range []string{"create", "update", "delete", "follow", "session", "token", "sweep", "authenticator_delete"} {
		body, err2 := scriptFiles.ReadFile("scripts/" + name + ".lua")
		if err := errors.Join(err, err2); err != nil {
			panic("redis: " + err.Error())
		}
		text := string(prelude) + string(body)
		all[name] = script{text, goredis.NewScript(text).Hash()}
	}
	return all
}

// A write is a command that the client must not send again by itself: when the
// reply was lost, nobody knows whether the server has acted, and to act twice
// would bring back what somebody deleted in between [FAULT-07].
type write struct{ *goredis.Cmd }

// NoRetry implements goredis.Cmder.
func (write) NoRetry() bool { return true }

// refusals begin the replies of servers that did nothing. A command that was
// refused is sent again, whatever it is, until the context ends.
var refusals = []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY "}

// patience is how long a call waits whose context has no deadline.
const patience = 10 * time.Second

// send sends a write until the server accepts it.
func (a *Adapter) send(ctx context.Context, args ...any) *goredis.Cmd {
	end, limited := ctx.Deadline()
	for pause, start := 8*time.Millisecond, time.Now(); ; pause = min(2*pause, 256*time.Millisecond) {
		cmd := goredis.NewCmd(ctx, args...)
		err := a.check(ctx)
		if err == nil {
			err = a.client.Process(ctx, write{cmd})
		}
		refused := slices.ContainsFunc(refusals, func(p string) bool { return goredis.HasErrorPrefix(err, p) })
		if refused && (limited || time.Since(start) < patience) && rest(ctx, pause) == nil {
			continue
		}
		if err != nil && (ctx.Err() != nil || limited && !time.Now().Before(end)) { // the connection has it from the context
			err = fmt.Errorf("%w: %w", cmp.Or(ctx.Err(), context.DeadlineExceeded), err)
		}
		cmd.SetErr(err)
		return cmd
	}
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// answer is what a script returned: a word, and what goes with it.
type answer []any

// at returns what is at a place, or a zero value.
func at[V any](r answer, i int) (v V) {
	if i < len(r) {
		v, _ = r[i].(V)
	}
	return v
}

func (r answer) word() string { return at[string](r, 0) }

// result reads the record in an answer; it is nil if there is none.
func result[R any](r answer, err error, decode func(value string) (*R, error)) (*R, error) {
	switch {
	case err != nil:
		return nil, err
	case r.word() == "ok":
		return decode(at[string](r, 1))
	case r.word() == "owner":
		return nil, errNoUser
	case r.word() == "taken":
		return nil, errTaken
	default: // absent, or other
		return nil, nil
	}
}

// given is for a script that returns no record: what was stored is known.
func given[T any](record *T) func(string) (*T, error) {
	return func(string) (*T, error) { return record, nil }
}

// run runs a script, and again with more keys as long as it asks for them.
func (a *Adapter) run(ctx context.Context, script string, keys []any, args ...any) (answer, error) {
	for range attempts {
		command := a.command(script, keys, args)
		cmd := a.send(ctx, command...)
		if goredis.HasErrorPrefix(cmd.Err(), "NOSCRIPT") {
			command[0], command[1] = "eval", scripts[script].text
			cmd = a.send(ctx, command...)
		}
		r, err := cmd.Slice()
		if err != nil {
			return nil, err
		}
		if answer(r).word() != "declare" {
			return r, nil
		}
		keys = append(keys, at[[]any](r, 1)...)
	}
	return nil, errContention
}

// errContention is what remains when attempts are used up.
var errContention = errors.New("gave up after too many concurrent changes of the same keys")

// attempts bounds how often an operation starts again because another one came
// between two of its steps.
const attempts = 32

// command is a script with its keys and arguments.
func (a *Adapter) command(script string, keys []any, args []any) []any {
	command := append([]any{"evalsha", scripts[script].hash, len(keys)}, keys...)
	return append(append(command, strconv.FormatBool(a.declared), a.keys.shared("")), args...)
}

// follow reads a record and the user to whom it leads, in one round trip, or in
// two where a script may not look for keys. Both are nil if either is absent.
func follow[R any](ctx context.Context, a *Adapter, kind, key string, decodes func(value string) (*R, error), owner func(*R) string) (*R, *userRecord, error) {
	read := a.get
	if !a.declared {
		read = func(ctx context.Context, key string) (answer, error) { return a.run(ctx, "follow", []any{key}, kind) }
	}
	r, err := read(ctx, key)
	record, err := result(r, err, decodes)
	if err != nil || record == nil {
		return nil, nil, err
	}
	found := answer{"ok", at[string](r, 2)}
	if a.declared {
		found, err = a.get(ctx, a.keys.user(owner(record)))
	}
	u, err := result(found, err, decode[userRecord])
	if err != nil || u == nil {
		return nil, nil, err
	}
	u.ID = owner(record)
	return record, u, nil
}

// get reads a key.
func (a *Adapter) get(ctx context.Context, key string) (answer, error) {
	if err := a.check(ctx); err != nil {
		return nil, err
	}
	value, err := a.client.Get(ctx, key).Result()
	if errors.Is(err, goredis.Nil) {
		return answer{"absent"}, nil
	}
	return answer{"ok", value}, err
}
