package redis

import (
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
// refused is sent again, whatever it is, after pauses that double: 2 seconds in
// all.
var refusals = []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS"}

const firstPause, lastPause = 8 * time.Millisecond, 1024 * time.Millisecond

// send sends a write until the server accepts it.
func (a *Adapter) send(ctx context.Context, args ...any) *goredis.Cmd {
	for pause := firstPause; ; pause *= 2 {
		cmd := goredis.NewCmd(ctx, args...)
		err := a.check(ctx)
		if err != nil {
			cmd.SetErr(err)
			return cmd
		}
		err = a.client.Process(ctx, write{cmd})
		refused := slices.ContainsFunc(refusals, func(p string) bool { return goredis.HasErrorPrefix(err, p) })
		if end, limited := ctx.Deadline(); err != nil && limited && !time.Now().Before(end) {
			cmd.SetErr(fmt.Errorf("%w: %w", context.DeadlineExceeded, err)) // the connection has it from the context
		}
		if !refused || pause > lastPause {
			return cmd
		}
		select {
		case <-ctx.Done():
			return cmd
		case <-time.After(pause):
		}
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
