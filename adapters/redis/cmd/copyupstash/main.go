// Command copyupstash copies the records of @auth/upstash-redis-adapter, an
// adapter of Auth.js, into the keys of adapters/redis: users, accounts, sessions
// and verification tokens.
//
//	FROM=rediss://default:…@….upstash.io:6379 TO=redis://localhost:6379/0 copyupstash
//
// It reads the source through the Redis protocol, which Upstash supports too,
// and never writes to it. It may run while the old site is in use, may be killed
// at any instant, and may be run again. A repeated run copies new records,
// carries over changes of the source, and does not touch other copies. So it
// never overwrites a change of the new site. With -mirror it also deletes copies
// of records that the source no longer has.
//
// If a record can't be copied, the command prints it with the reason, and the
// exit status is 1. After an error of a server the exit status is 2; run the
// command again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/gatehouse-go/gatehouse/adapters/redis"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run executes the command and returns the exit status.
func run(ctx context.Context, args []string, env func(string) string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("copyupstash", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		_, _ = fmt.Fprintln(errs, "usage: FROM=URL TO=URL copyupstash [flags]\n"+
			"FROM and TO are URLs of Redis: redis://user:password@host:port/db, or rediss:// for TLS.")
		flags.PrintDefaults()
	}
	options := flags.String("options", "{}", "the `JSON` of the options that UpstashRedisAdapter was given, such as {\"baseKeyPrefix\":\"app:\"}")
	prefix := flags.String("prefix", "gatehouse", "the `prefix` of the copy, as given to redis.WithPrefix")
	cluster := flags.Bool("cluster", false, "TO is a cluster; more of its servers are given as redis://host:port?addr=host2:port2")
	mirror := flags.Bool("mirror", false, "delete what was copied and is gone from the source; for the time before the new site serves")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() > 0 {
		flags.Usage()
		return 2
	}
	r := &report{out: out}
	err := copyAll(ctx, env("FROM"), env("TO"), *prefix, *options, *cluster, *mirror, r)
	r.print()
	if err != nil {
		_, _ = fmt.Fprintln(errs, "copyupstash:", err)
		return 2
	}
	if r.refused > 0 {
		return 1
	}
	return 0
}

// copyAll opens both sides and copies.
func copyAll(ctx context.Context, from, to, prefix, options string, cluster, mirror bool, r *report) (err error) {
	layout := defaultLayout
	if err := json.Unmarshal([]byte(options), &layout); err != nil {
		return fmt.Errorf("-options is not a JSON object of strings: %w", err)
	}
	source, err := connect(from, false)
	if err != nil {
		return fmt.Errorf("FROM: %w", err)
	}
	target, err := connect(to, cluster)
	if err != nil {
		return errors.Join(fmt.Errorf("TO: %w", err), source.Close())
	}
	defer func() { err = errors.Join(err, source.Close(), target.Close()) }()
	a, err := redis.New(target, redis.WithPrefix(prefix), redis.WithNewKeys())
	if err != nil {
		return err
	}
	c := &copier{source: source, layout: layout, target: a, ledger: ledger{target, "copyupstash:" + prefix}, now: time.Now(), report: r}
	if err := c.copy(ctx); err != nil || !mirror {
		return err
	}
	return c.mirror(ctx)
}

// connect opens a client. The error does not contain the URL, which may have a
// password.
func connect(url string, cluster bool) (goredis.UniversalClient, error) {
	if url == "" {
		return nil, errors.New("the environment variable is not set")
	}
	bad := errors.New("it is not a Redis URL, such as redis://localhost:6379/0")
	if cluster {
		o, err := goredis.ParseClusterURL(url)
		if err != nil {
			return nil, bad
		}
		o.ContextTimeoutEnabled = true
		return goredis.NewClusterClient(o), nil
	}
	o, err := goredis.ParseURL(url)
	if err != nil {
		return nil, bad
	}
	o.ContextTimeoutEnabled = true
	return goredis.NewClient(o), nil
}
