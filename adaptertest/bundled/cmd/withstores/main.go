// Command withstores runs a command with real stores in its environment.
//
//	withstores [-fast] [-stores postgres,pgbouncer,redis,cluster,mongo,replica,mongousers,mariadb] -- command [argument ...]
//
// It finds or starts the stores, sets the variable that names each store, such as GATEHOUSE_POSTGRES_URL,
// runs the command, and removes the stores that it started. Package stores defines the kinds, versions (as in
// postgres:15) and variables. The exit status is the exit status of the command. If a store is missing, the
// command does not start, unless GATEHOUSE_SKIP_STORES=1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/gatehouse-go/gatehouse/adaptertest/bundled/internal/stores"
)

func main() {
	fast := flag.Bool("fast", false, "start servers that don't wait for the disk")
	const usual = "postgres,pgbouncer,redis,cluster,mongo,replica,mongousers,mariadb"
	names := flag.String("stores", usual, "the stores to offer, separated by commas")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: withstores [-fast] [-stores list] -- command [argument ...]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	status, err := run(ctx, stores.Options{Fast: *fast}, strings.Split(*names, ","), flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "withstores:", err)
	}
	os.Exit(status)
}

// run starts the stores, runs the command and returns its exit status.
func run(ctx context.Context, o stores.Options, names, command []string) (status int, err error) {
	all := stores.Open(o)
	defer func() {
		if err := all.Close(context.WithoutCancel(ctx)); err != nil { // the next run removes what is left
			fmt.Fprintln(os.Stderr, "withstores: a store is not removed:", err)
		}
	}()
	kinds := make([]stores.Kind, len(names))
	for i, name := range names {
		kinds[i] = stores.Kind(name)
	}
	env, err := all.Environment(ctx, kinds...)
	if err != nil && os.Getenv(stores.EnvSkip) != "1" {
		return 1, fmt.Errorf("%w\n(%s=1 runs the command without the stores that are missing)", err, stores.EnvSkip)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "withstores: LEFT OUT, because %s=1:\n%v\n", stores.EnvSkip, err)
	}
	for _, k := range kinds {
		if store, err := all.Find(ctx, k); err == nil {
			fmt.Fprintf(os.Stderr, "withstores: %s %s\n", store.Name, store.Version)
		}
	}
	// After a signal the command is told to end first, and then the stores are removed.
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), env...)
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exit.ExitCode(), nil
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}
