package redis

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"slices"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/auth/adapter"
)

//go:embed scripts/*.lua
var scriptFiles embed.FS

// scripts has the scripts by their file names. Each file documents its purpose,
// arguments and result.
var scripts = readScripts()

// script is the text of a script, with the prelude that all scripts share before
// it.
type script struct{ text, hash string }

func readScripts() map[string]script {
	all := map[string]script{}
	prelude, err := scriptFiles.ReadFile("scripts/prelude.lua")
	for _, name := range []string{"create", "update", "delete", "follow", "session", "token", "sweep", "authenticator_delete", "password", "rights"} {
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
// is lost, the server may have executed it, and a second write could restore a
// record that was deleted in between [FAULT-07].
type write struct{ *goredis.Cmd }

// NoRetry implements goredis.Cmder.
func (write) NoRetry() bool { return true }

// refusals are the prefixes of errors of a server that changed nothing. A write
// that was refused is sent again until the context ends.
var refusals = []string{"TRYAGAIN", "CLUSTERDOWN", "LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY "}

// patience limits how long a write is repeated if its context has no deadline.
const patience = 10 * time.Second

// send sends a write, and repeats it while the server refuses it.
func (a *Adapter) send(ctx context.Context, args ...any) *goredis.Cmd {
	return repeat(ctx, a.sendWrite, args)
}

// repeat does a command until the server does not refuse it.
func repeat(ctx context.Context, do func(context.Context, *goredis.Cmd, time.Duration) error, args []any) *goredis.Cmd {
	_, limited := ctx.Deadline()
	var refused error // of the try before
	for pause, start := shortestPause, time.Now(); ; pause = min(2*pause, longestPause) {
		cmd := goredis.NewCmd(ctx, args...)
		err := withoutValues(do(ctx, cmd, patience-time.Since(start)))
		busy := isBusy(err)
		if err != nil && !busy && refused != nil && ctx.Err() != nil { // the end of the context is not the reason
			err = fmt.Errorf("%w; the try before: %w", err, refused)
		}
		if !busy || !limited && time.Since(start) > patience || rest(ctx, pause) != nil {
			cmd.SetErr(err)
			return cmd
		}
		refused = err
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

// failures has the error for each word that means one.
var failures = map[string]error{
	"owner": errNoUser,
	"taken": fmt.Errorf("the key or the e-mail is taken: %w", adapter.ErrConflict),
	"last":  adapter.ErrLastCredential,
}

// result decodes the record in an answer, and returns it. It returns nil if the
// answer has no record.
func result[R any, P record[R]](r answer, err error, into P) (P, error) {
	if err != nil || r.word() != "ok" {
		return nil, err
	}
	return decode(at[string](r, 1), into)
}

// read returns the record under a key, or nil if it is absent.
func read[R any, P record[R]](ctx context.Context, a *Adapter, key string, into P) (P, error) {
	r, err := a.get(ctx, key)
	return result(r, err, into)
}

// unless returns the record if there is no error.
func unless[T any](err error, record *T) (*T, error) {
	if err != nil {
		return nil, err
	}
	return record, nil
}

// run runs a script, and repeats it with more keys while the script asks for them.
func (a *Adapter) run(ctx context.Context, script string, keys []any, args ...any) (answer, error) {
	do := a.sendWrite
	if script == "follow" || script == "password" && args[0] == "get" {
		do = a.sendRead
	}
	for range attempts {
		command := a.command(script, keys, args)
		cmd := repeat(ctx, do, command)
		if err := cmd.Err(); err != nil && goredis.HasErrorPrefix(err, "NOSCRIPT") {
			command[0], command[1] = "eval", scripts[script].text
			cmd = repeat(ctx, do, command)
		}
		values, err := cmd.Slice()
		r := answer(values)
		if err != nil || r.word() != "declare" {
			return r, cmp.Or(err, failures[r.word()])
		}
		keys = append(keys, at[[]any](r, 1)...)
	}
	return nil, errors.New("gave up because too many other calls changed the same keys")
}

// attempts limits how often a script runs. It may ask for more keys each time,
// because other calls change the same records in between.
const attempts = 32

// command returns the command that runs a script.
func (a *Adapter) command(script string, keys []any, args []any) []any {
	return slices.Concat([]any{"evalsha", scripts[script].hash, len(keys)}, keys, a.common, args)
}

// follow returns the user to whom a record leads, or nil if either is absent. It
// takes one round trip, or two if a script may touch declared keys only. The
// function owner returns the ID of the user in a record.
func (a *Adapter) follow(ctx context.Context, kind, key string, owner func(value string) (id string, err error)) (*userRecord, error) {
	read := a.get
	if !a.declared {
		read = func(ctx context.Context, key string) (answer, error) { return a.run(ctx, "follow", []any{key}, kind) }
	}
	r, err := read(ctx, key)
	if err != nil || r.word() != "ok" {
		return nil, err
	}
	id, err := owner(at[string](r, 1))
	if err != nil {
		return nil, err
	}
	if a.declared {
		r, err = read(ctx, a.keys.user(id))
		return result(r, err, newUser(id))
	}
	return decode(at[string](r, 2), newUser(id))
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
