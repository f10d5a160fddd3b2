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

// A write is a command that the client must not repeat by itself: when the reply
// is lost, the server may have acted, and a second write could restore a record
// that was deleted in between [FAULT-07].
type write struct{ *goredis.Cmd }

// NoRetry implements goredis.Cmder.
func (write) NoRetry() bool { return true }

// refusals are the prefixes of errors of a server that changed nothing. A write
// that was refused is sent again until the context ends.
var refusals = []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY "}

// patience bounds how long a write is repeated whose context has no deadline.
const patience = 10 * time.Second

// send sends a write, again and again while the server refuses it.
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

// rest waits for the duration or until the context ends.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// answer is the reply of a script: a word, and values that depend on the word.
type answer []any

// at returns the value at an index, or the zero value if it has another type.
func at[V any](r answer, i int) (v V) {
	if i < len(r) {
		v, _ = r[i].(V)
	}
	return v
}

func (r answer) word() string { return at[string](r, 0) }

// result returns the record in an answer, or nil if the record is absent.
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

// given returns a known record, for a script that does not return it.
func given[T any](record *T) func(string) (*T, error) {
	return func(string) (*T, error) { return record, nil }
}

// run runs a script, and repeats it with more keys while the script asks for them.
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

// errContention is the error when all attempts failed.
var errContention = errors.New("gave up after too many concurrent changes of the same keys")

// attempts bounds how often an operation starts again because another operation
// changed the same keys between two of its steps.
const attempts = 32

// command returns the command that runs a script.
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
