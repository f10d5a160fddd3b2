// Command benchlarge measures the bundled adapters with many records. In the same run it measures hand-written code that
// does the same work. It prints a table in Markdown.
//
//	benchlarge [-fast] [-stores memory,sqlite,postgres,redis,mongo,mysql] [number of users, 1000000 if left out]
//
// Package stores finds or starts the servers. With -fast the servers that it starts don't wait for the disk.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/large"
	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func main() {
	fast := flag.Bool("fast", false, "start servers that don't wait for the disk")
	names := flag.String("stores", strings.Join(large.Kinds(), ","), "the stores to measure, separated by commas")
	flag.Parse()
	n, err := number(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchlarge:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, stores.Options{Fast: *fast}, strings.Split(*names, ","), n); err != nil {
		fmt.Fprintln(os.Stderr, "benchlarge:", err)
		os.Exit(1)
	}
}

// number returns the number of users in the arguments.
func number(args []string) (int, error) {
	if len(args) == 0 {
		return 1_000_000, nil
	}
	const fewest = 1000
	n, err := strconv.Atoi(args[0])
	if err != nil || len(args) > 1 || n < fewest {
		return 0, fmt.Errorf("the argument must be one number of users, at least %d, not %q", fewest, args)
	}
	return n, nil
}

// run measures one store after the other.
func run(ctx context.Context, o stores.Options, names []string, n int) (err error) {
	servers := stores.Open(o)
	defer func() { err = errors.Join(err, servers.Close(context.WithoutCancel(ctx))) }()
	fmt.Printf("%d users, each with a session; %s, %s/%s, %d processors\n\n", n, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	fmt.Print("| server | what | adapter | by hand | ratio |\n|---|---|--:|--:|--:|\n")
	for _, name := range names {
		if err := measure(ctx, servers, name, n); err != nil {
			return err
		}
	}
	return nil
}

func measure(ctx context.Context, servers *stores.Stores, name string, n int) (err error) {
	s, err := large.Open(ctx, servers, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	return large.Measure(ctx, s, large.Options{Users: n}, func(r large.Row) {
		fmt.Printf("| %s | %s | %s | %s | %s |\n", s.Server, r.What, r.Adapter, r.Hand, r.Of)
	})
}
