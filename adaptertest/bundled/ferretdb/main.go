// Command ferretdb serves the MongoDB wire protocol over SQLite, for machines that can't pull an image of MongoDB.
//
// It is FerretDB as its embedding package offers it, built with -tags ferretdb_sqlite into the local image (see
// images/build). It has a module of its own because FerretDB's requirements must reach no other build list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/FerretDB/FerretDB/build/version"
	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	debug.SetGCPercent(400) // it decodes whole collections for most lookups; memory is there
	listen := flag.String("listen", ":27017", "address to listen on, host:port")
	data := flag.String("data", "/data", "directory of the databases, made when absent")
	fast := flag.Bool("fast", false, "don't wait for the disk: what is written survives this process, not the machine")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *listen, *data, *fast); err != nil {
		fmt.Fprintln(os.Stderr, "ferretdb:", err)
		os.Exit(1)
	}
}

// serve runs the server until ctx ends.
func serve(ctx context.Context, listen, data string, fast bool) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	// Embedded, FerretDB does not know its own version, which clients may ask for.
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if module.Path == "github.com/FerretDB/FerretDB" {
				version.Get().Version = module.Version
			}
		}
	}
	databases := "file:" + data + "/"
	if fast {
		databases += "?_pragma=synchronous(off)"
	}
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: listen},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Handler:   "sqlite",
		SQLiteURL: databases,
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "Waiting for connections on", listen) // the line that a MongoDB server prints, too
	if err := server.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
